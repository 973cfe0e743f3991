// SPDX-License-Identifier: GPL-2.0
/*
 * What each processor counts: as a table, as JSON (vpmc-cpus.schema.json), as CSV.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "common/json-write.h"
#include "common/signals.h"
#include "common/table.h"
#include "cpus/cpus.h"
#include "stat/result.h"
#include "stat/series.h"

#define FORMAT_VERSION	1

static const char *state_name(const struct vpmc_global_cpu *cpu)
{
	return cpu->state == VPMC_CPU_OFFLINE ? "offline" : "online";
}

/* Of one event, of all processors. */
static uint64_t sum_of_all(const struct cpus_sample *sample, int element)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < sample->nr; i++)
		if (sample->cpu[i].state != VPMC_CPU_ABSENT)
			sum += sample->cpu[i].sum[element];
	return sum;
}

/* One line; elements of @sum belong to the group's events. */
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

void cpus_table(FILE *file, const struct group *group,
		const struct cpus_sample *sample,
		const struct cpus_sample *before, bool colour)
{
	struct libscols_table *table = table_new(true, colour);
	uint64_t all[VPMC_MAX_COUNTERS] = {}, sum[VPMC_MAX_COUNTERS];
	char name[16], label[VPMC_NAME_SIZE];
	unsigned int i, j;

	table_column(table, "CPU", true);
	table_column(table, "", false);
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			table_column(table, event_label(&group->events[i], label), true);
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

static struct json_object *events_array(const struct cpus_result *result)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < result->group->nr; i++) {
		const struct vpmc_event *event = &result->group->events[i];
		struct json_object *object = json_object_new_object();
		char counter[16];

