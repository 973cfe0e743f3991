// SPDX-License-Identifier: GPL-2.0
/*
 * Prints samples as tables, as folded stacks and as JSON.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/fail.h"
#include "common/json-write.h"
#include "common/table.h"
#include "profile/samples.h"

#define FORMAT_VERSION	1

/* Sort key: by share, and by number if the shares are equal. */
struct ranked {
	uint64_t periods;
	unsigned int number;
};

static int by_share(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->periods != y->periods)
		return x->periods < y->periods ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static const char *event_of(const struct samples *samples, unsigned int i)
{
	return json_object_get_string(json_object_array_get_idx(
		json_object_object_get(samples->text, "events"), i));
}

/* @all: number of periods of which the share is. */
static const char *share(const struct weight *weight, uint64_t all, char text[32])
{
	snprintf(text, 32, "%.2f %%", all ? 100.0 * weight->periods / all : 0);
	return text;
}

static struct libscols_table *new_table(const struct samples *samples)
{
	struct libscols_table *table = table_new(true, false);

	table_column(table, "SHARE", true);
	table_column(table, "SAMPLES", true);
	table_column(table, event_of(samples, 0), true);
	return table;
}

static void print_line(struct libscols_table *table, const struct samples *samples,
		       const struct weight *weight, uint64_t all, const char *const *rest)
{
	char part[32], number[32], count[32];
	const char *text[9] = {
		share(weight, all, part),
		with_separators(weight->samples, number),
		with_separators(weight->periods * samples->period, count),
	};
	size_t i;

	for (i = 3; i < scols_table_get_ncols(table); i++)
		text[i] = rest[i - 3];
	table_line(table, text);
}

static void print_functions(FILE *file, const struct samples *samples)
{
	struct ranked *order = get_memory(NULL, samples->nr_functions, sizeof(*order));
	struct libscols_table *table = new_table(samples);
	unsigned int i;

	table_column(table, "FUNCTION", false);
	table_column(table, "IN", false);
	for (i = 0; i < samples->nr_functions; i++)
		order[i] = (struct ranked){ samples->function[i].weight.periods, i };
	qsort(order, samples->nr_functions, sizeof(*order), by_share);
	for (i = 0; i < samples->nr_functions; i++) {
		const struct sampled_function *function = &samples->function[order[i].number];
		const char *rest[] = { function->name, function->module };

		/* The function of delayed samples has none itself. */
		if (function->weight.samples)
			print_line(table, samples, &function->weight,
				   samples->weight.periods, rest);
	}
	table_print(table, file);
	free(order);
}

static void print_lines(FILE *file, const struct samples *samples)
{
	struct ranked *order = get_memory(NULL, samples->nr_lines, sizeof(*order));
	struct libscols_table *table = new_table(samples);
	unsigned int i;

	table_column(table, "LINE", false);
	table_column(table, "FUNCTION", false);
	for (i = 0; i < samples->nr_lines; i++)
		order[i] = (struct ranked){ samples->line[i].weight.periods, i };
	qsort(order, samples->nr_lines, sizeof(*order), by_share);
	for (i = 0; i < samples->nr_lines; i++) {
		const struct sampled_line *line = &samples->line[order[i].number];
		char *where = get_text("%s:%d", line->file, line->line);
		const char *rest[] = { where, samples->function[line->function].name };

		print_line(table, samples, &line->weight, samples->weight.periods, rest);
		free(where);
	}
	putc('\n', file);
	table_print(table, file);
	free(order);
}

static void print_threads(FILE *file, const struct samples *samples)
{
	uint64_t all = samples->weight.periods + samples->delayed.periods;
	struct libscols_table *table = new_table(samples);
	unsigned int i;

	table_column(table, "PROCESS", true);
	table_column(table, "THREAD", true);
	table_column(table, "SWITCHES", true);
	table_column(table, "MIGRATIONS", true);
	table_column(table, "NAME", false);
	for (i = 0; i < samples->nr_threads; i++) {
		const struct sampled_thread *thread = &samples->thread[i];
		const struct moment *last = &thread->moment[thread->nr_moments - 1];
		char pid[32], tid[32], switches[32], migrations[32];
		const char *rest[] = {
			pid, tid, with_separators(last->switches, switches),
			with_separators(last->migrations, migrations), thread->name,
		};

		snprintf(pid, sizeof(pid), "%u", thread->pid);
		snprintf(tid, sizeof(tid), "%u", thread->tid);
		print_line(table, samples, &thread->weight, all, rest);
	}
	putc('\n', file);
	table_print(table, file);
}

