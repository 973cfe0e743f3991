// SPDX-License-Identifier: GPL-2.0
/*
 * Computes inclusive values and arcs, and merges the trees of all threads into
 * one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "profile/graph.h"

uint64_t *graph_values(const struct graph *graph)
{
	uint64_t *values = get_memory(NULL, graph->nr_values, sizeof(*values));

	memset(values, 0, graph->nr_values * sizeof(*values));
	return values;
}

static void add(const struct graph *graph, uint64_t *to, const uint64_t *from)
{
	unsigned int i;

	for (i = 0; i < graph->nr_values; i++)
		to[i] += from[i];
}

unsigned int tree_add(const struct graph *graph, struct tree *tree,
		      unsigned int parent, unsigned int function)
{
	unsigned int new = tree->nr++;
	struct node *node;

	/* The array grows to the next power of two. */
	if (!(new & (new - 1)))
		tree->node = get_memory(tree->node, new ? 2 * new : 1, sizeof(*node));
	node = &tree->node[new];
	*node = (struct node){ .function = function, .parent = parent };
	node->exclusive = graph_values(graph);
	node->inclusive = graph_values(graph);
	if (new) {
		node->sibling = tree->node[parent].child;
		tree->node[parent].child = new;
	}
	return new;
}

/*
 * Sums from the last node to the first: a child has a greater number than its
 * parent.
 */
static void sum_tree(const struct graph *graph, struct tree *tree)
{
	unsigned int i;

	for (i = tree->nr; i--; ) {
		struct node *node = &tree->node[i];

		add(graph, node->inclusive, node->exclusive);
		if (i)
			add(graph, tree->node[node->parent].inclusive,
			    node->inclusive);
	}
}

static int compare_arcs(const void *a, const void *b)
{
	const struct arc *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* Finds an arc, and creates it if it does not exist. */
static struct arc *find_arc(struct graph *graph, void **arcs, unsigned int caller,
			    unsigned int callee)
{
	struct arc *new = get_memory(NULL, 1, sizeof(*new)), **found;

	*new = (struct arc){ .caller = caller, .callee = callee };
	found = tsearch(new, arcs, compare_arcs);
	if (!found)
		fail(STATUS_OURS, "memory: there is none; end other programs");
	if (*found != new) {
		free(new);
	} else {
		new->inclusive = graph_values(graph);
		graph->nr_arcs++;
	}
	return *found;
}

/*
 * Enters or leaves a node. If the function or arc is on the path already, its
 * inclusive values were added at that earlier node.
 */
static void pass(struct graph *graph, struct tree *tree, unsigned int n, void **arcs,
		 bool in)
{
	struct node *node = &tree->node[n];
	struct function *function = &graph->function[node->function];
	struct arc *arc = node->parent ?
		find_arc(graph, arcs, tree->node[node->parent].function,
			 node->function) : NULL;

	if (!in) {
		function->on_path--;
		if (arc)
			arc->on_path--;
		return;
	}
	function->calls += node->calls;
	add(graph, function->exclusive, node->exclusive);
	if (!function->on_path++)
		add(graph, function->inclusive, node->inclusive);
	if (!arc)
		return;
	arc->calls += node->calls;
	if (!arc->on_path++)
		add(graph, arc->inclusive, node->inclusive);
}

static void walk(struct graph *graph, struct tree *tree, void **arcs)
{
	unsigned int n = tree->node[0].child;

	while (n) {
		pass(graph, tree, n, arcs, true);
		if (tree->node[n].child) {
			n = tree->node[n].child;
			continue;
		}
		/*
		 * Leave the node, and each ancestor whose last child was left.
		 */
		for (;;) {
			pass(graph, tree, n, arcs, false);
			if (tree->node[n].sibling || !tree->node[n].parent)
				break;
			n = tree->node[n].parent;
		}
		n = tree->node[n].sibling;
	}
}

/* node of the tree of all threads, found by its parent and function */
struct place {
	unsigned int parent, function, node;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static unsigned int find_node(struct graph *graph, void **places,
			      unsigned int parent, unsigned int function)
{
	struct place *new = get_memory(NULL, 1, sizeof(*new)), **found;

	*new = (struct place){ parent, function, 0 };
	found = tsearch(new, places, compare_places);
	if (!found)
		fail(STATUS_OURS, "memory: there is none; end other programs");
	if (*found == new)
		new->node = tree_add(graph, &graph->all, parent, function);
	else
		free(new);
	return (*found)->node;
}

/* Adds a tree to the tree of all threads. */
static void join(struct graph *graph, const struct tree *tree, void **places)
{
	unsigned int *same = get_memory(NULL, tree->nr, sizeof(*same)), i;

	same[0] = 0;
	for (i = 1; i < tree->nr; i++) {
		const struct node *node = &tree->node[i];
		unsigned int n = find_node(graph, places, same[node->parent],
					   node->function);

		same[i] = n;
		graph->all.node[n].calls += node->calls;
		add(graph, graph->all.node[n].exclusive, node->exclusive);
	}
	free(same);
}

static struct graph *collecting;

static void collect(const void *node, VISIT visit, int depth)
{
	(void)depth;
	if (visit == postorder || visit == leaf)
		collecting->arc[collecting->nr_arcs++] = **(struct arc *const *)node;
}

/* Computes what is in the total, but in no tree. */
static void find_outside(struct graph *graph)
{
	unsigned int i, f;

	for (i = 0; i < graph->nr_values; i++) {
		uint64_t seen = graph->own[i];

		for (f = 0; f < graph->nr_functions; f++)
			seen += graph->function[f].exclusive[i];
		graph->outside[i] = graph->total[i] > seen ? graph->total[i] - seen : 0;
		graph->all.node[0].exclusive[i] = graph->outside[i];
	}
}

void graph_sum(struct graph *graph)
{
	void *arcs = NULL, *places = NULL;
	unsigned int i;

	tree_add(graph, &graph->all, 0, 0);
	for (i = 0; i < graph->nr_trees; i++) {
		sum_tree(graph, &graph->tree[i]);
		walk(graph, &graph->tree[i], &arcs);
		add(graph, graph->own, graph->tree[i].own);
		join(graph, &graph->tree[i], &places);
	}
	find_outside(graph);
	sum_tree(graph, &graph->all);
	graph->arc = get_memory(NULL, graph->nr_arcs, sizeof(*graph->arc));
	graph->nr_arcs = 0;
	collecting = graph;
	twalk(arcs, collect);
}

double graph_share(const struct graph *graph, uint64_t value)
{
	uint64_t whole = graph->total[0] - graph->own[0];

	return whole && value <= whole ? (double)value / whole : 0;
}
