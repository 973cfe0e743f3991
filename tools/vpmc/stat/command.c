// SPDX-License-Identifier: GPL-2.0
/*
 * Counts one run of COMMAND, with all its threads and children.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <poll.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fail.h"
#include "common/threads.h"
#include "stat/child.h"
#include "stat/members.h"
#include "stat/openmetrics.h"
#include "stat/run.h"

#define PATIENCE	200	/* most milliseconds between looks, if nothing wakes us */

/* COMMAND, and the set that counts it: of this thread, see child_family(), or COMMAND's */
struct counted {
	struct child child;
	struct vpmc *v;
	uint64_t number;	/* of the set, among those that its thread has had */
	bool family;
	bool rows;		/* with a row for each thread */
	bool members;		/* the kernel keeps the counts of those that end */
	char name[16];		/* with @rows: COMMAND's first thread */
};

static void add(struct run *run, const struct counted *counted, const char *name)
{
	if (counted->family)
		run_add_family(run, counted->v);
	else
		run_add(run, counted->v, counted->number, counted->child.pid, name, false);
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

static void wait_for(struct counted *counted, const struct stat_options *options,
		     struct run *run)
{
	/* A revocation is visible only while the thread lives. */
	struct pollfd fds[] = { { .fd = signal_fd(), .events = POLLIN },
				{ .fd = vpmc_fd(counted->v),
				  .events = counted->members ? POLLIN : 0 } };
	struct child *child = &counted->child;

	while (!is_over(counted, run)) {
		int wait = openmetrics_wait(options);

		/* The thread has ended, and tells no more that others have. */
		if (counted->members && fds[1].fd < 0 && (wait < 0 || wait > PATIENCE))
			wait = PATIENCE;
		poll(fds, 2, wait);
		if (counted->members)
			members_take(counted->v, run);
		if (!openmetrics_wait(options)) {
			struct run so_far = {};

			add(&so_far, counted, "");
			openmetrics_write(&so_far);
		}
		if (fds[0].revents)
			signal_take(child->pid);
		run->revoked |= !!(fds[1].revents & POLLERR);
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
	struct vpmc_read sums;

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
		counted->v = child_family(group, flags, true);
		counted->family = counted->v;
	}
	if (counted->family) {
		child_start(&counted->child, options->command, NULL, 0);
	} else {
		child_start(&counted->child, options->command, group, flags);
		counted->v = counted->child.v;
	}
	if (!vpmc_read_sums(counted->v, 0, &sums))
		counted->number = sums.set_number;
}

/* Adds the rows. */
static void add_rows(struct run *run, const struct counted *counted)
{
	if (counted->rows && !counted->family)
		run_add_row(run, counted->v, counted->number, counted->child.pid,
			    counted->name);
	if (counted->members)
		members_end(counted->v, run);
}

static void end(struct counted *counted)
{
	if (counted->family)
		vpmc_unlink(counted->v);
	vpmc_close(counted->v);
}

void command_run(const struct stat_options *options, struct group *group,
		 struct run *run)
{
	struct counted counted;
	uint64_t start;

	begin(&counted, options, group);
	start = now();
	child_exec(&counted.child, options->command);
	wait_for(&counted, options, run);
	run->elapsed = now() - start;
	add(run, &counted, options->command[0]);
	add_rows(run, &counted);
	end(&counted);
}
