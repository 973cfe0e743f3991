// SPDX-License-Identifier: GPL-2.0
/*
 * -I: prints what was counted in each interval: a line of a table, lines of CSV, or an object
 * on a line of its own, as vpmc-interval.schema.json describes it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "common/fail.h"
#include "common/json-write.h"
#include "common/output.h"
#include "common/table.h"
#include "stat/series.h"

#define FORMAT_VERSION	1
#define LEAST_WIDTH	15	/* of a column of text */
#define COLUMNS		8

/* The only series */
static FILE *out;
static const struct stat_options *options;
static const struct group *group;

static void put(void)
{
	int err = output_part(out);

	/* COMMAND is not disturbed. output_close() fails. */
	if (err)
		note("-I: %s: no more intervals are written; COMMAND is counted to its end",
		     strerror(-err));
}

static int width_of(const struct vpmc_event *event)
{
	char label[VPMC_NAME_SIZE];
	int length = strlen(event_label(event, label));

	return length > LEAST_WIDTH ? length : LEAST_WIDTH;
}

static void head_text(void)
{
	char label[VPMC_NAME_SIZE];
	unsigned int i;

	fprintf(out, "%14s", "TIME");
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			fprintf(out, "  %*s", LEAST_WIDTH, event_label(&group->events[i], label));
	if (!options->all_cpus)
		fprintf(out, "  %*s", LEAST_WIDTH, "RUN TIME");
	putc('\n', out);
}

static void head_csv(void)
{
	static const char *const head[COLUMNS] = {
		"time", "interval", "cpu", "event", "value", "unit", "select", "mark",
	};

	csv_line(out, head, COLUMNS, options->separator);
}

void series_begin(FILE *file, const struct stat_options *of, const struct group *events)
{
	out = file;
	options = of;
	group = events;
}

/* Errors that come before the first interval leave nothing in the file. */
static void head(void)
{
	static bool written;

	if (!written && options->separator)
		head_csv();
	else if (!written && !options->json)
		head_text();
	written = true;
}

void series_end(void)
{
	head();
}

static void seconds(uint64_t ns, char text[40])
{
	snprintf(text, 40, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void text_line(const struct interval *interval, const uint64_t *sum,
		       const struct run *step, const char *mark)
{
	char number[40];
	unsigned int i;

	seconds(interval->time, number);
	fprintf(out, "%14s", number);
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			fprintf(out, "  %*s", width_of(&group->events[i]),
				with_separators(sum[group->events[i].element], number));
	if (step) {
		seconds(step->counts.ns, number);
		fprintf(out, "  %*s", LEAST_WIDTH, number);
	}
	fprintf(out, "%s%s\n", *mark ? "  " : "", mark);
}

/* What all lines of an interval have in common */
struct line {
	char time[32], length[32];
	const char *mark;
};

static void csv_number(const struct line *line, const char *cpu, const char *name,
		       uint64_t number, const char *unit, const char *select)
{
	char value[32];
	const char *fields[COLUMNS] = { line->time, line->length, cpu, name, value, unit,
					select, line->mark };

	snprintf(value, sizeof(value), "%" PRIu64, number);
	csv_line(out, fields, COLUMNS, options->separator);
}

static void csv_events(const struct line *line, const struct series_row *row)
{
	char select[32], cpu[16] = "";
	unsigned int i;

	if (row->cpu)
		snprintf(cpu, sizeof(cpu), "%u", row->cpu->cpu);
	for (i = 0; i < group->nr; i++) {
		const struct vpmc_event *event = &group->events[i];

		if (left_out(event))
			continue;
		snprintf(select, sizeof(select), "0x%" PRIx64, event->select);
		csv_number(line, cpu, event->name, row->sum[event->element], "events", select);
	}
}

static void csv_rows(const struct interval *interval, const struct series_row *row,
		     unsigned int nr, const struct run *step, const char *mark)
{
	struct line line = { .mark = mark };
	unsigned int i;

	snprintf(line.time, sizeof(line.time), "%" PRIu64, interval->time);
	snprintf(line.length, sizeof(line.length), "%" PRIu64, interval->length);
	for (i = 0; i < nr; i++)
		csv_events(&line, &row[i]);
	for (i = FACT_RUN_TIME; step && i <= FACT_MIGRATIONS; i++)
		csv_number(&line, NULL, fact_name[i], run_fact(step, i), fact_unit(i), NULL);
}

static struct json_object *events_array(const struct series_row *row)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < group->nr; i++) {
		const struct vpmc_event *event = &group->events[i];
		struct json_object *object;

		if (left_out(event))
			continue;
		object = json_object_new_object();
		member_text(object, "event", event->name);
		member_number(object, "value", row->sum[event->element]);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *cpus_array(const struct series_row *row, unsigned int nr)
{
	struct json_object *array = json_object_new_array();
	unsigned int r, i;

	for (r = 0; r < nr; r++) {
		struct json_object *object = json_object_new_object();
		struct json_object *values = json_object_new_array();

		member_number(object, "cpu", row[r].cpu->cpu);
		for (i = 0; i < group->nr; i++)
			if (!left_out(&group->events[i]))
				json_object_array_add(values,
					json_object_new_uint64(row[r].sum[group->events[i].element]));
		member(object, "values", values);
		json_object_array_add(array, object);
	}
	return array;
}

static void json_line(const struct interval *interval, const struct series_row *row,
		       unsigned int nr, const struct run *step, const char *mark)
{
	struct json_object *object = json_object_new_object();

	member_number(object, "version", FORMAT_VERSION);
	member_number(object, "time_ns", interval->time);
	member_number(object, "interval_ns", interval->length);
	member(object, "events", events_array(&row[0]));
	if (step) {
		member_number(object, "run_time_ns", step->counts.ns);
		member_number(object, "switches", step->counts.switches);
		member_number(object, "migrations", step->counts.migrations);
	} else {
		member(object, "cpus", cpus_array(row + 1, nr - 1));
	}
	if (*mark)
		member_text(object, "mark", mark);
	print_object(out, object);
	putc('\n', out);
}

static void print(const struct interval *interval, const struct series_row *row,
		  unsigned int nr, const struct run *step, const char *mark)
{
	head();
	if (options->json)
		json_line(interval, row, nr, step, mark);
	else if (options->separator)
		csv_rows(interval, row, nr, step, mark);
	else
		text_line(interval, row[0].sum, step, mark);
	put();
}

void series_write(const struct interval *interval, const struct run *step)
{
	const struct remarks remarks = {
		.revoked = step->revoked, .replaced = step->replaced,
		.detached = step->detached, .left = step->left,
	};
	const struct series_row row = { .sum = step->counts.sum };

	print(interval, &row, 1, step, remarks_mark(&remarks));
}

void series_write_cpus(const struct interval *interval, const struct series_row *row,
		       unsigned int nr, const char *mark)
{
	print(interval, row, nr, NULL, mark);
}
