/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bare-metal test of the emulated PMU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef BARE_H
#define BARE_H

#define MSR_PMC0		0xc1
#define MSR_EVTSEL0		0x186
#define MSR_DEBUGCTL		0x1d9
#define MSR_FIXED_CTR0		0x309
#define MSR_PERF_CAPABILITIES	0x345
#define MSR_FIXED_CTRL		0x38d
#define MSR_GLOBAL_STATUS	0x38e
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390
#define MSR_GLOBAL_STATUS_SET	0x391	/* version 4 */
#define MSR_GLOBAL_INUSE	0x392
#define MSR_FULL_PMC0		0x4c1

/* Version 6: a counter's registers, its value, and others after it */
#define MSR_V6_GP0		0x1900
#define MSR_V6_FIXED0		0x1980
#define MSR_V6_STEP		4
#define V6_CFG_A		1	/* event select; programmable counters alone */
#define V6_CFG_B		2	/* auto counter reload: */
#define V6_CFG_C		3

/* On NetBurst tests of all PMUs take counters 12 to 15, which have most events. */
#define NETBURST_INDEX0		12
#define NETBURST_CTR0		0x30c
#define NETBURST_CCCR0		0x36c
#define NETBURST_PMI		(1u << 26)

#define NUM_GP			4
#define NUM_FIXED		3
#define NUM_P6			2
#define P6_WIDTH		40
#define FIXED			32	/* bit of fixed counter 0 in GLOBAL_* */
#define ALL_COUNTERS		0x70000000full

/* GLOBAL_STATUS in version 4 */
#define CTR_FRZ			(1ull << 59)

/* DEBUGCTL */
#define FREEZE_ON_PMI		(1ull << 12)
#define FREEZE_IN_SMM		(1ull << 14)

#define EVTSEL_USR		(1u << 16)
#define EVTSEL_OS		(1u << 17)
#define EVTSEL_EDGE		(1u << 18)
#define EVTSEL_INT		(1u << 20)
#define EVTSEL_ANY		(1u << 21)
#define EVTSEL_EN		(1u << 22)
#define EVTSEL_INV		(1u << 23)
#define EVTSEL_CMASK1		(1u << 24)
#define EVTSEL_USER_DISABLE	(1ull << 37)	/* version 6: RDPMC at CPL > 0 reads 0 */
#define FIXED_USER_DISABLE	(1ull << 33)
#define CPUID_USER_DISABLE	(1u << 2)	/* 23H.0:EBX */
#define EVENT_CYCLES		0x003c
#define EVENT_REF_CYCLES	0x013c
#define EVENT_INSNS		0x00c0
#define EVENT_BRANCHES		0x00c4
#define COUNT_OS		(EVTSEL_OS | EVTSEL_EN)

#define RDPMC_FIXED		(1u << 30)

#define APIC_LVTPC		0x340
#define APIC_LVT_TIMER		0x320
#define APIC_TIMER_INIT		0x380
#define APIC_TIMER_COUNT	0x390
#define APIC_TIMER_DIVIDE	0x3e0
#define APIC_SPURIOUS		0xf0
#define APIC_EOI		0xb0
#define APIC_IRR		0x200
#define APIC_ICR		0x300
#define APIC_ICR_DESTINATION	0x310
#define ICR_INIT		0x4500
#define ICR_STARTUP		0x4600
#define LVT_NMI			0x400
#define LVT_MASKED		0x10000
#define LVT_PERIODIC		0x20000
#define VECTOR_PMI		0x40
#define VECTOR_TICK		0x41
#define VECTOR_DB		1
#define VECTOR_NMI		2
#define VECTOR_UD		6
#define VECTOR_GP		13
#define VECTOR_USER_DONE	0x80

/* Selectors: CPL 0, and those of rdpmc_at() */
#define KERNEL_CODE		0x08
#define KERNEL_DATA		0x10
#define USER_CODE		0x18
#define USER_DATA		0x20
#define TASK_STATE		0x28
#define KERNEL_CODE_64		0x30
#define CPL_1_CODE		0x38	/* those of visit_1_and_3() */
#define CPL_1_DATA		0x40

