/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that count while something happens to the machine.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RUNNER_H
#define RUNNER_H

#include "proc.h"

enum runner_kind {
	RUNS,		/* in user mode all the time */
	WAITS,		/* sleeps in a system call; its counters run */
	STANDS,		/* sleeps; its counters are stopped */
};

#define RUNNER_TURNS	1000

/**
 * struct runner - A thread that counts
 * @kind:	Kind of work.
 * @cpu:	CPU on which it starts; -1: any CPU.
 * @moves:	It is bound to @cpu only at the start.
 * @restarts:	For WAITS: how often its system call is interrupted and restarted.
 *		Each restart is one more instruction.
 * @choice:	Events that it counts.
 * @body:	Work with its set. NULL: the work of @kind, whose counts are exact.
 * @set:	Its counters.
 * @turns:	For RUNS: number of iterations so far.
 * @go:		For RUNS: it runs as long as this is VPMC_STATE_RUNNING.
 * @tid:	Its thread id, set when its set is open.
 * @wrong:	Number of errors, set when it has ended.
 * @pipe:	Pipe that wakes it.
 * @thread:	The thread.
 */
struct runner {
	enum runner_kind kind;
	int cpu;
	bool moves;
	unsigned int restarts;
	const struct choice *choice;
	int (*body)(struct runner *runner);

	struct set set;
	volatile uint64_t turns;
	volatile uint32_t go;
	volatile pid_t tid;
	int wrong;
	int pipe[2];
	pthread_t thread;
};

static inline int runner_measure(struct runner *runner)
{
	struct set *set = &runner->set;
	struct code_count want;
	char byte;

	switch (runner->kind) {
	case RUNS:
		return set_measure(set, code_until, (long)&runner->go,
				   (long)&runner->turns) ||
		       wrong_after(set, CODE_UNTIL(runner->turns));
	case WAITS:
		want = code_add(CODE_WAIT(RUNNER_TURNS),
				CODE_COUNT(runner->restarts, 0));
		return set_measure(set, code_wait, runner->pipe[0],
				   RUNNER_TURNS) ||
		       wrong_after(set, want);
	case STANDS:
		return set_measure(set, code_loop, RUNNER_TURNS, 0) ||
		       read(runner->pipe[0], &byte, 1) != 1 ||
		       wrong_after(set, CODE_LOOP(RUNNER_TURNS));
	}
	return 1;
}

/* Checks that the set still counts from zero, on any CPU. */
static inline int runner_again(struct runner *runner)
{
	struct set *set = &runner->set;

	return set_clear(set) ||
	       set_measure(set, code_loop, RUNNER_TURNS, 0) ||
	       wrong_after(set, CODE_LOOP(RUNNER_TURNS));
}

static inline int runner_unbind(void)
{
	cpu_set_t all = test_cpus;

	if (!CPU_COUNT(&all))
		memset(&all, 0xff, sizeof(all));
	return sched_setaffinity(0, sizeof(all), &all);
}

static inline void *runner_main(void *arg)
{
	struct runner *runner = arg;

	runner->wrong = (runner->cpu >= 0 && pin(runner->cpu)) ||
			set_open(&runner->set, runner->choice) ||
			(runner->moves && runner_unbind());
	runner->tid = my_tid();
	if (runner->wrong)
		;
	else if (runner->body)
		runner->wrong = runner->body(runner);
	else
		runner->wrong = runner_measure(runner) || runner_again(runner);
	set_close(&runner->set);
	return NULL;
}

/* Starts it, and waits until it does what its kind says. Returns 0 or -1. */
static inline int runner_start(struct runner *runner)
{
	char state;

	runner->go = VPMC_STATE_RUNNING;
	runner->turns = 0;
	runner->tid = 0;
	if (pipe(runner->pipe) ||
	    pthread_create(&runner->thread, NULL, runner_main, runner))
		return -1;
	while (!runner->tid)
		sched_yield();
	if (runner->kind == RUNS)
		while (!runner->turns && !runner->wrong)
			sched_yield();
	else
		while ((state = task_state(runner->tid)) != 'S') {
			/* the thread has ended */
			if (!state || strchr("ZX", state))
				return -1;
			sched_yield();
		}
	return runner->wrong ? -1 : 0;
}

/* Waits until a RUNS thread has made @n more iterations. */
static inline void runner_wait_turns(struct runner *runner, uint64_t n)
{
	uint64_t end = runner->turns + n;

	while (runner->turns < end && !runner->wrong)
		sched_yield();
}

/* Ends it. Returns the number of its errors. */
static inline int runner_finish(struct runner *runner)
{
	runner->go = 0;
	if (write(runner->pipe[1], "", 1) != 1 ||
	    pthread_join(runner->thread, NULL))
		return -1;
	close(runner->pipe[0]);
	close(runner->pipe[1]);
	return runner->wrong;
}

#endif /* RUNNER_H */
