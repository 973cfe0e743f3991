// SPDX-License-Identifier: GPL-2.0
/*
 * usage: sampling [-i SELECT] [-b SELECT] [-f SELECT]...
 * Overflow interrupts through mainline's perf driver: a period P and a count C
 * make exactly C / P signals and as many samples, none lost. The options are in
 * guest.h.
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

static void sample(const struct event *event, uint64_t per_pass, uint64_t period)
{
	int fd = event_open(event, period, -1);
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
	/* The signal handler makes the count larger, but not by one event per pass. */
	if (!check(samples == want && signals == (int)want && !others &&
		   count / PASSES == per_pass,
		   "%s, period %llu: %u samples and signals", event->name,
		   (unsigned long long)period, want))
		printf("# count %llu, samples %u, signals %d, lost or throttled %u\n",
		       (unsigned long long)count, samples, (int)signals, others);
	munmap(page, size);
	close(fd);
}

int main(int argc, char **argv)
{
	static struct event events[] = {
		{ "instructions", PERF_COUNT_HW_INSTRUCTIONS, 'i', 0 },
		{ "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 'b', 0 },
	};
	static const uint64_t periods[] = { 100000, 10007, 1000 };
	struct sigaction action = { .sa_handler = on_signal };
	int option;

	while ((option = getopt(argc, argv, "i:b:f:")) != -1)
		if (!event_option(events, 2, option, optarg))
			return 2;
	write_sysctl("/proc/sys/kernel/perf_event_max_sample_rate", "1000000000");
	write_sysctl("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	sigaction(SIGIO, &action, NULL);
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		sample(&events[0], LOOP_INSNS, periods[i]);
		sample(&events[1], 1, periods[i]);
	}
	return done_testing();
}
