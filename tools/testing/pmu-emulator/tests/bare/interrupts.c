// SPDX-License-Identifier: GPL-2.0
/*
 * The performance monitoring interrupt: where it comes, when it is lost, when
 * it waits, and what it freezes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-trigger.h"

#define LOOPS	100000

struct frame {		/* pusha, and what the interrupt pushed */
	u32 edi, esi, ebp, esp, ebx, edx, ecx, eax;
	u32 eip, cs, eflags;
};

static struct {		/* state at the last interrupt */
	u32 count, vector, eip, eflags, ebx, ecx, lvtpc;
	u64 control, status;
} volatile pmi;

/* What an interrupt must do: write -period to counter ctr and start again */
static struct {
	bool again;
	u32 ctr, period;
	u64 start;
} rearm;

volatile u64 pmi_restart;

void pmi_handler(u32 vector, const struct frame *f)
{
	pmi.control = rdmsr(switch_msr);
	wrmsr(switch_msr, 0);
	pmi.count++;
	pmi.vector = vector;
	pmi.eip = f->eip;
	pmi.eflags = f->eflags;
	pmi.ebx = f->ebx;
	pmi.ecx = f->ecx;
	pmi.lvtpc = apic_read(APIC_LVTPC);
	pmi.status = has_global() ? rdmsr(MSR_GLOBAL_STATUS) : 0;
	pmi_restart = 0;
	if (rearm.again) {
		if (has_global())
			wrmsr(MSR_GLOBAL_OVF_CTRL, pmi.status);
		wrmsr(ctr_msr(rearm.ctr), (u64)-(u64)rearm.period & ctr_mask());
		apic_write(APIC_LVTPC, pmi.lvtpc & ~LVT_MASKED);
		pmi_restart = rearm.start;
	}
	if (vector != VECTOR_NMI)
		apic_write(APIC_EOI, 0);
}

static void sti(void)
{
	asm volatile("sti; nop" : : : "memory");
}

static void cli(void)
{
	asm volatile("cli" : : : "memory");
}

/* Returns the value that starts the counter */
static u64 set_up(u32 lvtpc, u32 ctr, u32 event, u32 period)
{
	u64 start;

	pmu_clear();
	pmi.count = 0;
	rearm.again = false;
	start = pmu_setup(ctr, event, -(u64)period, true);
	apic_write(APIC_LVTPC, lvtpc);
	return start;
}

/* The same, and the interrupt sets the counter up again */
static u64 set_up_again(u32 lvtpc, u32 ctr, u32 period)
{
	rearm.start = set_up(lvtpc, ctr, EVENT_INSNS, period);
	rearm.ctr = ctr;
	rearm.period = period;
	rearm.again = true;
	return rearm.start;
}

/* The interrupt masks LVTPC on Intel's processors */
static u32 masked_by_pmi(void)
{
	return want_amd ? 0 : LVT_MASKED;
}

/* Returns true if the last interrupt came after n instructions of the loop. */
static bool hit_after(u32 n)
{
	/* all instructions of the loop but the last have one byte */
	return pmi.count == 1 &&
	       pmi.eip == (u32)spin_loop + n % SPIN_LOOP_INSNS &&
	       pmi.ebx == LOOPS - (n + 1) / SPIN_LOOP_INSNS;
}

/* It always comes between the instruction that overflows and the next one */
static void test_position(const char *name, u32 lvtpc, u32 ctr, u32 event)
{
	u32 vector = lvtpc == LVT_NMI ? VECTOR_NMI : VECTOR_PMI;
	bool branches = event == EVENT_BRANCHES;
	u32 wrong = 0;

	for (u32 period = 1; period < 2000; period += period < 20 ? 1 : 331) {
		u32 insns = branches ? period * SPIN_LOOP_INSNS : period;
		u64 start = set_up(lvtpc, ctr, event, period);

		sti();
		spin(start, LOOPS);
		cli();
		wrong += pmi.vector != vector;
		wrong += pmi.status != (has_global() ? bit(ctr) : 0);
		wrong += pmi.lvtpc != (lvtpc | masked_by_pmi());
		wrong += !hit_after(insns);
	}
	check_eq(name, wrong, 0);
}

/*
 * Each pass of REP is a cycle.  An interrupt can come between two passes.  ECX
 * then has the number of those that are left.
 */
