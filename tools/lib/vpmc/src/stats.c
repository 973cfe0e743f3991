// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Statistics of many values: moments and a histogram. The histogram's buckets
 * are wider for larger values.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>

#include "stats.h"

#define SUB_BITS	5	/* log2 of VPMC_STATS_SUB */

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < VPMC_STATS_SUB)
		return value;
	shift = 63 - __builtin_clzll(value) - SUB_BITS;
	return (shift << SUB_BITS) + (value >> shift);
}

static unsigned int shift_of(unsigned int bucket)
{
	return bucket < 2 * VPMC_STATS_SUB ? 0 : (bucket >> SUB_BITS) - 1;
}

EXPORT uint64_t vpmc_stats_low(unsigned int i)
{
	unsigned int shift = shift_of(i);

	return (uint64_t)(i - (shift << SUB_BITS)) << shift;
}

EXPORT struct vpmc_stats *vpmc_stats_new(void)
{
	return calloc(1, sizeof(struct vpmc_stats));
}

EXPORT void vpmc_stats_free(struct vpmc_stats *stats)
{
	free(stats);
}

EXPORT uint64_t vpmc_stats_n(const struct vpmc_stats *stats)
{
	return stats->n;
}

EXPORT uint64_t vpmc_stats_min(const struct vpmc_stats *stats)
{
	return stats->min;
}

EXPORT uint64_t vpmc_stats_max(const struct vpmc_stats *stats)
{
	return stats->max;
}

EXPORT uint64_t vpmc_stats_sum(const struct vpmc_stats *stats)
{
	return stats->sum;
}

EXPORT uint64_t vpmc_stats_bucket(const struct vpmc_stats *stats, unsigned int i)
{
	return i < VPMC_STATS_BUCKETS ? stats->bucket[i] : 0;
}

/*
 * The sums are of differences to the first value, which is near the others. So
 * they stay small, and equal values have a deviation of exactly 0.
 */
EXPORT void vpmc_stats_add(struct vpmc_stats *stats, uint64_t value)
{
	long double offset;

	if (!stats->n++)
		stats->first = stats->min = stats->max = value;
	if (value < stats->min)
		stats->min = value;
	if (value > stats->max)
		stats->max = value;
	offset = value >= stats->first ? (long double)(value - stats->first) :
					-(long double)(stats->first - value);
	stats->sum += value;
	stats->offsets += offset;
	stats->squares += offset * offset;
	stats->bucket[bucket_of(value)]++;
}

/* The differences of @from get another first value, which is @offset away. */
void vpmc_stats_merge(struct vpmc_stats *to, const struct vpmc_stats *from)
{
	long double offset;
	unsigned int i;

	if (!from->n)
		return;
	if (!to->n) {
		*to = *from;
		return;
	}
	offset = from->first >= to->first ? (long double)(from->first - to->first) :
					   -(long double)(to->first - from->first);
	to->squares += from->squares + 2 * offset * from->offsets +
		       offset * offset * from->n;
	to->offsets += from->offsets + offset * from->n;
	to->n += from->n;
	to->sum += from->sum;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	for (i = 0; i < VPMC_STATS_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

EXPORT double vpmc_stats_mean(const struct vpmc_stats *stats)
{
	return stats->n ? stats->first + stats->offsets / stats->n : 0;
}

EXPORT double vpmc_stats_deviation(const struct vpmc_stats *stats)
{
	long double mean, variance;

	if (!stats->n)
		return 0;
	mean = stats->offsets / stats->n;
	variance = stats->squares / stats->n - mean * mean;
	/* it can be below 0 only by rounding */
	return variance > 0 ? __builtin_sqrtl(variance) : 0;
}

EXPORT uint64_t vpmc_stats_quantile(const struct vpmc_stats *stats, double part)
{
	uint64_t rank, seen = 0, value;
	unsigned int i;

	/* NaN is not above 0 */
	if (!stats->n || !(part > 0))
		return stats->min;
	if (part >= 1)
		return stats->max;
	/* the lowest rank such that @part of all values are at or below it */
	rank = part * stats->n;
	if (!rank || rank < part * stats->n)
		rank++;
	for (i = 0; seen + stats->bucket[i] < rank; i++)
		seen += stats->bucket[i];
	value = vpmc_stats_low(i) + (((1ULL << shift_of(i)) - 1) >> 1);
	if (value < stats->min)
		return stats->min;
	return value > stats->max ? stats->max : value;
}
