// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The harness: runs a piece of code many times, and counts each run.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "region.h"

#define BASELINES	100

/* state of start and stop, in a thread that executes vpmc_harness() */
struct harness {
	struct vpmc_region *region;
	unsigned int begun;
	int err;
};

static __thread struct harness *current
	__attribute__((__tls_model__("initial-exec")));

int vpmc_harness_xsave;

/* Executes the same instructions in each run, except after errors. */
void vpmc_harness_start(void)
{
	struct harness *harness = current;
	int err;

	if (unlikely(harness->begun++))
		harness->err = -EINVAL;
	err = vpmc_begin(harness->region);
	if (unlikely(err))
		harness->err = err;
}

void vpmc_harness_stop(void)
{
	struct harness *harness = current;
	int err = vpmc_end(harness->region);

	harness->begun = 0;
	/* After a start that failed there is nothing to end. Why it failed is the answer. */
	if (unlikely(err) && !harness->err)
		harness->err = err;
}

/* sums of all runs so far */
struct totals {
	uint64_t value[MAX_VALUES];
	uint64_t dirty, replaced;
};

static void totals_of(struct region *region, struct totals *totals)
{
	unsigned int i;

	vpmc_samples_settle(region->regions);
	for (i = 0; i < region->regions->nr_values; i++)
		totals->value[i] = region->stats[2 * i].sum +
				   region->dirty_sum[VPMC_INCLUSIVE][i];
	totals->dirty = region->dirty;
	totals->replaced = region->replaced;
}

/*
 * Makes one run. Stores the counts to @value, with the run time last. @dirty
 * says whether the run was disturbed.
 */
static int run_once(struct harness *harness, struct region *region,
		    vpmc_run_fn *run, unsigned int flags, unsigned long i,
		    void *arg, uint64_t *value, bool *dirty)
{
	const struct vpmc_regions *regions = region->regions;
	unsigned int nr = regions->nr_events, k, of;
	struct totals before, after;

	(void)flags;	/* only x86-64 has a flag */
	totals_of(region, &before);
	harness->err = 0;
	harness->begun = 0;
	current = harness;
#ifdef __x86_64__
	if (flags & VPMC_HARNESS_SAVE)
		run(vpmc_harness_start_saving, vpmc_harness_stop_saving, i, arg);
	else
#endif
		run(vpmc_harness_start, vpmc_harness_stop, i, arg);
	current = NULL;
	if (harness->begun)
		harness->err = -EINVAL;
	/*
	 * End the regions that the run left open, so that they do not reach
	 * into the next run.
	 */
	while (!vpmc_end(&region->public))
		;
	totals_of(region, &after);
	/* What was counted is of another set, and in none of the sums. */
	if (!harness->err && after.replaced != before.replaced)
		harness->err = -ENODATA;
	for (k = 0; k < nr; k++) {
		of = vpmc_regions_value(regions, k);
		value[k] = after.value[of] - before.value[of];
	}
	value[nr] = after.value[0] - before.value[0];
	*dirty = after.dirty != before.dirty;
	return harness->err;
}

/* Makes the compiler emit a call of stop, and not a jump. */
#define NO_JUMP()	__asm__ __volatile__("" : : : "memory")

static void start_and_stop(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			   unsigned long i, void *arg)
{
	(void)i;
	(void)arg;
	start();
	stop();
	NO_JUMP();
}

/* Computes the least values of the undisturbed runs of the baseline. */
static int measure_cost(struct harness *harness, struct region *region,
			vpmc_run_fn *baseline, unsigned int flags, void *arg,
			struct vpmc_vectors *vectors)
{
	uint64_t value[MAX_VALUES];
	unsigned int k, clean = 0;
	unsigned long i;
	bool dirty;
	int err;

