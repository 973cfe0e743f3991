/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One side of a comparison: what vpmc stat -j has written, or would write.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SIDE_H
#define SIDE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/departures.h"
#include "common/quantiles.h"

/* the values of an event or a time in all runs */
struct series {
	char *name;
	uint64_t select;
	bool is_time;		/* nanoseconds; no event */
	bool left_out;		/* the processor lacks the event */
	bool undecided;		/* it may be left out when it is programmed, which it was not yet */
	uint64_t *value;	/* sorted */
	unsigned int nr;
	struct quantiles order;	/* if @nr is not 0 */
};

struct side {
	const char *name;	/* file, or words for what was just measured */
	char *subject;		/* command line, or "process 12" */
	const char *what;	/* "a command", "a process", "several threads" and so on */
	uint64_t runs;		/* of each group of --split */
	uint64_t all_runs;	/* of all groups */
	uint64_t warmup;
	/* of the machine; NULL if an earlier vpmc has written the file */
	char *cpu, *cpu_id, *kernel, *vpmc;
	bool no_inherit, stopped;
	uint64_t delay_ms;	/* -D */
	uint64_t timeout_ms;	/* --timeout */
	uint64_t timed_out;	/* number of runs that it has ended */
	bool early;		/* the runs ended before -D was over */
	uint64_t early_runs;	/* number of further ones that did, of which nothing is in here */
	bool not_started;	/* --stopped, and nobody has started the counters */
	bool input_was_read;
	bool incomplete;	/* the administrator or a program has ended the counting */
	uint64_t interrupted_by;
	uint64_t runs_wanted;	/* if not all were made */
	uint64_t exit_status, signal;	/* of the command */
	uint64_t living, replaced;
	struct departures left;
	struct series *series;
	unsigned int nr;
};

/* Reads a file. Fails if it cannot be read, or is not what vpmc stat -j writes. */
void side_read(struct side *side, const char *file);

/* Takes the numbers of an object. Messages call it @name. Gives the object back. */
void side_take(struct side *side, const char *name, struct json_object *object);

/* Returns the series of that name, or NULL. */
const struct series *side_find(const struct side *side, const char *name);

/* Returns the events as a list for -e. Those that were left out are optional in there. */
char *side_events(const struct side *side);

/* Fails with this status if a run of the command has not ended with status 0. */
#define STATUS_NO_SUCCESS	2

/*
 * Fails if the runs were not all made, did not all succeed, or have counted nothing, and if
 * --timeout has ended some of them. If the side was @measured just now, the exit status tells
 * what happened, as that of vpmc stat does.
 */
void side_check(const struct side *side, bool measured);

#endif /* SIDE_H */
