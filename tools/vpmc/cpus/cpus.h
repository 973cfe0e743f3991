/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts what each processor does, for all threads that run there.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CPUS_H
#define CPUS_H

#include <stdbool.h>
#include <stdio.h>

#include "stat/moments.h"
#include "stat/plan.h"

/* counts of all processors at one time */
struct cpus_sample {
	struct vpmc_global_cpu *cpu;
	unsigned int nr;
	unsigned int room;
};

/*
 * Makes the plan, and programs the counters of all processors, or of those of -C, stopped.
 * Events without modes count user and kernel mode; if the caller may not count the kernel, user mode.
 * Fails if the kernel refuses, or if one of -C is not there or is offline.
 */
struct vpmc_cpus *cpus_open(struct plan *plan, struct stat_options *options);

/* Starts the counters. Fails if the PMU was taken away. */
void cpus_start(struct vpmc_cpus *cpus);

/*
 * Reads the counters into @sample. A new @sample is all zeros; this allocates
 * its memory.
 */
void cpus_read(const struct vpmc_cpus *cpus, struct cpus_sample *sample);

/*
 * Returns true if the kernel has stopped processors because it took the PMU away. This program
 * has started them, and has not stopped them. A processor that goes offline or comes online is
 * stopped for a moment, too, which does not count.
 */
bool cpus_were_taken(struct vpmc_cpus *cpus, const struct cpus_sample *sample);

/*
 * Prints a line for each processor that counts, and a line with their sums.
 * With @before, prints the difference to the counts in @before.
 */
void cpus_table(FILE *file, const struct group *group,
		const struct cpus_sample *sample,
		const struct cpus_sample *before, bool colour);

/* The result of vpmc stat -a */
struct cpus_result {
	const struct stat_options *options;
	const struct group *group;
	const struct cpus_sample *sample;
	uint64_t elapsed;	/* nanoseconds */
	bool revoked;		/* the PMU was taken away meanwhile */
	bool timed_out;		/* --timeout has ended it */
	bool early;		/* it ended before -D was over: nothing was counted */
	int status;		/* COMMAND's status of wait(); 0 without COMMAND */
};

/* Prints the result in the format that the options name. */
void cpus_print(FILE *file, const struct cpus_result *result);

/* Writes what was counted since @seen, for -I. */
void cpus_interval(const struct interval *interval, const struct cpus_sample *sample,
		   const struct cpus_sample *seen, bool revoked);

/* Runs vpmc stat -a. Returns the exit status. */
int cpus_stat(struct stat_options *options);

#endif /* CPUS_H */
