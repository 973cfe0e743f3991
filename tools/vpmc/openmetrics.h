/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts as OpenMetrics, in a file that is written again and again.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include "result.h"

/*
 * What the file that -o names has from earlier runs is added to what is counted from
 * here on. Fails if it is not such a file.
 */
void openmetrics_begin(const struct result *result);

void print_openmetrics(FILE *file, const struct result *result);

/*
 * While something is counted: milliseconds until the file is to be written again, or
 * -1; and doing that, with what was counted so far.
 */
int openmetrics_wait(const struct stat_options *options);
void openmetrics_write(const struct run *run);

#endif /* OPENMETRICS_H */
