// SPDX-License-Identifier: GPL-2.0
/*
 * Counts a process or thread that runs already.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fail.h"
#include "common/threads.h"
#include "stat/child.h"
#include "stat/openmetrics.h"
#include "stat/run.h"

/* A thread of the target. */
struct member {
	pid_t tid;
	char name[16];
	struct vpmc *v;		/* NULL if the thread has inherited our set, or has ended */
	uint64_t number;	/* of our set, among those that the thread has had */
};

struct target {
	const struct stat_options *options;
	struct group *group;
	struct member *member;
	unsigned int nr;
	struct vpmc_control ours;	/* set that we programmed */
	unsigned int programmed;	/* number of threads that lived with it */
};

/* The only target. An exit handler removes its sets. */
static struct target the_target;

/* Removes our sets from all threads. */
static void let_go(void)
{
	struct target *target = &the_target;
	unsigned int i;

	for (i = 0; i < target->nr; i++)
		if (target->member[i].v) {
			vpmc_unlink(target->member[i].v);
			vpmc_close(target->member[i].v);
		}
	free(target->member);
	*target = (struct target){};
}

static bool same_selection(const struct vpmc_control *a,
			   const struct vpmc_control *b)
{
	unsigned int i;

	if (a->nr_counters != b->nr_counters)
		return false;
	for (i = 0; i < a->nr_counters; i++)
		if (a->counter[i].evtsel != b->counter[i].evtsel ||
		    a->counter[i].index != b->counter[i].index)
			return false;
	return true;
}

__attribute__((__noreturn__))
static void is_counted(const struct member *member,
		       const struct vpmc_control *theirs)
{
	if (theirs->nr_counters)
		fail(STATUS_OURS, "thread %d (%s): is counted already: %u events, the first one's select is %#llx; end what programmed that, or wait for it",
		     member->tid, member->name, theirs->nr_counters,
		     (unsigned long long)theirs->counter[0].evtsel);
	fail(STATUS_OURS, "thread %d (%s): is counted already: its run time; end what programmed that, or wait for it",
	     member->tid, member->name);
}

/*
 * Returns true if a thread has a set. Fails if another program has programmed
 * it. A set that was inherited from ours is accepted.
 */
static bool has_set(struct target *target, const struct member *member)
{
	struct vpmc_control theirs;
	struct vpmc_read sums;
	struct vpmc *v;
	bool empty;

	if (vpmc_open_thread(&v, member->tid, VPMC_OPEN_EXISTING, NULL))
		return false;	/* no set, or an error that the caller's next open reports */
	empty = vpmc_read_sums(v, 0, &sums) ||
		sums.state == VPMC_STATE_EMPTY ||
		sums.state == VPMC_STATE_REVOKED ||
		vpmc_get_control(v, &theirs);
	vpmc_close(v);
	if (empty)
		return false;
	if (!target->programmed || !same_selection(&theirs, &target->ours))
		is_counted(member, &theirs);
	return true;
}

/* Returns true if the error says that the thread has ended or is ending. */
static bool vanished(int error)
{
	return error == -ESRCH || error == -ENOENT;
}

/*
 * Programs one thread. If the thread still lives afterwards, stores its set and
 * the places of the group's counts. If not, those of an earlier thread are kept.
 * Returns what vpmc_program() returns.
 */
static int program_set(struct target *target, struct vpmc *v,
		       struct vpmc_error *error)
{
	struct group *group = target->group;
	struct vpmc_event *events = get_memory(NULL, group->nr,
					       sizeof(*events));
	struct vpmc_control control;
	unsigned int i;
	int result;

	for (i = 0; i < group->nr; i++)
		events[i] = group->events[i];
	result = vpmc_program(v, events, group->nr,
			      control_flags(target->options), error);
	if (result >= 0 && !vpmc_get_control(v, &control)) {
		for (i = 0; i < group->nr; i++)
			group->events[i] = events[i];
		target->ours = control;
		target->programmed++;
	}
	free(events);
	return result;
}

