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

#include "child.h"
#include "cpus.h"
#include "fail.h"
#include "output.h"
#include "table.h"

struct vpmc_cpus *cpus_open(const struct plan *plan, bool revoke)
{
	struct group *group = &plan->groups[0];
	struct vpmc_error error;
	struct vpmc_cpus *cpus;

	if (plan->note || !group->nr)
		fail(STATUS_OURS, "processors: there is nothing to count; name events by -e, where there is a PMU (vpmc info tells)");
	if (vpmc_cpus_open(&cpus, &error) ||
	    vpmc_cpus_program(cpus, VPMC_ALL_CPUS, group->events, group->nr,
			      revoke ? VPMC_GLOBAL_REVOKE : 0, 0, &error) < 0)
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

/* Prints one line. The elements of @sum belong to the events of @group. */
static void print_line(struct libscols_table *table, const struct group *group,
		       const char *name, const char *state, const uint64_t *sum)
{
	char number[VPMC_MAX_COUNTERS][32];
	const char *text[2 + VPMC_MAX_COUNTERS] = { name, state };
	unsigned int i, column = 2;

	for (i = 0; i < group->nr; i++) {
		int element = group->events[i].element;

		if (left_out(&group->events[i]))
			continue;
		text[column] = with_separators(sum[element], number[element]);
		column++;
	}
	table_line(table, text);
}

void cpus_print(FILE *file, const struct group *group,
		const struct cpus_sample *sample,
		const struct cpus_sample *before, bool colour)
{
	struct libscols_table *table = table_new(true, colour);
	uint64_t all[VPMC_MAX_COUNTERS] = {}, sum[VPMC_MAX_COUNTERS];
	unsigned int i, j;
	char name[16];

	table_column(table, "CPU", true);
	table_column(table, "", false);
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			table_column(table, group->events[i].text, true);
	for (i = 0; i < sample->nr; i++) {
		const struct vpmc_global_cpu *cpu = &sample->cpu[i];

		if (cpu->state == VPMC_CPU_ABSENT)
			continue;
		for (j = 0; j < cpu->nr_counters; j++) {
			sum[j] = cpu->sum[j];
			if (before && i < before->nr)
				sum[j] -= before->cpu[i].sum[j];
			all[j] += sum[j];
		}
		snprintf(name, sizeof(name), "%u", cpu->cpu);
		print_line(table, group, name, cpu->state == VPMC_CPU_OFFLINE ?
			   "offline" : "", sum);
	}
	print_line(table, group, "all", "", all);
	table_print(table, file);
}

/*
 * Waits until COMMAND ends or, without COMMAND, for a signal. Returns the
 * status.
 */
static int wait_for(pid_t pid)
{
	struct pollfd fd = { .fd = signal_fd(), .events = POLLIN };
	int status = 0;

	while (pid ? !waitpid(pid, &status, WNOHANG) : !interrupted()) {
		poll(&fd, 1, -1);
		signal_take(pid);
	}
	if (WIFSIGNALED(status))
		return STATUS_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status);
}

int cpus_stat(const struct stat_options *options)
{
	struct cpus_sample sample = {};
	struct child child = {};
	struct vpmc_cpus *cpus;
	struct plan plan;
	FILE *file;
	int status;

	plan_make(&plan, options);
	file = output_open(options->output);
	signals_begin();
	cpus = cpus_open(&plan, options->revoke);
	if (options->command)
		child_start(&child, options->command, NULL, 0);
	cpus_start(cpus);
	if (options->command)
		child_exec(&child, options->command);
	status = wait_for(child.pid);
	vpmc_cpus_stop(cpus);
	cpus_read(cpus, &sample);
	cpus_print(file, &plan.groups[0], &sample, NULL, false);
	output_close(file);
	vpmc_cpus_close(cpus);
	free(sample.cpu);
	return status;
}
