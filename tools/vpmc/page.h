/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What vpmc graph has written, as a page and as a table.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PAGE_H
#define PAGE_H

#include <json-c/json.h>
#include <stdio.h>

struct page;

/* Fails if @file is not of vpmc graph. */
struct page *page_read(const char *file);

/* Of samples, which have the same members, as far as a page shows them. */
struct page *page_of(struct json_object *object);

/* One HTML file that needs no other. */
void page_print_html(FILE *file, const struct page *page);
void page_print_text(FILE *file, const struct page *page);

/*
 * page.html, which has PAGE_DATA where the data goes: what vpmc graph writes, without
 * its trees, or samples as vpmc-samples.schema.json describes them. Of these it has
 * a timeline of the threads, too.
 */
#define PAGE_DATA	"@DATA@"
extern const char page_html[];

#endif /* PAGE_H */