static void test_position_in_rep(void)
{
	static unsigned char buf[64];
	const u32 n = sizeof(buf);
	u32 wrong = 0, wrong_flag = 0, bytes = 0;

	for (u32 period = 1; period <= n + 2; period++) {
		u64 start = set_up(VECTOR_PMI, 0, EVENT_CYCLES, period);
		u32 passes = period - 1 < n ? period - 1 : n;
		char *eip = period <= n + 1 ? rep_stos_insn : rep_stos_done;

		for (u32 i = 0; i < n; i++)
			buf[i] = ~start;
		sti();
		rep_stos(start, buf, n);
		cli();
		wrong += pmi.count != 1;
		wrong += pmi.eip != (u32)eip;
		wrong += pmi.ecx != n - passes;
		wrong_flag += !!(pmi.eflags & EFLAGS_RF) != (passes && eip == rep_stos_insn);
		for (u32 i = 0; i < n; i++)
			bytes += buf[i] == (unsigned char)start;
	}
	check_eq("position: within REP", wrong, 0);
	check_eq("position: after each pass of REP, RF is pushed set", wrong_flag, 0);
	check_eq("REP goes on after an interrupt", bytes, n * (n + 2));
}

static void test_masked(void)
{
	set_up(VECTOR_PMI | LVT_MASKED, FIXED, 0, 1000);
	sti();
	spin(bit(FIXED), LOOPS);
	check_eq("LVTPC masked: no interrupt", pmi.count, 0);
	check_eq("LVTPC masked: status is latched", rdmsr(MSR_GLOBAL_STATUS),
		 bit(FIXED));
	apic_write(APIC_LVTPC, VECTOR_PMI);
	spin(bit(FIXED), LOOPS);
	cli();
	check_eq("LVTPC unmasked: the interrupt is lost", pmi.count, 0);

	set_up(VECTOR_PMI, 0, EVENT_INSNS, 1000);
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | COUNT_OS);
	sti();
	spin(bit(0), LOOPS);
	cli();
	check_eq("INT not set: no interrupt", pmi.count, 0);
	check_eq("INT not set: status is latched", rdmsr(MSR_GLOBAL_STATUS), bit(0));
}

static void test_interrupts_off(void)
{
	u32 irr = APIC_IRR + VECTOR_PMI / 32 * 0x10;
	u32 irr_bit = 1u << VECTOR_PMI % 32;

	spin(set_up(VECTOR_PMI, 2, EVENT_INSNS, 1000), LOOPS);
	check_eq("interrupts off: no interrupt", pmi.count, 0);
	check("interrupts off: it waits in IRR", apic_read(irr) & irr_bit);
	check_eq("interrupts off: LVTPC is masked, if not AMD's",
		 apic_read(APIC_LVTPC) & LVT_MASKED, masked_by_pmi());
	sti();
	cli();
	check_eq("interrupts on: now it comes", pmi.count, 1);
	check_eq("interrupts on: status is still there", pmi.status,
		 has_global() ? bit(2) : 0);
	check("interrupts on: IRR is clear", !(apic_read(irr) & irr_bit));
}

static void test_not_asked_for(void)
{
	u64 start = set_up(VECTOR_PMI, 0, EVENT_INSNS, 1000) &
		    ~(u64)(want_netburst ? NETBURST_PMI : EVTSEL_INT);

	sti();
	spin(start, LOOPS);
	cli();
	check_eq("INT not set: no interrupt", pmi.count, 0);
	check_eq("INT not set: it has overflowed", rdpmc(rdpmc_index(0)), SPIN_INSNS(LOOPS) - 1000);
}

static void test_status_set(void)
{
	set_up(VECTOR_PMI, 3, EVENT_INSNS, 1000);
	sti();
	spin(bit(3), LOOPS);
	wrmsr(MSR_PMC0 + 3, -1000);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	check_eq("status bit left set", rdmsr(MSR_GLOBAL_STATUS), bit(3));
	spin(bit(3), LOOPS);
	cli();
	check_eq("it interrupts again nevertheless", pmi.count, 2);
}

