/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A list of processors, such as 0-3,6.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CPUS_LIST_H
#define CPUS_LIST_H

#include <stdbool.h>

#define LIST_ROOM	8192	/* as many as Linux for x86 can have */

struct cpus_list {
	bool has[LIST_ROOM];
};

/*
 * Parses the list of -C. A processor that is named twice is there once. Fails if the text is
 * no list of processors.
 */
void cpus_list_parse(struct cpus_list *list, const char *text);

/* Fails if one of them does not exist or is offline. */
void cpus_list_check(const struct cpus_list *list);

#endif /* CPUS_LIST_H */
