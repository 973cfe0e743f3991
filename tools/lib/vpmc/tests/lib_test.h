/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library's tests share.
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

/* Of a turn of the loop below. */
#define INSTRUCTIONS_OF(turns)	(2 * (uint64_t)(turns))
#define BRANCHES_OF(turns)	((uint64_t)(turns))

/* So many turns of two instructions, one of them a branch. */
static inline void work(uint64_t turns)
{
	__asm__ __volatile__("1:\n\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

/* Writes a file of /proc or /sys; 0 or -errno. */
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
 * What @turns of the loop add to each count, exactly: what two reads have between
 * them anyway is taken out, and reads that were disturbed are repeated. False if
 * none was undisturbed.
 */
static inline bool counted(const struct vpmc *v, unsigned int nr, uint64_t turns,
			   uint64_t *difference)
{
	uint64_t a[VPMC_MAX_COUNTERS], b[VPMC_MAX_COUNTERS],
		 c[VPMC_MAX_COUNTERS], generation;
	const struct vpmc_page *page = vpmc_page(v);
	unsigned int i, tries;

	for (tries = 0; tries < 1000; tries++) {
		generation = page->generation;
		vpmc_read(v, a, nr, NULL);
		work(1);
		vpmc_read(v, b, nr, NULL);
		work(turns + 1);
		vpmc_read(v, c, nr, NULL);
		if (*(volatile __u64 *)&page->generation != generation)
			continue;
		for (i = 0; i < nr; i++)
			difference[i] = c[i] - b[i] - (b[i] - a[i]);
		return true;
	}
	return false;
}

#endif /* LIB_TEST_H */
