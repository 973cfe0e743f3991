// SPDX-License-Identifier: GPL-2.0
/*
 * Prints comma separated values: a header, and a line for each number. Fields
 * are quoted as RFC 4180 says, and control characters in names are escaped.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"
#include "stat/group-values.h"
#include "stat/result.h"

/* One line. NULL texts and values without a run are printed as empty fields. */
struct line {
	const char *thread, *name, *event, *unit, *select, *counter, *group,
		*per, *mark;
	struct value value;
	const char *number;	/* printed instead of @value, unless NULL */
	const char *metric;
};

static void field(FILE *file, const char *text, char separator, char end)
{
	char special[] = { separator, '"', 0 };
	char *name = printable(text ?: ""), *at = name;

	if (!name[strcspn(name, special)]) {
		fputs(name, file);
	} else {
		putc('"', file);
		for (; *at; at++) {
			if (*at == '"')
				putc('"', file);
			putc(*at, file);
		}
		putc('"', file);
	}
	putc(end, file);
	free(name);
}

void csv_line(FILE *file, const char *const *fields, size_t nr, char separator)
{
	size_t i;

	for (i = 0; i < nr; i++)
		field(file, fields[i], separator, i + 1 < nr ? separator : '\n');
}

static void print_line(FILE *file, const struct line *line, char separator)
{
	char value[32] = "", deviation[64] = "", runs[16] = "";
	char min[32] = "", median[40] = "", max[32] = "", outliers[16] = "";
	const char *fields[STAT_COLUMNS] = {
		line->thread, line->name, line->event,
		line->number ? line->number : value, line->unit, deviation,
		runs, line->select, line->counter, line->group, line->metric,
		line->per, line->mark, min, median, max, outliers,
	};
	const struct quantiles *order = &line->value.order;

	if (line->value.runs) {
		snprintf(value, sizeof(value), "%" PRIu64, line->value.mean);
		snprintf(deviation, sizeof(deviation), "%.6f",
			 line->value.deviation);
		snprintf(runs, sizeof(runs), "%u", line->value.runs);
		snprintf(min, sizeof(min), "%" PRIu64, order->min);
		half_text(order->twice_median, false, median);
		snprintf(max, sizeof(max), "%" PRIu64, order->max);
		snprintf(outliers, sizeof(outliers), "%u", order->outliers);
	}
	csv_line(file, fields, STAT_COLUMNS, separator);
}

static void print_events(FILE *file, const struct result *result,
			 unsigned int g, const char *mark, char separator)
{
	const struct group *group = &result->plan->groups[g];
	char counter[16], select[32], number[16], ratio[64];
	struct metric metric;
	unsigned int i;

	for (i = 0; i < group->nr; i++) {
		const struct vpmc_event *event = &group->events[i];
		struct line line = {
			.event = event->name, .unit = "events", .mark = mark,
			.select = select, .group = number,
			.value = result_event(result, g, event),
		};

		snprintf(number, sizeof(number), "%u", g);
		snprintf(select, sizeof(select), "0x%" PRIx64, event->select);
		if (!left_out(event))
			line.counter = counter_name(event->counter, counter);
		else
			line.mark = vpmc_reason_name(event->reason);
		if (result_metric(result, g, event, &metric)) {
			snprintf(ratio, sizeof(ratio), "%.6f", metric.value);
			line.metric = ratio;
			line.per = metric.per;
		}
		print_line(file, &line, separator);
	}
}

static void print_software(FILE *file, const struct result *result, const char *mark,
			   char separator)
{
	unsigned int i;

	for (i = 0; i < result->plan->nr_software; i++) {
		const struct software *row = &result->plan->software[i];
		const char *unit = fact_unit(row->fact);
		struct line line = {
			.event = row->name, .unit = *unit ? unit : "events",
			.value = result_fact(result, row->fact), .mark = mark,
		};

		print_line(file, &line, separator);
	}
}

