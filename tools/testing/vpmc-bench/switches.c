// SPDX-License-Identifier: GPL-2.0
/*
 * usage: switches monitored | unmonitored | elsewhere | borrowed | cpus
 *
 * Measures switches. One thread wakes another one and waits for its answer, both on
 * one CPU, a thousand times. The cost of counters is the difference to the same two
 * threads without counters.
 *
 *   monitored		with counters, and without
 *   unmonitored	without
 *   elsewhere		without, while other threads have counters: one sleeps on
 *			this CPU, one runs on the next
 *   borrowed		as elsewhere, with counters that are borrowed from perf
 *   cpus		without, while /dev/perfctr counts on all CPUs
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdint.h>
#include <termios.h>
#include <time.h>

#include "cost.h"
#include "partner.h"
#include "who.h"

/* What runs between two turns of the measuring thread. */
enum between { THREAD, PROCESS, IDLE, WORKER };

/* The partner counts the same events, different ones, or has no counters. */
enum other { SAME, DIFFERENT, WITHOUT };

struct variant {
	const char *name;
	enum between between;
	enum other other;
	struct what what;
};

#define USER_ALONE	{ .modes = MODE_USER }
#define BOTH_MODES	{ .modes = MODE_USER | MODE_KERNEL }
/* No counter reaches this period. */
#define OVERFLOWING	{ .modes = MODE_USER, .period = 1ULL << 40 }

static const struct variant variants[] = {
	{ "same-mm-same", THREAD, SAME, USER_ALONE },
	{ "same-mm-other", THREAD, DIFFERENT, USER_ALONE },
	{ "same-mm-unmonitored", THREAD, WITHOUT, USER_ALONE },
	{ "other-mm-same", PROCESS, SAME, USER_ALONE },
	{ "other-mm-other", PROCESS, DIFFERENT, USER_ALONE },
	{ "other-mm-unmonitored", PROCESS, WITHOUT, USER_ALONE },
	{ "idle", IDLE, WITHOUT, USER_ALONE },
	{ "kthread", WORKER, WITHOUT, USER_ALONE },
	{ "same-mm-same-kernel", THREAD, SAME, BOTH_MODES },
	{ "idle-kernel", IDLE, WITHOUT, BOTH_MODES },
	{ "same-mm-same-overflow", THREAD, SAME, OVERFLOWING },
	{ "other-mm-unmonitored-overflow", PROCESS, WITHOUT, OVERFLOWING },
	{ "idle-overflow", IDLE, WITHOUT, OVERFLOWING },
};

/* shared with the measuring processes */
static struct cost *cost;

/* A case counts as the cheapest round of all processes that measure it. */
#define PROCESSES		12
#define ROUNDS_OF_PROCESS	(ROUNDS / PROCESSES + 10)

/* A timer's interrupt ends each sleep. */
static void rounds_of_sleep(void)
{
	static const struct timespec ts = { .tv_nsec = 20000 };
	struct totals begin, end;
	int i;

	for (i = 0; i < ROUNDS_OF_PROCESS; i++) {
		totals_begin(&begin);
		nanosleep(&ts, NULL);
		totals_end(&end);
		cost_add(cost, &begin, &end, 1);
	}
}

/* A kernel thread carries each byte from one end of a terminal to the other. */
static void rounds_of_work(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave, i;
	struct termios raw;
	char byte = 1;

	if (master < 0 || grantpt(master) || unlockpt(master))
		err(1, "/dev/ptmx");
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || tcgetattr(slave, &raw))
		err(1, "terminal");
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	for (i = 0; i < ROUNDS_OF_PROCESS; i++)
		COST_OF(cost,
			if (write(master, &byte, 1) != 1 ||
			    read(slave, &byte, 1) != 1)
				err(1, "terminal"));
	close(slave);
	close(master);
}

static void measure_once(const struct variant *v, enum who who, unsigned int n)
{
	struct partner partner = {
		.process = v->between == PROCESS,
		.who = v->other == WITHOUT ? NOBODY : who, .n = n,
		.what = v->what,
	};
	struct counters counters = {};

	partner.what.shift = v->other == DIFFERENT;
	counters_open(&counters, who, n, &v->what);
	switch (v->between) {
	case THREAD:
	case PROCESS:
		partner_rounds(&partner, ROUNDS_OF_PROCESS, cost);
		break;
	case IDLE:
		rounds_of_sleep();
		break;
	case WORKER:
		rounds_of_work();
		break;
	}
	counters_close(&counters);
}