/* The second processor: where it starts and reports, what it writes */
#define AP_START		0x8000
#define AP_REPORT		0x9000
#define AP_MSRS			0x9010	/* two registers, */
#define AP_CONTROL		5	/* and what they get */
#define AP_COUNTER		0x1234

/* What start.S executes */
#define SPIN_LOOP_INSNS		4
#define SPIN_INSNS(n)		(SPIN_LOOP_INSNS * (n) + 3)
#define SPIN_STI_INSNS(n)	(SPIN_INSNS(n) + 2)
#define REP_INSNS		6
#define WALK_START		0x800000
#define WALK_STEP		1024	/* the largest line */
#define PMI_TAIL_INSNS		2
#define TICK_INSNS		3
#define USER_INSNS		2	/* of rdpmc_at(), at its CPL */

/* What resume-flag.S executes, and offsets in struct resume */
#define RF_TURNS		5	/* of its loop */
#define RF_PASSES		8	/* of its string instruction */
#define RF_DB_INSNS		6
#define RF_START		0
#define RF_MSR			8
#define RF_HITS			12
#define RF_INTERRUPTS		16
#define RF_HITS_BEFORE		20
#define RF_EIP			24
#define RF_EFLAGS		28
#define RF_EBX			32
#define RF_FAULTS		36
#define RF_BUFFER		40
#define EFLAGS_RF		(1 << 16)

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;

/*
 * The MSR that starts and stops the counters: GLOBAL_CTRL, or without one the
 * event select of the last counter of pmu_setup().
 */
extern volatile u32 switch_msr;

extern void spin(u64 start, u32 n);
extern void spin_sti(u64 start, u32 n);
extern void rep_stos(u64 start, void *p, u32 n);
extern char rep_stos_insn[], rep_stos_done[];
extern void walk(u64 start, u32 n);
extern void walk_block(u64 start, u32 unused);
extern char walk_loaded[], walk_saved[];
extern void access_memory(void *p, u32 n);
extern void branch_a(u32 taken), branch_b(u32 taken);
extern u64 rdpmc_on(u32 stack_and_code, u32 index);
extern void visit_1_and_3(void);
extern char user_done[];
extern u64 gdt[];
extern u32 task_state[];
extern char spin_loop[], spin_stopped[], ap_code[], ap_code_end[];
extern char pmi_nmi[], pmi_vector[], tick[], gp_fault[];
extern volatile u32 ticks, gp_count;

/* What resume-flag.S takes and returns */
extern volatile struct resume {
	u64 start;		/* starts the counter, written to this MSR */
	u32 msr;
	u32 hits;		/* of breakpoints */
	u32 interrupts;		/* and at the last one: */
	u32 hits_before, eip, eflags, ebx;
	u32 faults_set;		/* number of faults that pushed RF */
	unsigned char buffer[RF_PASSES];
} resume;
extern void rf_run_32(void), rf_run_64(void);
extern char rf_breakpoint_32[], rf_interrupt_32[], rf_gp_32[], rf_ud_32[];
extern char rf_breakpoint_64[], rf_interrupt_64[], rf_gp_64[], rf_ud_64[];
extern char rf_in_loop_32[], rf_string_32[], rf_in_loop_64[], rf_string_64[];
extern volatile u64 pmi_restart;

