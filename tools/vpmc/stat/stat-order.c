// SPDX-License-Identifier: GPL-2.0
/*
 * Prints least, median and greatest value of several runs, and how many are outliers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/table.h"
#include "stat/result.h"

enum { COLUMN_MIN, COLUMN_MEDIAN, COLUMN_MAX, COLUMN_OUTLIERS, COLUMN_NAME, NR_COLUMNS };

static void seconds(uint64_t ns, char text[40])
{
	snprintf(text, 40, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void print_line(struct libscols_table *table, const struct value *value,
		       bool is_time, const char *name)
{
	const struct quantiles *order = &value->order;
	char cell[NR_COLUMNS][40];
	const char *text[NR_COLUMNS] = { cell[COLUMN_MIN], cell[COLUMN_MEDIAN],
					 cell[COLUMN_MAX], cell[COLUMN_OUTLIERS], name };

	if (!value->runs)
		return;
	if (is_time) {
		seconds(order->min, cell[COLUMN_MIN]);
		seconds(order->twice_median / 2, cell[COLUMN_MEDIAN]);
		seconds(order->max, cell[COLUMN_MAX]);
	} else {
		with_separators(order->min, cell[COLUMN_MIN]);
		half_text(order->twice_median, true, cell[COLUMN_MEDIAN]);
		with_separators(order->max, cell[COLUMN_MAX]);
	}
	snprintf(cell[COLUMN_OUTLIERS], sizeof(cell[COLUMN_OUTLIERS]), "%u", order->outliers);
	table_line(table, text);
}

void print_order(FILE *file, const struct result *result, bool colour)
{
	static const char *const head[NR_COLUMNS] = {
		"MIN", "MEDIAN", "MAX", "OUTLIERS", "" };
	struct libscols_table *table;
	unsigned int g, i;
	int column, fact;

	if (result->options->repeat == 1 || !result->nr)
		return;
	table = table_new(true, colour);
	for (column = 0; column < NR_COLUMNS; column++)
		table_column(table, head[column], column < COLUMN_NAME);
	for (g = 0; g < result->plan->nr; g++)
		for (i = 0; i < result->plan->groups[g].nr; i++) {
			const struct vpmc_event *event = &result->plan->groups[g].events[i];
			struct value value = result_event(result, g, event);

			print_line(table, &value, false, event->name);
		}
	for (i = 0; i < result->plan->nr_software; i++) {
		const struct software *row = &result->plan->software[i];
		struct value value = result_fact(result, row->fact);

		print_line(table, &value, fact_is_time(row->fact), row->name);
	}
	for (fact = 0; fact < NR_FACTS; fact++) {
		struct value value = result_fact(result, fact);

		if (fact_is_known(fact, &value) && !fact_is_row(result, fact))
			print_line(table, &value, fact_is_time(fact), fact_words[fact]);
	}
	putc('\n', file);
	table_print(table, file);
}
