// SPDX-License-Identifier: GPL-2.0
/*
 * Reads one side of a comparison. The file may be anything.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/json-read.h"
#include "common/options.h"
#include "compare/side.h"

#define FORMAT_VERSION	1	/* version of the files that are read */

__attribute__((__noreturn__))
static void wrong(const struct side *side, const char *key)
{
	fail(STATUS_OURS, "%s: has no \"%s\" as vpmc stat writes it; record it again, by vpmc stat -j -o %s",
	     side->name, key, side->name);
}

/* Returns a member of that type, or NULL if there is none. */
static struct json_object *find(const struct side *side, struct json_object *object,
				const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		return NULL;
	if (!json_object_is_type(value, type))
		wrong(side, key);
	return value;
}

static struct json_object *get(const struct side *side, struct json_object *object,
			       const char *key, enum json_type type)
{
	struct json_object *value = find(side, object, key, type);

	if (!value)
		wrong(side, key);
	return value;
}

static uint64_t number_of(const struct side *side, struct json_object *value,
			  const char *key)
{
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		wrong(side, key);
	return json_object_get_uint64(value);
}

/* Returns a number, or 0 if there is none. */
static uint64_t number(const struct side *side, struct json_object *object, const char *key)
{
	struct json_object *value = find(side, object, key, json_type_int);

	return value ? number_of(side, value, key) : 0;
}

static bool is_true(const struct side *side, struct json_object *object, const char *key)
{
	return json_object_get_boolean(find(side, object, key, json_type_boolean));
}

/*
 * Returns a copy in which nothing is a command for a terminal or the end of a line. A
 * file may have come from anywhere.
 */
