// SPDX-License-Identifier: GPL-2.0
/*
 * CPUID leaf 15H: the frequency of the TSC and of the APIC timer.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define LEAF		0x15
#define LEAF_XSAVE	0xd		/* models without it do not have LEAF */
#define HZ		1000000000u
#define VENDOR_INTEL	0x756e6547	/* "Genu", EBX of leaf 0 */
#define DIVIDE_BY_1	0xb
#define LOOPS		100000
#define READS		100		/* instructions between two reads, at most */

static u64 rdtsc(void)
{
	u64 tsc;

	asm volatile("rdtsc" : "=A"(tsc));
	return tsc;
}

/* One tick of the APIC timer is one of the TSC */
static void test_timer(void)
{
	u64 ticks, count;

	apic_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
	apic_write(APIC_LVT_TIMER, LVT_MASKED);
	apic_write(APIC_TIMER_INIT, ~0u);
	ticks = rdtsc();
	count = apic_read(APIC_TIMER_COUNT);
	for (volatile u32 i = 0; i < LOOPS; i++)
		;
	ticks = rdtsc() - ticks;
	count -= apic_read(APIC_TIMER_COUNT);
	apic_write(APIC_TIMER_INIT, 0);
	check("crystal: the TSC has ticked", ticks > LOOPS);
	check("crystal: the APIC timer has ticked as often",
	      count + READS > ticks && ticks + READS > count);
}

void test_crystal(bool want)
{
	u32 r[4];

	cpuid(0, r);
	if (r[1] != VENDOR_INTEL || r[0] < LEAF_XSAVE)
		want = false;
	if (r[0] < LEAF) {
		check("crystal: not in CPUID", !want);
		return;
	}
	cpuid(LEAF, r);
	check_eq("crystal: two equal frequencies", r[0] | (u64)r[1] << 32,
		 want ? 1 | 1ull << 32 : 0);
	check_eq("crystal: 1 GHz", r[2] | (u64)r[3] << 32, want ? HZ : 0);
	/* Without icount time passes between two reads, too. */
	if (want && !(want_machine & PMU_MACHINE_PARALLEL))
		test_timer();
}
