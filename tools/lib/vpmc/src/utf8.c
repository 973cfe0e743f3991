// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Makes UTF-8 of text that may have bytes of any kind.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

unsigned int vpmc_utf8_length(const unsigned char *s)
{
	unsigned int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 :
			      s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
			      s[0] < 0xf5 ? 4 : 0, i;

	for (i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* overlong, a surrogate, or beyond the last character */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/* Characters of C1 have two bytes. */
static bool is_escaped(const unsigned char *s, unsigned int length)
{
	return !length || *s < ' ' || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0) ||
	       (*s == '\\' && s[1] == 'x');
}

unsigned int vpmc_utf8_printable(const unsigned char *s, char to[VPMC_PRINTABLE])
{
	unsigned int length = vpmc_utf8_length(s), taken = length ? length : 1, i;

	if (is_escaped(s, length)) {
		for (i = 0; i < taken; i++)
			snprintf(to + 4 * i, VPMC_PRINTABLE - 4 * i, "\\x%02x", s[i]);
	} else {
		memcpy(to, s, taken);
		to[taken] = '\0';
	}
	return taken;
}

char *vpmc_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char *copy = malloc(2 * strlen(text) + 1), *at = copy;
	unsigned int length;

	if (!copy)
		return NULL;
	for (; *s; s += length) {
		length = vpmc_utf8_length(s);
		if (length) {
			memcpy(at, s, length);
			at += length;
			continue;
		}
		*at++ = 0xc0 | *s >> 6;
		*at++ = 0x80 | (*s & 0x3f);
		length = 1;
	}
	*at = '\0';
	return copy;
}