/* What of the program has no samples. @end: NULL if the recording was cut off. */
static void print_missing(FILE *file, const struct record_end *end)
{
	unsigned int way;

	if (!end) {
		fputs("the recording was cut off: what the program did later has no samples\n", file);
		return;
	}
	if (end->living)
		fprintf(file, "%llu threads lived on: what they did later has no samples\n",
			(unsigned long long)end->living);
	for (way = 0; way < DEPARTURES; way++)
		if (end->left.number[way])
			fprintf(file, "%llu threads %s: what they did later has no samples\n",
				(unsigned long long)end->left.number[way],
				departure_text(way));
}

void samples_print_text(FILE *file, const struct samples *samples)
{
	char number[32], count[32];
	unsigned int i;

	fprintf(file, "%s samples", with_separators(samples->weight.samples, number));
	fprintf(file, " of %s, one each %s", event_of(samples, 0),
		with_separators(samples->period, count));
	if (samples->lost)
		fprintf(file, ", %s lost", with_separators(samples->lost, number));
	if (samples->delayed.periods)
		fprintf(file, ", %s periods without an address",
			with_separators(samples->delayed.periods, number));
	fputs("\n", file);
	for (i = 0; samples->end && i < samples->nr_events; i++)
		fprintf(file, "%s %s in all\n",
			with_separators(samples->end->sum[i], number),
			event_of(samples, i));
	print_missing(file, samples->end);
	fputs("\n", file);
	print_functions(file, samples);
	if (samples->nr_lines)
		print_lines(file, samples);
	print_threads(file, samples);
}

/*
 * Prints a name without ';', which would separate two frames. Control characters, and bytes
 * that are no character, are as in tables: \x1b.
 */
static void print_frame(FILE *file, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char printed[VPMC_PRINTABLE];

	while (*s) {
		bool is_end = *s == ';' || *s == '\n';

		s += vpmc_utf8_printable(s, printed);
		fputs(is_end ? ":" : printed, file);
	}
}

void samples_print_folded(FILE *file, const struct samples *samples)
{
	uint64_t *sum = get_memory(NULL, samples->nr_functions, sizeof(*sum));
	unsigned int t, f;
	size_t i;

	for (t = 0; t < samples->nr_threads; t++) {
		const struct sampled_thread *thread = &samples->thread[t];

		memset(sum, 0, samples->nr_functions * sizeof(*sum));
		for (i = 0; i < thread->nr_moments; i++)
			if (!thread->moment[i].delayed)
				sum[thread->moment[i].function] += thread->moment[i].periods;
		for (f = 0; f < samples->nr_functions; f++) {
			if (!sum[f])
				continue;
			print_frame(file, thread->name);
			fprintf(file, "-%u/%u;", thread->pid, thread->tid);
			print_frame(file, samples->function[f].name);
			fprintf(file, " %llu\n",
				(unsigned long long)(sum[f] * samples->period));
		}
	}
	free(sum);
}

static struct json_object *one_number(uint64_t value)
{
	return number_array(&value, 1);
}

static struct json_object *functions_array(const struct samples *samples)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < samples->nr_functions; i++) {
		const struct sampled_function *function = &samples->function[i];
		struct json_object *object = json_object_new_object();
		uint64_t count = function->weight.periods * samples->period;

		member_text(object, "name", function->name);
		member_text(object, "module", function->module);
		if (function->file) {
			member_text(object, "file", function->file);
			member_number(object, "line", function->line);
		}
		member_number(object, "calls", function->weight.samples);
		member(object, "exclusive", one_number(count));
		member(object, "inclusive", one_number(count));
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *lines_array(const struct samples *samples)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < samples->nr_lines; i++) {
		const struct sampled_line *line = &samples->line[i];
		struct json_object *object = json_object_new_object();

		member_text(object, "file", line->file);
		member_number(object, "line", line->line);
		member_number(object, "function", line->function);
		member_number(object, "samples", line->weight.samples);
		member_number(object, "count", line->weight.periods * samples->period);
		json_object_array_add(array, object);
	}
	return array;
}

