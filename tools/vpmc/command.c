// SPDX-License-Identifier: GPL-2.0
/*
 * Counts one run of COMMAND, with all its threads and children.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <poll.h>
#include <sys/wait.h>

#include "child.h"
#include "fail.h"
#include "openmetrics.h"
#include "run.h"
#include "tracer.h"

static void wait_for(struct child *child, const struct stat_options *options,
		     struct run *run)
{
	/* A revocation is visible only while the thread lives. */
	struct pollfd fds[] = { { .fd = signal_fd(), .events = POLLIN },
				{ .fd = vpmc_fd(child->v) } };

	for (;;) {
		bool over = options->per_thread ?
			    tracer_step(child->pid, run) :
			    waitpid(child->pid, &run->status, WNOHANG) != 0;

		if (over)
			break;
		poll(fds, 2, openmetrics_wait(options));
		if (!openmetrics_wait(options)) {
			struct run so_far = {};

			run_add(&so_far, child->v, child->pid, "", false);
			openmetrics_write(&so_far);
		}
		if (fds[0].revents)
			signal_take(child->pid);
		run->revoked |= !!(fds[1].revents & POLLERR);
		if (fds[1].revents)
			fds[1].fd = -1;
	}
	run->has_status = true;
}

void command_run(const struct stat_options *options, struct group *group,
		 struct run *run)
{
	unsigned int flags = control_flags(options) | VPMC_CONTROL_STOPPED;
	struct child child;
	uint64_t start;

	if (!options->stopped)
		flags |= VPMC_CONTROL_ENABLE_ON_EXEC;
	child_start(&child, options->command, group, flags);
	if (options->per_thread)
		tracer_begin(child.pid);
	start = now();
	child_exec(&child, options->command);
	wait_for(&child, options, run);
	run->elapsed = now() - start;
	run_add(run, child.v, child.pid, options->command[0], false);
	vpmc_close(child.v);
}
