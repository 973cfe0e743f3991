// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of code whose instructions are known.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define LOOPS	1000

/* What do_events() does */
#define CR4_WRITES	5
#define RDTSCS		7
#define RDPMCS		3
#define RDMSRS		4
#define WRMSRS		6

static void do_events(void)
{
	u32 cr4, low, high;

	asm volatile("mov %%cr4, %0" : "=r"(cr4));
	for (u32 i = 0; i < CR4_WRITES; i++)
		asm volatile("mov %0, %%cr4" : : "r"(cr4));
	for (u32 i = 0; i < RDTSCS; i++)
		asm volatile("rdtsc" : "=a"(low), "=d"(high));
	for (u32 i = 0; i < RDPMCS; i++)
		rdpmc(0);
	for (u32 i = 0; i < RDMSRS; i++)
		rdmsr(MSR_FIXED_CTRL);
	for (u32 i = 0; i < WRMSRS; i++)
		wrmsr(ctr_msr(3), 0);
}

/* One WRMSR of starting and stopping the counters counts: the one that stops */
static const struct {
	const char *total_name, *ctr_name;
	u32 event, total, counted;
} events[] = {
	{ "total of CR4 writes", "counter of CR4 writes",
	  PMU_TEST_CR4_WRITES, CR4_WRITES, CR4_WRITES },
	{ "total of RDTSC", "counter of RDTSC", PMU_TEST_RDTSC, RDTSCS, RDTSCS },
	{ "total of RDPMC", "counter of RDPMC", PMU_TEST_RDPMC, RDPMCS, RDPMCS },
	/* the first RDMSR of the total */
	{ "total of RDMSR", "counter of RDMSR", PMU_TEST_RDMSR, RDMSRS + 1, RDMSRS },
	{ "total of WRMSR", "counter of WRMSR", PMU_TEST_WRMSR, WRMSRS, WRMSRS + 1 },
};

static void test_events(void)
{
	for (u32 i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		u32 msr = PMU_TEST_MSR(events[i].event);
		u64 before, start;

		pmu_clear();
		before = rdmsr(msr);
		do_events();
		check_eq(events[i].total_name, rdmsr(msr) - before, events[i].total);

		start = pmu_setup(0, PMU_TEST_EVTSEL(events[i].event), 0, false);
		wrmsr(switch_msr, start);
		do_events();
		wrmsr(switch_msr, 0);
		check_eq(events[i].ctr_name, rdmsr(ctr_msr(0)), events[i].counted);
	}
}

/* An instruction that faults does not count */
static void test_faults(void)
{
	u64 insns, wrmsrs, rdmsrs, rdpmcs;

	pmu_clear();
	pmu_setup(FIXED, 0, 0, false);
	rdmsrs = rdmsr(PMU_TEST_MSR(PMU_TEST_RDMSR));
	rdpmcs = rdmsr(PMU_TEST_MSR(PMU_TEST_RDPMC));
	wrmsrs = rdmsr(PMU_TEST_MSR(PMU_TEST_WRMSR));
	wrmsr_faults(MSR_GLOBAL_STATUS, 0);
	wrmsr_faults(MSR_GLOBAL_CTRL, ~0ull);
	rdmsr_faults(PMU_TEST_MSR(PMU_TEST_NR_EVENTS));
	rdpmc_faults(NUM_GP);
	check_eq("WRMSR that faults: not in the total",
		 rdmsr(PMU_TEST_MSR(PMU_TEST_WRMSR)) - wrmsrs, 0);
	check_eq("RDPMC that faults: not in the total",
		 rdmsr(PMU_TEST_MSR(PMU_TEST_RDPMC)) - rdpmcs, 0);
	/* five that did not fault: three of totals before, two of totals since */
	check_eq("RDMSR that faults: not in the total",
		 rdmsr(PMU_TEST_MSR(PMU_TEST_RDMSR)) - rdmsrs, 5);

	wrmsr(MSR_GLOBAL_CTRL, bit(FIXED));
	asm volatile("rdpmc\n\t"
		     "mov %%eax, %%ebx\n\t"
		     "mov $4, %%ecx\n\t"
		     "rdpmc\n\t"
		     "mov %1, %%ecx\n\t"
		     "rdpmc\n\t"
		     "sub %%ebx, %%eax"
		     : "=A"(insns) : "i"(RDPMC_FIXED), "c"(RDPMC_FIXED) : "ebx");
	wrmsr(MSR_GLOBAL_CTRL, 0);
	/* rdpmc, mov, mov and mov, and the handler's addl, incl, add and iret */
	check_eq("RDPMC that faults: not retired", (u32)insns, 8);
}

u64 count_spin(u32 ctr, u32 event, u32 loops)
{
	pmu_clear();
	spin(pmu_setup(ctr, event, 0, false), loops);
	return rdmsr(ctr_msr(ctr));
}

