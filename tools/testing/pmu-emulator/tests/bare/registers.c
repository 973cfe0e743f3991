// SPDX-License-Identifier: GPL-2.0
/*
 * CPUID, the PMU's MSRs and faults.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define CPUID_PDCM	(1u << 15)
#define PERF_CAP_FW	(1u << 13)

volatile u32 switch_msr = MSR_GLOBAL_CTRL;

void pmu_clear(void)
{
	if (has_global())
		wrmsr(MSR_GLOBAL_CTRL, 0);
	if (want_netburst)
		netburst_clear();
	for (u32 i = 0; i < (want_amd ? want_amd : want_p6 ? NUM_P6 : NUM_GP); i++) {
		wrmsr(evtsel_msr(i), 0);
		wrmsr(ctr_msr(i), 0);
	}
	if (has_global()) {
		wrmsr(MSR_FIXED_CTRL, 0);
		for (u32 i = 0; i < NUM_FIXED; i++)
			wrmsr(MSR_FIXED_CTR0 + i, 0);
		wrmsr(MSR_GLOBAL_OVF_CTRL, counters_there());
	}
	apic_write(APIC_LVTPC, LVT_MASKED);
}

/* Returns AMD's number of an event from Intel's */
static u32 amd_event(u32 event)
{
	switch (event & 0xffff) {
	case EVENT_CYCLES:
	case EVENT_REF_CYCLES:
		return (event & ~0xffffu) | 0x76;
	case EVENT_BRANCHES:
		return (event & ~0xffffu) | 0xc2;
	}
	return event;
}

/* Returns P6's number of an event from Intel's architectural one */
static u32 p6_event(u32 event)
{
	switch (event & 0xffff) {
	case EVENT_CYCLES:
	case EVENT_REF_CYCLES:
		return (event & ~0xffffu) | 0x79;
	}
	return event;
}

/* EN in select 0 is for both counters. Counter 0 counts no event meanwhile. */
static u64 p6_start(u32 ctr, u32 evtsel)
{
	switch_msr = MSR_EVTSEL0;
	if (evtsel_msr(ctr) == MSR_EVTSEL0)
		return evtsel;
	wrmsr(evtsel_msr(ctr), evtsel & ~EVTSEL_EN);
	return EVTSEL_EN;
}

u64 pmu_setup(u32 ctr, u32 event, u64 value, bool pmi)
{
	u32 evtsel = COUNT_OS | (pmi ? EVTSEL_INT : 0);

	if (want_netburst)
		return netburst_setup(ctr, event, value, pmi);
	if (want_amd)
		event = amd_event(event);
	else if (want_p6 == P6_PROPER)
		event = p6_event(event);
	evtsel |= event;
	wrmsr(ctr_msr(ctr), value & ctr_mask());
	if (want_p6)
		return p6_start(ctr, evtsel);
	if (!has_global()) {
		switch_msr = evtsel_msr(ctr);
		return evtsel;
	}
	if (ctr < FIXED)
		wrmsr(evtsel_msr(ctr), evtsel);
	else
		wrmsr(MSR_FIXED_CTRL, (pmi ? 9ull : 1ull) << (4 * (ctr - FIXED)));
	return bit(ctr);
}

static void test_cpuid(void)
{
	u32 r[4];

	cpuid(0xa, r);
	check_eq("CPUID.0AH:EAX: version, 4 counters, width, 7 events", r[0],
		 want_version | NUM_GP << 8 | want_width << 16 | 7 << 24);
	check_eq("CPUID.0AH:EBX: no LLC events, no branch misses", r[1],
		 1 << 3 | 1 << 4 | 1 << 6);
	check_eq("CPUID.0AH:ECX: fixed counters from version 5 on", r[2],
		 want_version >= 5 ? (1 << NUM_FIXED) - 1 : 0);
	check_eq("CPUID.0AH:EDX: 3 fixed counters, width, no AnyThread", r[3],
		 has_global() ? NUM_FIXED | want_width << 5 |
				(want_version >= 5 ? 1 << 15 : 0) : 0);
	cpuid(1, r);
	check_eq("CPUID.01H:ECX.PDCM: as full-width writes", !!(r[2] & CPUID_PDCM),
		 want_full);
}

void test_control_bits(const char *name, u32 msr, u64 valid, bool keeps)
{
	u32 wrong = 0;

	for (u32 i = 0; i < 64; i++) {
		u64 val = 1ull << i;
		bool ok = valid & val;

		wrmsr(msr, 0);
		if (wrmsr_faults(msr, val) == ok)
			wrong++;
		if (rdmsr(msr) != (ok && keeps ? val : 0))
			wrong++;
	}
	wrmsr(msr, 0);
	check_eq(name, wrong, 0);
}

