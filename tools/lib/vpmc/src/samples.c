// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Turns records of begin and end into samples, and adds these to the
 * statistics.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <string.h>

#include "region.h"

static void push(struct vpmc_regions *regions, const uint64_t *at)
{
	struct frame *frame = &regions->frame[regions->depth++];
	size_t size = regions->nr_values * sizeof(uint64_t);

	frame->region = (struct region *)(uintptr_t)at[WORD_REGION];
	frame->region->unfinished++;
	frame->mark = at[WORD_MARK];
	frame->pairs = 0;
	memcpy(frame->begin, at + WORD_VALUES, size);
	memset(frame->children, 0, size);
	memcpy(frame->flushed, regions->flushed, size);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void add_sample(struct region *region, unsigned int value, bool is_clean,
		       uint64_t inclusive, uint64_t exclusive)
{
	if (is_clean) {
		vpmc_stats_add(&region->stats[2 * value], inclusive);
		vpmc_stats_add(&region->stats[2 * value + 1], exclusive);
	} else {
		region->dirty_sum[VPMC_INCLUSIVE][value] += inclusive;
		region->dirty_sum[VPMC_EXCLUSIVE][value] += exclusive;
	}
}

/*
 * Returns a value of a region without the costs of measuring: those of its own
 * begin and end, of all regions within, and of emptying the log.
 */
static uint64_t own_value(const struct vpmc_regions *regions,
			  const struct frame *frame, const uint64_t *end,
			  unsigned int i)
{
	uint64_t cost = regions->inside[i] + frame->pairs * regions->around[i] +
			regions->flushed[i] - frame->flushed[i];

	return difference(difference(end[i], frame->begin[i]), cost);
}

static void pop(struct vpmc_regions *regions, const uint64_t *at)
{
	struct frame *frame = &regions->frame[--regions->depth];
	struct frame *around = regions->depth ? frame - 1 : NULL;
	const uint64_t *end = at + WORD_VALUES;
	struct region *region = frame->region;
	bool is_clean = frame->mark == at[WORD_MARK];
	uint64_t inclusive;
	unsigned int i;

	region->unfinished--;
	/* The difference would be one of two events. The regions around end like this one. */
	if (at[WORD_MARK] & MARK_REPLACED) {
		regions->sample_is_clean = false;
		region->replaced++;
		return;
	}
	/* A value that is less than at the beginning was cleared meanwhile. */
	for (i = 0; i < regions->nr_values; i++)
		is_clean &= end[i] >= frame->begin[i];
	for (i = 0; i < regions->nr_values; i++) {
		inclusive = own_value(regions, frame, end, i);
		regions->sample[i] = inclusive;
		if (around)
			around->children[i] += inclusive;
		add_sample(region, i, is_clean, inclusive,
			   difference(inclusive, frame->children[i]));
	}
	if (around)
		around->pairs += frame->pairs + 1;
	regions->sample_is_clean = is_clean;
	region->dirty += !is_clean;
}

void vpmc_samples_take(struct vpmc_regions *regions)
{
	uint64_t *head = *(uint64_t *volatile *)&regions->head, *at;

	vpmc_barrier();
	for (at = regions->done; at < head;
	     at = (uint64_t *)((char *)at + regions->record_size))
		if (at[WORD_REGION])
			push(regions, at);
		else
			pop(regions, at);
	regions->done = at;
}

static bool read_values(const struct vpmc_regions *regions, uint64_t *value)
{
	int n = vpmc_read(regions->v, value + 1, regions->nr, value);

	/* Others have added counters. */
	if (n == -ENOSPC)
		n = vpmc_read(regions->v, value + 1, VPMC_MAX_COUNTERS, value);
	return n >= (int)regions->nr;
}

void vpmc_samples_flush(struct vpmc_regions *regions, struct flush *flush)
{
	flush->good = read_values(regions, flush->before);
	pthread_mutex_lock(&regions->lock);
	vpmc_samples_take(regions);
	regions->head = regions->done = regions->log;
	regions->tried_at = NULL;
	pthread_mutex_unlock(&regions->lock);
}

/*
 * The second read is always followed by the same instructions, so their number
 * can be measured.
 */
void vpmc_samples_flushed(struct vpmc_regions *regions, const struct flush *flush,
			  const uint64_t *more)
{
	uint64_t after[MAX_VALUES];
	unsigned int i;

	if (!flush->good || !read_values(regions, after))
		return;
	for (i = 0; i < regions->nr_values; i++)
		regions->flushed[i] += after[i] - flush->before[i] + (more ? more[i] : 0);
}

enum hold vpmc_regions_hold(struct vpmc_regions *regions)
{
	if (!vpmc_regions_are_own(regions)) {
		pthread_mutex_lock(&regions->lock);
		return HELD;
	}
	/* What the handler has interrupted may hold the lock, or only append to the log. */
	if (!regions->owner)
		return pthread_mutex_trylock(&regions->lock) ? NOT_HELD : HELD;
	vpmc_regions_enter(regions);
	pthread_mutex_lock(&regions->lock);
	return HELD_BY_OWNER;
}

void vpmc_regions_release(struct vpmc_regions *regions, enum hold hold)
{
	if (hold != NOT_HELD)
		pthread_mutex_unlock(&regions->lock);
	if (hold == HELD_BY_OWNER)
		vpmc_regions_leave(regions);
}

void vpmc_samples_settle(struct vpmc_regions *regions)
{
	struct flush flush;
	enum hold hold;

	if (vpmc_regions_are_own(regions) && regions->owner) {
		vpmc_regions_enter(regions);
		vpmc_samples_flush(regions, &flush);
		vpmc_samples_flushed(regions, &flush, NULL);
		vpmc_regions_leave(regions);
		return;
	}
	hold = vpmc_regions_hold(regions);
	if (hold != NOT_HELD)
		vpmc_samples_take(regions);
	vpmc_regions_release(regions, hold);
}
