// SPDX-License-Identifier: GPL-2.0
/*
 * A list of processors, such as 0-3,6.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "cpus/list.h"

#define FOLDER	"/sys/devices/system/cpu/"

__attribute__((__noreturn__))
static void does_not_exist(const char *cpu)
{
	fail(STATUS_OURS, "-C %s: there is no such processor; lscpu -e lists those that there are",
	     cpu);
}

/* A number of the list. One that is too large for a number of C is the largest of these. */
struct number {
	unsigned long value;
	const char *text;	/* as it was written, of this length */
	int length;
};

/* Reads a number at *@at, and moves *@at behind it. */
static bool take_number(const char **at, struct number *number)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	number->text = *at;
	number->value = strtoul(*at, &end, 10);
	number->length = end - *at;
	*at = end;
	return true;
}

/* Reads a number or a range at *@at, and moves *@at behind it. */
static bool take_range(const char **at, struct number *first, struct number *last)
{
	if (!take_number(at, first))
		return false;
	*last = *first;
	if (**at != '-')
		return true;
	++*at;
	return take_number(at, last);
}

void cpus_list_parse(struct cpus_list *list, const char *text)
{
	struct number first, last;
	const char *at = text;

	*list = (struct cpus_list){};
	for (;; at++) {
		if (!take_range(&at, &first, &last) || (*at && *at != ','))
			fail(STATUS_OURS, "-C %s: not a list of processors; write numbers and ranges, such as 0-3,6",
			     text);
		if (first.value > last.value)
			fail(STATUS_OURS, "-C %.*s-%.*s: goes backwards; write %.*s-%.*s",
			     first.length, first.text, last.length, last.text,
			     last.length, last.text, first.length, first.text);
		if (last.value >= LIST_ROOM)
			does_not_exist(get_text("%.*s", last.length, last.text));
		memset(&list->has[first.value], true, last.value - first.value + 1);
		if (!*at)
			return;
	}
}

/*
 * Reads a list of the kernel's. Returns false if it cannot be read, as without /sys: what is
 * wrong is then left to CONTROL.
 */
static bool read_list(const char *name, struct cpus_list *list)
{
	char text[4096];
	FILE *file = fopen(name, "re");
	bool is_there = file && fgets(text, sizeof(text), file);

	if (file)
		fclose(file);
	if (!is_there)
		return false;
	text[strcspn(text, "\n")] = 0;
	cpus_list_parse(list, text);
	return true;
}

void cpus_list_check(const struct cpus_list *list)
{
	struct cpus_list present, online;
	unsigned int i;

	if (!read_list(FOLDER "present", &present) || !read_list(FOLDER "online", &online))
		return;
	for (i = 0; i < LIST_ROOM; i++)
		if (list->has[i] && !present.has[i])
			does_not_exist(get_text("%u", i));
	for (i = 0; i < LIST_ROOM; i++)
		if (list->has[i] && !online.has[i])
			fail(STATUS_OURS, "-C %u: this processor is offline, so nothing is counted; leave it out, or echo 1 >" FOLDER "cpu%u/online",
			     i, i);
}