/* Programs one thread. It is an error if a @wanted thread has ended. */
static void program(struct target *target, pid_t tid, bool wanted)
{
	struct vpmc_read before = {};
	struct vpmc_error error;
	struct member *member;
	struct vpmc *v;
	int result;

	target->member = get_memory(target->member, target->nr + 1,
				    sizeof(*target->member));
	member = &target->member[target->nr++];
	*member = (struct member){ .tid = tid };
	thread_name(tid, member->name);
	if (has_set(target, member))
		return;
	result = vpmc_open_thread(&v, tid, 0, &error);
	/* A process that uses io_uring has threads of the kernel, too. */
	if ((vanished(result) || (result == -EOPNOTSUPP && tid != target->options->pid)) &&
	    !wanted)
		return;
	if (result)
		fail_error(&error);
	/* If another program comes in between, its set is found to be not ours. */
	vpmc_read_sums(v, 0, &before);
	result = program_set(target, v, &error);
	if (result < 0) {
		if (result != -EEXIST)
			vpmc_unlink(v);
		vpmc_close(v);
		if (vanished(result) && !wanted)
			return;
		plan_refused(target->group, &error);
	}
	member->v = v;
	member->number = before.set_number + 1;
}

static void program_all(struct target *target)
{
	const struct stat_options *options = target->options;
	struct threads threads = { .pid = options->pid };
	pid_t tid;

	if (options->tid) {
		program(target, options->tid, true);
	} else {
		while ((tid = threads_next(&threads)))
			program(target, tid, false);
		/*
		 * If the process does not exist, opening its first thread
		 * reports the error.
		 */
		if (!threads.nr)
			program(target, options->pid, true);
	}
	if (!target->programmed)
		fail(STATUS_OURS, "%d: it has ended meanwhile; name one that lives",
		     options->tid ? options->tid : options->pid);
}

static void add_all(const struct target *target, struct run *run)
{
	unsigned int i;

	for (i = 0; i < target->nr; i++)
		if (target->member[i].v)
			run_add(run, target->member[i].v,
				target->member[i].number,
				target->member[i].tid, target->member[i].name,
				target->options->per_thread);
}

/* Writes the counts so far, if it is time for that. */
static void tell(const struct target *target)
{
	struct run so_far = {};

	if (openmetrics_wait(target->options))
		return;
	add_all(target, &so_far);
	free(so_far.thread);
	so_far.thread = NULL;
	openmetrics_write(&so_far);
}

/*
 * Waits until COMMAND ends. Without COMMAND, waits for a signal or the target's
 * end.
 */
static void wait_for(struct target *target, struct child *child,
		     struct run *run)
{
	const struct stat_options *options = target->options;
	struct pollfd fds[] = { { .fd = signal_fd(), .events = POLLIN },
				{ .fd = -1, .events = POLLIN } };

	if (!child->pid)
		fds[1].fd = options->pid ?
			    (int)syscall(SYS_pidfd_open, options->pid, 0) :
			    vpmc_fd(target->member[0].v);
	for (;;) {
		if (child->pid &&
		    waitpid(child->pid, &run->status, WNOHANG) != 0) {
			signals_ended(run->status);
			run->has_status = true;
			break;
		}
		poll(fds, 2, openmetrics_wait(options));
		tell(target);
		if (fds[0].revents && signal_take(child->pid) && !child->pid)
			break;
		if (fds[1].revents)
			break;
	}
	if (!child->pid && options->pid && fds[1].fd >= 0)
		close(fds[1].fd);
}

void target_run(const struct stat_options *options, struct group *group,
		struct run *run)
{
	static bool before;
	struct target *target = &the_target;
	struct child child = {};
	uint64_t start;

	target->options = options;
	target->group = group;
	if (!before)
		atexit(let_go);
	before = true;
	if (options->command)
		child_start(&child, options->command, NULL, 0);
	program_all(target);
	start = now();
	if (options->command)
		child_exec(&child, options->command);
	wait_for(target, &child, run);
	run->elapsed = now() - start;
	add_all(target, run);
	let_go();
}
