// SPDX-License-Identifier: GPL-2.0
/*
 * Version 6: architectural PEBS. An overflow of a counter writes a record to a buffer, in
 * place of its status and its interrupt.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define MSR_PEBS_BASE		0x3f4
#define MSR_PEBS_INDEX		0x3f5
#define INDEX_EN		(1ull << 32)
#define INDEX_FULL		(1ull << 31)
#define INDEX_WR		0x7fffff0ull
#define INDEX_THRESH(bytes)	((u64)(bytes) / 16 << 36)
#define STATUS_THRESHOLD	(1ull << 54)
#define PEBS_EN			(1ull << 63)
#define FORMAT_BASIC		(1ull << 63)
#define PAGE			4096
#define EVENT_WRMSR		PMU_TEST_EVTSEL(PMU_TEST_WRMSR)
#define NEVER			(INDEX_WR - 16)	/* a threshold */

#define LOOPS			200
#define INSNS			SPIN_INSNS(LOOPS)
#define LOOP_INSNS		(SPIN_LOOP_INSNS * LOOPS)
#define COUNTERS		(NUM_GP + NUM_FIXED)
#define FIXED_MASK		((1 << NUM_FIXED) - 1)

struct record {
	u64 format, reserved0, ip, counters, tsc, retire, reserved1[2];
};

static struct record buffer[2 * PAGE / sizeof(struct record)] __attribute__((aligned(PAGE)));

static u32 number_bit(u32 i)
{
	return i < NUM_GP ? i : FIXED + i - NUM_GP;
}

static u32 cfg_c(u32 ctr)
{
	return v6_msr(ctr, V6_CFG_C);
}

static bool has_pebs(u32 ctr)
{
	return is_there(ctr) && (ctr >= FIXED || want_pebs & bit(ctr));
}

/* The first programmable counter that has PEBS */
static u32 first_gp(void)
{
	return __builtin_ctz(want_pebs);
}

static void clear_all(void)
{
	pmu_clear();
	for (u32 i = 0; i < COUNTERS; i++)
		if (is_there(number_bit(i)))
			wrmsr(cfg_c(number_bit(i)), 0);
	wrmsr(MSR_PEBS_INDEX, 0);
	wrmsr(MSR_PEBS_BASE, (u32)buffer);
	for (u32 i = 0; i < sizeof(buffer) / sizeof(buffer[0]); i++)
		buffer[i] = (struct record){};
}

/* The counter gets a record after each period */
static u64 set_up(u32 ctr, u32 event, u32 period)
{
	u64 start = pmu_setup(ctr, event, -(u64)period, false);

	wrmsr(cfg_c(ctr), PEBS_EN | -period);
	return start;
}

static void start_buffer(u32 threshold)
{
	wrmsr(MSR_PEBS_INDEX, INDEX_EN | INDEX_THRESH(threshold));
}

static u32 records(void)
{
	return (rdmsr(MSR_PEBS_INDEX) & INDEX_WR) / sizeof(struct record);
}

static void test_absent(void)
{
	u32 r[4], more = 0;

	cpuid_count(0x23, 0, r);
	check_eq("no PEBS: CPUID.23H.0:EAX bits 4 and 5", r[0] & 0x30, 0);
	for (u32 leaf = 4; leaf <= 5; leaf++) {
		cpuid_count(0x23, leaf, r);
		more |= r[0] | r[1] | r[2] | r[3];
	}
	check_eq("no PEBS: subleaves 4 and 5 are zero", more, 0);
	if (want_full)
		check_eq("no PEBS: no format", rdmsr(MSR_PERF_CAPABILITIES) & 0xf00, 0);
	check("no PEBS: no registers", !wrmsr_faults(MSR_PEBS_BASE, ~0ull) &&
	      !rdmsr(MSR_PEBS_BASE) && !wrmsr_faults(MSR_PEBS_INDEX, ~0ull) &&
	      !rdmsr(MSR_PEBS_INDEX));
}

