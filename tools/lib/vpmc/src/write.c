// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writes reports: text in memory, and JSON's strings and commas.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "utf8.h"
#include "write.h"

int vpmc_writer_open(struct writer *w)
{
	*w = (struct writer){ .room = 1 << 16 };
	w->text = mmap(NULL, w->room, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return w->text == MAP_FAILED ? -ENOMEM : 0;
}

void vpmc_writer_drop(struct writer *w)
{
	munmap(w->text, w->room);
}

int vpmc_writer_close(struct writer *w, struct outfile *to)
{
	int err = w->failed ? -ENOMEM : 0;

	if (err)
		vpmc_outfile_drop(to);
	else
		err = vpmc_outfile_write(to, w->text, w->length);
	vpmc_writer_drop(w);
	return err;
}

/* Makes room for @length more bytes and a NUL. */
static bool reserve(struct writer *w, size_t length)
{
	size_t room = w->room;
	void *text;

	while (room - w->length <= length)
		room *= 2;
	if (room == w->room)
		return true;
	text = mremap(w->text, w->room, room, MREMAP_MAYMOVE);
	if (text == MAP_FAILED)
		return false;
	w->text = text;
	w->room = room;
	return true;
}

void vpmc_put(struct writer *w, const char *format, ...)
{
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(w->text + w->length, w->room - w->length, format, args);
	if (length < 0 || w->failed || !reserve(w, length))
		w->failed = true;
	else
		w->length += vsnprintf(w->text + w->length, w->room - w->length,
				       format, again);
	va_end(again);
	va_end(args);
}

void vpmc_put_name(struct writer *w, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	char text[VPMC_PRINTABLE];

	while (*s) {
		s += vpmc_utf8_printable(s, text);
		vpmc_put(w, "%s", text);
	}
}

/*
 * Writes a string. A byte that is not UTF-8 becomes the character of the same
 * number.
 */
static void quoted(struct writer *w, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int length;

	vpmc_put(w, "\"");
	for (; *s; s += length) {
		length = vpmc_utf8_length(s);
		if (*s == '"' || *s == '\\')
			vpmc_put(w, "\\%c", *s);
		else if (*s < 0x20 || !length)
			vpmc_put(w, "\\u%04x", *s);
		else
			vpmc_put(w, "%.*s", (int)length, (const char *)s);
		if (!length)
			length = 1;
	}
	vpmc_put(w, "\"");
}

static void begin_value(struct writer *w, const char *key)
{
	if (w->comma)
		vpmc_put(w, ",");
	w->comma = true;
	if (!key)
		return;
	quoted(w, key);
	vpmc_put(w, ":");
}

void vpmc_json_open(struct writer *w, const char *key, char bracket)
{
	begin_value(w, key);
	vpmc_put(w, "%c", bracket);
	w->comma = false;
}

void vpmc_json_close(struct writer *w, char bracket)
{
	vpmc_put(w, "%c", bracket);
	w->comma = true;
}

void vpmc_json_string(struct writer *w, const char *key, const char *value)
{
	begin_value(w, key);
	quoted(w, value);
}

void vpmc_json_number(struct writer *w, const char *key, unsigned long long value)
{
	begin_value(w, key);
	vpmc_put(w, "%llu", value);
}

/* Some locales print a comma in place of the point. */
void vpmc_json_real(struct writer *w, const char *key, double value)
{
	char text[400], *point;

	begin_value(w, key);
	snprintf(text, sizeof(text), "%.6f", value);
	for (point = text; *point; point++)
		if (*point == ',')
			*point = '.';
	vpmc_put(w, "%s", text);
}
