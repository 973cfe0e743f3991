// SPDX-License-Identifier: GPL-2.0
/*
 * Features of single versions.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define LOOPS		1000

#define STATUS_HIGH	(0x1full << 58)		/* version 4: all but CondChgd, bit 63 */
#define INUSE_PMI	(1ull << 63)

/* A register of another version does not exist, as without the PMU */
static bool absent(u32 msr)
{
	return !wrmsr_faults(msr, ~0ull) && rdmsr(msr) == 0;
}

static void test_absent(void)
{
	u32 wrong = 0;

	for (u32 msr = MSR_FIXED_CTR0; msr < MSR_FIXED_CTR0 + NUM_FIXED; msr++)
		wrong += !absent(msr);
	for (u32 msr = MSR_FIXED_CTRL; msr <= MSR_GLOBAL_OVF_CTRL; msr++)
		wrong += !absent(msr);
	check_eq("version 1: no fixed counters, no global registers", wrong, 0);
}

/* Only event selects say which counters count */
static void test_selects(void)
{
	u64 start;

	pmu_clear();
	pmu_setup(2, EVENT_INSNS, -100, true);
	wrmsr(MSR_EVTSEL0 + 2, EVENT_INSNS | EVTSEL_OS);
	pmu_setup(1, EVENT_BRANCHES, 0, false);
	wrmsr(MSR_EVTSEL0 + 1, EVENT_BRANCHES | COUNT_OS);
	start = pmu_setup(0, EVENT_INSNS, -100, false);
	spin(start, LOOPS);
	wrmsr(MSR_EVTSEL0 + 1, 0);
	check_eq("version 1: a counter wraps", rdpmc(0), SPIN_INSNS(LOOPS) - 100);
	check("version 1: another counts meanwhile", rdpmc(1) >= LOOPS);
	check_eq("version 1: without EN it does not", rdpmc(2), -100 & ctr_mask());
	start = rdpmc(0);
	spin(EVENT_INSNS | COUNT_OS, LOOPS);
	check_eq("version 1: it goes on", rdpmc(0) - start, SPIN_INSNS(LOOPS));
}

static void test_any(void)
{
	check_eq("AnyThread: counts the same", count_spin(0, EVENT_INSNS | EVTSEL_ANY,
							  LOOPS), SPIN_INSNS(LOOPS));
	pmu_clear();
	wrmsr(MSR_FIXED_CTRL, 0x050);
	spin(bit(FIXED + 1), LOOPS);
	check_eq("AnyThread: fixed too", rdmsr(MSR_FIXED_CTR0 + 1), SPIN_INSNS(LOOPS));
}

/* Each bit that can be set in GLOBAL_STATUS is set and cleared again */
static void test_status_bits(void)
{
	u64 valid = ALL_COUNTERS | STATUS_HIGH;
	u32 wrong = 0;

	pmu_clear();
	test_control_bits("GLOBAL_STATUS_SET: it faults where there is no bit",
			  MSR_GLOBAL_STATUS_SET, valid, false);
	check_eq("GLOBAL_STATUS_SET has set all", rdmsr(MSR_GLOBAL_STATUS), valid);
	for (u64 left = valid; left; left &= left - 1) {
		wrmsr(MSR_GLOBAL_OVF_CTRL, left & -left);
		wrong += rdmsr(MSR_GLOBAL_STATUS) != (left & (left - 1));
	}
	check_eq("GLOBAL_STATUS_RESET clears one after the other", wrong, 0);
}

static void test_frozen(void)
{
	u64 start, counted;
	u32 ecx;

	pmu_clear();
	start = pmu_setup(0, EVENT_INSNS, -100, true);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	wrmsr(MSR_GLOBAL_STATUS_SET, CTR_FRZ | start);
	check("setting status does not interrupt",
	      !(apic_read(APIC_LVTPC) & LVT_MASKED));
	spin(start, LOOPS);
	check_eq("CTR_FRZ: nothing counts", rdmsr(MSR_PMC0), -100 & ctr_mask());
	wrmsr(MSR_GLOBAL_CTRL, start);
	asm volatile("wrmsr\n\t"
		     "nop\n\t"
		     "xor %%ecx, %%ecx\n\t"
		     "rdpmc"
		     : "=A"(counted), "=c"(ecx)
		     : "A"(CTR_FRZ), "c"(MSR_GLOBAL_OVF_CTRL));
	check_eq("CTR_FRZ cleared: it counts from there", counted,
		 (-100 & ctr_mask()) + 2);
	wrmsr(MSR_GLOBAL_CTRL, 0);
}

static void test_inuse(void)
{
	pmu_clear();
	check_eq("GLOBAL_INUSE: nothing", rdmsr(MSR_GLOBAL_INUSE), 0);
	wrmsr(MSR_EVTSEL0 + 3, EVENT_INSNS);
	wrmsr(MSR_EVTSEL0 + 1, COUNT_OS | 0xff00);
	wrmsr(MSR_FIXED_CTRL, 0x020);
	check_eq("GLOBAL_INUSE: an event, a mode", rdmsr(MSR_GLOBAL_INUSE),
		 bit(3) | bit(FIXED + 1));
	wrmsr(MSR_EVTSEL0 + 3, EVTSEL_INT);
	check_eq("GLOBAL_INUSE: interrupt", rdmsr(MSR_GLOBAL_INUSE),
		 INUSE_PMI | bit(FIXED + 1));
	wrmsr(MSR_EVTSEL0 + 3, 0);
	wrmsr(MSR_FIXED_CTRL, 0x800);
	check_eq("GLOBAL_INUSE: interrupt of a fixed counter",
		 rdmsr(MSR_GLOBAL_INUSE), INUSE_PMI);
	check("GLOBAL_INUSE: writing 0 faults", wrmsr_faults(MSR_GLOBAL_INUSE, 0));
}

void test_version(void)
{
	if (!has_global()) {
		test_absent();
		test_selects();
	}
	if (has_any())
		test_any();
	if (want_version >= 4) {
		test_status_bits();
		test_frozen();
		test_inuse();
	} else {
		check("no GLOBAL_STATUS_SET", absent(MSR_GLOBAL_STATUS_SET));
		check("no GLOBAL_INUSE", absent(MSR_GLOBAL_INUSE));
	}
	pmu_clear();
}
