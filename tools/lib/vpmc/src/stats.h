/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contents of statistics, which programs do not see.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_STATS_PRIVATE_H
#define VPMC_STATS_PRIVATE_H

#include "internal.h"

/*
 * Statistics without values are all zeros. @first is the first value. @offsets is the sum
 * of the differences from it, and @squares that of their squares.
 */
struct vpmc_stats {
	uint64_t n, min, max, sum, first;
	long double offsets, squares;
	uint64_t bucket[VPMC_STATS_BUCKETS];
};

/* Adds all values of @from. */
void vpmc_stats_merge(struct vpmc_stats *to, const struct vpmc_stats *from);

#endif /* VPMC_STATS_PRIVATE_H */
