/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declares the reports at exit and as text.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_REPORT_PRIVATE_H
#define VPMC_REPORT_PRIVATE_H

struct vpmc_regions;
struct writer;

/* Writes the report that the variable VPMC_REPORT asks for. */
void vpmc_report_at_exit(void);

/* Writes the regions of all threads. The caller holds their lock. */
void vpmc_report_text(struct writer *w, struct vpmc_regions *all);

#endif /* VPMC_REPORT_PRIVATE_H */
