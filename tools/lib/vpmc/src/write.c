// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writes reports: text in memory, and JSON's strings and commas.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "utf8.h"
#include "write.h"

int vpmc_writer_open(struct writer *w)
{
	*w = (struct writer){};
	w->file = open_memstream(&w->text, &w->length);
	return w->file ? 0 : -ENOMEM;
}

int vpmc_writer_close(struct writer *w, struct outfile *to)
{
	int err = ferror(w->file) ? -ENOMEM : 0;

	if (fclose(w->file))
		err = -ENOMEM;
	if (err)
		vpmc_outfile_drop(to);
	else
		err = vpmc_outfile_write(to, w->text, w->length);
	free(w->text);
	return err;
}

void vpmc_put(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(w->file, format, args);
	va_end(args);
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