/* Properties that the CPU must have, from the command line */
extern bool want_pmu;
extern u32 want_amd;		/* number of counters; 0: Intel's PMU */
extern u32 want_family;		/* AMD's */
extern u32 want_netburst;	/* model of NetBurst; 0: another PMU */
extern bool want_v2;		/* version 2 of AMD's PMU */
extern u32 want_v2_counters;	/* the number that CPUID tells of with it */
extern u32 want_p6;		/* 0: no property of P6's */
#define P6_PROPER	1	/* P6 without CPUID leaf 0AH */
#define P6_CORE_DUO	2	/* version 1 */
#define P6_CORE_2	3	/* version 2: stepping 4 */
extern u32 want_version;
extern u32 want_width;
extern bool want_full;
extern bool want_pt;
extern u32 want_no_rdpmc;
extern u32 want_mask;		/* programmable counters that are there */
extern bool want_user_disable;	/* counters can be kept from RDPMC at CPL > 0 */
extern bool want_reload;	/* auto counter reload */
extern u32 want_pebs;		/* programmable counters with architectural PEBS */
extern bool want_branches;
extern u32 want_machine;	/* PMU_MACHINE_*, or */
#define NO_MACHINE	99	/* QEMU without the series */

/*
 * With pmu-silicon: what a start and an interrupt may add, and the longest
 * delay of an interrupt
 */
#define START_MORE	2
#define INTERRUPT_MORE	3
#define MOST_LATE	200
extern struct level {		/* a data cache; size 0: there is none */
	u32 size, ways, line;	/* bytes, number, bytes */
} want_l1, want_l2;

/*
 * Starts the second processor by INIT. It reports the low halves of two of its
 * registers, and EBX of its CPUID leaf 23H. Then it writes AP_CONTROL to the first one
 * and AP_COUNTER to the second.
 */
bool ask_ap(u32 control, u32 counter, u32 *control_was, u32 *counter_was);
u32 ap_leaf_23h_ebx(void);

void check(const char *name, bool ok);
void check_eq(const char *name, u64 got, u64 want);
void note(const char *name, u64 val);
void done_testing(void);

void test_registers(void);
void test_machine(void);
void test_silicon(void);
void test_silicon_interrupts(void);
void test_no_rdpmc(void);
void test_no_writes(u32 mask);
void test_amd(void);
void test_amd_v2(void);
void test_p6(void);
void test_p6_cache(void);
void test_no_amd_v2(void);
void test_ack_enabled(void);
void test_erratum_nehalem(void);
void test_netburst(void);
void test_netburst_branches(void);
void test_misc_enable(bool available);
void test_erratum_n15(void);
void test_tsx_force_abort(void);
void test_hybrid(void);
void test_big_core(void);
void test_lesser(void);
void test_masks(void);
void test_user_disable(void);
void test_no_user_disable(bool refused);
void test_lesser_user_disable(void);
void test_reload(void);
void test_silicon_reload(void);
void test_pebs(void);
void test_no_pmu(void);
void test_counting(void);
void test_interrupts(void);
void test_resume_flag(void);
void test_crystal(bool want);
void test_init(void);
void test_cache(void);
void test_cache_interrupts(void);
void evict(void);
void test_branches(void);
void test_version(void);
void test_pt(void);
void test_no_pt(void);

static inline u64 ctr_mask(void)
{
	return (1ull << want_width) - 1;
}

/* Tests of what P6 has do not use the global registers that Core 2 has, too. */
static inline bool has_global(void)
{
	return !want_amd && !want_p6 && !want_netburst && want_version >= 2;
}

static inline u32 num_fixed(void)
{
	return has_global() ? NUM_FIXED : 0;
}

/* AnyThread came with version 3 and went with version 5 */
static inline bool has_any(void)
{
	return want_version == 3 || want_version == 4;
}

/* Returns bits of a control register, if these exist to keep counters from RDPMC */
static inline u64 user_disable_bits(u64 bits)
{
	return want_user_disable ? bits : 0;
}

static inline u64 rdmsr(u32 msr)
{
	u64 val;

	asm volatile("rdmsr" : "=A"(val) : "c"(msr));
	return val;
}

static inline void wrmsr(u32 msr, u64 val)
{
	asm volatile("wrmsr" : : "c"(msr), "A"(val) : "memory");
}

static inline u64 rdpmc(u32 index)
{
	u64 val;

	asm volatile("rdpmc" : "=A"(val) : "c"(index));
	return val;
}

static inline bool rdmsr_faults(u32 msr)
{
	u32 before = gp_count;

	rdmsr(msr);
	return gp_count != before;
}

