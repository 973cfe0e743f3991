/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names from outside in text for people: of regions and threads, and arguments of commands.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PRINTABLE_H
#define PRINTABLE_H

#include <stdio.h>

/*
 * Returns a copy of @text that can command no terminal and begins no line, which the caller
 * frees. Control characters, and bytes that are no character, are as in tables: \x1b.
 */
char *printable(const char *text);

/* The same, and NULL if there is no memory */
char *try_printable(const char *text);

/* Prints @text in this way. */
void print_name(FILE *file, const char *text);

#endif /* PRINTABLE_H */
