// SPDX-License-Identifier: GPL-2.0
/*
 * P6's PMU: two counters of 40 bits, and one bit that starts and stops both. Core Duo and
 * stepping 4 of Core 2 have the same besides CPUID leaf 0AH.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define LOOPS		1000

#define CPUID_PDCM	(1u << 15)
#define SELECT		0xffdfffffull	/* all but bit 21 */
#define NO_EVENTS	(1 << 3 | 1 << 4 | 1 << 6)	/* CPUID.0AH:EBX */

/* P6's names of events */
#define P6_CYCLES	0x79
#define P6_DATA_REFS	0x43
#define P6_L1_LINES_IN	0x45
#define P6_L2_REQUESTS	0x0f2e
#define P6_L2_INVALID	0x012e
#define P6_L2_LINES_IN	0x24
#define P6_L2_MODIFIED	0x082e

/* In walks: all fit in L2, and a few in L1 */
#define MANY		100
#define FEW		4

static bool is_arch(void)
{
	return want_p6 != P6_PROPER;
}

static void test_cpuid(void)
{
	u32 version = want_p6 == P6_CORE_2 ? 2 : 1;
	u32 r[4];

	cpuid(1, r);
	check_eq("P6: CPUID.01H:ECX.PDCM is zero", r[2] & CPUID_PDCM, 0);
	cpuid(0, r);
	if (!is_arch() && r[0] < 0xa) {
		check("P6: CPUID has no leaf 0AH", true);
		return;
	}
	cpuid(0xa, r);
	if (!is_arch()) {
		check_eq("P6: CPUID.0AH is zero", r[0] | r[1] | r[2] | r[3], 0);
		return;
	}
	check_eq("P6: CPUID.0AH:EAX: version, 2 counters, 40 bits, 7 events", r[0],
		 version | NUM_P6 << 8 | P6_WIDTH << 16 | 7 << 24);
	check_eq("P6: CPUID.0AH:EBX: no LLC events, no branch misses", r[1], NO_EVENTS);
	check_eq("P6: CPUID.0AH:ECX is zero", r[2], 0);
	check_eq("P6: CPUID.0AH:EDX: Core 2 has 3 fixed counters of 40 bits", r[3],
		 version > 1 ? NUM_FIXED | P6_WIDTH << 5 : 0);
}

/* EN of select 1 is no bit of P6: it is ignored and reads as zero. */
static void test_selects(void)
{
	u64 kept = is_arch() ? SELECT : SELECT & ~EVTSEL_EN;
	u32 wrong = 0;

	pmu_clear();
	test_control_bits("P6: select 0: bit 21 and bits from 32 on fault",
			  MSR_EVTSEL0, SELECT, true);
	for (u64 val = 1; val; val <<= 1) {
		wrmsr(MSR_EVTSEL0 + 1, 0);
		wrong += wrmsr_faults(MSR_EVTSEL0 + 1, val) != !(SELECT & val);
		wrong += rdmsr(MSR_EVTSEL0 + 1) != (kept & val);
	}
	check_eq("P6: select 1: these bits too; EN does not", wrong, 0);
}

/* Returns true if the register ignores what is written and reads as zero */
static bool absent(u32 msr)
{
	return !wrmsr_faults(msr, ~0ull) && rdmsr(msr) == 0;
}

static void test_absent(void)
{
	u32 wrong = 0;

	pmu_clear();
	wrmsr(MSR_PMC0, 1000);	/* what another address would show */
	for (u32 i = NUM_P6; i < NUM_GP; i++)
		wrong += !absent(MSR_EVTSEL0 + i) + !absent(MSR_PMC0 + i);
	check_eq("P6: no third counter", wrong, 0);
	wrong = 0;
	if (want_p6 != P6_CORE_2) {
		for (u32 i = 0; i < NUM_FIXED; i++)
			wrong += !absent(MSR_FIXED_CTR0 + i);
		for (u32 msr = MSR_FIXED_CTRL; msr <= MSR_GLOBAL_OVF_CTRL; msr++)
			wrong += !absent(msr);
	}
	if (!is_arch())
		wrong += !absent(MSR_FULL_PMC0) + !absent(MSR_PERF_CAPABILITIES);
	check_eq("P6: registers of later processors do not exist", wrong, 0);
}

/* Returns how many ways to read counter i do not give value */
static u32 differs(u32 i, u64 value)
{
	return (rdmsr(MSR_PMC0 + i) != value) + (rdpmc_faults(i) || rdpmc(i) != value);
}

