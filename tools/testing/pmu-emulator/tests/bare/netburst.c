// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU of Intel's NetBurst processors: its registers, which counters are wired to
 * which ESCRs, events, filters and tags, and how an overflow is seen.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include "bare.h"
#include "netburst.h"
#include "pmu-test-msr.h"

#define LOOPS		1000
#define ALL_INSNS	SPIN_INSNS(LOOPS)

#define MSR_MISC_ENABLE	0x1a0
#define MISC_AVAILABLE	(1u << 7)
#define MISC_NO_BTS	(1u << 11)
#define MISC_NO_PEBS	(1u << 12)
#define MISC_LIMIT	(1u << 22)	/* one that can be written */

#define MSR_PRECISE	0x3f0		/* and the next two */

#define BITS_CCCR	0xcffff000ull
#define BITS_ESCR	0x7fffffffull
#define BITS_COUNTER	0xffffffffffull

#define PAIR(n)		(3u << (n))
#define IQ_EVEN		(PAIR(12) | 1u << 16)
#define IQ_ODD		(PAIR(14) | 1u << 17)

/* Each ESCR: its MSR, its number in CCCRs, and the counters that may choose it */
static const struct wire {
	u32 msr, select, counters;
} wires[] = {
	{ 0x3a0, 7, PAIR(0) }, { 0x3a1, 7, PAIR(2) },	/* BSU */
	{ 0x3a2, 6, PAIR(0) }, { 0x3a3, 6, PAIR(2) },	/* FSB */
	{ 0x3a4, 1, PAIR(8) }, { 0x3a5, 1, PAIR(10) },	/* FIRM */
	{ 0x3a6, 0, PAIR(8) }, { 0x3a7, 0, PAIR(10) },	/* FLAME */
	{ 0x3a8, 5, PAIR(8) }, { 0x3a9, 5, PAIR(10) },	/* DAC */
	{ 0x3aa, 2, PAIR(0) }, { 0x3ab, 2, PAIR(2) },	/* MOB */
	{ 0x3ac, 4, PAIR(0) }, { 0x3ad, 4, PAIR(2) },	/* PMH */
	{ 0x3ae, 2, PAIR(8) }, { 0x3af, 2, PAIR(10) },	/* SAAT */
	{ 0x3b0, 3, PAIR(8) }, { 0x3b1, 3, PAIR(10) },	/* U2L */
	{ 0x3b2, 0, PAIR(0) }, { 0x3b3, 0, PAIR(2) },	/* BPU */
	{ 0x3b4, 1, PAIR(0) }, { 0x3b5, 1, PAIR(2) },	/* IS */
	{ 0x3b6, 3, PAIR(0) }, { 0x3b7, 3, PAIR(2) },	/* ITLB */
	{ 0x3b8, 4, IQ_EVEN }, { 0x3b9, 4, IQ_ODD },	/* CRU 0, 1 */
	{ 0x3ba, 0, IQ_EVEN }, { 0x3bb, 0, IQ_ODD },	/* IQ, until model 2 */
	{ 0x3bc, 2, IQ_EVEN }, { 0x3bd, 2, IQ_ODD },	/* RAT */
	{ 0x3be, 3, IQ_EVEN },				/* SSU */
	{ 0x3c0, 0, PAIR(4) }, { 0x3c1, 0, PAIR(6) },	/* MS */
	{ 0x3c2, 2, PAIR(4) }, { 0x3c3, 2, PAIR(6) },	/* TBPU */
	{ 0x3c4, 1, PAIR(4) }, { 0x3c5, 1, PAIR(6) },	/* TC */
	{ 0x3c8, 5, PAIR(0) }, { 0x3c9, 5, PAIR(2) },	/* IX */
	{ 0x3ca, 1, IQ_EVEN }, { 0x3cb, 1, IQ_ODD },	/* ALF */
	{ 0x3cc, 5, IQ_EVEN }, { 0x3cd, 5, IQ_ODD },	/* CRU 2, 3 */
	{ 0x3e0, 6, IQ_EVEN }, { 0x3e1, 6, IQ_ODD },	/* CRU 4, 5 */
};

