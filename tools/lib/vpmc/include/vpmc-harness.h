/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: a piece of code is run many times, and each run counted.
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

/* start and stop, which a run calls around what is to be counted. */
typedef void vpmc_mark_fn(void);

/*
 * A run: number @i of n. It may call start and stop at any place, any number of
 * times: what lies between a start and the next stop is counted. A compiler may turn
 * a call at the end of a function into a jump, and restore registers before it. So
 * either both the baseline and the test should end with stop, or neither.
 */
typedef void vpmc_run_fn(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			 unsigned long i, void *arg);

/* Flag of vpmc_harness(): start and stop change no register, and no flag. */
#define VPMC_HARNESS_SAVE	(1U << 0)

/**
 * struct vpmc_vectors - What n runs have counted
 * @nr:		Out: number of counters in the set. There are one more vectors: the
 *		last one is the run time in TSC ticks.
 * @raw:	For (@nr + 1) * n values, vector by vector; or NULL. What was counted
 *		between start and stop.
 * @corrected:	The same without @cost; or NULL.
 * @dirty:	For n bytes, 1 for each run that was disturbed and 0 for others; or
 *		NULL.
 * @nr_dirty:	Out: how many runs were disturbed.
 * @cost:	Out: the fixed cost: the least of the baseline's undisturbed runs.
 * @failed:	Out: the run in which start or stop was called wrongly.
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
 * @arg:	What it gets beside the number of the run.
 */
struct vpmc_harness_call {
	void (*function)(unsigned long i, void *arg);
	void *arg;
};

/**
 * vpmc_harness() - Count many runs of a piece of code
 * @regions:	The calling thread's regions, which name the events.
 * @baseline:	A run without the code, which tells what it costs to count it; NULL:
 *		start and stop alone. It is run up to a hundred times.
 * @test:	A run with the code.
 * @arg:	Is passed to both.
 * @n:		How often @test is run.
 * @flags:	0: start and stop clobber what a call of a C function may clobber, in
 *		the baseline and the test alike; or VPMC_HARNESS_SAVE.
 * @vectors:	Receives the values.
 *
 * Return: 0, or -EINVAL: a start without a stop, unknown flags, no test; -ENOENT: a
 * stop without a start; -EAGAIN: all runs of the baseline were disturbed;
 * -EOPNOTSUPP: VPMC_HARNESS_SAVE in a program of 32 bits; or what vpmc_begin()
 * answers.
 */
int vpmc_harness(struct vpmc_regions *regions, vpmc_run_fn *baseline,
		 vpmc_run_fn *test, void *arg, unsigned long n,
		 unsigned int flags, struct vpmc_vectors *vectors);

/**
 * vpmc_harness_around() - A test that calls one function, between start and stop
 * @start:	Is called before.
 * @stop:	Is called after.
 * @i:		Is passed to the function.
 * @arg:	A struct vpmc_harness_call.
 */
void vpmc_harness_around(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			 unsigned long i, void *arg);

/**
 * vpmc_harness_nothing() - The baseline for that: it calls an empty function
 * @start:	Is called before.
 * @stop:	Is called after.
 * @i:		Is passed to the function.
 * @arg:	A struct vpmc_harness_call, of which the function is not called.
 */
void vpmc_harness_nothing(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			  unsigned long i, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_HARNESS_H */
