// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writes reports: text in memory, and JSON's strings and commas.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "write.h"

int writer_open(struct writer *w)
{
	*w = (struct writer){};
	w->file = open_memstream(&w->text, &w->length);
	return w->file ? 0 : -ENOMEM;
}

int writer_close(struct writer *w, int fd)
{
	int err = ferror(w->file) ? -ENOMEM : 0;
	size_t done = 0;
	ssize_t n;

	if (fclose(w->file))
		err = -ENOMEM;
	while (!err && done < w->length) {
		n = write(fd, w->text + done, w->length - done);
		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			err = -errno;
	}
	free(w->text);
	return err;
}

void put(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(w->file, format, args);
	va_end(args);
}

/* Returns how many bytes form the UTF-8 character at @s, or 0 if it is none. */
static unsigned int utf8_length(const unsigned char *s)
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

/*
 * Writes a string. A byte that is not UTF-8 becomes the character of the same
 * number.
 */
static void quoted(struct writer *w, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int length;

	put(w, "\"");
	for (; *s; s += length) {
		length = utf8_length(s);
		if (*s == '"' || *s == '\\')
			put(w, "\\%c", *s);
		else if (*s < 0x20 || !length)
			put(w, "\\u%04x", *s);
		else
			put(w, "%.*s", (int)length, (const char *)s);
		if (!length)
			length = 1;
	}
	put(w, "\"");
}

static void begin_value(struct writer *w, const char *key)
{
	if (w->comma)
		put(w, ",");
	w->comma = true;
	if (!key)
		return;
	quoted(w, key);
	put(w, ":");
}

void json_open(struct writer *w, const char *key, char bracket)
{
	begin_value(w, key);
	put(w, "%c", bracket);
	w->comma = false;
}

void json_close(struct writer *w, char bracket)
{
	put(w, "%c", bracket);
	w->comma = true;
}

void json_string(struct writer *w, const char *key, const char *value)
{
	begin_value(w, key);
	quoted(w, value);
}

void json_number(struct writer *w, const char *key, unsigned long long value)
{
	begin_value(w, key);
	put(w, "%llu", value);
}

/* Some locales print a comma in place of the point. */
void json_real(struct writer *w, const char *key, double value)
{
	char text[400], *point;

	begin_value(w, key);
	snprintf(text, sizeof(text), "%.6f", value);
	for (point = text; *point; point++)
		if (*point == ',')
			*point = '.';
	put(w, "%s", text);
}
