/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is counted together: events in groups that fit into the counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PLAN_H
#define PLAN_H

#include <vpmc.h>

#include "stat.h"

/* Events that one set counts. */
struct group {
	struct vpmc_event *events;
	unsigned int nr;
};

/* Without --split there is one group; it has no events with "-e none". */
struct plan {
	struct group *groups;
	unsigned int nr;
	const char *note;	/* why nothing but the run time is counted, or NULL */
};

/* Marked with '?', and this processor has not got it. */
static inline bool left_out(const struct vpmc_event *event)
{
	return event->flags & VPMC_EVENT_LEFT_OUT;
}

/* From -e, --metrics and --split. Fails if something is wrong with them. */
void plan_make(struct plan *plan, const struct stat_options *options);

/*
 * What to say of a set that was refused: of one that does not fit, how many of
 * its events do. Ends the process.
 */
__attribute__((__noreturn__))
void plan_refused(const struct group *group, const struct vpmc_error *error);

#endif /* PLAN_H */
