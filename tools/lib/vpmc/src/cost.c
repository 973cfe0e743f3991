// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Measures what begin and end of a region count themselves.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * The cost is what empty regions count. It is the least value of many
 * undisturbed samples. The costs that are known already are subtracted while
 * the next one is measured, as from any region.
 */
#include <errno.h>
#include <string.h>

#include "least.h"
#include "region.h"

#define ROUNDS	100	/* number of undisturbed rounds */

/*
 * Here and in nested(), only the instructions of the calls lie between the
 * marks.
 */
static __attribute__((__noinline__)) void empty(struct vpmc_region *region)
{
	vpmc_begin(region);
	vpmc_end(region);
}

static __attribute__((__noinline__)) void
nested(struct vpmc_region *around, struct vpmc_region *within)
{
	vpmc_begin(around);
	vpmc_begin(within);
	vpmc_end(within);
	vpmc_end(around);
}

/* Empties the log. With @full, leaves room for exactly one begin. */
static void prepare(struct vpmc_regions *regions, bool full)
{
	char *at = (char *)regions->log;

	if (full)
		at = (char *)regions->limit - regions->record_size;
	regions->head = regions->done = (uint64_t *)at;
	regions->tried_at = NULL;
}

/* Empty regions. If there is a second one, it is nested in the first one. */
struct trial {
	struct vpmc_regions *regions;
	struct region *first, *second;
	bool full;
};

/* The last sample to end is that of the first region. */
static bool try(void *arg, uint64_t *value)
{
	const struct trial *trial = arg;
	struct vpmc_regions *regions = trial->regions;

	prepare(regions, trial->full);
	if (trial->second)
		nested(&trial->first->public, &trial->second->public);
	else
		empty(&trial->first->public);
	vpmc_samples_take(regions);
	memcpy(value, regions->sample, regions->nr_values * sizeof(*value));
	return regions->sample_is_clean;
}

/* Stores what these regions count to @cost, which must be zero. */
static int least(struct vpmc_regions *regions, struct region *first,
		 struct region *second, bool full, uint64_t *cost)
{
	struct trial trial = { regions, first, second, full };

	return vpmc_least(try, &trial, regions->nr_values, ROUNDS, cost);
}

int vpmc_regions_measure(struct vpmc_regions *regions)
{
	struct region *first = vpmc_region_new(regions, ""), *second;
	int err = -ENOMEM;

	second = vpmc_region_new(regions, "");
	if (first && second)
		err = vpmc_begin(&first->public);
	if (!err)
		err = vpmc_end(&first->public);
	if (!err)
		err = least(regions, first, NULL, false, regions->inside);
	if (!err)
		err = least(regions, first, second, false, regions->around);
	if (!err)
		err = least(regions, first, second, true, regions->full);
	prepare(regions, false);
	vpmc_region_free(first);
	vpmc_region_free(second);
	return err;
}
