// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names and queries the regions of a thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

#define NAME_MAX_LENGTH	255

struct region *vpmc_region_new(struct vpmc_regions *regions, const char *name)
{
	size_t size = sizeof(struct region) +
		      2 * regions->nr_values * sizeof(struct vpmc_stats);
	struct region *region = calloc(1, size);

	if (!region)
		return NULL;
	region->name = strdup(name);
	if (!region->name) {
		free(region);
		return NULL;
	}
	region->regions = regions;
	vpmc_region_functions(&region->public, regions->flags);
	return region;
}

void vpmc_region_free(struct region *region)
{
	if (!region)
		return;
	free(region->name);
	free(region);
}

EXPORT struct vpmc *vpmc_regions_handle(struct vpmc_regions *regions)
{
	return regions->v;
}

int vpmc_regions_value(const struct vpmc_regions *regions, int event)
{
	if (event == VPMC_RUN_TIME)
		return 0;
	if (event < 0 || event >= (int)regions->nr_events)
		return -1;
	return 1 + regions->element[event];
}

EXPORT int vpmc_regions_cost(const struct vpmc_regions *regions, int event,
			     uint64_t *inside, uint64_t *around)
{
	int i = vpmc_regions_value(regions, event);

	*inside = i < 0 ? 0 : regions->inside[i];
	*around = i < 0 ? 0 : regions->around[i];
	return i < 0 ? -EINVAL : 0;
}

EXPORT int vpmc_region_get(struct vpmc_regions *regions, const char *name,
		       struct vpmc_region **out)
{
	struct region *region;

	*out = NULL;
	if (!name || !*name || strlen(name) > NAME_MAX_LENGTH)
		return -EINVAL;
	if (!regions->v || regions->owner != thread_pointer())
		return -EPERM;
	for (region = regions->first; region; region = region->next)
		if (!strcmp(region->name, name))
			break;
	if (!region) {
		if (regions->nr_regions == VPMC_REGIONS_MAX)
			return -ENOSPC;
		region = vpmc_region_new(regions, name);
		if (!region)
			return -ENOMEM;
		/* Another thread's report may walk the list. */
		pthread_mutex_lock(&regions->lock);
		*regions->last = region;
		regions->last = &region->next;
		regions->nr_regions++;
		pthread_mutex_unlock(&regions->lock);
	}
	*out = &region->public;
	return 0;
}

EXPORT const struct vpmc_stats *vpmc_region_stats(struct vpmc_region *public,
						  int event, unsigned int which)
{
	struct region *region = (struct region *)public;
	int i = vpmc_regions_value(region->regions, event);

	if (i < 0 || which > VPMC_EXCLUSIVE)
		return NULL;
	vpmc_samples_settle(region->regions);
	return &region->stats[2 * i + which];
}

EXPORT uint64_t vpmc_region_dirty(struct vpmc_region *public, int event,
				  unsigned int which)
{
	struct region *region = (struct region *)public;
	int i = vpmc_regions_value(region->regions, event);

	if (i < 0 || which > VPMC_EXCLUSIVE)
		return 0;
	vpmc_samples_settle(region->regions);
	return region->dirty_sum[which][i];
}

EXPORT uint64_t vpmc_region_total(struct vpmc_region *public, int event,
				  unsigned int which, uint64_t *dirty)
{
	const struct vpmc_stats *stats = vpmc_region_stats(public, event, which);
	uint64_t part = vpmc_region_dirty(public, event, which);

	if (dirty)
		*dirty = part;
	return stats ? stats->sum + part : 0;
}

EXPORT void vpmc_region_count(struct vpmc_region *public,
			      struct vpmc_region_calls *calls)
{
	struct region *region = (struct region *)public;

	vpmc_samples_settle(region->regions);
	calls->dirty = region->dirty;
	calls->calls = region->stats[0].n + region->dirty;
	calls->unfinished = region->unfinished;
}

const char *vpmc_regions_event(const struct vpmc_regions *regions,
			       unsigned int event, char buffer[VPMC_NAME_SIZE],
			       uint64_t *select)
{
	const struct vpmc_event *named = regions->events;
	unsigned int element = regions->element[event];
	unsigned long long number = regions->control.counter[element].evtsel;

	*select = number;
	if (named) {
		while (named->flags & VPMC_EVENT_LEFT_OUT ||
		       named->element != (int)element)
			named++;
		*select = named->select;
		return named->name;
	}
	snprintf(buffer, VPMC_NAME_SIZE, "%#llx", number);
	return buffer;
}
