/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways to read counters or a clock, for vpmc bench.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef WAYS_H
#define WAYS_H

#include <stdbool.h>
#include <vpmc.h>

/*
 * One way to read @counters counters. @left_out says why it is not available,
 * or is NULL. Costs are those of one read, without the harness. The
 * instructions of perf_event's reads are unknown, because vpmc counts nothing
 * while perf is measured: with kernel.vpmc_counters at "all" it could not.
 */
struct way {
	const char *name;
	unsigned int counters;
	const char *left_out;
	bool has_instructions;
	uint64_t dirty;
	struct vpmc_stats *ticks, *instructions;
};

/* Measures all ways, @n samples of each. Returns their number. */
unsigned int ways_measure(struct way **ways, unsigned int n);

/* perf_ways.c: measure the two ways of perf_event. */
void perf_measure_read(struct way *way, unsigned int n);
void perf_measure_page(struct way *way, unsigned int n);

#endif /* WAYS_H */