static void test_counters(void)
{
	static const u32 bad[] = {
		2, 3, 4, 0x3fffffff, RDPMC_FIXED + NUM_FIXED, RDPMC_FIXED + 4,
		1u << 29, 1u << 31, (1u << 31) + 1, 3u << 30, 0xffffffff,
	};
	u32 wrong = 0;

	pmu_clear();
	for (u32 i = 0; i < NUM_P6; i++) {
		wrmsr(MSR_PMC0 + i, 0x7fffff00 + i);
		wrong += differs(i, 0x7fffff00 + i);
		wrmsr(MSR_PMC0 + i, 0x80000000 + i);
		wrong += differs(i, 0xff80000000 + i);
		wrmsr(MSR_PMC0 + i, 0x123456787654321);
		wrong += differs(i, 0xff87654321);
		wrmsr(MSR_PMC0 + i, 0xffffffff00001000 + i);
	}
	for (u32 i = 0; i < NUM_P6; i++)
		wrong += differs(i, 0x1000 + i);
	check_eq("P6: a write takes 32 bits, and extends bit 31 to bit 39", wrong, 0);
	wrong = 0;
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong += !rdpmc_faults(bad[i]);
	for (u32 i = 0; i < NUM_FIXED; i++)
		wrong += rdpmc_faults(RDPMC_FIXED + i) != (want_p6 != P6_CORE_2);
	check_eq("P6: RDPMC of what is no counter faults", wrong, 0);
}

/*
 * One bit starts and stops both counters. Counter 1 has it in the other's select, whatever
 * that counts.
 */
static void test_enable(void)
{
	u64 both = EVENT_INSNS | EVTSEL_OS;

	pmu_clear();
	switch_msr = MSR_EVTSEL0;
	wrmsr(MSR_EVTSEL0 + 1, both);
	spin(both | EVTSEL_EN, LOOPS);
	check_eq("P6: EN of select 0 starts and stops counter 0", rdpmc(0),
		 SPIN_INSNS(LOOPS));
	check_eq("P6: and counter 1", rdpmc(1), SPIN_INSNS(LOOPS));
	spin(EVTSEL_EN, LOOPS);
	check_eq("P6: without an event counter 0 keeps its value", rdpmc(0),
		 SPIN_INSNS(LOOPS));
	check_eq("P6: counter 1 counts", rdpmc(1), 2 * SPIN_INSNS(LOOPS));

	pmu_clear();
	wrmsr(MSR_EVTSEL0, both);
	switch_msr = MSR_EVTSEL0 + 1;
	spin(both | EVTSEL_EN, LOOPS);
	check_eq("P6: EN of select 1 does not start counter 0", rdpmc(0), 0);
	check_eq("P6: nor counter 1", rdpmc(1), 0);

	pmu_clear();
	wrmsr(MSR_EVTSEL0 + 1, both);
	wrmsr(MSR_EVTSEL0, both | EVTSEL_EN);
	switch_msr = MSR_EVTSEL0 + 1;
	spin(both, LOOPS);
	wrmsr(MSR_EVTSEL0, 0);
	check("P6: select 1 of zero stops counter 1", rdpmc(1) > SPIN_INSNS(LOOPS));
	check("P6: and not counter 0", rdpmc(0) > rdpmc(1));
}

static u64 count_modes(u32 ctr, u64 modes)
{
	pmu_clear();
	wrmsr(MSR_EVTSEL0 + ctr, EVENT_INSNS | modes);
	wrmsr(MSR_EVTSEL0, rdmsr(MSR_EVTSEL0) | EVTSEL_EN);
	rdpmc_at(3, ctr);
	wrmsr(MSR_EVTSEL0, 0);
	return rdpmc(ctr);
}

static void test_modes(void)
{
	set_pce(true);
	rdpmc_at(3, 0);		/* the first call takes longer */
	for (u32 i = 0; i < NUM_P6; i++) {
		u64 os = count_modes(i, EVTSEL_OS);

		check_eq("P6: user mode alone", count_modes(i, EVTSEL_USR), USER_INSNS);
		check("P6: kernel mode alone", os > USER_INSNS);
		check_eq("P6: both modes", count_modes(i, EVTSEL_USR | EVTSEL_OS),
			 USER_INSNS + os);
		check_eq("P6: no mode", count_modes(i, 0), 0);
	}
	set_pce(false);
}

/* Bit 31 is an ordinary bit of a counter, whose overflow is the carry out of bit 39 */
static void test_overflow(void)
{
	u64 start = EVENT_INSNS | COUNT_OS | EVTSEL_INT;

	pmu_clear();
	switch_msr = MSR_EVTSEL0;
	wrmsr(MSR_PMC0, 0x7ffffff0);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	spin(start, LOOPS);
	check_eq("P6: a carry into bit 31 goes on", rdpmc(0),
		 0x7ffffff0ull + SPIN_INSNS(LOOPS));
	check_eq("P6: it is no overflow", apic_read(APIC_LVTPC), VECTOR_PMI);
	wrmsr(MSR_PMC0, 0xfffffff0);
	spin(start, LOOPS);
	check_eq("P6: a carry out of bit 39 is lost", rdpmc(0), SPIN_INSNS(LOOPS) - 16);
	check_eq("P6: it is an overflow, whose interrupt masks LVTPC",
		 apic_read(APIC_LVTPC), VECTOR_PMI | LVT_MASKED);
	asm volatile("sti; nop; cli" : : : "memory");
}

static void test_rep(void)
{
	static char buf[4096];

	for (u32 i = 0; i < NUM_P6; i++) {
		pmu_clear();
		rep_stos(pmu_setup(i, EVENT_INSNS, 0, false), buf, sizeof(buf));
		check_eq("P6: REP is one instruction", rdpmc(i), REP_INSNS);
		pmu_clear();
		rep_stos(pmu_setup(i, EVENT_CYCLES, 0, false), buf, sizeof(buf));
		check_eq("P6: its passes are cycles", rdpmc(i), REP_INSNS + sizeof(buf));
	}
}

