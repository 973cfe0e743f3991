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

	samples->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	/* Room for 256 records. */
	samples->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     samples->fd, 0);
	return samples->page == MAP_FAILED ? -errno : 0;
}

static inline uint64_t samples_taken(const struct perf_samples *samples)
{
	return samples->page->data_head / (sizeof(struct perf_event_header) +
					   sizeof(uint64_t));
}

static inline void samples_close(struct perf_samples *samples)
{
	munmap(samples->page, 2 * PAGE);
	close(samples->fd);
}

#endif
