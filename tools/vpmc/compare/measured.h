/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vpmc stat --compare and --vs: compares what is measured now.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MEASURED_H
#define MEASURED_H

#include "stat/stat-options.h"

/* Fails if the options of a comparison, or --warmup, do not go with the others. */
void measured_check(const struct stat_options *options);

/*
 * Measures COMMAND, and with --vs the other command in turns with it. Prints the comparison,
 * and returns the exit status.
 */
int measured_compare(struct stat_options *options);

#endif /* MEASURED_H */
