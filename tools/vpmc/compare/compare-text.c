// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a comparison as text, and as Markdown for a pull request.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/output.h"
#include "common/table.h"
#include "compare/comparison.h"

enum { COLUMN_NAME, COLUMN_BASE, COLUMN_NOW, COLUMN_DIFFERENCE, COLUMN_PERCENT,
       COLUMN_VERDICT, COLUMN_LIMIT, NR_COLUMNS };

static const char *const heads[NR_COLUMNS] = {
	"EVENT", "BASE", "NEW", "DIFFERENCE", "PERCENT", "VERDICT", "LIMIT" };

static bool is_number(int column)
{
	return column > COLUMN_NAME && column < COLUMN_VERDICT;
}

static char *quantity(const struct series *series, twice_t twice)
{
	char number[40];

	if (series->is_time)
		return get_text("%" PRIu64 ".%09" PRIu64,
				(uint64_t)(twice / 2) / 1000000000,
				(uint64_t)(twice / 2) % 1000000000);
	return get_text("%s", half_text(twice, true, number));
}

static char *verdict_text(const struct row *row)
{
	static const char *const words[] = {
		[VERDICT_NONE] = "left out", [VERDICT_SAME] = "same", [VERDICT_MORE] = "more",
		[VERDICT_LESS] = "less", [VERDICT_OTHER] = "other values, same median",
		[VERDICT_SPREAD] = "within the spread", [VERDICT_UNKNOWN] = "unknown",
	};
	const char *word = words[row->verdict];

	if (row->verdict == VERDICT_NONE || row->verdict == VERDICT_SAME)
		return get_text("%s", word);
	switch (row->test) {
	case TEST_EXACT:
		return get_text("%s (exact)", word);
	case TEST_SINGLE:
		return get_text("%s (one run each)", word);
	case TEST_TOO_FEW:
		return get_text("%s (too few runs: %u and %u)", word, row->base->nr,
				row->now->nr);
	default:
		if (row->rank.p < 0.001)
			return get_text("%s (rank test, p<0.001)", word);
		return get_text("%s (rank test, p=%.3f)", word, row->rank.p);
	}
}

static char *difference_text(const struct row *row)
{
	__int128 twice = row->twice_difference;

	return get_text("%s%s", twice < 0 ? "-" : twice > 0 ? "+" : "",
			quantity(row->now, twice < 0 ? -twice : twice));
}

static char *percent_text(const struct row *row)
{
	if (!row->has_percent)
		return get_text("-");
	return row->twice_difference ? get_text("%+.3f%%", row->percent) : get_text("0.000%%");
}

/* Makes the texts of a line. Those that do not apply are NULL. */
static void make_cells(const struct row *row, char *text[NR_COLUMNS])
{
	memset(text, 0, NR_COLUMNS * sizeof(*text));
	text[COLUMN_NAME] = get_text("%s%s", row->now->name, row->now->is_time ? " (s)" : "");
	text[COLUMN_VERDICT] = verdict_text(row);
	if (row->test == TEST_NONE)
		return;
	text[COLUMN_BASE] = quantity(row->base, row->base->order.twice_median);
	text[COLUMN_NOW] = quantity(row->now, row->now->order.twice_median);
	text[COLUMN_DIFFERENCE] = difference_text(row);
	text[COLUMN_PERCENT] = percent_text(row);
	if (row->limit)
		text[COLUMN_LIMIT] = get_text("%s: %s", row->limit->text,
					      row->beyond ? "beyond" :
					      row->passed ? "within the spread" : "within");
}

static void free_cells(char *text[NR_COLUMNS])
{
	int column;

	for (column = 0; column < NR_COLUMNS; column++)
		free(text[column]);
}

static char *side_text(const struct side *side)
{
	char *warmup = side->warmup ? get_text(" after %" PRIu64 " to warm up", side->warmup) :
				      get_text("%s", "");

	if (side->runs == 1)
		return get_text("%s, 1 run%s", side->name, warmup);
	return get_text("%s, medians of %" PRIu64 " runs%s", side->name, side->runs, warmup);
}

/* Returns the first line of that test in which the values are not all equal, or NULL. */
static const struct row *first_of(const struct comparison *comparison, enum test test)
{
	unsigned int i;

	for (i = 0; i < comparison->nr; i++)
		if (comparison->row[i].test == test &&
		    comparison->row[i].verdict != VERDICT_SAME)
			return &comparison->row[i];
	return NULL;
}