	for (i = 0; i < BASELINES || (!clean && i < 100 * BASELINES); i++) {
		err = run_once(harness, region, baseline, flags, i, arg, value,
			       &dirty);
		if (err) {
			vectors->failed = i;
			return err;
		}
		if (dirty)
			continue;
		for (k = 0; k <= vectors->nr; k++)
			if (!clean || value[k] < vectors->cost[k])
				vectors->cost[k] = value[k];
		clean++;
	}
	return clean ? 0 : -EAGAIN;
}

static void store(const struct vpmc_vectors *vectors, unsigned long i,
		  unsigned long n, const uint64_t *value, bool dirty)
{
	unsigned int k;
	uint64_t cost;

	for (k = 0; k <= vectors->nr; k++) {
		cost = vectors->cost[k];
		if (vectors->raw)
			vectors->raw[k * n + i] = value[k];
		if (vectors->corrected)
			vectors->corrected[k * n + i] =
				value[k] > cost ? value[k] - cost : 0;
	}
	if (vectors->dirty)
		vectors->dirty[i] = dirty;
}

static int run_all(struct region *region, vpmc_run_fn *baseline,
		   vpmc_run_fn *test, void *arg, unsigned long n,
		   unsigned int flags, struct vpmc_vectors *vectors)
{
	struct harness harness = { .region = &region->public };
	uint64_t value[MAX_VALUES];
	unsigned long i;
	bool dirty;
	int err;

	err = measure_cost(&harness, region, baseline, flags, arg, vectors);
	for (i = 0; !err && i < n; i++) {
		err = run_once(&harness, region, test, flags, i, arg, value,
			       &dirty);
		if (err) {
			vectors->failed = i;
			break;
		}
		vectors->nr_dirty += dirty;
		store(vectors, i, n, value, dirty);
	}
	return err;
}

static int check_flags(unsigned int flags)
{
	unsigned int a, b, c = 0, d;

	if (flags & ~VPMC_HARNESS_SAVE)
		return -EINVAL;
#ifndef __x86_64__
	if (flags)
		return -EOPNOTSUPP;
#endif
	__get_cpuid(1, &a, &b, &c, &d);
	vpmc_harness_xsave = !!(c & bit_OSXSAVE);
	return 0;
}

EXPORT int vpmc_harness(struct vpmc_regions *regions, vpmc_run_fn *baseline,
			vpmc_run_fn *test, void *arg, unsigned long n,
			unsigned int flags, struct vpmc_vectors *vectors)
{
	struct harness *outer = current;
	struct region *region;
	int err = test ? check_flags(flags) : -EINVAL;

	vectors->nr = regions->nr_events;
	vectors->nr_dirty = 0;
	vectors->failed = 0;
	memset(vectors->cost, 0, sizeof(vectors->cost));
	if (err)
		return err;
	if (!vpmc_regions_are_own(regions))
		return -EPERM;
	region = vpmc_region_new(regions, "");
	if (!region)
		return -ENOMEM;
	err = run_all(region, baseline ? baseline : start_and_stop, test, arg, n,
		      flags, vectors);
	vpmc_region_free(region);
	current = outer;
	return err;
}

static __attribute__((__noinline__)) void nothing(unsigned long i, void *arg)
{
	__asm__ __volatile__("" : : "r" (i), "r" (arg));
}

/*
 * Executes the same instructions for both functions, because the compiler does
 * not know which one it calls.
 */
static inline __attribute__((__always_inline__)) void
call(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i, void *arg,
     void (*function)(unsigned long i, void *arg))
{
	__asm__ __volatile__("" : "+r" (function));
	start();
	function(i, arg);
	stop();
	NO_JUMP();
}

EXPORT void vpmc_harness_around(vpmc_mark_fn *start, vpmc_mark_fn *stop,
				unsigned long i, void *arg)
{
	struct vpmc_harness_call *what = arg;

	call(start, stop, i, what->arg, what->function);
}

EXPORT void vpmc_harness_nothing(vpmc_mark_fn *start, vpmc_mark_fn *stop,
				 unsigned long i, void *arg)
{
	struct vpmc_harness_call *what = arg;

	call(start, stop, i, what->arg, nothing);
}
