// SPDX-License-Identifier: GPL-2.0
/*
 * -m: prints regions beside the whole program.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "common/json-write.h"
#include "common/printable.h"
#include "common/table.h"
#include "stat/group-values.h"
#include "stat/regions.h"
#include "stat/result.h"

enum { COLUMN_INCLUSIVE, COLUMN_EXCLUSIVE, COLUMN_SHARE, COLUMN_NAME, NR_COLUMNS };

/* Returns what the whole program has counted of the event, or 0. */
static uint64_t whole_of(const struct result *result, const char *event)
{
	const struct group *group = &result->plan->groups[0];
	unsigned int i;

	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]) && !strcmp(group->events[i].name, event))
			return result_event(result, 0, &group->events[i]).mean;
	return 0;
}

/* Prints nothing if the whole is 0, or is not known. */
static const char *share_of(uint64_t part, uint64_t whole, char text[32])
{
	text[0] = '\0';
	if (whole)
		snprintf(text, 32, "%.2f%%", 100.0 * part / whole);
	return text;
}

static void value_line(struct libscols_table *table, const struct result *result,
		       const struct region_value *value)
{
	char inclusive[32], exclusive[32], share[32];
	const char *text[NR_COLUMNS] = {
		[COLUMN_INCLUSIVE] = with_separators(value->inclusive, inclusive),
		[COLUMN_EXCLUSIVE] = with_separators(value->exclusive, exclusive),
		[COLUMN_SHARE] = share_of(value->inclusive, whole_of(result, value->event), share),
		[COLUMN_NAME] = value->event,
	};

	table_line(table, text);
}

static void time_line(struct libscols_table *table, const struct result *result,
		      const struct stat_region *region)
{
	char inclusive[64], exclusive[64], share[32];
	const char *text[NR_COLUMNS] = {
		[COLUMN_INCLUSIVE] = inclusive, [COLUMN_EXCLUSIVE] = exclusive,
		[COLUMN_SHARE] = share_of(region->inclusive_ns,
					  result_fact(result, FACT_RUN_TIME).mean, share),
		[COLUMN_NAME] = "seconds run time",
	};

	snprintf(inclusive, sizeof(inclusive), "%" PRIu64 ".%09" PRIu64,
		 region->inclusive_ns / 1000000000, region->inclusive_ns % 1000000000);
	snprintf(exclusive, sizeof(exclusive), "%" PRIu64 ".%09" PRIu64,
		 region->exclusive_ns / 1000000000, region->exclusive_ns % 1000000000);
	table_line(table, text);
}

static void say(FILE *file, uint64_t number, const char *words)
{
	if (number)
		fprintf(file, ", %" PRIu64 " %s", number, words);
}

static void print_region(FILE *file, const struct result *result, const struct stat_region *region,
			 bool colour)
{
	struct libscols_table *table = table_new(true, colour);
	unsigned int i;

	table_column(table, "INCLUSIVE", true);
	table_column(table, "EXCLUSIVE", true);
	table_column(table, "OF THE WHOLE", true);
	table_column(table, "", false);
	fprintf(file, "\nRegion ");
	print_name(file, region->name);
	fprintf(file, ": %" PRIu64 " calls, %" PRIu64 " threads", region->calls, region->threads);
	say(file, region->unfinished, "unfinished");
	say(file, region->replaced, "in none of the sums, because another set was programmed");
	say(file, region->refused, "refused in signal handlers");
	fprintf(file, "\n\n");
	for (i = 0; i < region->nr_values; i++)
		value_line(table, result, &region->value[i]);
	time_line(table, result, region);
	table_print(table, file);
	groups_text(file, result, region, colour);
}

