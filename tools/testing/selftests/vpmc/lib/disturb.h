/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that disturb the one under test: they preempt it, compete with it
 * and migrate it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef DISTURB_H
#define DISTURB_H

#include "vpmc_test.h"

/*
 * Shortly after boot, before the kernel trusts the TSC, timers have the
 * resolution of the tick. Waits for the fine ones, at most a minute.
 */
static inline int wait_for_fine_timers(void)
{
	const struct timespec ts = { .tv_nsec = 10000000 };
	struct timespec resolution;
	int i;

	for (i = 0; i < 6000; i++) {
		clock_getres(CLOCK_MONOTONIC, &resolution);
		if (!resolution.tv_sec && resolution.tv_nsec < 1000)
			return 0;
		nanosleep(&ts, NULL);
	}
	return -1;
}

/*
 * A period of @ns nanoseconds, or more on a slow kernel, so that enough time is
 * left for the disturbed process.
 */
static inline struct timespec disturb_period(long ns)
{
	return (struct timespec){ .tv_nsec = ns * test_slowness() };
}

/* Forks; the child dies with its parent. Returns as fork() does. */
static inline pid_t disturber(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 0;
}

static int disturber_pipe[2];

/*
 * The same, but its parent waits until the child calls disturber_begin(). What is to
 * be disturbed could be over before that.
 */
static inline pid_t awaited_disturber(void)
{
	pid_t pid;
	char byte;

	if (pipe2(disturber_pipe, O_CLOEXEC))
		return -1;
	pid = disturber();
	if (!pid) {
		close(disturber_pipe[0]);
		return 0;
	}
	close(disturber_pipe[1]);
	if (read(disturber_pipe[0], &byte, 1) != 1)
		pid = -1;
	close(disturber_pipe[0]);
	return pid;
}

static inline void disturber_begin(void)
{
	if (write(disturber_pipe[1], "", 1) != 1)
		_exit(1);
	close(disturber_pipe[1]);
}

/*
 * Takes @cpu for a moment every @ns nanoseconds. Has its own counters if
 * @choice names some.
 */
static inline pid_t start_counting_preempter(int cpu, long ns,
					     const struct choice *choice)
{
	const struct timespec ts = disturb_period(ns);
	pid_t pid = wait_for_fine_timers() ?: awaited_disturber();
	struct set set;

	if (pid)
		return pid;
	if (pin(cpu) || set_fifo(10))
		_exit(1);
	if (choice && (set_open(&set, choice) ||
		       vpmc_ioctl(set.fd, VPMC_IOC_START, 0)))
		_exit(1);
	disturber_begin();
	for (;;)
		nanosleep(&ts, NULL);
}

static inline pid_t start_preempter(int cpu, long ns)
{
	return start_counting_preempter(cpu, ns, NULL);
}

/* Competes for @cpu all the time. */
static inline pid_t start_competitor(int cpu)
{
	pid_t pid = awaited_disturber();

	if (pid)
		return pid;
	if (pin(cpu))
		_exit(1);
	disturber_begin();
	for (;;)
		code_loop(1000000, 0);
}

/* Moves thread @tid between CPUs 0 and 1 every @ns nanoseconds. */
static inline pid_t start_migrator(pid_t tid, long ns)
{
	const struct timespec ts = disturb_period(ns);
	pid_t pid = wait_for_fine_timers() ?: awaited_disturber();
	cpu_set_t mask;
	int cpu = 0;

	if (pid)
		return pid;
	if (set_fifo(20))
		_exit(1);
	disturber_begin();
	for (;;) {
		cpu = !cpu;
		CPU_ZERO(&mask);
		CPU_SET(cpu, &mask);
		if (sched_setaffinity(tid, sizeof(mask), &mask))
			_exit(1);
		nanosleep(&ts, NULL);
	}
}

/* Returns 0 if the disturber was still working when it was stopped. */
static inline int stop_disturber(pid_t pid)
{
	if (pid <= 0)
		return -1;
	kill(pid, SIGKILL);
	return child_status(pid) == KILLED_BY(SIGKILL) ? 0 : -1;
}

#endif /* DISTURB_H */