#define FIRST_ESCR	0x3a0
#define LAST_ESCR	0x3e1

/* Returns what is known of this ESCR, or NULL if this model does not have it */
static const struct wire *find_wire(u32 msr)
{
	if ((msr & ~1u) == MSR_IQ_ESCR && want_netburst > 2)
		return NULL;
	for (u32 i = 0; i < sizeof(wires) / sizeof(wires[0]); i++)
		if (wires[i].msr == msr)
			return &wires[i];
	return NULL;
}

void netburst_clear(void)
{
	for (u32 i = 0; i < NUM_NETBURST; i++) {
		wrmsr(MSR_CCCR0 + i, 0);
		for (u32 twice = 0; twice < 2; twice++)
			wrmsr(MSR_COUNTER0 + i, 0);
	}
	for (u32 msr = FIRST_ESCR; msr <= LAST_ESCR; msr++)
		wrmsr(msr, 0);
}

u64 netburst_setup(u32 ctr, u32 event, u64 value, bool pmi)
{
	u32 second = ctr / 2 % 2, cccr = CCCR_RUN | (pmi ? CCCR_PMI : 0);
	u32 escr = 0, msr = MSR_CRU_ESCR0, select = 4;

	switch (event) {
	case EVENT_INSNS:
		escr = ESCR(0x02, 1);
		break;
	case EVENT_CYCLES:
		escr = PMU_TEST_ESCR(PMU_TEST_CYCLES);
		break;
	case EVENT_REF_CYCLES:		/* of both modes, whatever the ESCR says */
		escr = ESCR(0x3e, 0);
		cccr |= CCCR_COMPARE | CCCR_COMPLEMENT | CCCR_THRESHOLD(15);
		break;
	case EVENT_BRANCHES:
		escr = ESCR(0x06, 0xf);
		msr = MSR_CRU_ESCR2;
		select = 5;
		break;
	case 0xc5:			/* mispredicted branches */
		escr = ESCR(0x03, 1);
		break;
	default:
		if ((event & 0xff) == 0xf0)
			escr = PMU_TEST_ESCR(event >> 8);
	}
	wrmsr(msr + second, escr | ESCR_OS);
	wrmsr(ctr_msr(ctr), value & ctr_mask());
	switch_msr = evtsel_msr(ctr);
	return cccr | CCCR_SELECT(select);
}

static void test_cpuid(void)
{
	u32 r[4];

	cpuid(0, r);
	check("CPUID.0AH is there", r[0] >= 0xa);
	cpuid(0xa, r);
	check_eq("CPUID.0AH is zero", r[0] | r[1] | r[2] | r[3], 0);
}

static u32 misc_enable(void)
{
	return rdmsr(MSR_MISC_ENABLE) &
	       (MISC_AVAILABLE | MISC_NO_BTS | MISC_NO_PEBS | MISC_LIMIT);
}

/* available: does MISC_ENABLE say that there is a PMU? */
void test_misc_enable(bool available)
{
	u32 fixed = MISC_NO_BTS | MISC_NO_PEBS | (available ? MISC_AVAILABLE : 0);
	u64 before = rdmsr(MSR_MISC_ENABLE);

	check_eq("MISC_ENABLE: the PMU, no BTS, no PEBS", misc_enable(), fixed);
	wrmsr(MSR_MISC_ENABLE, ~0ull);
	check_eq("MISC_ENABLE: the three bits cannot be set", misc_enable(),
		 fixed | MISC_LIMIT);
	wrmsr(MSR_MISC_ENABLE, 0);
	check_eq("MISC_ENABLE: nor cleared", misc_enable(), fixed);
	wrmsr(MSR_MISC_ENABLE, before);
}

