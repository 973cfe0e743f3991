/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of texts by libsmartcols.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TABLE_H
#define TABLE_H

#include <libsmartcols.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Its lines are never cut, whatever the terminal's width. */
struct libscols_table *table_new(bool headings, bool colour);

void table_column(struct libscols_table *table, const char *name, bool right);

/* A line of as many texts as there are columns; they are copied. */
struct libscols_line *table_line(struct libscols_table *table,
				 const char *const *text);

/* Prints the table and gives it back. */
void table_print(struct libscols_table *table, FILE *file);

/* 1234567 as 1,234,567; in a buffer of the caller's */
const char *with_separators(uint64_t value, char buffer[32]);

#endif /* TABLE_H */
