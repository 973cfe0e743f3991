/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading all counters of a set that runs, in few instructions.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_COUNT_H
#define VPMC_COUNT_H

#include "internal.h"

#ifdef __x86_64__
/*
 * All counters of a set that runs, from the last one to the first, @bytes of
 * counts, at least one: vpmc_count() of each, but with the sign and the sum from
 * memory. No compiler finds the nine instructions without saving registers.
 */
static inline __attribute__((__always_inline__)) void
count_all(const struct vpmc_page *page, uint64_t *count, uintptr_t bytes)
{
	/* or the compiler moves the function's arguments out of the way */
	register const struct vpmc_page *at_page __asm__("r9") = page;
	register uintptr_t at __asm__("r11") = bytes;

	__asm__ __volatile__(
		"1:\n\t"
		"mov %c[slot]-16(%[page],%[at],2), %%ecx\n\t"
		"rdpmc\n\t"
		"shl $32, %%rdx\n\t"
		"or %%rax, %%rdx\n\t"
		"xor %c[sign](%[page]), %%rdx\n\t"
		"add %c[base]-16(%[page],%[at],2), %%rdx\n\t"
		"mov %%rdx, -8(%[count],%[at])\n\t"
		"sub $8, %[at]\n\t"
		"jnz 1b"
		: [at] "+r" (at)
		: [page] "r" (at_page), [count] "S" (count),
		  [slot] "i" (offsetof(struct vpmc_page, slot[0].index)),
		  [base] "i" (offsetof(struct vpmc_page, slot[0].base)),
		  [sign] "i" (offsetof(struct vpmc_page, sign))
		: "rax", "rcx", "rdx", "cc", "memory");
}
#else
static inline void count_all(const struct vpmc_page *page, uint64_t *count,
			     uintptr_t bytes)
{
	uintptr_t i;

	for (i = 0; i < bytes / 8; i++)
		count[i] = vpmc_count(page, &page->slot[i]);
}
#endif

#endif /* VPMC_COUNT_H */
