// SPDX-License-Identifier: GPL-2.0
/*
 * usage: papi
 *
 * Measures PAPI's calls on a set of four events: through vpmc's component, through
 * perf_event's, which reads by RDPMC, and through one that does nothing. The last
 * one shows what PAPI itself executes. All are in the same libpapi.a.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <papi.h>
#include <papi_internal.h>
#include <papi_vector.h>

#include "cost.h"
#include "partner.h"
#include "who.h"

#define NR_EVENTS	4

/* The emulator counts the first three. The fourth stays 0. */
static const char *const names[NR_EVENTS] = {
	"INST_RETIRED:ANY_P", "CPU_CLK_THREAD_UNHALTED:THREAD_P",
	"BR_INST_RETIRED:ALL_BRANCHES", "UOPS_ISSUED:ANY",
};

static const char *const component[] = {
	[NOBODY] = "vpmc", [VPMC] = "vpmc", [PERF] = "perf_event",
};

static long long values[NR_EVENTS];

static void fine(int err, const char *call)
{
	if (err != PAPI_OK)
		errx(1, "%s: %s", call, PAPI_strerror(err));
}

static int new_set(enum who who)
{
	int set = PAPI_NULL, i;
	char name[64];

	fine(PAPI_create_eventset(&set), "PAPI_create_eventset");
	for (i = 0; i < NR_EVENTS; i++) {
		snprintf(name, sizeof(name), "%s:::%s", component[who], names[i]);
		fine(PAPI_add_named_event(set, name), name);
	}
	return set;
}

static int do_nothing(hwd_context_t *context, hwd_control_state_t *control)
{
	(void)context;
	(void)control;
	return PAPI_OK;
}

static int read_nothing(hwd_context_t *context, hwd_control_state_t *control,
			long long **counts, int flags)
{
	static long long zeros[NR_EVENTS];

	(void)context;
	(void)control;
	(void)flags;
	*counts = zeros;
	return PAPI_OK;
}

/* Makes a component that does nothing, with the events of vpmc's. */
static void become_nobody(void)
{
	papi_vector_t *vector = _papi_hwd[PAPI_get_component_index("vpmc")];

	vector->start = do_nothing;
	vector->stop = do_nothing;
	vector->read = read_nothing;
}

/* Checks that the first three events have counted, and the last one has not. */
static void check_values(enum who who)
{
	bool counted = values[0] && values[1] && values[2];

	if (counted != (who != NOBODY) || values[3])
		errx(1, "%s counts %lld %lld %lld %lld", who_name[who],
		     values[0], values[1], values[2], values[3]);
}

static void measure(enum who who)
{
	struct cost start = {}, read = {}, stop = {};
	int set, err, i;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		errx(1, "PAPI_library_init");
	set = new_set(who);
	if (who == NOBODY)
		become_nobody();
	for (i = 0; i < ROUNDS; i++) {
		COST_OF(&start, err = PAPI_start(set));
		fine(err, "PAPI_start");
		COST_OF(&read, err = PAPI_read(set, values));
		fine(err, "PAPI_read");
		COST_OF(&stop, err = PAPI_stop(set, values));
		fine(err, "PAPI_stop");
		check_values(who);
	}
	cost_print(&start, "papi-start", NR_EVENTS, who_name[who]);
	cost_print(&read, "papi-read", NR_EVENTS, who_name[who]);
	cost_print(&stop, "papi-stop", NR_EVENTS, who_name[who]);
	PAPI_shutdown();
}

/*
 * Each component runs in a separate process, one after the other, because only
 * one can have the PMU.
 */
int main(void)
{
	static const enum who whose[] = { NOBODY, VPMC, PERF };
	unsigned int i;
	pid_t pid;

	be_alone(0);
	for (i = 0; i < 3; i++) {
		pid = fresh_process();
		if (!pid) {
			measure(whose[i]);
			return 0;
		}
		wait_for(pid);
	}
	return 0;
}
