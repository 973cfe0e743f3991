// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc stat -a: counts what each processor does, for all threads that run
 * there.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/fail.h"
#include "common/output.h"
#include "cpus/cpus.h"
#include "cpus/list.h"
#include "stat/child.h"
#include "stat/moments.h"
#include "stat/run.h"
#include "stat/series.h"

/* The processors that are counted, and how */
struct wanted {
	struct vpmc_cpus *cpus;
	const struct cpus_list *list;	/* of -C, or NULL: all */
	unsigned int flags;		/* VPMC_GLOBAL_* */
};

/* Programs the processors. Returns what the last vpmc_cpus_program() returns. */
static int program_cpus(const struct wanted *wanted, struct vpmc_event *events,
			unsigned int nr, struct vpmc_error *error)
{
	int result = 0;
	unsigned int i;

	if (!wanted->list)
		return vpmc_cpus_program(wanted->cpus, VPMC_ALL_CPUS, events, nr,
					 wanted->flags, 0, error);
	for (i = 0; i < LIST_ROOM && result >= 0; i++)
		if (wanted->list->has[i])
			result = vpmc_cpus_program(wanted->cpus, i, events, nr,
						   wanted->flags, 0, error);
	return result;
}

/* Takes nothing from threads, because the command fails anyway. */
static int try_cpus(const void *arg, struct vpmc_event *events, unsigned int nr)
{
	struct wanted wanted = *(const struct wanted *)arg;
	int result;

	wanted.flags &= ~VPMC_GLOBAL_REVOKE;
	result = program_cpus(&wanted, events, nr, NULL);
	return result < 0 ? result : 0;
}

/* Returns 0, or the reason of the kernel's refusal. */
static int program(const struct wanted *wanted, struct plan *plan,
		   const struct stat_options *options, struct vpmc_error *error)
{
	struct group *group;

	plan_make(plan, options);
	group = &plan->groups[0];
	if (plan->note || !group->nr)
		fail(STATUS_OURS, "processors: there is nothing to count; name events by -e, where there is a PMU (vpmc info tells)");
	if (program_cpus(wanted, group->events, group->nr, error) >= 0)
		return 0;
	return error->reason ? (int)error->reason : -1;
}

struct vpmc_cpus *cpus_open(struct plan *plan, struct stat_options *options)
{
	struct wanted wanted = { .flags = options->revoke ? VPMC_GLOBAL_REVOKE : 0 };
	struct vpmc_error error;
	struct cpus_list list;
	int reason;

