// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc ctl: starts, stops, clears or reads the counters of a thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <vpmc.h>

#include "commands.h"
#include "common/departures.h"
#include "common/fail.h"
#include "common/json-write.h"
#include "common/options.h"
#include "common/output.h"
#include "common/portable.h"
#include "common/table.h"

struct ctl_options {
	const char *action;
	pid_t tid;
	bool json;
};

/* everything that vpmc ctl read prints */
struct reading {
	struct vpmc_control control;
	struct vpmc_read sums;
};

static void print_json(const struct reading *reading)
{
	struct json_object *object = json_object_new_object();
	struct json_object *events = json_object_new_array();
	struct departures left = {};
	char text[48];
	unsigned int i;

	for (i = 0; i < reading->sums.nr_counters; i++) {
		uint64_t select = reading->control.counter[i].evtsel;
		struct json_object *event = json_object_new_object();

		json_object_object_add(event, "event",
			json_text(select_text(select, text)));
		json_object_object_add(event, "select",
				       json_object_new_uint64(select));
		json_object_object_add(event, "value",
			json_object_new_uint64(reading->sums.sum[i]));
		json_object_array_add(events, event);
	}
	json_object_object_add(object, "version", json_object_new_uint64(1));
	json_object_object_add(object, "state",
		json_text(vpmc_state_text(reading->sums.state)));
	json_object_object_add(object, "events", events);
	json_object_object_add(object, "run_time_ns",
			       json_object_new_uint64(reading->sums.ns));
	json_object_object_add(object, "switches",
			       json_object_new_uint64(reading->sums.switches));
	json_object_object_add(object, "migrations",
			       json_object_new_uint64(reading->sums.migrations));
	json_object_object_add(object, "threads",
		json_object_new_uint64(1 + reading->sums.living +
				       reading->sums.finished));
	departures_add(&left, &reading->sums);
	for (i = 0; i < DEPARTURES; i++)
		json_object_object_add(object, departure_member(i),
				       json_object_new_uint64(left.number[i]));
	printf("%s\n", json_object_to_json_string_ext(object,
						      JSON_C_TO_STRING_PRETTY));
	json_object_put(object);
}

static void print_text(const struct reading *reading)
{
	struct libscols_table *table = table_new(false, false);
	struct departures left = {};
	char number[32], name[48];
	const char *text[] = { number, name };
	unsigned int i;

	table_column(table, "", true);
	table_column(table, "", false);
	for (i = 0; i < reading->sums.nr_counters; i++) {
		with_separators(reading->sums.sum[i], number);
		select_text(reading->control.counter[i].evtsel, name);
		table_line(table, text);
	}
	snprintf(number, sizeof(number), "%" PRIu64 ".%09" PRIu64,
		 (uint64_t)reading->sums.ns / 1000000000,
		 (uint64_t)reading->sums.ns % 1000000000);
	text[1] = "seconds run time";
	table_line(table, text);
	with_separators(reading->sums.switches, number);
	text[1] = "context switches";
	table_line(table, text);
	with_separators(reading->sums.migrations, number);
	text[1] = "migrations";
	table_line(table, text);
	text[0] = vpmc_state_text(reading->sums.state);
	text[1] = "state";
	table_line(table, text);
	table_print(table, stdout);
	departures_add(&left, &reading->sums);
	for (i = 0; i < DEPARTURES; i++)
		if (left.number[i])
			printf("%" PRIu64 " threads %s: what they did later is missing.\n",
			       left.number[i], departure_text(i));
}

static int read_counters(struct vpmc *v, const struct ctl_options *options)
{
	struct reading reading;
	int error = vpmc_read_sums(v, VPMC_READ_LIVING | VPMC_READ_FINISHED,
				   &reading.sums);

	if (!error)
		error = vpmc_get_control(v, &reading.control);
	if (error)
		return error;
	if (options->json)
		print_json(&reading);
	else
		print_text(&reading);
	output_finish();
	return 0;
}

static int act(struct vpmc *v, const struct ctl_options *options)
{
	if (!strcmp(options->action, "start"))
		return vpmc_start(v);
	if (!strcmp(options->action, "stop"))
		return vpmc_stop(v);
	if (!strcmp(options->action, "clear"))
		return vpmc_clear(v, 0);
	return read_counters(v, options);
}

static void set_action(struct ctl_options *options, const char *word)
{
	if (options->action)
		fail(STATUS_OURS, "%s: vpmc ctl does one thing at a time; leave it out",
		     word);
	if (strcmp(word, "start") && strcmp(word, "stop") &&
	    strcmp(word, "clear") && strcmp(word, "read"))
		fail(STATUS_OURS, "%s: vpmc ctl cannot do that; use start, stop, clear or read",
		     word);
	options->action = word;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *options = state->input;

	switch (key) {
	case 't':
		options->tid = options_number("-t", arg, 1, INT_MAX);
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		set_action(options, arg);
		return 0;
	default:
		return options_default(key, state);
	}
}

int ctl_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "tid", 't', "TID", 0, "The thread; the number of a process is its first thread's", 0 },
		{ "json", 'j', NULL, 0, "read: one JSON object", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "start|stop|clear|read",
		.doc = "Starts, stops, clears or reads the counters that a thread has, as by vpmc stat --stopped.",
	};
	struct ctl_options options = {};
	struct vpmc_error error;
	struct vpmc *v;
	int result;

	options_parse("vpmc ctl", &argp, argc, argv, &options);
	if (!options.action)
		fail(STATUS_OURS, "ctl: nothing to do is named; use start, stop, clear or read");
	if (!options.tid)
		fail(STATUS_OURS, "-t: there is none; name the thread");
	result = vpmc_open_thread(&v, options.tid,
				  strcmp(options.action, "read") ?
				  VPMC_OPEN_EXISTING : VPMC_OPEN_READ, &error);
	if (result == -ENOENT)
		fail(STATUS_OURS, "thread %d: has no counters; program some, as by vpmc stat --stopped",
		     options.tid);
	if (result)
		fail_error(&error);
	result = act(v, &options);
	if (result == -ENODATA)
		fail(STATUS_OURS, "thread %d: has no set that counts, or has lost it to kernel.vpmc_revoke; program one, as by vpmc stat --stopped",
		     options.tid);
	if (result)
		fail(STATUS_OURS, "thread %d: cannot %s its counters: %s; name one that lives",
		     options.tid, options.action, strerror(-result));
	vpmc_close(v);
	return 0;
}
