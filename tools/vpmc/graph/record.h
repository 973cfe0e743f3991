/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the preloaded library leaves of each thread, in a file of its own: a head,
 * and behind it the nodes of its tree of calls. Node 0 is the root: what the thread
 * did outside of all functions that call the hooks. All is valid at any moment, also
 * if the thread was killed.
 *
 * A value is TSC ticks for number 0, and the count of event n - 1 for number n.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_RECORD_H
#define GRAPH_RECORD_H

#include <stdint.h>
#include <linux/vpmc.h>

#define RECORD_MAGIC	0x31687061726770ULL	/* "pgraph1" */
#define RECORD_VALUES	(VPMC_MAX_COUNTERS + 1)

/* In the environment: the directory of the files. See graph-load.c for their names. */
#define RECORD_DIRECTORY	"VPMC_GRAPH"
#define RECORD_PATH		192	/* the most bytes of its name, with a NUL */

/* The most lists of its mappings that a process leaves. */
#define RECORD_MAPS		1023

/* Parts of @maps of a node. */
#define RECORD_LIST(maps)	((maps) & 1023)
#define RECORD_EPOCH(maps)	((maps) >> 10)
#define RECORD_EPOCHS		(1U << 22)

/* The nodes begin here. */
#define RECORD_HEAD_SIZE	4096

/**
 * struct record_head - The beginning of a thread's file
 * @magic:	RECORD_MAGIC.
 * @nr_values:	Counters of the set, and one for the ticks.
 * @node_size:	Bytes of a node.
 * @pid:	The thread's process.
 * @tid:	The thread.
 * @parent:	The process that forked this one, or 0: it came by execve().
 * @threads:	Number of threads in this tree: more than one if there were too
 *		many threads for a file each.
 * @nr_nodes:	How many nodes are valid.
 * @born:	When the process began, in clock ticks modulo 2^32. Programs that it
 *		executes have the same.
 * @missed:	Events that a signal handler caused during another event of the
 *		thread. They are ignored.
 * @no_room:	Calls that are counted for their caller, because there was no room
 *		for their node or their frame.
 * @strays:	Ends of functions that had not begun.
 * @unwound:	Functions that ended without a call of the exit hook, for example
 *		by longjmp().
 * @time_mult:	Of struct vpmc_page, for nanoseconds.
 * @time_shift:	The same.
 * @first:	What the thread's set had counted when its file began; of a process
 *		that came by execve() this includes the earlier program's.
 * @last:	What it had counted at the end of the last event.
 * @own:	What the library itself has used. It is in no node.
 */
struct record_head {
	uint64_t magic;
	uint32_t nr_values;
	uint32_t node_size;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent;
	uint32_t threads;
	uint32_t nr_nodes;
	uint32_t born;
	uint64_t missed;
	uint64_t no_room;
	uint64_t strays;
	uint64_t unwound;
	uint32_t time_mult;
	uint32_t time_shift;
	uint64_t first[RECORD_VALUES];
	uint64_t last[RECORD_VALUES];
	uint64_t own[RECORD_VALUES];
};

/**
 * struct record_node - A function, called by a chain of others
 * @function:	Its address.
 * @calls:	How often it was called so.
 * @parent:	Number of the node that called it.
 * @maps:	RECORD_LIST() is the number of the list that tells what is mapped at the
 *		address, or RECORD_MAPS if there is none. The library alone uses the
 *		rest.
 * @value:	What it did itself; nr_values of the head.
 */
struct record_node {
	uint64_t function;
	uint64_t calls;
	uint32_t parent;
	uint32_t maps;
	uint64_t value[];
};

#endif /* GRAPH_RECORD_H */
