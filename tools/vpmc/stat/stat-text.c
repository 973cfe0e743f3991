// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a result as text.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/fail.h"
#include "common/printable.h"
#include "common/signals.h"
#include "common/table.h"
#include "stat/group-values.h"
#include "stat/result.h"

enum { COLUMN_VALUE, COLUMN_DEVIATION, COLUMN_NAME, COLUMN_METRIC, NR_COLUMNS };

const char *const fact_words[NR_FACTS] = {
	[FACT_RUN_TIME] = "seconds run time",
	[FACT_SWITCHES] = "context switches",
	[FACT_MIGRATIONS] = "migrations",
	[FACT_ELAPSED] = "seconds elapsed",
	[FACT_THREADS] = "threads",
	[FACT_USER_TIME] = "seconds user time",
	[FACT_SYSTEM_TIME] = "seconds system time",
	[FACT_MINOR_FAULTS] = "minor page faults",
	[FACT_MAJOR_FAULTS] = "major page faults",
	[FACT_MAX_RSS] = "bytes resident at most",
};

static void paint(struct libscols_line *line, int column, const char *colour)
{
	scols_cell_set_color(scols_line_get_cell(line, column), colour);
}

static void print_head(FILE *file, const struct result *result)
{
	const struct stat_options *options = result->options;
	unsigned int i;
	char **word;

	/* behind the intervals */
	if (options->series_ms)
		putc('\n', file);
	fprintf(file, "Counts of");
	if (options->nr_targets)
		fprintf(file, " %s%s", options->threads ? "thread" :
			options->nr_targets > 1 ? "processe" : "process",
			options->nr_targets > 1 ? "s" : "");
	for (i = 0; i < options->nr_targets; i++)
		fprintf(file, "%s%d", i ? ", " : " ", options->target[i]);
	if (options->command && options->nr_targets)
		fprintf(file, " during");
	for (word = options->command; word && *word; word++) {
		putc(' ', file);
		print_name(file, *word);
	}
	if (options->delay_ms)
		fprintf(file, ", without the first %u ms", options->delay_ms);
	if (options->repeat > 1)
		fprintf(file, ", means of %u runs",
			result->nr / result->plan->nr);
	fprintf(file, ":\n\n");
}

static void event_lines(struct libscols_table *table,
			const struct result *result, unsigned int g)
{
	const struct group *group = &result->plan->groups[g];
	char value[32], deviation[64], ratio[96];
	struct metric metric;
	unsigned int i;

	for (i = 0; i < group->nr; i++) {
		const struct vpmc_event *event = &group->events[i];
		struct value counted = result_event(result, g, event);
		const char *text[NR_COLUMNS] = {
			[COLUMN_VALUE] = value, [COLUMN_NAME] = event->name };
		struct libscols_line *line;

		if (left_out(event)) {
			text[COLUMN_VALUE] = "left out";
			text[COLUMN_METRIC] = vpmc_reason_text(event->reason);
		} else if (!counted.runs) {
			text[COLUMN_VALUE] = "not run";
		} else {
			with_separators(counted.mean, value);
			snprintf(deviation, sizeof(deviation), "+- %.3f",
				 counted.deviation);
			if (counted.runs > 1)
				text[COLUMN_DEVIATION] = deviation;
		}
		if (result_metric(result, g, event, &metric)) {
			snprintf(ratio, sizeof(ratio), "%.3f %s", metric.value,
				 metric.per);
			text[COLUMN_METRIC] = ratio;
		}
		line = table_line(table, text);
		paint(line, COLUMN_VALUE, left_out(event) ? "red" : "bold");
	}
}

