// SPDX-License-Identifier: GPL-2.0
/*
 * What vpmc ctl read prints: as text, as JSON (vpmc-ctl.schema.json).
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/departures.h"
#include "common/fail.h"
#include "common/json-write.h"
#include "common/portable.h"
#include "common/table.h"
#include "ctl/reading.h"

#define FORMAT_VERSION	1
#define MOST_TRIES	100	/* to read a set and what it counts together */
#define BESIDE_EVENTS	4	/* columns of a table: the thread, its name, state and run time */

int reading_take(const struct vpmc *v, unsigned int flags, struct reading *reading)
{
	uint64_t number;
	unsigned int tries = 0;
	int error;

	do {
		/* A program that replaces its set for ever does not keep us here. */
		if (tries++ == MOST_TRIES)
			return -EAGAIN;
		error = vpmc_read_sums(v, flags, &reading->sums);
		number = reading->sums.set_number;
		if (!error)
			error = vpmc_get_control(v, &reading->control);
		if (!error)
			error = vpmc_read_sums(v, flags, &reading->sums);
	} while (!error && (reading->sums.set_number != number ||
			    reading->sums.nr_counters != reading->control.nr_counters));
	return error;
}

const char *reading_remedy(int error)
{
	if (error == -EAGAIN)
		return "it programs its counters again and again; stop it meanwhile, by kill -STOP";
	return error == -EACCES ? "be a user who may count the kernel, because this set does" :
				  "name one that lives";
}

static const char *seconds(uint64_t ns, char text[32])
{
	snprintf(text, 32, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	return text;
}

static void print_json(struct json_object *object)
{
	printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY));
	json_object_put(object);
}

/* The members that both forms have. */
static void add_set(struct json_object *object, const struct reading *reading)
{
	struct json_object *events = json_object_new_array();
	char text[48];
	unsigned int i;

	for (i = 0; i < reading->sums.nr_counters; i++) {
		uint64_t select = reading->control.counter[i].evtsel;
		struct json_object *event = json_object_new_object();

		member_text(event, "event", select_text(select, text));
		member_number(event, "select", select);
		member_number(event, "value", reading->sums.sum[i]);
		json_object_array_add(events, event);
	}
	member_text(object, "state", vpmc_state_text(reading->sums.state));
	member(object, "events", events);
	member_number(object, "run_time_ns", reading->sums.ns);
	member_number(object, "switches", reading->sums.switches);
	member_number(object, "migrations", reading->sums.migrations);
}

void print_thread_json(const struct reading *reading)
{
	struct json_object *object = json_object_new_object();
	struct departures left = {};
	unsigned int i;

	member_number(object, "version", FORMAT_VERSION);
	add_set(object, reading);
	member_number(object, "threads", 1 + reading->sums.living + reading->sums.finished);
	departures_add(&left, &reading->sums);
	for (i = 0; i < DEPARTURES; i++)
		member_number(object, departure_member(i), left.number[i]);
	print_json(object);
}

void print_process_json(pid_t pid, const struct reading *reading, unsigned int nr)
{
	struct json_object *object = json_object_new_object();
	struct json_object *threads = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct json_object *thread = json_object_new_object();

		member_number(thread, "tid", reading[i].tid);
		member_text(thread, "name", reading[i].name);
		add_set(thread, &reading[i]);
		json_object_array_add(threads, thread);
	}
	member_number(object, "version", FORMAT_VERSION);
	member_number(object, "pid", pid);
	member(object, "threads", threads);
	print_json(object);
}

void print_thread_text(const struct reading *reading)
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
	seconds(reading->sums.ns, number);
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

/* The counters may be others: what is counted is the same. */
static bool same_events(const struct reading *a, const struct reading *b)
{
	unsigned int i;

	if (a->sums.nr_counters != b->sums.nr_counters)
		return false;
	for (i = 0; i < a->sums.nr_counters; i++)
		if (a->control.counter[i].evtsel != b->control.counter[i].evtsel)
			return false;
	return true;
}

static void print_row(struct libscols_table *table, const char *thread,
		      const char *name, const char *state,
		      const struct vpmc_read *sums)
{
	char number[VPMC_MAX_COUNTERS][32], time[32];
	const char *text[VPMC_MAX_COUNTERS + BESIDE_EVENTS] = { thread, name, state };
	unsigned int i;

	for (i = 0; i < sums->nr_counters; i++)
		text[3 + i] = with_separators(sums->sum[i], number[i]);
	text[3 + i] = seconds(sums->ns, time);
	table_line(table, text);
}

/*
 * Prints all from @reading[@first] on that count the same as that one. Sets @printed for
 * them. If there are no others, the last line is their sum.
 */
static void print_table(const struct reading *reading, unsigned int nr,
			unsigned int first, bool *printed)
{
	struct libscols_table *table = table_new(true, false);
	struct vpmc_read all = { .nr_counters = reading[first].sums.nr_counters };
	unsigned int i, k, rows = 0;
	char text[48];

	table_column(table, "THREAD", true);
	table_column(table, "NAME", false);
	table_column(table, "STATE", false);
	for (k = 0; k < all.nr_counters; k++)
		table_column(table, select_text(reading[first].control.counter[k].evtsel,
						text), true);
	table_column(table, "RUN TIME", true);
	for (i = first; i < nr; i++) {
		if (printed[i] || !same_events(&reading[first], &reading[i]))
			continue;
		printed[i] = true;
		rows++;
		snprintf(text, sizeof(text), "%d", reading[i].tid);
		print_row(table, text, reading[i].name,
			  vpmc_state_text(reading[i].sums.state), &reading[i].sums);
		for (k = 0; k < all.nr_counters; k++)
			all.sum[k] += reading[i].sums.sum[k];
		all.ns += reading[i].sums.ns;
	}
	if (rows == nr)
		print_row(table, "all", "", "", &all);
	table_print(table, stdout);
}

void print_process_text(const struct reading *reading, unsigned int nr)
{
	bool *printed = get_memory(NULL, nr, sizeof(*printed));
	unsigned int i;

	for (i = 0; i < nr; i++)
		printed[i] = false;
	for (i = 0; i < nr; i++) {
		if (printed[i])
			continue;
		if (i)
			putchar('\n');
		print_table(reading, nr, i, printed);
	}
	free(printed);
}
