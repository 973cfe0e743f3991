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
#include "stat/child.h"
#include "stat/openmetrics.h"
#include "stat/run.h"
#include "stat/tracer.h"

/* COMMAND, and the set that counts it: of this thread, see child_family(), or COMMAND's */
struct counted {
	struct child child;
	struct vpmc *v;
	bool family;
};

static void add(struct run *run, const struct counted *counted, const char *name)
{
	if (counted->family)
		run_add_family(run, counted->v);
	else
		run_add(run, counted->v, 1, counted->child.pid, name, false);
}

static void wait_for(struct counted *counted, const struct stat_options *options,
		     struct run *run)
{
	/* A revocation is visible only while the thread lives. */
	struct pollfd fds[] = { { .fd = signal_fd(), .events = POLLIN },
				{ .fd = vpmc_fd(counted->v) } };
	struct child *child = &counted->child;

	for (;;) {
		bool over = options->per_thread ?
			    tracer_step(child->pid, run) :
			    waitpid(child->pid, &run->status, WNOHANG) != 0;

		if (over)
			break;
		poll(fds, 2, openmetrics_wait(options));
		if (!openmetrics_wait(options)) {
			struct run so_far = {};

			add(&so_far, counted, "");
			openmetrics_write(&so_far);
		}
		if (fds[0].revents)
			signal_take(child->pid);
		run->revoked |= !!(fds[1].revents & POLLERR);
		if (fds[1].revents)
			fds[1].fd = -1;
	}
	signals_ended(run->status);
	run->has_status = true;
}

static void begin(struct counted *counted, const struct stat_options *options,
		  struct group *group)
{
	unsigned int flags = control_flags(options) | VPMC_CONTROL_STOPPED;

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
	if (options->per_thread)
		tracer_begin(counted.child.pid, counted.family);
	start = now();
	child_exec(&counted.child, options->command);
	wait_for(&counted, options, run);
	run->elapsed = now() - start;
	add(run, &counted, options->command[0]);
	end(&counted);
}
