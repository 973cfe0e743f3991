// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reads sums: the thread's own ones by RDPMC, all others by READ.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <string.h>

#include "count.h"

EXPORT int vpmc_read_sums_sized(const struct vpmc *v, unsigned int flags,
				struct vpmc_read *sums, size_t size)
{
	int err;

	memset(sums, 0, size);
	sums->size = size;
	sums->flags = flags;
	err = vpmc_request(v, VPMC_IOC_READ, (unsigned long)sums);
	if (err)
		memset(sums, 0, size);
	return err;
}

EXPORT int vpmc_read_members_sized(const struct vpmc *v,
				   struct vpmc_read_members *read)
{
	int err = vpmc_request(v, VPMC_IOC_READ_MEMBERS, (unsigned long)read);

	if (!err)
		return read->nr;
	read->nr = 0;
	read->nr_counters = 0;
	read->missed = 0;
	read->born = 0;
	return err;
}

static void zero(uint64_t *count, unsigned int from, unsigned int nr)
{
	for (; from < nr; from++)
		count[from] = 0;
}

static __attribute__((__noinline__, __cold__)) int
read_by_call(const struct vpmc *v, uint64_t *count, unsigned int nr,
	     uint64_t *ticks)
{
	struct vpmc_read sums;
	unsigned int i;
	int err = vpmc_read_sums(v, 0, &sums);

	if (!err && sums.nr_counters > nr)
		err = -ENOSPC;
	if (ticks)
		*ticks = err ? 0 : sums.ticks;
	if (err) {
		zero(count, 0, nr);
		return err;
	}
	for (i = 0; i < sums.nr_counters; i++)
		count[i] = sums.sum[i];
	zero(count, i, nr);
	return i;
}

/*
 * Handles all cases that vpmc_read() leaves out. These are sets of other
 * threads, sets that RDPMC may not read, sets that do not run, a wrong @nr, and
 * disturbed reads.
 */
static __attribute__((__noinline__, __cold__)) int
read_slowly(const struct vpmc *v, uint64_t *count, unsigned int nr,
	    uint64_t *ticks)
{
	int n;

	if (v->reader != thread_pointer())
		return read_by_call(v, count, nr, ticks);
	n = vpmc_try_read(v->page, nr, count, ticks);
	if (n < 0)
		return read_by_call(v, count, nr, ticks);
	zero(count, n, nr);
	return n;
}

/*
 * Handles only the usual case, in few instructions. RDPMC and RDTSC take three
 * of the nine registers that a function may use without saving them. One
 * comparison checks both the state and the number of counters against what this
 * handle has programmed. The values are valid only if the generation has not
 * changed.
 */
EXPORT int vpmc_read(const struct vpmc *v, uint64_t *count, unsigned int nr,
		     uint64_t *ticks)
{
	const struct vpmc_page *page = v->page;
	uint64_t generation, running, present;

	if (unlikely(v->reader != thread_pointer()) || unlikely(v->nr != nr))
		return read_slowly(v, count, nr, ticks);
	generation = *(const volatile __u64 *)&page->generation;
	vpmc_barrier();
	running = v->running;
	__builtin_memcpy(&present, &page->state, sizeof(present));
	if (unlikely(present != running))
		return read_slowly(v, count, nr, ticks);
	if (ticks)
		*ticks = page->tsc_base + vpmc_rdtsc();
	count_all(page, count, 0, running >> 29);
	if (unlikely(page->generation != generation))
		return read_slowly(v, count, v->nr, ticks);
	return page->nr_counters;
}

EXPORT int vpmc_ticks_to_ns(const struct vpmc *v, uint64_t ticks, uint64_t *ns)
{
	const struct vpmc_page *page = v->page;
	struct vpmc_info info = { .size = sizeof(info) };
	int err;

	*ns = 0;
	if (v->fd < 0)
		return -ESRCH;
	if (page && page->caps & VPMC_CAP_TIME) {
		*ns = vpmc_page_ns(page, ticks);
		return 0;
	}
	err = vpmc_request(v, VPMC_IOC_INFO, (unsigned long)&info);
	if (err)
		return err;
	if (!info.tsc_khz)
		return -EOPNOTSUPP;
	/* in two parts, because one product would overflow 64 bits */
	*ns = ticks / info.tsc_khz * 1000000 +
	      ticks % info.tsc_khz * 1000000 / info.tsc_khz;
	return 0;
}
