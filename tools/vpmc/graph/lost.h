/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the preloaded library could not record, in a file of each program: PID.IMAGE.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_LOST_H
#define GRAPH_LOST_H

#include <stdint.h>

#define LOST_MAGIC	0x3174736f6c67ULL	/* "glost1" */

/**
 * struct graph_lost - What is missing of a program
 * @magic:	LOST_MAGIC.
 * @threads:	Threads that have no tree.
 * @stopped:	Threads whose tree ends early, because they have forbidden themselves to
 *		read the time stamp counter.
 * @why:	Why a thread has no tree, if it has none.
 */
struct graph_lost {
	uint64_t magic;
	uint64_t threads;
	uint64_t stopped;
	char why[160];
};

#endif /* GRAPH_LOST_H */
