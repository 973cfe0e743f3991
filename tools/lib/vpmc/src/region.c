// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names and queries the regions of a thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "region.h"

#define NAME_MAX_LENGTH	255

struct region *vpmc_region_new(struct vpmc_regions *regions, const char *name)
{
	size_t size = sizeof(struct region) +
		      2 * regions->nr_values * sizeof(struct vpmc_stats);
	size_t length = strlen(name) + 1;
	struct region *region = mmap(NULL, size + length, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (region == MAP_FAILED)
		return NULL;
	region->size = size + length;
	region->name = memcpy((char *)region + size, name, length);
	region->regions = regions;
	vpmc_region_functions(&region->public, regions->flags);
	return region;
}

void vpmc_region_free(struct region *region)
{
	if (region)
		munmap(region, region->size);
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

/* The caller holds the lock, because a report of another thread may walk the list. */
static int get(struct vpmc_regions *regions, const char *name,
	       struct vpmc_region **out)
{
	struct region *region;

	for (region = regions->first; region; region = region->next)
		if (!strcmp(region->name, name))
			break;
	if (!region) {
		if (regions->nr_regions == VPMC_REGIONS_MAX)
			return -ENOSPC;
		region = vpmc_region_new(regions, name);
		if (!region)
			return -ENOMEM;
		*regions->last = region;
		regions->last = &region->next;
		regions->nr_regions++;
	}
	*out = &region->public;
	return 0;
}

EXPORT int vpmc_region_get(struct vpmc_regions *regions, const char *name,
		       struct vpmc_region **out)
{
	int saved = errno, err;
	enum hold hold;

	*out = NULL;
	if (!name || !*name || strlen(name) > NAME_MAX_LENGTH)
		return -EINVAL;
	if (!vpmc_regions_are_own(regions))
		return -EPERM;
	hold = vpmc_regions_hold(regions);
	if (hold == NOT_HELD)
		return -EBUSY;
	err = get(regions, name, out);
	vpmc_regions_release(regions, hold);
	errno = saved;
	return err;
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

static void merge_region(struct region *to, const struct region *from)
{
	unsigned int i, which;

	to->dirty += from->dirty;
	to->unfinished += from->unfinished;
	to->replaced += from->replaced;
	to->refused += from->refused;
	for (i = 0; i < to->regions->nr_values; i++)
		for (which = 0; which < 2; which++) {
			to->dirty_sum[which][i] += from->dirty_sum[which][i];
			vpmc_stats_merge(&to->stats[2 * i + which],
					 &from->stats[2 * i + which]);
		}
}

void vpmc_regions_merge(struct vpmc_regions *to, struct vpmc_regions *from)
{
	struct region **link = &from->first, *region, *same;

	while ((region = *link)) {
		for (same = to->first; same; same = same->next)
			if (!strcmp(same->name, region->name))
				break;
		if (same) {
			merge_region(same, region);
			link = &region->next;
			continue;
		}
		*link = region->next;
		region->next = NULL;
		region->regions = to;
		*to->last = region;
		to->last = &region->next;
		to->nr_regions++;
	}
	to->merged += 1 + from->merged;
}

uint64_t vpmc_region_ended(const struct region *region)
{
	return region->stats[0].n + region->dirty + region->replaced;
}

EXPORT void vpmc_region_count_sized(struct vpmc_region *public,
				    struct vpmc_region_calls *calls, size_t size)
{
	struct region *region = (struct region *)public;
	struct vpmc_region_calls known;

	vpmc_samples_settle(region->regions);
	known = (struct vpmc_region_calls) {
		.calls = vpmc_region_ended(region),
		.dirty = region->dirty,
		.unfinished = region->unfinished,
		.replaced = region->replaced,
		.refused = __atomic_load_n(&region->refused, __ATOMIC_RELAXED),
	};
	memset(calls, 0, size);
	memcpy(calls, &known, size < sizeof(known) ? size : sizeof(known));
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