static void test_events(void)
{
	/* what only one of the counters counts is not modelled */
	static const u32 none[] = { 0x10, 0x11, 0x12, 0x13, 0x14, 0xc1, 0, 0x1c0 };
	u32 wrong = 0;

	for (u32 i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		wrong += count_spin(0, none[i], LOOPS) + count_spin(1, none[i], LOOPS);
	check_eq("P6: other events count nothing", wrong, 0);
	check_eq("P6: event 79h: cycles, but nothing with leaf 0AH",
		 count_spin(1, P6_CYCLES, LOOPS), is_arch() ? 0 : SPIN_INSNS(LOOPS));
	pmu_clear();
	switch_msr = MSR_EVTSEL0;
	spin(EVENT_CYCLES | COUNT_OS, LOOPS);
	check_eq("P6: event 3Ch: nothing, but cycles with leaf 0AH", rdpmc(0),
		 is_arch() ? SPIN_INSNS(LOOPS) : 0);
}

/* The global registers of stepping 4 of Core 2 do what they do elsewhere, besides */
static void test_global(void)
{
	u64 select = EVENT_INSNS | COUNT_OS;

	pmu_clear();
	wrmsr(MSR_GLOBAL_OVF_CTRL, 3 | 7ull << FIXED);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	wrmsr(MSR_FIXED_CTRL, 1);
	wrmsr(MSR_EVTSEL0 + 1, select);
	wrmsr(MSR_PMC0 + 1, -10);
	switch_msr = MSR_GLOBAL_CTRL;
	spin(2 | bit(FIXED), LOOPS);
	check_eq("P6: a fixed counter needs no event select",
		 rdmsr(MSR_FIXED_CTR0), SPIN_INSNS(LOOPS));
	check_eq("P6: GLOBAL_CTRL alone does not start counter 1", rdpmc(1), -10 & ctr_mask());
	wrmsr(MSR_EVTSEL0, select);
	spin(2, LOOPS);
	check_eq("P6: GLOBAL_CTRL and EN of select 0 do", rdpmc(1), SPIN_INSNS(LOOPS) - 10);
	check_eq("P6: and not counter 0, which GLOBAL_CTRL leaves out", rdpmc(0), 0);
	check_eq("P6: GLOBAL_STATUS has the overflow", rdmsr(MSR_GLOBAL_STATUS), bit(1));
	test_control_bits("P6: GLOBAL_CTRL: bits without a counter fault",
			  MSR_GLOBAL_CTRL, 3 | 7ull << FIXED, true);
	wrmsr(MSR_FIXED_CTRL, 0);
	wrmsr(MSR_GLOBAL_CTRL, 3);
}

void test_p6(void)
{
	if (want_p6 == P6_CORE_2)
		check_eq("P6: GLOBAL_CTRL at reset lets both counters count",
			 rdmsr(MSR_GLOBAL_CTRL), 3);
	test_cpuid();
	test_selects();
	test_absent();
	test_counters();
	test_enable();
	test_modes();
	test_overflow();
	test_events();
	test_rep();
	if (want_p6 == P6_CORE_2)
		test_global();
	pmu_clear();
}

/* Returns what loads of so many different lines count */
static u64 count_walk(u32 event, u32 lines)
{
	u64 start;

	pmu_clear();
	start = pmu_setup(1, event, 0, false);
	walk(start, lines);
	return rdpmc(1);
}

/*
 * Loads of many lines that no cache has; of a few of them, which L2 alone still has; and
 * of the same, which both have
 */
static void test_cache_event(const char *name, u32 event, u32 cold, u32 in_l2, u32 in_l1)
{
	u64 got;

	evict();
	got = count_walk(event, MANY) << 32;
	got |= count_walk(event, FEW) << 16;
	got |= count_walk(event, FEW);
	check_eq(name, got, (u64)cold << 32 | in_l2 << 16 | in_l1);
}

void test_p6_cache(void)
{
	test_cache_event("P6: data references", P6_DATA_REFS, MANY, FEW, FEW);
	test_cache_event("P6: lines allocated in L1", P6_L1_LINES_IN, MANY, FEW, 0);
	test_cache_event("P6: requests of L2", P6_L2_REQUESTS, MANY, FEW, 0);
	test_cache_event("P6: requests of L2 that miss", P6_L2_INVALID, MANY, 0, 0);
	test_cache_event("P6: lines allocated in L2", P6_L2_LINES_IN, MANY, 0, 0);
	test_cache_event("P6: lines in another state: not known", P6_L2_MODIFIED, 0, 0, 0);
	pmu_clear();
	switch_msr = MSR_EVTSEL0;
	rep_stos(P6_DATA_REFS | COUNT_OS, (void *)WALK_START, MANY);
	/* and it loads switch_msr */
	check_eq("P6: stores are data references, too", rdpmc(0), MANY + 1);
	pmu_clear();
}
