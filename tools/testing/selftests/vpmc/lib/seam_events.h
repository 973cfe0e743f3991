/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perf's events of a worker, for tests that try each kind of set beside them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SEAM_EVENTS_H
#define SEAM_EVENTS_H

#include "perf.h"
#include "seam.h"

#define WATCHDOG	"/proc/sys/kernel/nmi_watchdog"

/* Branches of the worker: pinned, or in a group, or each by itself. */
static inline int open_events(int *fd, int n, pid_t tid, bool pinned, bool group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | perf_pmu_here(),
		.pinned = pinned,
		.exclude_kernel = 1,
	};
	int i;

	for (i = 0; i < n; i++) {
		fd[i] = syscall(SYS_perf_event_open, &attr, tid, -1,
				group && i ? fd[0] : -1, 0);
		if (fd[i] < 0)
			return -errno;
	}
	return 0;
}

/* How many of the events have counted the work. One that was given up reads nothing. */
static inline int events_alive(const int *fd, int n)
{
	int i, alive = 0;
	__u64 count;

	for (i = 0; i < n; i++)
		alive += read(fd[i], &count, 8) == 8 && count > 0;
	return alive;
}

static inline void close_events(int *fd, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		close(fd[i]);
		fd[i] = -1;
	}
}

#endif /* SEAM_EVENTS_H */
