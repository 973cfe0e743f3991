// SPDX-License-Identifier: GPL-2.0
/*
 * Mispredicted branches: patterns whose misses were computed by hand.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define TURNS	32

/*
 * Makes an iteration for each bit of the pattern, from bit 0. The branch is
 * taken if the bit is 1.
 */
static u32 conditional(u32 pattern)
{
	u32 misses;

	asm volatile("mov %[msr], %%ecx\n\t"
		     "rdmsr\n\t"
		     "mov %%eax, %%esi\n\t"
		     "mov %[turns], %%edi\n"
		     "1:\t"
		     "ror $1, %%ebx\n\t"
		     "jc 2f\n"			/* both ways lead there */
		     "2:\t"
		     "dec %%edi\n\t"
		     "jnz 1b\n\t"
		     "rdmsr\n\t"
		     "sub %%esi, %%eax"
		     : "=&a"(misses), "+b"(pattern)
		     : [msr] "i"(PMU_TEST_MSR(PMU_TEST_COND_MISSES)),
		       [turns] "i"(TURNS)
		     : "ecx", "edx", "esi", "edi", "cc");
	return misses;
}

/*
 * Each pattern begins after 32 branches that were not taken, which leave the
 * branch's counter at 0. The loop's own branch leaves its counter at 2, and is
 * missed in the last iteration.
 */
static void test_patterns(void)
{
	static const struct {
		const char *name;
		u32 pattern, misses;
	} patterns[] = {
		{ "never taken", 0, 0 },
		{ "always: the first two", ~0u, 2 },
		{ "taken, not, ...: whenever it is taken", 0x55555555, 16 },
		{ "taken once in four: whenever it is", 0x11111111, 8 },
		{ "twice, not twice, ...: three of four", 0x33333333, 24 },
		{ "not once in four: that, and the first two", 0x77777777, 10 },
		{ "once, 31 times not: that one", 0x00010000, 1 },
	};

	conditional(0);
	for (u32 i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		conditional(0);
		check_eq(patterns[i].name, conditional(patterns[i].pattern),
			 patterns[i].misses + 1);
	}
}

static void nowhere(void)
{
}

static void elsewhere(void)
{
	asm volatile("");
}

/* Calls FIRST and SECOND alternately, from one place */
static u32 indirect(void *first, void *second, u32 turns)
{
	u32 misses;

	asm volatile("rdmsr\n\t"
		     "push %%eax\n"
		     "1:\t"
		     "call *%%esi\n\t"
		     "xchg %%esi, %%edi\n\t"
		     "dec %%ebx\n\t"
		     "jnz 1b\n\t"
		     "mov %[msr], %%ecx\n\t"
		     "rdmsr\n\t"
		     "pop %%ecx\n\t"
		     "sub %%ecx, %%eax"
		     : "=&a"(misses), "+b"(turns), "+S"(first), "+D"(second)
		     : [msr] "i"(PMU_TEST_MSR(PMU_TEST_INDIRECT_MISSES)),
		       "c"(PMU_TEST_MSR(PMU_TEST_INDIRECT_MISSES))
		     : "edx", "cc", "memory");
	return misses;
}

static void test_indirect(void)
{
	indirect(nowhere, nowhere, 1);
	check_eq("an indirect call to the same function: no miss",
		 indirect(nowhere, nowhere, 10), 0);
	check_eq("to another one: the first time",
		 indirect(elsewhere, elsewhere, 10), 1);
	check_eq("by turns: always, and RET never",
		 indirect(nowhere, elsewhere, 10), 10);
}

/* Branches 4096 bytes apart share a counter, others do not. */
static void test_table(void)
{
	u32 msr = PMU_TEST_MSR(PMU_TEST_COND_MISSES);
	u64 before;

	for (u32 i = 0; i < 4; i++)
		branch_a(0);
	before = rdmsr(msr);
	branch_b(1);
	check_eq("a branch 4096 bytes from one that was not taken: a miss",
		 rdmsr(msr) - before, 1);
	for (u32 i = 0; i < 4; i++)
		branch_b(1);
	before = rdmsr(msr);
	branch_a(1);
	check_eq("and the other way round: none", rdmsr(msr) - before, 0);
}

/* After training, spin()'s branch is mispredicted only once, at the end */
static void test_events(void)
{
	u32 event = want_amd ? 0xc3 : 0xc5;
	u32 r[4];

	if (want_netburst) {
		test_netburst_branches();
	} else if (!want_amd && want_p6 != P6_PROPER) {
		cpuid(0xa, r);
		check_eq("CPUID.0AH:EBX: branch misses are available",
			 r[1] & 1 << 6, 0);
	}
	count_spin(0, event, 10);
	check_eq("a loop: its end is a miss", count_spin(0, event, 1000), 1);
	check_eq("a unit mask: counts nothing",
		 count_spin(0, event | 0x0100, 1000), 0);
	check_eq("test event: as many",
		 count_spin(0, PMU_TEST_EVTSEL(PMU_TEST_COND_MISSES), 1000), 1);
	check_eq("nothing is missed in user mode",
		 rdmsr(PMU_TEST_MSR(PMU_TEST_COND_MISSES) + PMU_TEST_MSR_USER), 0);
}

void test_branches(void)
{
	test_patterns();
	test_indirect();
	test_table();
	test_events();
	pmu_clear();
}
