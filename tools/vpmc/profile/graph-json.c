// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a graph as one JSON object, as vpmc-graph.schema.json describes it.
 * Nodes are printed one at a time, because there may be a million of them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/wait.h>

#include "common/json-write.h"
#include "profile/graph.h"

#define FORMAT_VERSION	1

static struct json_object *values(const struct graph *graph, const uint64_t *value)
{
	return number_array(value, graph->nr_values);
}

static void print_member(FILE *file, const char *key, struct json_object *value)
{
	fprintf(file, ",\n\"%s\":", key);
	print_object(file, value);
}

static void print_head(FILE *file, const struct graph *graph)
{
	struct json_object *command = json_object_new_array();
	struct json_object *events = json_object_new_array();
	unsigned int i;
	char **word;

	for (word = graph->command; *word; word++)
		json_object_array_add(command, json_text(*word));
	for (i = 0; i < graph->nr_values; i++)
		json_object_array_add(events, json_text(graph->event[i]));
	fprintf(file, "{\"version\":%d,\"kind\":\"graph\"", FORMAT_VERSION);
	print_member(file, "command", command);
	if (WIFSIGNALED(graph->status))
		print_member(file, "signal", json_object_new_int(WTERMSIG(graph->status)));
	else
		print_member(file, "exit_status",
			     json_object_new_int(WEXITSTATUS(graph->status)));
	print_member(file, "values", events);
	print_member(file, "total", values(graph, graph->total));
	print_member(file, "own", values(graph, graph->own));
	print_member(file, "outside", values(graph, graph->outside));
	print_member(file, "unrecorded", json_object_new_uint64(graph->unrecorded));
	print_member(file, "stopped", json_object_new_uint64(graph->stopped));
	print_member(file, "living", json_object_new_uint64(graph->living));
}

static struct json_object *function_object(const struct graph *graph,
					   const struct function *function)
{
	struct json_object *object = json_object_new_object();

	member_text(object, "name", function->name);
	member_text(object, "module", function->module);
	if (function->file) {
		member_text(object, "file", function->file);
		member_number(object, "line", function->line);
	}
	member_number(object, "calls", function->calls);
	member(object, "exclusive", values(graph, function->exclusive));
	member(object, "inclusive", values(graph, function->inclusive));
	return object;
}

static struct json_object *arc_object(const struct graph *graph,
				      const struct arc *arc)
{
	struct json_object *object = json_object_new_object();

	member_number(object, "caller", arc->caller);
	member_number(object, "callee", arc->callee);
	member_number(object, "calls", arc->calls);
	member(object, "inclusive", values(graph, arc->inclusive));
	return object;
}

/* Prints the nodes in order of their numbers. The root, node 0, is left out. */
static void print_nodes(FILE *file, const struct graph *graph,
			const struct tree *tree)
{
	unsigned int i;

	fprintf(file, "\"nodes\":[");
	for (i = 1; i < tree->nr; i++) {
		const struct node *node = &tree->node[i];
		struct json_object *object = json_object_new_object();

		member_number(object, "function", node->function);
		member_number(object, "parent", node->parent);
		member_number(object, "calls", node->calls);
		member(object, "exclusive", values(graph, node->exclusive));
		member(object, "inclusive", values(graph, node->inclusive));
		fputs(i > 1 ? ",\n" : "\n", file);
		print_object(file, object);
	}
	fputc(']', file);
}

static void print_tree(FILE *file, const struct graph *graph,
		       const struct tree *tree)
{
	fprintf(file, "{\"pid\":%d,\"tid\":%d,\"image\":%u,\"threads\":%u,"
		"\"missed\":%llu,\"no_room\":%llu,\"strays\":%llu,\"unwound\":%llu",
		tree->pid, tree->tid, tree->image, tree->threads,
		(unsigned long long)tree->missed,
		(unsigned long long)tree->no_room,
		(unsigned long long)tree->strays,
		(unsigned long long)tree->unwound);
	print_member(file, "own", values(graph, tree->own));
	print_member(file, "outside", values(graph, tree->node[0].exclusive));
	fprintf(file, ",\n");
	print_nodes(file, graph, tree);
	fputc('}', file);
}

void graph_print_json(FILE *file, const struct graph *graph)
{
	unsigned int i;

	print_head(file, graph);
	fprintf(file, ",\n\"functions\":[");
	for (i = 0; i < graph->nr_functions; i++) {
		fputs(i ? ",\n" : "\n", file);
		print_object(file, function_object(graph, &graph->function[i]));
	}
	fprintf(file, "],\n\"arcs\":[");
	for (i = 0; i < graph->nr_arcs; i++) {
		fputs(i ? ",\n" : "\n", file);
		print_object(file, arc_object(graph, &graph->arc[i]));
	}
	fprintf(file, "],\n\"trees\":[");
	for (i = 0; i < graph->nr_trees; i++) {
		fputs(i ? ",\n" : "\n", file);
		print_tree(file, graph, &graph->tree[i]);
	}
	fprintf(file, "],\n\"all\":{");
	print_nodes(file, graph, &graph->all);
	fprintf(file, "}}\n");
}
