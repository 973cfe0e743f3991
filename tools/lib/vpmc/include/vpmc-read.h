/* SPDX-License-Identifier: MIT */
/*
 * Reads a thread's own virtual performance counters in user space.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Copy this file, or include it after installing <linux/vpmc.h>. It needs
 * nothing else. Only vpmc_read_bounded() makes a system call.
 *
 * RDPMC raises SIGSEGV if it is forbidden. It is forbidden if the file "rdpmc"
 * in /sys/bus/event_source/devices/cpu contains 0. So after CONTROL and before
 * the first read, check that the page's caps have VPMC_CAP_RDPMC.
 */
#ifndef VPMC_READ_H
#define VPMC_READ_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <linux/vpmc.h>

#if !defined(__x86_64__) && !defined(__i386__)
#error "vpmc-read.h: RDPMC is an x86 instruction"
#endif

/* A compiler barrier is enough. See the description of struct vpmc_page. */
#define vpmc_barrier()	__asm__ __volatile__("" : : : "memory")

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define VPMC_UNROLL	_Pragma("GCC unroll 8")
#else
#define VPMC_UNROLL
#endif

#ifdef __x86_64__
/* RDPMC zero-extends both halves, so one shift and one OR join them. */
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

/* Reads one counter. The set must run. */
static inline __attribute__((__always_inline__)) uint64_t
vpmc_count(const struct vpmc_page *page, const struct vpmc_slot *slot)
{
	return slot->base + (vpmc_rdpmc(slot->index) ^ page->sign);
}

/**
 * vpmc_read_n() - Read the first @n counters and the run time as one snapshot
 * @page:	The calling thread's own page. Another thread's does not work.
 * @n:		At most @page->nr_counters. If it is a constant, the compiler
 *		unrolls the loop.
 * @count:	Receives @n 64-bit counts.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 *
 * Context: MT-Safe, AS-Safe.
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
			/*
			 * GCC 14 would load the bases before the branch, because
			 * both sides need them. That takes more instructions.
			 */
			vpmc_barrier();
			if (ticks)
				*ticks = page->tsc_base;
			for (i = 0; i < n; i++)
				count[i] = page->slot[i].base;
		}
		vpmc_barrier();
	} while (__builtin_expect(page->generation != generation, 0));
}

/**
 * vpmc_read_page() - Read all counters and the run time, for any set
 * @page:	The calling thread's own page.
 * @count:	Receives @page->nr_counters 64-bit counts. Give it room for
 *		VPMC_MAX_COUNTERS, unless only this thread can program its set:
 *		other threads may program more counters at any moment.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 *
 * Context: MT-Safe, AS-Safe.
 */