/* Returns how many values of one bit a register does not keep as it should */
static u32 wrong_bits(u32 msr, u64 valid)
{
	u32 wrong = 0;

	for (u64 val = 1; val; val <<= 1) {
		wrmsr(msr, val);
		wrong += rdmsr(msr) != (val & valid);
	}
	wrmsr(msr, ~0ull);
	wrong += rdmsr(msr) != valid;
	wrmsr(msr, 0);
	return wrong;
}

static void test_registers_of(void)
{
	u32 counters = 0, cccrs = 0, escrs = 0, others = 0, faults = gp_count;

	for (u32 i = 0; i < NUM_NETBURST; i++) {
		counters += wrong_bits(MSR_COUNTER0 + i, BITS_COUNTER);
		cccrs += wrong_bits(MSR_CCCR0 + i, BITS_CCCR);
	}
	for (u32 msr = FIRST_ESCR; msr <= LAST_ESCR; msr++)
		escrs += wrong_bits(msr, find_wire(msr) ? BITS_ESCR : 0);
	for (u32 msr = MSR_PRECISE; msr < MSR_PRECISE + 3; msr++)
		others += wrong_bits(msr, ~0ull);
	check_eq("each counter keeps 40 bits", counters, 0);
	check_eq("each CCCR keeps its bits, and only these", cccrs, 0);
	check_eq("so does each ESCR, and others are not there", escrs, 0);
	check_eq("3F0H to 3F2H keep all bits", others, 0);
	check_eq("no bit of any of them faults", gp_count - faults, 0);
	check_eq("the next counter is not there", wrong_bits(MSR_COUNTER0 + 18, 0), 0);
	check_eq("the next CCCR is not there", wrong_bits(MSR_CCCR0 + 18, 0), 0);
}

static void test_rdpmc(void)
{
	static const u32 bad[] = {
		18, 19, 31, 1u << 29, RDPMC_FIXED, FAST | 18, FAST | RDPMC_FIXED, ~0u,
	};
	u32 wrong = 0, wrong_fast = 0;

	netburst_clear();
	for (u32 i = 0; i < NUM_NETBURST; i++)
		wrmsr(MSR_COUNTER0 + i, 0xabf00000c0ull + ((u64)i << 32) + i);
	for (u32 i = 0; i < NUM_NETBURST; i++) {
		wrong += rdpmc_faults(i) ||
			 rdpmc(i) != ((0xabf00000c0ull + ((u64)i << 32) + i) & BITS_COUNTER);
		wrong_fast += rdpmc_faults(FAST | i) || rdpmc(FAST | i) != 0xf00000c0 + i;
	}
	check_eq("RDPMC reads 40 bits of each counter", wrong, 0);
	check_eq("with bit 31 it reads 32, and EDX is zero", wrong_fast, 0);
	wrong = 0;
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong += !rdpmc_faults(bad[i]);
	check_eq("RDPMC of what is no counter faults", wrong, 0);
}

/* Counts the WRMSR that stops the counter, if the ESCR can be chosen */
static void test_wiring(void)
{
	u32 wrong = 0, wired = 0;

	netburst_clear();
	for (u32 msr = FIRST_ESCR; msr <= LAST_ESCR; msr++) {
		const struct wire *w = find_wire(msr);

		wrmsr(msr, PMU_TEST_ESCR(PMU_TEST_WRMSR) | ESCR_OS);
		for (u32 i = 0; i < NUM_NETBURST; i++)
			for (u32 select = 0; select < 8; select++) {
				bool want = w && w->select == select &&
					    w->counters & bit(i);

				wrmsr(MSR_COUNTER0 + i, 0);
				wrmsr(MSR_CCCR0 + i, CCCR_RUN | CCCR_SELECT(select));
				wrmsr(MSR_CCCR0 + i, 0);
				wrong += rdpmc(i) != want;
				wired += want;
			}
		wrmsr(msr, 0);
	}
	check_eq("each counter is wired to its ESCRs, and to no other one", wrong, 0);
	/* 8, 3 and 5 ESCRs for each of four counters, 7 and 6 for three of the last six */
	check_eq("there are so many wires", wired,
		 4 * (8 + 3 + 5) + (want_netburst > 2 ? 3 * (6 + 5) : 3 * (7 + 6)));
}

