/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of -e that take no counter: the kernel knows these numbers of each thread or
 * process anyway.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SOFTWARE_H
#define SOFTWARE_H

#include "stat/plan.h"

/*
 * Takes the software names out of @list and adds them to @plan. Returns the rest of the
 * list, or NULL if nothing is left. Fails if a name cannot be answered with @options.
 */
const char *software_take(const char *list, struct plan *plan,
			  const struct stat_options *options);

/*
 * Fails with what helps if @name takes no counter, and so is none of the processor's events.
 * Otherwise returns.
 */
void software_explain(const char *name);

#endif /* SOFTWARE_H */
