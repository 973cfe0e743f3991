// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the results of several ranks, as a table and as JSON.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <string.h>

#include "common/json-write.h"
#include "common/table.h"
#include "stat/merge.h"

#define FORMAT_VERSION	1

enum { COLUMN_NAME, COLUMN_RANKS, COLUMN_SUM, COLUMN_MIN, COLUMN_MIN_RANK, COLUMN_MEAN,
       COLUMN_MAX, COLUMN_MAX_RANK, COLUMN_IMBALANCE, NR_COLUMNS };

/* Formats a count, or a time in seconds. */
static const char *number(const struct spread *spread, uint64_t value, char text[32])
{
	if (spread->unit != UNIT_NS)
		return with_separators(value, text);
	snprintf(text, 32, "%" PRIu64 ".%09" PRIu64, value / 1000000000,
		 value % 1000000000);
	return text;
}

static void print_spread(struct libscols_table *table, const struct spread *spread)
{
	char cell[NR_COLUMNS][64];
	const char *text[NR_COLUMNS];
	double mean = spread_mean(spread);
	int column;

	for (column = 0; column < NR_COLUMNS; column++)
		text[column] = cell[column];
	snprintf(cell[COLUMN_NAME], 64, "%s%s", spread->name,
		 spread->unit == UNIT_NS ? " (s)" : spread->unit == UNIT_BYTES ? " (bytes)" : "");
	snprintf(cell[COLUMN_RANKS], 64, "%u", spread->ranks);
	number(spread, spread->sum, cell[COLUMN_SUM]);
	number(spread, spread->min, cell[COLUMN_MIN]);
	snprintf(cell[COLUMN_MIN_RANK], 64, "%u", spread->min_rank);
	if (spread->unit == UNIT_NS)
		snprintf(cell[COLUMN_MEAN], 64, "%.9f", mean / 1e9);
	else
		snprintf(cell[COLUMN_MEAN], 64, "%.3f", mean);
	number(spread, spread->max, cell[COLUMN_MAX]);
	snprintf(cell[COLUMN_MAX_RANK], 64, "%u", spread->max_rank);
	snprintf(cell[COLUMN_IMBALANCE], 64, "%.3f", spread_imbalance(spread));
	table_line(table, text);
}

static void print_missing(FILE *file, const struct merge *merge)
{
	unsigned int i;

	if (!merge->nr_missing)
		return;
	fprintf(file, "\nThere is nothing of rank");
	for (i = 0; i < merge->nr_missing && i < 50; i++)
		fprintf(file, "%s %u", i ? "," : "", merge->missing[i]);
	if (i < merge->nr_missing)
		fprintf(file, " and %u more", merge->nr_missing - i);
	fprintf(file, ".\n");
}

/* Ranks that have not ended well, and threads that were not counted to the end. */
static void print_ends(FILE *file, const struct merge *merge)
{
	unsigned int i;

	if (merge->nr_ended)
		putc('\n', file);
	for (i = 0; i < merge->nr_ended && i < 50; i++) {
		const struct ended *ended = &merge->ended[i];

		if (ended->signal)
			fprintf(file, "Rank %u was ended by signal %u (%s).\n",
				ended->rank, ended->signal, strsignal(ended->signal));
		else
			fprintf(file, "Rank %u ended with status %u.\n",
				ended->rank, ended->status);
	}
	if (i < merge->nr_ended)
		fprintf(file, "%u more ranks have not ended with status 0.\n",
			merge->nr_ended - i);
	if (merge->living)
		fprintf(file, "%" PRIu64 " threads lived on: what they did later is missing.\n",
			merge->living);
	for (i = 0; i < DEPARTURES; i++)
		if (merge->left.number[i])
			fprintf(file, "%" PRIu64 " threads %s: what they did later is missing.\n",
				merge->left.number[i], departure_text(i));
	if (merge->replaced)
		fprintf(file, "%" PRIu64 " threads programmed other counters in place of these: all their counts are missing.\n",
			merge->replaced);
}

void merge_print_text(FILE *file, const struct merge *merge)
{
	static const char *const head[NR_COLUMNS] = {
		"", "RANKS", "SUM", "MIN", "RANK", "MEAN", "MAX", "RANK", "IMBALANCE" };
	struct libscols_table *table = NULL;
	unsigned int i;
	int column;

	fprintf(file, "%u ranks of %s:\n", merge->nr_ranks, merge->command);
	for (i = 0; i < merge->nr; i++) {
		const struct spread *spread = &merge->spread[i];

		/* The values of one region share a table. */
		if (!i || (spread->region && (!spread[-1].region ||
					      strcmp(spread->region, spread[-1].region)))) {
			if (table)
				table_print(table, file);
			putc('\n', file);
			if (spread->region)
				fprintf(file, "Region %s:\n", spread->region);
			table = table_new(true, false);
			for (column = 0; column < NR_COLUMNS; column++)
				table_column(table, head[column], column);
		}
		print_spread(table, spread);
	}
	if (table)
		table_print(table, file);
	print_missing(file, merge);
	print_ends(file, merge);
}

static struct json_object *real(double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6f", value);
	return json_object_new_double_s(value, text);
}

static struct json_object *ranks_array(const uint32_t *rank, unsigned int nr)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_object_new_uint64(rank[i]));
	return array;
}

static struct json_object *spread_object(const struct spread *spread)
{
	static const char *const units[] = {
		[UNIT_EVENTS] = "events", [UNIT_NS] = "ns", [UNIT_BYTES] = "bytes" };
	struct json_object *object = json_object_new_object();

	if (spread->region)
		member_text(object, "region", spread->region);
	member_text(object, "name", spread->name);
	member_text(object, "unit", units[spread->unit]);
	member_number(object, "ranks", spread->ranks);
	member_number(object, "sum", spread->sum);
	member_number(object, "min", spread->min);
	member_number(object, "min_rank", spread->min_rank);
	member(object, "mean", real(spread_mean(spread)));
	member_number(object, "max", spread->max);
	member_number(object, "max_rank", spread->max_rank);
	member(object, "imbalance", real(spread_imbalance(spread)));
	return object;
}

static struct json_object *ended_array(const struct merge *merge)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < merge->nr_ended; i++) {
		struct json_object *object = json_object_new_object();

		member_number(object, "rank", merge->ended[i].rank);
		if (merge->ended[i].signal)
			member_number(object, "signal", merge->ended[i].signal);
		else
			member_number(object, "exit_status", merge->ended[i].status);
		json_object_array_add(array, object);
	}
	return array;
}

void merge_print_json(FILE *file, const struct merge *merge)
{
	struct json_object *object = json_object_new_object();
	struct json_object *values = json_object_new_array();
	unsigned int i;

	for (i = 0; i < merge->nr; i++)
		json_object_array_add(values, spread_object(&merge->spread[i]));
	member_number(object, "version", FORMAT_VERSION);
	member_text(object, "kind", "ranks");
	member(object, "ranks", ranks_array(merge->rank, merge->nr_ranks));
	member(object, "missing", ranks_array(merge->missing, merge->nr_missing));
	member(object, "ended", ended_array(merge));
	member_number(object, "living", merge->living);
	for (i = 0; i < DEPARTURES; i++)
		member_number(object, departure_member(i), merge->left.number[i]);
	member_number(object, "replaced", merge->replaced);
	member(object, "values", values);
	fprintf(file, "%s\n", json_object_to_json_string_ext(object,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