/* The counter overflows by the same WRMSR that stops it */
static void test_stopped(void)
{
	u32 ctr = has_global() ? FIXED + 2 : 3;
	u32 event = has_global() ? 0 : EVENT_INSNS;
	u64 start = set_up(VECTOR_PMI, 1, PMU_TEST_EVTSEL(PMU_TEST_WRMSR), 1);

	sti();
	spin(start, 1);
	cli();
	check_eq("stopped by what overflows it: interrupt", pmi.count, 1);
	check_eq("stopped by what overflows it: right after that", pmi.eip,
		 (u32)spin_stopped);

	start = set_up(VECTOR_PMI, ctr, event, SPIN_INSNS(LOOPS));
	sti();
	spin(start, LOOPS);
	cli();
	check_eq("the last instruction overflows: right after it", pmi.eip,
		 (u32)spin_stopped);
	start = set_up(VECTOR_PMI, ctr, event, SPIN_INSNS(LOOPS) + 1);
	sti();
	spin(start, LOOPS);
	cli();
	check_eq("one instruction short: no interrupt", pmi.count, 0);
}

/*
 * Returns the number of interrupts in counted insns, if PMI_TAIL_INSNS follow
 * each
 */
static u32 expected_pmis(u32 insns, u32 period)
{
	return 1 + (insns - period) / (period - PMI_TAIL_INSNS);
}

static void test_rearm(const char *name, u32 lvtpc, u32 ctr, u32 period)
{
	u64 start = set_up_again(lvtpc, ctr, period);

	sti();
	spin(start, LOOPS);
	cli();
	check_eq(name, pmi.count, expected_pmis(SPIN_INSNS(LOOPS), period));
}

/*
 * Timer interrupts make the emulator leave its loop at other places than
 * overflows. They must neither cause an overflow interrupt nor move one.
 */
static void test_with_timer(u32 period, u32 timer)
{
	u32 total = PMU_TEST_MSR(PMU_TEST_INTERRUPTS);
	u64 start = set_up_again(LVT_NMI, 0, period);
	u64 before;
	u32 insns;

	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR_TICK | LVT_PERIODIC);
	apic_write(APIC_TIMER_INIT, timer);
	ticks = 0;
	before = rdmsr(total);
	spin_sti(start, LOOPS);
	insns = SPIN_STI_INSNS(LOOPS) + TICK_INSNS * ticks;
	/* where instructions advance the time */
	if (want_machine & PMU_MACHINE_EXACT)
		check("with a timer: it has ticked",
		      ticks >= SPIN_STI_INSNS(LOOPS) / timer);
	check_eq("with a timer: interrupts", pmi.count, expected_pmis(insns, period));
	check_eq("with a timer: total of interrupts", rdmsr(total) - before,
		 pmi.count + ticks);
	apic_write(APIC_LVT_TIMER, LVT_MASKED);
	apic_write(APIC_TIMER_INIT, 0);
	sti();
	cli();
}

/* A trigger's interrupt comes before the chosen instruction */
static void test_trigger(void)
{
	u32 action = PMU_TRIGGER_INTERRUPT | VECTOR_PMI << 8;
	u32 wrong = 0;

	for (u32 n = 0; n < 50; n++) {
		u64 start = set_up(LVT_MASKED, 0, EVENT_INSNS, -1);

		wrong += pmu_trigger_arm(0, n, action);
		sti();
		spin(start, LOOPS);
		cli();
		wrong += !hit_after(n);
	}
	check_eq("trigger: interrupts hit where they shall", wrong, 0);
}

/* A PMI that is held back also comes there, and not before it is due */
static void test_trigger_pmi(void)
{
	u32 period = 10, wrong = 0;

	for (u32 n = 0; n < 50; n++) {
		u64 start = set_up(VECTOR_PMI, 0, EVENT_INSNS, period);

		wrong += pmu_trigger_arm(0, n, PMU_TRIGGER_PMI);
		sti();
		spin(start, LOOPS);
		cli();
		wrong += !hit_after(n < period ? period : n);
	}
	check_eq("trigger: held PMIs hit where they shall", wrong, 0);

	wrong = pmu_trigger_arm(0, -1ul, PMU_TRIGGER_PMI);
	sti();
	spin(set_up(VECTOR_PMI, 0, EVENT_INSNS, period), LOOPS);
	check_eq("trigger: a held PMI does not come", pmi.count + wrong, 0);
	pmu_trigger_disarm();
	cli();
	check_eq("trigger: it comes when it is held no more", pmi.count, 1);
}

