// SPDX-License-Identifier: GPL-2.0
/*
 * Mainline's perf driver with inexact counters. Counts of loops of known length
 * are never too low. They are too high by at most what interrupts, faults and
 * starts may add. The numbers are printed, to compare them with a second run.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include "pmu-test-msr.h"
#include <signal.h>
#include <sys/resource.h>

#define INTERRUPT_MORE	3	/* at an interrupt or a page fault */
#define START_MORE	2	/* when a counter starts */
#define ROUNDS		20
#define PERIOD		20011

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

/* Interrupts and page faults of this CPU, in both modes */
static uint64_t disturbances(void)
{
	unsigned long a = PMU_TEST_TOTALS, b, c = PMU_TEST_INTERRUPTS, d;
	uint64_t sum;

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	sum = a + b;
	a = PMU_TEST_TOTALS;
	c = PMU_TEST_PAGE_FAULTS;
	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return sum + a + b;
}

/* Returns the count of a loop. Stores how much too high it may be. */
static uint64_t measure(int fd, uint64_t n, uint64_t *most)
{
	struct rusage before, after;
	uint64_t disturbed;

	getrusage(RUSAGE_SELF, &before);
	disturbed = disturbances();
	perf_start(fd);
	loop(n);
	perf_stop(fd);
	disturbed = disturbances() - disturbed;
	getrusage(RUSAGE_SELF, &after);
	/* it starts once, and again after each switch and each interrupt */
	*most = INTERRUPT_MORE * disturbed +
		START_MORE * (1 + disturbed + after.ru_nivcsw - before.ru_nivcsw);
	return perf_read(fd);
}

static void test_counts(void)
{
	int fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, USER, 0, -1, 0);
	unsigned below = 0, above = 0, more = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t passes = 300000 + 1000 * i, most_empty, most;
		uint64_t empty = measure(fd, 1, &most_empty);
		int64_t error = measure(fd, 1 + passes, &most) - empty - passes * LOOP_INSNS;

		below += error < -(int64_t)most_empty;
		above += error > (int64_t)most;
		more += error != 0;
		printf("# error %lld of at most %llu\n", (long long)error,
		       (unsigned long long)most);
	}
	check_eq("never below the true count", below, 0);
	check_eq("above by no more than interrupts and starts may add", above, 0);
	check(more > ROUNDS / 4, "often not exact");
	close(fd);
}

static void test_samples(void)
{
	int fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, USER, PERIOD, -1, 0);
	uint64_t count;

	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
	fcntl(fd, F_SETSIG, SIGIO);
	fcntl(fd, F_SETOWN, getpid());
	perf_start(fd);
	loop(200000);
	perf_stop(fd);
	count = perf_read(fd);
	check(signals == (int)(count / PERIOD), "an interrupt for each period");
	printf("# count %llu, signals %d\n", (unsigned long long)count, (int)signals);
	close(fd);
}

int main(void)
{
	unsigned long a = PMU_TEST_MACHINE, b, c = 0, d;
	struct sigaction action = { .sa_handler = on_signal };

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	check_eq("CPUID: the machine is one of ours", a, PMU_MACHINE_ID);
	check(b & PMU_MACHINE_SILICON && !(b & PMU_MACHINE_EXACT),
	      "CPUID: its counters are inexact");
	sigaction(SIGIO, &action, NULL);
	run_on_cpu(0);
	test_counts();
	test_samples();
	return done_testing();
}
