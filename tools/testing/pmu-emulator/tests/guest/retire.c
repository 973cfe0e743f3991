// SPDX-License-Identifier: GPL-2.0
/*
 * Tests what counts as retired. An instruction that faults does not count, and
 * a repeated one counts once.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

#define PASSES	101
#define PAGES	256

static int fd, skip;
static volatile long faults;

/*
 * The handler's instructions count, too. They are as many for each fault, and
 * measured with UD2.
 */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	faults++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += skip;
}

/* Returns instructions per pass of a loop with insns, one of which may fault */
#define MEASURE(insns, length) ({					\
	uint64_t count[2];						\
	skip = length;							\
	for (int k = 0; k < 2; k++) {					\
		uint64_t n = k ? PASSES : 1;				\
		perf_start(fd);						\
		asm volatile("1:\n\t" insns "\n\tdec %0\n\tjnz 1b"	\
			     : "+r"(n) : "S"((void *)16)		\
			     : "rax", "rcx", "rdx", "r11", "memory", "cc"); \
		perf_stop(fd);						\
		count[k] = perf_read(fd);				\
	}								\
	(count[1] - count[0]) / (PASSES - 1);				\
})

static void test_faults(void)
{
	static const int sigs[] = { SIGILL, SIGSEGV, SIGTRAP, SIGBUS };
	struct sigaction action = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	uint64_t handler;

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &action, NULL);
	check_eq("loop", MEASURE("nop", 0), 3);
	check_eq("system call", MEASURE("mov $39, %%eax\n\tsyscall", 0), 4);
	handler = MEASURE("ud2", 2) - 2;
	check_eq("faults taken", faults, PASSES + 1);
	check_eq("load that faults", MEASURE("movb (%%rsi), %%al", 2), handler + 2);
	check_eq("HLT in user mode", MEASURE("hlt", 1), handler + 2);
	check_eq("RDMSR in user mode", MEASURE("rdmsr", 2), handler + 2);
	check_eq("RDPMC of no counter", MEASURE("mov $99, %%ecx\n\trdpmc", 2),
		 handler + 3);
	check_eq("INT3 retires", MEASURE("int3", 0), handler + 3);
	check_eq("faults taken in all", faults, 6 * (PASSES + 1));
}

static uint64_t count_rep(char *to, uint64_t n)
{
	perf_start(fd);
	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
	perf_stop(fd);
	return perf_read(fd);
}

static uint64_t count_touch(char *p)
{
	uint64_t n = PAGES;

	perf_start(fd);
	asm volatile("1:	movb	$1, (%0)\n"
		     "	add	$4096, %0\n"
		     "	dec	%1\n"
		     "	jnz	1b" : "+r"(p), "+r"(n) : : "memory", "cc");
	perf_stop(fd);
	return perf_read(fd);
}

static void test_memory(void)
{
	char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t faulting;

	if (p == MAP_FAILED)
		die("mmap");
	faulting = count_touch(p);
	check_eq("page faults add nothing", faulting, count_touch(p));
	check_eq("REP counts once", count_rep(p, PAGES * 4096), count_rep(p, 1));
}

int main(void)
{
	fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, USER, 0, -1, 0);
	test_memory();
	test_faults();
	return done_testing();
}
