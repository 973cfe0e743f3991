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
 * Reads all counters of a running set, from the last one to the first. Stores
 * the counts to @count_[@first_] and up. @bytes_ is the size of the counts, and
 * at least that of one. The result is that of vpmc_count() for each counter,
 * but sign and base are memory operands. The loop has nine instructions.
 * Compilers add saved registers or copies of arguments to it, so it is written
 * by hand.
 */
#define count_all(page_, count_, first_, bytes_) do {			\
	/* A sanitizer's call may be in these expressions, and changes registers. */ \
	const struct vpmc_page *const the_page = (page_);		\
	uint64_t *const the_count = (count_);				\
	const uintptr_t the_bytes = (bytes_);				\
	register const struct vpmc_page *at_page __asm__("r9") = the_page; \
	register uintptr_t at_byte __asm__("r11") = the_bytes;		\
									\
	__asm__ __volatile__(						\
		"1:\n\t"						\
		"mov %c[slot]-16(%[page],%[at],2), %%ecx\n\t"		\
		"rdpmc\n\t"						\
		"shl $32, %%rdx\n\t"					\
		"or %%rax, %%rdx\n\t"					\
		"xor %c[sign](%[page]), %%rdx\n\t"			\
		"add %c[base]-16(%[page],%[at],2), %%rdx\n\t"		\
		"mov %%rdx, 8*%c[first]-8(%[count],%[at])\n\t"		\
		"sub $8, %[at]\n\t"					\
		"jnz 1b"						\
		: [at] "+r" (at_byte)					\
		: [page] "r" (at_page), [count] "S" (the_count),	\
		  [first] "i" (first_),					\
		  [slot] "i" (offsetof(struct vpmc_page, slot[0].index)), \
		  [base] "i" (offsetof(struct vpmc_page, slot[0].base)), \
		  [sign] "i" (offsetof(struct vpmc_page, sign))		\
		: "rax", "rcx", "rdx", "cc", "memory");			\
} while (0)
#else
#define count_all(page_, count_, first_, bytes_) do {			\
	uintptr_t at_count;						\
									\
	for (at_count = 0; at_count < (bytes_) / 8; at_count++)		\
		(count_)[(first_) + at_count] =				\
			vpmc_count(page_, &(page_)->slot[at_count]);	\
} while (0)
#endif

#endif /* VPMC_COUNT_H */
