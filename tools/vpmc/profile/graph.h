/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results of vpmc graph: functions, arcs between them, and each thread's tree
 * of calls.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_H
#define GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "stat/run.h"

/* Values of a node: one for each event, in their order, and then nanoseconds */
#define GRAPH_VALUES	(VPMC_MAX_COUNTERS + 1)

struct function {
	char *name;		/* FILE+OFFSET if the function has no name */
	char *module;		/* file name of the program or library, without directories */
	char *file;		/* source file, or NULL */
	int line;
	bool nameless;
	bool changed;		/* its file is not the one that was mapped */
	uint64_t calls;
	uint64_t *exclusive;	/* without the functions that it calls */
	uint64_t *inclusive;	/* with the functions that it calls; recursion counts once */
	unsigned int on_path;	/* depth of recursion while a tree is walked */
};

struct arc {
	unsigned int caller, callee;
	uint64_t calls;
	uint64_t *inclusive;	/* values of the callee when called from @caller */
	unsigned int on_path;
};

struct node {
	unsigned int function;
	unsigned int parent;	/* number of the parent's node; 0 is the root */
	unsigned int child, sibling;	/* numbers of nodes; 0 if there is none */
	uint64_t calls;
	uint64_t *exclusive, *inclusive;
};

/*
 * A tree of calls. Node 0 is the root; it has what was counted outside of all
 * functions.
 */
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
	int status;			/* status of COMMAND, from wait() */
	const char *event[GRAPH_VALUES];
	unsigned int nr_values;
	uint64_t total[GRAPH_VALUES];	/* counts of the whole program, from the kernel */
	/* costs of the preloaded library, subtracted from the functions */
	uint64_t own[GRAPH_VALUES];
	uint64_t outside[GRAPH_VALUES];	/* counts outside of all functions that call the hooks */
	struct function *function;
	unsigned int nr_functions;
	struct arc *arc;
	unsigned int nr_arcs;
	struct tree *tree;
	unsigned int nr_trees;
	struct tree all;		/* tree of all threads together */
	uint64_t unrecorded;		/* threads without a tree */
	uint64_t stopped;		/* threads whose tree ends early */
	uint64_t living;		/* threads that have not ended with COMMAND */
	char *why;			/* why a thread has no tree, or NULL */
};

/* Loads the files of the preloaded library from @directory. */
void graph_load(struct graph *graph, const char *directory,
		const struct group *group);

/* Loads what the preloaded library could not record. */
void graph_load_lost(struct graph *graph, const char *directory);
/* Prints it, if there is something. */
void graph_note_lost(const struct graph *graph);

/* Computes inclusive values, arcs and the tree of all threads. */
void graph_sum(struct graph *graph);
uint64_t *graph_values(const struct graph *graph);

/* Adds a node for @function below @parent, and returns its number. */
unsigned int tree_add(const struct graph *graph, struct tree *tree,
		      unsigned int parent, unsigned int function);

/*
 * Returns @value as a share, from 0 to 1, of the total without the library's
 * own costs.
 */
double graph_share(const struct graph *graph, uint64_t value);

/* Output formats */
void graph_print_json(FILE *file, const struct graph *graph);
void graph_print_folded(FILE *file, const struct graph *graph);
void graph_print_dot(FILE *file, const struct graph *graph);
void graph_print_text(FILE *file, const struct graph *graph);

#endif /* GRAPH_H */
