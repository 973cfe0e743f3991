/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the rank of this process in a parallel program, from the launcher's
 * variables.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RANK_H
#define RANK_H

#include <stdbool.h>
#include <stdint.h>

/* The greatest number of a rank. */
#define MOST_RANKS	10000000

struct rank {
	bool is_set;
	uint32_t number;
	uint32_t ranks;		/* number of ranks, or 0 if unknown */
	const char *job;	/* launcher's name of this run, or NULL */
};

/* Reads the environment. Fails if no launcher has set a rank. */
void rank_find(struct rank *rank);

/*
 * Returns DIR/rank-N.json for -o. Creates DIR if it does not exist. Fails if
 * DIR has results of another run.
 */
char *rank_output(const struct rank *rank, const char *directory);

/* Returns DIR/regions-N.json, for the regions of all processes of the rank. */
char *rank_regions(const struct rank *rank, const char *directory);

#endif /* RANK_H */
