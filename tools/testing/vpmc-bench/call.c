// SPDX-License-Identifier: GPL-2.0
/*
 * The read of any number of counters as a library exports it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "reads.h"

void read_call(const struct vpmc_page *page, uint64_t *count, uint64_t *ticks)
{
	vpmc_read_page(page, count, ticks);
}