static void fact_line(struct libscols_table *table, enum fact fact,
		      const struct value *counted, const char *name)
{
	bool is_time = fact_is_time(fact);
	char value[64], deviation[64];
	const char *text[NR_COLUMNS] = {
		[COLUMN_VALUE] = value, [COLUMN_NAME] = name };

	if (is_time)
		snprintf(value, sizeof(value), "%" PRIu64 ".%09" PRIu64,
			 counted->mean / 1000000000, counted->mean % 1000000000);
	else
		with_separators(counted->mean, value);
	if (counted->runs > 1) {
		snprintf(deviation, sizeof(deviation), "+- %.*f", is_time ? 9 : 3,
			 counted->deviation / (is_time ? 1e9 : 1));
		text[COLUMN_DEVIATION] = deviation;
	}
	table_line(table, text);
}

static void fact_lines(struct libscols_table *table,
		       const struct result *result)
{
	int fact;

	for (fact = 0; fact < NR_FACTS; fact++) {
		struct value counted = result_fact(result, fact);

		if (fact_is_known(fact, &counted) && !fact_is_row(result, fact))
			fact_line(table, fact, &counted, fact_words[fact]);
	}
}

static void software_lines(struct libscols_table *table, const struct result *result)
{
	unsigned int i;

	for (i = 0; i < result->plan->nr_software; i++) {
		const struct software *row = &result->plan->software[i];
		struct value counted = result_fact(result, row->fact);
		char *name = get_text("%s%s", fact_is_time(row->fact) ? "seconds " :
				      *fact_unit(row->fact) ? "bytes " : "", row->name);

		fact_line(table, row->fact, &counted, name);
		free(name);
	}
}

/* Prints the events, an empty line and the facts, in the same columns. */
static void print_numbers(FILE *file, const struct result *result, bool colour)
{
	static const char *const nothing[NR_COLUMNS];
	struct libscols_table *table = table_new(false, colour);
	unsigned int g;
	int column;

	for (column = 0; column < NR_COLUMNS; column++)
		table_column(table, "", column <= COLUMN_DEVIATION);
	if (result->options->repeat == 1)
		scols_column_set_flags(scols_table_get_column(table,
							      COLUMN_DEVIATION),
				       SCOLS_FL_HIDDEN);
	for (g = 0; g < result->plan->nr; g++)
		event_lines(table, result, g);
	software_lines(table, result);
	if (result->plan->groups[0].nr || result->plan->nr_software)
		table_line(table, nothing);
	fact_lines(table, result);
	table_print(table, file);
}

static void print_metrics(FILE *file, const struct result *result, bool colour)
{
	struct libscols_table *table;
	unsigned int nr, i;
	struct metric *metrics = result_metrics(result, &nr);
	char value[64];

	if (!nr)
		return;
	table = table_new(false, colour);
	table_column(table, "", true);
	table_column(table, "", false);
	for (i = 0; i < nr; i++) {
		const char *text[] = { value, metrics[i].name };

		snprintf(value, sizeof(value), "%.6f", metrics[i].value);
		table_line(table, text);
	}
	putc('\n', file);
	table_print(table, file);
}

static void print_threads(FILE *file, const struct result *result, bool colour)
{
	const struct group *group = &result->plan->groups[0];
	const struct run *run = &result->run[0];
	struct libscols_table *table;
	unsigned int t, i, column;
	char cell[VPMC_MAX_COUNTERS + 3][32];
	const char *text[VPMC_MAX_COUNTERS + 3];

	if (!result->nr || !run->nr_threads)
		return;
	table = table_new(true, colour);
	table_column(table, "THREAD", true);
	table_column(table, "NAME", false);
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			table_column(table, group->events[i].name, true);
	table_column(table, "RUN TIME", true);
	for (t = 0; t < run->nr_threads; t++) {
		const struct thread *thread = &run->thread[t];

		for (column = 0; column < VPMC_MAX_COUNTERS + 3; column++)
			text[column] = cell[column];
		snprintf(cell[0], sizeof(cell[0]), "%d", thread->tid);
		text[1] = thread->name;
		column = 2;
		for (i = 0; i < group->nr; i++)
			if (!left_out(&group->events[i]))
				with_separators(thread->counts.sum[group->events[i].element],
						cell[column++]);
		snprintf(cell[column], sizeof(cell[column]),
			 "%" PRIu64 ".%09" PRIu64, thread->counts.ns / 1000000000,
			 thread->counts.ns % 1000000000);
		table_line(table, text);
	}
	putc('\n', file);
	table_print(table, file);
}