static void test_loops(void)
{
	static const u32 loops[] = { 1, 2, 10, LOOPS, 100000 };
	u32 wrong = 0;

	for (u32 i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		u32 insns = SPIN_INSNS(loops[i]);

		wrong += count_spin(0, EVENT_INSNS, loops[i]) != insns;
		wrong += count_spin(3, EVENT_CYCLES, loops[i]) != insns;
		wrong += count_spin(2, EVENT_REF_CYCLES, loops[i]) != insns;
		wrong += count_spin(1, EVENT_BRANCHES, loops[i]) != loops[i];
		for (u32 j = 0; j < num_fixed(); j++)
			wrong += count_spin(FIXED + j, 0, loops[i]) != insns;
	}
	check_eq("loops of known length: every counter and event", wrong, 0);

	if (want_netburst)
		return;
	check_eq("edge: counts nothing",
		 count_spin(0, EVENT_INSNS | EVTSEL_EDGE, LOOPS), 0);
	check_eq("invert: counts nothing",
		 count_spin(0, EVENT_INSNS | EVTSEL_INV, LOOPS), 0);
	check_eq("counter mask: counts nothing",
		 count_spin(0, EVENT_INSNS | EVTSEL_CMASK1, LOOPS), 0);
	check_eq("unknown event: counts nothing", count_spin(0, 0x412e, LOOPS), 0);
}

static void test_modes(void)
{
	pmu_clear();
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | EVTSEL_USR | EVTSEL_EN);
	wrmsr(MSR_EVTSEL0 + 1, EVENT_INSNS | EVTSEL_OS);
	wrmsr(MSR_EVTSEL0 + 2, EVENT_INSNS | COUNT_OS | EVTSEL_USR);
	wrmsr(MSR_FIXED_CTRL, 0x302);
	spin(ALL_COUNTERS & ~bit(3), LOOPS);
	check_eq("user mode alone: nothing here", rdmsr(MSR_PMC0), 0);
	check_eq("EN not set: nothing", rdmsr(MSR_PMC0 + 1), 0);
	check_eq("both modes", rdmsr(MSR_PMC0 + 2), SPIN_INSNS(LOOPS));
	check_eq("fixed, user mode alone: nothing here", rdmsr(MSR_FIXED_CTR0), 0);
	check_eq("fixed, no mode: nothing", rdmsr(MSR_FIXED_CTR0 + 1), 0);
	check_eq("fixed, both modes", rdmsr(MSR_FIXED_CTR0 + 2), SPIN_INSNS(LOOPS));
	spin(bit(FIXED), LOOPS);
	check_eq("GLOBAL_CTRL bit not set: nothing more", rdmsr(MSR_PMC0 + 2),
		 SPIN_INSNS(LOOPS));
}

static void test_wraps(void)
{
	pmu_clear();
	pmu_setup(1, EVENT_INSNS, -100, false);
	pmu_setup(FIXED + 1, 0, -SPIN_INSNS(LOOPS), false);
	pmu_setup(3, EVENT_INSNS, -SPIN_INSNS(LOOPS) - 1, false);
	spin(ALL_COUNTERS, LOOPS);
	check_eq("a counter wraps", rdpmc(1), SPIN_INSNS(LOOPS) - 100);
	check_eq("a counter wraps to 0", rdpmc(RDPMC_FIXED + 1), 0);
	check_eq("a counter stops one before", rdpmc(3), ctr_mask());
	check_eq("GLOBAL_STATUS says who wrapped", rdmsr(MSR_GLOBAL_STATUS),
		 bit(1) | bit(FIXED + 1));
	wrmsr(MSR_GLOBAL_OVF_CTRL, bit(1));
	check_eq("GLOBAL_OVF_CTRL clears what it names", rdmsr(MSR_GLOBAL_STATUS),
		 bit(FIXED + 1));
}

static void test_rep(void)
{
	static char buf[4096];
	u64 before;

	for (u32 n = 0; n <= sizeof(buf); n += sizeof(buf)) {
		pmu_clear();
		pmu_setup(0, EVENT_INSNS, 0, false);
		pmu_setup(1, EVENT_CYCLES, 0, false);
		before = rdmsr(PMU_TEST_MSR(PMU_TEST_REP_PASSES));
		rep_stos(bit(0) | bit(1), buf, n);
		check_eq(n ? "REP of 4096 is one instruction"
			   : "REP of 0 is one instruction",
			 rdmsr(MSR_PMC0), REP_INSNS);
		check_eq("its passes are cycles", rdmsr(MSR_PMC0 + 1), REP_INSNS + n);
		check_eq("total of REP passes",
			 rdmsr(PMU_TEST_MSR(PMU_TEST_REP_PASSES)) - before, n);
	}
}

/* A counter that is written while it counts continues from that value */
static void test_running(void)
{
	u64 a, b;

	pmu_clear();
	pmu_setup(FIXED, 0, 0, false);
	wrmsr(MSR_GLOBAL_CTRL, bit(FIXED));
	asm volatile("wrmsr\n\t"
		     "mov %3, %%ecx\n\t"
		     "rdpmc\n\t"
		     "mov %%eax, %0\n\t"
		     "nop\n\t"
		     "rdpmc\n\t"
		     "mov %%eax, %1"
		     : "=&r"(((u32 *)&a)[0]), "=&r"(((u32 *)&b)[0])
		     : "A"(5000ull), "i"(RDPMC_FIXED), "c"(MSR_FIXED_CTR0));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	check_eq("RDPMC of a running counter does not include itself", (u32)a, 5001);
	check_eq("the next includes it", (u32)b, 5004);
}

void test_counting(void)
{
	test_loops();
	test_events();
	if (!has_global())
		return;
	test_modes();
	test_wraps();
	test_rep();
	test_running();
	test_faults();
}