/* Calls @print for each sentence about the tests and the sides. */
static void sentences(FILE *file, const struct comparison *comparison,
		      void (*print)(FILE *file, const char *text))
{
	const struct row *ranked = first_of(comparison, TEST_RANK);
	unsigned int i;

	if (first_of(comparison, TEST_EXACT))
		print(file, "exact: all runs of a side have the same count, so that each difference is real");
	if (first_of(comparison, TEST_SINGLE))
		print(file, "one run each: a difference is real if the event counts the same in each run, which -r shows; times vary");
	if (ranked && ranked->rank.exact)
		print(file, "rank test: Mann-Whitney U, two-sided, exact; p above 0.05 is within the spread of the runs");
	else if (ranked)
		print(file, "rank test: Mann-Whitney U, two-sided, by the normal distribution; p above 0.05 is within the spread of the runs");
	if (first_of(comparison, TEST_TOO_FEW))
		print(file, "too few runs: no rank test of so few can tell a difference from chance; -r 4 of each side is the least");
	for (i = 0; i < comparison->nr_notes; i++)
		print(file, comparison->note[i]);
}

/* Returns what the limits say of all lines, or NULL if there is no limit. */
static char *conclusion(const struct comparison *comparison)
{
	char *beyond = NULL;
	unsigned int i;

	if (!comparison->limits.nr)
		return NULL;
	for (i = 0; i < comparison->nr; i++)
		if (comparison->row[i].beyond)
			beyond = get_text("%s%s%s", beyond ? beyond : "", beyond ? ", " : "",
					  comparison->row[i].now->name);
	return beyond ? get_text("Beyond the limit: %s.", beyond) :
			get_text("Within the limits.");
}

static void print_sentence(FILE *file, const char *text)
{
	fprintf(file, "%s.\n", text);
}

static void colour_line(struct libscols_line *line, const struct row *row)
{
	if (row->beyond)
		scols_cell_set_color(scols_line_get_cell(line, COLUMN_LIMIT), "red");
	if (row->verdict == VERDICT_MORE || row->verdict == VERDICT_LESS)
		scols_cell_set_color(scols_line_get_cell(line, COLUMN_DIFFERENCE), "bold");
}

void comparison_print_text(FILE *file, const struct comparison *comparison, bool colour)
{
	struct libscols_table *table = table_new(true, colour);
	char *end = conclusion(comparison), *text[NR_COLUMNS];
	unsigned int i;
	int column;

	fprintf(file, "Base: %s: %s\n", side_text(&comparison->base), comparison->base.subject);
	fprintf(file, "New:  %s: %s\n\n", side_text(&comparison->now), comparison->now.subject);
	for (column = 0; column < NR_COLUMNS; column++)
		table_column(table, heads[column], is_number(column));
	if (!comparison->limits.nr)
		scols_column_set_flags(scols_table_get_column(table, COLUMN_LIMIT),
				       SCOLS_FL_HIDDEN);
	for (i = 0; i < comparison->nr; i++) {
		make_cells(&comparison->row[i], text);
		colour_line(table_line(table, (const char *const *)text), &comparison->row[i]);
		free_cells(text);
	}
	table_print(table, file);
	putc('\n', file);
	sentences(file, comparison, print_sentence);
	if (end)
		fprintf(file, "%s\n", end);
}

/* Prints text in which nothing is Markdown. */
static void print_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]<>#|~&$", *text))
			putc('\\', file);
		putc(*text, file);
	}
}

static void print_item(FILE *file, const char *text)
{
	fprintf(file, "- ");
	print_escaped(file, text);
	putc('\n', file);
}

static void print_markdown_side(FILE *file, const char *word, const struct side *side)
{
	fprintf(file, "- %s: ", word);
	print_escaped(file, side_text(side));
	fprintf(file, ": ");
	print_escaped(file, side->subject);
	putc('\n', file);
}

void comparison_print_markdown(FILE *file, const struct comparison *comparison)
{
	int columns = comparison->limits.nr ? NR_COLUMNS : COLUMN_LIMIT, column;
	char *end = conclusion(comparison), *text[NR_COLUMNS];
	unsigned int i;

	if (end) {
		fprintf(file, "**");
		print_escaped(file, end);
		fprintf(file, "**\n\n");
	}
	for (column = 0; column < columns; column++)
		fprintf(file, "| %s ", heads[column]);
	fprintf(file, "|\n");
	for (column = 0; column < columns; column++)
		fprintf(file, is_number(column) ? "| ---: " : "| --- ");
	fprintf(file, "|\n");
	for (i = 0; i < comparison->nr; i++) {
		make_cells(&comparison->row[i], text);
		for (column = 0; column < columns; column++) {
			fprintf(file, "| ");
			print_escaped(file, text[column] ? text[column] : "");
			putc(' ', file);
		}
		fprintf(file, "|\n");
		free_cells(text);
	}
	putc('\n', file);
	print_markdown_side(file, "base", &comparison->base);
	print_markdown_side(file, "new", &comparison->now);
	sentences(file, comparison, print_item);
}

void comparison_write(FILE *file, const struct comparison *comparison, bool json,
		      bool markdown)
{
	if (json)
		comparison_print_json(file, comparison);
	else if (markdown)
		comparison_print_markdown(file, comparison);
	else
		comparison_print_text(file, comparison,
				      output_is_terminal() && !getenv("NO_COLOR"));
	output_close(file);
}