/* DEBUGCTL keeps two bits, in version 1, P6 and AMD's PMU none. No bit faults. */
static void test_debugctl(void)
{
	bool keeps = has_global() || want_p6 == P6_CORE_2;
	u64 kept = keeps ? FREEZE_ON_PMI | FREEZE_IN_SMM : 0;
	u32 wrong = 0, faults = gp_count;

	check_eq("DEBUGCTL: zero at reset", rdmsr(MSR_DEBUGCTL), 0);
	for (u64 val = 1; val; val <<= 1) {
		wrmsr(MSR_DEBUGCTL, val);
		wrong += rdmsr(MSR_DEBUGCTL) != (val & kept);
	}
	check_eq("DEBUGCTL: other bits are ignored", wrong, 0);
	wrmsr(MSR_DEBUGCTL, ~0ull);
	check_eq("DEBUGCTL: so they are with those that are kept",
		 rdmsr(MSR_DEBUGCTL), kept);
	wrmsr(MSR_DEBUGCTL, 0);
	check_eq("DEBUGCTL: no bit faults", gp_count - faults, 0);
}

/*
 * Counter 0 interrupts after period instructions, and fixed counter 1 counts
 * all of them. Returns the value that starts both.
 */
static u64 set_up_freeze(u32 lvtpc, u32 period, u64 debugctl)
{
	u64 start = set_up(lvtpc, 0, EVENT_INSNS, period);

	if (want_version >= 4)
		wrmsr(MSR_GLOBAL_OVF_CTRL, CTR_FRZ);
	wrmsr(MSR_FIXED_CTRL, 0x010);
	wrmsr(MSR_DEBUGCTL, debugctl);
	return start | bit(FIXED + 1);
}

/* Version 4 has a bit for it, version 2 and 3 clear GLOBAL_CTRL instead */
static u64 frozen_status(void)
{
	return want_version >= 4 ? CTR_FRZ | bit(0) : bit(0);
}

static u64 frozen_control(u64 start)
{
	return want_version >= 4 ? start : 0;
}

/*
 * Returns how many values differ from those of counters that froze after insns
 */
static u32 not_frozen_after(u32 insns, u32 period)
{
	return (rdpmc(0) != insns - period) + (rdpmc(RDPMC_FIXED + 1) != insns) +
	       (rdmsr(MSR_GLOBAL_STATUS) != frozen_status());
}

/* No instruction of the interrupt's handler is counted, not even the first */
static void test_freeze(const char *name, u32 lvtpc)
{
	u32 wrong = 0;

	for (u32 period = 1; period < 2000; period += period < 20 ? 1 : 331) {
		u64 start = set_up_freeze(lvtpc, period, FREEZE_ON_PMI);

		sti();
		spin(start, LOOPS);
		cli();
		wrong += !hit_after(period);
		wrong += pmi.control != frozen_control(start);
		wrong += pmi.status != frozen_status();
		wrong += not_frozen_after(period, period);
	}
	check_eq(name, wrong, 0);
}

/* Counting continues from the frozen values when software unfreezes */
static void test_thaw(void)
{
	u64 start = set_up_freeze(VECTOR_PMI, 1000, FREEZE_ON_PMI);

	spin(start, LOOPS);
	check_eq("freeze on PMI, interrupts off: no interrupt", pmi.count, 0);
	check_eq("freeze on PMI: it stays so while the interrupt waits",
		 not_frozen_after(1000, 1000), 0);
	if (want_version >= 4) {
		spin(start, 10);
		check_eq("frozen: GLOBAL_CTRL does not end it",
			 not_frozen_after(1000, 1000), 0);
		wrmsr(MSR_GLOBAL_OVF_CTRL, CTR_FRZ);
	}
	spin(start, 10);
	check_eq("frozen no more: it counts from there", rdpmc(0), SPIN_INSNS(10));
	check_eq("frozen no more: others too", rdpmc(RDPMC_FIXED + 1),
		 1000 + SPIN_INSNS(10));
	check_eq("frozen no more: the overflow is still there",
		 rdmsr(MSR_GLOBAL_STATUS), bit(0));
	sti();
	cli();

	start = set_up_freeze(VECTOR_PMI | LVT_MASKED, 1000, FREEZE_ON_PMI);
	spin(start, LOOPS);
	check_eq("LVTPC masked: it freezes nevertheless",
		 not_frozen_after(1000, 1000), 0);
}

