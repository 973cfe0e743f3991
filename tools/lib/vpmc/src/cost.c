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
#define VPMC
#include <vpmc-marker.h>

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

/* Like empty(), and like nested(): what markers add to their region, and to one around it. */
static __attribute__((__noinline__)) void
empty_marker(struct vpmc_region **begin, struct vpmc_region **end, const struct vpmc_place *place)
{
	vpmc_marker_begin(begin, place);
	vpmc_marker_end(end, place);
}

static __attribute__((__noinline__)) void
nested_marker(struct vpmc_region *around, struct vpmc_region **begin, struct vpmc_region **end,
	      const struct vpmc_place *place)
{
	vpmc_begin(around);
	vpmc_marker_begin(begin, place);
	vpmc_marker_end(end, place);
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
 * Empty regions. If there is a second one, it is nested in the first one, or alone. @late_begin,
 * @late_end: its markers have not passed before.
 */
struct trial {
	struct vpmc_regions *regions;
	struct region *first, *second;
	bool full, late_begin, late_end;
};

static void try_marker(const struct trial *trial)
{
	struct vpmc_region *begin = &trial->second->public, *end = begin;
	struct vpmc_place place = { .name = trial->second->name, .file = "" };

	if (trial->late_begin)
		begin = NULL;
	if (trial->late_end)
		end = &vpmc_unknown_region;
	if (trial->first)
		nested_marker(&trial->first->public, &begin, &end, &place);
	else
		empty_marker(&begin, &end, &place);
}

/* The last sample to end is that of the first region. */
static bool try(void *arg, uint64_t *value)
{
	const struct trial *trial = arg;
	struct vpmc_regions *regions = trial->regions;

	prepare(regions, trial->full);
	if (trial->second && regions->is_marked)
		try_marker(trial);
	else if (trial->second)
		nested(&trial->first->public, &trial->second->public);
	else
		empty(&trial->first->public);
	vpmc_samples_take(regions);
	memcpy(value, regions->sample, regions->nr_values * sizeof(*value));
	return regions->sample_is_clean;
}

/* Stores what these regions count to @cost, which must be zero. */
static int least(const struct trial *trial, uint64_t *cost)
{
	return vpmc_least(try, (void *)trial, trial->regions->nr_values, ROUNDS, cost);
}

/* Markers find the two regions by their names. */
static int measure_markers(struct trial *trial)
{
	struct vpmc_regions *regions = trial->regions;
	struct region *first = regions->first, **last = regions->last;
	struct trial alone = { regions, NULL, trial->second, false, false, true };
	int err;

	regions->first = trial->second;
	vpmc_marker_use(regions);
	trial->full = false;
	trial->late_begin = true;
	err = least(trial, regions->late_begin);
	trial->late_begin = false;
	trial->late_end = true;
	if (!err)
		err = least(&alone, regions->late_end);
	if (!err)
		err = least(trial, regions->late_after);
	vpmc_marker_use(NULL);
	regions->first = first;
	regions->last = last;
	return err;
}

int vpmc_regions_measure(struct vpmc_regions *regions)
{
	struct region *first = vpmc_region_new(regions, "first"), *second;
	struct trial trial = { .regions = regions, .first = first };
	int err = -ENOMEM;

	second = vpmc_region_new(regions, "second");
	if (first && second)
		err = vpmc_begin(&first->public);
	if (!err)
		err = vpmc_end(&first->public);
	if (!err)
		err = least(&trial, regions->inside);
	trial.second = second;
	if (!err)
		err = least(&trial, regions->around);
	trial.full = true;
	if (!err)
		err = least(&trial, regions->full);
	if (!err && regions->is_marked)
		err = measure_markers(&trial);
	prepare(regions, false);
	vpmc_region_free(first);
	vpmc_region_free(second);
	return err;
}
