/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prints tables of texts with libsmartcols.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TABLE_H
#define TABLE_H

#include <libsmartcols.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Makes a table. Lines are never cut, whatever the width of the terminal. */
struct libscols_table *table_new(bool headings, bool colour);

void table_column(struct libscols_table *table, const char *name, bool right);

/* Adds a line with one text for each column. The texts are copied. */
struct libscols_line *table_line(struct libscols_table *table,
				 const char *const *text);

/* Prints the table and frees it. */
void table_print(struct libscols_table *table, FILE *file);

/* Writes 1234567 as 1,234,567 to @buffer. */
const char *with_separators(uint64_t value, char buffer[32]);

#endif /* TABLE_H */