static void test_no_freeze(void)
{
	u64 start = set_up_freeze(VECTOR_PMI, 1000, FREEZE_IN_SMM);

	spin(start, LOOPS);
	check_eq("FREEZE_WHILE_SMM alone: it counts on", rdpmc(0),
		 SPIN_INSNS(LOOPS) - 1000);
	check_eq("FREEZE_WHILE_SMM alone: status", rdmsr(MSR_GLOBAL_STATUS), bit(0));
	sti();
	cli();
	check_eq("FREEZE_WHILE_SMM alone: the interrupt comes", pmi.count, 1);

	start = set_up_freeze(VECTOR_PMI, 1000, FREEZE_ON_PMI);
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | COUNT_OS);
	spin(start, LOOPS);
	check_eq("an overflow without interrupt: it counts on", rdpmc(0),
		 SPIN_INSNS(LOOPS) - 1000);
	check_eq("an overflow without interrupt: status",
		 rdmsr(MSR_GLOBAL_STATUS), bit(0));
}

/* A PMI that is held back freezes when it comes */
static void test_freeze_held(void)
{
	u32 period = 10, wrong = 0;

	for (u32 n = 0; n < 50; n++) {
		u64 start = set_up_freeze(VECTOR_PMI, period, FREEZE_ON_PMI);
		u32 insns = n < period ? period : n;

		wrong += pmu_trigger_arm(0, n, PMU_TRIGGER_PMI);
		sti();
		spin(start, LOOPS);
		cli();
		wrong += !hit_after(insns);
		wrong += not_frozen_after(insns, period);
	}
	check_eq("trigger: held PMIs freeze when they come", wrong, 0);
}

static void test_freezing(void)
{
	test_freeze("freeze on PMI: vector", VECTOR_PMI);
	test_freeze("freeze on PMI: NMI", LVT_NMI);
	test_thaw();
	test_no_freeze();
	if (!(want_machine & PMU_MACHINE_PARALLEL))
		test_freeze_held();
	set_up_freeze(LVT_MASKED, 1, 0);	/* no overflow is left */
	pmu_clear();
}

/*
 * The interrupt comes right after the load that misses, and after an
 * instruction that misses many times.
 */
void test_cache_interrupts(void)
{
	u32 event = PMU_TEST_EVTSEL(PMU_TEST_L1_LOAD_MISSES);
	u32 wrong = 0, lines = 512 / want_l1.line;
	u64 start;

	for (u32 period = 1; period < 1500; period += period < 20 ? 1 : 211) {
		evict();
		start = set_up(VECTOR_PMI, 1, event, period);
		sti();
		walk(start, 2000);
		cli();
		wrong += pmi.count != 1 || pmi.eip != (u32)walk_loaded ||
			 pmi.ebx != 2000 - (period - 1);
	}
	check_eq("it hits right after the load that misses", wrong, 0);

	wrong = 0;
	for (u32 period = 1; period <= lines; period++) {
		evict();
		start = set_up(VECTOR_PMI, 1,
			       PMU_TEST_EVTSEL(PMU_TEST_L1_STORE_MISSES), period);
		sti();
		walk_block(start, 1);
		cli();
		wrong += pmi.count != 1 || pmi.eip != (u32)walk_saved;
	}
	check_eq("after an instruction that misses more than once", wrong, 0);
}

/* Returns after how many instructions of the loop the last interrupt came */
static int hit_at(void)
{
	u32 in_loop = pmi.eip - (u32)spin_loop;
	u32 turns = LOOPS - pmi.ebx - (in_loop == SPIN_LOOP_INSNS - 1);

	return turns * SPIN_LOOP_INSNS + in_loop;
}

