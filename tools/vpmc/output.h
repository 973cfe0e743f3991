/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a result goes: standard error, standard output or a file, which gets its
 * name when it is whole.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Opens what -o names: NULL is standard error, "-" standard output. A file that
 * is there is replaced by output_close(); what is no regular file, such as a
 * device or a pipe, is written as it is. Fails at once if that cannot work.
 */
FILE *output_open(const char *name);

/*
 * All is written and the file has its name, or this fails. Nothing is written
 * before: what output_open() returns is memory.
 */
void output_close(FILE *file);

bool output_is_terminal(void);

/* What was printed to standard output has arrived there, or this fails. */
void output_finish(void);

#endif /* OUTPUT_H */
