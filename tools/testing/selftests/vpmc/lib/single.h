/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Single events of perf, which share what counters sets leave to it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SINGLE_H
#define SINGLE_H

#include <sys/prctl.h>
#include "perf.h"

/* What such an event reads. */
struct single {
	__u64 count, enabled, running;
};

/* Opens one event of this thread, stopped; with @inherit of its children, too. */
static inline int open_single_of(uint64_t config, bool inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config | perf_pmu_here(),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.inherit = inherit,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static inline int open_single(bool inherit)
{
	return open_single_of(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, inherit);
}

/* As "perf stat" with six events, which do not always fit beside sets. */
#define SIX	6
#define SIX_TURNS	100000

static const uint64_t six_configs[SIX] = {
	PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
};

/* What an event counts of a loop, and how much of it may be too much. */
struct of_loop {
	struct single more;
	uint64_t tolerance;
	uint64_t piece;
};

/* What @n events count of a loop, and what their times say: 0 or -1. */
static inline int count_loop(const int *fd, int n, struct of_loop *of)
{
	uint64_t happened = disturbances();
	struct single before[SIX], after;
	int i;

	for (i = 0; i < n; i++)
		if (read(fd[i], &before[i], sizeof(after)) != sizeof(after))
			return -1;
	if (prctl(PR_TASK_PERF_EVENTS_ENABLE))
		return -1;
	code_loop(SIX_TURNS, 0);
	if (prctl(PR_TASK_PERF_EVENTS_DISABLE))
		return -1;
	happened = disturbances() - happened;
	for (i = 0; i < n; i++) {
		if (read(fd[i], &after, sizeof(after)) != sizeof(after))
			return -1;
		of[i].more.count = after.count - before[i].count;
		of[i].more.enabled = after.enabled - before[i].enabled;
		of[i].more.running = after.running - before[i].running;
		/* The other events' start and stop starts it, too. */
		of[i].tolerance = tolerated(happened, 2 * n + happened);
		of[i].piece = SIX_TURNS / (1 + happened);
	}
	return 0;
}

/* Opens the events, and sees what each counts while it is alone: 0 or -1. */
static inline int open_six(int *fd, struct of_loop *alone)
{
	int i, one, bad = 0;

	for (i = 0; i < SIX; i++) {
		one = open_single_of(six_configs[i], false);
		bad |= count_loop(&one, 1, &alone[i]) ||
		       alone[i].more.running != alone[i].more.enabled ||
		       alone[i].more.count < SIX_TURNS;
		close(one);
	}
	for (i = 0; i < SIX; i++) {
		fd[i] = open_single_of(six_configs[i], false);
		bad |= fd[i] < 0;
	}
	return -bad;
}

/* An event that ran all the time has counted all. No event has more. */
static inline bool six_fits(const struct of_loop *now, const struct of_loop *alone,
			    uint64_t config)
{
	bool all = now->more.running == now->more.enabled;

	if (now->more.running > now->more.enabled)
		return false;
	/* Two loops of the same instructions take different numbers of cycles. */
	if (!tolerance_none && config == PERF_COUNT_HW_CPU_CYCLES)
		return !all || cycles_fit(now->more.count, 2 * SIX_TURNS,
					  now->tolerance + 1000);
	if (!all)
		return now->more.count <= alone->more.count + now->tolerance;
	return count_fits(now->more.count + alone->tolerance, alone->more.count,
			  now->tolerance + alone->tolerance, now->piece);
}

/* Returns the number of errors, and adds to @partly how many had a counter at times. */
static inline int wrong_six(const int *fd, const struct of_loop *alone, int *partly)
{
	struct of_loop now[SIX];
	int i, wrong = 0;

	if (count_loop(fd, SIX, now))
		return -1;
	for (i = 0; i < SIX; i++) {
		if (!six_fits(&now[i], &alone[i], six_configs[i])) {
			fprintf(stderr, "# event %d: %llu, alone %llu, tolerance %llu\n",
				i, now[i].more.count, alone[i].more.count,
				(unsigned long long)now[i].tolerance);
			wrong++;
		}
		*partly += now[i].more.running != now[i].more.enabled;
	}
	return wrong;
}

#endif /* SINGLE_H */