/* All counters at once, with an event that happens in between alone */
static void test_all(void)
{
	static const u32 escr_of[NUM_NETBURST] = {
		0x3a2, 0x3a2, 0x3a3, 0x3a3, 0x3c4, 0x3c4, 0x3c5, 0x3c5, 0x3ae,
		0x3ae, 0x3af, 0x3af, 0x3b8, 0x3b8, 0x3b9, 0x3b9, 0x3b8, 0x3b9,
	};
	static const u32 select_of[] = { 6, 1, 2, 4, 4 };
	u32 cr4, wrong = 0;

	netburst_clear();
	for (u32 i = 0; i < NUM_NETBURST; i++) {
		u32 event = escr_of[i] & 1 ? PMU_TEST_CR4_WRITES : PMU_TEST_RDTSC;

		wrmsr(escr_of[i], PMU_TEST_ESCR(event) | ESCR_OS);
		wrmsr(MSR_COUNTER0 + i, (u64)i << 32);
		wrmsr(MSR_CCCR0 + i, CCCR_RUN | CCCR_SELECT(select_of[i / 4]));
	}
	asm volatile("mov %%cr4, %0" : "=r"(cr4));
	for (u32 i = 0; i < LOOPS; i++)
		asm volatile("rdtsc; rdtsc; mov %0, %%cr4" : : "r"(cr4) : "eax", "edx");
	for (u32 i = 0; i < NUM_NETBURST; i++)
		wrong += rdpmc(i) - ((u64)i << 32) != (escr_of[i] & 1 ? LOOPS : 2 * LOOPS);
	check_eq("all 18 count at the same time", wrong, 0);
	netburst_clear();
}

static u64 count(u32 ctr, u32 cccr, u32 msr, u32 escr)
{
	netburst_clear();
	wrmsr(msr, escr);
	switch_msr = MSR_CCCR0 + ctr;
	spin(cccr, LOOPS);
	return rdpmc(ctr);
}

/* Counts in kernel mode what an ESCR selects */
static u64 count_event(u32 ctr, u32 select, u32 msr, u32 event, u32 mask)
{
	return count(ctr, CCCR_RUN | CCCR_SELECT(select), msr, ESCR(event, mask) | ESCR_OS);
}

static void test_events(void)
{
	bool completed = want_netburst == 3 || want_netburst == 4 || want_netburst == 6;
	u32 wrong = 0, mask, model_insns = completed ? ALL_INSNS : 0;

	check_eq("instr_retired", count_event(12, 4, 0x3b8, 0x02, 1), ALL_INSNS);
	check_eq("instr_retired, second ESCR", count_event(17, 4, 0x3b9, 0x02, 5), ALL_INSNS);
	check_eq("instr_retired, tagged: nothing", count_event(16, 4, 0x3b8, 0x02, 0xa), 0);
	check_eq("instr_completed, on some models", count_event(14, 4, 0x3b9, 0x07, 1),
		 model_insns);
	check_eq("global_power_events", count_event(1, 6, 0x3a2, 0x13, 1), ALL_INSNS);
	check_eq("global_power_events, second ESCR", count_event(3, 6, 0x3a3, 0x13, 1),
		 ALL_INSNS);
	check_eq("global_power_events, no mask: nothing", count_event(0, 6, 0x3a2, 0x13, 0), 0);
	check_eq("branch_retired", count_event(13, 5, 0x3cc, 0x06, 0xf), LOOPS);
	check_eq("branch_retired, second ESCR", count_event(15, 5, 0x3cd, 0x06, 0xf), LOOPS);
	check_eq("branch_retired, predicted: all here", count_event(16, 5, 0x3cc, 0x06, 5),
		 LOOPS);
	for (mask = 0; mask < 0xf; mask++)
		if (mask != 5)
			wrong += count_event(16, 5, 0x3cc, 0x06, mask) != 0;
	check_eq("branch_retired, other masks: nothing", wrong, 0);
	check_eq("retired_branch_type", count_event(4, 2, 0x3c2, 0x04, 0x1e), LOOPS);
	check_eq("retired_branch_type, second ESCR", count_event(7, 2, 0x3c3, 0x04, 0x1e), LOOPS);
	check_eq("retired_branch_type, one type: nothing", count_event(5, 2, 0x3c2, 0x04, 2), 0);
	check_eq("mispred_branch_retired: none", count_event(12, 4, 0x3b8, 0x03, 1), 0);
	check_eq("an event of another unit: nothing", count_event(0, 6, 0x3a2, 0x02, 1), 0);
	check_eq("a test event that is none: nothing",
		 count_event(0, 6, 0x3a2, PMU_TEST_NETBURST_EVENT, PMU_TEST_NR_EVENTS), 0);
}

