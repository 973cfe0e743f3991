/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of --per-thread: what the kernel keeps of each thread that inherited our set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "stat/run.h"

/*
 * Programs the set again, stopped, so that the kernel keeps the counts of threads that
 * end. The set must have an INHERIT flag. Returns what vpmc_program_raw() returns.
 */
int members_keep(struct vpmc *v, struct vpmc_error *error);

/* Adds a row for each thread that has ended, and takes its counts out of the kernel. */
void members_take(const struct vpmc *v, struct run *run);

/*
 * Adds the rest of the rows, also of threads that live. Then all rows are there, each once,
 * in the order in which the threads were created.
 */
void members_end(const struct vpmc *v, struct run *run);

#endif /* MEMBERS_H */
