// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the library against code that a program writes by hand: a read by
 * call, opening, programming and mapping a set, a region's begin and end, and markers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <vpmc.h>

#include "cost.h"
#include "marker.h"
#include "who.h"

/* results of all reads */
static uint64_t count[MAX_N], ticks;
static struct cost cost;

/*
 * Hides a value's origin from the compiler, so that it cannot specialize the
 * code.
 */
#define HIDE(value)	__asm__ __volatile__("" : "+r" (value))

static void measure_read(struct vpmc *v, unsigned int n)
{
	uint64_t *to = count, *time = &ticks;
	unsigned int i;

	HIDE(v);
	HIDE(to);
	HIDE(time);
	HIDE(n);
	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		COST_OF(&cost, vpmc_read(v, to, n, time));
	if (vpmc_read(v, to, n, time) != (int)n)
		errx(1, "vpmc_read");
	cost_print(&cost, "read-call", n, who_name[VPMC]);
}

/* Measures an empty region of the thread's set. */
static void measure_region(unsigned int n)
{
	struct vpmc_regions *regions;
	struct vpmc_region *region;
	struct vpmc_error error;
	unsigned int i;

	if (vpmc_regions_open(&regions, NULL, 0, &error))
		errx(1, "%s", error.text);
	if (vpmc_region_get(regions, "empty", &region))
		errx(1, "vpmc_region_get");
	HIDE(region);
	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		COST_OF(&cost, vpmc_begin(region); vpmc_end(region));
	cost_print(&cost, "region", n, who_name[VPMC]);
	vpmc_regions_close(regions);
}

static struct vpmc *opened(struct vpmc_event *set, unsigned int n)
{
	struct vpmc *v;

	if (vpmc_open(&v, 0, NULL) ||
	    vpmc_program(v, set, n, 0, NULL) != (int)n)
		errx(1, "a set of %u counters", n);
	return v;
}

static void closed(struct vpmc *v)
{
	vpmc_unlink(v);
	vpmc_close(v);
}

struct marked {
	struct vpmc_event *set;
	unsigned int n;
};

/* Markers keep their regions for each thread, so each set gets a thread. */
static void *run_markers(void *arg)
{
	const struct marked *marked = arg;
	struct vpmc *v = opened(marked->set, marked->n);

	measure_markers(marked->n);
	closed(v);
	return NULL;
}

static void measure_marked(struct vpmc_event *set, unsigned int n)
{
	struct marked marked = { set, n };
	pthread_t thread;

	if (setenv("VPMC_REPORT", "/dev/null", 1) ||
	    pthread_create(&thread, NULL, run_markers, &marked) || pthread_join(thread, NULL))
		errx(1, "a thread with markers");
	unsetenv("VPMC_REPORT");
}

static void measure_open(struct vpmc_event *set, unsigned int n)
{
	struct vpmc *v;
	unsigned int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS / 10; i++) {
		COST_OF(&cost, v = opened(set, n));
		closed(v);
	}
	cost_print(&cost, "open-library", n, who_name[VPMC]);
}

int main(void)
{
	struct vpmc_event set[MAX_N] = {};
	unsigned int i, n;
	struct vpmc *v;

	be_alone(0);
	who_init();
	for (n = 0; n < MAX_N; n++) {
		set[n].select = events[n].event | MODE_USER;
		set[n].index = events[n].index;
	}
	for (i = 0; i < NR_SIZES; i++) {
		v = opened(set, sizes[i]);
		measure_read(v, sizes[i]);
		measure_region(sizes[i]);
		closed(v);
		measure_marked(set, sizes[i]);
		measure_open(set, sizes[i]);
	}
	return 0;
}