/* After training, spin()'s branch is mispredicted only once, at the end. */
void test_netburst_branches(void)
{
	u32 no = CCCR_RUN | CCCR_SELECT(5) | CCCR_COMPARE | CCCR_COMPLEMENT;

	count_event(16, 5, 0x3cc, 0x06, 0xf);
	check_eq("branch_retired", count_event(16, 5, 0x3cc, 0x06, 0xf), LOOPS);
	check_eq("branch_retired, predicted", count_event(16, 5, 0x3cc, 0x06, 5), LOOPS - 1);
	check_eq("branch_retired, mispredicted", count_event(16, 5, 0x3cc, 0x06, 0xa), 1);
	check_eq("mispred_branch_retired", count_event(14, 4, 0x3b9, 0x03, 1), 1);
	check_eq("retired_mispred_branch_type, conditional", count_event(4, 2, 0x3c2, 0x05, 2), 1);
	check_eq("retired_mispred_branch_type, indirect",
		 count_event(4, 2, 0x3c2, 0x05, 0x10), 0);
	check_eq("cycles without a mispredicted branch",
		 count(16, no, 0x3cc, ESCR(0x06, 0xa) | ESCR_OS), ALL_INSNS - 1);
}

/* Returns what an ESCR with these bits counts during n visits of CPL 3 */
static u64 count_visits(u32 cccr, u32 bits, u32 n)
{
	u64 before, after;

	netburst_clear();
	wrmsr(MSR_CRU_ESCR0, bits);
	wrmsr(MSR_CCCR0 + 12, cccr | CCCR_RUN | CCCR_SELECT(4));
	before = rdpmc(12);
	for (u32 i = 0; i < n; i++)
		rdpmc_at(3, 12);
	after = rdpmc(12);
	wrmsr(MSR_CCCR0 + 12, 0);
	return after - before;
}

static void test_modes(void)
{
	u32 insns = ESCR(0x02, 1), select = CCCR_RUN | CCCR_SELECT(4), wrong = 0;
	u64 both;

	set_pce(true);
	check_eq("user mode", count_visits(0, insns | ESCR_USR, 3), 3 * USER_INSNS);
	check_eq("no mode: nothing", count_visits(0, insns, 3), 0);
	check_eq("logical processor 1: nothing", count_visits(0, insns | 3, 3), 0);
	both = count_visits(0, insns | ESCR_OS | ESCR_USR, 3);
	check_eq("both modes", both,
		 count_visits(0, insns | ESCR_OS, 3) + 3 * USER_INSNS);
	set_pce(false);
	check_eq("user mode alone: nothing here",
		 count(12, select, MSR_CRU_ESCR0, insns | ESCR_USR), 0);
	check_eq("not enabled: nothing",
		 count(12, select & ~CCCR_ENABLE, MSR_CRU_ESCR0, insns | ESCR_OS), 0);
	for (u32 thread = 0; thread < 3; thread++)
		wrong += count(12, (select & ~CCCR_ANY) | thread << 16, MSR_CRU_ESCR0,
			       insns | ESCR_OS) != 0;
	check_eq("not while any thread is active: nothing", wrong, 0);
}

