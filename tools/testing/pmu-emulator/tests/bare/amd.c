// SPDX-License-Identifier: GPL-2.0
/*
 * AMD's PMU: its registers, the bits that they keep, and how an overflow is
 * seen.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define LOOPS		1000

#define MSR_K7_EVTSEL0	0xc0010000
#define MSR_K7_CTR0	0xc0010004
#define MSR_CORE_CTL0	0xc0010200
#define NUM_K7		4
#define MAX_COUNTERS	6

#define CPUID_EXTENDED	0x80000001
#define CPUID_PERFCORE	(1u << 23)

#define FAMILY_10H	16
#define SELECT_K7	0xffdfffffull
#define SELECT_10H	0x30fffd7ffffull
#define EVENT_BIT_8	(1ull << 32)
#define GUEST_ONLY	(1ull << 40)
#define HOST_ONLY	(1ull << 41)

static bool has_core(void)
{
	return want_amd > NUM_K7;
}

static void test_cpuid(void)
{
	u32 r[4];

	cpuid(0, r);
	if (r[0] >= 0xa) {
		cpuid(0xa, r);
		check_eq("CPUID.0AH is zero", r[0] | r[1] | r[2] | r[3], 0);
	}
	cpuid(CPUID_EXTENDED, r);
	check_eq("CPUID.80000001H:ECX.PerfCtrExtCore", !!(r[2] & CPUID_PERFCORE),
		 has_core());
}

/* Each bit of each select is kept or reads as zero; none faults */
static void test_selects(void)
{
	u64 valid = want_family < FAMILY_10H ? SELECT_K7 : SELECT_10H;
	u32 wrong = 0, faults = gp_count;

	for (u32 ctr = 0; ctr < want_amd; ctr++) {
		for (u64 val = 1; val; val <<= 1) {
			wrmsr(evtsel_msr(ctr), val);
			wrong += rdmsr(evtsel_msr(ctr)) != (val & valid);
		}
		wrmsr(evtsel_msr(ctr), 0);
	}
	check_eq("selects: reserved bits read as zero", wrong, 0);
	check_eq("selects: no bit faults", gp_count - faults, 0);
}

static void test_counters(void)
{
	static const u32 bad[] = {
		MAX_COUNTERS, 7, 10, RDPMC_FIXED, 1u << 29, 1u << 31, 0xffffffff,
	};
	u32 wrong = 0;

	pmu_clear();
	for (u32 i = 0; i < want_amd; i++) {
		wrmsr(ctr_msr(i), 0xabcd000012340000ull + i);
		wrong += rdmsr(ctr_msr(i)) != 0x12340000 + i;
		wrong += rdpmc_faults(i) || rdpmc(i) != 0x12340000 + i;
		wrmsr(ctr_msr(i), ~0ull - i);
		wrong += rdpmc(i) != ctr_mask() - i;
	}
	check_eq("each counter keeps 48 bits; RDPMC reads it", wrong, 0);
	wrong = 0;
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong += !rdpmc_faults(bad[i]);
	for (u32 i = want_amd; i < MAX_COUNTERS; i++)
		wrong += !rdpmc_faults(i);
	check_eq("RDPMC of what is no counter faults", wrong, 0);
}

/*
 * With the core extension the first four registers have two addresses. Without
 * it there are no registers at the new addresses.
 */
static void test_addresses(void)
{
	u32 wrong = 0;

	pmu_clear();
	if (!has_core()) {
		for (u32 msr = MSR_CORE_CTL0; msr < MSR_CORE_CTL0 + 12; msr++) {
			wrmsr(msr, ~0ull);
			wrong += rdmsr(msr) != 0;
		}
		check_eq("no core extension: no registers of it", wrong, 0);
		return;
	}
	for (u32 i = 0; i < NUM_K7; i++) {
		wrmsr(MSR_K7_EVTSEL0 + i, 0x1000 + i);
		wrmsr(MSR_K7_CTR0 + i, 0x2000 + i);
		wrong += rdmsr(MSR_CORE_CTL0 + 2 * i) != 0x1000 + i;
		wrong += rdmsr(MSR_CORE_CTL0 + 2 * i + 1) != 0x2000 + i;
		wrmsr(MSR_CORE_CTL0 + 2 * i, 0x3000 + i);
		wrmsr(MSR_CORE_CTL0 + 2 * i + 1, 0x4000 + i);
		wrong += rdmsr(MSR_K7_EVTSEL0 + i) != 0x3000 + i;
		wrong += rdmsr(MSR_K7_CTR0 + i) != 0x4000 + i;
	}
	check_eq("the first four have two addresses", wrong, 0);
}

static u64 count(u64 select)
{
	pmu_clear();
	switch_msr = evtsel_msr(0);
	spin(select | COUNT_OS, LOOPS);
	return rdpmc(0);
}

static void test_events(void)
{
	u64 all = want_family < FAMILY_10H ? SPIN_INSNS(LOOPS) : 0;

	check_eq("a unit mask: counts nothing", count(0x1c0), 0);
	check_eq("event 1C0h, or its bit 8 is not kept", count(0xc0 | EVENT_BIT_8), all);
	check_eq("guests alone: nothing", count(0xc0 | GUEST_ONLY), all);
	check_eq("host alone: nothing while SVM is off", count(0xc0 | HOST_ONLY), all);
	check_eq("guests and host", count(0xc0 | GUEST_ONLY | HOST_ONLY),
		 SPIN_INSNS(LOOPS));
	check_eq("user mode alone: nothing here", ({
		 pmu_clear();
		 spin(0xc0 | EVTSEL_USR | EVTSEL_EN, LOOPS);
		 rdpmc(0); }), 0);
}

/*
 * Only event selects say which counters count. No register shows which one
 * overflowed.
 */
static void test_several(void)
{
	u32 last = want_amd - 1;
	u64 start;

	pmu_clear();
	wrmsr(ctr_msr(2), -100);
	wrmsr(evtsel_msr(2), 0xc0 | EVTSEL_OS);
	wrmsr(evtsel_msr(last), 0xc2 | COUNT_OS);
	start = pmu_setup(0, EVENT_INSNS, -100, false);
	spin(start, LOOPS);
	wrmsr(evtsel_msr(last), 0);
	check_eq("a counter wraps", rdpmc(0), SPIN_INSNS(LOOPS) - 100);
	check("another counts meanwhile", rdpmc(last) >= LOOPS);
	check_eq("without EN it does not", rdpmc(2), -100 & ctr_mask());
	spin(start, LOOPS);
	check_eq("it goes on", rdpmc(0), 2 * SPIN_INSNS(LOOPS) - 100);
}

void test_amd(void)
{
	test_cpuid();
	test_selects();
	test_counters();
	test_addresses();
	test_events();
	test_several();
	pmu_clear();
}