static void test_pebs_cpuid(void)
{
	u32 r[4];

	cpuid_count(0x23, 0, r);
	check_eq("CPUID.23H.0:EAX: subleaves 0, 1, 4, 5, and 2 with reload", r[0],
		 want_reload ? 0x37 : 0x33);
	cpuid_count(0x23, 4, r);
	check_eq("CPUID.23H.4: records have the basic group alone",
		 r[0] | r[1] | r[2] | r[3], 0);
	cpuid_count(0x23, 5, r);
	check_eq("CPUID.23H.5:EAX: programmable counters", r[0], want_pebs);
	check_eq("CPUID.23H.5:EBX: these have exact distribution", r[1], r[0]);
	check_eq("CPUID.23H.5:ECX: fixed counters", r[2], FIXED_MASK);
	check_eq("CPUID.23H.5:EDX: these, too", r[3], FIXED_MASK);
	check_eq("PERF_CAPABILITIES: architectural format", rdmsr(MSR_PERF_CAPABILITIES),
		 0x2f00);
}

static void test_pebs_registers(void)
{
	u64 high = 0x3full << 58;

	clear_all();
	test_control_bits("PEBS_BASE: reserved bits fault", MSR_PEBS_BASE,
			  0xffffffffff01full, true);
	test_control_bits("PEBS_INDEX: reserved bits fault", MSR_PEBS_INDEX,
			  INDEX_WR | INDEX_FULL | INDEX_EN | 0x7fffffull << 36, true);
	test_control_bits("GLOBAL_OVF_CTRL: bit 54 can be written", MSR_GLOBAL_OVF_CTRL,
			  counters_there() | high | STATUS_THRESHOLD, false);
	for (u32 i = 0; i < COUNTERS; i++) {
		u32 ctr = number_bit(i);

		if (!is_there(ctr))
			continue;
		test_control_bits(has_pebs(ctr) ? "CFG_C: bits 0 to 31 and 63" :
				  "CFG_C of a counter without PEBS: bits 0 to 31",
				  cfg_c(ctr), has_pebs(ctr) ? PEBS_EN | 0xffffffff : 0xffffffff,
				  true);
		if (!want_reload)
			check("CFG_B is not there", !wrmsr_faults(v6_msr(ctr, V6_CFG_B), 1) &&
			      !rdmsr(v6_msr(ctr, V6_CFG_B)));
	}
}

/*
 * The address of instruction n of spin()'s loop, from 1. Each one but the last has one
 * byte.
 */
static u32 address_of(u32 n)
{
	return (u32)spin_loop + (n - 1) % SPIN_LOOP_INSNS;
}

/* Has the interrupt been raised? */
static bool interrupted(void)
{
	u32 irr = APIC_IRR + VECTOR_PMI / 32 * 0x10;

	return apic_read(irr) & 1u << VECTOR_PMI % 32;
}

/* Number of wrong things about counter ctr with this period. It should interrupt or not. */
static u32 wrong_records(u32 ctr, u32 period, bool pmi)
{
	u64 start, tsc = 0;
	u32 wrong = 0;

	clear_all();
	start = pmu_setup(ctr, EVENT_INSNS, -(u64)period, pmi);
	wrmsr(cfg_c(ctr), PEBS_EN | -period);
	start_buffer(NEVER);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	spin(start, LOOPS);
	wrong += interrupted() || apic_read(APIC_LVTPC) != VECTOR_PMI;
	wrong += records() != INSNS / period;
	wrong += rdmsr(MSR_GLOBAL_STATUS) != 0;
	wrong += rdmsr(ctr_msr(ctr)) != ((INSNS % period - (u64)period) & ctr_mask());
	for (u32 i = 0; i < records(); i++) {
		struct record *r = &buffer[i];

		wrong += r->format != (FORMAT_BASIC | sizeof(*r));
		wrong += r->counters != bit(ctr);
		wrong += r->reserved0 || r->retire || r->reserved1[0] || r->reserved1[1];
		wrong += r->tsc <= tsc;
		tsc = r->tsc;
		if ((i + 1) * period <= LOOP_INSNS)
			wrong += r->ip != address_of((i + 1) * period);
	}
	return wrong;
}

