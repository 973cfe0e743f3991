// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a result as one JSON object, as vpmc-stat.schema.json describes it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/json-write.h"
#include "stat/group-values.h"
#include "stat/machine.h"
#include "stat/result.h"

#define FORMAT_VERSION	1

static void add(struct json_object *object, const char *key,
		struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static struct json_object *number(uint64_t value)
{
	return json_object_new_uint64(value);
}

/* Prints six digits behind the point, as in CSV. */
static struct json_object *real(double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6f", value);
	return json_object_new_double_s(value, text);
}

static struct json_object *string(const char *text)
{
	return json_text(text);
}

static struct json_object *values_of(const struct result *result,
				     unsigned int group,
				     const struct vpmc_event *event)
{
	struct json_object *values = json_object_new_array();
	unsigned int i;

	for (i = 0; i < result->nr; i++)
		if (result->run[i].group == group)
			json_object_array_add(values,
				number(result->run[i].counts.sum[event->element]));
	return values;
}

static struct json_object *event_object(const struct result *result,
					unsigned int group,
					const struct vpmc_event *event)
{
	struct json_object *object = json_object_new_object();
	struct value value = result_event(result, group, event);
	struct metric metric;
	char counter[16];

	add(object, "event", string(event->name));
	add(object, "select", number(event->select));
	add(object, "group", number(group));
	if (left_out(event)) {
		add(object, "left_out", string(vpmc_reason_name(event->reason)));
		return object;
	}
	if (*counter_name(event->counter, counter))
		add(object, "counter", string(counter));
	if (value.runs) {
		add(object, "value", number(value.mean));
		add(object, "deviation", real(value.deviation));
		quantiles_members(object, &value.order);
	}
	add(object, "values", values_of(result, group, event));
	if (result_metric(result, group, event, &metric)) {
		struct json_object *ratio = json_object_new_object();

		add(ratio, "value", real(metric.value));
		add(ratio, "per", string(metric.per));
		add(object, "metric", ratio);
	}
	return object;
}

static struct json_object *events_array(const struct result *result)
{
	struct json_object *events = json_object_new_array();
	unsigned int g, i;

	for (g = 0; g < result->plan->nr; g++)
		for (i = 0; i < result->plan->groups[g].nr; i++)
			json_object_array_add(events,
				event_object(result, g,
					     &result->plan->groups[g].events[i]));
	return events;
}

/* Adds how a fact varies, and its value in each run that knows it. */
static void add_spread(struct json_object *object, const struct result *result,
		       enum fact fact, const struct value *value)
{
	struct json_object *values = json_object_new_array();
	unsigned int i;

	if (value->runs)
		quantiles_members(object, &value->order);
	for (i = 0; i < result->nr; i++)
		if (run_has_fact(&result->run[i], fact))
			json_object_array_add(values, number(run_fact(&result->run[i], fact)));
	add(object, "values", values);
}

static struct json_object *software_array(const struct result *result)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < result->plan->nr_software; i++) {
		const struct software *row = &result->plan->software[i];
		struct json_object *object = json_object_new_object();
		struct value value = result_fact(result, row->fact);
		const char *unit = fact_unit(row->fact);

		add(object, "name", string(row->name));
		add(object, "unit", string(*unit ? unit : "events"));
		if (value.runs) {
			add(object, "value", number(value.mean));
			add(object, "deviation", real(value.deviation));
		}
		add_spread(object, result, row->fact, &value);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *threads_array(const struct result *result)
{
	struct json_object *threads = json_object_new_array();
	const struct group *group = &result->plan->groups[0];
	unsigned int t, i;

	for (t = 0; result->nr && t < result->run[0].nr_threads; t++) {
		const struct thread *thread = &result->run[0].thread[t];
		struct json_object *object = json_object_new_object();
		struct json_object *values = json_object_new_array();

		add(object, "tid", number(thread->tid));
		add(object, "name", string(thread->name));
		if (thread->left != THREAD_STAYED)
			add(object, "left", string(departure_word(thread->left)));
		for (i = 0; i < group->nr; i++)
			if (!left_out(&group->events[i]))
				json_object_array_add(values,
					number(thread->counts.sum[group->events[i].element]));
		add(object, "values", values);
		add(object, "run_time_ns", number(thread->counts.ns));
		add(object, "switches", number(thread->counts.switches));
		add(object, "migrations", number(thread->counts.migrations));
		json_object_array_add(threads, object);
	}
	return threads;
}

static struct json_object *metrics_array(const struct result *result)
{
	struct json_object *array = json_object_new_array();
	struct metric *metrics = NULL;
	unsigned int nr = 0, i;

	if (result->options->metrics)
		metrics = result_metrics(result, &nr);
	for (i = 0; i < nr; i++) {
		struct json_object *object = json_object_new_object();

		add(object, "name", string(metrics[i].name));
		add(object, "value", real(metrics[i].value));
		json_object_array_add(array, object);
	}
	groups_json(array, result, NULL);
	return array;
}

static struct json_object *command_array(char **command)
{
	struct json_object *array = json_object_new_array();