/*
 * Each function is a child of the root. The root is node 0 and is not printed.
 */
static struct json_object *nodes_object(const struct samples *samples)
{
	struct json_object *all = json_object_new_object();
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < samples->nr_functions; i++) {
		const struct weight *weight = &samples->function[i].weight;
		struct json_object *object = json_object_new_object();

		member_number(object, "parent", 0);
		member_number(object, "function", i);
		member_number(object, "calls", weight->samples);
		member(object, "exclusive", one_number(weight->periods * samples->period));
		member(object, "inclusive", one_number(weight->periods * samples->period));
		json_object_array_add(array, object);
	}
	member(all, "nodes", array);
	return all;
}

/*
 * Lists the samples of each thread. Times start at the first sample of all
 * threads.
 */
static struct json_object *threads_array(const struct samples *samples)
{
	struct json_object *array = json_object_new_array();
	uint64_t first = UINT64_MAX;
	unsigned int i;
	size_t m;

	for (i = 0; i < samples->nr_threads; i++)
		if (samples->thread[i].moment[0].ns < first)
			first = samples->thread[i].moment[0].ns;
	for (i = 0; i < samples->nr_threads; i++) {
		const struct sampled_thread *thread = &samples->thread[i];
		struct json_object *object = json_object_new_object();
		struct json_object *moments = json_object_new_array();

		for (m = 0; m < thread->nr_moments; m++) {
			const struct moment *moment = &thread->moment[m];
			struct json_object *at = json_object_new_object();

			member_number(at, "ns", moment->ns - first);
			member_number(at, "cpu", moment->cpu);
			member_number(at, "switches", moment->switches);
			member_number(at, "migrations", moment->migrations);
			member_number(at, "function", moment->function);
			json_object_array_add(moments, at);
		}
		member_number(object, "pid", thread->pid);
		member_number(object, "tid", thread->tid);
		member_text(object, "name", thread->name);
		member(object, "samples", moments);
		json_object_array_add(array, object);
	}
	return array;
}

static void add_end(struct json_object *object, const struct samples *samples)
{
	const struct record_end *end = samples->end;
	struct json_object *left;
	unsigned int way;

	if (!end)
		return;
	left = json_object_new_object();
	if (WIFSIGNALED(end->status))
		member_number(object, "signal", WTERMSIG(end->status));
	else
		member_number(object, "exit_status", WEXITSTATUS(end->status));
	member(object, "sums", number_array(end->sum, samples->nr_events));
	member_number(object, "threads_counted", end->threads);
	member_number(object, "living", end->living);
	for (way = 0; way < DEPARTURES; way++)
		member_number(left, departure_word(way), end->left.number[way]);
	member(object, "left", left);
	member_number(object, "run_ns", end->run_ns);
	member_number(object, "switches", end->switches);
	member_number(object, "migrations", end->migrations);
}

struct json_object *samples_object(const struct samples *samples)
{
	struct json_object *object = json_object_new_object();
	struct json_object *values = json_object_new_array();

	json_object_array_add(values, json_text(event_of(samples, 0)));
	member_number(object, "version", FORMAT_VERSION);
	member_text(object, "kind", "samples");
	member(object, "command", json_object_get(
		json_object_object_get(samples->text, "command")));
	member(object, "events", json_object_get(
		json_object_object_get(samples->text, "events")));
	member_number(object, "period", samples->period);
	member(object, "complete", json_object_new_boolean(samples->end != NULL));
	member_number(object, "lost", samples->lost);
	if (samples->delayed.periods)
		member_number(object, "delayed", samples->delayed.periods);
	add_end(object, samples);
	member(object, "values", values);
	member(object, "total", one_number(samples->weight.periods * samples->period));
	member(object, "own", one_number(0));
	member(object, "outside", one_number(0));
	member(object, "functions", functions_array(samples));
	member(object, "lines", lines_array(samples));
	member(object, "all", nodes_object(samples));
	member(object, "threads", threads_array(samples));
	return object;
}
