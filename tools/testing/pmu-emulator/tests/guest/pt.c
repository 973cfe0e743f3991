// SPDX-License-Identifier: GPL-2.0
/*
 * Mainline's driver of Intel PT finds it, opens events and traces into a
 * buffer, in which nothing arrives.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"

#define PASSES		100000
#define BUFFER_PAGES	16
#define MSR_RTIT_CTL	0x570
#define TRACE_EN	1
#define TYPE_FILE	"/sys/bus/event_source/devices/intel_pt/type"

static int pt_type(void)
{
	FILE *f = fopen(TYPE_FILE, "r");
	int type = -1;

	if (!f || fscanf(f, "%d", &type) != 1)
		die(TYPE_FILE);
	fclose(f);
	return type;
}

static uint64_t rdmsr(uint32_t msr)
{
	int fd = open("/dev/cpu/0/msr", O_RDONLY);
	uint64_t val;

	if (fd < 0 || pread(fd, &val, sizeof(val), msr) != sizeof(val))
		die("/dev/cpu/0/msr");
	close(fd);
	return val;
}

int main(void)
{
	struct perf_event_mmap_page *page;
	uint64_t *buffer;
	int wrong = 0, fd, i;

	run_on_cpu(0);
	fd = perf_open_type(pt_type(), 0, USER, 0, -1, 0);
	page = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("mmap of a trace");
	page->aux_offset = 2 * 4096;
	page->aux_size = BUFFER_PAGES * 4096;
	buffer = mmap(NULL, page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, page->aux_offset);
	if (buffer == MAP_FAILED)
		die("mmap of the trace's buffer");

	check_eq("PT stands", rdmsr(MSR_RTIT_CTL) & TRACE_EN, 0);
	perf_start(fd);
	loop(PASSES);
	check_eq("an event starts it", rdmsr(MSR_RTIT_CTL) & TRACE_EN, TRACE_EN);
	perf_stop(fd);
	check_eq("and stops it", rdmsr(MSR_RTIT_CTL) & TRACE_EN, 0);
	check_eq("no trace in the buffer's head", page->aux_head, 0);
	for (i = 0; i < BUFFER_PAGES * 512; i++)
		wrong += !!buffer[i];
	check_eq("no trace in the buffer", wrong, 0);
	return done_testing();
}