static char *plain_text(struct json_object *value)
{
	char *text = get_text("%s", json_object_get_string(value)), *c;

	for (c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return text;
}

/* Returns a text, or NULL if there is none. */
static char *text(const struct side *side, struct json_object *object, const char *key)
{
	struct json_object *value = find(side, object, key, json_type_string);

	return value ? plain_text(value) : NULL;
}

static struct series *new_series(struct side *side)
{
	side->series = get_memory(side->series, side->nr + 1, sizeof(*side->series));
	side->series[side->nr] = (struct series){};
	return &side->series[side->nr++];
}

static void take_values(const struct side *side, struct series *series,
			struct json_object *object)
{
	struct json_object *values = get(side, object, "values", json_type_array);
	size_t i, nr = json_object_array_length(values);

	series->value = get_memory(NULL, nr, sizeof(*series->value));
	for (i = 0; i < nr; i++)
		series->value[i] = number_of(side, json_object_array_get_idx(values, i),
					     "values");
	series->nr = nr;
	if (nr)
		series->order = quantiles_of(series->value, nr);
}

static void take_events(struct side *side, struct json_object *object)
{
	struct json_object *events = get(side, object, "events", json_type_array);
	size_t i;

	for (i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		struct series *series = new_series(side);

		series->name = text(side, event, "event");
		if (!series->name)
			wrong(side, "event");
		series->select = number(side, event, "select");
		series->left_out = find(side, event, "left_out", json_type_string);
		if (!series->left_out)
			take_values(side, series, event);
	}
}

/* Run time and the time that passed. The other facts are no measure of work. */
static void take_times(struct side *side, struct json_object *object)
{
	static const char *const time[][2] = {
		{ "run_time_ns", "run-time" }, { "elapsed_ns", "elapsed" },
	};
	struct json_object *spread = get(side, object, "spread", json_type_object);
	size_t i;

	for (i = 0; i < sizeof(time) / sizeof(time[0]); i++) {
		struct series *series = new_series(side);

		series->name = get_text("%s", time[i][1]);
		series->is_time = true;
		take_values(side, series, get(side, spread, time[i][0], json_type_object));
	}
}

/* -p or -t had several numbers: @key is "pids" or "tids". */
static void take_numbers(struct side *side, struct json_object *object, const char *key,
			 const char *one, const char *several)
{
	struct json_object *array = find(side, object, key, json_type_array), *number;
	size_t i;

	for (i = 0; array && i < json_object_array_length(array); i++) {
		number = json_object_array_get_idx(array, i);
		if (!json_object_is_type(number, json_type_int))
			wrong(side, key);
		side->subject = get_text("%s%s %" PRIu64, i ? side->subject : several, i ? "," : "",
					 json_object_get_uint64(number));
		side->what = one;
	}
}

static void take_subject(struct side *side, struct json_object *object)
{
	struct json_object *command = find(side, object, "command", json_type_array);
	uint64_t pid = number(side, object, "pid"), tid = number(side, object, "tid");
	size_t i;

	side->subject = pid || tid ? get_text("%s %" PRIu64, pid ? "process" : "thread",
					      pid ? pid : tid) : NULL;
	side->what = pid ? "a process" : tid ? "a thread" : "a command";
	take_numbers(side, object, "pids", "several processes", "processes");
	take_numbers(side, object, "tids", "several threads", "threads");
	for (i = 0; !side->subject && command && i < json_object_array_length(command); i++)
		if (!json_object_is_type(json_object_array_get_idx(command, i), json_type_string))
			wrong(side, "command");
	if (side->subject)
		return;
	if (!command || !json_object_array_length(command))
		wrong(side, "command");
	side->subject = plain_text(json_object_array_get_idx(command, 0));
	for (i = 1; i < json_object_array_length(command); i++)
		side->subject = get_text("%s %s", side->subject,
					 plain_text(json_object_array_get_idx(command, i)));
}

static void take_machine(struct side *side, struct json_object *object)
{
	struct json_object *machine = find(side, object, "machine", json_type_object);

	if (!machine)
		fail(STATUS_OURS, "%s: does not tell on which processor it was counted: an earlier vpmc has written it; record it again, by vpmc stat -j -o %s",
		     side->name, side->name);
	side->cpu = text(side, machine, "cpu");
	side->cpu_id = text(side, machine, "cpu_id");
	side->kernel = text(side, machine, "kernel");
	side->vpmc = text(side, machine, "vpmc");
	if (!side->cpu || !side->cpu_id)
		wrong(side, side->cpu ? "cpu_id" : "cpu");
}

/* Takes what tells whether the counts are whole. */
static void take_ends(struct side *side, struct json_object *object)
{
	unsigned int way;

	side->exit_status = number(side, object, "exit_status");
	side->signal = number(side, object, "signal");
	side->interrupted_by = number(side, object, "interrupted_by");
	side->runs_wanted = number(side, object, "runs_wanted");
	side->input_was_read = is_true(side, object, "input_was_read");
	side->early = is_true(side, object, "early");
	side->early_runs = number(side, object, "early_runs");
	side->not_started = is_true(side, object, "not_started");
	side->timed_out = number(side, object, "timed_out");
	side->living = number(side, object, "living");
	side->replaced = number(side, object, "replaced");
	for (way = 0; way < DEPARTURES; way++)
		side->left.number[way] = number(side, object, departure_member(way));
	side->incomplete = is_true(side, object, "revoked") ||
			   is_true(side, object, "detached") || side->replaced ||
			   side->left.number[DEPARTURE_REVOCATION];
}

/* Fails if the object is another command's, or of a format that is not known. */
static void check_format(const struct side *side, struct json_object *object)
{
	struct json_object *kind = find(side, object, "kind", json_type_string);
	uint64_t version = number(side, object, "version");

	if (kind)
		fail(STATUS_OURS, "%s: is a result of the kind %s; name a file that vpmc stat -j has written, without -a",
		     side->name, plain_text(kind));
	if (version > FORMAT_VERSION)
		fail(STATUS_OURS, "%s: has format version %" PRIu64 ", and this vpmc knows up to version %u; use a vpmc that is as new as the one that wrote it",
		     side->name, version, FORMAT_VERSION);
	if (!version)
		wrong(side, "version");
}

void side_take(struct side *side, const char *name, struct json_object *object)
{
	uint64_t groups;

	*side = (struct side){ .name = name };
	if (!json_object_is_type(object, json_type_object))
		fail(STATUS_OURS, "%s: is not an object; name a file that vpmc stat -j has written",
		     name);
	check_format(side, object);
	take_subject(side, object);
	take_machine(side, object);
	groups = number(side, object, "groups");
	side->all_runs = number(side, object, "runs");
	side->runs = side->all_runs / (groups ? groups : 1);
	side->warmup = number(side, object, "warmup");
	side->no_inherit = is_true(side, object, "no_inherit");
	side->stopped = is_true(side, object, "stopped");
	side->delay_ms = number(side, object, "delay_ms");
	side->timeout_ms = number(side, object, "timeout_ms");
	take_ends(side, object);
	take_events(side, object);
	take_times(side, object);
	json_object_put(object);
}

void side_read(struct side *side, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct json_object *object;
	struct stat st;
	bool more;

	if (fd < 0)
		fail(STATUS_OURS, "%s: cannot be read: %s; name a file that vpmc stat -j has written",
		     file, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		fail(STATUS_OURS, "%s: is a directory; name a file that vpmc stat -j has written",
		     file);
	close(fd);
	object = json_read(file, &more);
	if (more)
		fail(STATUS_OURS, "%s: has more than one result, or something else behind it; give each result a file of its own, by vpmc stat -j -o FILE",
		     file);
	if (!object)
		fail(STATUS_OURS, "%s: is cut off, or not JSON; record it again, by vpmc stat -j -o %s",
		     file, file);
	side_take(side, file, object);
}

const struct series *side_find(const struct side *side, const char *name)
{
	unsigned int i;

	for (i = 0; i < side->nr; i++)
		if (!strcmp(side->series[i].name, name))
			return &side->series[i];
	return NULL;
}

char *side_events(const struct side *side)
{
	char *list = NULL;
	unsigned int i;

	for (i = 0; i < side->nr; i++)
		if (!side->series[i].is_time)
			list = options_list(list, get_text("%s%s", side->series[i].name,
							   side->series[i].left_out ? "?" : ""));
	return list ? list : get_text("none");
}

/* Fails if a run has counted nothing, or if the runs ended in different ways. */
static void check_whole(const struct side *side)
{
	const struct series *run_time = side_find(side, "run-time");

	if (side->early)
		fail(STATUS_OURS, "%s: a run ended before the delay of -D was over; count both with a shorter delay",
		     side->name);
	/* The member is there if no run was started. Of a single run, its run time tells. */
	if (side->not_started ||
	    (side->stopped && run_time && run_time->nr && !run_time->order.min))
		fail(STATUS_OURS, "%s: nobody has started the counters of a run, and --stopped counts nothing until then; let the program start them, or vpmc ctl start, or leave out --stopped",
		     side->name);
	if (side->timed_out && side->timed_out != side->all_runs)
		fail(STATUS_OURS, "%s: --timeout has ended %" PRIu64 " of %" PRIu64 " runs, and the others ended by themselves; give a longer --timeout, or one that ends all of them",
		     side->name, side->timed_out, side->all_runs);
}

void side_check(const struct side *side, bool measured)
{
	unsigned int i;

	if (side->interrupted_by)
		fail(measured ? STATUS_SIGNAL + (int)side->interrupted_by : STATUS_OURS,
		     "%s: has not all runs: signal %" PRIu64 " came; count it again",
		     side->name, side->interrupted_by);
	if (side->runs_wanted)
		fail(STATUS_OURS, "%s: has not all runs: %" PRIu64 " were to be made, and one could not begin; count it again",
		     side->name, side->runs_wanted);
	/* SIGTERM of --timeout is no failure. If some runs alone got it, they are refused below. */
	if (side->signal && !(side->timed_out && side->signal == SIGTERM))
		fail(measured ? STATUS_SIGNAL + (int)side->signal : STATUS_OURS,
		     "%s: the command was ended by signal %" PRIu64 "; compare runs that succeed",
		     side->name, side->signal);
	if (side->exit_status)
		fail(measured ? STATUS_NO_SUCCESS : STATUS_OURS,
		     "%s: the command ended with status %" PRIu64 "; compare runs that succeed",
		     side->name, side->exit_status);
	if (side->incomplete)
		fail(STATUS_OURS, "%s: has not all counts: the counters were taken away meanwhile; count it again",
		     side->name);
	check_whole(side);
	for (i = 0; i < side->nr; i++)
		if (!side->series[i].left_out && !side->series[i].nr)
			fail(STATUS_OURS, "%s: has no value of %s; count it again",
			     side->name, side->series[i].name);
}
