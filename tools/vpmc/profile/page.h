/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prints the result of vpmc graph as a page and as a table.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PAGE_H
#define PAGE_H

#include <json-c/json.h>
#include <stdio.h>

struct page;

/* Reads a graph. Fails if vpmc graph has not written @file. */
struct page *page_read(const char *file);

/*
 * Makes a page of samples. @object has those members of a graph that a page
 * shows.
 */
struct page *page_of(struct json_object *object);

/* Prints one HTML file that needs no other file. */
void page_print_html(FILE *file, const struct page *page);
void page_print_text(FILE *file, const struct page *page);

/*
 * Text of page.html. PAGE_DATA is replaced by the JSON of vpmc graph without
 * its trees, or by samples as vpmc-samples.schema.json describes them. For
 * samples, the page has a timeline of the threads.
 */
#define PAGE_DATA	"@DATA@"
extern const char page_html[];

#endif /* PAGE_H */
