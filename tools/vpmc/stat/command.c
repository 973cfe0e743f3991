// SPDX-License-Identifier: GPL-2.0
/*
 * Counts one run of COMMAND, with all its threads and children.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/fail.h"
#include "common/threads.h"
#include "stat/child.h"
#include "stat/members.h"
#include "stat/moments.h"
#include "stat/openmetrics.h"
#include "stat/run.h"
#include "stat/series.h"

#define PATIENCE	200	/* most milliseconds between looks, if nothing wakes us */

/* COMMAND, and the set that counts it: of this thread, see child_family(), or COMMAND's */
struct counted {
	struct child child;
	struct tap tap;
	bool family;
	bool rows;		/* with a row for each thread */
	bool members;		/* the kernel keeps the counts of those that end */
	char name[16];		/* with @rows: COMMAND's first thread */
};

static void add(struct run *run, const struct counted *counted, const char *name)
{
	if (counted->family)
		run_add_family(run, &counted->tap);
	else
		run_add(run, &counted->tap, counted->child.pid, name, false);
}

/* Returns true when COMMAND has ended. */
static bool is_over(struct counted *counted, struct run *run)
{
	pid_t pid;

	/* Then its name is gone. */
	if (counted->rows && !counted->family)
		thread_name(counted->child.pid, counted->name);
	pid = wait4(counted->child.pid, &run->status, WNOHANG, &run->usage);
	run->has_usage = pid > 0;
	return pid != 0;
}

/* Adds to OpenMetrics, or writes for -I, what was counted in the interval that ends now. */
static void end_interval(struct counted *counted, struct moments *moments,
			 const struct stat_options *options)
{
	struct interval interval = moments_interval(moments);
	struct run run = {};

	tap_step(&counted->tap, &run);
	if (options->openmetrics)
		openmetrics_add(&run);
	else
		series_write(&interval, &run);
}

static void do_what_is_due(struct counted *counted, struct moments *moments,
			   const struct stat_options *options, struct run *run)
{
	switch (moments_due(moments)) {
	case MOMENT_NONE:
		break;
	case MOMENT_BEGIN:
		tap_begin(&counted->tap);
		break;
	case MOMENT_INTERVAL:
		end_interval(counted, moments, options);
		if (options->openmetrics)
			openmetrics_write();
		break;
	case MOMENT_TIMEOUT:
		run->timed_out = true;
		kill(counted->child.pid, SIGTERM);
		break;
	case MOMENT_IMPATIENT:
		child_lives_on(counted->child.pid);
		break;
	}
}

static void wait_for(struct counted *counted, const struct stat_options *options,
		     struct moments *moments, struct run *run)
{
	/* A revocation is visible only while the thread lives. */
	struct pollfd fds[] = { { .fd = signal_fd(), .events = POLLIN },
				{ .fd = vpmc_fd(counted->tap.v),
				  .events = counted->members ? POLLIN : 0 } };

	while (!is_over(counted, run)) {
		int wait = moments_wait(moments);

		/* The thread has ended, and tells no more that others have. */
		if (counted->members && fds[1].fd < 0 && (wait < 0 || wait > PATIENCE))
			wait = PATIENCE;
		poll(fds, 2, wait);
		if (counted->members)
			members_take(counted->tap.v, run);
		do_what_is_due(counted, moments, options, run);
		if (fds[0].revents)
			signal_take(counted->child.pid);
		counted->tap.revoked |= !!(fds[1].revents & POLLERR);
		if (fds[1].revents & ~POLLIN)
			fds[1].fd = -1;
	}
	signals_ended(run->status);
	run->has_status = true;
}

static void begin(struct counted *counted, const struct stat_options *options,
		  struct group *group)
{
	unsigned int flags = control_flags(options) | VPMC_CONTROL_STOPPED;
	struct vpmc *v = NULL;

	*counted = (struct counted){
		.rows = options->per_thread,
		.members = options->per_thread && options->inherit,
	};
	group->each = counted->members;
	if (!options->stopped)
		flags |= VPMC_CONTROL_ENABLE_ON_EXEC;
	/* vpmc ctl and the program know COMMAND's thread only. */
	counted->family = options->inherit && !options->stopped;
	if (counted->family) {
		/* Who has executed vpmc may have counted this thread. */
		v = child_family(group, flags, true);
		counted->family = v;
	}
	if (counted->family) {
		child_start(&counted->child, options->command, NULL, 0);
	} else {
		child_start(&counted->child, options->command, group, flags);
		v = counted->child.v;
	}
	tap_open(&counted->tap, v, group);
}

/* Adds the rows. */
static void add_rows(struct run *run, const struct counted *counted)
{
	if (counted->rows && !counted->family)
		run_add_row(run, &counted->tap, counted->child.pid, counted->name);
	if (counted->members)
		members_end(counted->tap.v, run);
}

static void end(struct counted *counted)
{
	if (counted->family)
		vpmc_unlink(counted->tap.v);
	vpmc_close(counted->tap.v);
}

/* COMMAND has ended. */
static void add_result(struct counted *counted, const struct stat_options *options,
		       struct moments *moments, struct run *run)
{
	run->elapsed = moments_end(moments);
	if (moments->delayed) {
		/* It has counted within the delay alone. */
		run->early = true;
		tap_begin(&counted->tap);
	}
	if ((options->series_ms || options->openmetrics) && !run->early)
		end_interval(counted, moments, options);
	/* These are from its beginning on. */
	run->has_usage &= !options->delay_ms;
	add(run, counted, options->command[0]);
	add_rows(run, counted);
}

void command_run(const struct stat_options *options, struct group *group,
		 struct run *run)
{
	struct counted counted;
	struct moments moments;

	begin(&counted, options, group);
	moments_begin(&moments, options);
	child_exec(&counted.child, options->command);
	wait_for(&counted, options, &moments, run);
	add_result(&counted, options, &moments, run);
	end(&counted);
}
