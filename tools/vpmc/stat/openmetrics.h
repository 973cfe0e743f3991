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

void print_openmetrics(FILE *file, const struct result *result);

/*
 * openmetrics_wait() returns the milliseconds until the next write, or -1 if
 * there is none. openmetrics_write() writes the counts so far.
 */
int openmetrics_wait(const struct stat_options *options);
void openmetrics_write(const struct run *run);

#endif /* OPENMETRICS_H */
