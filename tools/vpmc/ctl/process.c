// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc ctl -p: acts on each thread of a process that has counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/output.h"
#include "common/threads.h"
#include "ctl/process.h"
#include "ctl/reading.h"

/* One walk over the threads */
struct walk {
	pid_t pid;
	const struct action *action;	/* NULL: read */
	unsigned int open_flags;
	unsigned int living;		/* number of threads that have not ended */
	unsigned int found;		/* number of those that have a set */
	unsigned int done;		/* number of those that were acted on */
	struct reading *reading;	/* of those that were read */
};

/*
 * Opens the counters of a thread. Returns NULL if it has none or has ended. One descriptor
 * is open at a time, because a process may have more threads than descriptors are allowed.
 */
static struct vpmc *open_counters(struct walk *walk, pid_t tid)
{
	struct vpmc_error error;
	struct vpmc *v;
	int result = vpmc_open_thread(&v, tid, walk->open_flags, &error);

	if (result == -ESRCH)
		return NULL;
	/* A process that uses io_uring has threads of the kernel, too. */
	if (result && result != -ENOENT &&
	    (result != -EOPNOTSUPP || tid == walk->pid))
		fail_error(&error);
	walk->living++;
	return result ? NULL : v;
}

/* @error: from an operation on the thread's set */
__attribute__((__noreturn__))
static void cannot(const struct walk *walk, pid_t tid, int error)
{
	const char *word = walk->action ? walk->action->word : "read";
	char name[16], *others = "";

	thread_name(tid, name);
	if (walk->action)
		others = walk->done ?
			 get_text(", and %u threads were %s before", walk->done, walk->action->done) :
			 get_text(", and no thread was %s", walk->action->done);
	if (error == -ENODATA)
		fail(STATUS_OURS, "thread %d (%s): has lost its set to kernel.vpmc_revoke%s; program one, as by vpmc stat --stopped",
		     tid, name, others);
	fail(STATUS_OURS, "thread %d (%s): cannot %s its counters: %s%s; %s",
	     tid, name, word, strerror(-error), others, reading_remedy(error));
}

/* Is that the state of a set that a living thread has? */
static bool is_set(uint32_t state)
{
	return state != VPMC_STATE_EMPTY && state != VPMC_STATE_UNLINKED &&
	       state != VPMC_STATE_EXITED;
}

/* Returns true if the thread lives and has a set. Fails if that was revoked. */
static bool has_set(const struct walk *walk, const struct vpmc *v, pid_t tid)
{
	struct vpmc_read sums;
	int error = vpmc_read_sums(v, 0, &sums);

	/* Who may not read the sums may start and stop. */
	if (error == -EACCES)
		return true;
	if (error)
		cannot(walk, tid, error);
	if (sums.state == VPMC_STATE_REVOKED)
		cannot(walk, tid, -ENODATA);
	return is_set(sums.state);
}

static void check(struct walk *walk, struct vpmc *v, pid_t tid)
{
	if (has_set(walk, v, tid))
		walk->found++;
}

static void act(struct walk *walk, struct vpmc *v, pid_t tid)
{
	int error;

	if (!has_set(walk, v, tid))
		return;
	error = walk->action->act(v);
	if (error && error != -ESRCH)
		cannot(walk, tid, error);
	walk->done += !error;
}

static void take(struct walk *walk, struct vpmc *v, pid_t tid)
{
	struct reading *reading;
	int error;

	walk->reading = get_memory(walk->reading, walk->found + 1,
				   sizeof(*walk->reading));
	reading = &walk->reading[walk->found];
	reading->tid = tid;
	thread_name(tid, reading->name);
	error = reading_take(v, 0, reading);
	if (error == -ESRCH || error == -ENOENT)
		return;
	if (error)
		cannot(walk, tid, error);
	walk->found += is_set(reading->sums.state);
}

/* Calls @visit for each thread that has counters. Returns the number of all threads. */
static unsigned int each_thread(struct walk *walk,
				void (*visit)(struct walk *walk, struct vpmc *v, pid_t tid))
{
	struct threads threads = { .pid = walk->pid };
	struct vpmc *v;
	pid_t tid;

	while ((tid = threads_next(&threads))) {
		/* What it has created before it is changed can be in another state. */
		threads.again = visit == act;
		v = open_counters(walk, tid);
		if (!v)
			continue;
		visit(walk, v, tid);
		vpmc_close(v);
	}
	return threads.nr;
}

/* Visits the threads that have counters. Fails if none has. */
static void find(struct walk *walk, void (*visit)(struct walk *walk, struct vpmc *v, pid_t tid))
{
	unsigned int nr = each_thread(walk, visit);

	if (walk->found)
		return;
	/* If the directory of its threads cannot be read, this reports why. */
	if (!nr && !open_counters(walk, walk->pid))
		fail(STATUS_OURS, "process %d: there is no such process; name one that lives",
		     walk->pid);
	if (!walk->living)
		fail(STATUS_OURS, "process %d: has ended; name one that lives", walk->pid);
	fail(STATUS_OURS, "process %d: none of its threads has counters; program some, as by vpmc stat --stopped",
	     walk->pid);
}

void process_act(pid_t pid, const struct action *action)
{
	struct walk walk = {
		.pid = pid, .action = action, .open_flags = VPMC_OPEN_EXISTING,
	};

	find(&walk, check);
	each_thread(&walk, act);
}

void process_read(pid_t pid, bool json)
{
	struct walk walk = { .pid = pid, .open_flags = VPMC_OPEN_READ };

	find(&walk, take);
	if (json)
		print_process_json(pid, walk.reading, walk.found);
	else
		print_process_text(walk.reading, walk.found);
	output_finish();
	free(walk.reading);
}
