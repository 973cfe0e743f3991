// SPDX-License-Identifier: GPL-2.0
/*
 * usage: totals CPU
 * The test interface from user space: the free-running totals of a CPU on
 * which nothing else runs, read through /dev/cpu/CPU/msr.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include "pmu-test-msr.h"

#define TIMES	1000
#define PAGES	256

static int msr;

static uint64_t rdmsr(uint32_t number)
{
	uint64_t val;

	if (pread(msr, &val, sizeof(val), number) != sizeof(val))
		die("read of a test MSR");
	return val;
}

static uint64_t user_total(int event)
{
	return rdmsr(PMU_TEST_MSR(event) + PMU_TEST_MSR_USER);
}

static uint64_t kernel_total(int event)
{
	return rdmsr(PMU_TEST_MSR(event));
}

/* Returns what n passes add to a total, beyond what one pass adds */
#define PASSES_ADD(event, n, code) ({					\
	uint64_t added[2];						\
	for (int k = 0; k < 2; k++) {					\
		uint64_t before = user_total(event);			\
		for (volatile uint64_t i = k ? (n) : 1; i; i--)		\
			code;						\
		added[k] = user_total(event) - before;			\
	}								\
	added[1] - added[0];						\
})

static __attribute__((noinline)) uint64_t loop_adds(int event, uint64_t n)
{
	uint64_t before = user_total(event);

	loop(n);
	return user_total(event) - before;
}

static void test_loop(void)
{
	check_eq("branches", loop_adds(PMU_TEST_BRANCHES, TIMES + 1) -
		 loop_adds(PMU_TEST_BRANCHES, 1), TIMES);
	check_eq("cycles", loop_adds(PMU_TEST_CYCLES, TIMES + 1) -
		 loop_adds(PMU_TEST_CYCLES, 1), TIMES * LOOP_INSNS);
}

static void test_instructions(void)
{
	check_eq("RDTSC", PASSES_ADD(PMU_TEST_RDTSC, TIMES + 1,
		 asm volatile("rdtsc" : : : "rax", "rdx")), TIMES);
	check_eq("RDTSCP", PASSES_ADD(PMU_TEST_RDTSC, TIMES + 1,
		 asm volatile("rdtscp" : : : "rax", "rcx", "rdx")), TIMES);
	check_eq("system calls", PASSES_ADD(PMU_TEST_SYSCALLS, TIMES + 1,
		 syscall(SYS_getppid)), TIMES);
}

static void test_page_faults(void)
{
	volatile char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before = user_total(PMU_TEST_PAGE_FAULTS);

	if (p == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < PAGES; i++)
		p[i * 4096] = 1;
	check_eq("page faults", user_total(PMU_TEST_PAGE_FAULTS) - before, PAGES);
}

/*
 * Mapping an event sets CR4.PCE, and unmapping it clears CR4.PCE. RDPMC works
 * in between.
 */
static void test_pce(void)
{
	int fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, USER, 0, -1, 0);
	uint64_t before = kernel_total(PMU_TEST_CR4_WRITES);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		die("mmap of a perf event");
	check_eq("CR4 writes by mapping",
		 kernel_total(PMU_TEST_CR4_WRITES) - before, 1);
	check_eq("RDPMC", PASSES_ADD(PMU_TEST_RDPMC, TIMES + 1, rdpmc(0)), TIMES);
	before = kernel_total(PMU_TEST_CR4_WRITES);
	munmap(page, 4096);
	check_eq("CR4 writes by unmapping",
		 kernel_total(PMU_TEST_CR4_WRITES) - before, 1);
	close(fd);
}

/* Reading an MSR is an RDMSR, in kernel mode */
static void test_msr_access(void)
{
	uint64_t before = kernel_total(PMU_TEST_RDMSR);

	for (int i = 0; i < TIMES; i++)
		kernel_total(PMU_TEST_RDMSR);
	check_eq("RDMSR", kernel_total(PMU_TEST_RDMSR) - before, TIMES + 1);
	check_eq("no RDMSR in user mode", user_total(PMU_TEST_RDMSR), 0);
	check_eq("no WRMSR in user mode", user_total(PMU_TEST_WRMSR), 0);
}

struct totals {
	uint64_t kernel, user, kernel_next, user_next;
};

static inline struct totals totals(uint32_t event)
{
	struct totals t;

	asm volatile("cpuid" : "=a" (t.kernel), "=b" (t.user),
		     "=c" (t.kernel_next), "=d" (t.user_next)
		     : "a" (PMU_TEST_TOTALS), "c" (event) : "memory");
	return t;
}

/*
 * CPUID returns the same totals, without a system call or anything else in
 * kernel mode
 */
static void test_cpuid(void)
{
	struct totals t, u;
	uint64_t begin, end;

	for (int event = 0; event < PMU_TEST_NR_EVENTS; event++) {
		begin = kernel_total(event);
		t = totals(event);
		u = totals(event - 1);
		end = kernel_total(event);
		if (!check(begin <= t.kernel && t.kernel <= end &&
			   user_total(event) >= t.user &&
			   (!event || (u.kernel_next == t.kernel &&
				       u.user_next >= t.user)),
			   "CPUID: event %d", event))
			printf("# got %llu, not from %llu to %llu\n",
			       (unsigned long long)t.kernel,
			       (unsigned long long)begin,
			       (unsigned long long)end);
	}
	t = totals(PMU_TEST_NR_EVENTS);
	check_eq("CPUID: no such event", t.kernel | t.user | t.kernel_next |
		 t.user_next, 0);
	t = totals(PMU_TEST_NR_EVENTS - 1);
	check_eq("CPUID: none after the last", t.kernel_next | t.user_next, 0);

	/* One CPUID and 5 others, in much less time than a timer interrupt takes */
	asm volatile("mov %[leaf], %%eax\n"
		     "xor %%ecx, %%ecx\n"
		     "cpuid\n"
		     "mov %%rax, %%r8\n"
		     "mov %%rbx, %%r9\n"
		     "mov %[leaf], %%eax\n"
		     "xor %%ecx, %%ecx\n"
		     "nop\n"
		     "cpuid\n"
		     "sub %%r8, %%rax\n"
		     "sub %%r9, %%rbx\n"
		     : "=a" (begin), "=b" (end)
		     : [leaf] "i" (PMU_TEST_TOTALS)
		     : "rcx", "rdx", "r8", "r9", "cc", "memory");
	check_eq("CPUID: no kernel instruction", begin, 0);
	check_eq("CPUID: user instructions", end, 6);

	t = totals(PMU_TEST_SYSCALLS);
	syscall(SYS_getppid);
	u = totals(PMU_TEST_SYSCALLS);
	check_eq("CPUID: one system call", u.user - t.user, 1);
}

int main(int argc, char **argv)
{
	char path[64];
	int cpu = argc > 1 ? atoi(argv[1]) : 0;

	run_on_cpu(cpu);
	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	msr = open(path, O_RDONLY);
	if (msr < 0)
		die(path);
	check_eq("ID", rdmsr(PMU_TEST_MSR_ID), PMU_TEST_ID);
	test_loop();
	test_instructions();
	test_page_faults();
	test_pce();
	test_msr_access();
	test_cpuid();
	return done_testing();
}
