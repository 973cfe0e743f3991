// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow interrupts through mainline's perf driver: a period P and a count C
 * make exactly C / P signals and as many samples, none lost.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include <signal.h>

#define PASSES		200000
#define RING_PAGES	64	/* a power of two */

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void write_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die(path);
	close(fd);
}

static unsigned count_records(const struct perf_event_mmap_page *page,
			      uint32_t type)
{
	const char *ring = (const char *)page + 4096;
	unsigned records = 0;

	for (uint64_t at = 0; at < page->data_head;) {
		const struct perf_event_header *h =
			(const void *)(ring + at % (RING_PAGES * 4096));

		records += h->type == type;
		at += h->size;
	}
	return records;
}

static void sample(const char *event, uint64_t config, uint64_t period)
{
	int fd = perf_open(config, USER, period, -1, 0);
	size_t size = (RING_PAGES + 1) * 4096;
	struct perf_event_mmap_page *page;
	unsigned samples, others, want;
	uint64_t count;

	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("mmap of a perf event");
	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
	fcntl(fd, F_SETSIG, SIGIO);
	fcntl(fd, F_SETOWN, getpid());
	signals = 0;

	perf_start(fd);
	loop(PASSES);
	perf_stop(fd);

	count = perf_read(fd);
	want = count / period;
	samples = count_records(page, PERF_RECORD_SAMPLE);
	others = count_records(page, PERF_RECORD_LOST) +
		 count_records(page, PERF_RECORD_THROTTLE);
	if (!check(samples == want && signals == (int)want && !others,
		   "%s, period %llu: %u samples and signals", event,
		   (unsigned long long)period, want))
		printf("# count %llu, samples %u, signals %d, lost or throttled %u\n",
		       (unsigned long long)count, samples, (int)signals, others);
	munmap(page, size);
	close(fd);
}

int main(void)
{
	static const uint64_t periods[] = { 100000, 10007, 1000 };
	struct sigaction action = { .sa_handler = on_signal };

	write_sysctl("/proc/sys/kernel/perf_event_max_sample_rate", "1000000000");
	write_sysctl("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	sigaction(SIGIO, &action, NULL);
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		sample("instructions", PERF_COUNT_HW_INSTRUCTIONS, periods[i]);
		sample("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, periods[i]);
	}
	return done_testing();
}
