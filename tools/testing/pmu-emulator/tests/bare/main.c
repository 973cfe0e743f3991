// SPDX-License-Identifier: GPL-2.0
/*
 * A multiboot program that tests the emulated PMU without an operating system
 * and writes TAP to the first serial port.
 *
 * The command line says what the CPU must have: version=N width=N full=0|1
 * pt=0|1; or amd=4|6, the number of counters, with family=N, and v2=1 for
 * version 2, of which CPUID tells of v2_counters=N counters; or pmu=0. With
 * no_rdpmc=N, RDPMC does not find N counters. hybrid=1 also tests a processor
 * with two types of core. p6=1|2|3: P6, Core Duo, or Core 2 of stepping 4.
 * netburst=N is model N of NetBurst, with n15=1 its erratum, and with misc=0 it is
 * hidden in MISC_ENABLE.
 *
 * These options test only one thing each: l1_size=N l1_ways=N l1_line=N and
 * l2_* data caches, and branches=1 mispredicted branches; ack=1 status bits
 * that are cleared only while counters are on; erratum=1 Nehalem's erratum;
 * erratum=2 TSX force abort; no_writes=N counters that ignore writes; masks=N
 * version 6 with these counters; lesser=1 a second CPU with less.
 *
 * With user_disable=1 version 6 has bits that keep counters from RDPMC at CPL > 0, with
 * reload=1 auto counter reload. no_user_disable=1 tests that these bits are dropped when
 * they are written, no_user_disable=2 that this causes #GP. With lesser=2 it is CPUID of
 * the second CPU that does not show them. pebs=N has the programmable counters with
 * architectural PEBS.
 *
 * machine=N has the PMU_MACHINE_* bits that CPUID must show, if they are not
 * EXACT alone. With 99 the emulator must not be this project's, and nothing
 * else is tested. With bit SILICON only the bounds are tested. accesses=N tests
 * nothing, and accesses memory in N iterations of a loop.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "pmu-test-msr.h"

#define COM1	0x3f8

volatile u32 ticks, gp_count;
bool want_pmu = true;
u32 want_amd, want_family, want_netburst, want_no_rdpmc, want_mask, want_p6, want_pebs;
bool want_v2;
u32 want_v2_counters;
u32 want_version = 2;
u32 want_width = 48;
bool want_full = true;
bool want_pt;
bool want_branches, want_user_disable, want_reload;
u32 want_machine = PMU_MACHINE_EXACT;

static u32 tests;

static struct {
	uint16_t low, selector, type, high;
} idt[256];

static inline void outb(uint16_t port, uint8_t val)
{
	asm volatile("outb %0, %1" : : "a"(val), "Nd"(port));
}

static void print(const char *s)
{
	while (*s)
		outb(COM1, *s++);
}

static void print_dec(u32 val)
{
	char buf[12];
	int i = sizeof(buf) - 1;

	buf[i] = 0;
	do {
		buf[--i] = '0' + val % 10;
		val /= 10;
	} while (val);
	print(buf + i);
}

static void print_hex(u64 val)
{
	print("0x");
	for (int shift = 60; shift >= 0; shift -= 4)
		outb(COM1, "0123456789abcdef"[(val >> shift) & 15]);
}

void check(const char *name, bool ok)
{
	print(ok ? "ok " : "not ok ");
	print_dec(++tests);
	print(" - ");
	print(name);
	print("\n");
}

void check_eq(const char *name, u64 got, u64 want)
{
	check(name, got == want);
	if (got != want) {
		print("# got ");
		print_hex(got);
		print(", expected ");
		print_hex(want);
		print("\n");
	}
}

void note(const char *name, u64 val)
{
	print("# ");
	print(name);
	print(" ");
	print_hex(val);
	print("\n");
}

void done_testing(void)
{
	print("1..");
	print_dec(tests);
	print("\n");
}

static void set_gate(int vector, void *handler)
{
	u32 addr = (u32)handler;

	idt[vector].low = addr;
	idt[vector].selector = KERNEL_CODE;
	idt[vector].type = 0x8e00;
	idt[vector].high = addr >> 16;
}

static void set_up_interrupts(void)
{
	struct {
		uint16_t limit;
		u32 base;
	} __attribute__((packed)) idtr = { sizeof(idt) - 1, (u32)idt };

	set_gate(VECTOR_NMI, pmi_nmi);
	set_gate(VECTOR_GP, gp_fault);
	set_gate(VECTOR_PMI, pmi_vector);
	set_gate(VECTOR_TICK, tick);
	set_gate(VECTOR_USER_DONE, user_done);
	idt[VECTOR_USER_DONE].type |= 3 << 13;		/* INT at CPL 3 may call it */
	asm volatile("lidt %0" : : "m"(idtr));
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
	apic_write(APIC_SPURIOUS, 0x1ff);
}

/* Returns the number after key, or the default */
static u32 option(const char *cmdline, const char *key, u32 val)
{
	for (; *cmdline; cmdline++) {
		const char *c = cmdline, *k = key;

		while (*k && *c == *k)
			c++, k++;
		if (*k)
			continue;
		for (val = 0; *c >= '0' && *c <= '9'; c++)
			val = val * 10 + *c - '0';
		return val;
	}
	return val;
}

