// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reads the counters, and returns how often the read had to be repeated.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <vpmc-read.h>

#include "read.h"

/*
 * Each turn executes the same instructions, so the cost of one more turn can be
 * measured and subtracted.
 */
__attribute__((__noinline__))
unsigned int graph_read(const struct vpmc_page *page, unsigned int nr,
			uint64_t *value, unsigned int forced)
{
	unsigned int retries = 0, i;
	uint64_t generation, moved;

	for (;;) {
		generation = *(const volatile __u64 *)&page->generation;
		vpmc_barrier();
		if (likely(page->state == VPMC_STATE_RUNNING)) {
			value[0] = page->tsc_base + vpmc_rdtsc();
			for (i = 1; i < nr; i++)
				value[i] = vpmc_count(page, &page->slot[i - 1]);
		} else {
			value[0] = page->tsc_base;
			for (i = 1; i < nr; i++)
				value[i] = page->slot[i - 1].base;
		}
		vpmc_barrier();
		moved = (*(const volatile __u64 *)&page->generation ^ generation) | forced;
		forced = 0;
		if (likely(!moved))
			return retries;
		retries++;
	}
}
