// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the metrics of groups in the three formats.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "common/json-write.h"
#include "common/printable.h"
#include "common/table.h"
#include "stat/group-values.h"

/* The metrics of a group, one after the other */
struct metrics {
	struct group_source source;
	const struct metric_group *group;
	unsigned int next;
	const struct group_metric *metric;
	struct worth worth;
	char room[GROUP_NUMBER];
	const char *number;	/* NULL if there is no value */
};

static struct metrics metrics_begin(const struct result *result, const struct stat_region *region,
				    unsigned int group)
{
	const struct metric_group *of = result->plan->metric_groups[group];

	return (struct metrics){
		.source = { .result = result, .region = region, .alternative = of->here },
		.group = of,
	};
}

/* Sets the members for the next metric. Returns false behind the last one. */
static bool metrics_next(struct metrics *metrics)
{
	free(metrics->worth.why);
	metrics->worth.why = NULL;
	if (metrics->next == metrics->group->here->nr_metrics)
		return false;
	metrics->metric = &metrics->group->here->metric[metrics->next++];
	metrics->worth = group_metric_worth(&metrics->source, metrics->metric);
	metrics->number = metrics->worth.mark ? NULL :
			  group_number(metrics->worth.value, metrics->room);
	return true;
}

static void print_group(FILE *file, struct metrics *metrics, bool colour)
{
	struct libscols_table *table = table_new(false, colour);

	fprintf(file, "\nMetrics of %s", metrics->group->name);
	if (metrics->source.region) {
		fprintf(file, " in region ");
		print_name(file, metrics->source.region->name);
	}
	fprintf(file, ":\n\n");
	table_column(table, "", true);
	table_column(table, "", false);
	table_column(table, "", false);
	table_column(table, "", false);
	while (metrics_next(metrics)) {
		const char *text[] = { metrics->number ?: "-", metrics->metric->unit,
				       metrics->metric->name, metrics->worth.why };

		table_line(table, text);
	}
	table_print(table, file);
}

void groups_text(FILE *file, const struct result *result, const struct stat_region *region,
		 bool colour)
{
	unsigned int g;

	for (g = 0; g < result->plan->nr_metric_groups; g++) {
		struct metrics metrics = metrics_begin(result, region, g);

		print_group(file, &metrics, colour);
	}
}

static struct json_object *number_object(double value)
{
	char text[GROUP_NUMBER];

	return json_object_new_double_s(value, group_number(value, text));
}

/* Returns the value in each run, or NULL if one of them has none. */
static struct json_object *values_array(const struct metrics *metrics)
{
	const struct result *result = metrics->source.result;
	struct json_object *array = json_object_new_array();
	struct group_source source = metrics->source;
	unsigned int i;

	for (i = 0; i < result->nr; i++) {
		struct worth worth;

		source.run = &result->run[i];
		worth = group_metric_worth(&source, metrics->metric);
		if (worth.mark) {
			free(worth.why);
			json_object_put(array);
			return NULL;
		}
		json_object_array_add(array, number_object(worth.value));
	}
	return array;
}

static struct json_object *metric_object(const struct metrics *metrics)
{
	const struct result *result = metrics->source.result;
	struct json_object *object = json_object_new_object(), *values;

	member_text(object, "name", metrics->metric->name);
	member_text(object, "unit", metrics->metric->unit);
	member_text(object, "group", metrics->group->name);
	if (metrics->number)
		member(object, "value", number_object(metrics->worth.value));
	else
		member_text(object, "why", metrics->worth.why);
	/* With --split, no run has counted all events. */
	if (result->nr < 2 || result->plan->nr > 1 || metrics->source.region)
		return object;
	values = values_array(metrics);
	if (values)
		member(object, "values", values);
	return object;
}

void groups_json(struct json_object *array, const struct result *result,
		 const struct stat_region *region)
{
	unsigned int g;

	for (g = 0; g < result->plan->nr_metric_groups; g++) {
		struct metrics metrics = metrics_begin(result, region, g);

		while (metrics_next(&metrics))
			json_object_array_add(array, metric_object(&metrics));
	}
}

void groups_csv(FILE *file, const struct result *result, const struct stat_region *region,
		const char *mark, char separator)
{
	unsigned int g;

	for (g = 0; g < result->plan->nr_metric_groups; g++) {
		struct metrics metrics = metrics_begin(result, region, g);

		while (metrics_next(&metrics)) {
			char *name = get_text("%s: %s", metrics.group->name, metrics.metric->name);
			const char *fields[STAT_COLUMNS] = {
				[0] = region ? "region" : NULL, [1] = region ? region->name : NULL,
				[2] = name, [3] = metrics.number, [4] = metrics.metric->unit,
				[12] = metrics.number ? mark : metrics.worth.mark,
			};

			csv_line(file, fields, STAT_COLUMNS, separator);
			free(name);
		}
	}
}