static void test_records(void)
{
	static const u32 periods[] = { 13, 14, 15, 16, 333, INSNS - 1, INSNS };
	u32 wrong = 0;

	for (u32 i = 0; i < COUNTERS; i++) {
		if (!has_pebs(number_bit(i)))
			continue;
		for (u32 j = 0; j < sizeof(periods) / sizeof(periods[0]); j++)
			wrong += wrong_records(number_bit(i), periods[j], j % 2);
	}
	check_eq("each counter: a record after each period, with the right address, no interrupt",
		 wrong, 0);
}

static void test_shared(void)
{
	u32 first = first_gp();
	u64 both = bit(first) | bit(FIXED);

	clear_all();
	set_up(first, EVENT_INSNS, 100);
	set_up(FIXED, EVENT_INSNS, 300);
	start_buffer(NEVER);
	spin(both, LOOPS);
	check_eq("two counters: records", records(), INSNS / 100);
	check("two counters: they share a record if both overflow",
	      buffer[0].counters == bit(first) && buffer[1].counters == bit(first) &&
	      buffer[2].counters == both && buffer[3].counters == bit(first));
}

/* What keeps a counter from records: then it overflows as without PEBS */
static void test_not_enabled(void)
{
	u32 first = first_gp();

	clear_all();
	spin(set_up(first, EVENT_INSNS, 100), LOOPS);
	check("PEBS_INDEX's EN is clear: no record, but status", !records() &&
	      rdmsr(MSR_GLOBAL_STATUS) == bit(first) &&
	      rdmsr(ctr_msr(first)) == INSNS - 100);
	clear_all();
	start_buffer(NEVER);
	spin(pmu_setup(first, EVENT_INSNS, -100, false), LOOPS);
	check("CFG_C's bit 63 is clear: no record, but status", !records() &&
	      rdmsr(MSR_GLOBAL_STATUS) == bit(first));
	clear_all();
	start_buffer(NEVER);
	pmu_setup(first, EVENT_INSNS, -100, false);
	wrmsr(cfg_c(first), PEBS_EN);
	spin(bit(first), LOOPS);
	check("RELOAD is 0: one record, and the counter goes on", records() == 1 &&
	      !rdmsr(MSR_GLOBAL_STATUS) && rdmsr(ctr_msr(first)) == INSNS - 100);
}

static void test_full(void)
{
	u32 first = first_gp(), room = PAGE / sizeof(struct record);
	u64 index, start;

	clear_all();
	start = set_up(first, EVENT_INSNS, INSNS / (room + 4));
	start_buffer(NEVER);
	spin(start, LOOPS);
	index = rdmsr(MSR_PEBS_INDEX);
	check("the buffer is full: FULL is set, nothing is written behind it",
	      records() == room && index & INDEX_FULL && buffer[room - 1].format &&
	      !buffer[room].format);
	clear_all();
	wrmsr(MSR_PEBS_BASE, (u32)buffer | 1);
	start = set_up(first, EVENT_INSNS, INSNS / (room + 4));
	start_buffer(NEVER);
	spin(start, LOOPS);
	check("PEBS_BASE has the size: twice as much", records() > room &&
	      !(rdmsr(MSR_PEBS_INDEX) & INDEX_FULL) && buffer[room].format);
}

/* The overflow is in the WRMSR that disables records */
static void test_disabled_at_once(void)
{
	u32 first = first_gp();

	clear_all();
	pmu_setup(first, EVENT_WRMSR, ctr_mask(), false);
	wrmsr(cfg_c(first), PEBS_EN);
	start_buffer(NEVER);
	wrmsr(MSR_GLOBAL_CTRL, bit(first));
	wrmsr(MSR_PEBS_INDEX, 0);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	check("the instruction that clears EN makes no record", !rdmsr(MSR_PEBS_INDEX) &&
	      !buffer[0].format && rdmsr(ctr_msr(first)) == 1);
}

