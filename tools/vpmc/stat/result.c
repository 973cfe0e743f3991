// SPDX-License-Identifier: GPL-2.0
/*
 * Combines the results of all runs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/fail.h"
#include "common/signals.h"
#include "select.h"
#include "stat/result.h"

const char *const fact_name[NR_FACTS] = {
	[FACT_RUN_TIME] = "run-time",
	[FACT_SWITCHES] = "switches",
	[FACT_MIGRATIONS] = "migrations",
	[FACT_ELAPSED] = "elapsed",
	[FACT_THREADS] = "threads",
	[FACT_USER_TIME] = "user-time",
	[FACT_SYSTEM_TIME] = "system-time",
	[FACT_MINOR_FAULTS] = "minor-faults",
	[FACT_MAJOR_FAULTS] = "major-faults",
	[FACT_MAX_RSS] = "max-rss",
};

bool fact_is_time(enum fact fact)
{
	return fact == FACT_RUN_TIME || fact == FACT_ELAPSED || fact == FACT_USER_TIME ||
	       fact == FACT_SYSTEM_TIME;
}

const char *fact_unit(enum fact fact)
{
	return fact_is_time(fact) ? "ns" : fact == FACT_MAX_RSS ? "bytes" : "";
}

bool fact_is_known(enum fact fact, const struct value *value)
{
	return fact < FACT_USER_TIME || value->runs;
}

/* Collects numbers for their mean and deviation. */
struct sample {
	unsigned int n;
	unsigned __int128 sum;
	uint64_t *value;
};

static void sample_add(struct sample *sample, uint64_t value)
{
	sample->value = get_memory(sample->value, sample->n + 1,
				   sizeof(*sample->value));
	sample->value[sample->n++] = value;
	sample->sum += value;
}

static struct value sample_end(struct sample *sample)
{
	struct value value = { .runs = sample->n };
	long double mean, squares = 0;
	unsigned int i;

	if (sample->n) {
		value.mean = (sample->sum + sample->n / 2) / sample->n;
		mean = (long double)sample->sum / sample->n;
		for (i = 0; i < sample->n; i++)
			squares += (sample->value[i] - mean) *
				   (sample->value[i] - mean);
		if (sample->n > 1)
			value.deviation = sqrtl(squares / (sample->n - 1));
		value.order = quantiles_of(sample->value, sample->n);
	}
	free(sample->value);
	return value;
}

struct value result_event(const struct result *result, unsigned int group,
			  const struct vpmc_event *event)
{
	struct sample sample = {};
	unsigned int i;

	for (i = 0; i < result->nr; i++)
		if (result->run[i].group == group && !left_out(event))
			sample_add(&sample,
				   result->run[i].counts.sum[event->element]);
	return sample_end(&sample);
}

bool fact_is_row(const struct result *result, enum fact fact)
{
	unsigned int i;

	for (i = 0; i < result->plan->nr_software; i++)
		if (!strcmp(result->plan->software[i].name, fact_name[fact]))
			return true;
	return false;
}

static uint64_t nanoseconds(const struct timeval *time)
{
	return time->tv_sec * 1000000000ULL + time->tv_usec * 1000ULL;
}

uint64_t run_fact(const struct run *run, enum fact fact)
{
	const struct rusage *usage = &run->usage;

	switch (fact) {
	case FACT_USER_TIME:
		return nanoseconds(&usage->ru_utime);
	case FACT_SYSTEM_TIME:
		return nanoseconds(&usage->ru_stime);
	case FACT_MINOR_FAULTS:
		return usage->ru_minflt;
	case FACT_MAJOR_FAULTS:
		return usage->ru_majflt;
	case FACT_PAGE_FAULTS:
		return usage->ru_minflt + usage->ru_majflt;
	case FACT_MAX_RSS:
		return usage->ru_maxrss * 1024ULL;
	case FACT_RUN_TIME:
		return run->counts.ns;
	case FACT_SWITCHES:
		return run->counts.switches;
	case FACT_MIGRATIONS:
		return run->counts.migrations;
	case FACT_ELAPSED:
		return run->elapsed;
	default:
		return run->threads;
	}
}

bool run_has_fact(const struct run *run, enum fact fact)
{
	return fact < FACT_USER_TIME || run->has_usage;
}

struct value result_fact(const struct result *result, enum fact fact)
{
	struct sample sample = {};
	unsigned int i;

	for (i = 0; i < result->nr; i++)
		if (run_has_fact(&result->run[i], fact))
			sample_add(&sample, run_fact(&result->run[i], fact));
	return sample_end(&sample);
}

bool run_failed(const struct run *run)
{
	return run->status && !(run->timed_out && WIFSIGNALED(run->status) &&
				WTERMSIG(run->status) == SIGTERM);
}

struct remarks result_remarks(const struct result *result)
{
	struct remarks remarks = {
		.wanted = result->options->repeat * result->plan->nr,
		.input_was_read = result->input_was_read,
		.not_started = result->options->stopped && result->nr,
	};
	unsigned int i, way;

	remarks.made = result->nr + result->early;
	if (remarks.made < remarks.wanted)
		remarks.signal = interrupted();

	for (i = 0; i < result->nr; i++) {
		const struct run *run = &result->run[i];

		remarks.living += run->living;
		for (way = 0; way < DEPARTURES; way++)
			remarks.left.number[way] += run->left.number[way];
		remarks.replaced += run->replaced;
		remarks.revoked |= run->revoked;
		remarks.detached |= run->detached;
		remarks.timed_out += run->timed_out;
		remarks.early |= run->early;
		remarks.not_started &= !run->counts.ns && !run->replaced;
		remarks.has_status |= run->has_status;
		if (!remarks.status || (!remarks.failed && run_failed(run)))
			remarks.status = run->status;
		remarks.failed |= run_failed(run);
	}
	if (!remarks.failed && result->other_status) {
		remarks.status = result->other_status;
		remarks.failed = true;
	}
	return remarks;
}

const char *remarks_mark(const struct remarks *remarks)
{
	unsigned int way;

	if (remarks->revoked)
		return "revoked";
	if (remarks->replaced)
		return "replaced";
	if (remarks->detached)
		return "detached";
	for (way = 0; way < DEPARTURES; way++)
		if (remarks->left.number[way])
			return "left";
	if (remarks->early)
		return "early";
	if (remarks->not_started)
		return "not-started";
	return remarks->input_was_read ? "input" : "";
}

void remarks_numbers(const struct remarks *remarks,
		     void (*print)(void *to, const char *name, uint64_t number),
		     void *to)
{
	unsigned int way;

	print(to, "living", remarks->living);
	for (way = 0; way < DEPARTURES; way++)
		print(to, departure_member(way), remarks->left.number[way]);
	print(to, "replaced", remarks->replaced);
}

const char *event_label(const struct vpmc_event *event, char buffer[VPMC_NAME_SIZE])
{
	if (event->flags & (VPMC_EVENT_PORTABLE | VPMC_EVENT_RAW))
		return event->name;
	snprintf(buffer, VPMC_NAME_SIZE, "%.*s%s", (int)strcspn(event->text, "@?"),
		 event->text, event->flags & VPMC_EVENT_USUAL_MODES ? ":u" : "");
	return buffer;
}

const char *counter_name(uint32_t index, char buffer[16])
{
	if (index == VPMC_ANY)
		buffer[0] = 0;
	else if (index & VPMC_RDPMC_FIXED)
		snprintf(buffer, 16, "fixed%u", index & ~VPMC_RDPMC_FIXED);
	else
		snprintf(buffer, 16, "%u", index & ~RDPMC_FAST);
	return buffer;
}
