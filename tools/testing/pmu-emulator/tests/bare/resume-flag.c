// SPDX-License-Identifier: GPL-2.0
/*
 * RF in the EFLAGS that an interrupt pushes, in protected mode and in 64-bit mode.
 *
 * Two instructions have an execution breakpoint: one in a loop, and a string
 * instruction after the loop. The handler of #DB sets RF in the image, so that its
 * instruction executes. A counter interrupts the code once, after each number of
 * cycles. An interrupt between two instructions pushes RF as it is. It must not set RF,
 * because IRET would take that over, and the breakpoint of the next instruction would
 * not hit.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-trigger.h"

#define CPUID_LONG_MODE	(1u << 29)	/* 80000001H:EDX */
#define LOOP_INSNS	4
#define TURN_CYCLES	(LOOP_INSNS + RF_DB_INSNS)
/* until the string instruction has done its last pass, and two more */
#define CYCLES		(RF_TURNS * TURN_CYCLES + 1 + RF_DB_INSNS + RF_PASSES + 2)
#define HITS		(RF_TURNS + 1)	/* executions of the two instructions */

#define GATE_INTERRUPT	0x8e00
#define GATE_TRAP	0x8f00		/* leaves interrupts on */
#define PAGE_PRESENT	0x3		/* and can be written */
#define PAGE_LARGE	0x80
#define DR7_L0		0x1
#define DR7_L1		0x4

struct idtr {
	uint16_t limit;
	u32 base;
} __attribute__((packed));

struct mode {
	bool wide;		/* 64-bit mode */
	void (*run)(void);
	char *breakpoint, *interrupt, *gp, *ud, *in_loop, *string;
};

static const struct mode protected_mode = {
	false, rf_run_32, rf_breakpoint_32, rf_interrupt_32, rf_gp_32, rf_ud_32,
	rf_in_loop_32, rf_string_32
}, long_mode = {
	true, rf_run_64, rf_breakpoint_64, rf_interrupt_64, rf_gp_64, rf_ud_64,
	rf_in_loop_64, rf_string_64
};

volatile struct resume resume;
u64 rf_page_tables[6][512] __attribute__((aligned(4096)));

/* Maps 4 GiB to themselves, in pages of 2 MiB */
static void set_up_pages(void)
{
	rf_page_tables[0][0] = (u32)rf_page_tables[1] | PAGE_PRESENT;
	for (u32 i = 0; i < 4; i++)
		rf_page_tables[1][i] = (u32)rf_page_tables[2 + i] | PAGE_PRESENT;
	for (u32 i = 0; i < 4 * 512; i++)
		rf_page_tables[2 + i / 512][i % 512] = (u64)i << 21 | PAGE_LARGE | PAGE_PRESENT;
}

static void set_gate(const struct mode *mode, u32 *idt, u32 vector, u32 type, char *handler)
{
	u32 *gate = idt + vector * (mode->wide ? 4 : 2);
	u32 selector = mode->wide ? KERNEL_CODE_64 : KERNEL_CODE;

	gate[0] = ((u32)handler & 0xffff) | selector << 16;
	gate[1] = ((u32)handler & 0xffff0000) | type;
}

static void load_idt(const struct mode *mode)
{
	static u32 idt[(VECTOR_PMI + 1) * 4];
	struct idtr idtr = { sizeof(idt) - 1, (u32)idt };

	for (u32 i = 0; i < sizeof(idt) / sizeof(*idt); i++)
		idt[i] = 0;
	set_gate(mode, idt, VECTOR_DB, GATE_TRAP, mode->breakpoint);
	set_gate(mode, idt, VECTOR_NMI, GATE_INTERRUPT, mode->interrupt);
	set_gate(mode, idt, VECTOR_UD, GATE_INTERRUPT, mode->ud);
	set_gate(mode, idt, VECTOR_GP, GATE_INTERRUPT, mode->gp);
	set_gate(mode, idt, VECTOR_PMI, GATE_INTERRUPT, mode->interrupt);
	asm volatile("lidt %0" : : "m"(idtr));
}

static void set_breakpoints(const struct mode *mode)
{
	asm volatile("mov %0, %%db0" : : "r"(mode->in_loop));
	asm volatile("mov %0, %%db1" : : "r"(mode->string));
	asm volatile("mov %0, %%db7" : : "r"(DR7_L0 | DR7_L1));
}

static void clear_breakpoints(void)
{
	asm volatile("mov %0, %%db7" : : "r"(0));
}

/* Has the breakpoint of the interrupted instruction hit for this execution of it? */
static bool has_hit(void)
{
	return resume.hits_before > RF_TURNS - resume.ebx;
}

