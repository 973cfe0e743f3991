// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the result of vpmc graph as a page and as a table.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/json-read.h"
#include "common/table.h"
#include "profile/page.h"

#define FORMAT_VERSION	1

struct page {
	struct json_object *graph;
	struct json_object *functions;
	double whole;		/* total of the first value, without the library's own costs */
};

__attribute__((__noreturn__))
static void is_other(const char *file)
{
	fail(STATUS_OURS, "%s: is not what vpmc graph or vpmc record writes; name a BASE.json of vpmc graph, or a file of vpmc record",
	     file);
}

/* Returns a member of that type, or NULL. */
static struct json_object *typed(struct json_object *object, const char *key,
				 enum json_type type)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) &&
	       json_object_is_type(value, type) ? value : NULL;
}

/* Returns the first value of a member that has some. */
static uint64_t first(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_object_array_get_idx(
			json_object_object_get(object, key), 0));
}

static bool has_values(struct json_object *object, const char *key)
{
	struct json_object *values = typed(object, key, json_type_array);

	return values && json_object_array_length(values) &&
	       json_object_is_type(json_object_array_get_idx(values, 0), json_type_int);
}

static bool is_function(struct json_object *function)
{
	return typed(function, "name", json_type_string) &&
	       typed(function, "module", json_type_string) &&
	       has_values(function, "exclusive") && has_values(function, "inclusive");
}

static bool is_node(struct json_object *node)
{
	return has_values(node, "exclusive");
}

/* Is the member an array, and each of its elements as @is says? */
static bool all_are(struct json_object *object, const char *key,
		    bool (*is)(struct json_object *element))
{
	struct json_object *array = typed(object, key, json_type_array);
	size_t i;

	if (!array)
		return false;
	for (i = 0; i < json_object_array_length(array); i++)
		if (!is(json_object_array_get_idx(array, i)))
			return false;
	return true;
}

static bool is_tree(struct json_object *tree)
{
	return has_values(tree, "outside") && all_are(tree, "nodes", is_node);
}

static bool is_text(struct json_object *value)
{
	return json_object_is_type(value, json_type_string);
}

/* Has the file all that is printed? */
static bool is_graph(struct json_object *graph)
{
	return has_values(graph, "total") && has_values(graph, "own") &&
	       has_values(graph, "outside") && all_are(graph, "command", is_text) &&
	       all_are(graph, "values", is_text) &&
	       json_object_array_length(json_object_object_get(graph, "values")) &&
	       all_are(graph, "functions", is_function) &&
	       all_are(graph, "trees", is_tree);
}

struct page *page_read(const char *file)
{
	struct page *page = get_memory(NULL, 1, sizeof(*page));
	struct json_object *kind;
	int version;
	bool more;

	page->graph = json_read(file, &more);
	if (more)
		fail(STATUS_OURS, "%s: has more than one object, or something else behind it; run vpmc graph again",
		     file);
	if (!json_object_is_type(page->graph, json_type_object))
		fail(STATUS_OURS, "%s: cannot be read: it is no file of vpmc record, and no JSON, or cut off; name a file of vpmc record, or run vpmc graph again",
		     file);
	kind = typed(page->graph, "kind", json_type_string);
	if (!kind || strcmp(json_object_get_string(kind), "graph"))
		is_other(file);
	version = json_object_get_int(json_object_object_get(page->graph, "version"));
	if (version != FORMAT_VERSION)
		fail(STATUS_OURS, "%s: has the version %d, and this vpmc reads version %d; use the vpmc that wrote it",
		     file, version, FORMAT_VERSION);
	if (!is_graph(page->graph))
		is_other(file);
	page->functions = json_object_object_get(page->graph, "functions");
	page->whole = first(page->graph, "total") - first(page->graph, "own");
	return page;
}

struct page *page_of(struct json_object *object)
{
	struct page *page = get_memory(NULL, 1, sizeof(*page));

	*page = (struct page){
		.graph = object,
		.functions = json_object_object_get(object, "functions"),
		.whole = first(object, "total"),
	};
	return page;
}

