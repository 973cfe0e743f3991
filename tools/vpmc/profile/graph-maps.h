/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the code of a program was mapped from, as the preloaded library has listed it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_MAPS_H
#define GRAPH_MAPS_H

#include <stdint.h>

#include "profile/identity.h"

/* code that was mapped */
struct mapped {
	uint64_t begin, end, offset;
	char *path;
	struct identity identity;
};

/* list of the code that was mapped at a time */
struct maps {
	struct mapped *mapped;
	unsigned int nr;
};

/* Reads a list. It is empty if the file cannot be read. */
void maps_read(struct maps *maps, const char *file);

/* Returns what is at @address, or NULL. */
const struct mapped *maps_find(const struct maps *maps, uint64_t address);

void maps_free(struct maps *maps);

#endif /* GRAPH_MAPS_H */
