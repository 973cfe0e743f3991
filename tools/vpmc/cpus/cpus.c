// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc stat -a: counts what each processor does, for all threads that run
 * there.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fail.h"
#include "common/output.h"
#include "cpus/cpus.h"
#include "cpus/list.h"
#include "stat/child.h"
#include "stat/run.h"

/*
 * Programs all processors, or with -C those of @list. Returns what the last
 * vpmc_cpus_program() returns.
 */
static int program_cpus(struct vpmc_cpus *cpus, struct group *group,
			const struct stat_options *options,
			const struct cpus_list *list, struct vpmc_error *error)
{
	unsigned int flags = options->revoke ? VPMC_GLOBAL_REVOKE : 0, i;
	int result = 0;

	if (!options->cpus)
		return vpmc_cpus_program(cpus, VPMC_ALL_CPUS, group->events, group->nr,
					 flags, 0, error);
	for (i = 0; i < LIST_ROOM && result >= 0; i++)
		if (list->has[i])
			result = vpmc_cpus_program(cpus, i, group->events, group->nr,
						   flags, 0, error);
	return result;
}

/* Returns 0, or the reason of the kernel's refusal. */
static int program(struct vpmc_cpus *cpus, struct plan *plan,
		   const struct stat_options *options,
		   const struct cpus_list *list, struct vpmc_error *error)
{
	struct group *group;

	plan_make(plan, options);
	group = &plan->groups[0];
	if (plan->note || !group->nr)
		fail(STATUS_OURS, "processors: there is nothing to count; name events by -e, where there is a PMU (vpmc info tells)");
	if (program_cpus(cpus, group, options, list, error) >= 0)
		return 0;
	return error->reason ? (int)error->reason : -1;
}

struct vpmc_cpus *cpus_open(struct plan *plan, struct stat_options *options)
{
	struct vpmc_error error;
	struct vpmc_cpus *cpus;
	struct cpus_list list;
	int reason;

	/* before the PMU is taken from threads */
	if (options->cpus) {
		cpus_list_parse(&list, options->cpus);
		cpus_list_check(&list);
	}
	if (vpmc_cpus_open(&cpus, &error)) {
		/* Wrong options are reported first. */
		plan_make(plan, options);
		fail_error(&error);
	}
	options->both_modes = true;
	reason = program(cpus, plan, options, &list, &error);
	if (reason == VPMC_REASON_KERNEL_MODE) {
		options->both_modes = false;
		reason = program(cpus, plan, options, &list, &error);
	}
	if (reason)
		fail_error(&error);
	return cpus;
}

void cpus_start(struct vpmc_cpus *cpus)
{
	int err = vpmc_cpus_start(cpus);

	if (err)
		fail(STATUS_OURS, "processors: %s; the administrator may have taken the PMU (sysctl kernel.vpmc_revoke)",
		     strerror(-err));
}

void cpus_read(const struct vpmc_cpus *cpus, struct cpus_sample *sample)
{
	int nr;

	/*
	 * A full array may lack processors. Read again until one element stays
	 * empty.
	 */
	for (;;) {
		nr = sample->room ? vpmc_cpus_read(cpus, 0, sample->cpu,
						   sample->room) : 0;
		if (nr < 0)
			fail(STATUS_OURS, "processors: cannot be read: %s; end other programs",
			     strerror(-nr));
		if ((unsigned int)nr < sample->room)
			break;
		sample->room = sample->room ? 2 * sample->room : 64;
		sample->cpu = get_memory(sample->cpu, sample->room,
					 sizeof(*sample->cpu));
	}
	sample->nr = nr;
}

/*
 * Waits until COMMAND ends or, without COMMAND, for a signal. Returns the status
 * of wait().
 */
static int wait_for(pid_t pid)
{
	struct pollfd fd = { .fd = signal_fd(), .events = POLLIN };
	int status = 0;

	while (pid ? !waitpid(pid, &status, WNOHANG) : !interrupted()) {
		poll(&fd, 1, -1);
		signal_take(pid);
	}
	return status;
}

int cpus_stat(struct stat_options *options)
{
	struct cpus_sample sample = {};
	struct child child = {};
	struct vpmc_cpus *cpus;
	struct plan plan;
	struct cpus_result result = { .options = options, .sample = &sample };
	uint64_t start;
	FILE *file;

	file = output_open(options->output, 0);
	signals_begin();
	cpus = cpus_open(&plan, options);
	result.group = &plan.groups[0];
	if (options->command)
		child_start(&child, options->command, NULL, 0);
	start = now();
	cpus_start(cpus);
	if (options->command)
		child_exec(&child, options->command);
	result.status = wait_for(child.pid);
	result.revoked = vpmc_cpus_stop(cpus) == -ENODATA;
	result.elapsed = now() - start;
	cpus_read(cpus, &sample);
	cpus_print(file, &result);
	output_close(file);
	vpmc_cpus_close(cpus);
	free(sample.cpu);
	if (WIFSIGNALED(result.status))
		return STATUS_SIGNAL + WTERMSIG(result.status);
	return WEXITSTATUS(result.status);
}
