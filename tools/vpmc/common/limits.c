// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of open files: each counted thread of another process takes one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdbool.h>
#include <sys/resource.h>

#include "common/limits.h"

static struct rlimit before;
static bool raised;

void limits_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &before))
		return;
	limit = before;
	limit.rlim_cur = limit.rlim_max;
	raised = !setrlimit(RLIMIT_NOFILE, &limit);
}

void limits_as_before(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}