void regions_text(FILE *file, const struct result *result, const struct stat_regions *regions,
		  bool colour)
{
	unsigned int i;

	for (i = 0; i < regions->nr; i++)
		print_region(file, result, &regions->region[i], colour);
	if (regions->lost)
		fprintf(file, "\n%" PRIu64 " processes with regions ended by a signal, _exit() or execve(): their regions are missing.\n",
			regions->lost);
	if (!regions->processes && !regions->lost)
		fprintf(file, "\nNo process had regions: compile the program with -DVPMC and -lvpmc; sudo, su and env -i must be before vpmc stat, not behind it.\n");
}

static struct json_object *two(uint64_t inclusive, uint64_t exclusive)
{
	struct json_object *object = json_object_new_object();

	member_number(object, "inclusive", inclusive);
	member_number(object, "exclusive", exclusive);
	return object;
}

static struct json_object *region_object(const struct result *result,
					 const struct stat_region *region)
{
	struct json_object *object = json_object_new_object();
	struct json_object *values = json_object_new_array(), *metrics;
	unsigned int i;

	member_text(object, "name", region->name);
	member_number(object, "threads", region->threads);
	member_number(object, "calls", region->calls);
	member_number(object, "dirty", region->dirty);
	member_number(object, "unfinished", region->unfinished);
	member_number(object, "replaced", region->replaced);
	member_number(object, "refused", region->refused);
	member(object, "run_time_ns", two(region->inclusive_ns, region->exclusive_ns));
	for (i = 0; i < region->nr_values; i++) {
		struct json_object *value = two(region->value[i].inclusive,
						region->value[i].exclusive);

		member_text(value, "event", region->value[i].event);
		json_object_array_add(values, value);
	}
	member(object, "values", values);
	if (result->plan->nr_metric_groups) {
		metrics = json_object_new_array();
		groups_json(metrics, result, region);
		member(object, "metrics", metrics);
	}
	return object;
}

void regions_json(struct json_object *object, const struct result *result,
		  const struct stat_regions *regions)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < regions->nr; i++)
		json_object_array_add(array, region_object(result, &regions->region[i]));
	member(object, "regions", array);
}

void regions_processes(struct json_object *object, const struct stat_regions *regions)
{
	member_number(object, "region_processes", regions->processes);
	member_number(object, "region_processes_lost", regions->lost);
}

/* The columns thread and name say whose line it is. */
static void csv_number(FILE *file, const char *of, const char *name, const char *event,
		       uint64_t number, const char *unit, char separator)
{
	char value[32];
	const char *fields[STAT_COLUMNS] = { of, name, event, value, unit, "0.000000", "1" };

	snprintf(value, sizeof(value), "%" PRIu64, number);
	csv_line(file, fields, STAT_COLUMNS, separator);
}

static void csv_region(FILE *file, const struct stat_region *region, char separator)
{
	const struct {
		const char *name;
		uint64_t number;
	} number[] = {
		{ "threads", region->threads }, { "calls", region->calls },
		{ "dirty", region->dirty }, { "unfinished", region->unfinished },
		{ "replaced", region->replaced }, { "refused", region->refused },
	};
	unsigned int i;

	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		csv_number(file, "region", region->name, number[i].name, number[i].number,
			   i ? "calls" : "threads", separator);
	for (i = 0; i < region->nr_values; i++) {
		const struct region_value *value = &region->value[i];

		csv_number(file, "region", region->name, value->event, value->inclusive,
			   "events", separator);
		csv_number(file, "exclusive", region->name, value->event, value->exclusive,
			   "events", separator);
	}
	csv_number(file, "region", region->name, "run-time", region->inclusive_ns, "ns", separator);
	csv_number(file, "exclusive", region->name, "run-time", region->exclusive_ns, "ns",
		   separator);
}

void regions_csv(FILE *file, const struct result *result, const struct stat_regions *regions,
		 char separator)
{
	unsigned int i;

	for (i = 0; i < regions->nr; i++) {
		csv_region(file, &regions->region[i], separator);
		groups_csv(file, result, &regions->region[i], "", separator);
	}
	csv_number(file, "", "", "region-processes", regions->processes, "processes", separator);
	csv_number(file, "", "", "region-processes-lost", regions->lost, "processes", separator);
}