void print_status(FILE *file, int status)
{
	if (WIFSIGNALED(status))
		fprintf(file, "The command was ended by signal %d (%s).\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		fprintf(file, "The command ended with status %d.\n",
			WEXITSTATUS(status));
}

static void print_remarks(FILE *file, const struct result *result)
{
	struct remarks remarks = result_remarks(result);
	unsigned int way;

	putc('\n', file);
	if (result->plan->nr > 1)
		fprintf(file, "The command was run once for each of %u groups of events: %u runs.\n",
			result->plan->nr, result->nr);
	if (result->plan->note)
		fprintf(file, "Note: %s.\n", result->plan->note);
	if (remarks.signal)
		fprintf(file, "Of %u runs, %u were made: signal %d (%s) came.\n",
			remarks.wanted, remarks.made, remarks.signal,
			strsignal(remarks.signal));
	else if (remarks.made < remarks.wanted)
		fprintf(file, "Of %u runs, %u were made: the next one could not begin.\n",
			remarks.wanted, remarks.made);
	if (remarks.input_was_read)
		fprintf(file, "The first run has read standard input: the other runs had what was left of it.\n");
	if (remarks.timed_out && result->nr > 1)
		fprintf(file, "In %u of %u runs the time of --timeout was over", remarks.timed_out,
			result->nr);
	else if (remarks.timed_out)
		fprintf(file, "The time of --timeout was over");
	if (remarks.timed_out)
		fprintf(file, "%s.\n",
			remarks.has_status ? ", and the command got SIGTERM" : "");
	if (remarks.not_started)
		fprintf(file, "Nothing was counted: nobody has started the counters (--stopped).\n");
	if (result->early)
		fprintf(file, "%u more runs are left out: they ended before the delay of -D was over.\n",
			result->early);
	if (remarks.early)
		fprintf(file, "Nothing was counted: it ended before the delay of -D was over.\n");
	if (remarks.has_status)
		print_status(file, remarks.status);
	else if (interrupted())
		fprintf(file, "Signal %d (%s) has ended the measurement.\n", interrupted(),
			strsignal(interrupted()));
	if (remarks.living)
		fprintf(file, "%" PRIu64 " of the threads live on; they are counted up to the end of this.\n",
			remarks.living);
	if (remarks.revoked)
		fprintf(file, "The PMU was taken away, by the administrator or for a CPU that lacks its counters: the counts are those up to then.\n");
	for (way = 0; way < DEPARTURES; way++)
		if (remarks.left.number[way])
			fprintf(file, "%" PRIu64 " threads %s: what they did later is missing.\n",
				remarks.left.number[way], departure_text(way));
	if (result->nr && result->run[0].unlisted)
		fprintf(file, "%" PRIu64 " threads have no line of their own: they ended too fast; what they did is in the sums.\n",
			result->run[0].unlisted);
	if (remarks.replaced)
		fprintf(file, "%" PRIu64 " threads programmed other counters in place of these: all their counts are missing.\n",
			remarks.replaced);
	if (remarks.detached)
		fprintf(file, "The counters were detached, as by a program with other privileges: the counts are those up to then.\n");
}

void print_text(FILE *file, const struct result *result, bool colour)
{
	print_head(file, result);
	print_numbers(file, result, colour);
	print_order(file, result, colour);
	if (result->options->metrics)
		print_metrics(file, result, colour);
	groups_text(file, result, NULL, colour);
	if (result->options->per_thread)
		print_threads(file, result, colour);
	if (result->options->marked)
		regions_text(file, result, &result->regions, colour);
	print_remarks(file, result);
}
