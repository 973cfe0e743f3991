/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is due at which time while something is measured: the end of -D, each interval of -I
 * or --interval, and --timeout.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MOMENTS_H
#define MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "stat/stat-options.h"

enum moment {
	MOMENT_NONE,
	MOMENT_BEGIN,		/* -D is over: what was counted until now is left out */
	MOMENT_INTERVAL,
	MOMENT_TIMEOUT,		/* --timeout: COMMAND gets SIGTERM, or the measurement ends */
	MOMENT_IMPATIENT,	/* COMMAND still runs, some seconds after that SIGTERM */
};

/* Times are nanoseconds of now(); 0 means never. */
struct moments {
	uint64_t begin;		/* since when the counts are those of the result */
	uint64_t interval;	/* length, or 0 */
	uint64_t timeout;	/* --timeout, or 0 */
	uint64_t last;		/* end of the latest interval */
	uint64_t next;		/* end of the one that runs */
	uint64_t end;		/* of the measurement */
	uint64_t patience;
	uint64_t over;		/* when it has ended */
	bool delayed;		/* -D is not over yet */
};

/* The measurement begins now. */
void moments_begin(struct moments *moments, const struct stat_options *options);

/* Returns the milliseconds until something is due, or -1: nothing will be. For poll(). */
int moments_wait(const struct moments *moments);

/*
 * Returns what is due now, each moment once. If there are several, moments_wait() returns 0
 * until all were returned. Callers look for the end of COMMAND in between.
 */
enum moment moments_due(struct moments *moments);

/* What intervals are printed with: when the latest one ended, and how long it was */
struct interval {
	uint64_t time;		/* nanoseconds since the measurement began, without -D */
	uint64_t length;	/* nanoseconds */
};

/* Ends the interval that runs, and begins another one. */
struct interval moments_interval(struct moments *moments);

/*
 * The measurement ends now, and with it the interval that runs. Returns the nanoseconds since
 * it began, without -D.
 */
uint64_t moments_end(struct moments *moments);

#endif /* MOMENTS_H */
