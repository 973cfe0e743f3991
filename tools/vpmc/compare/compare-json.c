// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a comparison as one JSON object, as vpmc-compare.schema.json describes it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdio.h>

#include "common/json-write.h"
#include "compare/comparison.h"

#define FORMAT_VERSION	1

/* Prints six digits behind the point. */
static struct json_object *real(double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6f", value);
	return json_object_new_double_s(value, text);
}

/* Half of a number that may be below 0. */
static struct json_object *half(__int128 twice)
{
	char text[48] = "-";

	if (twice >= 0)
		return half_number(twice);
	half_text(-twice, false, text + 1);
	/* Numbers of 64 bits do not fit into an integer of json-c with a sign. */
	return json_object_new_double_s((double)twice / 2, text);
}

static struct json_object *series_object(const struct series *series)
{
	struct json_object *object = json_object_new_object();

	quantiles_members(object, &series->order);
	member(object, "values", number_array(series->value, series->nr));
	return object;
}

static struct json_object *limit_object(const struct limit *limit)
{
	struct json_object *object = json_object_new_object();

	if (limit->is_percent)
		member(object, "percent", real(limit->number / 1e6));
	else
		member_number(object, "number", limit->number);
	return object;
}

static struct json_object *row_object(const struct row *row)
{
	struct json_object *object = json_object_new_object();

	member_text(object, "name", row->now->name);
	member_text(object, "unit", row->now->is_time ? "ns" : "events");
	member_text(object, "test", test_word(row->test));
	member_text(object, "verdict", verdict_word(row->verdict));
	if (row->test == TEST_NONE)
		return object;
	member(object, "base", series_object(row->base));
	member(object, "new", series_object(row->now));
	member(object, "difference", half(row->twice_difference));
	member(object, "percent", row->has_percent ? real(row->percent) : NULL);
	if (row->test == TEST_RANK && row->verdict != VERDICT_SAME) {
		member(object, "u", real(row->rank.u));
		member(object, "p", real(row->rank.p));
		member_text(object, "distribution", row->rank.exact ? "exact" : "normal");
	}
	if (row->limit) {
		member(object, "limit", limit_object(row->limit));
		member(object, "beyond", json_object_new_boolean(row->beyond));
	}
	return object;
}

static struct json_object *side_object(const struct side *side)
{
	struct json_object *object = json_object_new_object();

	member_text(object, "name", side->name);
	member_text(object, "subject", side->subject);
	member_number(object, "runs", side->runs);
	member_number(object, "warmup", side->warmup);
	member_text(object, "cpu", side->cpu);
	member_text(object, "cpu_id", side->cpu_id);
	if (side->kernel)
		member_text(object, "kernel", side->kernel);
	if (side->vpmc)
		member_text(object, "vpmc", side->vpmc);
	return object;
}

void comparison_print_json(FILE *file, const struct comparison *comparison)
{
	struct json_object *object = json_object_new_object();
	struct json_object *rows = json_object_new_array();
	struct json_object *notes = json_object_new_array();
	unsigned int i;

	for (i = 0; i < comparison->nr; i++)
		json_object_array_add(rows, row_object(&comparison->row[i]));
	for (i = 0; i < comparison->nr_notes; i++)
		json_object_array_add(notes, json_text(comparison->note[i]));
	member_number(object, "version", FORMAT_VERSION);
	member_text(object, "kind", "comparison");
	member(object, "base", side_object(&comparison->base));
	member(object, "new", side_object(&comparison->now));
	member(object, "significance", real(SIGNIFICANCE));
	member(object, "values", rows);
	member(object, "notes", notes);
	if (comparison->limits.nr)
		member(object, "beyond", json_object_new_boolean(comparison_beyond(comparison)));
	fprintf(file, "%s\n", json_object_to_json_string_ext(object,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
