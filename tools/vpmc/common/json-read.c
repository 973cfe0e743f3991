// SPDX-License-Identifier: GPL-2.0
/*
 * Reads JSON files, which may be anything.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/json-read.h"

static bool is_blank(const char *text, size_t length)
{
	static const char blank[] = { ' ', '\t', '\n', '\r' };
	size_t i;

	for (i = 0; i < length && memchr(blank, text[i], sizeof(blank)); i++)
		;
	return i == length;
}

/*
 * Parses the next part of a file. Returns false if nothing behind it matters: it is not
 * JSON, or there is @more than one value.
 */
static bool take_part(struct json_tokener *tokener, struct json_object **object,
		      const char *part, size_t length, bool *more)
{
	size_t end = 0;

	if (!*object) {
		*object = json_tokener_parse_ex(tokener, part, length);
		if (json_tokener_get_error(tokener) == json_tokener_continue)
			return true;
		if (!*object)
			return false;
		end = json_tokener_get_parse_end(tokener);
	}
	/* json-c stops behind the first value, and says nothing of the others. */
	*more = !is_blank(part + end, length - end);
	return !*more;
}

struct json_object *json_read(const char *name, bool *more)
{
	struct json_tokener *tokener = json_tokener_new();
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct json_object *object = NULL;
	static char part[1 << 16];
	ssize_t n;

	if (!tokener)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	*more = false;
	while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0)
		if (!take_part(tokener, &object, part, n, more))
			break;
	if (fd >= 0)
		close(fd);
	json_tokener_free(tokener);
	if (!*more)
		return object;
	json_object_put(object);
	return NULL;
}

/* Names of the objects that are open, and how many objects and arrays are around each */
struct names {
	struct name {
		char *text;
		unsigned int depth;
	} *name;
	size_t nr;
	unsigned int depth;
};

/* Returns a string as it is written, with its quotes, of which the first one was read. */
static char *read_string(FILE *file, int quote)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	int c = quote;

	if (!to)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	do {
		putc(c, to);
		if (c == '\\' && (c = getc(file)) != EOF)
			putc(c, to);
		c = getc(file);
	} while (c != quote && c != EOF);
	putc(quote, to);
	fclose(to);
	return text;
}

/* json-c reads comments, too, which begin as in C. The first character was read. */
static void skip_comment(FILE *file)
{
	int c = getc(file), before = 0;
	bool is_line = c == '/';

	while ((c = getc(file)) != EOF && !(is_line ? c == '\n' : before == '*' && c == '/'))
		before = c;
}

/* Returns what a string means: the same letter can be written in several ways. */
static char *meaning(const char *string)
{
	struct json_object *value = json_tokener_parse(string);
	char *text = get_text("%s", value ? json_object_get_string(value) : "");

	json_object_put(value);
	return text;
}

/* Keeps the name. Returns false if its object has it already. */
static bool add_name(struct names *names, char *text)
{
	size_t i;

	for (i = names->nr; i && names->name[i - 1].depth == names->depth; i--)
		if (!strcmp(names->name[i - 1].text, text))
			return false;
	names->name = get_memory(names->name, names->nr + 1, sizeof(*names->name));
	names->name[names->nr++] = (struct name){ .text = text, .depth = names->depth };
	return true;
}

static void end_object(struct names *names)
{
	while (names->nr && names->name[names->nr - 1].depth == names->depth)
		free(names->name[--names->nr].text);
	names->depth--;
}

/* Returns the first name that is there twice in an object, or NULL. */
static char *find_equal(struct names *names, FILE *file)
{
	char *string = NULL, *text;
	int c;

	while ((c = getc(file)) != EOF) {
		switch (c) {
		case '"':
		case '\'':
			free(string);
			string = read_string(file, c);
			break;
		case '/':
			skip_comment(file);
			break;
		case '{':
		case '[':
			names->depth++;
			break;
		case '}':
		case ']':
			end_object(names);
			break;
		case ':':
			text = meaning(string ? string : "");
			if (add_name(names, text))
				break;
			free(string);
			return text;
		}
	}
	free(string);
	return NULL;
}

char *json_equal_names(const char *name)
{
	FILE *file = fopen(name, "re");
	struct names names = {};
	char *found = file ? find_equal(&names, file) : NULL, *c;

	for (c = found; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (file)
		fclose(file);
	while (names.nr)
		free(names.name[--names.nr].text);
	free(names.name);
	return found;
}
