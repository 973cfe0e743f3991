/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads an event of perf by RDPMC, as its page says.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERF_PAGE_H
#define PERF_PAGE_H

#include "perf.h"

/*
 * The count of the calling thread's event. ~0 if it has no counter now. *@looks is raised
 * by one, and by more if the event moved meanwhile. Then the read took more instructions.
 * It is not inlined, so that these are the same for all callers.
 */
static __attribute__((noinline, unused)) uint64_t
perf_page_count(const struct perf_event_mmap_page *page, unsigned int *looks)
{
	uint32_t lock, index;
	uint64_t count, mask;

	do {
		lock = *(const volatile uint32_t *)&page->lock;
		__asm__ __volatile__("" : : : "memory");
		(*looks)++;
		index = page->index;
		mask = ~0ULL >> (64 - page->pmc_width);
		count = page->offset;
		if (index)
			count += vpmc_rdpmc(index - 1);
		__asm__ __volatile__("" : : : "memory");
	} while (lock != *(const volatile uint32_t *)&page->lock);
	return index ? count & mask : ~0ULL;
}

/* What it counts of @turns: the difference of two loops has no instruction but theirs. */
static inline uint64_t perf_page_of_loop(const struct perf_event_mmap_page *page,
					 long turns)
{
	uint64_t first, second, third;
	unsigned int looks;

	do {
		looks = 0;
		first = perf_page_count(page, &looks);
		code_loop(turns, 0);
		second = perf_page_count(page, &looks);
		code_loop(2 * turns, 0);
		third = perf_page_count(page, &looks);
	} while (looks != 3);
	return third - second - (second - first);
}

#endif /* PERF_PAGE_H */
