// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text.h"

static unsigned char *read_file(const char *name, size_t *length)
{
	FILE *file = fopen(name, "re");
	unsigned char *data;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
		err(1, "%s", name);
	rewind(file);
	data = malloc(size + 1);
	if (!data)
		err(1, "%s", name);
	*length = fread(data, 1, size, file);
	if (ferror(file))
		err(1, "%s", name);
	fclose(file);
	return data;
}

void text_load(struct text *text, const char *name)
{
	const unsigned char *p, *newline, *end;

	text->start = read_file(name, &text->length);
	end = text->start + text->length;
	text->nr_lines = 0;
	for (p = text->start; p < end; p++)
		text->nr_lines += *p == '\n';
	if (!text->nr_lines)
		errx(1, "%s: there are no lines in it", name);
	text->lines = calloc(text->nr_lines, sizeof(*text->lines));
	if (!text->lines)
		err(1, "%s", name);
	p = text->start;
	for (size_t i = 0; i < text->nr_lines; i++) {
		newline = memchr(p, '\n', end - p);
		text->lines[i] = (struct line){ p, newline - p };
		p = newline + 1;
	}
}

/*
 * From here on, nothing calls the C library. Its functions choose their code by
 * the alignment of the data, so two runs would not count the same.
 */

int line_compare(const struct line *a, const struct line *b)
{
	size_t length = a->length < b->length ? a->length : b->length;

	for (size_t i = 0; i < length; i++) {
		if (a->start[i] != b->start[i])
			return a->start[i] < b->start[i] ? -1 : 1;
	}
	return (a->length > b->length) - (a->length < b->length);
}

static void sift_down(struct line *lines, size_t root, size_t nr)
{
	struct line moved = lines[root];
	size_t child;

	while ((child = 2 * root + 1) < nr) {
		if (child + 1 < nr && line_compare(&lines[child], &lines[child + 1]) < 0)
			child++;
		if (line_compare(&moved, &lines[child]) >= 0)
			break;
		lines[root] = lines[child];
		root = child;
	}
	lines[root] = moved;
}

void heap_sort(struct line *lines, size_t nr)
{
	struct line last;

	for (size_t root = nr / 2; root-- > 0; )
		sift_down(lines, root, nr);
	while (nr-- > 1) {
		last = lines[nr];
		lines[nr] = lines[0];
		lines[0] = last;
		sift_down(lines, 0, nr);
	}
}

static void merge(const struct line *a, const struct line *a_end,
		  const struct line *b, const struct line *b_end, struct line *to)
{
	while (a < a_end && b < b_end)
		*to++ = line_compare(a, b) <= 0 ? *a++ : *b++;
	while (a < a_end)
		*to++ = *a++;
	while (b < b_end)
		*to++ = *b++;
}

/* Merges runs of 1, 2, 4 ... lines from one array to the other and back. */
void merge_sort(struct line *lines, size_t nr, struct line *scratch)
{
	struct line *from = lines, *to = scratch, *other;
	size_t middle, end;

	for (size_t run = 1; run < nr; run *= 2) {
		for (size_t i = 0; i < nr; i += 2 * run) {
			middle = i + run < nr ? i + run : nr;
			end = i + 2 * run < nr ? i + 2 * run : nr;
			merge(from + i, from + middle, from + middle, from + end, to + i);
		}
		other = from;
		from = to;
		to = other;
	}
	if (from != lines) {
		for (size_t i = 0; i < nr; i++)
			lines[i] = from[i];
	}
}

static size_t word_length(const char *word)
{
	size_t length = 0;

	while (word[length])
		length++;
	return length;
}

size_t naive_search(const struct text *text, const char *word)
{
	size_t length = word_length(word), found = 0, i;

	for (size_t at = 0; at + length <= text->length; at++) {
		for (i = 0; i < length; i++) {
			if (text->start[at + i] != (unsigned char)word[i])
				break;
		}
		found += i == length;
	}
	return found;
}

/*
 * Boyer-Moore-Horspool: the text's byte under the end of the word decides how
 * far to move.
 */
size_t horspool_search(const struct text *text, const char *word)
{
	size_t length = word_length(word), found = 0, i;
	size_t shift[256];

	for (i = 0; i < 256; i++)
		shift[i] = length;
	for (i = 0; i + 1 < length; i++)
		shift[(unsigned char)word[i]] = length - 1 - i;
	for (size_t at = 0; at + length <= text->length;
	     at += shift[text->start[at + length - 1]]) {
		for (i = length; i > 0; i--) {
			if (text->start[at + i - 1] != (unsigned char)word[i - 1])
				break;
		}
		found += i == 0;
	}
	return found;
}
