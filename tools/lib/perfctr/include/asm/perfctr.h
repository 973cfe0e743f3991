/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * perfctr's interface: the part that depends on the processor, here x86.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Names, fields and numbers are those of perfctr 2.6, ABI 5.2/5.1, so source
 * that was written for it compiles and runs on vpmc. libperfctr(7) describes
 * the differences. struct perfctr_cpu_state, the layout of perfctr's page, is
 * missing. A program that reads the page itself does not compile.
 */
#ifndef LIBPERFCTR_ASM_PERFCTR_H
#define LIBPERFCTR_ASM_PERFCTR_H

/* Version of this file's part of the interface. */
#define PERFCTR_CPU_VERSION		0x0501

/* Maximum number of counters in a set. */
#define PERFCTR_X86_MAX_COUNTERS	18

/* struct perfctr_info.cpu_type */
#define PERFCTR_X86_GENERIC		0	/* only run time */
#define PERFCTR_X86_INTEL_P5		1
#define PERFCTR_X86_INTEL_P5MMX		2
#define PERFCTR_X86_INTEL_P6		3
#define PERFCTR_X86_INTEL_PII		4
#define PERFCTR_X86_INTEL_PIII		5
#define PERFCTR_X86_CYRIX_MII		6
#define PERFCTR_X86_WINCHIP_C6		7
#define PERFCTR_X86_WINCHIP_2		8
#define PERFCTR_X86_AMD_K7		9
#define PERFCTR_X86_VIA_C3		10
#define PERFCTR_X86_INTEL_P4		11
#define PERFCTR_X86_INTEL_P4M2		12
#define PERFCTR_X86_AMD_K8		13
#define PERFCTR_X86_INTEL_PENTM		14
#define PERFCTR_X86_AMD_K8C		15
#define PERFCTR_X86_INTEL_P4M3		16
#define PERFCTR_X86_INTEL_CORE		17
#define PERFCTR_X86_INTEL_CORE2		18
#define PERFCTR_X86_AMD_FAM10H		19	/* and later AMD families */
#define PERFCTR_X86_INTEL_ATOM		20	/* and all later Intel processors */
#define PERFCTR_X86_INTEL_NHLM		21
#define PERFCTR_X86_INTEL_WSTMR		22

/* Other names that programs use. */
#define PERFCTR_X86_AMD_FAM10		PERFCTR_X86_AMD_FAM10H
#define PERFCTR_X86_INTEL_COREI7	PERFCTR_X86_INTEL_NHLM

/**
 * struct perfctr_sum_ctrs - What a set has counted
 * @tsc:	Run time in TSC ticks.
 * @pmc:	The counts, a-mode counters first.
 */
struct perfctr_sum_ctrs {
	unsigned long long tsc;
	unsigned long long pmc[PERFCTR_X86_MAX_COUNTERS];
};

/**
 * struct perfctr_cpu_control - What a set counts
 * @tsc_on:	Count run time.
 * @nractrs:	Number of counters that only count (a-mode). They come first.
 * @nrictrs:	Number of counters that interrupt (i-mode).
 * @pmc_map:	RDPMC index of the counter to use.
 * @evntsel:	Event select in the processor's format, on a Pentium 4 the CCCR. EN must
 *		be set. INT (OVF_PMI_T0) must be set for i-mode counters, and only for
 *		these.
 * @p4:		More registers of the Pentium 4: the ESCRs, one for each counter; those of
 *		PEBS must be zero.
 * @evntsel_high: Bits 32-63 of an event select, on AMD processors.
 * @nhlm:	Nehalem's off-core registers; must be zero.
 * @ireset:	Negative: the number of events until an i-mode counter interrupts.
 */
struct perfctr_cpu_control {
	unsigned int tsc_on;
	unsigned int nractrs;
	unsigned int nrictrs;
	unsigned int pmc_map[PERFCTR_X86_MAX_COUNTERS];
	unsigned int evntsel[PERFCTR_X86_MAX_COUNTERS];
	union {
		struct {
			unsigned int escr[PERFCTR_X86_MAX_COUNTERS];
			unsigned int pebs_enable;
			unsigned int pebs_matrix_vert;
		} p4;
		unsigned int evntsel_high[PERFCTR_X86_MAX_COUNTERS];
		struct {
			unsigned int _padding[PERFCTR_X86_MAX_COUNTERS];
			unsigned int offcore_rsp[2];
		} nhlm;
	};
	int ireset[PERFCTR_X86_MAX_COUNTERS];
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

/*
 * These are in the siginfo_t of an overflow's signal. si_code is SI_PMC_OVF,
 * which is POLL_MSG. si_pmc_ovf_mask has the counters that overflowed.
 */
#define SI_PMC_OVF		3
#define si_pmc_ovf_mask		si_fd

#endif /* LIBPERFCTR_ASM_PERFCTR_H */