/* Runs the code. The counter overflows after so many cycles, with 0 never. */
static void run(const struct mode *mode, u32 lvtpc, u64 period)
{
	pmu_clear();
	resume = (struct resume){ .start = pmu_setup(0, EVENT_CYCLES, -period, true) };
	resume.msr = switch_msr;
	apic_write(APIC_LVTPC, lvtpc);
	mode->run();
}

static void test_mode(const struct mode *mode, u32 lvtpc, const char *hits_name,
		      const char *flag_name, const char *places_name)
{
	u32 wrong_hits = 0, wrong_flag = 0, before = 0, after = 0, set = 0;

	load_idt(mode);
	set_breakpoints(mode);
	for (u32 period = 1; period <= CYCLES; period++) {
		bool there;

		run(mode, lvtpc, period);
		there = resume.eip == (u32)mode->in_loop || resume.eip == (u32)mode->string;
		wrong_hits += resume.interrupts != 1 || resume.hits != HITS;
		wrong_flag += !!(resume.eflags & EFLAGS_RF) != (there && has_hit());
		before += there && !has_hit();
		after += there && has_hit();
		set += resume.faults_set;
	}
	clear_breakpoints();
	check_eq(hits_name, wrong_hits, 0);
	check_eq(flag_name, wrong_flag, 0);
	/* A string instruction can be interrupted after each pass, too. */
	check_eq(places_name, (u64)before << 32 | after,
		 (u64)HITS << 32 | (HITS + RF_PASSES));
	check_eq("RF: #UD and #GP set it", set, 2 * CYCLES);
}

/*
 * The same with a trigger's interrupt, right before the instruction in the loop. The
 * trigger counts the instruction twice in each turn: before its breakpoint hits, and
 * before it executes.
 */
static void test_trigger(const struct mode *mode, const char *name)
{
	u32 wrong = pmu_trigger_range(0, (u32)mode->in_loop, (u32)mode->in_loop + 1);

	load_idt(mode);
	set_breakpoints(mode);
	for (u32 n = 0; n < 2 * RF_TURNS; n++) {
		wrong += pmu_trigger_arm(0, n, PMU_TRIGGER_INTERRUPT | VECTOR_PMI << 8);
		run(mode, LVT_MASKED, 0);
		wrong += resume.interrupts != 1 || resume.hits != HITS;
		wrong += resume.eip != (u32)mode->in_loop;
		wrong += resume.ebx != RF_TURNS - n / 2 || has_hit() != n % 2;
		wrong += !!(resume.eflags & EFLAGS_RF) != has_hit();
	}
	clear_breakpoints();
	check_eq(name, wrong, 0);
}

/* A processor without this leaf returns another one instead. */
static bool has_long_mode(void)
{
	u32 r[4];

	cpuid(0x80000000, r);
	if (r[0] < 0x80000001)
		return false;
	cpuid(0x80000001, r);
	return r[3] & CPUID_LONG_MODE;
}

void test_resume_flag(void)
{
	bool narrow = want_amd ? want_family == 6 : want_p6 && want_p6 != P6_CORE_2;
	struct idtr idtr;

	asm volatile("sidt %0" : "=m"(idtr));
	test_mode(&protected_mode, VECTOR_PMI,
		  "RF: vector: each breakpoint hits once at each execution",
		  "RF: vector: the image has it as it was",
		  "RF: vector: before and after each breakpoint");
	test_mode(&protected_mode, LVT_NMI,
		  "RF: NMI: each breakpoint hits once at each execution",
		  "RF: NMI: the image has it as it was",
		  "RF: NMI: before and after each breakpoint");
	if (want_machine & PMU_MACHINE_EXACT)
		test_trigger(&protected_mode,
			     "RF: trigger: each breakpoint hits once at each execution");
	check_eq("CPUID.80000001H:EDX: long mode, except Athlon's and P6's",
		 has_long_mode(), !narrow);
	if (has_long_mode()) {
		set_up_pages();
		test_mode(&long_mode, VECTOR_PMI,
			  "RF: vector, 64 bits: each breakpoint hits once at each execution",
			  "RF: vector, 64 bits: the image has it as it was",
			  "RF: vector, 64 bits: before and after each breakpoint");
		test_mode(&long_mode, LVT_NMI,
			  "RF: NMI, 64 bits: each breakpoint hits once at each execution",
			  "RF: NMI, 64 bits: the image has it as it was",
			  "RF: NMI, 64 bits: before and after each breakpoint");
		if (want_machine & PMU_MACHINE_EXACT)
			test_trigger(&long_mode,
				     "RF: trigger, 64 bits: each breakpoint hits once at each execution");
	}
	asm volatile("lidt %0" : : "m"(idtr));
	pmu_clear();
}
