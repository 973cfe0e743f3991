/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each processor counts, whoever runs there.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CPUS_H
#define CPUS_H

#include <stdio.h>

#include "plan.h"

/* What all of them have counted at some time. */
struct cpus_sample {
	struct vpmc_global_cpu *cpu;
	unsigned int nr;
	unsigned int room;
};

/* The counters of all processors, programmed and stopped; fails if refused. */
struct vpmc_cpus *cpus_open(const struct plan *plan, bool revoke);

/* Starts them; fails if the PMU was taken away. */
void cpus_start(struct vpmc_cpus *cpus);

/* Reads them into @sample, which begins as zeros and has memory of its own. */
void cpus_read(const struct vpmc_cpus *cpus, struct cpus_sample *sample);

/*
 * Prints a table: a line for each processor that counts, and one of their sums.
 * With @before, what was counted since then.
 */
void cpus_table(FILE *file, const struct group *group,
		const struct cpus_sample *sample,
		const struct cpus_sample *before, bool colour);

/* What vpmc stat -a has counted. */
struct cpus_result {
	const struct stat_options *options;
	const struct group *group;
	const struct cpus_sample *sample;
	uint64_t elapsed;	/* nanoseconds */
	bool revoked;		/* the PMU was taken away meanwhile */
	int status;		/* COMMAND's, as wait() has it; 0 without one */
};

/* Prints it in the format that the options name. */
void cpus_print(FILE *file, const struct cpus_result *result);

/* vpmc stat -a. Returns the exit status. */
int cpus_stat(const struct stat_options *options);

#endif /* CPUS_H */
