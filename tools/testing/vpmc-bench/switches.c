// SPDX-License-Identifier: GPL-2.0
/*
 * usage: switches monitored | unmonitored | elsewhere
 *
 * Costs of switches: one thread wakes another through a pipe and waits for its
 * answer, both on one CPU, a thousand times. What the counters add is the
 * difference to the same two threads without counters.
 *
 *   monitored		with counters, and without
 *   unmonitored	without
 *   elsewhere		the same while other threads have counters: one sleeps on
 *			this CPU, one runs on the next
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "cost.h"
#include "who.h"

/* What is in between */
enum between { THREAD, PROCESS, IDLE, WORKER };

/* What the other one's counters count: the first one's events or others */
enum other { SAME, DIFFERENT, WITHOUT };

struct variant {
	const char *name;
	enum between between;
	enum other other;
	uint64_t modes;
};

static const struct variant variants[] = {
	{ "same-mm-same", THREAD, SAME, MODE_USER },
	{ "same-mm-other", THREAD, DIFFERENT, MODE_USER },
	{ "same-mm-unmonitored", THREAD, WITHOUT, MODE_USER },
	{ "other-mm-same", PROCESS, SAME, MODE_USER },
	{ "other-mm-other", PROCESS, DIFFERENT, MODE_USER },
	{ "other-mm-unmonitored", PROCESS, WITHOUT, MODE_USER },
	{ "idle", IDLE, WITHOUT, MODE_USER },
	{ "kthread", WORKER, WITHOUT, MODE_USER },
	{ "same-mm-same-kernel", THREAD, SAME, MODE_USER | MODE_KERNEL },
	{ "idle-kernel", IDLE, WITHOUT, MODE_USER | MODE_KERNEL },
};

/* The other one. */
struct partner {
	enum who who;
	unsigned int n, shift;
	uint64_t modes;
	int to[2], from[2];
	pthread_t thread;
	pid_t pid;
};

static struct cost cost;

static void answer(struct partner *p)
{
	struct counters counters = {};
	char byte;

	be_alone(0);
	counters_open(&counters, p->who, p->n, p->modes, p->shift);
	while (read(p->to[0], &byte, 1) == 1 && byte)
		if (write(p->from[1], &byte, 1) != 1)
			break;
	counters_close(&counters);
}

static void *answer_thread(void *partner)
{
	answer(partner);
	return NULL;
}

static void partner_start(struct partner *p, enum between between)
{
	if (pipe(p->to) || pipe(p->from))
		err(1, "pipe");
	p->pid = 0;
	if (between == PROCESS) {
		p->pid = fork();
		if (p->pid < 0)
			err(1, "fork");
		if (!p->pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			answer(p);
			_exit(0);
		}
	} else if (pthread_create(&p->thread, NULL, answer_thread, p)) {
		errx(1, "pthread_create");
	}
}

static void partner_stop(struct partner *p)
{
	char byte = 0;

	if (write(p->to[1], &byte, 1) != 1)
		err(1, "write");
	if (p->pid)
		waitpid(p->pid, NULL, 0);
	else
		pthread_join(p->thread, NULL);
	close(p->to[0]);
	close(p->to[1]);
	close(p->from[0]);
	close(p->from[1]);
}

static void rounds_of_pipes(struct partner *p, int rounds)
{
	char byte = 1;
	int i;

	for (i = 0; i < rounds; i++)
		COST_OF(&cost,
			if (write(p->to[1], &byte, 1) != 1 ||
			    read(p->from[0], &byte, 1) != 1)
				err(1, "pipe"));
}