static void test_control(void)
{
	u64 any = has_any() ? 0 : EVTSEL_ANY;
	u64 high = want_version >= 4 ? 0x3full << 58 : 3ull << 62;
	u64 select = (0xffffffff & ~any) | user_disable_bits(EVTSEL_USER_DISABLE);

	if (has_global())
		check_eq("GLOBAL_CTRL at reset: GP counters enabled",
			 rdmsr(MSR_GLOBAL_CTRL), (1 << NUM_GP) - 1);
	pmu_clear();
	test_control_bits("EVTSEL0: AnyThread and other reserved bits fault",
			  MSR_EVTSEL0, select, true);
	test_control_bits("EVTSEL3: AnyThread and other reserved bits fault",
			  MSR_EVTSEL0 + 3, select, true);
	check("EVTSEL4 is not the PMU's", !wrmsr_faults(MSR_EVTSEL0 + NUM_GP, 0));
	if (!has_global())
		return;
	test_control_bits("FIXED_CTRL: AnyThread and other reserved bits fault",
			  MSR_FIXED_CTRL, (has_any() ? 0xfff : 0xbbb) |
			  user_disable_bits(0x111 * FIXED_USER_DISABLE), true);
	test_control_bits("GLOBAL_CTRL: bits without a counter fault",
			  MSR_GLOBAL_CTRL, ALL_COUNTERS, true);
	test_control_bits("GLOBAL_OVF_CTRL: bits without a meaning fault",
			  MSR_GLOBAL_OVF_CTRL, ALL_COUNTERS | high, false);
	check("GLOBAL_STATUS: writing 0 faults", wrmsr_faults(MSR_GLOBAL_STATUS, 0));
}

static void test_fixed_writes(void)
{
	u64 mask = ctr_mask();

	wrmsr(MSR_FIXED_CTR0, mask);
	check_eq("FIXED_CTR0 takes all bits", rdmsr(MSR_FIXED_CTR0), mask);
	check("FIXED_CTR0: a bit too many faults",
	      wrmsr_faults(MSR_FIXED_CTR0, mask + 1));
	check_eq("FIXED_CTR0 is then unchanged", rdmsr(MSR_FIXED_CTR0), mask);
	check_eq("RDPMC reads it", rdpmc(RDPMC_FIXED), mask);
}

static void test_counter_writes(void)
{
	u64 mask = ctr_mask();

	pmu_clear();
	wrmsr(MSR_PMC0, 0x80000000);
	check_eq("PMC0 written 0x80000000: bit 31 extended", rdmsr(MSR_PMC0),
		 0xffffffff80000000ull & mask);
	wrmsr(MSR_PMC0, 0x123456787654321ull);
	check_eq("PMC0 written with high bits: they are ignored", rdmsr(MSR_PMC0),
		 (0x87654321 - 0x100000000ull) & mask);
	wrmsr(MSR_PMC0, 0);
	if (has_global())
		test_fixed_writes();

	check_eq("full-width PMC3 can be read", rdmsr_faults(MSR_FULL_PMC0 + 3),
		 !want_full);
	check_eq("full-width PMC3 can be written",
		 wrmsr_faults(MSR_FULL_PMC0 + 3, mask ^ 0x5a5a), !want_full);
	check_eq("full-width PMC3 is PMC3", rdmsr(MSR_PMC0 + 3),
		 want_full ? mask ^ 0x5a5a : 0);
	check("full-width PMC3: a bit too many faults",
	      wrmsr_faults(MSR_FULL_PMC0 + 3, mask + 1));
	check_eq("PERF_CAPABILITIES can be read",
		 rdmsr_faults(MSR_PERF_CAPABILITIES), !want_full);
	if (want_full)
		check_eq("PERF_CAPABILITIES: full-width writes alone",
			 rdmsr(MSR_PERF_CAPABILITIES), PERF_CAP_FW);
	check("PERF_CAPABILITIES can not be written",
	      wrmsr_faults(MSR_PERF_CAPABILITIES, PERF_CAP_FW));
}

/* CPUID reports more counters than RDPMC finds. */
void test_no_rdpmc(void)
{
	u32 n = want_amd ? want_amd : 4, msr = want_amd ? 0xc0010201 : MSR_PMC0;
	u32 step = want_amd ? 2 : 1, wrong = 0;

	for (u32 i = 0; i < n; i++) {
		wrmsr(msr + i * step, 1000 + i);
		wrong += rdmsr(msr + i * step) != 1000 + i;
		wrong += rdpmc_faults(i) != (i >= n - want_no_rdpmc);
	}
	check_eq("RDPMC does not find the last counters, RDMSR does", wrong, 0);
	if (!want_amd)
		check("RDPMC finds fixed counters", !rdpmc_faults(RDPMC_FIXED));
}

