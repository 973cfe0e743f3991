/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that does not come back.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdio.h>
#include <time.h>

static inline long free_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *file = fopen("/proc/meminfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemFree: %ld kB", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb;
}

/*
 * The same once all that was freed before has come back, or a leak would hide
 * behind it.
 */
static inline long settled_kb(void)
{
	const struct timespec until_freed = { .tv_sec = 10 };

	nanosleep(&until_freed, NULL);
	return free_kb();
}

/*
 * How much less is free than @before said. What is freed comes back after a grace
 * period, some seconds later, when a batch is full or old; what has leaked never
 * does. More than @limit: after 20 seconds.
 */
static inline long lost_kb(long before, long limit)
{
	const struct timespec while_freed = { .tv_nsec = 100000000 };
	long lost = before - free_kb();
	int i;

	for (i = 0; i < 200 && lost >= limit; i++) {
		nanosleep(&while_freed, NULL);
		lost = before - free_kb();
	}
	return lost;
}

/*
 * A kernel that looks for uses after free keeps what is freed for a while, until
 * it has enough of that. So what loses memory is done again; what leaks loses as
 * much each time.
 */
#define LOSSES	40

#endif /* MEMORY_H */
