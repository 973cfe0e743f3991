/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Merges the results of several ranks.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MERGE_H
#define MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/departures.h"

enum unit { UNIT_EVENTS, UNIT_NS, UNIT_BYTES };

/* number that several ranks have */
struct spread {
	char *region;		/* name of a region, or NULL for the whole program */
	char *name;
	enum unit unit;
	unsigned int ranks;	/* number of ranks that have this number */
	unsigned __int128 sum;
	uint64_t min, max;
	uint32_t min_rank, max_rank;
	uint32_t last_rank;	/* rank whose files are being read */
	uint64_t last;		/* sum of that rank's threads */
};

/* why a rank has other counts than it seems, from its file; 0 or false if not so */
struct remarked {
	uint32_t rank;
	unsigned int runs, early_runs;	/* runs that are in the numbers, and that -D has left out */
	unsigned int wanted;		/* runs that were to be made, if not all were */
	unsigned int signal;		/* that came before; 0: the next one could not begin */
	unsigned int timed_out;		/* number of runs that --timeout has ended */
	uint64_t regions_lost;		/* processes with regions that have not reported them */
	bool not_started, early, revoked, detached, input_was_read;
};

struct merge {
	const char *directory;
	char *command;		/* command line, as JSON text from the files */
	uint32_t *rank;		/* sorted */
	unsigned int nr_ranks;
	uint32_t *missing;
	unsigned int nr_missing;
	struct ended {		/* ranks whose program has ended with an error */
		uint32_t rank;
		unsigned int signal;	/* that ended it, or 0 */
		unsigned int status;
	} *ended;
	unsigned int nr_ended;
	struct remarked *remarked;	/* in the order of the ranks */
	unsigned int nr_remarked;
	struct departures left;	/* of all ranks */
	uint64_t living, replaced;
	struct spread *spread;	/* in order of first appearance */
	unsigned int nr;
};

/* Reads rank-N.json and regions-N.json. Fails if they are not of one run. */
void merge_read(struct merge *merge, const char *directory);

double spread_mean(const struct spread *spread);

/* Returns the maximum divided by the mean, or 1 if all values are zero. */
double spread_imbalance(const struct spread *spread);

void merge_print_text(FILE *file, const struct merge *merge);
void merge_print_json(FILE *file, const struct merge *merge);

#endif /* MERGE_H */
