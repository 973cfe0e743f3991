/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What vpmc ctl read prints: of one thread, or of each thread of a process.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef READING_H
#define READING_H

#include <stdbool.h>
#include <sys/types.h>
#include <vpmc.h>

/* The set of one thread, and what it has counted */
struct reading {
	pid_t tid;		/* tid and name: with -p */
	char name[16];
	struct vpmc_control control;
	struct vpmc_read sums;
};

/*
 * Reads a set. @flags as for vpmc_read_sums(). If another set is programmed meanwhile, all is
 * that one's. Returns 0, or a negative error number.
 */
int reading_take(const struct vpmc *v, unsigned int flags, struct reading *reading);

/* What helps if an operation on a set has failed with @error. */
const char *reading_remedy(int error);

/* Prints the set of one thread, with its descendants. */
void print_thread_text(const struct reading *reading);
void print_thread_json(const struct reading *reading);

/*
 * Prints the sets of @nr threads: a table for each selection of events. If all have the same
 * one, the last line is their sum.
 */
void print_process_text(const struct reading *reading, unsigned int nr);
void print_process_json(pid_t pid, const struct reading *reading, unsigned int nr);

#endif /* READING_H */
