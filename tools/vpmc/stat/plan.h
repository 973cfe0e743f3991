/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plans what is counted together: groups of events that fit into the counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PLAN_H
#define PLAN_H

#include <vpmc.h>

#include "stat/stat-options.h"

/*
 * Events of one set. With @may_move, the kernel chooses another counter for an event
 * whose counter is perf's. With @each, it keeps the counts of each thread, for
 * members_take().
 */
struct group {
	struct vpmc_event *events;
	unsigned int nr;
	const char *metric_groups;	/* -M, NULL if not given */
	bool may_move;
	bool each;
};

struct metric_group;

/* A name of -e that takes no counter. See software.h. */
struct software {
	char *name;
	int fact;		/* enum fact */
};

/*
 * Groups of events. Without --split there is one group. With "-e none" that
 * group is empty.
 */
struct plan {
	struct group *groups;
	unsigned int nr;
	struct software *software;
	unsigned int nr_software;
	struct metric_group **metric_groups;	/* of -M */
	unsigned int nr_metric_groups;
	const char *note;	/* why only the run time is counted, or NULL */
};

/* Returns true if the event is optional and this processor lacks it. */
static inline bool left_out(const struct vpmc_event *event)
{
	return event->flags & VPMC_EVENT_LEFT_OUT;
}

/*
 * Makes the groups from -e, --metrics, -M, -d and --split. Fails if the options are
 * wrong.
 */
void plan_make(struct plan *plan, const struct stat_options *options);

/*
 * Asks the kernel which optional events it leaves out, and marks these. A refusal is found
 * again, and told, when COMMAND's set is programmed.
 */
void plan_ask(struct group *group);

/* Programs the first @nr events. Returns 0, or an error. */
typedef int plan_try_fn(const void *arg, struct vpmc_event *events, unsigned int nr);

/*
 * If there are too many events, says how many of them fit, and what @helps, and ends the
 * process. Otherwise returns, also if @try takes none of them, as for another reason.
 */
void plan_too_many(const struct group *group, const struct vpmc_error *error,
		   plan_try_fn *try, const void *arg, const char *helps);

/*
 * Explains why a set was refused, and ends the process. If there are too many
 * events, says how many of them fit.
 */
__attribute__((__noreturn__))
void plan_refused(const struct group *group, const struct vpmc_error *error);

#endif /* PLAN_H */
