/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads facts from /proc.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PROC_H
#define PROC_H

#include "vpmc_test.h"

/* Returns the state of a thread or process: R, S, ... or 0 if there is none. */
static inline char task_state(pid_t tid)
{
	char path[64], text[512], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	p = strrchr(text, ')');
	return p ? p[2] : 0;
}

/* Context switches of a thread, by the scheduler's own count, or -1. */
static inline long task_switches(pid_t tid)
{
	char path[64], line[256];
	long n, sum = 0;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) != 1 &&
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) != 1)
			continue;
		sum += n;
		found++;
	}
	if (f)
		fclose(f);
	return found == 2 ? sum : -1;
}

#endif /* PROC_H */
