/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets with a ring of records, and what a record must say.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RING_H
#define RING_H

#include <vpmc-ring.h>

#include "overflow.h"

static inline size_t ring_size(const struct vpmc_control *control)
{
	size_t size = VPMC_RING_SIZE((size_t)control->ring_records,
				     control->nr_counters);

	return (size + PAGE - 1) / PAGE * PAGE;
}

/* MAP_FAILED if it cannot be mapped. */
static inline const struct vpmc_ring *ring_map(const struct set *set)
{
	return mmap(NULL, ring_size(&set->control), PROT_READ, MAP_SHARED,
		    set->fd, PAGE);
}

static inline int ring_unmap(const struct set *set, const struct vpmc_ring *ring)
{
	return munmap((void *)ring, ring_size(&set->control));
}

/*
 * Attach, map and program @period instructions, and branches without a period,
 * with a ring that wakes when half of it is full. The set is stopped.
 */
static inline int open_with_ring(struct set *set, uint64_t period,
				 uint16_t records, unsigned int flags)
{
	int err = open_with_period(set, period, 0);

	set->control.flags |= flags;
	set->control.ring_records = records;
	set->control.ring_watermark = records > 1 ? records / 2 : 1;
	return err ?: set_control(set);
}

static inline int ring_consume(const struct set *set, unsigned long n)
{
	return vpmc_ioctl(set->fd, VPMC_IOC_CONSUME, (void *)n);
}

/*
 * Returns 1, and prints the record, if it is not as it must be after @insns
 * instructions of code_measure() with code_loop(). They were counted from @from. Where
 * counts are not exact, the tolerance since tolerance_begin() is allowed, which must be
 * less than @period.
 */
static inline int record_of_period_wrong(const struct vpmc_record *r,
					 uint64_t insns, struct code_count from,
					 uint64_t lost, uint64_t period)
{
	if (r->mask == 1 && r->periods == 1 && at_loop_ip(r->ip, insns) &&
	    r->lost == lost &&
	    overflow_fits(r->sum[0], from.insns + insns, period, true) &&
	    overflow_fits(r->sum[1], from.branches + branches_at(insns), period,
			  false))
		return 0;
	fprintf(stderr,
		"# after %llu: mask %#x periods %u ip %#llx lost %llu sums %llu %llu\n",
		(unsigned long long)insns, r->mask, r->periods,
		(unsigned long long)r->ip, (unsigned long long)r->lost,
		(unsigned long long)r->sum[0], (unsigned long long)r->sum[1]);
	return 1;
}

/* The same of a first period. */
static inline int record_wrong(const struct vpmc_record *r, uint64_t insns,
			       struct code_count from, uint64_t lost)
{
	return record_of_period_wrong(r, insns, from, lost, insns);
}

#endif /* RING_H */
