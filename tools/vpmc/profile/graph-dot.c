// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a graph for people: as source for dot, as folded stacks and as a
 * table. All shares are shares of the first value.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/table.h"
#include "profile/graph.h"

#define LEAST_SHARE	0.005	/* share of the whole below which a function is not drawn */
#define MOST_DRAWN	200
#define MOST_LINES	20	/* lines of the table */

static const struct graph *sorted;	/* graph whose functions qsort() compares */

static int by_exclusive(const void *a, const void *b)
{
	const struct function *x = &sorted->function[*(const unsigned int *)a];
	const struct function *y = &sorted->function[*(const unsigned int *)b];

	if (x->exclusive[0] != y->exclusive[0])
		return x->exclusive[0] > y->exclusive[0] ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_inclusive(const void *a, const void *b)
{
	const struct function *x = &sorted->function[*(const unsigned int *)a];
	const struct function *y = &sorted->function[*(const unsigned int *)b];

	if (x->inclusive[0] != y->inclusive[0])
		return x->inclusive[0] > y->inclusive[0] ? -1 : 1;
	return strcmp(x->name, y->name);
}

static unsigned int *in_order(const struct graph *graph,
			      int (*compare)(const void *, const void *))
{
	unsigned int *order = get_memory(NULL, graph->nr_functions, sizeof(*order));
	unsigned int i;

	for (i = 0; i < graph->nr_functions; i++)
		order[i] = i;
	sorted = graph;
	qsort(order, graph->nr_functions, sizeof(*order), compare);
	return order;
}

/* Prints @text escaped for a quoted string of dot. */
static void print_quoted(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', file);
		putc(*text, file);
	}
}

static void print_node(FILE *file, const struct graph *graph, unsigned int number)
{
	const struct function *function = &graph->function[number];
	double share = graph_share(graph, function->exclusive[0]);

	fprintf(file, "\tf%u [label=\"", number);
	print_quoted(file, function->name);
	fprintf(file, "\\n%.1f %%, itself %.1f %%\\n%" PRIu64 " call%s\", tooltip=\"",
		100 * graph_share(graph, function->inclusive[0]), 100 * share,
		function->calls, function->calls == 1 ? "" : "s");
	print_quoted(file, function->module);
	fprintf(file, "\", fillcolor=\"0.0 %.3f 1.0\"];\n", 0.8 * share);
}

static void print_arc(FILE *file, const struct graph *graph, const struct arc *arc)
{
	uint64_t whole = graph->function[arc->caller].inclusive[0];
	double share = whole ? (double)arc->inclusive[0] / whole : 0;

	fprintf(file, "\tf%u -> f%u [label=\"  %.1f %%  \\n%" PRIu64 "\", color=\"0.33 1.0 %.3f\", penwidth=%.1f];\n",
		arc->caller, arc->callee, 100 * share, arc->calls,
		0.3 + 0.5 * share, 1 + 3 * share);
}

void graph_print_dot(FILE *file, const struct graph *graph)
{
	unsigned int *order = in_order(graph, by_inclusive), i, drawn = 0;
	bool *draw = get_memory(NULL, graph->nr_functions, sizeof(*draw));

	for (i = 0; i < graph->nr_functions; i++) {
		draw[order[i]] = drawn < MOST_DRAWN &&
			graph_share(graph, graph->function[order[i]].inclusive[0]) >=
			LEAST_SHARE;
		drawn += draw[order[i]];
	}
	fprintf(file, "digraph calls {\n\tlabel=\"%s of ", graph->event[0]);
	print_quoted(file, graph->command[0]);
	fprintf(file, ": %" PRIu64 ", of these outside of the functions %.1f %%",
		graph->total[0] - graph->own[0],
		100 * graph_share(graph, graph->outside[0]));
	if (drawn < graph->nr_functions)
		fprintf(file, "\\n%u functions with less are left out",
			graph->nr_functions - drawn);
	fprintf(file, "\";\n\tfontname=\"sans-serif\";\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n"
		"\tedge [fontname=\"sans-serif\", fontsize=10];\n");
	for (i = 0; i < graph->nr_functions; i++)
		if (draw[i])
			print_node(file, graph, i);
	for (i = 0; i < graph->nr_arcs; i++)
		if (draw[graph->arc[i].caller] && draw[graph->arc[i].callee])
			print_arc(file, graph, &graph->arc[i]);
	fprintf(file, "}\n");
	free(draw);
	free(order);
}

/*
 * Prints @name without semicolons, because these separate the frames of a
 * stack.
 */
static void print_name(FILE *file, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' || *name == '\n' ? ':' : *name, file);
}

void graph_print_folded(FILE *file, const struct graph *graph)
{
	const struct tree *tree = &graph->all;
	unsigned int *path = get_memory(NULL, tree->nr, sizeof(*path)), i, n, depth;

	if (graph->outside[0])
		fprintf(file, "[outside] %" PRIu64 "\n", graph->outside[0]);
	for (i = 1; i < tree->nr; i++) {
		if (!tree->node[i].exclusive[0])
			continue;
		for (depth = 0, n = i; n; n = tree->node[n].parent)
			path[depth++] = n;
		while (depth--) {
			print_name(file, graph->function[tree->node[path[depth]].function].name);
			putc(depth ? ';' : ' ', file);
		}
		fprintf(file, "%" PRIu64 "\n", tree->node[i].exclusive[0]);
	}
	free(path);
}

static void print_line(struct libscols_table *table, const struct graph *graph,
		       const char *name, uint64_t exclusive, uint64_t inclusive,
		       const char *calls)
{
	char itself[16], all[16], count[32];
	const char *text[] = { itself, all, count, calls, name };

	snprintf(itself, sizeof(itself), "%.2f %%", 100 * graph_share(graph, exclusive));
	snprintf(all, sizeof(all), "%.2f %%", 100 * graph_share(graph, inclusive));
	with_separators(exclusive, count);
	table_line(table, text);
}

void graph_print_text(FILE *file, const struct graph *graph)
{
	unsigned int *order = in_order(graph, by_exclusive), i;
	struct libscols_table *table = table_new(true, false);
	char calls[32];

	table_column(table, "ITSELF", true);
	table_column(table, "ALL", true);
	table_column(table, graph->event[0], true);
	table_column(table, "CALLS", true);
	table_column(table, "FUNCTION", false);
	for (i = 0; i < graph->nr_functions && i < MOST_LINES; i++) {
		const struct function *function = &graph->function[order[i]];

		print_line(table, graph, function->name, function->exclusive[0],
			   function->inclusive[0],
			   with_separators(function->calls, calls));
	}
	print_line(table, graph, "[outside]", graph->outside[0], graph->outside[0], "");
	table_print(table, file);
	if (graph->nr_functions > MOST_LINES)
		fprintf(file, "and %u more functions\n",
			graph->nr_functions - MOST_LINES);
	free(order);
}
