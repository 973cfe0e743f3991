// SPDX-License-Identifier: GPL-2.0
/*
 * Measures what reading one counter of perf_event costs, if perf_event is
 * available.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/ways.h"
#include "common/fail.h"
#include "common/setting.h"

static int open_event(struct way *way)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	way->counters = 1;
	if (fd < 0)
		way->left_out = get_text("perf_event_open(): %s", strerror(errno));
	return fd;
}

static uint64_t read_by_call(int fd, const struct perf_event_mmap_page *page)
{
	uint64_t count = 0;

	(void)page;
	(void)!read(fd, &count, sizeof(count));
	return count;
}

/* Reads as the comment of struct perf_event_mmap_page describes. */
static uint64_t read_by_page(int fd, const struct perf_event_mmap_page *page)
{
	const volatile struct perf_event_mmap_page *p = page;
	uint32_t seq, index;
	uint64_t count;

	(void)fd;
	do {
		seq = p->lock;
		vpmc_barrier();
		index = p->index;
		count = p->offset;
		if (p->cap_user_rdpmc && index) {
			unsigned int unused = 64 - p->pmc_width;

			/* its sign is in the counter's highest bit */
			count += (int64_t)(vpmc_rdpmc(index - 1) << unused) >> unused;
		}
		vpmc_barrier();
	} while (p->lock != seq);
	return count;
}

/*
 * Measures the second of two reads, and subtracts the least time between two
 * RDTSC.
 */
static void measure(struct way *way, unsigned int n, int fd,
		    const struct perf_event_mmap_page *page,
		    uint64_t (*read_once)(int fd, const struct perf_event_mmap_page *page))
{
	uint64_t begin, ticks, least = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < n; i++) {
		begin = vpmc_rdtsc();
		ticks = vpmc_rdtsc() - begin;
		least = ticks < least ? ticks : least;
	}
	for (i = 0; i < n; i++) {
		read_once(fd, page);
		begin = vpmc_rdtsc();
		read_once(fd, page);
		ticks = vpmc_rdtsc() - begin;
		vpmc_stats_add(way->ticks, ticks > least ? ticks - least : 0);
	}
}

void perf_measure_read(struct way *way, unsigned int n)
{
	int fd;

	way->name = "perf read()";
	fd = open_event(way);
	if (fd < 0)
		return;
	measure(way, n, fd, NULL, read_by_call);
	close(fd);
}

/* Returns why read_by_page() does not read the counter itself, or NULL. */
static const char *why_unread(const struct perf_event_mmap_page *page)
{
	const volatile struct perf_event_mmap_page *p = page;

	if (!p->cap_user_rdpmc)
		return get_text("RDPMC is forbidden: %s is 0", setting_rdpmc());
	return p->index ? NULL : "perf has no counter for its event";
}

void perf_measure_page(struct way *way, unsigned int n)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	int fd;

	way->name = "perf page";
	fd = open_event(way);
	if (fd < 0)
		return;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		way->left_out = get_text("mmap(): %s", strerror(errno));
	} else {
		way->left_out = why_unread(page);
		measure(way, n, fd, page, read_by_page);
		if (!way->left_out)
			way->left_out = why_unread(page);
		munmap(page, size);
	}
	close(fd);
}