	/* before the PMU is taken from threads */
	if (options->cpus) {
		cpus_list_parse(&list, options->cpus);
		cpus_list_check(&list);
		wanted.list = &list;
	}
	if (vpmc_cpus_open(&wanted.cpus, &error)) {
		/* Wrong options are reported first. */
		plan_make(plan, options);
		fail_error(&error);
	}
	options->both_modes = true;
	reason = program(&wanted, plan, options, &error);
	if (reason == VPMC_REASON_KERNEL_MODE) {
		options->both_modes = false;
		reason = program(&wanted, plan, options, &error);
	}
	if (reason) {
		plan_too_many(&plan->groups[0], &error, try_cpus, &wanted,
			      "count them in several runs");
		fail_error(&error);
	}
	return wanted.cpus;
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

static bool some_stopped(const struct cpus_sample *sample)
{
	unsigned int i;

	for (i = 0; i < sample->nr; i++)
		if (sample->cpu[i].state == VPMC_CPU_STOPPED)
			return true;
	return false;
}

bool cpus_were_taken(struct vpmc_cpus *cpus, const struct cpus_sample *sample)
{
	/* START changes nothing while the counters are this program's. */
	return some_stopped(sample) && vpmc_cpus_start(cpus) < 0;
}

/* What vpmc stat -a counts */
struct counted {
	struct stat_options *options;
	struct vpmc_cpus *cpus;
	struct child child;
	struct moments moments;
	struct cpus_sample sample;
	struct cpus_sample seen;	/* at the end of the latest interval */
	struct cpus_result *result;
};

/*
 * Writes what each processor has counted in the interval that ends now, and the sums.
 * @running: this program has not stopped them.
 */
static void end_interval(struct counted *counted, bool running)
{
	struct interval interval = moments_interval(&counted->moments);
	struct cpus_sample *sample = &counted->sample, *seen = &counted->seen, other;

	cpus_read(counted->cpus, sample);
	counted->result->revoked |= running && cpus_were_taken(counted->cpus, sample);
	cpus_interval(&interval, sample, seen, counted->result->revoked);
	other = *seen;
	*seen = *sample;
	*sample = other;
}

/* The delay is over. If the PMU was taken away before, nothing is counted. */
static void begin(struct counted *counted)
{
	if (vpmc_cpus_clear(counted->cpus))
		counted->result->early = true;
}

/* Returns true if the measurement ends. */
static bool do_what_is_due(struct counted *counted)
{
	switch (moments_due(&counted->moments)) {
	case MOMENT_NONE:
		break;
	case MOMENT_BEGIN:
		begin(counted);
		break;
	case MOMENT_INTERVAL:
		if (!counted->result->early)
			end_interval(counted, true);
		else
			moments_interval(&counted->moments);
		break;
	case MOMENT_TIMEOUT:
		counted->result->timed_out = true;
		if (!counted->child.pid)
			return true;
		kill(counted->child.pid, SIGTERM);
		break;
	case MOMENT_IMPATIENT:
		child_lives_on(counted->child.pid);
		break;
	}
	return false;
}

/* Waits until COMMAND ends or, without COMMAND, for a signal. */
static void wait_for(struct counted *counted)
{
	struct pollfd fd = { .fd = signal_fd(), .events = POLLIN };
	pid_t pid = counted->child.pid;

	while (pid ? !waitpid(pid, &counted->result->status, WNOHANG) : !interrupted()) {
		poll(&fd, 1, moments_wait(&counted->moments));
		if (do_what_is_due(counted))
			break;
		if (fd.revents)
			signal_take(pid);
	}
}

static void finish(struct counted *counted)
{
	struct cpus_result *result = counted->result;
	unsigned int i;

	result->revoked |= vpmc_cpus_stop(counted->cpus) == -ENODATA;
	result->elapsed = moments_end(&counted->moments);
	result->early |= counted->moments.delayed;
	if (counted->options->series_ms && !result->early)
		end_interval(counted, false);
	cpus_read(counted->cpus, &counted->sample);
	for (i = 0; result->early && i < counted->sample.nr; i++)
		memset(counted->sample.cpu[i].sum, 0, sizeof(counted->sample.cpu[i].sum));
}

static int exit_status(const struct cpus_result *result)
{
	if (result->timed_out && WIFSIGNALED(result->status) && WTERMSIG(result->status) == SIGTERM)
		return 0;
	if (WIFSIGNALED(result->status))
		return STATUS_SIGNAL + WTERMSIG(result->status);
	return WEXITSTATUS(result->status);
}

int cpus_stat(struct stat_options *options)
{
	struct counted counted = { .options = options };
	struct cpus_result result = { .options = options, .sample = &counted.sample };
	struct plan plan;
	FILE *file;

	counted.result = &result;
	file = output_open(options->output, 0);
	signals_begin();
	counted.cpus = cpus_open(&plan, options);
	result.group = &plan.groups[0];
	if (options->command)
		child_start(&counted.child, options->command, NULL, 0);
	if (options->series_ms)
		series_begin(file, options, result.group);
	moments_begin(&counted.moments, options);
	cpus_start(counted.cpus);
	if (options->command)
		child_exec(&counted.child, options->command);
	wait_for(&counted);
	finish(&counted);
	if (options->series_ms)
		series_end();
	cpus_print(file, &result);
	output_close(file);
	vpmc_cpus_close(counted.cpus);
	free(counted.sample.cpu);
	free(counted.seen.cpu);
	return exit_status(&result);
}
