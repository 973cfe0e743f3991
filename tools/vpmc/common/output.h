/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes a result to standard error, standard output or a file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "outfile.h"

/* A result is made of the file @name. An output that would replace it is an error. */
void output_keep(const char *name);

/* Opens @file as vpmc_outfile_open() does, or fails. "-" is standard output. */
void output_file(struct outfile *file, const char *name, unsigned int flags);

/*
 * Opens the output that -o names, likewise. NULL is standard error. The text is in
 * memory until output_close().
 */
FILE *output_open(const char *name, unsigned int flags);

/*
 * Writes the text so far at once. What output_close() writes then comes behind it. Returns
 * 0, or -errno for the first part that cannot be written. Later parts are dropped, and
 * output_close() fails.
 */
int output_part(FILE *file);

/*
 * Is the output of @name a descriptor that this program has been given? A result is appended
 * there, and replaces nothing.
 */
bool output_is_descriptor(const char *name);

/* Makes the text the output's content, or fails. */
void output_close(FILE *file);

/* The descriptor of the output that is open */
int output_descriptor(void);

bool output_is_terminal(void);

/* Returns what helps if an output that -o names cannot be written. */
const char *output_remedy(int error);

/* Flushes standard output, or fails. */
void output_finish(void);

#endif /* OUTPUT_H */