		member_text(object, "event", event->name);
		member_number(object, "select", event->select);
		if (left_out(event)) {
			member_text(object, "left_out",
				    vpmc_reason_name(event->reason));
		} else {
			if (*counter_name(event->counter, counter))
				member_text(object, "counter", counter);
			member_number(object, "value",
				      sum_of_all(result->sample, event->element));
		}
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *cpus_array(const struct cpus_result *result)
{
	const struct group *group = result->group;
	struct json_object *array = json_object_new_array();
	unsigned int i, k;

	for (i = 0; i < result->sample->nr; i++) {
		const struct vpmc_global_cpu *cpu = &result->sample->cpu[i];
		struct json_object *object, *values;

		if (cpu->state == VPMC_CPU_ABSENT)
			continue;
		object = json_object_new_object();
		values = json_object_new_array();
		member_number(object, "cpu", cpu->cpu);
		member_text(object, "state", state_name(cpu));
		for (k = 0; k < group->nr; k++)
			if (!left_out(&group->events[k]))
				json_object_array_add(values,
					json_object_new_uint64(cpu->sum[group->events[k].element]));
		member(object, "values", values);
		json_object_array_add(array, object);
	}
	return array;
}

static void print_cpus_json(FILE *file, const struct cpus_result *result)
{
	struct json_object *object = json_object_new_object();
	struct remarks remarks = {
		.has_status = result->options->command,
		.status = result->status,
	};

	member_number(object, "version", FORMAT_VERSION);
	member_text(object, "kind", "cpus");
	json_subject(object, result->options, &remarks);
	if (result->options->cpus)
		member_text(object, "asked", result->options->cpus);
	member(object, "events", events_array(result));
	member(object, "cpus", cpus_array(result));
	member_number(object, "elapsed_ns", result->elapsed);
	if (result->options->delay_ms)
		member_number(object, "delay_ms", result->options->delay_ms);
	if (result->options->timeout_ms) {
		member_number(object, "timeout_ms", result->options->timeout_ms);
		member_number(object, "timed_out", result->timed_out);
	}
	if (result->early)
		member(object, "early", json_object_new_boolean(true));
	member(object, "revoked", json_object_new_boolean(result->revoked));
	print_json_object(file, object, result->options);
}

static const char *mark_of(const struct cpus_result *result)
{
	return result->revoked ? "revoked" : result->early ? "early" : "";
}

/* @cpu: NULL is all of them */
static void print_csv_line(FILE *file, const struct cpus_result *result,
			   const struct vpmc_event *event,
			   const struct vpmc_global_cpu *cpu)
{
	char number[16] = "", value[32] = "", select[32], counter[16];
	const char *mark = mark_of(result);
	const char *fields[] = {
		number, cpu ? state_name(cpu) : "", event->name, value, "events",
		select, "", mark,
	};

	if (cpu)
		snprintf(number, sizeof(number), "%u", cpu->cpu);
	snprintf(select, sizeof(select), "0x%" PRIx64, event->select);
	if (left_out(event)) {
		fields[7] = vpmc_reason_name(event->reason);
	} else {
		fields[6] = counter_name(event->counter, counter);
		snprintf(value, sizeof(value), "%" PRIu64, cpu ?
			 (uint64_t)cpu->sum[event->element] :
			 sum_of_all(result->sample, event->element));
	}
	csv_line(file, fields, 8, result->options->separator);
}

static void print_cpus_csv(FILE *file, const struct cpus_result *result)
{
	static const char *const head[] = {
		"cpu", "state", "event", "value", "unit", "select", "counter",
		"mark",
	};
	const struct group *group = result->group;
	char elapsed[32];
	const char *const time[] = {
		"", "", fact_name[FACT_ELAPSED], elapsed, "ns", "", "",
		mark_of(result),
	};
	const char *const timeout[] = {
		"", "", "timed-out", result->timed_out ? "1" : "0", "runs", "", "", mark_of(result),
	};
	unsigned int i, k;

	csv_line(file, head, 8, result->options->separator);
	for (k = 0; k < group->nr; k++)
		print_csv_line(file, result, &group->events[k], NULL);
	snprintf(elapsed, sizeof(elapsed), "%" PRIu64, result->elapsed);
	csv_line(file, time, 8, result->options->separator);
	if (result->options->timeout_ms)
		csv_line(file, timeout, 8, result->options->separator);
	for (i = 0; i < result->sample->nr; i++) {
		const struct vpmc_global_cpu *cpu = &result->sample->cpu[i];

		for (k = 0; k < group->nr; k++)
			if (cpu->state != VPMC_CPU_ABSENT &&
			    !left_out(&group->events[k]))
				print_csv_line(file, result, &group->events[k],
					       cpu);
	}
}

static void print_cpus_text(FILE *file, const struct cpus_result *result)
{
	/* behind the intervals */
	if (result->options->series_ms)
		putc('\n', file);
	cpus_table(file, result->group, result->sample, NULL, false);
	fprintf(file, "\n%" PRIu64 ".%09" PRIu64 " seconds elapsed\n", result->elapsed / 1000000000,
		result->elapsed % 1000000000);
	if (result->options->delay_ms)
		fprintf(file, "The first %u ms are left out.\n", result->options->delay_ms);
	if (result->timed_out)
		fprintf(file, "The time of --timeout was over%s.\n",
			result->options->command ? ", and the command got SIGTERM" : "");
	if (result->early)
		fprintf(file, "Nothing was counted: it ended before the delay of -D was over.\n");
	if (result->options->command)
		print_status(file, result->status);
	else if (interrupted())
		fprintf(file, "Signal %d (%s) has ended the measurement.\n", interrupted(),
			strsignal(interrupted()));
	if (result->revoked)
		fprintf(file, "The PMU was taken away, by the administrator or for a CPU that lacks its counters: the counts are those up to then.\n");
}

void cpus_print(FILE *file, const struct cpus_result *result)
{
	if (result->options->json)
		print_cpus_json(file, result);
	else if (!result->options->separator)
		print_cpus_text(file, result);
	else if (!result->options->series_ms)
		print_cpus_csv(file, result);
}

/* What a processor has counted since @before, in which it may be missing */
static void counted_since(const struct vpmc_global_cpu *cpu, const struct vpmc_global_cpu *before,
			  uint64_t sum[VPMC_MAX_COUNTERS])
{
	unsigned int k;

	for (k = 0; k < VPMC_MAX_COUNTERS; k++)
		sum[k] = cpu->sum[k] - (before ? before->sum[k] : 0);
}

void cpus_interval(const struct interval *interval, const struct cpus_sample *sample,
		   const struct cpus_sample *seen, bool revoked)
{
	struct series_row *row = get_memory(NULL, sample->nr + 1, sizeof(*row));
	uint64_t (*sum)[VPMC_MAX_COUNTERS] = get_memory(NULL, sample->nr + 1, sizeof(*sum));
	unsigned int i, k, n = 1;

	/* The first row is the sum. */
	memset(sum[0], 0, sizeof(sum[0]));
	row[0] = (struct series_row){ .sum = sum[0] };
	for (i = 0; i < sample->nr; i++) {
		const struct vpmc_global_cpu *cpu = &sample->cpu[i];

		if (cpu->state == VPMC_CPU_ABSENT)
			continue;
		counted_since(cpu, i < seen->nr ? &seen->cpu[i] : NULL, sum[n]);
		for (k = 0; k < VPMC_MAX_COUNTERS; k++)
			sum[0][k] += sum[n][k];
		row[n] = (struct series_row){ .cpu = cpu, .sum = sum[n] };
		n++;
	}
	series_write_cpus(interval, row, n, revoked ? "revoked" : "");
	free(row);
	free(sum);
}
