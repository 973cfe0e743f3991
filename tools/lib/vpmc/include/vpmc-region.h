/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: regions, which are named parts of a program.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * A thread opens its regions, names some, and calls vpmc_begin() and vpmc_end()
 * where each begins and ends. That takes two reads of the counters and some ten
 * instructions, and no system call. From time to time the library adds the
 * samples to the statistics. What this takes is not in the values.
 *
 * An inclusive value contains what nested regions have counted. An exclusive
 * value does not. What begin and end count themselves is measured when the
 * regions are opened, and subtracted. A sample is dirty if the thread was put
 * on a CPU, or its set was changed, between begin and end. Dirty samples are
 * added up separately.
 */
#ifndef VPMC_REGION_H
#define VPMC_REGION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vpmc;
struct vpmc_error;
struct vpmc_stats;

/* All regions of a thread. */
struct vpmc_regions;

/**
 * struct vpmc_region - A region of one thread
 * @begin:	Function that vpmc_begin() calls.
 * @end:	Function that vpmc_end() calls.
 *
 * Private fields follow. A call through a pointer takes the same instructions in
 * all programs, however they are linked. So their number can be subtracted.
 */
struct vpmc_region {
	int (*begin)(struct vpmc_region *region);
	int (*end)(struct vpmc_region *region);
};

/* Flags of vpmc_regions_open(). */
#define VPMC_REGIONS_LFENCE	(1U << 0)  /* LFENCE before and after each read */
#define VPMC_REGIONS_TWICE	(1U << 1)  /* each read twice; the second one is used */
#define VPMC_REGIONS_KEEP	(1U << 2)  /* they stay when their thread ends */

/* Maximum number of regions of a thread, and of those that are open at once. */
#define VPMC_REGIONS_MAX	256
#define VPMC_REGIONS_DEPTH	64

/* The two kinds of a region's values. */
#define VPMC_INCLUSIVE		0U
#define VPMC_EXCLUSIVE		1U

/* Stands for the run time, in TSC ticks, in place of an event's number. */
#define VPMC_RUN_TIME		(-1)

/**
 * struct vpmc_region_calls - How often a region ran
 * @calls:	Samples that have ended: clean, dirty and replaced.
 * @dirty:	How many of them are dirty.
 * @unfinished:	Samples that have begun and not ended.
 * @replaced:	How many of @calls ended after somebody had programmed another set. They
 *		are in none of the sums.
 * @refused:	How often vpmc_begin() has returned -EBUSY.
 */
struct vpmc_region_calls {
	uint64_t calls, dirty, unfinished, replaced, refused;
};

/* Keeps the compiler from turning a call at a function's end into a jump. */
#define VPMC_CALLED(result)	__asm__ __volatile__("" : "+r" (result))

/**
 * vpmc_begin() - Begin a region
 * @region:	A region of the calling thread. It may have begun already.
 *
 * A signal handler may call this, for the regions of the thread that it has interrupted.
 * It must return, and not jump out. Not for a region that marks of vpmc-marker.h use: they
 * expect an end for each begin, also for one that was refused.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or an error if it has not begun: -EPERM: it is another thread's;
 * -ENOSPC: VPMC_REGIONS_DEPTH regions have begun; -ENODATA: the set does not run,
 * or is another one than at vpmc_regions_open(); -EBUSY: the caller is a signal handler
 * that has interrupted its thread in a call about its regions; -ESRCH in a child after
 * fork().
 */
static inline int vpmc_begin(struct vpmc_region *region)
{
	int err = region->begin(region);

	VPMC_CALLED(err);
	return err;
}

/**
 * vpmc_end() - End a region
 * @region:	A region that has begun. Those that began later within it, and were left by
 *		an exception or longjmp(), end with it.
 *
 * If another set was programmed since the region has begun, the sample is counted as
 * replaced, and its values are not used. A signal handler may call this as it may call
 * vpmc_begin(): within one call of a handler both are refused, or neither.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or an error if nothing has ended: -EPERM: it is another thread's;
 * -ENOENT: it has not begun; -EBUSY: as for vpmc_begin(); -ESRCH in a child after fork().
 */
static inline int vpmc_end(struct vpmc_region *region)
{
	int err = region->end(region);

	VPMC_CALLED(err);
	return err;
}

/**
 * vpmc_regions_open() - Count the regions of the calling thread
 * @regions:	Receives them; NULL on error.
 * @list:	The events to count, see vpmc(7). If the thread has a set, for
 *		instance from vpmc stat, that is used, and started if it is stopped.
 *		What it lacks is added to it until the regions are closed. If there is
 *		none, one is programmed. NULL stands for the list in the environment's
 *		VPMC_EVENTS or, if it is not there, for the set that the thread has.
 *		It must run then. Counters that others have added to it stay until the
 *		regions are closed.
 * @flags:	VPMC_REGIONS_* bits. With 0, the processor may execute code of a
 *		region before or after the reads.
 * @error:	Receives what went wrong; may be NULL.
 *
 * The call counts a few hundred empty regions, to measure begin and end.
 *
 * When the thread ends its regions are closed, and nobody may use them any more. With
 * VPMC_REGIONS_KEEP they stay until vpmc_regions_close(): another thread may read their
 * values after it has joined the thread.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: 0, or -EEXIST: the thread has its regions open, or somebody is programming its
 * set; -EINVAL: unknown flags;
 * -ENODATA: no set runs; -EAGAIN: all empty regions were disturbed; or an error
 * of vpmc_open(), vpmc_parse_events() or vpmc_share().
 */
int vpmc_regions_open(struct vpmc_regions **regions, const char *list,
		      unsigned int flags, struct vpmc_error *error);