static void test_filters(void)
{
	u32 select = CCCR_RUN | CCCR_SELECT(5), compare = select | CCCR_COMPARE;
	u32 no = CCCR_COMPLEMENT, msr = MSR_CRU_ESCR2, wrong = 0;
	u32 branches = ESCR(0x06, 0xf) | ESCR_OS;

	check_eq("compare: more than 0", count(12, compare, msr, branches), LOOPS);
	for (u32 n = 1; n < 16; n++) {
		wrong += count(12, compare | CCCR_THRESHOLD(n), msr, branches) != 0;
		wrong += count(12, compare | CCCR_THRESHOLD(n) | no, msr, branches) != ALL_INSNS;
	}
	check_eq("compare: more than 1 to 15 never, not more always", wrong, 0);
	check_eq("compare: not more than 0", count(12, compare | no, msr, branches),
		 ALL_INSNS - LOOPS);
	check_eq("without compare: the others have no effect",
		 count(12, select | no | CCCR_THRESHOLD(3) | CCCR_EDGE, msr, branches), LOOPS);
	check_eq("not more than 15: no mode is needed",
		 count(12, compare | no | CCCR_THRESHOLD(15), msr, branches & ~ESCR_OS),
		 ALL_INSNS);
	check_eq("not more than 15: an event is needed",
		 count(12, compare | no | CCCR_THRESHOLD(15), msr, ESCR_OS), 0);
	check_eq("not more than 0: no mode is needed either",
		 count(12, compare | no, msr, branches & ~ESCR_OS), ALL_INSNS);
	check_eq("an event that never happens: not more than 0",
		 count(12, compare | no, msr, ESCR(0x3e, 1)), ALL_INSNS);
	check_eq("the complement of a difference: nothing",
		 count(12, compare | no, msr, ESCR(0x06, 5) | ESCR_OS), 0);
	check_eq("the complement of page faults: nothing",
		 count(12, compare | no, msr,
		       PMU_TEST_ESCR(PMU_TEST_PAGE_FAULTS) | ESCR_OS), 0);
}

/* Returns what such an ESCR has counted in user mode, after its first instruction there */
static u64 count_inside(u32 cccr, u32 bits)
{
	u64 inside;

	netburst_clear();
	wrmsr(MSR_CRU_ESCR0, bits);
	wrmsr(MSR_CCCR0 + 12, cccr | CCCR_RUN | CCCR_SELECT(4));
	inside = rdpmc_at(3, 12);
	wrmsr(MSR_CCCR0 + 12, 0);
	return inside;
}

