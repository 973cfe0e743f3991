/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What vpmc graph has found: functions, who calls whom, and each thread's tree of
 * calls.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_H
#define GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "run.h"

/* Values of a node: those of the events, in their order, and nanoseconds. */
#define GRAPH_VALUES	(VPMC_MAX_COUNTERS + 1)

struct function {
	char *name;		/* or FILE+OFFSET if it has none */
	char *module;		/* the file that has it, without directories */
	char *file;		/* of its source, or NULL */
	int line;
	bool nameless;
	uint64_t calls;
	uint64_t *exclusive;	/* itself */
	uint64_t *inclusive;	/* with all that it calls; recursion counts once */
	unsigned int on_path;	/* while a tree is walked */
};

struct arc {
	unsigned int caller, callee;
	uint64_t calls;
	uint64_t *inclusive;	/* the callee's, when called so */
	unsigned int on_path;
};

struct node {
	unsigned int function;
	unsigned int parent;	/* number of a node; 0: the root */
	unsigned int child, sibling;	/* 0: none */
	uint64_t calls;
	uint64_t *exclusive, *inclusive;
};

/* Node 0 is the root: what was outside of all functions. */
struct tree {
	pid_t pid, tid;
	unsigned int image;
	unsigned int threads;
	uint64_t missed, no_room, strays, unwound;
	uint64_t own[GRAPH_VALUES];
	struct node *node;
	unsigned int nr;
};

struct graph {
	char **command;
	int status;			/* COMMAND's, as wait() has it */
	const char *event[GRAPH_VALUES];
	unsigned int nr_values;
	uint64_t total[GRAPH_VALUES];	/* of the whole program, by the kernel */
	uint64_t own[GRAPH_VALUES];	/* the library's, taken out */
	uint64_t outside[GRAPH_VALUES];	/* of no function that calls the hooks */
	struct function *function;
	unsigned int nr_functions;
	struct arc *arc;
	unsigned int nr_arcs;
	struct tree *tree;
	unsigned int nr_trees;
	struct tree all;		/* of all threads together */
};

/* graph-load.c: what the preloaded library has left in @directory */
void graph_load(struct graph *graph, const char *directory,
		const struct group *group);

/* graph-sum.c: inclusive values, arcs, and the tree of all threads */
void graph_sum(struct graph *graph);
uint64_t *graph_values(const struct graph *graph);

/* Adds a node for @function below @parent. */
unsigned int tree_add(const struct graph *graph, struct tree *tree,
		      unsigned int parent, unsigned int function);

/* A share of the whole, without what the library has used, from 0 to 1. */
double graph_share(const struct graph *graph, uint64_t value);

/* The formats. */
void graph_print_json(FILE *file, const struct graph *graph);
void graph_print_folded(FILE *file, const struct graph *graph);
void graph_print_dot(FILE *file, const struct graph *graph);
void graph_print_text(FILE *file, const struct graph *graph);

#endif /* GRAPH_H */
