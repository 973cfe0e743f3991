/* SPDX-License-Identifier: MIT */
/* Regions of a program. The thread that runs them measures them. */
#ifndef MEASURE_H
#define MEASURE_H

#include "counters.h"

#define RUNS	2

struct region {
	const char *name;
	void (*prepare)(void *data);	/* not measured; may be NULL */
	void (*work)(void *data);
	struct snapshot run[RUNS];	/* result of each run, without the reads */
};

/* Instructions that one read executes, measured by two reads in a row. */
uint64_t measure_read(const struct counters *c);

/* Run the region RUNS times. */
void measure_region(const struct counters *c, struct region *region, void *data);

#endif /* MEASURE_H */