/* A record reloads another counter, as an overflow without one does */
static void test_reloads_others(void)
{
	u32 first = first_gp();
	u64 start;

	if (!want_reload)
		return;
	clear_all();
	pmu_setup(FIXED, EVENT_INSNS, 0, false);
	start = set_up(first, EVENT_INSNS, 100) | bit(FIXED);
	wrmsr(v6_msr(FIXED, V6_CFG_B), bit(first));
	wrmsr(cfg_c(FIXED), 7000);
	start_buffer(NEVER);
	spin(start, LOOPS);
	check_eq("auto counter reload by a counter that makes records", rdmsr(ctr_msr(FIXED)),
		 7000 + INSNS % 100);
	wrmsr(v6_msr(FIXED, V6_CFG_B), 0);
}

static void test_second_processor(void)
{
	u32 base, c;

	check("second processor: it starts", ask_ap(MSR_PEBS_BASE, cfg_c(FIXED), &base, &c));
	check_eq("second processor: PEBS_BASE and CFG_C after RESET", base | c, 0);
	check("second processor: it starts again", ask_ap(MSR_PEBS_BASE, cfg_c(FIXED), &base, &c));
	check_eq("second processor: PEBS_BASE after INIT", base, AP_CONTROL);
	check_eq("second processor: CFG_C after INIT", c, AP_COUNTER);
}

/* The interrupt comes with the record that reaches the threshold, and freezes */
static void test_threshold(void)
{
	u32 first = first_gp();
	u64 start;

	clear_all();
	wrmsr(MSR_DEBUGCTL, FREEZE_ON_PMI);
	apic_write(APIC_LVTPC, VECTOR_PMI);
	start_buffer(3 * sizeof(struct record));
	spin(set_up(first, EVENT_INSNS, 100), LOOPS);
	check("threshold: it interrupts", interrupted() && apic_read(APIC_LVTPC) & LVT_MASKED);
	check_eq("threshold: status", rdmsr(MSR_GLOBAL_STATUS), STATUS_THRESHOLD | CTR_FRZ);
	check_eq("threshold: records", records(), 3);
	check_eq("threshold: the counter stands", rdmsr(ctr_msr(first)), -100 & ctr_mask());
	wrmsr(MSR_DEBUGCTL, 0);
	wrmsr(MSR_GLOBAL_OVF_CTRL, STATUS_THRESHOLD | CTR_FRZ);
	check_eq("threshold: status is cleared", rdmsr(MSR_GLOBAL_STATUS), 0);
	asm volatile("sti; nop; cli" : : : "memory");

	/* Above the threshold each record interrupts, unless the status is still there. */
	clear_all();
	apic_write(APIC_LVTPC, VECTOR_PMI);
	start_buffer(3 * sizeof(struct record));
	start = set_up(first, EVENT_INSNS, 100);
	spin(start, LOOPS);
	check_eq("threshold without freezing: records", records(), INSNS / 100);
	asm volatile("sti; nop; cli" : : : "memory");
	apic_write(APIC_LVTPC, VECTOR_PMI);
	spin(start, LOOPS);
	check("threshold: no interrupt while the status is there", !interrupted() &&
	      rdmsr(MSR_GLOBAL_STATUS) == STATUS_THRESHOLD);
	wrmsr(MSR_GLOBAL_OVF_CTRL, STATUS_THRESHOLD);
	spin(start, LOOPS);
	check("threshold: the next record interrupts again", interrupted() &&
	      rdmsr(MSR_GLOBAL_STATUS) == STATUS_THRESHOLD);
	asm volatile("sti; nop; cli" : : : "memory");
	clear_all();
}

void test_pebs(void)
{
	switch_msr = MSR_GLOBAL_CTRL;
	if (!want_pebs) {
		test_absent();
		return;
	}
	test_pebs_cpuid();
	test_pebs_registers();
	test_records();
	test_shared();
	test_not_enabled();
	test_disabled_at_once();
	test_reloads_others();
	test_full();
	test_threshold();
	test_second_processor();
}
