// SPDX-License-Identifier: GPL-2.0
/*
 * pmu-silicon=SEED: counters are inexact, within their bounds.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define ROUNDS	200

/* A fixed and a programmable counter, started by the same WRMSR */
static void test_starts(void)
{
	u32 below = 0, above = 0, apart = 0, sum = 0;

	for (u32 i = 0; i < ROUNDS; i++) {
		u64 want = SPIN_INSNS(100 + i), gp, fixed, start;

		pmu_clear();
		start = pmu_setup(0, EVENT_INSNS, 0, false) | pmu_setup(FIXED, 0, 0, false);
		spin(start, 100 + i);
		gp = rdpmc(0);
		fixed = rdpmc(RDPMC_FIXED);
		below += gp < want || fixed < want;
		above += gp > want + START_MORE || fixed > want + START_MORE;
		apart += gp != fixed;
		sum += gp + fixed - 2 * want;
	}
	check_eq("instructions: never below", below, 0);
	check_eq("instructions: above by what a start may add", above, 0);
	check("instructions: counters start apart", apart > ROUNDS / 4);
	note("instructions: more in all", sum);
}

static void test_cycles(void)
{
	u32 out = 0, equal = 0;
	u64 sum = 0;

	for (u32 i = 0; i < ROUNDS; i++) {
		u64 insns = SPIN_INSNS(1000 + i);
		u64 cycles = count_spin(0, EVENT_CYCLES, 1000 + i);

		out += 2 * cycles < insns || cycles > 4 * insns + START_MORE;
		equal += cycles == insns;
		sum += cycles;
	}
	check_eq("cycles: a half to four for an instruction", out, 0);
	check("cycles: another number than instructions", equal < ROUNDS / 4);
	note("cycles: in all", sum);
}

void test_silicon(void)
{
	test_starts();
	test_cycles();
	check_eq("branches are exact", count_spin(0, EVENT_BRANCHES, 12345), 12345);
	test_silicon_interrupts();
}
