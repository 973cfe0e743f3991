/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the command ends when it cannot go on: one line, one status, nothing left
 * half done.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef FAIL_H
#define FAIL_H

#include <stddef.h>

/* Exit statuses, those of env(1) and timeout(1). */
#define STATUS_OURS		125	/* anything that is not COMMAND's */
#define STATUS_NOT_EXECUTABLE	126
#define STATUS_NOT_FOUND	127
#define STATUS_SIGNAL		128	/* + its number */

/*
 * Prints "vpmc: WHAT: WHY; REMEDY" and ends the process with @status. The format
 * is all behind "vpmc: ", without a newline.
 */
__attribute__((__noreturn__, __format__(__printf__, 2, 3)))
void fail(int status, const char *format, ...);

/* Another name than "vpmc" for all that follows. */
void fail_as(const char *as);

/* The same of what the library refuses, with STATUS_OURS. */
struct vpmc_error;
__attribute__((__noreturn__))
void fail_error(const struct vpmc_error *error);

/* The same line, and the process goes on. */
__attribute__((__format__(__printf__, 1, 2)))
void note(const char *format, ...);

/* malloc() and its like, or fail(). */
void *get_memory(void *old, size_t members, size_t size);
char *get_text(const char *format, ...)
	__attribute__((__format__(__printf__, 1, 2)));

#endif /* FAIL_H */
