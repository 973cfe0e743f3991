/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a count may be where the PMU is not exact. Processors count an interrupt,
 * a fault or a switch as up to three instructions, and none counts less than what
 * was executed. So a count is at least the truth. It exceeds the truth by at most
 * TOLERANCE_EACH for each of these events, and by a constant for each start. The
 * events are counted. The constant is measured when the program starts. Where
 * counts are exact, nothing is added. Where the interval is so wide that a piece of
 * the count could be in it twice, the test is skipped.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TOLERANCE_H
#define TOLERANCE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "code.h"
#include "disturbances.h"
#include "needs.h"

/* The most that one event adds to a count. */
#define TOLERANCE_EACH	3
/* A constant that hides a lost or doubled piece of a count is no constant. */
#define TOLERANCE_START	10
/* An overflow interrupt comes so many instructions late at most. */
#define TOLERANCE_SKID	200
/* Exit statuses of the process that measures. */
#define NOTHING_COUNTS	100
#define ALL_DISTURBED	101
/* Many, so that some are undisturbed. */
#define TOLERANCE_RUNS	100
/* No processor executes more instructions than that in a cycle. */
#define TOLERANCE_WIDTH	8
/* With pmu-silicon an instruction takes so many cycles at most. */
#define TOLERANCE_SLOW	4

/* What one start adds at most; measured. */
static uint64_t tolerance_constant;
static bool tolerance_none;

/* For counts of the calling thread. */
static inline uint64_t disturbances(void)
{
	return tolerance_none ? 0 : thread_disturbances();
}

/* Each switch ends a piece of a count. */
static inline uint64_t own_switches(void)
{
	return tolerance_none ? 0 : my_switches();
}

/* For counts of other threads. */
static inline uint64_t all_disturbances(void)
{
	return tolerance_none ? 0 : machine_disturbances();
}

/* How far above the truth a count may be. */
static inline uint64_t tolerated(uint64_t events, unsigned int starts)
{
	return tolerance_none ? 0 : events * TOLERANCE_EACH +
				    starts * tolerance_constant;
}

/*
 * A moment that counts are compared with what happens after it. What other threads count
 * is compared with @all, what the calling thread counts with @own. @process and @thread
 * are the parts of these that start from zero in a child.
 */
static struct {
	pid_t pid;
	pid_t tid;
	uint64_t all;
	uint64_t process;
	uint64_t own;
	uint64_t thread;
} tolerance_mark;

static inline void tolerance_begin(void)
{
	if (tolerance_none)
		return;
	tolerance_mark.pid = getpid();
	tolerance_mark.tid = my_tid();
	/* Reading these may fault. An interval may be too wide, but not too narrow. */
	tolerance_mark.all = machine_disturbances();
	tolerance_mark.process = process_disturbances();
	tolerance_mark.own = thread_disturbances();
	tolerance_mark.thread = own_disturbances();
}

static inline uint64_t own_disturbances_since(void)
{
	uint64_t before = tolerance_mark.own;

	if (my_tid() != tolerance_mark.tid)
		before -= tolerance_mark.thread;
	return disturbances() - before;
}

static inline uint64_t all_disturbances_since(void)
{
	uint64_t before = tolerance_mark.all;

	if (getpid() != tolerance_mark.pid)
		before -= tolerance_mark.process;
	return all_disturbances() - before;
}

static inline uint64_t own_tolerated_since(unsigned int starts)
{
	return tolerated(own_disturbances_since(), starts);
}

static inline uint64_t tolerated_since(unsigned int starts)
{
	return tolerated(all_disturbances_since(), starts);
}

/*
 * A piece is what was counted from a start, or from a switch, to the next one. It may be
 * lost or be there twice. So the interval must be narrower than @piece.
 */
static inline bool count_fits(uint64_t got, uint64_t truth, uint64_t more,
			      uint64_t piece)
{
	if (got < truth || got - truth > more)
		return false;
	if (more && more >= piece)
		say_doubt(more, piece);
	return true;
}