static void measure(const struct variant *v, enum who who, unsigned int n)
{
	int i;

	cost->rounds = 0;
	for (i = 0; i < PROCESSES; i++) {
		pid_t pid = fresh_process();

		if (!pid) {
			measure_once(v, who, n);
			_exit(0);
		}
		wait_for(pid);
	}
}

static void measure_and_print(const struct variant *v, enum who who,
			      unsigned int n)
{
	char name[64];

	measure(v, who, n);
	snprintf(name, sizeof(name), "switch-%s", v->name);
	cost_print(cost, name, n, who_name[who]);
}

/*
 * perf comes last. Its hooks stay in each switch for a second after its last
 * event is closed.
 */
static void monitored(void)
{
	const unsigned int nr = sizeof(variants) / sizeof(variants[0]);
	enum who who;
	unsigned int i, k;

	for (i = 0; i < nr; i++)
		measure_and_print(&variants[i], NOBODY, 0);
	for (who = VPMC; who <= last_who(); who++)
		for (i = 0; i < nr; i++)
			for (k = 0; k < NR_SIZES; k++)
				measure_and_print(&variants[i], who, sizes[k]);
}

static void unmonitored(const char *situation)
{
	static const struct variant pairs[] = {
		{ "same-mm", THREAD, WITHOUT, USER_ALONE },
		{ "other-mm", PROCESS, WITHOUT, USER_ALONE },
	};
	int i;

	for (i = 0; i < 2; i++) {
		char name[64];

		measure(&pairs[i], NOBODY, 0);
		snprintf(name, sizeof(name), "unmonitored-%s", pairs[i].name);
		cost_print(cost, name, 0, situation);
	}
}

/*
 * Starts two children with counters. One runs on CPU 1, and one has run on CPU
 * 0.
 */
static void elsewhere(const char *situation, unsigned int n)
{
	struct counters counters = {};
	int ready[2], cpu;
	pid_t pid[2];
	char byte = 1;

	if (pipe(ready))
		err(1, "pipe");
	for (cpu = 0; cpu < 2; cpu++) {
		pid[cpu] = forked();
		if (pid[cpu])
			continue;
		pin(cpu);
		counters_open(&counters, VPMC, n, &what_user);
		if (write(ready[1], &byte, 1) != 1)
			err(1, "write");
		while (cpu)
			;
		pause();
	}
	for (cpu = 0; cpu < 2; cpu++)
		if (read(ready[0], &byte, 1) != 1)
			err(1, "read");
	be_alone(0);
	unmonitored(situation);
	for (cpu = 0; cpu < 2; cpu++) {
		kill(pid[cpu], SIGKILL);
		waitpid(pid[cpu], NULL, 0);
	}
}

/* Makes all CPUs count. */
static void cpus(void)
{
	struct vpmc_global_control control = {
		.size = sizeof(control), .cpu = VPMC_ALL_CPUS, .nr_counters = 4,
	};
	int fd = open("/dev/perfctr", O_RDWR), i;

	for (i = 0; i < 4; i++) {
		control.counter[i].evtsel = event_of(i, &what_user) | MODE_USER;
		control.counter[i].index = events[i].index;
	}
	if (ioctl(fd, VPMC_IOC_G_CONTROL, &control) ||
	    ioctl(fd, VPMC_IOC_G_START, 0))
		err(1, "/dev/perfctr");
	unmonitored("cpus");
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: switches monitored | unmonitored | elsewhere | borrowed | cpus");
	cost = mmap(NULL, sizeof(*cost), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cost == MAP_FAILED)
		err(1, "mmap");
	who_init();
	if (!strcmp(argv[1], "elsewhere")) {
		elsewhere("elsewhere", 4);
		return 0;
	}
	if (!strcmp(argv[1], "borrowed")) {
		borrow_counters();
		elsewhere("borrowed", MAX_BORROWED);
		return 0;
	}
	be_alone(0);
	if (!strcmp(argv[1], "monitored"))
		monitored();
	else if (!strcmp(argv[1], "cpus"))
		cpus();
	else
		unmonitored("nothing");
	return 0;
}
