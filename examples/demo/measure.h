/* SPDX-License-Identifier: MIT */
/* Regions of a program, measured by the thread that runs them. */
#ifndef MEASURE_H
#define MEASURE_H

#include "counters.h"

#define RUNS	2

struct region {
	const char *name;
	void (*prepare)(void *data);	/* not measured; may be NULL */
	void (*work)(void *data);
	struct snapshot run[RUNS];	/* what each run took, reads subtracted */
};

/* Instructions that one read executes, counted by two reads in a row. */
uint64_t measure_read(const struct counters *c);

/* Run the region RUNS times. */
void measure_region(const struct counters *c, struct region *region, void *data);

#endif /* MEASURE_H */