/* A timer's interrupt ends each sleep. */
static void rounds_of_sleep(void)
{
	static const struct timespec ts = { .tv_nsec = 20000 };
	struct totals begin, end;
	int i;

	for (i = 0; i < ROUNDS + 10; i++) {
		totals_begin(&begin);
		nanosleep(&ts, NULL);
		totals_end(&end);
		cost_add(&cost, &begin, &end, 1);
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
	for (i = 0; i < ROUNDS + 10; i++)
		COST_OF(&cost,
			if (write(master, &byte, 1) != 1 ||
			    read(slave, &byte, 1) != 1)
				err(1, "terminal"));
	close(slave);
	close(master);
}

/*
 * What was made before has traces: each process has another ASID, for instance,
 * and the kernel looks for it in a loop. The cheapest of several partners is the
 * same in any kernel.
 */
#define PARTNERS	12

static void measure_partners(struct partner *p, enum between between)
{
	int i;

	for (i = 0; i < PARTNERS; i++) {
		partner_start(p, between);
		rounds_of_pipes(p, ROUNDS / PARTNERS + 10);
		partner_stop(p);
	}
}

static void measure(const struct variant *v, enum who who, unsigned int n)
{
	struct partner partner = {
		.who = v->other == WITHOUT ? NOBODY : who, .n = n,
		.shift = v->other == DIFFERENT, .modes = v->modes,
	};
	struct counters counters = {};
	char name[64];

	cost.rounds = 0;
	counters_open(&counters, who, n, v->modes, 0);
	switch (v->between) {
	case THREAD:
	case PROCESS:
		measure_partners(&partner, v->between);
		break;
	case IDLE:
		rounds_of_sleep();
		break;
	case WORKER:
		rounds_of_work();
		break;
	}
	counters_close(&counters);
	snprintf(name, sizeof(name), "switch-%s", v->name);
	cost_print(&cost, name, n, who_name[who]);
}

/*
 * perf last: a second after its last event is closed its hooks are still in
 * every switch.
 */
static void monitored(void)
{
	static const unsigned int sizes[] = { 1, 2, 4, 7 };
	const unsigned int nr = sizeof(variants) / sizeof(variants[0]);
	enum who who;
	unsigned int i, k;

	for (i = 0; i < nr; i++)
		measure(&variants[i], NOBODY, 0);
	for (who = VPMC; who <= last_who(); who++)
		for (i = 0; i < nr; i++)
			for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
				measure(&variants[i], who, sizes[k]);
}

static void unmonitored(const char *situation)
{
	static const struct variant pairs[] = {
		{ "", THREAD, WITHOUT, MODE_USER },
		{ "", PROCESS, WITHOUT, MODE_USER },
	};
	static const char *const names[] = { "same-mm", "other-mm" };
	int i;

	for (i = 0; i < 2; i++) {
		struct partner partner = { .who = NOBODY };
		char name[64];

		cost.rounds = 0;
		measure_partners(&partner, pairs[i].between);
		snprintf(name, sizeof(name), "unmonitored-%s", names[i]);
		cost_print(&cost, name, 0, situation);
	}
}

/* Two children with counters: one runs on CPU 1, one has run on CPU 0. */
static void elsewhere(void)
{
	struct counters counters = {};
	int ready[2], cpu;
	pid_t pid[2];
	char byte = 1;

	if (pipe(ready))
		err(1, "pipe");
	for (cpu = 0; cpu < 2; cpu++) {
		pid[cpu] = fork();
		if (pid[cpu] < 0)
			err(1, "fork");
		if (pid[cpu])
			continue;
		pin(cpu);
		counters_open(&counters, VPMC, 4, MODE_USER, 0);
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
	unmonitored("elsewhere");
	for (cpu = 0; cpu < 2; cpu++) {
		kill(pid[cpu], SIGKILL);
		waitpid(pid[cpu], NULL, 0);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: switches monitored | unmonitored | elsewhere");
	if (!strcmp(argv[1], "elsewhere")) {
		elsewhere();
		return 0;
	}
	be_alone(0);
	if (!strcmp(argv[1], "monitored"))
		monitored();
	else
		unmonitored("nothing");
	return 0;
}
