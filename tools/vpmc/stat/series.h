/* SPDX-License-Identifier: GPL-2.0 */
/*
 * -I: prints what was counted in each interval, when it ends.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SERIES_H
#define SERIES_H

#include <stdio.h>

#include "stat/moments.h"
#include "stat/result.h"

/* A row: the counts of one interval, of all threads or of one processor */
struct series_row {
	const struct vpmc_global_cpu *cpu;	/* the processor, or NULL */
	const uint64_t *sum;	/* indexed by struct vpmc_event.element */
};

/*
 * Begins to write to @file, which output_open() has returned. Each interval is written at
 * once. When the measurement has ended, the result of the whole may follow in @file.
 */
void series_begin(FILE *file, const struct stat_options *options, const struct group *group);

/* All intervals are written. There may be none. */
void series_end(void);

/* Writes an interval of threads. @step has what was counted in it. */
void series_write(const struct interval *interval, const struct run *step);

/*
 * Writes an interval of processors. The first row is their sum. @mark: as for
 * remarks_mark().
 */
void series_write_cpus(const struct interval *interval, const struct series_row *row,
		       unsigned int nr, const char *mark);

#endif /* SERIES_H */
