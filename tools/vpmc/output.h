/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes a result to standard error, standard output or a file. A file gets its
 * name when it is complete.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Opens the output that -o names: NULL is standard error, "-" is standard
 * output. output_close() replaces an existing regular file. Devices and pipes
 * are written directly. Fails at once if the output cannot be opened.
 */
FILE *output_open(const char *name);

/*
 * Writes everything and renames the file, or fails. Before this call the output
 * is only in memory.
 */
void output_close(FILE *file);

bool output_is_terminal(void);

/* Flushes standard output, or fails. */
void output_finish(void);

#endif /* OUTPUT_H */