/* With pmu-silicon: delay of interrupts, and what they add */
void test_silicon_interrupts(void)
{
	u32 wrong = 0, late = 0, n = 0;
	u64 start, count;
	int sum = 0;

	for (u32 period = 1000; period < 1200; period += 2) {
		int after;

		start = set_up(LVT_NMI, FIXED, 0, period);
		spin(start, LOOPS);
		after = hit_at() - (int)period;
		wrong += pmi.count != 1 || after < -START_MORE || after > MOST_LATE;
		late += after > MOST_LATE / 2;
		sum += after;
		n++;
	}
	check_eq("interrupt: once, and late within its bound", wrong, 0);
	check("interrupt: often late", late > n / 4 && late < n);
	note("interrupt: late in all", sum);

	pmu_clear();
	start = pmu_setup(0, EVENT_INSNS, 0, false);
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR_TICK | LVT_PERIODIC);
	apic_write(APIC_TIMER_INIT, 3331);
	ticks = 0;
	spin_sti(start, LOOPS);
	apic_write(APIC_TIMER_INIT, 0);
	count = rdpmc(0) - SPIN_STI_INSNS(LOOPS) - TICK_INSNS * ticks;
	check("timer interrupts: there were some", ticks > 20);
	check("timer interrupts: they add within their bound",
	      count <= INTERRUPT_MORE * ticks + START_MORE);
	check("timer interrupts: they add", count > ticks / 2);
	note("timer interrupts: added", count);
}

/* The trigger is for virtual CPUs that run in turn */
/* It takes each pass of REP for an execution, and the last look at ECX, too. */
static void test_trigger_in_rep(void)
{
	u32 action = PMU_TRIGGER_INTERRUPT | VECTOR_PMI << 8;
	static unsigned char buf[16];
	u32 wrong = pmu_trigger_range(0, (u32)rep_stos_insn, (u32)rep_stos_done);

	for (u32 n = 0; n <= sizeof(buf); n++) {
		u64 start = set_up(LVT_MASKED, 0, EVENT_INSNS, -1);

		wrong += pmu_trigger_arm(0, n, action);
		sti();
		rep_stos(start, buf, sizeof(buf));
		cli();
		wrong += pmi.count != 1;
		wrong += pmi.eip != (u32)rep_stos_insn;
		wrong += pmi.ecx != sizeof(buf) - n;
	}
	check_eq("trigger: interrupts hit between passes of REP", wrong, 0);
}

static void test_trigger_refused(void)
{
	int refused = pmu_trigger_range(0, (u32)spin_loop, (u32)spin_stopped) +
		      pmu_trigger_arm(0, 0, PMU_TRIGGER_PMI) + pmu_trigger_go(0);
	struct pmu_trigger t = pmu_trigger_status();

	check_eq("trigger: commands are refused", refused, -3);
	pmu_trigger_wait(t.events);	/* does not halt */
	check_eq("trigger: it is idle", pmu_trigger_state(&t), PMU_TRIGGER_IDLE);
}

void test_interrupts(void)
{
	test_debugctl();
	if (has_global()) {
		test_position("position: vector, fixed counter 0", VECTOR_PMI,
			      FIXED, 0);
		test_masked();
		test_status_set();
		test_rearm("again and again: vector, period 10000", VECTOR_PMI,
			   FIXED, 10000);
	}
	test_position("position: NMI, PMC1", LVT_NMI, 1, EVENT_INSNS);
	test_position("position: vector, PMC0, branches", VECTOR_PMI, 0,
		      EVENT_BRANCHES);
	test_position("position: NMI, PMC3, cycles", LVT_NMI, 3, EVENT_CYCLES);
	if (want_netburst)
		test_position("position: vector, cycles of both modes", VECTOR_PMI, 2,
			      EVENT_REF_CYCLES);
	test_position_in_rep();
	if (!has_global())
		test_not_asked_for();
	test_interrupts_off();
	test_stopped();
	test_rearm("again and again: NMI, period 997", LVT_NMI, 2, 997);
	test_rearm("again and again: NMI, period 4", LVT_NMI, 0, 4);
	test_with_timer(10007, 3331);
	test_with_timer(100003, 3331);
	test_with_timer(1009, 7919);
	test_with_timer(9001, 9973);
	if (want_machine & PMU_MACHINE_PARALLEL) {
		test_trigger_refused();
	} else {
		test_trigger_in_rep();
		pmu_trigger_range(0, (u32)spin_loop, (u32)spin_stopped);
		test_trigger();
		test_trigger_pmi();
	}
	if (has_global())
		test_freezing();
}