void bare_main(const u32 *multiboot)
{
	const char *cmdline = multiboot[0] & 4 ? (const char *)multiboot[4] : "";
	u32 accesses, ack, erratum, hybrid, lesser, masks, no_user_disable, no_writes;

	want_pmu = option(cmdline, "pmu=", want_pmu);
	want_amd = option(cmdline, "amd=", want_amd);
	want_family = option(cmdline, "family=", want_family);
	want_netburst = option(cmdline, "netburst=", 0);
	want_v2 = option(cmdline, "v2=", want_v2);
	want_v2_counters = option(cmdline, "v2_counters=", want_amd);
	want_p6 = option(cmdline, "p6=", want_p6);
	want_version = option(cmdline, "version=", want_version);
	want_width = option(cmdline, "width=", want_p6 || want_netburst ? 40 : want_width);
	want_full = option(cmdline, "full=", want_full);
	want_pt = option(cmdline, "pt=", want_pt);
	want_user_disable = option(cmdline, "user_disable=", want_user_disable);
	want_reload = option(cmdline, "reload=", want_reload);
	want_pebs = option(cmdline, "pebs=", 0);
	want_no_rdpmc = option(cmdline, "no_rdpmc=", want_no_rdpmc);
	want_branches = option(cmdline, "branches=", want_branches);
	want_machine = option(cmdline, "machine=", want_machine);
	want_l1.size = option(cmdline, "l1_size=", 0);
	want_l1.ways = option(cmdline, "l1_ways=", 0);
	want_l1.line = option(cmdline, "l1_line=", 0);
	want_l2.size = option(cmdline, "l2_size=", 0);
	want_l2.ways = option(cmdline, "l2_ways=", 0);
	want_l2.line = option(cmdline, "l2_line=", 0);
	accesses = option(cmdline, "accesses=", 0);
	ack = option(cmdline, "ack=", 0);
	erratum = option(cmdline, "erratum=", 0);
	hybrid = option(cmdline, "hybrid=", 0);
	lesser = option(cmdline, "lesser=", 0);
	masks = option(cmdline, "masks=", 0);
	want_mask = masks ? masks : (1 << NUM_GP) - 1;
	no_writes = option(cmdline, "no_writes=", 0);
	no_user_disable = option(cmdline, "no_user_disable=", 0);
	set_up_interrupts();
	test_machine();
	if (want_machine == NO_MACHINE) {
		done_testing();
		return;
	}
	if (accesses) {
		access_memory((void *)0x800000, accesses);
		check("memory was accessed", true);
		done_testing();
		return;
	}
	if (want_machine & PMU_MACHINE_SILICON) {
		test_silicon();
		if (want_reload)
			test_silicon_reload();
	} else if (want_p6 && want_l1.size) {
		test_p6_cache();
	} else if (want_l1.size || want_branches) {
		if (want_l1.size) {
			test_cache();
			test_cache_interrupts();
		}
		if (want_branches)
			test_branches();
	} else if (ack) {
		test_ack_enabled();
	} else if (erratum == 2) {
		test_tsx_force_abort();
	} else if (erratum) {
		test_erratum_nehalem();
	} else if (want_pebs) {
		test_pebs();
	} else if (masks) {
		test_masks();
		test_user_disable();
		test_reload();
	} else if (no_user_disable) {
		test_no_user_disable(no_user_disable == 2);
	} else if (lesser == 2) {
		test_lesser_user_disable();
	} else if (lesser) {
		test_lesser();
	} else if (no_writes) {
		test_no_writes(no_writes);
	} else if (want_no_rdpmc) {
		test_no_rdpmc();
	} else if (want_netburst && !option(cmdline, "misc=", 1)) {
		test_misc_enable(false);
	} else if (want_netburst && option(cmdline, "n15=", 0)) {
		test_erratum_n15();
	} else if (want_netburst) {
		test_netburst();
		test_counting();
		test_interrupts();
		test_resume_flag();
		test_init();
	} else if (want_amd) {
		if (want_v2)
			test_amd_v2();
		else
			test_no_amd_v2();
		test_amd();
		test_counting();
		test_interrupts();
		test_resume_flag();
		test_init();
	} else if (want_p6) {
		test_p6();
		test_counting();
		test_interrupts();
		test_resume_flag();
		test_init();
	} else if (want_pmu) {
		test_registers();
		test_counting();
		test_interrupts();
		test_resume_flag();
		test_version();
		if (hybrid) {
			test_hybrid();
			test_big_core();
		} else if (has_global()) {
			test_init();
		}
		if (want_version >= 6) {
			test_user_disable();
			test_reload();
			test_pebs();
		}
	} else {
		test_no_pmu();
	}
	if (want_pt)
		test_pt();
	else
		test_no_pt();
	test_crystal(option(cmdline, "crystal=", 1) &&
		     (want_pmu || !(want_machine & PMU_MACHINE_PARALLEL)));
	done_testing();
}
