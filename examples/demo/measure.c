// SPDX-License-Identifier: MIT
#include <stddef.h>
#include "measure.h"

static void subtract(struct snapshot *from, const struct snapshot *s)
{
	for (int i = 0; i < NR_EVENTS; i++)
		from->count[i] -= s->count[i];
	from->ticks -= s->ticks;
	from->switches -= s->switches;
	from->migrations -= s->migrations;
}

/* Keeps the compiler from leaving out parts of the snapshot. */
static inline void look_at(const struct snapshot *s)
{
	__asm__ volatile("" : : "r" (s) : "memory");
}

uint64_t measure_read(const struct counters *c)
{
	struct snapshot a, b;

	do {
		counters_read(c, &a);
		look_at(&a);
		counters_read(c, &b);
		look_at(&b);
	} while (b.retries);
	return b.count[INSTRUCTIONS] - a.count[INSTRUCTIONS];
}

/*
 * All measurements use these two reads. A read that is interrupted starts
 * again, and its first attempt has been counted. In that case the region is run
 * again.
 */
static __attribute__((noinline))
struct snapshot measure(const struct counters *c, void (*prepare)(void *),
			void (*work)(void *), void *data)
{
	struct snapshot begin, end;

	do {
		if (prepare)
			prepare(data);
		counters_read(c, &begin);
		work(data);
		counters_read(c, &end);
	} while (end.retries);
	subtract(&end, &begin);
	return end;
}

static void nothing(void *data)
{
	(void)data;
}

void measure_region(const struct counters *c, struct region *region, void *data)
{
	struct snapshot empty;

	for (int i = 0; i < RUNS; i++) {
		region->run[i] = measure(c, region->prepare, region->work, data);
		empty = measure(c, NULL, nothing, NULL);
		for (int j = 0; j < NR_EVENTS; j++)
			region->run[i].count[j] -= empty.count[j];
	}
}
