// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that differ, and counters whose numbers have a gap: hybrid processors,
 * version 6, and a lesser CPU. The first CPU is a small core, the second a big one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define CPUID_HYBRID	(1u << 15)	/* 07H:EDX */
#define CPUID_MASKS	(1u << 8)	/* 07H.1:EAX */
#define TYPE_SMALL	(0x20u << 24)
#define MORE_GP		2
#define BIG_GLOBAL	0x3f		/* after RESET */
#define LOOPS		1000

/* Registers that this CPU does not have */
static bool absent(u32 msr)
{
	return !wrmsr_faults(msr, ~0ull) && rdmsr(msr) == 0;
}

void test_hybrid(void)
{
	u32 r[4], wrong = 0;

	cpuid_count(7, 0, r);
	check_eq("CPUID.07H:EDX: hybrid", r[3] & CPUID_HYBRID, CPUID_HYBRID);
	cpuid_count(0x1a, 0, r);
	check_eq("CPUID.1AH:EAX: a small core", r[0], TYPE_SMALL);
	for (u32 i = NUM_GP; i < NUM_GP + MORE_GP; i++)
		wrong += !absent(MSR_PMC0 + i) + !absent(MSR_EVTSEL0 + i) +
			 !rdpmc_faults(i);
	check_eq("a small core: no further programmable counters", wrong, 0);
	check("a small core: no fixed counter 3",
	      absent(MSR_FIXED_CTR0 + NUM_FIXED) &&
	      rdpmc_faults(RDPMC_FIXED | NUM_FIXED));
}

/*
 * The second CPU has more counters. It reports its registers, and INIT keeps
 * them.
 */
void test_big_core(void)
{
	u32 global, last;

	check("a big core: it starts", ask_ap(MSR_GLOBAL_CTRL,
					      MSR_PMC0 + NUM_GP + MORE_GP - 1,
					      &global, &last));
	check_eq("a big core: GLOBAL_CTRL after RESET", global, BIG_GLOBAL);
	check("a big core: it starts again", ask_ap(MSR_GLOBAL_CTRL,
						    MSR_PMC0 + NUM_GP + MORE_GP - 1,
						    &global, &last));
	check_eq("a big core: its last counter keeps what is written", last,
		 AP_COUNTER);
	check("a big core: once more", ask_ap(MSR_GLOBAL_CTRL,
					      MSR_FIXED_CTR0 + NUM_FIXED,
					      &global, &last));
	check("and again", ask_ap(MSR_GLOBAL_CTRL, MSR_FIXED_CTR0 + NUM_FIXED,
				  &global, &last));
	check_eq("a big core: fixed counter 3 keeps what is written", last,
		 AP_COUNTER);
}

/*
 * The second CPU is the last one. It has no counter 3, or only 32-bit writes.
 */
void test_lesser(void)
{
	u32 global, unused;

	check("a lesser CPU: it starts", ask_ap(MSR_GLOBAL_CTRL, MSR_FIXED_CTR0,
						&global, &unused));
	check_eq("a lesser CPU: GLOBAL_CTRL after RESET", global, 0x7);
}

/* A value that is written through one address is read through the other one */
static bool second_addresses(u32 i)
{
	u64 value = 0x123456789aull + i;

	wrmsr(MSR_V6_GP0 + 4 * i, value);
	wrmsr(MSR_EVTSEL0 + i, EVENT_BRANCHES);
	return rdmsr(MSR_FULL_PMC0 + i) == value &&
	       rdmsr(MSR_V6_GP0 + 4 * i + 1) == EVENT_BRANCHES;
}

static u64 count(u32 i)
{
	return count_spin(i, EVENT_INSNS, LOOPS);
}

/* Version 6 with programmable counters that need not be all there */
void test_masks(void)
{
	u32 r[4], wrong = 0, number = 0, mask = want_mask;

	cpuid_count(7, 1, r);
	check_eq("CPUID.07H.1:EAX: leaf 23H is there", r[0] & CPUID_MASKS, CPUID_MASKS);
	cpuid_count(0x23, 0, r);
	check_eq("CPUID.23H.0:EAX: subleaves 0 and 1, 2 with auto counter reload", r[0],
		 want_reload ? 7 : 3);
	check_eq("CPUID.23H.0:EBX: no umask2, no eq", r[1] & 3, 0);
	cpuid_count(0x23, 1, r);
	check_eq("CPUID.23H.1:EAX: programmable counters", r[0], mask);
	check_eq("CPUID.23H.1:EBX: fixed counters", r[1], (1 << NUM_FIXED) - 1);
	for (u32 i = 0; i < NUM_GP; i++)
		number += mask >> i & 1;
	cpuid_count(0xa, 0, r);
	check_eq("CPUID.0AH:EAX: how many there are", r[0] >> 8 & 0xff, number);
	check_eq("GLOBAL_CTRL after RESET", rdmsr(MSR_GLOBAL_CTRL), mask);
	for (u32 i = 0; i < NUM_GP; i++) {
		if (mask >> i & 1) {
			wrong += rdpmc_faults(i) + !second_addresses(i);
			continue;
		}
		wrong += !rdpmc_faults(i) + !wrmsr_faults(MSR_GLOBAL_CTRL, bit(i)) +
			 !absent(MSR_PMC0 + i) + !absent(MSR_EVTSEL0 + i) +
			 !absent(MSR_FULL_PMC0 + i) + !absent(MSR_V6_GP0 + 4 * i) +
			 !absent(MSR_V6_GP0 + 4 * i + 1);
	}
	check_eq("registers are where there is a counter alone", wrong, 0);
	wrmsr(MSR_V6_FIXED0 + 4 * 2, 0x1234);
	check_eq("fixed counter 2 has a second address",
		 rdmsr(MSR_FIXED_CTR0 + 2), 0x1234);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	for (u32 i = 0; i < NUM_GP; i++)
		if (mask >> i & 1)
			check_eq("a counter counts", count(i), SPIN_INSNS(LOOPS));
}
