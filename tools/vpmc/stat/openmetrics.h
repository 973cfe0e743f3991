/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes counts as OpenMetrics, to a file that is rewritten while COMMAND runs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include "stat/result.h"

/*
 * Reads the counts of earlier runs from the file that -o names. They are added
 * to all later counts. Fails if the file is not in this format.
 */
void openmetrics_begin(const struct result *result);

/* Prints the counts of all intervals, and what @result alone knows of COMMAND. */
void print_openmetrics(FILE *file, const struct result *result);

/* Adds the counts of an interval. */
void openmetrics_add(const struct run *interval);

/* Writes the counts so far. */
void openmetrics_write(void);

#endif /* OPENMETRICS_H */
