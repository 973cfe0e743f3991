// SPDX-License-Identifier: GPL-2.0
/*
 * Version 6: auto counter reload. CFG_B of a counter names the counters whose overflow
 * gives it the value of its CFG_C.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define LOOPS		200
#define INSNS		SPIN_INSNS(LOOPS)
#define ROUNDS		100
#define EVENT_NOTHING	0xffff
#define EVENT_WRMSR	PMU_TEST_EVTSEL(PMU_TEST_WRMSR)
#define COUNTERS	(NUM_GP + NUM_FIXED)

/* A counter as the model below has it; those of the processor have the same numbers */
static struct counter {
	u32 bit, event;
	u64 value, causes;
	u32 reload;
	bool enabled, counts, pmi;
} model[COUNTERS];

static u32 seed = 1;

static u32 rnd(u32 n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static u32 number_bit(u32 i)
{
	return i < NUM_GP ? i : FIXED + i - NUM_GP;
}

static u32 cfg_b(u32 ctr)
{
	return v6_msr(ctr, V6_CFG_B);
}

static u32 cfg_c(u32 ctr)
{
	return v6_msr(ctr, V6_CFG_C);
}

static void set_reload(u32 ctr, u64 causes, u32 value)
{
	wrmsr(cfg_b(ctr), causes);
	wrmsr(cfg_c(ctr), value);
}

static void clear_all(void)
{
	pmu_clear();
	for (u32 i = 0; i < COUNTERS; i++)
		set_reload(number_bit(i), 0, 0);
}

/* Registers that this CPU does not have */
static bool absent(u32 msr)
{
	return !wrmsr_faults(msr, ~0ull) && rdmsr(msr) == 0;
}

static u64 extended(u32 reload)
{
	return (u64)(int32_t)reload & ctr_mask();
}

static void test_absent(void)
{
	u32 r[4], wrong = 0;

	cpuid_count(0x23, 0, r);
	check_eq("no auto counter reload: subleaves 0 and 1 alone", r[0], 3);
	cpuid_count(0x23, 2, r);
	check_eq("no auto counter reload: subleaf 2 is zero", r[0] | r[1] | r[2] | r[3], 0);
	for (u32 i = 0; i < COUNTERS; i++)
		wrong += !absent(cfg_b(number_bit(i))) + !absent(cfg_c(number_bit(i)));
	check_eq("no auto counter reload: no registers", wrong, 0);
}

static void test_reload_cpuid(void)
{
	u32 fixed = (1 << NUM_FIXED) - 1, r[4];

	cpuid_count(0x23, 0, r);
	check_eq("CPUID.23H.0:EAX: subleaves 0 to 2", r[0], 7);
	cpuid_count(0x23, 2, r);
	check_eq("CPUID.23H.2:EAX: programmable counters are reloaded", r[0], want_mask);
	check_eq("CPUID.23H.2:EBX: fixed counters are reloaded", r[1], fixed);
	check_eq("CPUID.23H.2:ECX: programmable counters reload", r[2], want_mask);
	check_eq("CPUID.23H.2:EDX: fixed counters reload", r[3], fixed);
}

static void test_reload_registers(void)
{
	u32 wrong = 0, b, c;

	for (u32 i = 0; i < COUNTERS; i++) {
		u32 ctr = number_bit(i);

		if (!is_there(ctr)) {
			wrong += !absent(cfg_b(ctr)) + !absent(cfg_c(ctr));
			continue;
		}
		wrong += rdmsr(cfg_b(ctr)) != 0 || rdmsr(cfg_c(ctr)) != 0;
		test_control_bits("CFG_B: bits without a counter fault", cfg_b(ctr),
				  counters_there(), true);
		test_control_bits("CFG_C: bits 32 to 63 fault", cfg_c(ctr), 0xffffffff, true);
		set_reload(ctr, bit(FIXED) << i % 3, 1000 + i);
	}
	check_eq("CFG_B and CFG_C: zero at first, not there without a counter", wrong, 0);
	for (u32 i = 0; i < COUNTERS; i++)
		if (is_there(number_bit(i)))
			wrong += rdmsr(cfg_b(number_bit(i))) != bit(FIXED) << i % 3 ||
				 rdmsr(cfg_c(number_bit(i))) != 1000 + i;
	check_eq("CFG_B and CFG_C: each counter has its own", wrong, 0);
	check("one past the last counter: not there", absent(cfg_b(NUM_GP)) &&
	      absent(cfg_c(NUM_GP)) && absent(cfg_b(FIXED + NUM_FIXED)) &&
	      absent(cfg_c(FIXED + NUM_FIXED)));
	check("a fixed counter has no CFG_A", absent(v6_msr(FIXED, V6_CFG_A)));
	check("second processor: it starts", ask_ap(cfg_b(0), cfg_c(0), &b, &c));
	check_eq("second processor: CFG_B and CFG_C after RESET", b | c, 0);
	check("second processor: it starts again", ask_ap(cfg_b(0), cfg_c(0), &b, &c));
	check_eq("second processor: CFG_B after INIT", b, AP_CONTROL & want_mask);
	check_eq("second processor: CFG_C after INIT", c, AP_COUNTER);
	clear_all();
}

/* Counter from, which wraps after period instructions, reloads counter to */
static u32 wrong_pair(u32 from, u32 to, u32 period)
{
	const u32 reload = -5000;
	u64 start = bit(from) | bit(to);

	clear_all();
	for (u32 i = 0; i < NUM_GP; i++)
		wrmsr(MSR_EVTSEL0 + i, EVENT_INSNS | COUNT_OS);
	wrmsr(MSR_FIXED_CTRL, 0x111);
	wrmsr(ctr_msr(from), -(u64)period & ctr_mask());
	wrmsr(ctr_msr(to), 100);
	set_reload(to, bit(from), reload);
	spin(start, LOOPS);
	return (rdmsr(ctr_msr(from)) != INSNS - period) +
	       (rdmsr(ctr_msr(to)) != ((extended(reload) + INSNS - period) & ctr_mask())) +
	       (rdmsr(MSR_GLOBAL_STATUS) != bit(from));
}

static void test_pairs(void)
{
	u32 wrong = 0;

	for (u32 i = 0; i < COUNTERS; i++)
		for (u32 j = 0; j < COUNTERS; j++) {
			u32 from = number_bit(i), to = number_bit(j);

			if (i == j || !is_there(from) || !is_there(to))
				continue;
			wrong += wrong_pair(from, to, 1) + wrong_pair(from, to, 333) +
				 wrong_pair(from, to, INSNS - 1) + wrong_pair(from, to, INSNS);
		}
	check_eq("each counter reloads each other one, at the exact instruction", wrong, 0);
}

static void test_self(void)
{
	u64 counted;

	clear_all();
	pmu_setup(0, EVENT_INSNS, -10, false);
	set_reload(0, bit(0), -100);
	spin(bit(0), LOOPS);
	counted = (INSNS - 10) % 100;
	check_eq("a counter reloads itself and goes on", rdmsr(MSR_PMC0),
		 (counted - 100) & ctr_mask());
	check_eq("a counter that reloads itself sets no status", rdmsr(MSR_GLOBAL_STATUS), 0);
	pmu_setup(FIXED + 2, 0, -10, false);
	set_reload(FIXED + 2, bit(FIXED + 2) | bit(0), -INSNS + 10);
	spin(bit(FIXED + 2), LOOPS);
	check_eq("a fixed one to the last instruction", rdmsr(MSR_FIXED_CTR0 + 2),
		 extended(-INSNS + 10));
	check_eq("a fixed one sets no status", rdmsr(MSR_GLOBAL_STATUS), 0);
}

static void test_values(void)
{
	static const u32 reloads[] = { 0, 1, 0x7ffffffe, 0x80000000, 0xffffffff };
	u32 wrong = 0;

	for (u32 i = 0; i < sizeof(reloads) / sizeof(reloads[0]); i++) {
		clear_all();
		pmu_setup(0, EVENT_INSNS, -INSNS, false);
		pmu_setup(2, EVENT_INSNS, 0, false);
		set_reload(2, bit(0), reloads[i]);
		spin(bit(0) | bit(2), LOOPS);
		wrong += rdmsr(MSR_PMC0 + 2) != extended(reloads[i]);
		wrong += rdmsr(MSR_PMC0) != 0;
	}
	check_eq("bit 31 of CFG_C is extended to the counter's width", wrong, 0);
}

/* Returns the value of counter 2, which counter 0 should reload with -77 */
static u64 value_with(u64 select, u64 start)
{
	clear_all();
	pmu_setup(0, EVENT_INSNS, -10, false);
	wrmsr(MSR_EVTSEL0 + 2, select);
	wrmsr(MSR_PMC0 + 2, 55);
	set_reload(2, bit(0), -77);
	spin(start, LOOPS);
	return rdmsr(MSR_PMC0 + 2);
}

static void test_enabled(void)
{
	u64 both = bit(0) | bit(2), reloaded = extended(-77);

	check_eq("GLOBAL_CTRL does not have it: it is not reloaded",
		 value_with(EVENT_INSNS | COUNT_OS, bit(0)), 55);
	check_eq("its EN is clear: it is not reloaded",
		 value_with(EVENT_INSNS | EVTSEL_OS, both), 55);
	check_eq("it counts nothing, but is enabled: it is reloaded",
		 value_with(EVENT_NOTHING | COUNT_OS, both), reloaded);
	check_eq("it counts in user mode: it is reloaded in kernel mode",
		 value_with(EVENT_INSNS | EVTSEL_EN | EVTSEL_USR, both), reloaded);
	check_eq("the cause does not count: it is not reloaded",
		 value_with(EVENT_NOTHING | COUNT_OS, bit(2)), 55);

	clear_all();
	wrmsr(MSR_EVTSEL0, EVENT_INSNS | COUNT_OS);
	wrmsr(MSR_PMC0, -10 & ctr_mask());
	wrmsr(MSR_FIXED_CTR0, 55);
	set_reload(FIXED, bit(0), -77);
	spin(bit(0) | bit(FIXED), LOOPS);
	check_eq("a fixed counter without a mode is not reloaded", rdmsr(MSR_FIXED_CTR0), 55);

	clear_all();
	pmu_setup(2, EVENT_NOTHING, 55, false);
	set_reload(2, bit(0), -77);
	wrmsr(MSR_GLOBAL_CTRL, both);
	wrmsr(MSR_GLOBAL_STATUS_SET, bit(0));
	wrmsr(MSR_GLOBAL_CTRL, 0);
	check_eq("GLOBAL_STATUS_SET reloads nothing", rdmsr(MSR_PMC0 + 2), 55);
}

/* The interrupt freezes all counters, so their values are those at the overflow */
static void test_interrupt(u32 causes, u64 value, u64 status, const char *at,
			   const char *what)
{
	u32 irr = APIC_IRR + VECTOR_PMI / 32 * 0x10, irr_bit = 1u << VECTOR_PMI % 32;

	clear_all();
	pmu_setup(0, EVENT_INSNS, -123, true);
	pmu_setup(2, EVENT_INSNS, 0, false);
	set_reload(0, causes, -50);
	set_reload(2, bit(0), -1000);
	wrmsr(MSR_DEBUGCTL, FREEZE_ON_PMI);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	spin(bit(0) | bit(2), LOOPS);
	check(what, apic_read(irr) & irr_bit && apic_read(APIC_LVTPC) & LVT_MASKED &&
	      rdmsr(MSR_GLOBAL_STATUS) == (status | CTR_FRZ));
	check(at, rdmsr(MSR_PMC0) == value && rdmsr(MSR_PMC0 + 2) == extended(-1000));
	wrmsr(MSR_DEBUGCTL, 0);
	wrmsr(MSR_GLOBAL_OVF_CTRL, CTR_FRZ);
	asm volatile("sti; nop; cli" : : : "memory");
	clear_all();
}

/* Cycles are passes of REP, too: the reload is between two passes */
static void test_in_rep(void)
{
	static char buf[64];

	clear_all();
	pmu_setup(0, EVENT_CYCLES, -30, false);
	pmu_setup(2, EVENT_CYCLES, 0, false);
	set_reload(2, bit(0), -1000);
	rep_stos(bit(0) | bit(2), buf, sizeof(buf));
	check_eq("a reload within REP", rdmsr(MSR_PMC0 + 2),
		 (extended(-1000) + REP_INSNS + sizeof(buf) - 30) & ctr_mask());
}

/* Counters of user mode alone: the INT that ends it is the second instruction */
static void test_user(void)
{
	u32 wrong = 0;

	set_pce(true);
	for (u32 period = 1; period <= USER_INSNS; period++) {
		clear_all();
		for (u32 i = 0; i < NUM_GP; i++)
			wrmsr(MSR_EVTSEL0 + i, EVENT_INSNS | EVTSEL_USR | EVTSEL_EN);
		wrmsr(MSR_PMC0, -(u64)period & ctr_mask());
		set_reload(2, bit(0), -60);
		wrmsr(MSR_GLOBAL_CTRL, bit(0) | bit(2));
		rdpmc_at(3, 0);
		wrmsr(MSR_GLOBAL_CTRL, 0);
		wrong += rdmsr(MSR_PMC0) != USER_INSNS - period;
		wrong += rdmsr(MSR_PMC0 + 2) !=
			 ((extended(-60) + USER_INSNS - period) & ctr_mask());
	}
	set_pce(false);
	check_eq("in user mode, also by the instruction that ends it", wrong, 0);
}

/* Totals of the test interface and the counters that are not reloaded stay as they are */
static u64 total_of_spin(u64 causes)
{
	u64 before;

	clear_all();
	pmu_setup(0, EVENT_INSNS, -10, false);
	pmu_setup(2, EVENT_INSNS, 0, false);
	set_reload(0, causes, -7);
	set_reload(2, causes, -7);
	before = rdmsr(PMU_TEST_MSR(PMU_TEST_CYCLES));
	spin(bit(0) | bit(2), LOOPS);
	return rdmsr(PMU_TEST_MSR(PMU_TEST_CYCLES)) - before;
}

static void choose(struct counter *c, u32 i)
{
	static const u32 events[] = {
		EVENT_INSNS, EVENT_BRANCHES, EVENT_WRMSR, EVENT_NOTHING,
	};

	c->bit = number_bit(i);
	c->event = i < NUM_GP ? events[rnd(4)] : EVENT_INSNS;
	c->enabled = is_there(c->bit) && rnd(8);
	c->counts = rnd(8);
	c->pmi = rnd(2);
	c->value = -(u64)(1 + rnd(300)) & ctr_mask();
	c->reload = rnd(4) ? -(1 + rnd(200)) : rnd(1000);
	c->causes = 0;
	for (u32 j = 0; j < COUNTERS; j++)
		if (is_there(number_bit(j)) && !rnd(3))
			c->causes |= bit(number_bit(j));
	if (!is_there(c->bit))
		return;
	wrmsr(ctr_msr(c->bit), c->value);
	set_reload(c->bit, c->causes, c->reload);
	if (c->bit < FIXED)
		wrmsr(MSR_EVTSEL0 + c->bit, c->event | EVTSEL_EN |
		      (c->counts ? EVTSEL_OS : EVTSEL_USR) | (c->pmi ? EVTSEL_INT : 0));
	else
		wrmsr(MSR_FIXED_CTRL, rdmsr(MSR_FIXED_CTRL) | ((c->counts ? 1 : 2) |
		      (c->pmi ? 8ull : 0)) << (4 * (c->bit - FIXED)));
}

/* What instruction n of spin() counts; the first is number 1 */
static bool event_at(u32 event, u32 n)
{
	switch (event) {
	case EVENT_INSNS:
		return true;
	case EVENT_BRANCHES:
		return n <= INSNS - 3 && n % SPIN_LOOP_INSNS == 0;
	case EVENT_WRMSR:
		return n == INSNS;
	}
	return false;
}

/* Returns the status after instruction n */
static u64 step(u32 n)
{
	u64 over = 0, status = 0;

	for (struct counter *c = model; c < model + COUNTERS; c++) {
		if (!c->enabled || !c->counts || !event_at(c->event, n))
			continue;
		c->value = (c->value + 1) & ctr_mask();
		if (c->value)
			continue;
		over |= bit(c->bit);
		status |= c->causes & bit(c->bit) ? 0 : bit(c->bit);
	}
	for (struct counter *c = model; c < model + COUNTERS; c++)
		if (c->enabled && c->causes & over)
			c->value = extended(c->reload);
	return status;
}

static void test_many(void)
{
	u32 values = 0, statuses = 0, reloads = 0;

	for (u32 round = 0; round < ROUNDS; round++) {
		u64 start = 0, status = 0;

		clear_all();
		for (u32 i = 0; i < COUNTERS; i++) {
			choose(&model[i], i);
			start |= model[i].enabled ? bit(model[i].bit) : 0;
		}
		spin(start, LOOPS);
		for (u32 n = 1; n <= INSNS; n++)
			status |= step(n);
		for (struct counter *c = model; c < model + COUNTERS; c++) {
			if (!is_there(c->bit))
				continue;
			values += rdmsr(ctr_msr(c->bit)) != c->value;
			reloads += c->enabled && c->causes & status;
		}
		statuses += rdmsr(MSR_GLOBAL_STATUS) != status;
	}
	check_eq("many counters reload each other: their values", values, 0);
	check_eq("many counters reload each other: their status", statuses, 0);
	check("many counters reload each other: they did", reloads > ROUNDS);
}

/*
 * With pmu-silicon branches are exact, but the interrupt of counter 0 is late. The reload
 * by counter 2 must not wait for it.
 */
void test_silicon_reload(void)
{
	u32 wrong = 0;

	for (u32 round = 0; round < ROUNDS; round++) {
		clear_all();
		pmu_setup(0, EVENT_BRANCHES, -10, true);
		pmu_setup(2, EVENT_BRANCHES, -12, false);
		pmu_setup(3, EVENT_BRANCHES, 0, false);
		set_reload(3, bit(2), -1000);
		spin(bit(0) | bit(2) | bit(3), LOOPS);
		wrong += rdmsr(MSR_PMC0 + 3) != ((extended(-1000) + LOOPS - 12) & ctr_mask());
	}
	check_eq("a reload does not wait for a late interrupt", wrong, 0);
	clear_all();
}

void test_reload(void)
{
	if (!want_reload) {
		test_absent();
		return;
	}
	switch_msr = MSR_GLOBAL_CTRL;
	test_reload_cpuid();
	test_reload_registers();
	test_pairs();
	test_self();
	test_values();
	test_enabled();
	test_interrupt(0, 0, bit(0), "interrupt: the reload is at the overflow",
		       "interrupt and status: as without reload");
	test_interrupt(bit(0), extended(-50), 0,
		       "interrupt of a counter that reloads itself: at the overflow",
		       "it comes, and there is no status");
	test_in_rep();
	test_user();
	check_eq("totals stay as they are", total_of_spin(bit(0)), total_of_spin(0));
	test_many();
	clear_all();
}