static inline void vpmc_read_page(const struct vpmc_page *page,
				  uint64_t *count, uint64_t *ticks)
{
	/*
	 * @at goes from the last counter to the first, in bytes. It is both the
	 * loop variable and the index.
	 */
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
 * vpmc_read_ticks() - Read only the run time, of a set of any size
 * @page:	The calling thread's own page.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: TSC ticks during which the thread ran and its set counted.
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
 * Context: MT-Safe, AS-Safe.
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
 *
 * Context: MT-Safe, AS-Safe.
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
 *
 * Context: MT-Safe, AS-Safe.
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
 *
 * Context: MT-Safe, AS-Safe.
 */
static inline void vpmc_read_8(const struct vpmc_page *page, uint64_t count[8],
			       uint64_t *ticks)
{
	vpmc_read_n(page, 8, count, ticks);
}

/*
 * Number of tries of vpmc_try_read(). A try is disturbed only if the thread
 * loses the CPU within these few instructions, or if a counter reaches the end
 * of its range. So two disturbed tries in a row are rare. But a debugger that
 * steps through the loop takes the CPU away at each instruction. Without a
 * limit the read would never end.
 */
#define VPMC_READ_TRIES	16

/**
 * vpmc_try_read() - Read all counters and the run time, in a few tries
 * @page:	The calling thread's own page.
 * @nr:		Number of elements of @count.
 * @count:	Receives the 64-bit counts, as many as the set has; anything on
 *		error.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The number of counters in the set; or -ENOSPC: it is more than @nr;
 * -EAGAIN: all of VPMC_READ_TRIES reads were disturbed.
 */
static inline int vpmc_try_read(const struct vpmc_page *page, unsigned int nr,
				uint64_t *count, uint64_t *ticks)
{
	unsigned int tries = VPMC_READ_TRIES, n, i;
	uint64_t generation;

	do {
		generation = *(const volatile __u64 *)&page->generation;
		vpmc_barrier();
		n = *(const volatile __u32 *)&page->nr_counters;
		if (__builtin_expect(n > nr, 0))
			return -ENOSPC;
		if (__builtin_expect(page->state == VPMC_STATE_RUNNING, 1)) {
			if (ticks)
				*ticks = page->tsc_base + vpmc_rdtsc();
			for (i = 0; i < n; i++)
				count[i] = vpmc_count(page, &page->slot[i]);
		} else {
			if (ticks)
				*ticks = page->tsc_base;
			for (i = 0; i < n; i++)
				count[i] = page->slot[i].base;
		}
		vpmc_barrier();
		if (__builtin_expect(page->generation == generation, 1))
			return n;
	} while (--tries);
	return -EAGAIN;
}

/**
 * vpmc_read_bounded() - Read all counters and the run time, even in a debugger
 * @page:	The calling thread's own page.
 * @fd:		A descriptor of the same counters.
 * @nr:		Number of elements of @count.
 * @count:	Receives the 64-bit counts, as many as the set has; anything on
 *		error.
 * @ticks:	Receives the thread's run time in TSC ticks; may be NULL.
 *
 * After VPMC_READ_TRIES disturbed tries it calls VPMC_IOC_READ. A debugger steps
 * over a system call at once, so that read is not disturbed.
 *
 * Context: MT-Safe, AS-Safe errno.
 *
 * Return: The number of counters in the set; or -ENOSPC: it is more than @nr;
 * or another negative error number from VPMC_IOC_READ.
 */
static inline int vpmc_read_bounded(const struct vpmc_page *page, int fd,
				    unsigned int nr, uint64_t *count,
				    uint64_t *ticks)
{
	int n = vpmc_try_read(page, nr, count, ticks);
	struct vpmc_read sums;
	unsigned int i;

	if (__builtin_expect(n != -EAGAIN, 1))
		return n;
	__builtin_memset(&sums, 0, sizeof(sums));
	sums.size = sizeof(sums);
	if (ioctl(fd, VPMC_IOC_READ, &sums) < 0)
		return -errno;
	if (sums.nr_counters > nr)
		return -ENOSPC;
	if (ticks)
		*ticks = sums.ticks;
	for (i = 0; i < sums.nr_counters; i++)
		count[i] = sums.sum[i];
	return i;
}

/**
 * vpmc_page_ns() - Convert TSC ticks to nanoseconds
 * @page:	Any page whose caps have VPMC_CAP_TIME.
 * @ticks:	The ticks.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The nanoseconds; 0 without VPMC_CAP_TIME.
 */
static inline uint64_t vpmc_page_ns(const struct vpmc_page *page,
				    uint64_t ticks)
{
	uint64_t low = (ticks & 0xffffffff) * page->time_mult;
	uint64_t high = (ticks >> 32) * page->time_mult;
	unsigned int shift = page->time_shift;

	/* the product of 96 bits, in two halves of 64 that overlap by 32 */
	high += low >> 32;
	low &= 0xffffffff;
	if (shift >= 32)
		return high >> (shift - 32);
	return (high << (32 - shift)) | (low >> shift);
}

#endif /* VPMC_READ_H */
