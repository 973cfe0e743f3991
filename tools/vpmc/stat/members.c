// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of --per-thread. When a thread ends, its counts are added to its family. The
 * kernel keeps them apart as well, until we read them. Nothing changes in the program: a
 * thread that ends does not wait, and if we are too late it has no row.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "stat/members.h"

#define MOST_MEMBERS	16384	/* threads that can end while we do something else */
#define LEAST_MEMBERS	16
#define ROOM		64

int members_keep(struct vpmc *v, struct vpmc_error *error)
{
	struct vpmc_control control;
	unsigned int members;
	int err = vpmc_get_control(v, &control);

	if (err)
		fail(STATUS_OURS, "counters: %s; try again", strerror(-err));
	control.flags |= VPMC_CONTROL_STOPPED;
	for (members = MOST_MEMBERS; members >= LEAST_MEMBERS; members /= 2) {
		control.size = sizeof(control);
		control.members = members;
		err = vpmc_program_raw(v, &control, error);
		if (err >= 0 || error->reason != VPMC_REASON_RING_MEMORY)
			break;
	}
	return err;
}

/* Returns how a thread left, or THREAD_STAYED. */
static int way_of(const struct vpmc_member *member)
{
	switch (member->state) {
	case VPMC_MEMBER_LEFT_CONTROL:
		return DEPARTURE_CONTROL;
	case VPMC_MEMBER_LEFT_UNLINK:
		return DEPARTURE_UNLINK;
	case VPMC_MEMBER_LEFT_EXEC:
		return DEPARTURE_EXEC;
	}
	return member->flags & VPMC_MEMBER_LOST ? DEPARTURE_REVOCATION : THREAD_STAYED;
}

static void add_row(struct run *run, const struct vpmc_member *member)
{
	struct thread *thread = run_new_thread(run, member->tid, member->comm);

	thread->number = member->number;
	thread->lives = member->state == VPMC_MEMBER_LIVING;
	thread->left = way_of(member);
	memcpy(thread->counts.sum, member->sum, sizeof(member->sum));
	thread->counts.ns = member->ns;
	thread->counts.switches = member->switches;
	thread->counts.migrations = member->migrations;
}

/* Returns true if there may be more. */
static bool add_some(const struct vpmc *v, unsigned int flags, struct run *run,
		     struct vpmc_read_members *read)
{
	static struct vpmc_member member[ROOM];
	int i, n = vpmc_read_members(v, flags, member, ROOM, read);

	if (n < 0)
		fail(STATUS_OURS, "--per-thread: the counts of threads cannot be read: %s; try again",
		     strerror(-n));
	for (i = 0; i < n; i++)
		add_row(run, &member[i]);
	run->unlisted = read->missed;
	return n == ROOM;
}

void members_take(const struct vpmc *v, struct run *run)
{
	struct vpmc_read_members read = {};

	while (add_some(v, VPMC_READ_FINISHED, run, &read))
		;
}

/* Puts older threads first, and a thread that lived when it was read before itself. */
static int compare(const void *one, const void *other)
{
	const struct thread *a = one, *b = other;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return b->lives - a->lives;
}

void members_end(const struct vpmc *v, struct run *run)
{
	struct vpmc_read_members read = {};
	uint64_t youngest = 0;
	unsigned int i, n = 0;

	/* Threads that are created meanwhile do not keep us here. */
	while (add_some(v, VPMC_READ_LIVING, run, &read)) {
		youngest = youngest ? youngest : read.born;
		if (read.after >= youngest)
			break;
	}
	/* Those that end meanwhile are there twice now. */
	members_take(v, run);
	if (!run->nr_threads)
		return;
	qsort(run->thread, run->nr_threads, sizeof(*run->thread), compare);
	for (i = 1; i < run->nr_threads; i++) {
		if (run->thread[i].number != run->thread[n].number)
			n++;
		run->thread[n] = run->thread[i];
	}
	run->nr_threads = n + 1;
}