/* Cycles of one mode begin when that mode is entered. */
static void test_edges(void)
{
	u32 cycles = PMU_TEST_ESCR(PMU_TEST_CYCLES), edge = CCCR_COMPARE | CCCR_EDGE;
	u32 no = CCCR_COMPLEMENT, one = CCCR_THRESHOLD(1);
	u32 both = cycles | ESCR_OS | ESCR_USR;

	set_pce(true);
	check_eq("edge: entries into user mode", count_visits(edge, cycles | ESCR_USR, 5), 5);
	check_eq("edge: into kernel mode", count_visits(edge, cycles | ESCR_OS, 6), 6);
	check_eq("edge: where not user mode begins",
		 count_visits(edge | no, cycles | ESCR_USR, 7), 7);
	check_eq("edge: in user mode, that has been entered",
		 count_inside(edge, cycles | ESCR_USR), 1);
	check_eq("edge: but kernel mode has not", count_inside(edge, cycles | ESCR_OS), 0);
	check_eq("edge: complement: user mode has not been left",
		 count_inside(edge | no, cycles | ESCR_USR), 0);
	check_eq("edge: complement: kernel mode has",
		 count_inside(edge | no, cycles | ESCR_OS), 1);
	netburst_clear();
	wrmsr(MSR_CRU_ESCR0, cycles | ESCR_USR);
	wrmsr(MSR_CCCR0 + 12, edge | CCCR_RUN | CCCR_SELECT(4));
	visit_1_and_3();
	check_eq("edge: from CPL 1 to 3 the mode stays", rdpmc(12), 1);
	check_eq("edge: of both modes: none", count_visits(edge, both, 5), 0);
	check_eq("edge: of what always holds: none",
		 count_visits(edge | no | one, cycles | ESCR_USR, 5), 0);
	check_eq("edge: of what never holds: none",
		 count_visits(edge | one, cycles | ESCR_USR, 5), 0);
	check_eq("edge: of other events: not modelled",
		 count_visits(edge, ESCR(0x02, 1) | ESCR_USR, 5), 0);
	check("a complement of user mode has no user mode",
	      count_visits(CCCR_COMPARE | no, cycles | ESCR_USR, 4) ==
	      count_visits(0, cycles | ESCR_OS, 4));

	netburst_clear();
	apic_write(APIC_LVTPC, VECTOR_PMI);
	wrmsr(MSR_COUNTER0 + 12, -3);
	wrmsr(MSR_CRU_ESCR0, cycles | ESCR_USR);
	wrmsr(MSR_CCCR0 + 12, edge | CCCR_RUN | CCCR_SELECT(4) | CCCR_PMI);
	rdpmc_at(3, 12);
	rdpmc_at(3, 12);
	check_eq("before the third entry: no interrupt", apic_read(APIC_LVTPC), VECTOR_PMI);
	rdpmc_at(3, 12);
	check_eq("after it: an interrupt", apic_read(APIC_LVTPC), VECTOR_PMI | LVT_MASKED);
	netburst_clear();
	set_pce(false);
	asm volatile("sti; nop; cli");
}

/* Sets up two ESCRs that tag branches and cycles, and counts execution_event. */
static u64 count_tagged(u32 tag_branches, u32 tag_cycles, u32 mask)
{
	netburst_clear();
	wrmsr(0x3a4, PMU_TEST_ESCR(PMU_TEST_BRANCHES) | ESCR_OS | ESCR_USR | tag_branches);
	wrmsr(0x3a5, PMU_TEST_ESCR(PMU_TEST_CYCLES) | ESCR_OS | tag_cycles);
	wrmsr(MSR_CRU_ESCR2, ESCR(0x0c, mask) | ESCR_OS);
	switch_msr = MSR_CCCR0 + 12;
	spin(CCCR_RUN | CCCR_SELECT(5), LOOPS);
	return rdpmc(12);
}

static void test_tags(void)
{
	check_eq("tag 1", count_tagged(ESCR_TAG(1), 0, 1), LOOPS);
	check_eq("tags 1 and 4, 4 is counted", count_tagged(ESCR_TAG(1), ESCR_TAG(4), 4),
		 ALL_INSNS);
	check_eq("both are counted", count_tagged(ESCR_TAG(1), ESCR_TAG(4), 5),
		 LOOPS + ALL_INSNS);
	check_eq("a tag that none has: nothing",
		 count_tagged(ESCR_TAG(1), ESCR_TAG(4), 0xa), 0);
	check_eq("several tags", count_tagged(ESCR_TAG(0xc), 0, 8), LOOPS);
	check_eq("not enabled: nothing",
		 count_tagged(ESCR_TAG(1) & ~ESCR_TAG_ENABLE, 0, 1), 0);
	check_eq("bogus ones: nothing", count_tagged(ESCR_TAG(1), 0, 0xf0), 0);
}

static bool has_overflowed(u32 ctr)
{
	return rdmsr(MSR_CCCR0 + ctr) & CCCR_OVF;
}

