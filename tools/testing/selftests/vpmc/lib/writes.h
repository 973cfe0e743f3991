/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many MSRs are written: by a request, and by switches between two threads. The
 * emulator counts them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef WRITES_H
#define WRITES_H

#include <pmu-test-msr.h>
#include <pthread.h>
#include <sched.h>

#include "vpmc_test.h"

#define WRITES_TURNS	500

/* WRMSR that this CPU has executed. */
static inline uint64_t writes(void)
{
	uint64_t a = PMU_TEST_TOTALS, b, c = PMU_TEST_WRMSR, d;

	__asm__ __volatile__("cpuid" : "+a" (a), "=b" (b), "+c" (c), "=d" (d));
	return a + b;
}

/* The fewest of some calls. Others are interrupted. Negative: an error. */
static inline long writes_of(const struct set *set, unsigned int request,
			     unsigned int afterwards)
{
	long fewest = -1;
	int i;

	for (i = 0; i < 50; i++) {
		uint64_t before = writes();
		int err = vpmc_ioctl(set->fd, request, 0);
		long n = writes() - before;

		if (err || vpmc_ioctl(set->fd, afterwards, 0))
			return -2;
		if (fewest < 0 || n < fewest)
			fewest = n;
	}
	return fewest;
}

struct writes_pair {
	const struct choice *partner;
	volatile bool ready, go, runs, over;
};

static inline int writes_partner_runs(struct writes_pair *pair)
{
	struct set set = { .fd = -1, .page = MAP_FAILED };
	int err = set_open(&set, pair->partner);

	pair->ready = true;
	while (!pair->go)
		sched_yield();
	err = err ?: vpmc_ioctl(set.fd, VPMC_IOC_START, 0);
	pair->runs = true;
	while (!pair->over)
		sched_yield();
	set_close(&set);
	return err;
}

static inline void *writes_partner(void *pair)
{
	return (void *)(long)writes_partner_runs(pair);
}

static inline long writes_of_turns(void)
{
	uint64_t before = writes();
	int i;

	for (i = 0; i < WRITES_TURNS; i++)
		sched_yield();
	return writes() - before;
}

/*
 * WRMSR that counters add to 2 * WRITES_TURNS switches between the caller's set and one
 * with other elements, of a thread or of a process. Linux may write some of its own, as
 * for FS. The caller is alone on its CPU and has a real-time priority, and its set is
 * stopped. Negative: an error.
 */
static inline long writes_of_switches(const struct set *set, const struct choice *partner,
				      bool same_mm)
{
	struct writes_pair *pair = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *wrong = NULL;
	pthread_t thread;
	long stopped, n;
	pid_t pid = 0;
	int err;

	if (pair == MAP_FAILED)
		return -1;
	pair->partner = partner;
	if (same_mm) {
		if (pthread_create(&thread, NULL, writes_partner, pair))
			return -1;
	} else {
		pid = fork();
		if (!pid)
			_exit(writes_partner_runs(pair) != 0);
	}
	while (!pair->ready)
		sched_yield();
	stopped = writes_of_turns();
	err = vpmc_ioctl(set->fd, VPMC_IOC_START, 0);
	pair->go = true;
	while (!pair->runs)
		sched_yield();
	n = writes_of_turns() - stopped;
	pair->over = true;
	err = err ?: vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0);
	if (same_mm ? pthread_join(thread, &wrong) || wrong : child_status(pid))
		err = -1;
	munmap(pair, PAGE);
	return err ? -1000000 : n;
}

#endif /* WRITES_H */
