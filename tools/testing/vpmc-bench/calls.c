// SPDX-License-Identifier: GPL-2.0
/*
 * usage: calls [hooks]
 *
 * Costs of system calls: those on counters, and fork, exec and exit with
 * counters and without. hooks: only the latter, without; for a kernel that has
 * no counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sched.h>
#include <stdint.h>
#include <sys/wait.h>

#include "cost.h"
#include "who.h"

static struct cost cost;
static struct counters counters;

/* A whole set, as counters_open() makes it. */
static void measure_open(enum who who, unsigned int n)
{
	struct counters c = {};
	int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS / 10; i++) {
		COST_OF(&cost, counters_open(&c, who, n, MODE_USER, 0));
		counters_close(&c);
	}
	cost_print(&cost, "open", n, who_name[who]);
}

static void print(const char *name)
{
	cost_print(&cost, name, counters.n, who_name[counters.who]);
	cost.rounds = 0;
}

#define MEASURE(name, prepare, code) do {				\
	int i_;								\
									\
	cost.rounds = 0;						\
	for (i_ = 0; i_ < ROUNDS; i_++) {				\
		prepare;						\
		COST_OF(&cost, code);					\
	}								\
	print(name);							\
} while (0)

static void call(unsigned int nr, unsigned long arg)
{
	if (ioctl(counters.fd[0], nr, arg))
		err(1, "ioctl %#x", nr);
}

static void vpmc_calls(unsigned int n)
{
	static struct vpmc_read sums;

	counters_open(&counters, VPMC, n, MODE_USER, 0);
	MEASURE("stop", call(VPMC_IOC_START, 0), call(VPMC_IOC_STOP, 0));
	MEASURE("start", call(VPMC_IOC_STOP, 0), call(VPMC_IOC_START, 0));
	MEASURE("clear", , call(VPMC_IOC_CLEAR, 0));
	MEASURE("read", (sums.size = sizeof(sums), sums.flags = 0),
		ioctl(counters.fd[0], VPMC_IOC_READ, &sums));
	counters_close(&counters);
}

static void perf_calls(unsigned int n)
{
	static uint64_t values[3 + MAX_N];

	counters_open(&counters, PERF, n, MODE_USER, 0);
	MEASURE("stop", call(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP),
		call(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	MEASURE("start", call(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP),
		call(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	MEASURE("clear", , call(PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
	MEASURE("read", , read(counters.fd[0], values, sizeof(values)));
	counters_close(&counters);
}

static pid_t forked(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

/* A system call that does nothing, for scale */
static void nothing(void)
{
	syscall(SYS_getppid);
}

/*
 * This thread and its children are alone on the CPU, whose totals have all
 * that is done until a child is gone.
 */
static void processes(const char *program)
{
	pid_t pid;

	MEASURE("fork-exit", , ({
		pid = forked();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}));
	MEASURE("fork-exec-exit", , ({
		pid = forked();
		if (!pid) {
			execl(program, program, NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}));
}

/* A child's own set: opened, and gone with the child. */
static void measure_child(enum who who, unsigned int n)
{
	struct counters c = {};
	int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++) {
		pid_t pid;

		COST_OF(&cost, ({
			pid = forked();
			if (!pid) {
				counters_open(&c, who, n, MODE_USER, 0);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}));
	}
	cost_print(&cost, "fork-open-exit", n, who_name[who]);
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 1, 2, 4, 7 };
	bool hooks = argc > 1 && !strcmp(argv[1], "hooks");
	enum who who;
	unsigned int i;

	be_alone(0);
	MEASURE("syscall", , nothing());
	processes("/add/tiny");
	for (who = VPMC; who <= last_who() && !hooks; who++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			measure_open(who, sizes[i]);
			if (who == VPMC)
				vpmc_calls(sizes[i]);
			else
				perf_calls(sizes[i]);
			counters_open(&counters, who, sizes[i], MODE_USER, 0);
			processes("/add/tiny");
			counters_close(&counters);
			measure_child(who, sizes[i]);
		}
	}
	return 0;
}
