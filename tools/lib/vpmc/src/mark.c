// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Begins and ends regions, by appending a record to the thread's log.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <unistd.h>

#include "count.h"
#include "region.h"

#define ALWAYS_INLINE	inline __attribute__((__always_inline__))
#define SLOWLY		__attribute__((__noinline__, __cold__))

#ifdef __x86_64__
#define lfence()	__asm__ __volatile__("lfence" : : : "memory")
#else
/* Not all 32-bit processors have LFENCE. */
#define lfence()	__asm__ __volatile__("lock; addl $0, (%%esp)" : : : "memory", "cc")
#endif

/*
 * Loads the page's generation into the register of a function's first argument, which is not
 * needed any more. With another one, compilers save a register on the stack.
 */
static ALWAYS_INLINE uint64_t generation_of(const struct vpmc_page *page)
{
#ifdef __x86_64__
	uint64_t generation;

	__asm__ __volatile__("mov %1, %0" : "=D" (generation) : "m" (page->generation));
	return generation;
#else
	return *(const volatile __u64 *)&page->generation;
#endif
}

/*
 * Takes a snapshot of a running set by RDPMC, into the mark and values of a
 * record. Returns false if the read was disturbed, or if RDPMC cannot be used.
 */
static ALWAYS_INLINE bool take(const struct vpmc_regions *regions, uint64_t *at,
			       unsigned int flags)
{
	const struct vpmc_page *page = regions->page;
	uint64_t generation;

	if (flags & VPMC_REGIONS_LFENCE)
		lfence();
	/*
	 * If the page has the generation at which the thread has seen that the set runs, and is
	 * the one that it has opened, nothing has changed since then.
	 */
	generation = generation_of(page);
	if (unlikely(generation != regions->seen))
		return false;
	vpmc_barrier();
	if (flags & VPMC_REGIONS_TWICE) {
		at[WORD_VALUES] = page->tsc_base + vpmc_rdtsc();
		count_all(page, at, WORD_COUNTS, regions->bytes);
	}
	at[WORD_VALUES] = page->tsc_base + vpmc_rdtsc();
	count_all(page, at, WORD_COUNTS, regions->bytes);
	if (flags & VPMC_REGIONS_LFENCE)
		lfence();
	vpmc_barrier();
	at[WORD_MARK] = generation;
	return page->generation == generation;
}

/*
 * Takes the snapshot by a system call, of a set in any state. Returns 0 or
 * -errno.
 */
static int take_by_call(struct vpmc_regions *regions, uint64_t *at,
			unsigned int *state)
{
	struct vpmc_read sums;
	unsigned int i;
	bool is_ours;
	int err = vpmc_read_sums(regions->v, 0, &sums);

	if (err)
		return err;
	is_ours = sums.set_number == regions->set_number &&
		  sums.nr_counters >= regions->nr;
	*state = is_ours ? sums.state : 0;
	at[WORD_MARK] = MARK_BY_CALL | (is_ours ? 0 : MARK_REPLACED) |
			*(const volatile __u64 *)&regions->page->generation;
	at[WORD_VALUES] = sums.ticks;
	for (i = 0; i < regions->nr; i++)
		at[WORD_COUNTS + i] = sums.sum[i];
	return 0;
}

/*
 * Returns 0 if the calling thread owns the regions, or a negative error number.
 */
static int check_thread(const struct vpmc_regions *regions)
{
	if (!regions->v)
		return -EPERM;
	if (vpmc_fd(regions->v) < 0)
		return -ESRCH;
	/* A new thread may have the thread pointer of one that has ended. */
	if (regions->thread != thread_pointer() ||
	    regions->tid != (uint32_t)gettid())
		return -EPERM;
	return 0;
}

/*
 * Does the page's state and nr_counters say that the set runs, with the counters that it
 * had at first? Others may have added some behind them, or taken those away.
 */
static bool runs_with_ours(const struct vpmc_regions *regions, uint64_t present)
{
	return regions->by_rdpmc && (uint32_t)present == VPMC_STATE_RUNNING &&
	       present >> 32 >= regions->nr;
}

