/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: regions, parts of a program with a name of their own.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * A thread opens its regions, names some, and calls vpmc_begin() and vpmc_end() where
 * each begins and ends. That takes two reads of the counters and some ten
 * instructions, and no system call. From time to time the samples are added to the
 * statistics; the values do not include what this takes.
 *
 * A value is inclusive, with what regions within have counted, or exclusive,
 * without. What begin and end count themselves is measured when the regions are
 * opened and subtracted. A sample is dirty if the thread was put on a CPU, or its
 * set was changed, between begin and end. Dirty samples are added up separately.
 */
#ifndef VPMC_REGION_H
#define VPMC_REGION_H

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
 * @begin:	What vpmc_begin() calls.
 * @end:	What vpmc_end() calls.
 *
 * Private fields follow. A call by pointer takes the same instructions in each
 * program, however it is linked, so their number can be subtracted.
 */
struct vpmc_region {
	int (*begin)(struct vpmc_region *region);
	int (*end)(struct vpmc_region *region);
};

/* Flags of vpmc_regions_open(). */
#define VPMC_REGIONS_LFENCE	(1U << 0)  /* LFENCE before and behind each read */
#define VPMC_REGIONS_TWICE	(1U << 1)  /* each read twice: the second one counts */

/* How many regions a thread can have, and how many may be begun at once. */
#define VPMC_REGIONS_MAX	256
#define VPMC_REGIONS_DEPTH	64

/* Which values of a region. */
#define VPMC_INCLUSIVE		0U
#define VPMC_EXCLUSIVE		1U

/* In place of the number of an event: the run time, in TSC ticks. */
#define VPMC_RUN_TIME		(-1)

/**
 * struct vpmc_region_calls - How often a region ran
 * @calls:	Samples that have ended, clean and dirty.
 * @dirty:	How many of them are dirty.
 * @unfinished:	How often it has begun and not ended.
 */
struct vpmc_region_calls {
	uint64_t calls, dirty, unfinished;
};

/* For the compiler alone: it does not make a jump of a call at a function's end. */
#define VPMC_CALLED(result)	__asm__ __volatile__("" : "+r" (result))

/**
 * vpmc_begin() - A region begins
 * @region:	A region of the calling thread. It may have begun already.
 *
 * Return: 0, or an error, and it has not begun: -EPERM: another thread's; -ENOSPC:
 * VPMC_REGIONS_DEPTH regions have begun; -ENODATA: the set does not run, or is
 * another one; -ESRCH in a child after fork().
 */
static inline int vpmc_begin(struct vpmc_region *region)
{
	int err = region->begin(region);

	VPMC_CALLED(err);
	return err;
}

/**
 * vpmc_end() - A region ends
 * @region:	The region that has begun last.
 *
 * Return: 0, or an error, and nothing has ended: -EPERM: another thread's; -ENOENT:
 * it has not begun; -EBUSY: one within it has not ended; -ESRCH in a child after
 * fork().
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
 * @list:	The events, see vpmc(7), which are programmed and started; NULL: the
 *		set that the thread has, and which must run, as below vpmc stat.
 * @flags:	VPMC_REGIONS_* bits; 0: nothing keeps the code of a region apart
 *		from the reads.
 * @error:	Receives what went wrong; may be NULL.
 *
 * Some hundred empty regions are counted, to know what begin and end cost.
 *
 * Return: 0, or -EEXIST: the thread has its regions open; -EINVAL: unknown flags;
 * -ENODATA: no set runs; -EAGAIN: no empty region was left undisturbed; or what
 * vpmc_open(), vpmc_parse_events() and vpmc_program() answer.
 */
int vpmc_regions_open(struct vpmc_regions **regions, const char *list,
		      unsigned int flags, struct vpmc_error *error);

/**
 * vpmc_regions_close() - Count no more regions
 * @regions:	The calling thread's, or those of a thread that has ended; NULL is
 *		nothing to do. None of its regions may be used any more.
 *
 * The counters continue. What was counted is kept for the report, if VPMC_REPORT is
 * set.
 *
 * Return: 0; or -EBUSY: they are closed, but some had begun and not ended; -EPERM:
 * they are another thread's, and not closed.
 */
int vpmc_regions_close(struct vpmc_regions *regions);

/**
 * vpmc_regions_handle() - The counters that regions read
 * @regions:	The regions.
 *
 * Return: The handle, which remains the regions'.
 */
struct vpmc *vpmc_regions_handle(struct vpmc_regions *regions);

/**
 * vpmc_regions_cost() - What begin and end count themselves
 * @regions:	The regions.
 * @event:	Number of the event in the set, or VPMC_RUN_TIME.
 * @inside:	Receives it for an empty region's own value; 0 on error.
 * @around:	Receives it for the value of a region around that; 0 on error.
 *
 * Return: 0, or -EINVAL: no such event.
 */
int vpmc_regions_cost(const struct vpmc_regions *regions, int event,
		      uint64_t *inside, uint64_t *around);

/**
 * vpmc_region_get() - The region of a name
 * @regions:	The calling thread's regions.
 * @name:	The name, 1 to 255 bytes; it is copied.
 * @region:	Receives the region, a new one or the one that has this name; NULL on
 *		error.
 *
 * Return: 0, or -EINVAL: no name, or too long; -ENOSPC: there are VPMC_REGIONS_MAX;
 * -EPERM: another thread's; -ENOMEM.
 */
int vpmc_region_get(struct vpmc_regions *regions, const char *name,
		struct vpmc_region **region);

/**
 * vpmc_region_stats() - The values of a region
 * @region:	The region.
 * @event:	Number of the event in the set, or VPMC_RUN_TIME.
 * @which:	VPMC_INCLUSIVE or VPMC_EXCLUSIVE.
 *
 * Of all clean samples up to now. Read it in the region's thread, or once that has
 * ended.
 *
 * Return: The statistics, which remain the region's and change as it goes on; NULL:
 * there is no such event.
 */
const struct vpmc_stats *vpmc_region_stats(struct vpmc_region *region, int event,
					   unsigned int which);

/**
 * vpmc_region_dirty() - The sum of the dirty samples of a region
 * @region:	The region.
 * @event:	Number of the event in the set, or VPMC_RUN_TIME.
 * @which:	VPMC_INCLUSIVE or VPMC_EXCLUSIVE.
 *
 * Return: The sum; 0: there is no such event.
 */
uint64_t vpmc_region_dirty(struct vpmc_region *region, int event,
			   unsigned int which);

/**
 * vpmc_region_count() - How often a region ran
 * @region:	The region.
 * @calls:	Receives it.
 */
void vpmc_region_count(struct vpmc_region *region,
		       struct vpmc_region_calls *calls);

/* Formats of vpmc_report(). */
#define VPMC_REPORT_TEXT	0U
#define VPMC_REPORT_JSON	1U

/**
 * vpmc_report() - Write all threads' regions
 * @fd:		Where to.
 * @format:	VPMC_REPORT_TEXT, or VPMC_REPORT_JSON: as vpmc-region.schema.json says.
 *
 * In the order in which they appeared first. At exit() the library does the same if
 * VPMC_REPORT=FILE is in the environment, see vpmc(7).
 *
 * Return: 0, or -EINVAL: unknown format; -ENOMEM; or what write() answers.
 */
int vpmc_report(int fd, unsigned int format);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_REGION_H */
