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

/* Statistics of 64-bit values. Only the library knows what is in them. */
struct vpmc_stats;

/**
 * vpmc_stats_new() - Make statistics without values
 *
 * Those of vpmc_region_stats() belong to their region, and need no call of this.
 *
 * Context: MT-Safe, AS-Unsafe heap.
 *
 * Return: The statistics, which vpmc_stats_free() frees; NULL: there is no memory.
 */
struct vpmc_stats *vpmc_stats_new(void);

/**
 * vpmc_stats_free() - Free statistics of vpmc_stats_new()
 * @stats:	The statistics. NULL does nothing.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats heap.
 */
void vpmc_stats_free(struct vpmc_stats *stats);

/**
 * vpmc_stats_add() - Add a value
 * @stats:	The statistics.
 * @value:	The value.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 */
void vpmc_stats_add(struct vpmc_stats *stats, uint64_t value);

/**
 * vpmc_stats_n() - The number of values
 * @stats:	The statistics.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: How many values there are.
 */
uint64_t vpmc_stats_n(const struct vpmc_stats *stats);

/**
 * vpmc_stats_min() - The least value
 * @stats:	The statistics.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The value; 0 without values.
 */
uint64_t vpmc_stats_min(const struct vpmc_stats *stats);

/**
 * vpmc_stats_max() - The greatest value
 * @stats:	The statistics.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The value; 0 without values.
 */
uint64_t vpmc_stats_max(const struct vpmc_stats *stats);

/**
 * vpmc_stats_sum() - The sum of the values
 * @stats:	The statistics.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The sum, modulo 2^64.
 */
uint64_t vpmc_stats_sum(const struct vpmc_stats *stats);

/**
 * vpmc_stats_mean() - The arithmetic mean
 * @stats:	The statistics.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The mean; 0 without values.
 */
double vpmc_stats_mean(const struct vpmc_stats *stats);

/**
 * vpmc_stats_deviation() - The standard deviation, with n as the divisor
 * @stats:	The statistics.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The deviation, 0 if all values are equal or there are none.
 */
double vpmc_stats_deviation(const struct vpmc_stats *stats);

/**
 * vpmc_stats_quantile() - The value that a part of all values do not exceed
 * @stats:	The statistics.
 * @part:	From 0 to 1. 0.5 gives the median, and of the two values in the
 *		middle the lower one. Above 1 it is taken as 1; below 0, and if it is NaN, as 0.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The quantile; 0 without values. It is exact up to 31. Above, its error is
 * at most 1/64 of it.
 */
uint64_t vpmc_stats_quantile(const struct vpmc_stats *stats, double part);

/**
 * vpmc_stats_bucket() - How many values fell into a bucket
 * @stats:	The statistics.
 * @i:		Number of the bucket, below VPMC_STATS_BUCKETS. vpmc_stats_low() tells
 *		where it begins.
 *
 * Context: MT-Safe race:stats, AS-Unsafe race:stats.
 *
 * Return: The number of values; 0: there is no such bucket.
 */
uint64_t vpmc_stats_bucket(const struct vpmc_stats *stats, unsigned int i);

/**
 * vpmc_stats_low() - Where a bucket begins
 * @i:		Its number, below VPMC_STATS_BUCKETS.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The least value that falls into it.
 */
uint64_t vpmc_stats_low(unsigned int i);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_STATS_H */
