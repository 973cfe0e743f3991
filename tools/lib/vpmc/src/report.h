/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declares the reports at exit and as text.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_REPORT_PRIVATE_H
#define VPMC_REPORT_PRIVATE_H

#include <stdbool.h>

struct vpmc_regions;
struct writer;

/* Writes the reports that the environment asks for. */
void vpmc_report_at_exit(void);

/* Does the environment ask for counts? */
bool vpmc_report_is_asked(void);

/* Does the environment ask for a report that has these regions? */
bool vpmc_report_is_wanted(const struct vpmc_regions *regions);

/* Writes all regions of the process as JSON. They are locked. @begun: 0, or a member. */
void vpmc_report_json(struct writer *w, struct vpmc_regions *all, unsigned long long begun);

/* report_stat.c: what vpmc stat -m reads */

/* Returns the name of its file, or NULL if there is none. */
const char *vpmc_report_stat_file(void);

/* The process has regions from now on. */
void vpmc_report_begins(void);

/* Adds the report of the process to the file. Returns 0 or -errno. */
int vpmc_report_to_stat(void);

/* Writes the regions of all threads. The caller holds their lock. */
void vpmc_report_text(struct writer *w, struct vpmc_regions *all);

#endif /* VPMC_REPORT_PRIVATE_H */
