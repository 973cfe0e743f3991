/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of how much more may be counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/quantiles.h"
#include "compare/side.h"

/* A part of --limit: "0.5%", "1000", or one of these behind "instructions=" */
struct limit {
	char *text;		/* "0.5%" */
	char *name;		/* event or time, or NULL: all events */
	bool is_percent;
	uint64_t number;	/* of events, or millionths of a percent */
};

struct limits {
	struct limit *limit;
	unsigned int nr;
};

/*
 * Appends the argument of a --limit to a list, which may be NULL. Fails if it is not clear
 * whether a comma separates limits or is in a number, as in "1,000" and "0,5%".
 */
char *limits_add(char *list, char *more);

/* Parses the list of --limit, or none if it is NULL. Fails if there is no such limit. */
void limits_parse(struct limits *limits, const char *list);

/*
 * Gives the limits their names as both sides have them. Fails if nothing is compared that a
 * limit is of: a gate that looks at nothing would let everything pass.
 */
void limits_resolve(struct limits *limits, const struct side *base, const struct side *now);

/* Returns the limit of a series, or NULL. The last one that names it counts. */
const struct limit *limits_find(const struct limits *limits, const struct series *series);

/* Returns true if @now is more than the limit permits. The limit itself is permitted. */
bool limit_passed(const struct limit *limit, twice_t twice_base, twice_t twice_now);

#endif /* LIMIT_H */
