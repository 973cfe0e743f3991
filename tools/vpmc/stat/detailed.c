// SPDX-License-Identifier: GPL-2.0
/*
 * -d: loads and misses of caches and TLBs, by perf's generic names.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdio.h>
#include <string.h>

#include "common/portable.h"
#include "stat/detailed.h"

/* @times: how often -d adds the event. @per: what a ratio to the event before is called. */
static const struct {
	unsigned int times;
	const char *name, *per;
} table[] = {
	{ 1, "L1-dcache-loads?", NULL },
	{ 1, "L1-dcache-load-misses?", "per L1-dcache-load" },
	{ 1, "LLC-loads?", NULL },
	{ 1, "LLC-load-misses?", "per LLC-load" },
	{ 2, "dTLB-loads?", NULL },
	{ 2, "dTLB-load-misses?", "per dTLB-load" },
	{ 2, "iTLB-loads?", NULL },
	{ 2, "iTLB-load-misses?", "per iTLB-load" },
	{ 3, "L1-dcache-prefetches?", NULL },
	{ 3, "L1-dcache-prefetch-misses?", "per L1-dcache-prefetch" },
};

#define NR_NAMES	(sizeof(table) / sizeof(table[0]))

const char *detailed_event(unsigned int times, unsigned int i)
{
	/* The table is in the order of @times. */
	return i < NR_NAMES && table[i].times <= times ? table[i].name : NULL;
}

/* Returns the select of an optional event, without modes, or 0 if this processor lacks it. */
static uint64_t select_of(unsigned int i)
{
	static uint64_t select[NR_NAMES];
	static bool known[NR_NAMES];
	struct vpmc_event *event;
	unsigned int nr;

	if (!known[i] && !vpmc_parse_events(table[i].name, &event, &nr, NULL)) {
		if (!(event->flags & VPMC_EVENT_LEFT_OUT))
			select[i] = without_modes(event->select);
		vpmc_free_events(event);
	}
	known[i] = true;
	return select[i];
}

bool detailed_loads(const struct vpmc_event *event, uint64_t *loads, const char **per)
{
	uint64_t modes = modes_of(event->select);
	unsigned int i;

	for (i = 1; i < NR_NAMES; i++)
		if (table[i].per && select_of(i) && select_of(i) == event->select - modes) {
			*loads = select_of(i - 1) | modes;
			*per = table[i].per;
			return select_of(i - 1);
		}
	return false;
}