/* Prints the data without '<', which could end the script. */
static void print_data(FILE *file, const struct page *page)
{
	const char *text;

	/*
	 * The page shows the tree of all threads. The threads' own trees would
	 * make it large.
	 */
	json_object_object_del(page->graph, "trees");
	text = json_object_to_json_string_ext(page->graph,
			JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	for (; *text; text++) {
		if (*text == '<')
			fputs("\\u003c", file);
		else
			putc(*text, file);
	}
}

void page_print_html(FILE *file, const struct page *page)
{
	const char *data = strstr(page_html, PAGE_DATA);

	fwrite(page_html, 1, data - page_html, file);
	print_data(file, page);
	fputs(data + strlen(PAGE_DATA), file);
}

static int by_exclusive(const void *a, const void *b)
{
	uint64_t x = first(*(struct json_object *const *)a, "exclusive");
	uint64_t y = first(*(struct json_object *const *)b, "exclusive");

	return x < y ? 1 : x > y ? -1 : 0;
}

static const char *share(const struct page *page, uint64_t value, char text[32])
{
	snprintf(text, 32, "%.2f %%", page->whole ? 100 * value / page->whole : 0);
	return text;
}

static const char *place(struct json_object *function, char **text)
{
	struct json_object *file = typed(function, "file", json_type_string);
	struct json_object *line = typed(function, "line", json_type_int);

	*text = NULL;
	if (file && line)
		*text = get_text("%s:%d", json_object_get_string(file),
				 json_object_get_int(line));
	return *text ? *text : json_object_get_string(
				json_object_object_get(function, "module"));
}

/* Prints the share of each thread. */
static void print_threads(FILE *file, const struct page *page)
{
	struct json_object *trees = json_object_object_get(page->graph, "trees");
	struct libscols_table *table = table_new(true, false);
	char number[32], part[32], thread[32];
	size_t t, n;

	table_column(table, "THREAD", true);
	table_column(table, "SHARE", true);
	table_column(table, json_object_get_string(json_object_array_get_idx(
			json_object_object_get(page->graph, "values"), 0)), true);
	for (t = 0; t < json_object_array_length(trees); t++) {
		struct json_object *tree = json_object_array_get_idx(trees, t);
		struct json_object *nodes = json_object_object_get(tree, "nodes");
		const char *text[] = { thread, part, number };
		uint64_t sum = first(tree, "outside");

		for (n = 0; n < json_object_array_length(nodes); n++)
			sum += first(json_object_array_get_idx(nodes, n), "exclusive");
		snprintf(thread, sizeof(thread), "%d",
			 json_object_get_int(json_object_object_get(tree, "tid")));
		with_separators(sum, number);
		share(page, sum, part);
		table_line(table, text);
	}
	putc('\n', file);
	table_print(table, file);
}

static void print_function(struct libscols_table *table, const struct page *page,
			   struct json_object *function)
{
	char itself[32], all[32], count[32], calls[32], *where;
	const char *text[] = {
		share(page, first(function, "exclusive"), itself),
		share(page, first(function, "inclusive"), all),
		with_separators(first(function, "exclusive"), count),
		with_separators(json_object_get_uint64(
			json_object_object_get(function, "calls")), calls),
		json_object_get_string(json_object_object_get(function, "name")),
		place(function, &where),
	};

	table_line(table, text);
	free(where);
}

void page_print_text(FILE *file, const struct page *page)
{
	size_t nr = json_object_array_length(page->functions), i;
	struct json_object **order = get_memory(NULL, nr, sizeof(*order));
	struct libscols_table *table = table_new(true, false);

	table_column(table, "ITSELF", true);
	table_column(table, "ALL", true);
	table_column(table, json_object_get_string(json_object_array_get_idx(
			json_object_object_get(page->graph, "values"), 0)), true);
	table_column(table, "CALLS", true);
	table_column(table, "FUNCTION", false);
	table_column(table, "WHERE", false);
	for (i = 0; i < nr; i++)
		order[i] = json_object_array_get_idx(page->functions, i);
	qsort(order, nr, sizeof(*order), by_exclusive);
	for (i = 0; i < nr; i++)
		print_function(table, page, order[i]);
	table_print(table, file);
	print_threads(file, page);
	free(order);
}