/* These counters ignore writes. All of them count. */
void test_no_writes(u32 mask)
{
	u32 n = want_amd ? want_amd : 4, msr = want_amd ? 0xc0010201 : MSR_PMC0;
	u32 step = want_amd ? 2 : 1, wrong = 0;

	for (u32 i = 0; i < n; i++) {
		wrmsr(msr + i * step, 1000 + i);
		wrong += rdpmc(i) != (mask & 1u << i ? 0 : 1000 + i);
		wrong += rdmsr(msr + i * step) != rdpmc(i);
	}
	check_eq("these counters alone ignore writes", wrong, 0);
	if (want_amd)
		return;
	wrmsr(MSR_FIXED_CTR0, 2000);
	check_eq("fixed counters do not", rdpmc(RDPMC_FIXED), 2000);
}

static void test_rdpmc(void)
{
	static const u32 bad[] = {
		NUM_GP, 5, 0x3fffffff, RDPMC_FIXED + NUM_FIXED, RDPMC_FIXED + 4,
		1u << 29, 1u << 31, 3u << 30, 0xffffffff,
	};
	u32 wrong = 0;

	pmu_clear();
	for (u32 i = 0; i < NUM_GP; i++) {
		wrmsr(MSR_PMC0 + i, 1000 + i);
		wrong += rdpmc_faults(i) || rdpmc(i) != 1000 + i;
	}
	for (u32 i = 0; i < num_fixed(); i++) {
		wrmsr(MSR_FIXED_CTR0 + i, 2000 + i);
		wrong += rdpmc_faults(RDPMC_FIXED + i) ||
			 rdpmc(RDPMC_FIXED + i) != 2000 + i;
	}
	check_eq("RDPMC reads each counter", wrong, 0);
	wrong = 0;
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong += !rdpmc_faults(bad[i]);
	for (u32 i = num_fixed(); i < NUM_FIXED; i++)
		wrong += !rdpmc_faults(RDPMC_FIXED + i);
	check_eq("RDPMC of what is no counter faults", wrong, 0);
}

static void test_test_msrs(void)
{
	check_eq("test interface: ID", rdmsr(PMU_TEST_MSR_ID), PMU_TEST_ID);
	check("test interface: ID is read-only", wrmsr_faults(PMU_TEST_MSR_ID, 0));
	check("test interface: totals are read-only",
	      wrmsr_faults(PMU_TEST_MSR(PMU_TEST_CYCLES), 0));
	check("test interface: one past the last total faults",
	      rdmsr_faults(PMU_TEST_MSR(PMU_TEST_NR_EVENTS)));
	check_eq("test interface: nothing has run in user mode",
		 rdmsr(PMU_TEST_MSR(PMU_TEST_CYCLES) + PMU_TEST_MSR_USER), 0);
}

void test_registers(void)
{
	test_cpuid();
	test_control();
	test_counter_writes();
	test_rdpmc();
	test_test_msrs();
}

/* The leaf that identifies the machine exists with and without a PMU */
void test_machine(void)
{
	u32 r[4];

	cpuid(PMU_TEST_MACHINE, r);
	if (want_machine == NO_MACHINE) {
		check("machine: CPUID does not call it one of ours", r[0] != PMU_MACHINE_ID);
		return;
	}
	check_eq("machine: CPUID calls it one of ours", r[0], PMU_MACHINE_ID);
	check_eq("machine: what it is like", r[1], want_machine);
	check_eq("machine: version", r[2], PMU_MACHINE_VERSION);
	check_eq("machine: EDX is zero", r[3], 0);
}

/* With pmu=off there is no part of a PMU */
void test_no_pmu(void)
{
	u32 r[4];

	cpuid(0xa, r);
	check_eq("CPUID.0AH is zero", r[0] | r[1] | r[2] | r[3], 0);
	cpuid(1, r);
	check_eq("CPUID.01H:ECX.PDCM is zero", r[2] & CPUID_PDCM, 0);
	check("RDPMC faults", rdpmc_faults(0));
	check_eq("test interface: no ID", rdmsr(PMU_TEST_MSR_ID), 0);
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | COUNT_OS);
	check_eq("nothing is kept in EVTSEL0", rdmsr(MSR_EVTSEL0), 0);
}
