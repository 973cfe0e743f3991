// SPDX-License-Identifier: GPL-2.0
/*
 * Collects the counts of one measurement.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "stat/run.h"

unsigned int control_flags(const struct stat_options *options)
{
	return VPMC_CONTROL_NEW |
	       (options->stopped ? VPMC_CONTROL_STOPPED : 0) |
	       (options->pid || options->tid ? VPMC_CONTROL_UNLINK_ON_CLOSE : 0) |
	       (options->inherit ? VPMC_CONTROL_INHERIT_THREADS |
				   VPMC_CONTROL_INHERIT_PROCESSES : 0);
}

struct thread *run_new_thread(struct run *run, pid_t tid, const char *name)
{
	struct thread *thread;

	run->thread = get_memory(run->thread, run->nr_threads + 1,
				 sizeof(*run->thread));
	thread = &run->thread[run->nr_threads++];
	*thread = (struct thread){ .tid = tid, .left = THREAD_STAYED };
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	return thread;
}

static void add(struct counts *counts, const struct vpmc_read *sums)
{
	unsigned int i;

	for (i = 0; i < sums->nr_counters; i++)
		counts->sum[i] += sums->sum[i];
	counts->ns += sums->ns;
	counts->switches += sums->switches;
	counts->migrations += sums->migrations;
}

static void read_sums(const struct vpmc *v, pid_t tid, struct vpmc_read *sums)
{
	int error = vpmc_read_sums(v, VPMC_READ_LIVING | VPMC_READ_FINISHED,
				   sums);

	if (error)
		fail(STATUS_OURS, "thread %d: its counters cannot be read: %s; try again",
		     tid, strerror(-error));
}

static void add_sums(struct run *run, const struct vpmc_read *sums)
{
	add(&run->counts, sums);
	run->threads += sums->living + sums->finished;
	run->living += sums->living;
	departures_add(&run->left, sums);
	run->revoked |= sums->state == VPMC_STATE_REVOKED;
}

void run_add(struct run *run, const struct vpmc *v, uint64_t number, pid_t tid,
	     const char *name, bool per_thread)
{
	struct vpmc_read sums;

	read_sums(v, tid, &sums);
	run->threads++;
	if (sums.set_number != number) {
		run->replaced++;
		return;
	}
	add_sums(run, &sums);
	if (per_thread)
		add(&run_new_thread(run, tid, name)->counts, &sums);
	run->detached |= sums.state == VPMC_STATE_UNLINKED;
}

void run_add_row(struct run *run, const struct vpmc *v, uint64_t number, pid_t tid,
		 const char *name)
{
	struct vpmc_read sums;
	int error = vpmc_read_sums(v, 0, &sums);

	if (!error && sums.set_number == number)
		add(&run_new_thread(run, tid, name)->counts, &sums);
}

void run_add_family(struct run *run, const struct vpmc *v)
{
	struct vpmc_read sums;

	read_sums(v, gettid(), &sums);
	add_sums(run, &sums);
}
