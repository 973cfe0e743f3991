// SPDX-License-Identifier: GPL-2.0
/*
 * Version 6: RDPMC at CPL > 0 reads 0 from a counter while a bit of the counter's
 * control register is set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define LOOPS		1000
#define CR4_PCE		(1u << 8)
#define VALUE		0x12345
#define SEGMENT_CODE	0x00cf9b000000ffffull
#define SEGMENT_DATA	0x00cf93000000ffffull
#define TSS_SIZE	104

static const u32 counters[] = { 0, 1, 2, 3, FIXED, FIXED + 1, FIXED + 2 };

#define FOR_EACH_COUNTER(c) \
	for (const u32 *c = counters; c < counters + sizeof(counters) / sizeof(*c); c++) \
		if (is_there(*c))

u64 rdpmc_at(u32 cpl, u32 index)
{
	static bool loaded;
	u64 base = (u32)task_state;

	gdt[USER_CODE / 8] = SEGMENT_CODE | (u64)cpl << 45;
	gdt[USER_DATA / 8] = SEGMENT_DATA | (u64)cpl << 45;
	if (!loaded) {
		task_state[2] = KERNEL_DATA;
		gdt[TASK_STATE / 8] = (TSS_SIZE - 1) | (base & 0xffffff) << 16 |
				      0x89ull << 40 | (base >> 24) << 56;
		asm volatile("ltr %w0" : : "r"(TASK_STATE));
		loaded = true;
	}
	return rdpmc_on(cpl, index);
}

static bool rdpmc_at_faults(u32 cpl, u32 index)
{
	u32 before = gp_count;

	rdpmc_at(cpl, index);
	return gp_count != before;
}

void set_pce(bool on)
{
	u32 cr4;

	asm volatile("mov %%cr4, %0" : "=r"(cr4));
	cr4 = on ? cr4 | CR4_PCE : cr4 & ~CR4_PCE;
	asm volatile("mov %0, %%cr4" : : "r"(cr4));
}

/* Sets or clears the bit of this counter alone, in a register that is zero otherwise */
static void set_disable(u32 ctr, bool on)
{
	if (ctr < FIXED)
		wrmsr(evtsel_msr(ctr), on ? EVTSEL_USER_DISABLE : 0);
	else
		wrmsr(MSR_FIXED_CTRL, on ? FIXED_USER_DISABLE << (4 * (ctr - FIXED)) : 0);
}

static void fill(void)
{
	pmu_clear();
	FOR_EACH_COUNTER(c)
		wrmsr(ctr_msr(*c), VALUE + *c);
}

/* Returns the number of counters of which RDPMC reads something else at this CPL */
static u32 wrong_at(u32 cpl, u32 zero)
{
	u32 before = gp_count, wrong = 0;

	FOR_EACH_COUNTER(c)
		wrong += rdpmc_at(cpl, rdpmc_index(*c)) != (*c == zero ? 0 : VALUE + *c);
	return wrong + (gp_count != before);
}

static u32 wrong_at_0(void)
{
	u32 wrong = 0;

	FOR_EACH_COUNTER(c) {
		wrong += rdpmc(rdpmc_index(*c)) != VALUE + *c;
		wrong += rdmsr(ctr_msr(*c)) != VALUE + *c;
		if (*c >= FIXED || want_full)
			wrong += rdmsr(v6_msr(*c, 0)) != VALUE + *c;
		if (*c < FIXED && want_full)
			wrong += rdmsr(MSR_FULL_PMC0 + *c) != VALUE + *c;
	}
	return wrong;
}

static void test_each(void)
{
	u32 at_user = 0, at_0 = 0, again = 0;

	fill();
	FOR_EACH_COUNTER(c) {
		set_disable(*c, true);
		for (u32 cpl = 1; cpl <= 3; cpl++)
			at_user += wrong_at(cpl, *c);
		at_0 += wrong_at_0();
		set_disable(*c, false);
		again += wrong_at(3, -1u);
	}
	check_eq("the bit is set: RDPMC at CPL 1 to 3 reads 0 from this counter", at_user, 0);
	check_eq("the bit is set: RDPMC at CPL 0 and RDMSR read the value", at_0, 0);
	check_eq("the bit is clear: RDPMC at CPL 3 reads the value again", again, 0);
}

/* The second address of an event select is the same register */
static void test_second_address(void)
{
	u32 wrong = 0;

	fill();
	FOR_EACH_COUNTER(c) {
		if (*c >= FIXED)
			continue;
		wrmsr(v6_msr(*c, V6_CFG_A), EVTSEL_USER_DISABLE);
		wrong += rdmsr(evtsel_msr(*c)) != EVTSEL_USER_DISABLE;
		wrong += wrong_at(3, *c);
		wrmsr(v6_msr(*c, V6_CFG_A), 0);
		wrong += rdmsr(evtsel_msr(*c)) != 0;
		wrong += wrong_at(3, -1u);
	}
	check_eq("the bit is set and cleared through the second address", wrong, 0);
}

