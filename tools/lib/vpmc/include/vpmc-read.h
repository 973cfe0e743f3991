/* SPDX-License-Identifier: MIT */
/*
 * Reading a thread's own virtual performance counters in user space.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Copy this file, or include it after installing <linux/vpmc.h>. It needs
 * nothing else and makes no system call.
 *
 * RDPMC raises SIGSEGV where it is forbidden (the file "rdpmc" in
 * /sys/bus/event_source/devices/cpu is 0): look whether the page's caps have
 * VPMC_CAP_RDPMC after CONTROL and before the first read.
 */
#ifndef VPMC_READ_H
#define VPMC_READ_H

#include <stdint.h>
#include <linux/vpmc.h>

#if !defined(__x86_64__) && !defined(__i386__)
#error "vpmc-read.h: RDPMC is an x86 instruction"
#endif

/* For the compiler alone: see the description of struct vpmc_page. */
#define vpmc_barrier()	__asm__ __volatile__("" : : : "memory")

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define VPMC_UNROLL	_Pragma("GCC unroll 8")
#else
#define VPMC_UNROLL
#endif

#ifdef __x86_64__
/* The halves come zero-extended: one shift and one OR make them a number. */
static inline uint64_t vpmc_rdpmc(uint32_t index)
{
	uint64_t value;

	__asm__ __volatile__("rdpmc\n\tshl $32, %0\n\tor %%rax, %0"
			     : "=d" (value) : "c" (index) : "rax", "cc");
	return value;
}

static inline uint64_t vpmc_rdtsc(void)
{
	uint64_t value;

	__asm__ __volatile__("rdtsc\n\tshl $32, %0\n\tor %%rax, %0"
			     : "=d" (value) : : "rax", "cc");
	return value;
}
#else
static inline uint64_t vpmc_rdpmc(uint32_t index)
{
	uint64_t value;

	__asm__ __volatile__("rdpmc" : "=A" (value) : "c" (index));
	return value;
}

static inline uint64_t vpmc_rdtsc(void)
{
	uint64_t value;

	__asm__ __volatile__("rdtsc" : "=A" (value));
	return value;
}
#endif

/* One counter, while the set runs. */
static inline __attribute__((__always_inline__)) uint64_t
vpmc_count(const struct vpmc_page *page, const struct vpmc_slot *slot)
{
	return slot->base + (vpmc_rdpmc(slot->index) ^ page->sign);
}

/**
 * vpmc_read_n() - Read the first @n counters and the run time as one snapshot
 * @page:	The calling thread's own page. Not another thread's.
 * @n:		At most @page->nr_counters; best a constant: the compiler then
 *		unrolls the loop.
 * @count:	Receives @n 64-bit counts.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 */
static inline __attribute__((__always_inline__)) void
vpmc_read_n(const struct vpmc_page *page, unsigned int n, uint64_t *count,
	    uint64_t *ticks)
{
	uint64_t generation;
	unsigned int i;

	do {
		generation = *(const volatile __u64 *)&page->generation;
		vpmc_barrier();
		if (__builtin_expect(page->state == VPMC_STATE_RUNNING, 1)) {
			if (ticks)
				*ticks = page->tsc_base + vpmc_rdtsc();
			VPMC_UNROLL
			for (i = 0; i < n; i++)
				count[i] = vpmc_count(page, &page->slot[i]);
		} else {
			if (ticks)
				*ticks = page->tsc_base;
			for (i = 0; i < n; i++)
				count[i] = page->slot[i].base;
		}
		vpmc_barrier();
	} while (__builtin_expect(page->generation != generation, 0));
}

/**
 * vpmc_read_page() - Read all counters, however many, and the run time
 * @page:	The calling thread's own page.
 * @count:	Receives @page->nr_counters 64-bit counts. Give it room for
 *		VPMC_MAX_COUNTERS, unless nobody but this thread can program its
 *		set: others may give it more of them at any moment.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 */
static inline void vpmc_read_page(const struct vpmc_page *page,
				  uint64_t *count, uint64_t *ticks)
{
	/* From the last one to the first: in bytes, for the loop and the index. */
	uint64_t generation;
	uintptr_t at;

#define VPMC_COUNT_AT	(*(uint64_t *)((char *)count + at - 8))
#define VPMC_SLOT_AT	((const struct vpmc_slot *)((const char *)page->slot + \
						    2 * at - 16))
	do {
		generation = *(const volatile __u64 *)&page->generation;
		vpmc_barrier();
		at = 8 * (uintptr_t)page->nr_counters;
		if (__builtin_expect(page->state == VPMC_STATE_RUNNING, 1)) {
			if (ticks)
				*ticks = page->tsc_base + vpmc_rdtsc();
			for (; at; at -= 8)
				VPMC_COUNT_AT = vpmc_count(page, VPMC_SLOT_AT);
		} else {
			if (ticks)
				*ticks = page->tsc_base;
			for (; at; at -= 8)
				VPMC_COUNT_AT = VPMC_SLOT_AT->base;
		}
		vpmc_barrier();
	} while (__builtin_expect(page->generation != generation, 0));
#undef VPMC_COUNT_AT
#undef VPMC_SLOT_AT
}

/**
 * vpmc_read_ticks() - Read the run time alone, of a set of any size
 * @page:	The calling thread's own page.
 *
 * Return: TSC ticks in which the thread ran and its set counted.
 */
static inline uint64_t vpmc_read_ticks(const struct vpmc_page *page)
{
	uint64_t ticks;

	vpmc_read_n(page, 0, (uint64_t *)0, &ticks);
	return ticks;
}

/**
 * vpmc_read_1() - Read the first counter
 * @page:	The calling thread's own page.
 *
 * Return: Its count.
 */
static inline uint64_t vpmc_read_1(const struct vpmc_page *page)
{
	uint64_t count;

	vpmc_read_n(page, 1, &count, (uint64_t *)0);
	return count;
}

/**
 * vpmc_read_2() - Read the first 2 counters and the run time
 * @page:	The calling thread's own page.
 * @count:	Receives the counts.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 */
static inline void vpmc_read_2(const struct vpmc_page *page, uint64_t count[2],
			       uint64_t *ticks)
{
	vpmc_read_n(page, 2, count, ticks);
}

/**
 * vpmc_read_4() - Read the first 4 counters and the run time
 * @page:	The calling thread's own page.
 * @count:	Receives the counts.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 */
static inline void vpmc_read_4(const struct vpmc_page *page, uint64_t count[4],
			       uint64_t *ticks)
{
	vpmc_read_n(page, 4, count, ticks);
}

/**
 * vpmc_read_8() - Read the first 8 counters and the run time
 * @page:	The calling thread's own page.
 * @count:	Receives the counts.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 */
static inline void vpmc_read_8(const struct vpmc_page *page, uint64_t count[8],
			       uint64_t *ticks)
{
	vpmc_read_n(page, 8, count, ticks);
}

#endif /* VPMC_READ_H */
