// SPDX-License-Identifier: GPL-2.0
/*
 * Reports errors and ends the command.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vpmc.h>

#include "common/fail.h"
#include "common/printable.h"

static const char *name = "vpmc";
static void (*last_act)(void);

void fail_after(void (*act)(void))
{
	last_act = act;
}

void fail_as(const char *as)
{
	name = as;
}

/*
 * Prints one line with one write(), so that lines of several processes do not
 * mix.
 */
static void say(const char *format, va_list args)
{
	char *line = NULL, *plain;
	int length = vasprintf(&line, format, args);

	if (length < 0) {
		static const char none[] = "vpmc: no memory\n";

		(void)!write(STDERR_FILENO, none, sizeof(none) - 1);
		return;
	}
	plain = try_printable(line);
	dprintf(STDERR_FILENO, "%s: %s\n", name, plain ?: line);
	free(plain);
	free(line);
}

void fail(int status, const char *format, ...)
{
	void (*act)(void) = last_act;
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	last_act = NULL;
	if (act)
		act();
	exit(status);
}

/* Returns the advice for reasons to which the library gives no remedy. */
static const char *other_remedy(unsigned int reason)
{
	switch (reason) {
	case VPMC_WHY_NO_THREAD:
		return "name one that lives";
	case VPMC_WHY_KERNEL_THREAD:
		return "name a program's";
	default:
		return "vpmc info tells what is possible";
	}
}

void fail_error(const struct vpmc_error *error)
{
	fail(STATUS_OURS, "%s: %s; %s", error->what, error->why,
	     *error->remedy ? error->remedy : other_remedy(error->reason));
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void *get_memory(void *old, size_t members, size_t size)
{
	void *memory = reallocarray(old, members ? members : 1, size);

	if (!memory)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	return memory;
}

char *get_text(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	va_end(args);
	return text;
}
