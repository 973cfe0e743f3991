// SPDX-License-Identifier: GPL-2.0
/*
 * Counts a process or thread that runs already.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/threads.h"
#include "stat/child.h"
#include "stat/moments.h"
#include "stat/openmetrics.h"
#include "stat/run.h"
#include "stat/series.h"

/* A thread of the target. */
struct member {
	pid_t tid;
	char name[16];
	struct tap tap;		/* v is NULL if the thread has inherited our set, or has ended */
};

struct target {
	const struct stat_options *options;
	struct group *group;
	struct member *member;
	unsigned int nr;
	int *process;			/* with -p: descriptors that tell when each process ends */
	unsigned int nr_processes;
	struct vpmc_control ours;	/* set that we programmed */
	unsigned int programmed;	/* number of threads that lived with it */
	unsigned int inherited;		/* number of threads that had it already */
};

/* The only target. An exit handler removes its sets. */
static struct target the_target;

/* Removes our sets from all threads. */
static void let_go(void)
{
	struct target *target = &the_target;
	unsigned int i;

	for (i = 0; i < target->nr; i++)
		if (target->member[i].tap.v) {
			vpmc_unlink(target->member[i].tap.v);
			vpmc_close(target->member[i].tap.v);
		}
	for (i = 0; i < target->nr_processes; i++)
		if (target->process[i] >= 0)
			close(target->process[i]);
	free(target->member);
	free(target->process);
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
	if (!target->programmed || !target->options->inherit ||
	    !same_selection(&theirs, &target->ours))
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

/*
 * Programs one thread. One of a @process may have ended; without, that is an error.
 */
static void program(struct target *target, pid_t tid, pid_t process)
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
	if (has_set(target, member)) {
		target->inherited++;
		return;
	}
	result = vpmc_open_thread(&v, tid, 0, &error);
	/* A process that uses io_uring has threads of the kernel, too. */
	if (process && (vanished(result) || (result == -EOPNOTSUPP && tid != process)))
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
		if (process && vanished(result))
			return;
		plan_refused(target->group, &error);
	}
	tap_open(&member->tap, v, target->group);
	member->tap.number = before.set_number + 1;
}

/*
 * Fails if another program counts one of the threads. Later, sets of the same selection are
 * taken for inherited ones.
 */
static void check_all(struct target *target)
{
	const struct stat_options *options = target->options;
	unsigned int i;

	for (i = 0; !options->threads && i < options->nr_targets; i++) {
		struct threads threads = { .pid = options->target[i] };
		struct member member = {};

		while ((member.tid = threads_next(&threads))) {
			thread_name(member.tid, member.name);
			has_set(target, &member);
		}
	}
}

static void program_process(struct target *target, pid_t pid)
{
	struct threads threads = { .pid = pid };
	pid_t tid;

	while ((tid = threads_next(&threads))) {
		unsigned int before = target->inherited;

		program(target, tid, pid);
		/* What a thread with our set creates has it, too. */
		threads.again |= target->inherited == before;
	}
	/*
	 * If the process does not exist, opening its first thread
	 * reports the error.
	 */
	if (!threads.nr)
		program(target, pid, 0);
}

/* Returns the process of a thread, or 0 if it has ended. */
static pid_t process_of(pid_t tid)
{
	char name[32], line[128];
	pid_t pid = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	file = fopen(name, "re");
	while (file && !pid && fgets(line, sizeof(line), file))
		sscanf(line, "Tgid: %d", &pid);
	if (file)
		fclose(file);
	return pid;
}

/*
 * Before anything is programmed, because a process may end meanwhile. If there is none,
 * opening its first thread reports the error.
 */
static void open_processes(struct target *target)
{
	const struct stat_options *options = target->options;
	unsigned int i;

	if (options->threads)
		return;
	target->process = get_memory(NULL, options->nr_targets, sizeof(*target->process));
	for (i = 0; i < options->nr_targets; i++) {
		pid_t pid = options->target[i], process = process_of(pid);
		int fd = (int)syscall(SYS_pidfd_open, pid, 0);

		target->process[target->nr_processes++] = fd;
		if (process && process != pid)
			fail(STATUS_OURS, "-p %d: is a thread of process %d; name that, or count the thread alone by -t",
			     pid, process);
		if (process && fd < 0 && errno != ESRCH)
			fail(STATUS_OURS, "process %d: its end cannot be waited for: %s; raise the limit of open files",
			     pid, strerror(errno));
	}
}

static void program_all(struct target *target)
{
	const struct stat_options *options = target->options;
	unsigned int i;

	open_processes(target);
	check_all(target);
	for (i = 0; i < options->nr_targets; i++)
		if (options->threads)
			program(target, options->target[i], 0);
		else
			program_process(target, options->target[i]);
	if (!target->programmed)
		fail(STATUS_OURS, "%d: it has ended meanwhile; name one that lives",
		     options->target[0]);
}

/* Calls @act for each set that we have programmed. */
static void for_each_tap(struct target *target, void (*act)(struct tap *tap))
{
	unsigned int i;

	for (i = 0; i < target->nr; i++)
		if (target->member[i].tap.v)
			act(&target->member[i].tap);
}

static void add_all(const struct target *target, struct run *run, bool rows)
{
	unsigned int i;

	for (i = 0; i < target->nr; i++)
		if (target->member[i].tap.v)
			run_add(run, &target->member[i].tap, target->member[i].tid,
				target->member[i].name, rows);
}