/* A count of another thread since tolerance_begin(). What has not counted has 0. */
static inline bool piece_fits_since(uint64_t got, uint64_t truth,
				    unsigned int starts, uint64_t piece)
{
	return count_fits(got, truth, truth ? tolerated_since(starts) : 0, piece);
}

/* The same, where each start is followed by a piece of about the same length. */
static inline bool fits_since(uint64_t got, uint64_t truth, unsigned int starts)
{
	return piece_fits_since(got, truth, starts, truth / starts);
}

/*
 * So many cycles for so many instructions? How many a processor needs is not known, so
 * this finds a counter that hardly counts, or counts something else. It does not find a
 * lost piece. The instructions that the same test counts do.
 */
static inline bool cycles_fit(uint64_t got, uint64_t insns, uint64_t more)
{
	if (tolerance_none)
		return got == insns;
	return got >= insns / TOLERANCE_WIDTH &&
	       (!(emulator() & PMU_MACHINE_SILICON) ||
		got <= (insns + more) * TOLERANCE_SLOW);
}

/*
 * One short run: how much too much it counts. Faults are over then. @before is the
 * number of disturbances before the run and after it. On a machine with many
 * interrupts, reading them takes milliseconds.
 */
static inline int64_t tolerance_run(int fd, uint64_t *before)
{
	struct vpmc_read read = { .size = sizeof(read) };
	uint64_t events = *before;

	if (ioctl(fd, VPMC_IOC_CLEAR, 0) ||
	    code_measure(fd, VPMC_IOC_START, VPMC_IOC_STOP, code_loop, 10, 0) ||
	    ioctl(fd, VPMC_IOC_READ, &read))
		return -1;
	*before = disturbances();
	return read.sum[0] - code_add(CODE_MEASURE, CODE_LOOP(10)).insns -
	       (*before - events) * TOLERANCE_EACH;
}

/* The most of some runs, in a process of its own; none if nothing can be counted. */
static inline void tolerance_measure(void)
{
	struct vpmc_control control = {
		.size = sizeof(control),
		.flags = VPMC_CONTROL_STOPPED,
		.nr_counters = 1,
		.counter[0] = {
			.evtsel = event_here(EV_INSNS),
			.index = VPMC_ANY,
		},
	};
	uint64_t events, before;
	int64_t most = 0, more;
	int fd, i, measured = 0;

	fd = open("/proc/thread-self/perfctr", O_RDWR | O_CREAT, 0);
	if (fd < 0 || ioctl(fd, VPMC_IOC_CONTROL, &control))
		_exit(NOTHING_COUNTS);
	events = disturbances();
	for (i = 0; i < TOLERANCE_RUNS; i++) {
		before = events;
		more = tolerance_run(fd, &events);
		/* What an event added is not known. */
		if (before != events)
			continue;
		measured++;
		if (more > most)
			most = more;
	}
	if (!measured)
		_exit(ALL_DISTURBED);
	_exit(most < TOLERANCE_START ? most : TOLERANCE_START);
}

static void __attribute__((constructor)) tolerance_init(void)
{
	int status;
	pid_t pid;

	tolerance_none = counts_are_exact();
	/* The init of kexec_test's second kernel. */
	if (tolerance_none || getpid() == 1 || !machine.nr_gp)
		return;
	stay_on_two_cpus();
	pid = fork();
	if (!pid)
		tolerance_measure();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == NOTHING_COUNTS)
		return;
	tolerance_constant = WEXITSTATUS(status);
	if (tolerance_constant == ALL_DISTURBED) {
		fprintf(stderr, "# tolerance: an event disturbed each of %d runs, so nothing was measured\n",
			TOLERANCE_RUNS);
		tolerance_constant = TOLERANCE_START;
	}
	fprintf(stderr, "# tolerance: %llu for each start, %d for each interrupt, fault and switch\n",
		(unsigned long long)tolerance_constant, TOLERANCE_EACH);
}

#endif /* TOLERANCE_H */
