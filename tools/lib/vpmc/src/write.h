/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes reports: text in memory, and JSON's strings and commas.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_WRITE_H
#define VPMC_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "outfile.h"

/*
 * A text that grows. Its memory is not malloc()'s: a thread that writes a report holds the
 * locks of other threads' regions, and such a thread may be in a signal handler that has
 * interrupted its malloc(). @comma: the innermost object or array already has an element.
 */
struct writer {
	char *text;
	size_t length, room;
	bool comma, failed;
};

/* Returns 0 or -ENOMEM. */
int vpmc_writer_open(struct writer *w);

/* Frees the memory. */
void vpmc_writer_drop(struct writer *w);

/* Writes all to @to, closes that, and frees the memory. Returns 0 or -errno. */
int vpmc_writer_close(struct writer *w, struct outfile *to);

__attribute__((__format__(__printf__, 2, 3)))
void vpmc_put(struct writer *w, const char *format, ...);

/* Writes a name from outside: control characters become escapes such as \x1b. */
void vpmc_put_name(struct writer *w, const char *name);

/* Begin and end an object or an array. @key is NULL within an array. */
void vpmc_json_open(struct writer *w, const char *key, char bracket);
void vpmc_json_close(struct writer *w, char bracket);

void vpmc_json_string(struct writer *w, const char *key, const char *value);
void vpmc_json_number(struct writer *w, const char *key, unsigned long long value);
void vpmc_json_real(struct writer *w, const char *key, double value);

#endif /* VPMC_WRITE_H */
