// SPDX-License-Identifier: GPL-2.0
/*
 * Descendants that left a family, and go on without being counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "departures.h"

static const struct {
	const char *member, *text;
} ways[DEPARTURES] = {
	{ "left_control", "programmed counters of their own" },
	{ "left_unlink", "unlinked their counters" },
	{ "left_exec", "executed a program with other privileges" },
};

void departures_add(struct departures *to, const struct vpmc_read *sums)
{
	to->number[0] += sums->left_control;
	to->number[1] += sums->left_unlink;
	to->number[2] += sums->left_exec;
}

const char *departure_member(unsigned int way)
{
	return ways[way].member;
}

const char *departure_text(unsigned int way)
{
	return ways[way].text;
}