/* spin() stops a counter by writing 0 to its CCCR. So another one is stopped here. */
static void overflow(u32 ctr, u64 value, u32 cccr)
{
	wrmsr(MSR_COUNTER0 + ctr, value);
	wrmsr(MSR_CRU_ESCR0, ESCR(0x02, 1) | ESCR_OS);
	wrmsr(MSR_CCCR0 + ctr, cccr | CCCR_RUN | CCCR_SELECT(4));
	switch_msr = MSR_CCCR0 + 0;
	spin(0, LOOPS);
}

static void test_overflow(void)
{
	u64 wrapped;

	netburst_clear();
	overflow(13, -100000, CCCR_PMI);
	check("before the end of 40 bits OVF is clear", !has_overflowed(13));
	overflow(13, 0xffffff00, 0);
	check("a carry out of 32 bits does not set OVF", !has_overflowed(13));
	check("it goes to the upper bits", rdpmc(13) >> 32 == 1);
	overflow(13, -100, 0);
	wrapped = rdpmc(13);
	check("a counter wraps", wrapped >= ALL_INSNS - 100 && wrapped < ALL_INSNS);
	check("OVF says so", has_overflowed(13));
	check("of this counter alone", !has_overflowed(12) && !has_overflowed(16));
	rdpmc(13);
	wrmsr(MSR_COUNTER0 + 13, 0);
	check("OVF stays when the counter is read and written", has_overflowed(13));
	wrmsr(MSR_CCCR0 + 13, rdmsr(MSR_CCCR0 + 13));
	check("OVF stays when it is written back", has_overflowed(13));
	wrmsr(MSR_CCCR0 + 13, rdmsr(MSR_CCCR0 + 13) & ~CCCR_OVF);
	check("OVF is cleared by a write", !has_overflowed(13));
	netburst_clear();
}

static void test_pmi_bits(void)
{
	static const struct {
		const char *name;
		u32 cccr, lvtpc;
	} bits[] = {
		{ "OVF_PMI_T0 asks for the interrupt", CCCR_PMI, LVT_MASKED },
		{ "no bit: no interrupt", 0, 0 },
		{ "OVF_PMI_T1: no interrupt here", 1u << 27, 0 },
	};

	for (u32 i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		netburst_clear();
		apic_write(APIC_LVTPC, VECTOR_PMI);
		overflow(16, -100, bits[i].cccr);
		check_eq(bits[i].name, apic_read(APIC_LVTPC), VECTOR_PMI | bits[i].lvtpc);
		check("OVF is set in each case", has_overflowed(16));
	}
	netburst_clear();
	overflow(16, -100, 0);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	overflow(16, -100, CCCR_PMI | CCCR_OVF);
	check_eq("OVF is set already: it interrupts nevertheless",
		 apic_read(APIC_LVTPC), VECTOR_PMI | LVT_MASKED);
	netburst_clear();
	asm volatile("sti; nop; cli");
}

/* Erratum N15: a counter that has counted must be written twice. */
void test_erratum_n15(void)
{
	u64 value = 0xff80000000;

	netburst_clear();
	wrmsr(MSR_COUNTER0 + 12, value);
	check_eq("N15: the first write of a counter", rdpmc(12), value);
	spin(netburst_setup(0, EVENT_INSNS, value, false), LOOPS);
	check_eq("N15: it counts", rdpmc(12), value + ALL_INSNS);
	wrmsr(MSR_COUNTER0 + 12, value);
	check_eq("N15: one write has a carry too much", rdpmc(12), 0x0080000000);
	wrmsr(MSR_COUNTER0 + 12, value);
	check_eq("N15: the second one has not", rdpmc(12), value);
	wrmsr(MSR_COUNTER0 + 12, 5);
	check_eq("N15: nor another one without counts", rdpmc(12), 5);
	netburst_clear();
}

void test_netburst(void)
{
	test_cpuid();
	test_misc_enable(true);
	test_registers_of();
	test_rdpmc();
	test_wiring();
	test_all();
	test_events();
	test_modes();
	test_filters();
	test_edges();
	test_tags();
	test_overflow();
	test_pmi_bits();
	pmu_clear();
}
