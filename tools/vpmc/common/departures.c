// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that were counted, and go on without being counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "common/departures.h"
#include "common/fail.h"

static const struct {
	const char *member, *word, *text;
} ways[DEPARTURES] = {
	[DEPARTURE_CONTROL] = { "left_control", "control", "programmed counters of their own" },
	[DEPARTURE_UNLINK] = { "left_unlink", "unlink", "unlinked their counters" },
	[DEPARTURE_EXEC] = { "left_exec", "exec", "executed a program with other privileges" },
	[DEPARTURE_REVOCATION] = { "lost", "revocation", "lost their counters, which were taken away" },
};

void departures_add(struct departures *to, const struct vpmc_read *sums)
{
	to->number[DEPARTURE_CONTROL] += sums->left_control;
	to->number[DEPARTURE_UNLINK] += sums->left_unlink;
	to->number[DEPARTURE_EXEC] += sums->left_exec;
	to->number[DEPARTURE_REVOCATION] += sums->lost;
}

const char *departure_member(unsigned int way)
{
	return ways[way].member;
}

const char *departure_word(unsigned int way)
{
	return ways[way].word;
}

const char *departure_text(unsigned int way)
{
	return ways[way].text;
}

void departures_note(const struct departures *left, const char *missing)
{
	unsigned int way;

	for (way = 0; way < DEPARTURES; way++)
		if (left->number[way])
			note("%llu threads: %s; %s",
			     (unsigned long long)left->number[way],
			     ways[way].text, missing);
}
