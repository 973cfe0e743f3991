// SPDX-License-Identifier: GPL-2.0
/*
 * Three differences of some processors: when a status bit can be cleared, what a
 * new event select counts, and whether microcode uses counter 3.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define LOOPS		1000
#define EVENT_BRANCHES	0x00c4
#define SEQUENCE	4
#define MSR_TSX_FORCE_ABORT	0x10f

/* Zhaoxin's family 6 clears bits of the status while GLOBAL_CTRL is on */
void test_ack_enabled(void)
{
	pmu_clear();
	wrmsr(MSR_GLOBAL_CTRL, bit(0));
	wrmsr(MSR_GLOBAL_OVF_CTRL, rdmsr(MSR_GLOBAL_STATUS));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	wrmsr(MSR_PMC0, -10);
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | COUNT_OS);
	switch_msr = MSR_GLOBAL_CTRL;
	spin(bit(0), LOOPS);
	check_eq("an overflow sets its bit", rdmsr(MSR_GLOBAL_STATUS), bit(0));
	wrmsr(MSR_GLOBAL_OVF_CTRL, bit(0));
	check_eq("it stays while GLOBAL_CTRL is zero", rdmsr(MSR_GLOBAL_STATUS),
		 bit(0));
	wrmsr(MSR_EVTSEL0, 0);
	wrmsr(MSR_GLOBAL_CTRL, bit(0));
	wrmsr(MSR_GLOBAL_OVF_CTRL, bit(0));
	check_eq("it is cleared while it is not", rdmsr(MSR_GLOBAL_STATUS), 0);
	wrmsr(MSR_GLOBAL_CTRL, 0);
}

static void sequence(u64 global, u64 counter)
{
	static const u32 selects[SEQUENCE] = {
		0x4300b5, 0x4300d2, 0x4300b1, 0x4300b1,
	};

	for (u32 i = 0; i < SEQUENCE; i++) {
		wrmsr(MSR_EVTSEL0 + i, selects[i]);
		wrmsr(MSR_PMC0 + i, 0);
	}
	wrmsr(MSR_PMC0 + 2, counter);
	wrmsr(MSR_GLOBAL_CTRL, global);
	wrmsr(MSR_GLOBAL_CTRL, 0);
}

static u64 count_branches(void)
{
	wrmsr(MSR_EVTSEL0, EVENT_BRANCHES | COUNT_OS);
	wrmsr(MSR_PMC0, 0);
	switch_msr = MSR_GLOBAL_CTRL;
	spin(bit(0), LOOPS);
	return rdpmc(0);
}

/* Without the sequence each of these selects counts core cycles */
void test_erratum_nehalem(void)
{
	u64 cycles = SPIN_INSNS(LOOPS), branches;

	pmu_clear();
	wrmsr(MSR_GLOBAL_CTRL, 0);
	check_eq("a new select counts cycles", count_branches(), cycles);
	check_eq("it goes on doing so", count_branches(), cycles);
	sequence(0xf, 0);
	branches = count_branches();
	check("after the sequence it counts its event",
	      branches >= LOOPS && branches < 2 * LOOPS);
	check_eq("a select that stays counts its event", count_branches(), branches);
	wrmsr(MSR_EVTSEL0, 0);
	check_eq("once more a new one", count_branches(), cycles);
	sequence(0x7, 0);
	check_eq("the sequence on three counters", count_branches(), cycles);
	sequence(0xf, 1);
	check_eq("the sequence with a counter that is not zero", count_branches(),
		 cycles);
	pmu_clear();
}

static u64 count_insns(u32 i)
{
	wrmsr(MSR_EVTSEL0 + i, EVENT_INSNS | COUNT_OS);
	wrmsr(MSR_PMC0 + i, 0);
	switch_msr = MSR_GLOBAL_CTRL;
	spin(bit(i), LOOPS);
	return rdpmc(i);
}

/* Counter 3 counts only while transactions are aborted. */
void test_tsx_force_abort(void)
{
	u32 r[4];

	pmu_clear();
	wrmsr(MSR_GLOBAL_CTRL, 0);
	cpuid(7, r);
	check("CPUID shows TSX force abort", r[3] & 1u << 13);
	check_eq("transactions are not aborted after reset",
		 rdmsr(MSR_TSX_FORCE_ABORT), 0);
	check_eq("counter 2 counts", count_insns(2), SPIN_INSNS(LOOPS));
	check_eq("counter 3 stands still", count_insns(3), 0);
	check("there is one bit", wrmsr_faults(MSR_TSX_FORCE_ABORT, 2));
	wrmsr(MSR_TSX_FORCE_ABORT, 1);
	check_eq("the register keeps it", rdmsr(MSR_TSX_FORCE_ABORT), 1);
	check_eq("counter 3 counts", count_insns(3), SPIN_INSNS(LOOPS));
	wrmsr(MSR_TSX_FORCE_ABORT, 0);
	check_eq("counter 3 stands still again", count_insns(3), 0);
	pmu_clear();
}
