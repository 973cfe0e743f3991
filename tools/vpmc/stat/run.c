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
	       (options->nr_targets ? VPMC_CONTROL_UNLINK_ON_CLOSE : 0) |
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

static struct counts counts_of(const struct tap *tap, const struct vpmc_read *sums)
{
	struct counts counts = {
		.ns = sums->ns, .switches = sums->switches, .migrations = sums->migrations,
	};

	memcpy(counts.sum, sums->sum, tap->nr * sizeof(counts.sum[0]));
	return counts;
}

/* Returns true if some number is less than before: the set was cleared. */
static bool was_cleared(const struct counts *counts, const struct counts *before)
{
	unsigned int i;

	for (i = 0; i < VPMC_MAX_COUNTERS; i++)
		if (counts->sum[i] < before->sum[i])
			return true;
	return counts->ns < before->ns || counts->switches < before->switches ||
	       counts->migrations < before->migrations;
}

/* Adds what was counted since @before, or since the set was cleared. */
static void add_since(struct counts *to, const struct counts *counts,
		      const struct counts *before)
{
	static const struct counts nothing;
	unsigned int i;

	if (was_cleared(counts, before))
		before = &nothing;
	for (i = 0; i < VPMC_MAX_COUNTERS; i++)
		to->sum[i] += counts->sum[i] - before->sum[i];
	to->ns += counts->ns - before->ns;
	to->switches += counts->switches - before->switches;
	to->migrations += counts->migrations - before->migrations;
}

static void read_sums(const struct tap *tap, struct vpmc_read *sums)
{
	int error = vpmc_read_sums(tap->v, VPMC_READ_LIVING | VPMC_READ_FINISHED, sums);

	if (error)
		fail(STATUS_OURS, "counters: cannot be read: %s; try again", strerror(-error));
}

static void add_sums(struct run *run, const struct tap *tap, const struct vpmc_read *sums)
{
	struct counts counts = counts_of(tap, sums);

	add_since(&run->counts, &counts, &tap->base);
	run->threads += sums->living + sums->finished;
	if (sums->finished >= tap->base_finished)
		run->threads -= tap->base_finished;
	run->living += sums->living;
	departures_add(&run->left, sums);
	run->revoked |= tap->revoked || sums->state == VPMC_STATE_REVOKED;
}

void run_add(struct run *run, const struct tap *tap, pid_t tid, const char *name,
	     bool per_thread)
{
	struct vpmc_read sums;
	struct counts counts;

	read_sums(tap, &sums);
	run->threads++;
	if (sums.set_number != tap->number) {
		run->replaced++;
		return;
	}
	add_sums(run, tap, &sums);
	counts = counts_of(tap, &sums);
	if (per_thread)
		add_since(&run_new_thread(run, tid, name)->counts, &counts, &tap->base);
	run->detached |= sums.state == VPMC_STATE_UNLINKED;
}

void run_add_row(struct run *run, const struct tap *tap, pid_t tid, const char *name)
{
	struct vpmc_read sums;
	int error = vpmc_read_sums(tap->v, 0, &sums);

	if (!error && sums.set_number == tap->number)
		run_new_thread(run, tid, name)->counts = counts_of(tap, &sums);
}

void run_add_family(struct run *run, const struct tap *tap)
{
	struct vpmc_read sums;

	read_sums(tap, &sums);
	add_sums(run, tap, &sums);
}

void tap_open(struct tap *tap, struct vpmc *v, const struct group *group)
{
	struct vpmc_read sums;
	unsigned int i;

	*tap = (struct tap){ .v = v };
	for (i = 0; i < group->nr; i++)
		tap->nr += !left_out(&group->events[i]);
	if (!vpmc_read_sums(v, 0, &sums))
		tap->number = sums.set_number;
}

void tap_begin(struct tap *tap)
{
	struct vpmc_read sums;

	read_sums(tap, &sums);
	if (sums.set_number != tap->number)
		return;
	tap->base = counts_of(tap, &sums);
	tap->seen = tap->base;
	tap->base_finished = sums.finished;
}

void tap_step(struct tap *tap, struct run *step)
{
	struct vpmc_read sums;
	struct counts counts;

	read_sums(tap, &sums);
	if (sums.set_number != tap->number) {
		step->replaced++;
		return;
	}
	counts = counts_of(tap, &sums);
	add_since(&step->counts, &counts, &tap->seen);
	tap->seen = counts;
	departures_add(&step->left, &sums);
	step->revoked |= tap->revoked || sums.state == VPMC_STATE_REVOKED;
	step->detached |= sums.state == VPMC_STATE_UNLINKED;
}
