/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel.vpmc_counters is "yield": a set that is paused while perf has an event.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PAUSE_H
#define PAUSE_H

#include "beside.h"
#include "disturb.h"

enum { INSNS, BRANCHES, NR };

/* On any counters: some PMUs have no fixed one. */
static const struct choice pair[NR + 1] = {
	[INSNS]		= { EV_INSNS, VPMC_ANY },
	[BRANCHES]	= { EV_BRANCHES, VPMC_ANY },
};

static inline uint32_t state_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0U : read.state;
}

/* Waits until vpmc has the PMU again, and each CPU has been told. */
static inline int wait_for_pmu(int fd)
{
	const struct timespec ts = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < 10000; i++) {
		if (pmu_holder(fd) == VPMC_HOLDER_VPMC)
			return 0;
		nanosleep(&ts, NULL);
	}
	return -1;
}

FIXTURE(pause)
{
	struct set set;
	int perf;
	int software;
	char before[48];
};

FIXTURE_SETUP(pause)
{
	self->set.fd = -1;
	self->perf = -1;
	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, kept_counters(self->before, sizeof(self->before)));
	ASSERT_EQ(0, keep_counters("yield"));
	/* With its first event perf waits for RCU, and so for all CPUs. */
	self->software = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY,
				   PERF_USER, -1);
	ASSERT_LE(0, self->software);
	ASSERT_EQ(0, set_open(&self->set, pair));
}

FIXTURE_TEARDOWN(pause)
{
	set_close(&self->set);
	if (self->perf >= 0)
		close(self->perf);
	close(self->software);
	EXPECT_EQ(0, keep_counters(self->before));
}

/* perf opens an event, and counts exactly. */
static inline int perf_begin(int *perf)
{
	*perf = perf_open_insns();
	return *perf < 0 ? *perf : 0;
}

static inline int perf_end(int *perf, int fd)
{
	close(*perf);
	*perf = -1;
	return wait_for_pmu(fd);
}

/* perf has an event and counts @n turns. Meanwhile the set counts nothing. */
static inline int wrong_while_paused(struct set *set, int perf, long n)
{
	struct vpmc_read before, after;
	uint64_t count[NR], ticks;
	__u64 from, to;

	if (vpmc_read(set->fd, &before) || perf_read(perf, 1, &from) ||
	    code_measure(perf, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
			 code_loop, n, 0) ||
	    perf_read(perf, 1, &to) || vpmc_read(set->fd, &after))
		return -1;
	vpmc_read_n(set->page, NR, count, &ticks);
	/* A set that is paused counts switches. */
	if (after.switches < before.switches ||
	    after.migrations < before.migrations)
		return -1;
	after.switches = before.switches;
	after.migrations = before.migrations;
	return (to - from != measured(n).insns) +
	       !!memcmp(&before, &after, sizeof(before)) +
	       !!memcmp(count, after.sum, sizeof(count)) +
	       (ticks != after.ticks);
}

#endif /* PAUSE_H */