	for (; *command; command++)
		json_object_array_add(array, string(*command));
	return array;
}

static struct json_object *targets_array(const struct stat_options *options)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < options->nr_targets; i++)
		json_object_array_add(array, number(options->target[i]));
	return array;
}

void json_subject(struct json_object *object,
		  const struct stat_options *options,
		  const struct remarks *remarks)
{
	if (options->nr_targets == 1)
		add(object, options->threads ? "tid" : "pid", number(options->target[0]));
	else if (options->nr_targets)
		add(object, options->threads ? "tids" : "pids", targets_array(options));
	if (options->command)
		add(object, "command", command_array(options->command));
	if (!remarks->has_status)
		return;
	if (WIFSIGNALED(remarks->status))
		add(object, "signal", number(WTERMSIG(remarks->status)));
	else
		add(object, "exit_status", number(WEXITSTATUS(remarks->status)));
}

static void add_rank(struct json_object *object, const struct rank *rank)
{
	if (!rank->is_set)
		return;
	add(object, "rank", number(rank->number));
	if (rank->ranks)
		add(object, "ranks", number(rank->ranks));
	if (rank->job)
		add(object, "job", string(rank->job));
}

void print_json_object(FILE *file, struct json_object *object,
		       const struct stat_options *options)
{
	int pretty = options->series_ms ? 0 : JSON_C_TO_STRING_PRETTY;

	fprintf(file, "%s\n", json_object_to_json_string_ext(object,
			pretty | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static void add_number(void *object, const char *name, uint64_t value)
{
	add(object, name, number(value));
}

/* Adds the mean of each fact, and the values of all runs. */
static void add_facts(struct json_object *object, const struct result *result)
{
	struct json_object *spreads = json_object_new_object();
	int fact;

	for (fact = 0; fact < NR_FACTS; fact++) {
		struct value value = result_fact(result, fact);
		struct json_object *spread;
		const char *unit = fact_unit(fact);
		char key[32], *dash;

		if (!fact_is_known(fact, &value))
			continue;
		snprintf(key, sizeof(key), "%s%s%s", fact_name[fact], *unit ? "_" : "", unit);
		dash = strchr(key, '-');
		if (dash)
			*dash = '_';
		add(object, key, number(value.mean));
		spread = json_object_new_object();
		add_spread(spread, result, fact, &value);
		add(spreads, key, spread);
	}
	add(object, "spread", spreads);
}

/* Adds the options that change what is counted. */
static void add_options(struct json_object *object, const struct stat_options *options)
{
	if (options->warmup)
		add(object, "warmup", number(options->warmup));
	if (!options->inherit)
		add(object, "no_inherit", json_object_new_boolean(true));
	if (options->stopped)
		add(object, "stopped", json_object_new_boolean(true));
	if (options->delay_ms)
		add(object, "delay_ms", number(options->delay_ms));
	if (options->timeout_ms)
		add(object, "timeout_ms", number(options->timeout_ms));
}

struct json_object *result_object(const struct result *result)
{
	struct json_object *object = json_object_new_object();
	struct remarks remarks = result_remarks(result);

	add(object, "version", number(FORMAT_VERSION));
	add_rank(object, &result->options->rank);
	json_subject(object, result->options, &remarks);
	add(object, "machine", machine_object());
	add_options(object, result->options);
	add(object, "runs", number(result->nr));
	add(object, "groups", number(result->plan->nr));
	add(object, "events", events_array(result));
	if (result->plan->nr_software)
		add(object, "software", software_array(result));
	add_facts(object, result);
	remarks_numbers(&remarks, add_number, object);
	if (remarks.made < remarks.wanted)
		add(object, "runs_wanted", number(remarks.wanted));
	if (remarks.signal)
		add(object, "interrupted_by", number(remarks.signal));
	if (result->options->timeout_ms)
		add(object, "timed_out", number(remarks.timed_out));
	if (result->early)
		add(object, "early_runs", number(result->early));
	if (remarks.early)
		add(object, "early", json_object_new_boolean(true));
	if (remarks.not_started)
		add(object, "not_started", json_object_new_boolean(true));
	add(object, "revoked", json_object_new_boolean(remarks.revoked));
	add(object, "detached", json_object_new_boolean(remarks.detached));
	if (remarks.input_was_read)
		add(object, "input_was_read", json_object_new_boolean(true));
	if (result->plan->note)
		add(object, "note", string(result->plan->note));
	if (result->options->metrics || result->plan->nr_metric_groups)
		add(object, "metrics", metrics_array(result));
	if (result->options->marked)
		regions_json(object, result, &result->regions);
	if (result->options->marked || result->options->rank.is_set)
		regions_processes(object, &result->regions);
	if (result->options->per_thread) {
		add(object, "per_thread", threads_array(result));
		add(object, "unlisted", number(result->nr ? result->run[0].unlisted : 0));
	}
	return object;
}

void print_json(FILE *file, const struct result *result)
{
	print_json_object(file, result_object(result), result->options);
}
