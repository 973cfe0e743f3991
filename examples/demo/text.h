/* SPDX-License-Identifier: MIT */
/* The lines of a text, with two ways to sort and two ways to search them. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>

struct line {
	const unsigned char *start;
	size_t length;
};

struct text {
	const unsigned char *start;
	size_t length;
	struct line *lines;
	size_t nr_lines;
};

/* Read a file and find its lines, or end the program. */
void text_load(struct text *text, const char *file);

/*
 * Less than, equal to or greater than zero, if a sorts before, with or after b.
 */
int line_compare(const struct line *a, const struct line *b);

void heap_sort(struct line *lines, size_t nr);
void merge_sort(struct line *lines, size_t nr, struct line *scratch);

/* How often word occurs. */
size_t naive_search(const struct text *text, const char *word);
size_t horspool_search(const struct text *text, const char *word);

#endif /* TEXT_H */