static inline bool wrmsr_faults(u32 msr, u64 val)
{
	u32 before = gp_count;

	wrmsr(msr, val);
	return gp_count != before;
}

static inline bool rdpmc_faults(u32 index)
{
	u32 before = gp_count;

	rdpmc(index);
	return gp_count != before;
}

static inline void cpuid_count(u32 leaf, u32 subleaf, u32 r[4])
{
	asm volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
		     : "a"(leaf), "c"(subleaf));
}

static inline void cpuid(u32 leaf, u32 r[4])
{
	cpuid_count(leaf, 0, r);
}

static inline u32 apic_read(u32 reg)
{
	return *(volatile u32 *)(0xfee00000 + reg);
}

static inline void apic_write(u32 reg, u32 val)
{
	*(volatile u32 *)(0xfee00000 + reg) = val;
}

static inline u64 bit(u32 ctr)
{
	return 1ull << ctr;
}

static inline u64 counters_there(void)
{
	return (ALL_COUNTERS & ~((1ull << NUM_GP) - 1)) | want_mask;
}

/* Is the counter with this bit in GLOBAL_CTRL there? */
static inline bool is_there(u32 ctr)
{
	return ctr < FIXED ? want_mask & bit(ctr) : ctr - FIXED < num_fixed();
}

/* Returns a register of version 6 of this counter: 0, its value, or V6_* */
static inline u32 v6_msr(u32 ctr, u32 which)
{
	u32 first = ctr < FIXED ? MSR_V6_GP0 : MSR_V6_FIXED0;

	return first + MSR_V6_STEP * (ctr % FIXED) + which;
}

/*
 * Returns the MSR of the counter with this bit in GLOBAL_CTRL. P6 has two: tests that use
 * counters 2 and 3 take 0 and 1 there.
 */
static inline u32 ctr_msr(u32 ctr)
{
	if (want_p6)
		return MSR_PMC0 + ctr % NUM_P6;
	if (want_amd)
		return want_amd > 4 ? 0xc0010201 + 2 * ctr : 0xc0010004 + ctr;
	if (want_netburst)
		return NETBURST_CTR0 + ctr;
	return ctr < FIXED ? MSR_PMC0 + ctr : MSR_FIXED_CTR0 + ctr - FIXED;
}

static inline u32 evtsel_msr(u32 ctr)
{
	if (want_p6)
		return MSR_EVTSEL0 + ctr % NUM_P6;
	if (want_amd)
		return want_amd > 4 ? 0xc0010200 + 2 * ctr : 0xc0010000 + ctr;
	if (want_netburst)
		return NETBURST_CCCR0 + ctr;
	return MSR_EVTSEL0 + ctr;
}

/* Returns the index of RDPMC of this counter */
static inline u32 rdpmc_index(u32 ctr)
{
	if (want_netburst)
		return NETBURST_INDEX0 + ctr;
	return ctr < FIXED ? ctr : RDPMC_FIXED + ctr - FIXED;
}

/* Stops and clears everything, without interrupts */
void pmu_clear(void);

/*
 * Makes a counter count event, by Intel's name, in OS mode from value. It
 * starts when the returned value is written to switch_msr.
 */
u64 pmu_setup(u32 ctr, u32 event, u64 value, bool pmi);

/* The same two on NetBurst. pmu_clear() and pmu_setup() call them. */
void netburst_clear(void);
u64 netburst_setup(u32 ctr, u32 event, u64 value, bool pmi);

/* Allows RDPMC at CPL 1 to 3 */
void set_pce(bool on);

/* RDPMC at CPL 1 to 3 */
u64 rdpmc_at(u32 cpl, u32 index);

/* Returns what a loop counts */
u64 count_spin(u32 ctr, u32 event, u32 loops);

/*
 * Tests every bit of a control register. A bit faults or is kept, and changes
 * nothing else.
 */
void test_control_bits(const char *name, u32 msr, u64 valid, bool keeps);

#endif /* __ASSEMBLER__ */
#endif
