/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results of several ranks together.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MERGE_H
#define MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A number over all ranks that have it. */
struct spread {
	char *region;		/* or NULL: of the whole program */
	char *name;
	bool is_time;		/* nanoseconds */
	unsigned int ranks;	/* that have it */
	unsigned __int128 sum;
	uint64_t min, max;
	uint32_t min_rank, max_rank;
	uint32_t last_rank;	/* while files are read: */
	uint64_t last;		/* its threads are added up */
};

struct merge {
	const char *directory;
	char *command;		/* as the files have it */
	uint32_t *rank;		/* sorted */
	unsigned int nr_ranks;
	uint32_t *missing;
	unsigned int nr_missing;
	struct spread *spread;	/* in order of first appearance */
	unsigned int nr;
};

/* Reads rank-N.json and regions-N.json; fails if they are not of one run. */
void merge_read(struct merge *merge, const char *directory);

double spread_mean(const struct spread *spread);

/* The greatest in relation to the mean; 1 if all are zero. */
double spread_imbalance(const struct spread *spread);

void merge_print_text(FILE *file, const struct merge *merge);
void merge_print_json(FILE *file, const struct merge *merge);

#endif /* MERGE_H */
