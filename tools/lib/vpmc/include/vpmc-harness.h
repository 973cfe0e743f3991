/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: runs a piece of code many times, and counts each run.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_HARNESS_H
#define VPMC_HARNESS_H

#include <stdint.h>
#include <linux/vpmc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vpmc_regions;

/* Type of start and stop, which a run calls around the code to be counted. */
typedef void vpmc_mark_fn(void);

/*
 * Type of a run. @i is its number, from 0 to n - 1. It may call start and stop
 * at any place and any number of times. What lies between a start and the next
 * stop is counted. A compiler may turn a call at the end of a function into a
 * jump, and restore registers before it. So either both the baseline and the
 * test should end with stop, or neither.
 */
typedef void vpmc_run_fn(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			 unsigned long i, void *arg);

/* Flag of vpmc_harness(): start and stop preserve all registers and flags. */
#define VPMC_HARNESS_SAVE	(1U << 0)

/**
 * struct vpmc_vectors - What n runs have counted
 * @nr:		Out: number of events of the regions. There is one more vector, the last
 *		one, with the run time in TSC ticks.
 * @raw:	Room for (@nr + 1) * n values, vector by vector, or NULL. Receives
 *		what was counted between start and stop.
 * @corrected:	The same, but @cost is subtracted from each value; or NULL.
 * @dirty:	Room for n bytes, or NULL. Receives 1 for each run that was
 *		disturbed, and 0 for others.
 * @nr_dirty:	Out: number of disturbed runs.
 * @cost:	Out: fixed cost, the least values of the baseline's undisturbed runs.
 * @failed:	Out: number of the run that called start or stop wrongly, or that could not
 *		be counted.
 */
struct vpmc_vectors {
	unsigned int nr;
	uint64_t *raw;
	uint64_t *corrected;
	uint8_t *dirty;
	uint64_t nr_dirty;
	uint64_t cost[VPMC_MAX_COUNTERS + 1];
	uint64_t failed;
};

/**
 * struct vpmc_harness_call - A function, as vpmc_harness_around() calls it
 * @function:	The function.
 * @arg:	Its second argument. The first one is the number of the run.
 */
struct vpmc_harness_call {
	void (*function)(unsigned long i, void *arg);
	void *arg;
};

/**
 * vpmc_harness() - Count many runs of a piece of code
 * @regions:	The calling thread's regions, which name the events.
 * @baseline:	A run without the code, which measures the cost of counting. NULL
 *		means a run that only calls start and stop. The baseline is run a
 *		hundred times, and more often only while all its runs are disturbed.
 * @test:	A run with the code.
 * @arg:	Is passed to both.
 * @n:		Number of runs of @test.
 * @flags:	VPMC_HARNESS_SAVE or 0. With 0, start and stop may clobber what any
 *		call of a C function may clobber.
 * @vectors:	Receives the values.
 *
 * Context: MT-Safe, AS-Unsafe race:regions.
 *
 * Return: 0, or -EINVAL: a start without a stop, unknown flags, no test; -ENOENT: a
 * stop without a start; -EAGAIN: all runs of the baseline were disturbed; -ENODATA: the
 * set does not run any more, or was replaced, also within a run; -EOPNOTSUPP:
 * VPMC_HARNESS_SAVE in a 32-bit program; or an error of vpmc_begin().
 */
int vpmc_harness(struct vpmc_regions *regions, vpmc_run_fn *baseline,
		 vpmc_run_fn *test, void *arg, unsigned long n,
		 unsigned int flags, struct vpmc_vectors *vectors);

/**
 * vpmc_harness_around() - A test that calls one function between start and stop
 * @start:	Called before the function.
 * @stop:	Called after the function.
 * @i:		Is passed to the function.
 * @arg:	A struct vpmc_harness_call.
 *
 * Context: MT-Safe, AS-Safe.
 */
void vpmc_harness_around(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			 unsigned long i, void *arg);

/**
 * vpmc_harness_nothing() - The baseline of vpmc_harness_around()
 * @start:	Called before an empty function.
 * @stop:	Called after it.
 * @i:		Is passed to the empty function.
 * @arg:	The same struct vpmc_harness_call. Its function is not called.
 *
 * Context: MT-Safe, AS-Safe.
 */
void vpmc_harness_nothing(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			  unsigned long i, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_HARNESS_H */
