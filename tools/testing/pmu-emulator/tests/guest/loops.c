// SPDX-License-Identifier: GPL-2.0
/*
 * usage: loops [-n] [-s SWITCHES] [-i SELECT] [-b SELECT] [-g SELECT] [-f SELECT]... CPU...
 * One process for each CPU named, pinned to it; those that share a CPU are
 * switched many times. Each counts a loop of its own known length in user mode
 * with mainline's perf driver.  -g: with four general-purpose counters alone;
 * SELECT is the name of reference cycles there.  -i, -b, -f: see guest.h.  -s: where
 * time goes by the clock and not by instructions, a loop may end before the first
 * switch. Each process then counts its loop again until all that share a CPU were
 * switched so often.  -n: no reference cycles, and nothing but these processes counts.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include <sys/wait.h>
#include <sys/resource.h>

#define MAX_PROCESSES	16

/* A loop takes some 30 ms of a fast processor. */
#define MAX_ROUNDS	1000

static int min_switches = 20;
static int max_rounds = 1;

static struct event events[] = {
	{ "instructions", PERF_COUNT_HW_INSTRUCTIONS, 'i', 0 },
	{ "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 'b', 0 },
	{ "cycles", PERF_COUNT_HW_CPU_CYCLES, 0, 0 },
	/* perf knows these only as the event of a fixed counter */
	{ "reference cycles", PERF_COUNT_HW_REF_CPU_CYCLES, 'g', 0 },
};

#define NUM_EVENTS	(sizeof(events) / sizeof(events[0]))

static size_t num_events = NUM_EVENTS;

static bool gp_alone;

static struct shared {
	int ready;
	int switched;		/* processes that are alone or were switched enough */
	struct result {
		uint64_t counted[NUM_EVENTS];	/* in all rounds */
		int rounds;
		uint64_t kernel;	/* instructions */
		long switches;
	} result[MAX_PROCESSES];
} *shared;

/* There is one copy of the code, so that two calls differ only in n. */
static __attribute__((noinline)) void measure(const int *fd, uint64_t n,
					      uint64_t *counted)
{
	perf_start(fd[0]);
	loop(n);
	perf_stop(fd[0]);
	for (size_t i = 0; i < num_events; i++)
		counted[i] = perf_read(fd[i]);
}

static uint64_t length(int process)
{
	return 8000001 + 100003ull * process;
}

static long involuntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nivcsw;
}

/* A process goes on while others need it to be switched. */
static void count_rounds(struct result *r, const int *fd, uint64_t passes, bool alone,
			 int processes)
{
	long before = involuntary_switches();
	uint64_t counted[NUM_EVENTS];
	bool switched = false;

	do {
		measure(fd, passes, counted);
		for (size_t i = 0; i < num_events; i++)
			r->counted[i] += counted[i];
		r->rounds++;
		r->switches = involuntary_switches() - before;
		if (!switched && (alone || r->switches >= min_switches)) {
			switched = true;
			__sync_fetch_and_add(&shared->switched, 1);
		}
	} while (*(volatile int *)&shared->switched < processes && r->rounds < max_rounds);
}

static void process(int number, int cpu, bool alone, int processes)
{
	struct result *r = &shared->result[number];
	uint64_t empty[NUM_EVENTS];
	int fd[NUM_EVENTS], kernel = -1;

	run_on_cpu(cpu);
	for (size_t i = 0; i < num_events; i++)
		fd[i] = event_open(&events[i], 0, i ? fd[0] : -1);
	if (!gp_alone)
		kernel = perf_open(PERF_COUNT_HW_INSTRUCTIONS, KERNEL, 0, -1, 0);
	measure(fd, 1, empty);

	__sync_fetch_and_add(&shared->ready, 1);
	while (*(volatile int *)&shared->ready < processes)
		sched_yield();

	if (!gp_alone)
		perf_start(kernel);
	count_rounds(r, fd, length(number), alone, processes);
	if (!gp_alone) {
		perf_stop(kernel);
		r->kernel = perf_read(kernel);
	}
	for (size_t i = 0; i < num_events; i++)
		r->counted[i] -= r->rounds * empty[i];
	_exit(0);
}

static void report(int number, int cpu, bool alone)
{
	const struct result *r = &shared->result[number];
	uint64_t passes = length(number) - 1;

	for (size_t i = 0; i < num_events; i++) {
		uint64_t want = events[i].config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS ?
				passes : passes * LOOP_INSNS;

		want *= r->rounds;
		if (!check(r->rounds && r->counted[i] == want,
			   "process %d on CPU %d: %s:u of %llu passes", number, cpu,
			   events[i].name, (unsigned long long)passes))
			printf("# got %llu, expected %llu\n",
			       (unsigned long long)r->counted[i],
			       (unsigned long long)want);
	}
	if (!alone)
		check(r->switches >= min_switches,
		      "process %d on CPU %d: switched %d times or more",
		      number, cpu, min_switches);
	printf("# rounds %d, instructions:k %llu, involuntary switches %ld\n",
	       r->rounds, (unsigned long long)r->kernel, r->switches);
}

static bool alone_on_its_cpu(int number, int processes, char **cpus)
{
	int sharers = 0;

	for (int i = 0; i < processes; i++)
		sharers += !strcmp(cpus[number], cpus[i]);
	return sharers == 1;
}

static bool parse_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "ns:i:b:g:f:")) != -1) {
		if (option == 's') {
			min_switches = atoi(optarg);
			max_rounds = MAX_ROUNDS;
		} else if (option == 'n') {
			num_events = NUM_EVENTS - 1;
			gp_alone = true;
		} else if (!event_option(events, NUM_EVENTS, option, optarg)) {
			return false;
		}
		gp_alone |= option == 'g';
	}
	return true;
}

int main(int argc, char **argv)
{
	bool valid = parse_options(argc, argv);
	int processes = argc - optind;
	char **cpus = argv + optind;

	if (!valid || processes < 1 || processes > MAX_PROCESSES) {
		fprintf(stderr, "usage: loops [-n] [-s SWITCHES] [-i|-b|-g|-f SELECT]... CPU...\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < processes; i++)
		if (fork() == 0)
			process(i, atoi(cpus[i]), alone_on_its_cpu(i, processes, cpus),
				processes);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < processes; i++)
		report(i, atoi(cpus[i]), alone_on_its_cpu(i, processes, cpus));
	return done_testing();
}
