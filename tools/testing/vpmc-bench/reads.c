// SPDX-License-Identifier: GPL-2.0
/*
 * Measures reads of the caller's own counters and the TSC: inline for a
 * constant and for any number of counters, in a signal handler, and for the
 * first time.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <signal.h>
#include <stdbool.h>

#include <internal/mmap.h>
#include <perf/evsel.h>
#include <vpmc-read.h>

#include "cost.h"
#include "who.h"

/* results of all reads */
uint64_t count[MAX_N + 1], ticks;
static struct counters counters;
static struct cost cost;

/*
 * Hides a pointer's origin from the compiler, so that it cannot specialize the
 * code.
 */
#define HIDE(pointer)	__asm__ __volatile__("" : "+r" (pointer))

static void nothing(void)
{
}

/*
 * Reads a number of counters that is known at compile time. All values go to
 * memory. inline_N() reads the run time, too; counts_N() does not, for comparison
 * with a reader that has none.
 */
#define INLINE(name, n, time)						\
static void name##_##n(void)						\
{									\
	const struct vpmc_page *page = counters.map[0];			\
	uint64_t *to = count;						\
									\
	HIDE(page);							\
	HIDE(to);							\
	COST_OF(&cost, vpmc_read_n(page, n, to, time));			\
}

INLINE(inline, 1, &to[1])
INLINE(inline, 2, &to[2])
INLINE(inline, 4, &to[4])
INLINE(inline, 6, &to[6])
INLINE(inline, 7, &to[7])
INLINE(counts, 1, NULL)
INLINE(counts, 2, NULL)
INLINE(counts, 4, NULL)
INLINE(counts, 6, NULL)
INLINE(counts, 7, NULL)

static void inline_any(void)
{
	const struct vpmc_page *page = counters.map[0];
	uint64_t *to = count, *time = &ticks;

	HIDE(page);
	HIDE(to);
	HIDE(time);
	COST_OF(&cost, vpmc_read_page(page, to, time));
}

/* Reads by libperf's own function, once for each event. */
static void perf_self(void)
{
	static struct perf_counts_values values[MAX_N];
	struct perf_mmap map[MAX_N];
	unsigned int i, n = counters.n;

	for (i = 0; i < n; i++)
		map[i].base = counters.map[i];
	COST_OF(&cost, for (i = 0; i < n; i++)
			       perf_mmap__read_self(&map[i], &values[i]));
}

/*
 * One of perf's events, without its times, from which a caller would see that perf has
 * multiplexed it.
 */
static inline __attribute__((__always_inline__)) uint64_t
perf_count(const volatile struct perf_event_mmap_page *page)
{
	unsigned int unused = 64 - page->pmc_width;
	uint32_t lock, index;
	uint64_t value;

	do {
		lock = page->lock;
		vpmc_barrier();
		value = page->offset;
		index = page->index;
		if (index)
			value += (int64_t)(vpmc_rdpmc(index - 1) << unused) >> unused;
		vpmc_barrier();
	} while (page->lock != lock);
	return value;
}

static void perf_counts_alone(void)
{
	const volatile struct perf_event_mmap_page *page[MAX_N];
	unsigned int i, n = counters.n;
	uint64_t *to = count;

	for (i = 0; i < n; i++)
		page[i] = counters.map[i];
	HIDE(to);
	COST_OF(&cost, for (i = 0; i < n; i++)
			       to[i] = perf_count(page[i]));
}

static void perf_group(void)
{
	static uint64_t values[3 + MAX_N];

	COST_OF(&cost, read(counters.fd[0], values, sizeof(values)));
}

static void vpmc_read_ioctl(void)
{
	static struct vpmc_read values;

	values.size = sizeof(values);
	values.flags = 0;
	COST_OF(&cost, ioctl(counters.fd[0], VPMC_IOC_READ, &values));
}

static void empty(void)
{
	COST_OF(&cost, nothing());
}

static void measure(const char *name, void (*reader)(void))
{
	unsigned int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		reader();
	cost_print(&cost, name, counters.n, who_name[counters.who]);
}

static void (*handler_reader)(void);

static void handler(int number)
{
	(void)number;
	handler_reader();
}

static void measure_in_handler(void (*reader)(void))
{
	unsigned int i;

	handler_reader = reader;
	signal(SIGUSR1, handler);
	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		raise(SIGUSR1);
	cost_print(&cost, "read-in-handler", counters.n,
		   who_name[counters.who]);
}

/*
 * Measures the first read after open and mmap. Its extra costs are page faults.
 */
static void measure_first(enum who who, unsigned int n, void (*reader)(void))
{
	unsigned int i;

	/*
	 * Read once before, so that the code and all other data are in memory.
	 */
	counters_open(&counters, who, n, &what_user);
	reader();
	counters_close(&counters);
	cost.rounds = 0;
	for (i = 0; i < 20 && !cost.rounds; i++) {
		counters_open(&counters, who, n, &what_user);
		reader();
		if (cost.rounds)
			cost_print(&cost, "read-first", n, who_name[who]);
		counters_close(&counters);
	}
}

static void (*const inline_of[MAX_N + 1])(void) = {
	[1] = inline_1, [2] = inline_2, [4] = inline_4, [6] = inline_6,
	[7] = inline_7,
};

static void (*const counts_of[MAX_N + 1])(void) = {
	[1] = counts_1, [2] = counts_2, [4] = counts_4, [6] = counts_6,
	[7] = counts_7,
};

static void vpmc_reads(unsigned int n)
{
	counters_open(&counters, VPMC, n, &what_user);
	measure("read-inline", inline_of[n]);
	measure("read-inline-any", inline_any);
	measure("read-counts-alone", counts_of[n]);
	measure("read-ioctl", vpmc_read_ioctl);
	measure_in_handler(inline_of[n]);
	counters_close(&counters);
	measure_first(VPMC, n, inline_of[n]);
}

static void perf_reads(unsigned int n)
{
	counters_open(&counters, PERF, n, &what_user);
	measure("read-call", perf_self);
	measure("read-counts-alone", perf_counts_alone);
	measure("read-ioctl", perf_group);
	measure_in_handler(perf_self);
	counters_close(&counters);
	measure_first(PERF, n, perf_self);
}

int main(void)
{
	unsigned int i;

	be_alone(0);
	who_init();
	measure("empty", empty);
	for (i = 0; i < NR_SIZES; i++) {
		vpmc_reads(sizes[i]);
		if (last_who() == PERF)
			perf_reads(sizes[i]);
	}
	return 0;
}
