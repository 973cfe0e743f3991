// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of Intel PT, and their rules.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define MSR_OUTPUT_BASE	0x560
#define MSR_OUTPUT_MASK	0x561
#define MSR_CTL		0x570
#define MSR_STATUS	0x571

#define CTL_TRACE_EN	(1 << 0)
#define CTL_OS		(1 << 2)
#define CTL_TOPA	(1 << 8)
#define CTL_VALID	0x2d0c		/* all but TraceEn */
#define STATUS_TRIGGER	(1 << 2)
#define STATUS_STOPPED	(1 << 5)
#define MASK_ONES	0x7f
#define TABLE		0x100000

#define CPUID_PT	(1u << 25)	/* CPUID.7.EBX */
#define CPUID_TOPA	3		/* output to tables of several entries */

/* While tracing, only the bit that ends it can be changed */
static void test_tracing(void)
{
	wrmsr(MSR_CTL, CTL_TOPA | CTL_OS | CTL_TRACE_EN);
	check_eq("PT: it traces", rdmsr(MSR_STATUS), STATUS_TRIGGER);
	check("PT: its table stays", wrmsr_faults(MSR_OUTPUT_BASE, 0));
	check("PT: the place in it stays", wrmsr_faults(MSR_OUTPUT_MASK, 0));
	check("PT: its status stays", wrmsr_faults(MSR_STATUS, 0));
	check("PT: what it traces stays",
	      wrmsr_faults(MSR_CTL, CTL_TOPA | CTL_TRACE_EN));
	check_eq("PT: so it does", rdmsr(MSR_CTL),
		 CTL_TOPA | CTL_OS | CTL_TRACE_EN);
	check("PT: the end", !wrmsr_faults(MSR_CTL, CTL_TOPA | CTL_OS));
	check_eq("PT: it has ended", rdmsr(MSR_STATUS), 0);
	check_eq("PT: and written nothing", rdmsr(MSR_OUTPUT_MASK), MASK_ONES);
}

void test_pt(void)
{
	u32 r[4];

	cpuid(7, r);
	check("PT: CPUID says so", r[1] & CPUID_PT);
	cpuid(0x14, r);
	check_eq("PT: tables of several entries, nothing else",
		 r[0] | r[1] | r[3] | (u64)r[2] << 32, (u64)CPUID_TOPA << 32);
	check_eq("PT: stands after RESET", rdmsr(MSR_CTL), 0);
	check_eq("PT: the mask's ones", rdmsr(MSR_OUTPUT_MASK), MASK_ONES);
	test_control_bits("PT: control bits", MSR_CTL, CTL_VALID, true);
	wrmsr(MSR_CTL, 0);
	check("PT: not without a table", wrmsr_faults(MSR_CTL, CTL_TRACE_EN));
	check("PT: reserved status", wrmsr_faults(MSR_STATUS, 1 << 6));
	wrmsr(MSR_STATUS, STATUS_STOPPED | STATUS_TRIGGER);
	check_eq("PT: status is kept", rdmsr(MSR_STATUS), STATUS_STOPPED);
	wrmsr(MSR_STATUS, 0);
	check("PT: a table that is not aligned to 128 bytes",
	      wrmsr_faults(MSR_OUTPUT_BASE, TABLE + 0x40));
	check("PT: a table beyond physical memory",
	      wrmsr_faults(MSR_OUTPUT_BASE, 1ull << 52));
	wrmsr(MSR_OUTPUT_BASE, TABLE + 0x80);
	check("PT: a table that is not aligned to a page",
	      wrmsr_faults(MSR_CTL, CTL_TOPA | CTL_TRACE_EN));
	wrmsr(MSR_OUTPUT_BASE, TABLE);
	check_eq("PT: the table's address is kept", rdmsr(MSR_OUTPUT_BASE), TABLE);
	test_tracing();
}

void test_no_pt(void)
{
	u32 r[4];

	cpuid(7, r);
	check("no PT: CPUID says so", !(r[1] & CPUID_PT));
	check("no PT: no registers", !wrmsr_faults(MSR_CTL, CTL_OS) &&
				     rdmsr(MSR_CTL) == 0);
}