static void print_threads(FILE *file, const struct result *result,
			  char separator)
{
	const struct group *group = &result->plan->groups[0];
	const struct run *run = &result->run[0];
	unsigned int t, i;
	char tid[16];

	for (t = 0; result->nr && t < run->nr_threads; t++) {
		const struct thread *thread = &run->thread[t];
		struct line line = {
			.thread = tid, .name = thread->name, .unit = "events",
			.mark = thread->left == THREAD_STAYED ? "" : "left",
		};

		snprintf(tid, sizeof(tid), "%d", thread->tid);
		for (i = 0; i < group->nr; i++) {
			const struct vpmc_event *event = &group->events[i];

			if (left_out(event))
				continue;
			line.event = event->name;
			line.value = value_of_one(thread->counts.sum[event->element]);
			print_line(file, &line, separator);
		}
		line.event = fact_name[FACT_RUN_TIME];
		line.unit = "ns";
		line.value = value_of_one(thread->counts.ns);
		print_line(file, &line, separator);
	}
	if (result->nr) {
		const struct line line = {
			.event = "unlisted", .unit = "threads",
			.value = value_of_one(run->unlisted),
		};

		print_line(file, &line, separator);
	}
}

struct remark_lines {
	FILE *file;
	char separator;
	const char *mark;
};

static void print_remark(void *data, const char *name, uint64_t number)
{
	const struct remark_lines *lines = data;
	char event[32], *dash;
	const struct line line = {
		.event = event, .unit = "threads", .mark = lines->mark,
		.value = value_of_one(number),
	};

	snprintf(event, sizeof(event), "%s", name);
	dash = strchr(event, '_');
	if (dash)
		*dash = '-';
	print_line(lines->file, &line, lines->separator);
}

static void print_metrics(FILE *file, const struct result *result,
			  char separator)
{
	unsigned int nr, i;
	struct metric *metrics = result_metrics(result, &nr);
	char number[64];

	for (i = 0; i < nr; i++) {
		struct line line = { .event = metrics[i].name, .unit = "ratio",
				     .number = number };

		snprintf(number, sizeof(number), "%.6f", metrics[i].value);
		print_line(file, &line, separator);
	}
}

void print_csv(FILE *file, const struct result *result)
{
	static const char *const head[STAT_COLUMNS] = {
		"thread", "name", "event", "value", "unit", "deviation", "runs",
		"select", "counter", "group", "metric", "per", "mark",
		"min", "median", "max", "outliers",
	};
	struct remarks remarks = result_remarks(result);
	char separator = result->options->separator;
	unsigned int g;
	int fact;

	csv_line(file, head, STAT_COLUMNS, separator);
	for (g = 0; g < result->plan->nr; g++)
		print_events(file, result, g, remarks_mark(&remarks), separator);
	print_software(file, result, remarks_mark(&remarks), separator);
	for (fact = 0; fact < NR_FACTS; fact++) {
		struct line line = {
			.event = fact_name[fact], .unit = fact_unit(fact),
			.value = result_fact(result, fact),
			.mark = remarks_mark(&remarks),
		};

		if (fact_is_known(fact, &line.value) && !fact_is_row(result, fact))
			print_line(file, &line, separator);
	}
	if (result->options->delay_ms)
		print_line(file, &(struct line){
			.event = "delay", .unit = "ns", .mark = remarks_mark(&remarks),
			.value = value_of_one(result->options->delay_ms * 1000000ULL) }, separator);
	if (result->options->timeout_ms)
		print_line(file, &(struct line){
			.event = "timed-out", .unit = "runs", .mark = remarks_mark(&remarks),
			.value = value_of_one(remarks.timed_out) }, separator);
	if (result->early)
		print_line(file, &(struct line){
			.event = "early-runs", .unit = "runs", .mark = remarks_mark(&remarks),
			.value = value_of_one(result->early) }, separator);
	if (remarks.made < remarks.wanted)
		print_line(file, &(struct line){
			.event = "runs-wanted", .unit = "runs", .mark = remarks_mark(&remarks),
			.value = value_of_one(remarks.wanted) }, separator);
	remarks_numbers(&remarks, print_remark,
			&(struct remark_lines){ file, separator,
						remarks_mark(&remarks) });
	if (result->options->metrics)
		print_metrics(file, result, separator);
	groups_csv(file, result, NULL, remarks_mark(&remarks), separator);
	if (result->options->per_thread)
		print_threads(file, result, separator);
	if (result->options->marked)
		regions_csv(file, result, &result->regions, separator);
}
