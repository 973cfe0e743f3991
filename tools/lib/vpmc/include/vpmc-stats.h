/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: statistics of many values, in a fixed amount of memory.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_STATS_H
#define VPMC_STATS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Each value up to 31 has its own bucket. Each power of two above has 32
 * buckets of equal width. So a value is at most 1/64 away from the middle of
 * its bucket.
 */
#define VPMC_STATS_SUB		32
#define VPMC_STATS_BUCKETS	(60 * VPMC_STATS_SUB)

/**
 * struct vpmc_stats - Statistics of 64-bit values
 * @n:		How many values.
 * @min:	The least value; 0 without values.
 * @max:	The greatest value.
 * @sum:	The sum of the values, modulo 2^64.
 * @first:	The first value.
 * @offsets:	Sum of the differences from @first.
 * @squares:	Sum of the squares of these differences.
 * @bucket:	How many values fell into each bucket, see vpmc_stats_low().
 *
 * Statistics without values are all zeros.
 */
struct vpmc_stats {
	uint64_t n, min, max, sum, first;
	long double offsets, squares;
	uint64_t bucket[VPMC_STATS_BUCKETS];
};

/**
 * vpmc_stats_add() - Add a value
 * @stats:	The statistics.
 * @value:	The value.
 */
void vpmc_stats_add(struct vpmc_stats *stats, uint64_t value);

/**
 * vpmc_stats_mean() - The arithmetic mean
 * @stats:	The statistics.
 *
 * Return: The mean; 0 without values.
 */
double vpmc_stats_mean(const struct vpmc_stats *stats);

/**
 * vpmc_stats_deviation() - The standard deviation, with n as the divisor
 * @stats:	The statistics.
 *
 * Return: The deviation, 0 if all values are equal or there are none.
 */
double vpmc_stats_deviation(const struct vpmc_stats *stats);

/**
 * vpmc_stats_quantile() - The value that a part of all values do not exceed
 * @stats:	The statistics.
 * @part:	From 0 to 1. 0.5 gives the median, and of the two values in the
 *		middle the lower one.
 *
 * Return: The quantile; 0 without values. It is exact up to 31. Above, its error is
 * at most 1/64 of it.
 */
uint64_t vpmc_stats_quantile(const struct vpmc_stats *stats, double part);

/**
 * vpmc_stats_low() - Where a bucket begins
 * @i:		Its number, below VPMC_STATS_BUCKETS.
 *
 * Return: The least value that falls into it.
 */
uint64_t vpmc_stats_low(unsigned int i);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_STATS_H */
