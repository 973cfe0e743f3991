// SPDX-License-Identifier: GPL-2.0
/*
 * What is due at which time while something is measured.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <limits.h>

#include "common/clock.h"
#include "stat/moments.h"

#define MS		1000000ULL
#define PATIENCE	(2000 * MS)	/* until we say that COMMAND does not end */

/*
 * When the interval ends that runs now. If the measurement ends at that time, or a millisecond
 * later, its end is the interval's.
 */
static uint64_t next_after(const struct moments *moments, uint64_t last)
{
	uint64_t next = last + moments->interval;

	return moments->interval && (!moments->end || next + MS < moments->end) ? next : 0;
}

/* What is counted from now on is part of the result. */
static void begin_now(struct moments *moments)
{
	moments->delayed = false;
	moments->begin = moments->last = now();
	moments->end = moments->timeout ? moments->begin + moments->timeout : 0;
	moments->next = next_after(moments, moments->begin);
}

void moments_begin(struct moments *moments, const struct stat_options *options)
{
	*moments = (struct moments){
		.interval = (options->series_ms ? options->series_ms :
			     options->interval_ms) * MS,
		.timeout = options->timeout_ms * MS,
	};
	begin_now(moments);
	moments->delayed = options->delay_ms;
	moments->begin += options->delay_ms * MS;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

int moments_wait(const struct moments *moments)
{
	uint64_t time = now(), next;

	next = moments->delayed ? moments->begin :
	       earlier(moments->next, earlier(moments->end, moments->patience));
	if (!next)
		return -1;
	if (time >= next)
		return 0;
	next = (next - time) / MS + 1;
	return next < INT_MAX ? next : INT_MAX;
}

/* Is it time for @moment? Then it is not due again. */
static bool is_due(uint64_t *moment)
{
	if (!*moment || now() < *moment)
		return false;
	*moment = 0;
	return true;
}

enum moment moments_due(struct moments *moments)
{
	if (moments->delayed) {
		if (now() < moments->begin)
			return MOMENT_NONE;
		begin_now(moments);
		return MOMENT_BEGIN;
	}
	/* Intervals come last: printing them may take longer than they are. */
	if (is_due(&moments->end)) {
		moments->patience = now() + PATIENCE;
		return MOMENT_TIMEOUT;
	}
	if (is_due(&moments->patience))
		return MOMENT_IMPATIENT;
	return moments->next && now() >= moments->next ? MOMENT_INTERVAL : MOMENT_NONE;
}

struct interval moments_interval(struct moments *moments)
{
	uint64_t time = moments->over ?: now();
	struct interval interval = {
		.time = time - moments->begin, .length = time - moments->last,
	};

	moments->last = time;
	/* After SIGSTOP, one interval is longer, and none is made up for it. */
	while (moments->next && moments->next <= time)
		moments->next = next_after(moments, moments->next);
	return interval;
}

uint64_t moments_end(struct moments *moments)
{
	moments->over = now();
	return moments->delayed ? 0 : moments->over - moments->begin;
}
