// SPDX-License-Identifier: GPL-2.0
/*
 * RDPMC in user mode: when it faults, and what it reads.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include <setjmp.h>
#include <signal.h>

#define FIXED	(1u << 30)

static sigjmp_buf fault;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(fault, 1);
}

static bool faults(uint32_t index)
{
	if (sigsetjmp(fault, 1))
		return true;
	rdpmc(index);
	return false;
}

static void test_faults(struct perf_event_mmap_page **page, int fd)
{
	static const uint32_t good[] = { 0, 1, 2, 3, FIXED, FIXED + 1, FIXED + 2 };
	static const uint32_t bad[] = { 4, FIXED + 3, 1u << 31, 3u << 30, -1u };
	int wrong = 0;

	check(faults(0), "without CR4.PCE it faults");
	*page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (*page == MAP_FAILED)
		die("mmap of a perf event");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		wrong += faults(good[i]);
	check_eq("with CR4.PCE it reads each counter", wrong, 0);
	wrong = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong += !faults(bad[i]);
	check_eq("it faults on what is no counter", wrong, 0);
}

/* From one RDPMC to the next: itself, 3 moves and n passes of two instructions */
static uint32_t distance(uint32_t index, uint32_t n)
{
	uint32_t first, second;

	asm volatile("rdpmc\n\t"
		     "mov %%eax, %0\n\t"
		     "mov %3, %%edx\n"
		     "1:	dec %%edx\n\t"
		     "jnz 1b\n\t"
		     "rdpmc\n\t"
		     "mov %%eax, %1"
		     : "=&r"(first), "=&r"(second)
		     : "c"(index), "r"(n) : "rax", "rdx", "cc");
	return second - first;
}

int main(void)
{
	int fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, USER, 0, -1, 0);
	struct perf_event_mmap_page *page;
	uint64_t count;

	signal(SIGSEGV, on_fault);
	signal(SIGILL, SIG_DFL);
	test_faults(&page, fd);

	perf_start(fd);
	check(page->cap_user_rdpmc && page->index, "perf offers the counter");
	check_eq("between two reads, 1 pass", distance(page->index - 1, 1), 3 + 2);
	check_eq("between two reads, 100000 passes",
		 distance(page->index - 1, 100000), 3 + 200000);
	perf_stop(fd);
	count = perf_read(fd);
	check_eq("stopped: page and read() agree", page->offset, count);
	check_eq("a loop is counted to the last instruction", ({
		perf_start(fd); loop(1); perf_stop(fd); count = perf_read(fd);
		perf_start(fd); loop(1001); perf_stop(fd);
		perf_read(fd) - count; }), 1000 * LOOP_INSNS);
	return done_testing();
}
