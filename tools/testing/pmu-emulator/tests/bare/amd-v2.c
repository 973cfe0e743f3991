// SPDX-License-Identifier: GPL-2.0
/*
 * Version 2 of AMD's PMU: its global registers, or the lack of them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define LOOPS			1000

#define CPUID_EXTENDED_MAX	0x80000000
#define CPUID_PERFMON_V2	0x80000022

#define MSR_STATUS		0xc0000300
#define MSR_CTL			0xc0000301
#define MSR_STATUS_CLR		0xc0000302
#define MSR_STATUS_SET		0xc0000303

#define STATUS_LBR_FROZEN	(1ull << 58)
#define STATUS_FROZEN		(1ull << 59)

static u64 all(void)
{
	return bit(want_amd) - 1;
}

static void test_cpuid(void)
{
	u32 r[4];

	cpuid(CPUID_EXTENDED_MAX, r);
	check("CPUID.80000022H is there", r[0] >= CPUID_PERFMON_V2);
	cpuid(CPUID_PERFMON_V2, r);
	check_eq("CPUID.80000022H:EAX", r[0], 1);
	check_eq("CPUID.80000022H:EBX", r[1], want_v2_counters);
}

/* Software for version 1 does not know the global registers */
static void test_power_on(void)
{
	check_eq("at power-on all counters are enabled", rdmsr(MSR_CTL), all());
	check_eq("at power-on the status is zero", rdmsr(MSR_STATUS), 0);
}

static void test_status(void)
{
	u32 wrong = 0;

	check("the status is read-only", wrmsr_faults(MSR_STATUS, 0));
	wrmsr(MSR_STATUS_SET, ~0ull);
	check_eq("StatusSet sets the counters' bits", rdmsr(MSR_STATUS), all());
	for (u32 i = 0; i < want_amd; i++) {
		wrmsr(MSR_STATUS_CLR, bit(i));
		wrong += rdmsr(MSR_STATUS) != (all() & ~(2 * bit(i) - 1));
	}
	check_eq("StatusClr clears one bit each", wrong, 0);
	check("StatusClr takes bits of LBR and freezing",
	      !wrmsr_faults(MSR_STATUS_CLR, STATUS_LBR_FROZEN | STATUS_FROZEN));
	check_eq("what changes the status reads as zero",
		 rdmsr(MSR_STATUS_CLR) | rdmsr(MSR_STATUS_SET), 0);
}

static void test_count_both(void)
{
	u32 last = want_amd - 1;

	pmu_clear();
	wrmsr(MSR_CTL, 0);
	wrmsr(evtsel_msr(0), EVENT_INSNS | COUNT_OS);
	wrmsr(evtsel_msr(1), EVENT_INSNS | EVTSEL_OS);
	wrmsr(evtsel_msr(last), EVENT_INSNS | COUNT_OS);
	switch_msr = MSR_CTL;
	spin(bit(0) | bit(1), LOOPS);
	check_eq("with EN and its bit a counter counts", rdpmc(0),
		 SPIN_INSNS(LOOPS));
	check_eq("without EN it does not", rdpmc(1), 0);
	check_eq("without its bit it does not", rdpmc(last), 0);
	spin(bit(last), LOOPS);
	check_eq("it counts with it", rdpmc(last), SPIN_INSNS(LOOPS));
	check_eq("the other one stands", rdpmc(0), SPIN_INSNS(LOOPS));
}

/* Overflows with and without an interrupt */
static void test_overflow(void)
{
	u32 last = want_amd - 1;

	pmu_clear();
	wrmsr(MSR_CTL, 0);
	wrmsr(MSR_STATUS_CLR, ~0ull);
	wrmsr(ctr_msr(last), -100);
	wrmsr(evtsel_msr(last), EVENT_INSNS | COUNT_OS);
	switch_msr = MSR_CTL;
	spin(bit(last), 1);
	check_eq("before its overflow no bit is set", rdmsr(MSR_STATUS), 0);
	spin(bit(last), LOOPS);
	check_eq("an overflow sets its bit", rdmsr(MSR_STATUS), bit(last));
	spin(bit(last), LOOPS);
	check_eq("the bit stays", rdmsr(MSR_STATUS), bit(last));
	wrmsr(MSR_STATUS_CLR, bit(last));
	check_eq("until it is cleared", rdmsr(MSR_STATUS), 0);
}

void test_amd_v2(void)
{
	test_cpuid();
	test_power_on();
	test_control_bits("PerfCntrGlobalCtl", MSR_CTL, all(), true);
	test_status();
	test_count_both();
	test_overflow();
	pmu_clear();
	wrmsr(MSR_CTL, all());
}

void test_no_amd_v2(void)
{
	u32 wrong = 0, r[4];

	cpuid(CPUID_EXTENDED_MAX, r);
	if (r[0] >= CPUID_PERFMON_V2) {
		cpuid(CPUID_PERFMON_V2, r);
		check_eq("CPUID.80000022H is zero", r[0] | r[1], 0);
	}
	for (u32 msr = MSR_STATUS; msr <= MSR_STATUS_SET; msr++) {
		wrmsr(msr, 1);
		wrong += rdmsr(msr) != 0;
	}
	check_eq("no version 2: no registers of it", wrong, 0);
}
