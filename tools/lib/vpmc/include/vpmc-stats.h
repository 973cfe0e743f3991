/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: statistics of many values, in memory that does not grow.
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
 * Values up to 31 have a bucket each. Each power of two above has 32 buckets of
 * equal width: the middle of a bucket is at most 1/64 of a value away from it.
 */
#define VPMC_STATS_SUB		32
#define VPMC_STATS_BUCKETS	(60 * VPMC_STATS_SUB)

/**
 * struct vpmc_stats - Statistics of 64-bit values
 * @n:		How many values.
 * @min:	The least one; 0 without values.
 * @max:	The greatest one.
 * @sum:	All of them, modulo 2^64.
 * @first:	The first one, from which the others are measured.
 * @offsets:	Sum of the differences from @first.
 * @squares:	Sum of the squares of these.
 * @bucket:	How many values fell into each bucket, see vpmc_stats_low().
 *
 * All zeros is one without values.
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
 * vpmc_stats_deviation() - The standard deviation of all values, divided by n
 * @stats:	The statistics.
 *
 * Return: The deviation, 0 if all values are equal or there are none.
 */
double vpmc_stats_deviation(const struct vpmc_stats *stats);

/**
 * vpmc_stats_quantile() - The value below or at which a part of all values are
 * @stats:	The statistics.
 * @part:	From 0 to 1; 0.5 gives the median, of an even number the lower one
 *		of the two in the middle.
 *
 * Return: The quantile, wrong by at most 1/64 of itself and right up to 31; 0
 * without values.
 */
uint64_t vpmc_stats_quantile(const struct vpmc_stats *stats, double part);

/**
 * vpmc_stats_low() - Where a bucket begins
 * @i:		Its number, below VPMC_STATS_BUCKETS.
 *
 * Return: The least value that falls into it. The next bucket's is the least one
 * that does not.
 */
uint64_t vpmc_stats_low(unsigned int i);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_STATS_H */
