// SPDX-License-Identifier: GPL-2.0
/*
 * Names from outside in text for people.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <string.h>

#include <utf8.h>

#include "common/fail.h"
#include "common/printable.h"

char *try_printable(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	/* an escape is four times as long as its byte */
	char *copy = malloc(4 * strlen(text) + VPMC_PRINTABLE), *to = copy;

	if (!copy)
		return NULL;
	for (*to = '\0'; *s; to += strlen(to))
		s += vpmc_utf8_printable(s, to);
	return copy;
}

char *printable(const char *text)
{
	char *copy = try_printable(text);

	if (!copy)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	return copy;
}

void print_name(FILE *file, const char *text)
{
	char *name = printable(text);

	fputs(name, file);
	free(name);
}
