// SPDX-License-Identifier: GPL-2.0
/*
 * Traces COMMAND with ptrace(2). When a thread ends, its counts are added to
 * its family. To have them apart, they are read when the thread stops at its
 * exit. It executes no more instructions in user mode then.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "common/fail.h"
#include "stat/tracer.h"

static pid_t *living;
static unsigned int nr_living;
static pid_t counted;	/* the only thread that has our set; 0 if all inherit it */

static void add_living(pid_t tid)
{
	unsigned int i;

	for (i = 0; i < nr_living; i++)
		if (living[i] == tid)
			return;
	living = get_memory(living, nr_living + 1, sizeof(*living));
	living[nr_living++] = tid;
}

static void remove_living(pid_t tid)
{
	unsigned int i;

	for (i = 0; i < nr_living; i++)
		if (living[i] == tid)
			living[i--] = living[--nr_living];
}

void tracer_begin(pid_t child, bool family)
{
	nr_living = 0;
	counted = family ? 0 : child;
	if (ptrace(PTRACE_SEIZE, child, NULL,
		   (void *)(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT)))
		fail(STATUS_OURS, "--per-thread: COMMAND cannot be traced: %s; leave out --per-thread, or permit ptrace(2)",
		     strerror(errno));
	add_living(child);
}

/* Our set is the first one that a thread has. */
static bool is_ours(pid_t tid, const struct vpmc_read *sums)
{
	return sums->set_number == 1 && (!counted || tid == counted);
}

/*
 * A thread that did not inherit, or that got other privileges, has no counters, or
 * has programmed some of its own.
 */
static void add_row(struct run *run, pid_t tid)
{
	struct vpmc_read sums;
	struct thread *thread;
	char name[16];
	struct vpmc *v;

	if (vpmc_open_thread(&v, tid, VPMC_OPEN_READ, NULL))
		return;
	thread_name(tid, name);
	if (!vpmc_read_sums(v, 0, &sums) && is_ours(tid, &sums)) {
		thread = run_new_thread(run, tid, name);
		memcpy(thread->counts.sum, sums.sum, sizeof(sums.sum));
		thread->counts.ns = sums.ns;
		thread->counts.switches = sums.switches;
		thread->counts.migrations = sums.migrations;
	}
	vpmc_close(v);
}

static void stopped(pid_t tid, int status, struct run *run)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	add_living(tid);
	if (event == PTRACE_EVENT_STOP && sig != SIGTRAP) {
		/*
		 * The thread is stopped by a signal. Leave it stopped, as
		 * without a tracer.
		 */
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return;
	}
	if (event == PTRACE_EVENT_EXIT) {
		add_row(run, tid);
		remove_living(tid);
	}
	ptrace(PTRACE_CONT, tid, NULL, (void *)(long)(event ? 0 : sig));
}

bool tracer_step(pid_t child, struct run *run)
{
	unsigned int i;
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status)) {
			stopped(tid, status, run);
			continue;
		}
		remove_living(tid);
		if (tid != child)
			continue;
		run->status = status;
		for (i = 0; i < nr_living; i++)
			add_row(run, living[i]);
		return true;
	}
	return false;
}
