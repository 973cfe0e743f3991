/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports an error in one line, and ends the command.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef FAIL_H
#define FAIL_H

#include <stddef.h>

/* Exit statuses, those of env(1) and timeout(1). */
#define STATUS_OURS		125	/* failures of vpmc itself, not of COMMAND */
#define STATUS_NOT_EXECUTABLE	126
#define STATUS_NOT_FOUND	127
#define STATUS_SIGNAL		128	/* plus the number of the signal */

/*
 * Prints "vpmc: WHAT: WHY; REMEDY" and ends the process with @status. @format
 * is the text after "vpmc: ", without a newline.
 */
__attribute__((__noreturn__, __format__(__printf__, 2, 3)))
void fail(int status, const char *format, ...);

/*
 * When the command fails, it calls @act behind the message, so that what was measured before
 * is not lost. @act may be NULL. It is not called again if it fails itself.
 */
void fail_after(void (*act)(void));

/* Replaces "vpmc" by @as in all later messages. */
void fail_as(const char *as);

/* Prints an error of the library, and ends the process with STATUS_OURS. */
struct vpmc_error;
__attribute__((__noreturn__))
void fail_error(const struct vpmc_error *error);

/* Prints a line as fail() does, and returns. */
__attribute__((__format__(__printf__, 1, 2)))
void note(const char *format, ...);

/*
 * Allocate memory as realloc() and asprintf() do. They call fail() on errors.
 */
void *get_memory(void *old, size_t members, size_t size);
char *get_text(const char *format, ...)
	__attribute__((__format__(__printf__, 1, 2)));

#endif /* FAIL_H */
