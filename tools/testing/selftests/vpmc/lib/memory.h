/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measures lost memory.
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
 * Returns free_kb() when all freed memory has come back. Otherwise a leak would
 * be hidden.
 */
static inline long settled_kb(void)
{
	const struct timespec until_freed = { .tv_sec = 10 };

	nanosleep(&until_freed, NULL);
	return free_kb();
}

/*
 * Returns how much less memory is free than @before. Freed memory comes back
 * some seconds later, after a grace period, when a batch is full or old. Leaked
 * memory never does. Waits up to 20 seconds while more than @limit is lost.
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
 * A kernel that checks for uses after free keeps freed memory for a while, up
 * to a limit. So tests repeat what loses memory. A leak loses as much each
 * time.
 */
#define LOSSES	40

#endif /* MEMORY_H */
