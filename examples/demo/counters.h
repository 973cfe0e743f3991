/* SPDX-License-Identifier: MIT */
/*
 * The counters of the calling thread. libvpmc programs them, RDPMC reads them.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdint.h>
#include <x86intrin.h>
#include <vpmc.h>

enum { INSTRUCTIONS, CYCLES, BRANCHES, NR_EVENTS };

struct counters {
	struct vpmc *v;
	const volatile struct vpmc_page *page;
};

struct snapshot {
	uint64_t count[NR_EVENTS];
	uint64_t ticks;		/* run time of the thread, in ticks of the TSC */
	uint64_t switches;
	uint64_t migrations;
	uint64_t retries;	/* how often the read was repeated */
};

/* Attach counters to the calling thread and start them, or end the program. */
void counters_start(struct counters *c);

/*
 * Detach the counters. If they were taken away, their values are wrong, and the
 * program ends.
 */
void counters_end(struct counters *c);

/* Convert a run time from ticks to nanoseconds. */
uint64_t counters_ns(const struct counters *c, uint64_t ticks);

/*
 * The read loop of <linux/vpmc.h>, for a running set of NR_EVENTS counters.
 * Only counters_end() checks the state. All values are of the same moment.
 * There is no system call.
 */
static inline __attribute__((always_inline))
void counters_read(const struct counters *c, struct snapshot *s)
{
	const volatile struct vpmc_page *page = c->page;
	uint64_t generation, sign;

	for (s->retries = 0; ; s->retries++) {
		generation = page->generation;
		sign = page->sign;
		s->ticks = page->tsc_base + __rdtsc();
		s->switches = page->switches;
		s->migrations = page->migrations;
#pragma GCC unroll 8
		for (int i = 0; i < NR_EVENTS; i++)
			s->count[i] = page->slot[i].base +
				(__rdpmc(page->slot[i].index) ^ sign);
		if (page->generation == generation)
			return;
	}
}

#endif /* COUNTERS_H */