/*
 * Returns true if a read was only disturbed, or was the first one since the page has
 * changed, and the set is still the thread's. The caller then repeats all of it, so that
 * the same instructions follow each read that succeeds.
 */
static bool may_try_again(struct vpmc_regions *regions)
{
	const struct vpmc_page *page = regions->page;
	uint64_t generation = *(const volatile __u64 *)&page->generation, present;

	vpmc_barrier();
	__builtin_memcpy(&present, &page->state, sizeof(present));
	if (!runs_with_ours(regions, present) || page->set_number != regions->set_number)
		return false;
	vpmc_barrier();
	regions->seen = generation;
	if (regions->tried_at != regions->head) {
		regions->tried_at = regions->head;
		regions->tries = 0;
	}
	return ++regions->tries < VPMC_READ_TRIES;
}

/*
 * Appends the record that is written. The head moves last, because readers take all records
 * below it.
 */
static ALWAYS_INLINE void append(struct vpmc_regions *regions)
{
	vpmc_barrier();
	regions->head = (uint64_t *)((char *)regions->head + regions->record_size);
	vpmc_barrier();
}

/* The record and the stack have the region already. */
static ALWAYS_INLINE void append_begin(struct vpmc_regions *regions)
{
	append(regions);
	regions->top++;
}

static ALWAYS_INLINE void append_end(struct vpmc_regions *regions, uint64_t *at)
{
	at[WORD_REGION] = 0;
	append(regions);
	regions->top--;
}

/*
 * The owner is another thread, or busy: then a signal handler has interrupted the thread
 * in begin, in end, or where it takes the log into the statistics.
 */
static SLOWLY int refuse(struct region *region)
{
	int err = check_thread(region->regions);

	return err ? err : -EBUSY;
}

static SLOWLY int refuse_begin(struct region *region)
{
	int err = refuse(region);

	if (err == -EBUSY)
		__atomic_fetch_add(&region->refused, 1, __ATOMIC_RELAXED);
	return err;
}

static int append_by_call(struct vpmc_regions *regions, struct region *region)
{
	unsigned int state;
	int err = take_by_call(regions, regions->head, &state);

	if (err)
		return err;
	if (state != VPMC_STATE_RUNNING)
		return -ENODATA;
	regions->head[WORD_REGION] = (uintptr_t)region;
	*regions->top = region;
	append_begin(regions);
	return 0;
}

/* Another function, because begin_slowly() has to end with a jump to begin(). */
static SLOWLY void empty_full_log(struct vpmc_regions *regions)
{
	struct flush flush;

	vpmc_samples_flush(regions, &flush);
	vpmc_samples_flushed(regions, &flush, regions->full);
}

/* The thread is busy. */
static SLOWLY int begin_slowly(struct region *region)
{
	struct vpmc_regions *regions = region->regions;
	int err = check_thread(regions);

	if (!err && regions->top == regions->deepest)
		err = -ENOSPC;
	if (!err && regions->head >= regions->limit) {
		empty_full_log(regions);
		vpmc_regions_leave(regions);
		return region->public.begin(&region->public);
	}
	if (!err && may_try_again(regions)) {
		vpmc_regions_leave(regions);
		return region->public.begin(&region->public);
	}
	if (!err)
		err = append_by_call(regions, region);
	vpmc_regions_leave(regions);
	if (err && region->by_markers)
		vpmc_marker_skip(region, err);
	return err;
}

/* The read of begin() was disturbed, or RDPMC cannot be used. The record has the region. */
static SLOWLY int begin_unread(struct vpmc_regions *regions)
{
	return begin_slowly((struct region *)(uintptr_t)regions->head[WORD_REGION]);
}

/* An exception or longjmp() has left them. Returns 0 or a negative error number. */
static int end_those_within(struct vpmc_regions *regions, struct region *region)
{
	struct region **begun = regions->top, *last;
	int err = 0;

	while (*--begun != region)
		if (!*begun)
			return -ENOENT;
	while (!err && (last = regions->top[-1]) != region)
		err = last->public.end(&last->public);
	return err;
}

