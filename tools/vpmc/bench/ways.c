// SPDX-License-Identifier: GPL-2.0
/*
 * Measures with the library's harness what each way to read counters costs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/ways.h"
#include "common/fail.h"
#include "common/setting.h"

#define MAX_WAYS	24

/* arguments and results of the reads */
struct reader {
	const struct vpmc *v;
	const struct vpmc_page *page;
	unsigned int nr;
	uint64_t count[VPMC_MAX_COUNTERS], ticks;
	struct vpmc_read sums;
	struct timespec time;
	char text[4096];
	void (*read)(struct reader *reader);
};

static void by_inline_1(struct reader *r)
{
	vpmc_read_n(r->page, 1, r->count, &r->ticks);
}

static void by_inline_2(struct reader *r)
{
	vpmc_read_n(r->page, 2, r->count, &r->ticks);
}

static void by_inline_4(struct reader *r)
{
	vpmc_read_n(r->page, 4, r->count, &r->ticks);
}

static void by_inline_8(struct reader *r)
{
	vpmc_read_n(r->page, 8, r->count, &r->ticks);
}

static void by_call(struct reader *r)
{
	vpmc_read(r->v, r->count, r->nr, &r->ticks);
}

static void by_ioctl(struct reader *r)
{
	vpmc_read_sums(r->v, 0, &r->sums);
}

static void by_text(struct reader *r)
{
	(void)!pread(vpmc_fd(r->v), r->text, sizeof(r->text), 0);
}

static void by_rdtsc(struct reader *r)
{
	r->ticks = vpmc_rdtsc();
}

static void by_clock(struct reader *r)
{
	clock_gettime(CLOCK_MONOTONIC, &r->time);
}

/* Measures the second of two reads. The first read fills the caches. */
static void run(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
		void *arg)
{
	struct reader *reader = arg;

	(void)i;
	reader->read(reader);
	start();
	reader->read(reader);
	stop();
	__asm__ __volatile__("" : : : "memory");
}

static void read_nothing(struct reader *r)
{
	__asm__ __volatile__("" : : "r" (r) : "memory");
}

static void run_nothing(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
			void *arg)
{
	struct reader *reader = arg;
	void (*read)(struct reader *r) = reader->read;

	reader->read = read_nothing;
	run(start, stop, i, reader);
	reader->read = read;
}

static void measure(struct way *way, struct vpmc_regions *regions,
		    struct reader *reader, unsigned int n)
{
	struct vpmc_vectors vectors = {};
	unsigned int i;
	uint64_t *value;
	uint8_t *dirty;
	int err;

	value = get_memory(NULL, (size_t)(reader->nr + 1) * n, sizeof(*value));
	dirty = get_memory(NULL, n, sizeof(*dirty));
	vectors.corrected = value;
	vectors.dirty = dirty;
	err = vpmc_harness(regions, run_nothing, run, reader, n, 0, &vectors);
	if (err)
		fail(STATUS_OURS, "%s: it cannot be measured: %s; try again on a less busy machine",
		     way->name, strerror(-err));
	for (i = 0; i < n; i++) {
		if (dirty[i])
			continue;
		vpmc_stats_add(way->instructions, value[i]);
		vpmc_stats_add(way->ticks, value[(size_t)reader->nr * n + i]);
	}
	way->has_instructions = true;
	way->dirty = vectors.nr_dirty;
	free(value);
	free(dirty);
}

/*
 * Programs @nr counters. The first counts instructions. Returns NULL, or the
 * reason of a refusal.
 */
static const char *program(struct vpmc *v, unsigned int nr)
{
	static const char *const other[] = { "cycles", "ref-cycles" };
	struct vpmc_control control = { .nr_counters = nr };
	struct vpmc_event *events;
	struct vpmc_error error;
	unsigned int i, n;
	int err;

	for (i = 0; i < nr; i++) {
		const char *name = i < 6 ? "instructions" : other[i - 6];

		if (vpmc_parse_events(name, &events, &n, &error))
			return get_text("%s", error.text);
		control.counter[i].evtsel = events[0].select;
		control.counter[i].index = VPMC_ANY;
		vpmc_free_events(events);
	}
	err = vpmc_program_raw(v, &control, &error);
	if (err < 0 && nr == 1)
		fail_error(&error);
	return err < 0 ? get_text("%s", error.why) : NULL;
}

/* Measures all ways that are possible with @nr counters. */
static unsigned int measure_set(struct way *way, struct vpmc *v, unsigned int nr,
				unsigned int n)
{
	static const struct {
		const char *name;
		/*
		 * number of counters with which the way is measured, or 0 for
		 * any
		 */
		unsigned int only;
		void (*read)(struct reader *reader);
	} list[] = {
		{ "inline", 1, by_inline_1 }, { "inline", 2, by_inline_2 },
		{ "inline", 4, by_inline_4 }, { "inline", 8, by_inline_8 },
		{ "vpmc_read()", 0, by_call }, { "READ", 0, by_ioctl },
		{ "read(2)", 4, by_text },
		{ "RDTSC", 1, by_rdtsc }, { "clock_gettime()", 1, by_clock },
	};
	struct reader reader = { .v = v, .page = vpmc_page(v), .nr = nr };
	const char *missing = program(v, nr);
	struct vpmc_regions *regions = NULL;
	struct vpmc_error error;
	unsigned int i, ways = 0;

	if (!missing && !(reader.page->caps & VPMC_CAP_RDPMC))
		missing = get_text("RDPMC is forbidden: %s is 0", setting_rdpmc());
	if (!missing && vpmc_regions_open(&regions, NULL, 0, &error))
		fail_error(&error);
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].only && list[i].only != nr)
			continue;
		way[ways].name = list[i].name;
		way[ways].counters = list[i].read == by_rdtsc ||
				     list[i].read == by_clock ? 0 : nr;
		way[ways].left_out = missing;
		reader.read = list[i].read;
		if (!missing)
			measure(&way[ways], regions, &reader, n);
		ways++;
	}
	vpmc_regions_close(regions);
	return ways;
}

static struct vpmc_stats *get_stats(void)
{
	struct vpmc_stats *stats = vpmc_stats_new();

	if (!stats)
		fail(STATUS_OURS, "there is no memory; end other programs");
	return stats;
}

unsigned int ways_measure(struct way **ways, unsigned int n)
{
	struct way *way = get_memory(NULL, MAX_WAYS, sizeof(*way));
	struct vpmc_error error;
	unsigned int nr, counters;
	struct vpmc *v;

	memset(way, 0, MAX_WAYS * sizeof(*way));
	for (nr = 0; nr < MAX_WAYS; nr++) {
		way[nr].ticks = get_stats();
		way[nr].instructions = get_stats();
	}
	nr = 0;
	/* perf_event must be measured before vpmc takes the PMU. */
	perf_measure_read(&way[nr++], n);
	perf_measure_page(&way[nr++], n);
	if (vpmc_open(&v, 0, &error))
		fail_error(&error);
	for (counters = 1; counters <= 8; counters *= 2)
		nr += measure_set(&way[nr], v, counters, n);
	vpmc_unlink(v);
	vpmc_close(v);
	*ways = way;
	return nr;
}
