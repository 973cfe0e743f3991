// SPDX-License-Identifier: GPL-2.0
/*
 * Prints tables of texts with libsmartcols.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/table.h"

static void must(int failed)
{
	if (failed)
		fail(STATUS_OURS, "memory: there is none for a table; end other programs");
}

struct libscols_table *table_new(bool headings, bool colour)
{
	struct libscols_table *table = scols_new_table();

	must(!table);
	must(scols_table_enable_noheadings(table, !headings));
	must(scols_table_enable_colors(table, colour));
	must(scols_table_set_column_separator(table, "  "));
	return table;
}

void table_column(struct libscols_table *table, const char *name, bool right)
{
	must(!scols_table_new_column(table, name, 0,
				     right ? SCOLS_FL_RIGHT : 0));
}

struct libscols_line *table_line(struct libscols_table *table,
				 const char *const *text)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	size_t i;

	must(!line);
	for (i = 0; i < scols_table_get_ncols(table); i++)
		must(scols_line_set_data(line, i, text[i] ? text[i] : ""));
	return line;
}

void table_print(struct libscols_table *table, FILE *file)
{
	char *text, *line, *next;

	/* The text does not go to a terminal yet, so do not query one. */
	must(scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER));
	must(scols_print_table_to_string(table, &text));
	/* Remove the blanks that fill the last column. */
	for (line = text; line && *line; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		while (length && line[length - 1] == ' ')
			length--;
		fprintf(file, "%.*s\n", (int)length, line);
	}
	free(text);
	scols_unref_table(table);
}

const char *with_separators(uint64_t value, char buffer[32])
{
	char *at = buffer + 31;
	int digits = 0;

	*at = 0;
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = '0' + value % 10;
		value /= 10;
		digits++;
	} while (value);
	return memmove(buffer, at, buffer + 32 - at);
}
