/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups of metrics, from files as vpmc-group(5) describes them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef METRIC_GROUP_H
#define METRIC_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vpmc.h>

#include "stat/formula.h"

/* Names that formulas have beside those of events */
enum { NAME_TIME, NAME_ELAPSED, NR_OWN_NAMES };

/* An event by the name that formulas have for it */
struct named_event {
	char *name;
	char *text;			/* as written for -e */
	struct vpmc_event event;	/* set by metric_group_parse_events() */
};

struct group_metric {
	char *name, *unit;
	struct formula *formula;
};

/* What a file has for some processors */
struct alternative {
	char **processor;	/* NULL: for all */
	unsigned int nr_processors;
	struct named_event *event;
	unsigned int nr_events;
	struct group_metric *metric;
	unsigned int nr_metrics;
};

struct metric_group {
	char *name, *description;
	struct alternative *alternative;
	unsigned int nr_alternatives;
	const struct alternative *here;	/* set by metric_group_choose() */
};

/*
 * Reads and checks a file. Returns NULL if something is wrong, and then sets @why to a text
 * that says what, and what helps. @name is what the group must be called.
 */
struct metric_group *metric_group_read(const char *path, const char *name, char **why);

/*
 * Chooses the first alternative for this processor, and parses its events. Returns false if
 * there is none, or if this processor lacks an event that is not optional, and sets @why.
 */
bool metric_group_choose(struct metric_group *group, char **why);

/* Reads the group that -M names, for this processor, or fails. */
struct metric_group *metric_group_find(const char *name);

/*
 * Calls @tell for each group of $VPMC_GROUPS and of the installed directory, sorted by name.
 * @why is NULL if this processor can use it.
 */
void metric_groups_list(void (*tell)(void *arg, const char *name, const char *description,
				     const char *why), void *arg);

#endif /* METRIC_GROUP_H */