/* The thread is busy. */
static SLOWLY int end_slowly(struct region *region)
{
	struct vpmc_regions *regions = region->regions;
	unsigned int state;
	int err = check_thread(regions);

	if (!err && regions->top[-1] != region) {
		vpmc_regions_leave(regions);
		err = end_those_within(regions, region);
		return err ? err : region->public.end(&region->public);
	}
	if (!err && may_try_again(regions)) {
		vpmc_regions_leave(regions);
		return region->public.end(&region->public);
	}
	if (!err)
		err = take_by_call(regions, regions->head, &state);
	if (!err)
		append_end(regions, regions->head);
	vpmc_regions_leave(regions);
	return err;
}

/* The same for end(): the region is the one that has begun last. */
static SLOWLY int end_unread(struct vpmc_regions *regions)
{
	return end_slowly(regions->top[-1]);
}

/*
 * Loads region->regions into another register. Compilers copy the argument first, which is one
 * instruction more.
 */
static ALWAYS_INLINE struct vpmc_regions *regions_of(const struct region *region)
{
#ifdef __x86_64__
	struct vpmc_regions *regions;

	__asm__("mov %1, %0" : "=&r" (regions) : "m" (region->regions));
	return regions;
#else
	return region->regions;
#endif
}

/*
 * Begins a region. The space above the limit is kept for the ends of open
 * regions.
 */
static ALWAYS_INLINE int begin(struct vpmc_region *public, unsigned int flags)
{
	struct region *region = (struct region *)public;
	struct vpmc_regions *regions = regions_of(region);
	const void *thread = thread_pointer();
	struct region **top;
	uint64_t *at;

	if (unlikely(regions->owner != thread))
		return refuse_begin(region);
	vpmc_regions_enter(regions);
	at = regions->head;
	top = regions->top;
	if (unlikely(at >= regions->limit) || unlikely(top == regions->deepest))
		return begin_slowly(region);
	/* Written before the read, so that no register needs to keep the region. */
	at[WORD_REGION] = (uintptr_t)region;
	*top = region;
	if (unlikely(!take(regions, at, flags)))
		return begin_unread(regions);
	append_begin(regions);
	vpmc_barrier();
	regions->owner = thread;
	return 0;
}

static ALWAYS_INLINE int end(struct vpmc_region *public, unsigned int flags)
{
	struct region *region = (struct region *)public;
	struct vpmc_regions *regions = regions_of(region);
	const void *thread = thread_pointer();
	uint64_t *at;

	if (unlikely(regions->owner != thread))
		return refuse(region);
	vpmc_regions_enter(regions);
	at = regions->head;
	if (unlikely(regions->top[-1] != region))
		return end_slowly(region);
	/* No register needs to keep the region. */
	if (unlikely(!take(regions, at, flags)))
		return end_unread(regions);
	append_end(regions, at);
	vpmc_barrier();
	regions->owner = thread;
	return 0;
}

static int begin_plain(struct vpmc_region *region)
{
	return begin(region, 0);
}

static int end_plain(struct vpmc_region *region)
{
	return end(region, 0);
}

static int begin_lfence(struct vpmc_region *region)
{
	return begin(region, VPMC_REGIONS_LFENCE);
}

static int end_lfence(struct vpmc_region *region)
{
	return end(region, VPMC_REGIONS_LFENCE);
}

static int begin_twice(struct vpmc_region *region)
{
	return begin(region, VPMC_REGIONS_TWICE);
}

static int end_twice(struct vpmc_region *region)
{
	return end(region, VPMC_REGIONS_TWICE);
}

void vpmc_region_functions(struct vpmc_region *region, unsigned int flags)
{
	region->begin = flags & VPMC_REGIONS_LFENCE ? begin_lfence :
			flags & VPMC_REGIONS_TWICE ? begin_twice : begin_plain;
	region->end = flags & VPMC_REGIONS_LFENCE ? end_lfence :
		      flags & VPMC_REGIONS_TWICE ? end_twice : end_plain;
}
