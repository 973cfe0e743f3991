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

#include "region.h"

#define ROUNDS	100	/* number of undisturbed rounds */
#define TRIES	10000

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

/*
 * Stores the least of ROUNDS undisturbed samples to @cost, which must be zero.
 * If there is a second region, it is nested in the first one. The last sample
 * to end is that of the first region.
 */
static int least(struct vpmc_regions *regions, struct region *first,
		 struct region *second, bool full, uint64_t *cost)
{
	uint64_t least[MAX_VALUES];
	unsigned int rounds = 0, tries, i;

	for (tries = 0; tries < TRIES && rounds < ROUNDS; tries++) {
		prepare(regions, full);
		if (second)
			nested(&first->public, &second->public);
		else
			empty(&first->public);
		vpmc_samples_take(regions);
		if (!regions->sample_is_clean)
			continue;
		for (i = 0; i < regions->nr_values; i++)
			if (!rounds || regions->sample[i] < least[i])
				least[i] = regions->sample[i];
		rounds++;
	}
	if (!rounds)
		return -EAGAIN;
	memcpy(cost, least, regions->nr_values * sizeof(*cost));
	return 0;
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