/* Adds to OpenMetrics, or writes for -I, what was counted in the interval that ends now. */
static void end_interval(struct target *target, struct moments *moments)
{
	struct interval interval = moments_interval(moments);
	struct run run = {};
	unsigned int i;

	for (i = 0; i < target->nr; i++)
		if (target->member[i].tap.v)
			tap_step(&target->member[i].tap, &run);
	if (target->options->openmetrics)
		openmetrics_add(&run);
	else
		series_write(&interval, &run);
}

/* Returns true if the measurement ends. */
static bool do_what_is_due(struct target *target, struct moments *moments,
			   const struct child *child, struct run *run)
{
	switch (moments_due(moments)) {
	case MOMENT_NONE:
		break;
	case MOMENT_BEGIN:
		for_each_tap(target, tap_begin);
		break;
	case MOMENT_INTERVAL:
		end_interval(target, moments);
		if (target->options->openmetrics)
			openmetrics_write();
		break;
	case MOMENT_TIMEOUT:
		run->timed_out = true;
		if (!child->pid)
			return true;
		kill(child->pid, SIGTERM);
		break;
	case MOMENT_IMPATIENT:
		child_lives_on(child->pid);
		break;
	}
	return false;
}

/* What is waited for: signals, the end of each process of -p, and what becomes of the sets */
struct waited {
	struct pollfd *fds;	/* the first one is of signals */
	struct pollfd *process;	/* of each process in struct target */
	struct pollfd *set;	/* of each set that we have programmed */
	struct tap **tap;	/* these sets */
	unsigned int nr_sets;
	unsigned int living;	/* number of targets that live */
};

static void waited_open(struct waited *waited, struct target *target)
{
	unsigned int i;

	waited->fds = get_memory(NULL, 1 + target->nr_processes + target->nr, sizeof(*waited->fds));
	waited->tap = get_memory(NULL, target->nr, sizeof(*waited->tap));
	waited->process = waited->fds + 1;
	waited->set = waited->process + target->nr_processes;
	waited->nr_sets = waited->living = 0;
	waited->fds[0] = (struct pollfd){ .fd = signal_fd(), .events = POLLIN };
	for (i = 0; i < target->nr_processes; i++) {
		waited->process[i] = (struct pollfd){ .fd = target->process[i], .events = POLLIN };
		waited->living += target->process[i] >= 0;
	}
	/* poll() takes no more entries than there may be files, so all of them are open ones. */
	for (i = 0; i < target->nr; i++) {
		struct tap *tap = &target->member[i].tap;

		if (!tap->v)
			continue;
		/* poll() tells the end of a thread, and a revocation, in any case. */
		waited->set[waited->nr_sets] = (struct pollfd){ .fd = vpmc_fd(tap->v) };
		waited->tap[waited->nr_sets++] = tap;
		waited->living += target->options->threads;
	}
}

static void waited_poll(struct waited *waited, const struct target *target, int ms)
{
	if (poll(waited->fds, 1 + target->nr_processes + waited->nr_sets, ms) < 0 && errno != EINTR)
		fail(STATUS_OURS, "targets: they cannot be waited for: %s; name fewer of them", strerror(errno));
}

/*
 * Notes which sets were revoked: that is visible only while the thread lives. Returns true
 * if the last target has ended.
 */
static bool waited_look(struct waited *waited, const struct target *target)
{
	unsigned int i;

	for (i = 0; i < target->nr_processes; i++)
		if (waited->process[i].fd >= 0 && waited->process[i].revents) {
			waited->process[i].fd = -1;
			waited->living--;
		}
	for (i = 0; i < waited->nr_sets; i++)
		if (waited->set[i].fd >= 0 && waited->set[i].revents) {
			waited->tap[i]->revoked |= !!(waited->set[i].revents & POLLERR);
			waited->set[i].fd = -1;
			waited->living -= target->options->threads;
		}
	return !waited->living;
}

/*
 * Waits until COMMAND ends. Without COMMAND, waits for a signal or the targets'
 * end.
 */
static void wait_for(struct target *target, struct child *child,
		     struct moments *moments, struct run *run)
{
	struct waited waited;
	bool over;

	waited_open(&waited, target);
	while (child->pid || waited.living) {
		if (child->pid &&
		    waitpid(child->pid, &run->status, WNOHANG) != 0) {
			signals_ended(run->status);
			run->has_status = true;
			break;
		}
		waited_poll(&waited, target, moments_wait(moments));
		over = waited_look(&waited, target);
		if (do_what_is_due(target, moments, child, run))
			break;
		if (waited.fds[0].revents && signal_take(child->pid) && !child->pid)
			break;
		if (!child->pid && over)
			break;
	}
	free(waited.fds);
	free(waited.tap);
}

static void add_result(struct target *target, struct moments *moments, struct run *run)
{
	const struct stat_options *options = target->options;

	run->elapsed = moments_end(moments);
	if (moments->delayed) {
		run->early = true;
		for_each_tap(target, tap_begin);
	}
	if ((options->series_ms || options->openmetrics) && !run->early)
		end_interval(target, moments);
	add_all(target, run, options->per_thread);
}

void target_run(const struct stat_options *options, struct group *group,
		struct run *run)
{
	static bool before;
	struct target *target = &the_target;
	struct child child = {};
	struct moments moments;

	target->options = options;
	target->group = group;
	if (!before)
		atexit(let_go);
	before = true;
	if (options->command)
		child_start(&child, options->command, NULL, 0);
	program_all(target);
	moments_begin(&moments, options);
	if (options->command)
		child_exec(&child, options->command);
	wait_for(target, &child, &moments, run);
	add_result(target, &moments, run);
	let_go();
}
