/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event of perf with interrupts, whose samples are counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERF_SAMPLES_H
#define PERF_SAMPLES_H

#include <sys/mman.h>
#include "perf.h"

/*
 * perf drops samples if they come often, or if a slow kernel takes long for
 * one. After that perf accepts no other rate.
 */
static inline int allow_all_samples(void)
{
	if (!read_number("/proc/sys/kernel/perf_cpu_time_max_percent"))
		return 0;
	return write_file("/proc/sys/kernel/perf_event_max_sample_rate",
			  "10000000") ||
	       write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
}

/* A perf event with interrupts. */
struct perf_samples {
	int fd;
	struct perf_event_mmap_page *page;
};

/* An event with a period. Its samples have the address alone. */
static inline int samples_open_as(struct perf_samples *samples, struct perf_event_attr *attr,
				  int leader)
{
	samples->page = MAP_FAILED;
	samples->fd = syscall(SYS_perf_event_open, attr, 0, -1, leader, 0);
	if (samples->fd < 0)
		return -errno;
	/* Room for 256 records. */
	samples->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     samples->fd, 0);
	return samples->page == MAP_FAILED ? -errno : 0;
}

static inline int samples_open(struct perf_samples *samples, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS | perf_pmu_here(),
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_kernel = 1,
	};

	return samples_open_as(samples, &attr, -1);
}

static inline uint64_t samples_taken(const struct perf_samples *samples)
{
	return samples->page->data_head / (sizeof(struct perf_event_header) +
					   sizeof(uint64_t));
}

/*
 * Has perf taken a sample after each @period of so many events? Where counts are not
 * exact, its own count says how many there were. The last interrupt may come when perf
 * has stopped.
 */
static inline bool samples_fit(const struct perf_samples *samples, uint64_t truth,
			       uint64_t period)
{
	uint64_t taken = samples_taken(samples);
	__u64 count;

	if (tolerance_none)
		return taken == truth / period;
	if (read(samples->fd, &count, 8) != 8)
		return false;
	return taken == count / period ||
	       (count % period < TOLERANCE_SKID && taken + 1 == count / period);
}

static inline void samples_close(struct perf_samples *samples)
{
	munmap(samples->page, 2 * PAGE);
	close(samples->fd);
}

/*
 * What perf counts and samples of a loop, which it has measured. A set may interrupt as
 * often, which ends a piece, too.
 */
static inline void expect_samples_of(struct __test_metadata *_metadata,
				     const struct set *as,
				     const struct perf_samples *perf, long n,
				     uint64_t period)
{
	const struct code_count want = measured(n);
	__u64 count;

	ASSERT_EQ(8, read(perf->fd, &count, 8));
	EXPECT_TRUE(count_fits(count, want.insns, perf_tolerated(as),
			       period / 2))
		TH_LOG("perf counts %llu, tolerance %llu", count,
		       (unsigned long long)perf_tolerated(as));
	EXPECT_TRUE(samples_fit(perf, want.insns, period))
		TH_LOG("%llu samples of %llu",
		       (unsigned long long)samples_taken(perf), count);
}

/* The same, of a loop that runs now. */
static inline void expect_samples(struct __test_metadata *_metadata, long n,
				  uint64_t period)
{
	struct perf_samples perf;
	struct set as = {};

	ASSERT_EQ(0, samples_open(&perf, period));
	as.fd = perf.fd;
	ASSERT_EQ(0, perf_measure(&as, code_loop, n, 0));
	expect_samples_of(_metadata, &as, &perf, n, period);
	samples_close(&perf);
}

#endif
