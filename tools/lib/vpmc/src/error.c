// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Fills in struct vpmc_error from a reason.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* ABI: programs have these, and arrays of the first, in their own memory. See vpmc(7). */
#ifdef __x86_64__
_Static_assert(sizeof(struct vpmc_event) == 72, "vpmc_event never grows");
#else
_Static_assert(sizeof(struct vpmc_event) == 64, "vpmc_event never grows");
#endif
_Static_assert(sizeof(struct vpmc_error) == 1400, "vpmc_error never grows");

/* Is this a byte of a character of UTF-8, and not the first one? */
static bool is_within(char byte)
{
	return (byte & 0xc0) == 0x80;
}

/*
 * Copies what fits, in whole characters. Control characters become blanks, because the text
 * must be one line that commands no terminal.
 */
static void take(char *to, size_t size, const char *from)
{
	unsigned int back = 3;
	size_t i;

	for (i = 0; from[i] && i + 1 < size; i++)
		to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? ' ' : from[i];
	while (i && back-- && is_within(from[i]))
		i--;
	to[i] = '\0';
}

#define TAKE(array, from)	take(array, sizeof(array), from)

void vpmc_error_none(struct vpmc_error *error)
{
	if (!error)
		return;
	memset(error, 0, sizeof(*error));
	error->event = -1;
	error->position = -1;
}

int vpmc_error_set(struct vpmc_error *error, int err, unsigned int reason,
		   const char *what, const char *why, const char *remedy)
{
	if (!error)
		return err;
	vpmc_error_none(error);
	error->errnum = -err;
	error->reason = reason;
	TAKE(error->what, what);
	TAKE(error->why, why ? why : vpmc_reason_text(reason));
	TAKE(error->remedy, remedy ? remedy : vpmc_reason_help(reason));
	snprintf(error->text, sizeof(error->text), "%s: %s%s%s", error->what,
		 error->why, error->remedy[0] ? "; " : "", error->remedy);
	return err;
}

static const char *remedy_of(int err)
{
	switch (err) {
	case -EMFILE:
		return "close files, or raise the limit of open files (ulimit -n)";
	case -ENFILE:
		return "raise the sysctl fs.file-max";
	}
	return NULL;
}

int vpmc_error_system(struct vpmc_error *error, int err, const char *what)
{
	char buffer[128];

	if (!error)
		return err;
	if (err == -ESRCH)
		return vpmc_error_set(error, err, VPMC_WHY_NO_THREAD, what, NULL, NULL);
	/* This is the GNU variant of strerror_r(). It never fails. */
	return vpmc_error_set(error, err, VPMC_WHY_SYSTEM, what,
			      strerror_r(-err, buffer, sizeof(buffer)),
			      remedy_of(err));
}
