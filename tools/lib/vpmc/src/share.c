// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counts events together with somebody who has programmed the thread's set before.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* Does element @i of the set count the event, in a counter that will do? */
static bool counts(const struct vpmc_control *control, unsigned int i,
		   const struct vpmc_event *event)
{
	return control->counter[i].evtsel == event->select &&
	       (event->index == VPMC_ANY ||
		event->index == control->counter[i].index);
}

/* Returns the number of an event that the set does not have, or -1. */
static int find(const struct vpmc_control *control, struct vpmc_event *events,
		unsigned int nr)
{
	bool taken[VPMC_MAX_COUNTERS] = {};
	unsigned int i, k;

	for (k = 0; k < nr; k++) {
		if (events[k].flags & VPMC_EVENT_LEFT_OUT)
			continue;
		for (i = 0; i < control->nr_counters; i++)
			if (!taken[i] && counts(control, i, &events[k]))
				break;
		if (i == control->nr_counters)
			return k;
		taken[i] = true;
		events[k].element = i;
		events[k].counter = control->counter[i].index;
	}
	return -1;
}

EXPORT int vpmc_share(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		      struct vpmc_error *error)
{
	struct vpmc_control control;
	int err = vpmc_program(v, events, nr, VPMC_CONTROL_NEW, error), missing;

	if (err != -EEXIST)
		return err;
	err = vpmc_get_control(v, &control);
	if (err)
		return vpmc_error_system(error, err, "counting");
	missing = find(&control, events, nr);
	if (missing >= 0)
		return vpmc_error_set(error, -EEXIST, VPMC_WHY_EXISTS,
				      events[missing].text,
				      "the thread is counted already, by a set without this event",
				      "name it there, too, as by vpmc stat -e");
	err = vpmc_start(v);
	if (err)
		return vpmc_error_system(error, err, "counting");
	return control.nr_counters;
}