static void test_counts_on(void)
{
	u32 user = PMU_TEST_MSR(PMU_TEST_RDPMC) + PMU_TEST_MSR_USER;
	u64 before;

	pmu_clear();
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | COUNT_OS | EVTSEL_USER_DISABLE);
	wrmsr(MSR_FIXED_CTRL, FIXED_USER_DISABLE << 4 | 0x10);
	spin(bit(0) | bit(FIXED + 1), LOOPS);
	check_eq("the bit is set: the counter counts", rdmsr(MSR_PMC0), SPIN_INSNS(LOOPS));
	check_eq("the bit is set: a fixed one too", rdpmc(RDPMC_FIXED + 1), SPIN_INSNS(LOOPS));
	before = rdmsr(user);
	rdpmc_at(3, 0);
	check_eq("the bit is set: RDPMC is in the total", rdmsr(user) - before, 1);
}

/* CR4.PCE goes first, and a counter that is not there faults as before */
static void test_faults(void)
{
	u32 wrong = 0;

	fill();
	check("RDPMC at CPL 3 of what is no counter faults", rdpmc_at_faults(3, NUM_GP) &&
	      rdpmc_at_faults(3, RDPMC_FIXED + NUM_FIXED));
	set_pce(false);
	FOR_EACH_COUNTER(c) {
		if (want_user_disable)
			set_disable(*c, true);
		for (u32 cpl = 1; cpl <= 3; cpl++)
			wrong += !rdpmc_at_faults(cpl, rdpmc_index(*c));
		wrong += rdpmc(rdpmc_index(*c)) != VALUE + *c;
	}
	set_pce(true);
	check_eq("CR4.PCE is clear: RDPMC faults at CPL 1 to 3", wrong, 0);
}

/* The kernel's registers are the same with and without these bits, but for the bits */
void test_user_disable(void)
{
	u64 select = (0xffffffff & ~EVTSEL_ANY) | user_disable_bits(EVTSEL_USER_DISABLE);
	u32 r[4];

	cpuid_count(0x23, 0, r);
	check_eq("CPUID.23H.0:EBX: RDPMC user disable", r[1], want_user_disable ? CPUID_USER_DISABLE : 0);
	pmu_clear();
	test_control_bits("second address of EVTSEL2: reserved bits fault",
			  v6_msr(2, V6_CFG_A), select, true);
	set_pce(true);
	fill();
	check_eq("RDPMC at CPL 1 reads the counters", wrong_at(1, -1u), 0);
	check_eq("RDPMC at CPL 3 reads the counters", wrong_at(3, -1u), 0);
	if (want_user_disable) {
		test_each();
		test_second_address();
		test_counts_on();
	}
	test_faults();
	set_pce(false);
	pmu_clear();
}

/* Is the bit of each counter dropped, or refused, when it is written? */
static u32 wrong_writes(bool refused)
{
	u64 all = 0x111 * FIXED_USER_DISABLE, fixed = refused ? 0 : 0xbbb;
	u32 wrong = 0;

	for (u32 i = 0; i < NUM_GP; i++) {
		wrmsr(evtsel_msr(i), EVENT_INSNS);
		wrong += wrmsr_faults(evtsel_msr(i), EVENT_BRANCHES | EVTSEL_USER_DISABLE) !=
			 refused;
		wrong += rdmsr(evtsel_msr(i)) != (refused ? EVENT_INSNS : EVENT_BRANCHES);
	}
	wrmsr(MSR_FIXED_CTRL, 0);
	wrong += wrmsr_faults(MSR_FIXED_CTRL, 0xbbb | all) != refused;
	wrong += rdmsr(MSR_FIXED_CTRL) != fixed;
	return wrong;
}

/* CPUID tells of the bits all the same */
void test_no_user_disable(bool refused)
{
	u32 r[4], wrong = 0;

	cpuid_count(0x23, 0, r);
	check_eq("CPUID.23H.0:EBX: RDPMC user disable, wrongly", r[1], CPUID_USER_DISABLE);
	pmu_clear();
	check_eq(refused ? "these bits cause #GP, and nothing is written" :
			   "these bits stay zero", wrong_writes(refused), 0);
	set_pce(true);
	fill();
	FOR_EACH_COUNTER(c) {
		set_disable(*c, true);
		wrong += wrong_at(3, -1u);
	}
	set_pce(false);
	check_eq("RDPMC at CPL 3 reads the counters", wrong, 0);
	pmu_clear();
}

/* This CPU has the bits, the last one has not */
void test_lesser_user_disable(void)
{
	u32 r[4], unused;

	cpuid_count(0x23, 0, r);
	check_eq("CPUID.23H.0:EBX: RDPMC user disable", r[1], CPUID_USER_DISABLE);
	check("a lesser CPU: it starts",
	      ask_ap(MSR_GLOBAL_CTRL, MSR_FIXED_CTR0, &unused, &unused));
	check_eq("a lesser CPU: no RDPMC user disable", ap_leaf_23h_ebx(), 0);
}
