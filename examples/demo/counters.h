/* SPDX-License-Identifier: MIT */
/* The counters of the calling thread: programmed by libvpmc, then read with RDPMC. */
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
	uint64_t retries;	/* how often the read began again */
};

/* Attach counters to the calling thread and start them, or end the program. */
void counters_start(struct counters *c);

/* Give them back. Ends the program if they were taken away: what it read is void. */
void counters_end(struct counters *c);

/* Nanoseconds of a run time in ticks. */
uint64_t counters_ns(const struct counters *c, uint64_t ticks);

/*
 * The read loop of <linux/vpmc.h>, for a set of NR_EVENTS counters that runs. The
 * state is checked only in counters_end(). All values are of one moment, without a
 * system call.
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
