/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Helpers that the library's tests share.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LIB_TEST_H
#define LIB_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vpmc.h>

#include "kselftest_harness.h"

/* Counts of work(). */
#define INSTRUCTIONS_OF(turns)	(2 * (uint64_t)(turns))
#define BRANCHES_OF(turns)	((uint64_t)(turns))

/* Executes @turns iterations of two instructions, one of them a branch. */
static inline void work(uint64_t turns)
{
	__asm__ __volatile__("1:\n\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

/*
 * Returns true if sets may have all counters. In the default setting perf keeps counter 0
 * and those of its pinned events, like the watchdog's.
 */
static inline bool all_counters(void)
{
	char text[4] = "";
	int fd = open("/proc/sys/kernel/vpmc_counters", O_RDONLY | O_CLOEXEC);
	bool all = fd >= 0 && read(fd, text, 3) == 3 && !strcmp(text, "all");

	if (fd >= 0)
		close(fd);
	return all;
}

/* Writes a file of /proc or /sys. Returns 0 or -errno. */
static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/*
 * Executes the same instructions each time, except for the loop's iterations.
 */
static __attribute__((__noinline__, __unused__)) void
read_around(const struct vpmc *v, unsigned int nr, uint64_t turns,
	    uint64_t *before, uint64_t *after)
{
	vpmc_read(v, before, nr, NULL);
	work(turns);
	vpmc_read(v, after, nr, NULL);
}

/*
 * Stores what exactly @turns iterations add to each count. It subtracts what
 * two reads count between them, and repeats disturbed reads. Returns false if
 * all were disturbed.
 */
static inline bool counted(const struct vpmc *v, unsigned int nr, uint64_t turns,
			   uint64_t *difference)
{
	uint64_t a[2][VPMC_MAX_COUNTERS], b[2][VPMC_MAX_COUNTERS], generation;
	const struct vpmc_page *page = vpmc_page(v);
	unsigned int i, tries;

	for (tries = 0; tries < 1000; tries++) {
		generation = page->generation;
		read_around(v, nr, 1, a[0], b[0]);
		read_around(v, nr, turns + 1, a[1], b[1]);
		if (*(volatile __u64 *)&page->generation != generation)
			continue;
		for (i = 0; i < nr; i++)
			difference[i] = b[1][i] - a[1][i] - (b[0][i] - a[0][i]);
		return true;
	}
	return false;
}

#endif /* LIB_TEST_H */
