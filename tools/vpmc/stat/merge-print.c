// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the results of several ranks, as a table and as JSON.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <string.h>

#include "common/json-write.h"
#include "common/printable.h"
#include "common/table.h"
#include "stat/merge.h"

#define FORMAT_VERSION	1
#define MOST_LISTED	50	/* ranks in a line, or lines of ranks */

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

enum { REMARK_RUNS, REMARK_INPUT, REMARK_TIMED_OUT, REMARK_NOT_STARTED, REMARK_EARLY_RUNS,
       REMARK_EARLY, REMARK_REVOKED, REMARK_DETACHED, REMARK_REGIONS, NR_REMARKS };

static const char *words_of_runs(const struct remarked *rank, char text[160])
{
	int n = snprintf(text, 160, "of %u runs, %u were made: ", rank->wanted,
			 rank->runs + rank->early_runs);

	if (rank->signal)
		snprintf(text + n, 160 - n, "signal %u (%s) came", rank->signal,
			 strsignal(rank->signal));
	else
		snprintf(text + n, 160 - n, "the next one could not begin");
	return text;
}

/* Returns the words of vpmc stat for a remark, in @text or not, or NULL if it is not so. */
static const char *remark_words(const struct remarked *rank, int remark, char text[160])
{
	switch (remark) {
	case REMARK_RUNS:
		return rank->wanted ? words_of_runs(rank, text) : NULL;
	case REMARK_INPUT:
		return rank->input_was_read ?
			"the first run has read standard input: the other runs had what was left of it" : NULL;
	case REMARK_TIMED_OUT:
		*text = 0;
		if (rank->runs > 1)
			snprintf(text, 160, "in %u of %u runs ", rank->timed_out, rank->runs);
		strcat(text, "the time of --timeout was over, and the command got SIGTERM");
		return rank->timed_out ? text : NULL;
	case REMARK_NOT_STARTED:
		return rank->not_started ?
			"nothing was counted: nobody has started the counters (--stopped)" : NULL;
	case REMARK_EARLY_RUNS:
		snprintf(text, 160, "%u more runs are left out: they ended before the delay of -D was over",
			 rank->early_runs);
		return rank->early_runs ? text : NULL;
	case REMARK_EARLY:
		return rank->early ?
			"nothing was counted: it ended before the delay of -D was over" : NULL;
	case REMARK_REVOKED:
		return rank->revoked ?
			"the PMU was taken away, by the administrator or for a CPU that lacks its counters: the counts are those up to then" : NULL;
	case REMARK_DETACHED:
		return rank->detached ?
			"the counters were detached, as by a program with other privileges: the counts are those up to then" : NULL;
	default:
		snprintf(text, 160, "%" PRIu64 " processes with regions ended by a signal, _exit() or execve(): their regions are missing",
			 rank->regions_lost);
		return rank->regions_lost ? text : NULL;
	}
}

/* Prints a remark. Ranks that have the same one after each other share a line. */
static void print_remark(FILE *file, const struct merge *merge, int remark)
{
	unsigned int i, next, ranks, lines = 0;
	char text[160], other[160];

	for (i = 0; i < merge->nr_remarked; i = next) {
		const char *words = remark_words(&merge->remarked[i], remark, text), *same;

		next = i + 1;
		if (!words)
			continue;
		if (lines++ == MOST_LISTED) {
			fprintf(file, "More ranks have such remarks: -j has them all.\n");
			return;
		}
		fprintf(file, "Rank %u", merge->remarked[i].rank);
		for (ranks = 1; next < merge->nr_remarked; next++) {
			same = remark_words(&merge->remarked[next], remark, other);
			if (same && strcmp(same, words))
				break;
			if (same && ranks++ < MOST_LISTED)
				fprintf(file, ", %u", merge->remarked[next].rank);
		}
		if (ranks > MOST_LISTED)
			fprintf(file, " and %u more", ranks - MOST_LISTED);
		fprintf(file, ": %s.\n", words);
	}
}

static void print_missing(FILE *file, const struct merge *merge)
{
	unsigned int i;

	if (!merge->nr_missing)
		return;
	fprintf(file, "\nThere is nothing of rank");
	for (i = 0; i < merge->nr_missing && i < MOST_LISTED; i++)
		fprintf(file, "%s %u", i ? "," : "", merge->missing[i]);
	if (i < merge->nr_missing)
		fprintf(file, " and %u more", merge->nr_missing - i);
	fprintf(file, ".\n");
}

/* Ranks that have not ended well, and threads that were not counted to the end. */
static void print_ends(FILE *file, const struct merge *merge)
{
	unsigned int i;

	if (merge->nr_ended || merge->nr_remarked)
		putc('\n', file);
	for (i = 0; i < NR_REMARKS; i++)
		print_remark(file, merge, i);
	for (i = 0; i < merge->nr_ended && i < MOST_LISTED; i++) {
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

	fprintf(file, "%u ranks of ", merge->nr_ranks);
	print_name(file, merge->command);
	fprintf(file, ":\n");
	for (i = 0; i < merge->nr; i++) {
		const struct spread *spread = &merge->spread[i];

		/* The values of one region share a table. */
		if (!i || (spread->region && (!spread[-1].region ||
					      strcmp(spread->region, spread[-1].region)))) {
			if (table)
				table_print(table, file);
			putc('\n', file);
			if (spread->region) {
				fprintf(file, "Region ");
				print_name(file, spread->region);
				fprintf(file, ":\n");
			}
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

static void member_true(struct json_object *object, const char *key, bool is_true)
{
	if (is_true)
		member(object, key, json_object_new_boolean(true));
}

/* The members are those of the ranks' files. */
static struct json_object *remarks_array(const struct merge *merge)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < merge->nr_remarked; i++) {
		const struct remarked *rank = &merge->remarked[i];
		struct json_object *object = json_object_new_object();

		member_number(object, "rank", rank->rank);
		member_number(object, "runs", rank->runs);
		if (rank->early_runs)
			member_number(object, "early_runs", rank->early_runs);
		if (rank->wanted)
			member_number(object, "runs_wanted", rank->wanted);
		if (rank->signal)
			member_number(object, "interrupted_by", rank->signal);
		if (rank->timed_out)
			member_number(object, "timed_out", rank->timed_out);
		if (rank->regions_lost)
			member_number(object, "region_processes_lost", rank->regions_lost);
		member_true(object, "early", rank->early);
		member_true(object, "not_started", rank->not_started);
		member_true(object, "revoked", rank->revoked);
		member_true(object, "detached", rank->detached);
		member_true(object, "input_was_read", rank->input_was_read);
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
	member(object, "remarks", remarks_array(merge));
	member_number(object, "living", merge->living);
	for (i = 0; i < DEPARTURES; i++)
		member_number(object, departure_member(i), merge->left.number[i]);
	member_number(object, "replaced", merge->replaced);
	member(object, "values", values);
	fprintf(file, "%s\n", json_object_to_json_string_ext(object,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
