/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a parallel program's processes this one is, as its launcher tells.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RANK_H
#define RANK_H

#include <stdbool.h>
#include <stdint.h>

struct rank {
	bool is_set;
	uint32_t number;
	uint32_t ranks;		/* how many there are, or 0: nobody tells */
	const char *job;	/* what the launcher calls this run, or NULL */
};

/* From the environment. Fails if no launcher has set anything. */
void rank_find(struct rank *rank);

/*
 * DIR/rank-N.json, for -o; DIR is made if it is not there. A region report of COMMAND
 * goes to DIR/regions-N.json. Fails if there are results of another run.
 */
char *rank_output(const struct rank *rank, const char *directory);

#endif /* RANK_H */
