// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counts events together with somebody who has programmed the thread's set before.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define WHAT	"counting"

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

/* Returns 1 if somebody has programmed a set, 0 if not, or a negative error number. */
static int is_programmed(const struct vpmc *v, unsigned int *state)
{
	struct vpmc_read sums;
	int err = vpmc_read_sums(v, 0, &sums);

	*state = sums.state;
	if (err)
		return err;
	return sums.state == VPMC_STATE_STOPPED || sums.state == VPMC_STATE_RUNNING ||
	       sums.state == VPMC_STATE_OVERFLOWED;
}

/* Counts with the set that is there, which is left as it is. */
static int count_with(struct vpmc *v, unsigned int state, struct vpmc_event *events,
		      unsigned int nr, struct vpmc_error *error)
{
	struct vpmc_control control;
	int err = vpmc_get_control(v, &control), missing;

	if (err)
		return vpmc_error_system(error, err, WHAT);
	missing = find(&control, events, nr);
	if (missing >= 0) {
		vpmc_forget_places(events, nr);
		return vpmc_error_set(error, -EEXIST, VPMC_WHY_EXISTS,
				      events[missing].text,
				      "the thread is counted already, by a set without this event",
				      "name it there, too, as by vpmc stat -e");
	}
	err = state == VPMC_STATE_RUNNING ? 0 : vpmc_start(v);
	if (err)
		return vpmc_error_system(error, err, WHAT);
	return control.nr_counters;
}

/*
 * Looks for a set first. CONTROL would check the caller's rights and ask perf for
 * counters before it says that there is one.
 */
EXPORT int vpmc_share(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		      struct vpmc_error *error)
{
	unsigned int state;
	int err;

	vpmc_error_none(error);
	if (!events)
		nr = 0;
	vpmc_forget_places(events, nr);
	err = is_programmed(v, &state);
	if (!err) {
		err = vpmc_program(v, events, nr, VPMC_CONTROL_NEW, error);
		if (err != -EEXIST)
			return err;
		/* Another thread has programmed one meanwhile. */
		vpmc_error_none(error);
		err = is_programmed(v, &state);
		if (!err)
			err = -EBUSY;
	}
	if (err < 0)
		return vpmc_error_system(error, err, WHAT);
	return count_with(v, state, events, nr, error);
}