/**
 * vpmc_regions_close() - Stop counting regions
 * @regions:	Those of the calling thread, or with VPMC_REGIONS_KEEP of a thread that
 *		has ended. NULL does nothing. None of the regions may be used any more.
 *
 * The counters continue. If VPMC_REPORT is set, the values are kept for the
 * report. Of threads that have counted the same events it has the first 64 one by one.
 * What further ones have counted is added to the last of these.
 *
 * Context: MT-Safe race:regions env, AS-Unsafe race:regions lock heap.
 *
 * Return: 0; or -EBUSY: they are closed, but some had not ended; -EPERM: they are
 * another thread's, and not closed.
 */
int vpmc_regions_close(struct vpmc_regions *regions);

/**
 * vpmc_regions_handle() - The counters that regions read
 * @regions:	The regions.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The handle. It belongs to the regions, so do not close it.
 */
struct vpmc *vpmc_regions_handle(struct vpmc_regions *regions);

/**
 * vpmc_regions_cost() - What begin and end count themselves
 * @regions:	The regions.
 * @event:	Number of the event in the list, without those that were left out, or
 *		VPMC_RUN_TIME. Without a list: its number in the set.
 * @inside:	Receives what an empty region counts; 0 on error.
 * @around:	Receives what it adds to a region around it; 0 on error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -EINVAL: no such event.
 */
int vpmc_regions_cost(const struct vpmc_regions *regions, int event,
		      uint64_t *inside, uint64_t *around);

/**
 * vpmc_region_get() - Find or make the region of a name
 * @regions:	The calling thread's regions.
 * @name:	The name, 1 to 255 bytes; it is copied.
 * @region:	Receives the region, a new one or the one that has this name; NULL on
 *		error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -EINVAL: the name is empty or too long; -ENOSPC: there are
 * VPMC_REGIONS_MAX regions; -EPERM: @regions are another thread's; -EBUSY: as for
 * vpmc_begin(); -ENOMEM.
 */
int vpmc_region_get(struct vpmc_regions *regions, const char *name,
		struct vpmc_region **region);

/**
 * vpmc_region_total() - The sum of a region's values
 * @region:	The region.
 * @event:	Number of the event in the list, without those that were left out, or
 *		VPMC_RUN_TIME. Without a list: its number in the set.
 * @which:	VPMC_INCLUSIVE or VPMC_EXCLUSIVE.
 * @dirty:	Receives the part of the sum that is of dirty samples; may be NULL.
 *
 * The sum is of all samples that have ended, clean and dirty.
 *
 * Context: MT-Safe race:region, AS-Unsafe race:region lock.
 *
 * Return: The sum; 0: there is no such event.
 */
uint64_t vpmc_region_total(struct vpmc_region *region, int event,
			   unsigned int which, uint64_t *dirty);

/**
 * vpmc_region_stats() - The values of a region
 * @region:	The region.
 * @event:	Number of the event in the list, without those that were left out, or
 *		VPMC_RUN_TIME. Without a list: its number in the set.
 * @which:	VPMC_INCLUSIVE or VPMC_EXCLUSIVE.
 *
 * The values are those of all clean samples so far: if the thread was switched out in
 * each of them, there are none. vpmc_region_total() has the sum of all. Read them in the
 * region's thread or, with VPMC_REGIONS_KEEP, after that thread has ended.
 *
 * Context: MT-Safe race:region, AS-Unsafe race:region lock.
 *
 * Return: The statistics, or NULL: there is no such event. They belong to the
 * region and change with its next samples.
 */
const struct vpmc_stats *vpmc_region_stats(struct vpmc_region *region, int event,
					   unsigned int which);

/**
 * vpmc_region_dirty() - The sum of the dirty samples of a region
 * @region:	The region.
 * @event:	Number of the event in the list, without those that were left out, or
 *		VPMC_RUN_TIME. Without a list: its number in the set.
 * @which:	VPMC_INCLUSIVE or VPMC_EXCLUSIVE.
 *
 * Context: MT-Safe race:region, AS-Unsafe race:region lock.
 *
 * Return: The sum; 0: there is no such event.
 */
uint64_t vpmc_region_dirty(struct vpmc_region *region, int event,
			   unsigned int which);

/**
 * vpmc_region_count_sized() - vpmc_region_count() for a caller that knows @size bytes
 * @region:	The region.
 * @calls:	Receives it.
 * @size:	Bytes of @calls.
 *
 * Context: MT-Safe race:region, AS-Unsafe race:region lock.
 */
void vpmc_region_count_sized(struct vpmc_region *region,
			     struct vpmc_region_calls *calls, size_t size);

/**
 * vpmc_region_count() - How often a region ran
 * @region:	The region.
 * @calls:	Receives it.
 *
 * Context: MT-Safe race:region, AS-Unsafe race:region lock.
 */
static inline void vpmc_region_count(struct vpmc_region *region,
				     struct vpmc_region_calls *calls)
{
	vpmc_region_count_sized(region, calls, sizeof(*calls));
}

/* Formats of vpmc_report(). */
#define VPMC_REPORT_TEXT	0U
#define VPMC_REPORT_JSON	1U

/**
 * vpmc_report() - Write all threads' regions
 * @fd:		Descriptor to write to.
 * @format:	VPMC_REPORT_TEXT, where control characters in names are escaped, or
 *		VPMC_REPORT_JSON. vpmc-region.schema.json describes the latter.
 *
 * Threads and regions are in the order in which they were opened. At exit() the
 * library writes the same if VPMC_REPORT=FILE is in the environment, see vpmc(7).
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: 0, or -EINVAL: unknown format; -ENOMEM; or an error of write().
 */
int vpmc_report(int fd, unsigned int format);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_REGION_H */
