// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that other drivers of performance counters had. vpmc must not have
 * them. Documentation/arch/x86/vpmc.rst lists these tests with those of other
 * files.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include <sys/mman.h>
#include "beside.h"
#include "disturb.h"
#include "overflow.h"
#include "rdpmc.h"

#define TURNS		5000
#define GLOBAL_CTRL	0x38f
#define SELECT(i)	(0x186 + (i))
#define FIXED_CTRL	0x38d

/* Of user and kernel mode: they count while others are being switched to. */
static const struct choice live[] = {
	{ 0x300c4, 0 }, { 0x300c0, 1 }, { 0x300c4, 2 }, { 0x300c0, 3 }, {}
};

static const struct choice mine[] = {
	{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, { EV_INSNS, 2 }, {}
};

static const struct choice others[] = {
	{ EV_BRANCHES, 0 }, { EV_INSNS, 1 }, { EV_BRANCHES, 2 }, {}
};

/*
 * CPU 0, CPU 1, CPU 0: the first one still has the selection of before, which
 * the set had changed on the other.
 */
TEST(stale_selection)
{
	struct set set;
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, mine));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, pin(0));
		ASSERT_EQ(0, set_program(&set, mine));
		ASSERT_EQ(0, set_measure(&set, code_loop, TURNS, 0));
		EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(TURNS)));
		ASSERT_EQ(0, pin(1));
		ASSERT_EQ(0, set_program(&set, others));
		ASSERT_EQ(0, set_measure(&set, code_loop, TURNS, 0));
		EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(TURNS)));
		ASSERT_EQ(0, pin(0));
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&set, code_loop, TURNS, 0));
		EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(TURNS)));
	}
	set_close(&set);
}

/* A counter is written or selected anew while it counts for another thread. */
TEST(live_counters)
{
	const struct timespec ts = short_sleep(100000);
	struct vpmc_read read;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, pin(0));
	pid = start_counting_preempter(0, 50000, live);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, set_open(&set, mine));
	ASSERT_EQ(0, set_measure(&set, code_sleep, (long)&ts, 200));
	EXPECT_EQ(0, wrong_after(&set, CODE_SLEEP(200)));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_LE(200, read.switches);
	EXPECT_EQ(0, stop_disturber(pid));
	set_close(&set);
}

static uint64_t rdmsr(int fd, uint32_t msr)
{
	uint64_t value;

	return pread(fd, &value, sizeof(value), msr) == sizeof(value) ?
	       value : ~0ULL;
}

static int wrmsr(int fd, uint32_t msr, uint64_t value)
{
	return pwrite(fd, &value, sizeof(value), msr) == sizeof(value) ? 0 : -1;
}

/* Counters that another user left enabled do not count beside a set. */
TEST(stale_enable_bits)
{
	static const uint32_t stale[] = { 0, 1, 2, FIXED(0) };
	uint64_t before[4], global, fixed, select;
	unsigned int i;
	struct set set;
	int msr;

	msr = open("/dev/cpu/0/msr", O_RDWR);
	ASSERT_LE(0, msr);
	ASSERT_EQ(0, pin(0));
	global = rdmsr(msr, GLOBAL_CTRL);
	fixed = rdmsr(msr, FIXED_CTRL);
	select = rdmsr(msr, SELECT(0));
	ASSERT_EQ(0, wrmsr(msr, GLOBAL_CTRL, 0x70000000fULL));
	ASSERT_EQ(0, wrmsr(msr, FIXED_CTRL, 0x333));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, wrmsr(msr, SELECT(i), 0x4300c0));

	ASSERT_EQ(0, set_open(&set, (struct choice[]){ { EV_INSNS, 3 }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 4; i++)
		before[i] = vpmc_rdpmc(stale[i]);
	code_syscalls(100, 0);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(before[i], vpmc_rdpmc(stale[i]));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	set_close(&set);

	/* What was there before the first set is there after the last one. */
	EXPECT_EQ(0x70000000fULL, rdmsr(msr, GLOBAL_CTRL));
	EXPECT_EQ(0x333, rdmsr(msr, FIXED_CTRL));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, wrmsr(msr, SELECT(i), select));
	EXPECT_EQ(0, wrmsr(msr, FIXED_CTRL, fixed));
	EXPECT_EQ(0, wrmsr(msr, GLOBAL_CTRL, global));
}

/* IA32_DEBUGCTL: the processor changes GLOBAL_CTRL at interrupts, and for SMM. */
#define DEBUGCTL	0x1d9
#define FREEZES		(1 << 12 | 1 << 14)
#define FREEZE_ON_SMI	"/sys/bus/event_source/devices/cpu/freeze_on_smi"

TEST(freezes)
{
	int msr = open("/dev/cpu/0/msr", O_RDWR);
	int on = read_number(FREEZE_ON_SMI);
	const char *other = on ? "0" : "1";
	uint64_t before;
	struct set set;

	ASSERT_LE(0, msr);
	ASSERT_LE(0, on);
	ASSERT_EQ(0, pin(0));
	before = rdmsr(msr, DEBUGCTL);
	ASSERT_EQ(0, wrmsr(msr, DEBUGCTL, before | FREEZES));
	ASSERT_EQ(FREEZES, rdmsr(msr, DEBUGCTL) & FREEZES);

	/* Over the ends of small counters. A CPU is taken when a set is loaded there. */
	ASSERT_EQ(0, set_open(&set, mine));
	ASSERT_EQ(0, set_measure(&set, code_loop, 20000000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(20000000)));
	EXPECT_EQ(0, rdmsr(msr, DEBUGCTL) & FREEZES);
	EXPECT_EQ(-EBUSY, write_file(FREEZE_ON_SMI, other));
	EXPECT_EQ(0, rdmsr(msr, DEBUGCTL) & FREEZES);
	EXPECT_EQ(on, read_number(FREEZE_ON_SMI));
	set_close(&set);

	EXPECT_EQ(FREEZES, rdmsr(msr, DEBUGCTL) & FREEZES);
	EXPECT_EQ(0, wrmsr(msr, DEBUGCTL, before));
	EXPECT_EQ(0, write_file(FREEZE_ON_SMI, other));
	EXPECT_EQ(!on << 14, rdmsr(msr, DEBUGCTL) & FREEZES);
	EXPECT_EQ(0, write_file(FREEZE_ON_SMI, on ? "1" : "0"));
	EXPECT_EQ(before, rdmsr(msr, DEBUGCTL));
}

/* While sets use borrowed counters, a new value of the file has to wait. */
TEST(freezes_beside)
{
	static const struct choice borrowed[] = {
		{ EV_INSNS, 1 }, { EV_BRANCHES, 2 }, {}
	};
	int msr = open("/dev/cpu/0/msr", O_RDWR);
	int before = read_number(FREEZE_ON_SMI);
	struct set set;
	int i;

	ASSERT_LE(0, msr);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, choose_counters("shared"));
	for (i = 0; i < 4; i++) {
		int on = i >> 1;
		int wanted = i & 1;

		ASSERT_EQ(0, write_file(FREEZE_ON_SMI, on ? "1" : "0"));
		EXPECT_EQ(on << 14, rdmsr(msr, DEBUGCTL) & FREEZES);
		ASSERT_EQ(0, set_open(&set, borrowed));
		ASSERT_EQ(0, set_measure(&set, code_loop, TURNS, 0));
		EXPECT_EQ(0, rdmsr(msr, DEBUGCTL) & FREEZES);
		EXPECT_EQ(0, write_file(FREEZE_ON_SMI, wanted ? "1" : "0"));
		EXPECT_EQ(0, rdmsr(msr, DEBUGCTL) & FREEZES);
		EXPECT_EQ(wanted, read_number(FREEZE_ON_SMI));
		set_close(&set);
		EXPECT_EQ(wanted << 14, rdmsr(msr, DEBUGCTL) & FREEZES);
	}
	EXPECT_EQ(0, write_file(FREEZE_ON_SMI, before ? "1" : "0"));
	EXPECT_EQ(0, choose_counters("all"));
}

#define GLOBAL_STATUS	0x38e
#define COUNTER(i)	(0x4c1 + (i))

/*
 * An overflow of a counter without interrupt was not reported. perf must not
 * find it when it gets the PMU back.
 */
TEST(overflow_bits)
{
	int msr = open("/dev/cpu/0/msr", O_RDWR);
	struct set set;

	ASSERT_LE(0, msr);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, set_open(&set, mine));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	ASSERT_EQ(0, wrmsr(msr, COUNTER(0), (1ULL << 48) - 10));
	ASSERT_EQ(0, wrmsr(msr, SELECT(0), 0x4300c0));
	ASSERT_EQ(0, wrmsr(msr, GLOBAL_CTRL, 1));
	code_loop(1000, 0);
	ASSERT_EQ(0, wrmsr(msr, GLOBAL_CTRL, 0));
	ASSERT_EQ(1, rdmsr(msr, GLOBAL_STATUS) & 1);
	set_close(&set);
	EXPECT_EQ(0, rdmsr(msr, GLOBAL_STATUS));
}

#define LOCAL_APIC	0xfee00000
#define LVTPC		0x340
#define LVT_MASKED	(1 << 16)

/*
 * An NMI after perf's last event has left LVTPC masked. A set that borrows counters
 * is interrupted all the same.
 */
TEST(masked_entry)
{
	volatile uint32_t *apic;
	struct set set;
	int mem = open("/dev/mem", O_RDWR | O_SYNC);

	ASSERT_LE(0, mem);
	apic = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem, LOCAL_APIC);
	ASSERT_NE(MAP_FAILED, (void *)apic);
	ASSERT_EQ(0, choose_counters("shared"));
	ASSERT_EQ(0, pin(0));
	apic[LVTPC / 4] |= LVT_MASKED;
	ASSERT_EQ(LVT_MASKED, apic[LVTPC / 4] & LVT_MASKED);
	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	set.page = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, set.page);
	control_init(&set.control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	control_add_period(&set.control, EV_INSNS, FIXED(0), 1000);
	ASSERT_EQ(0, set_control(&set));
	ASSERT_EQ(0, set_measure(&set, code_loop, 2000, 0));
	EXPECT_EQ(measured(2000).insns / 1000, page_of(&set)->overflows);
	EXPECT_EQ(0, page_of(&set)->merged);
	EXPECT_EQ(0, apic[LVTPC / 4] & LVT_MASKED);
	set_close(&set);
	EXPECT_EQ(0, choose_counters("all"));
}

static bool has_memory_device(void)
{
	return access("/dev/mem", R_OK | W_OK) == 0;
}

NEEDS(
	{ "global.masked_entry", EXACT | ROOT, "/dev/mem", NULL, has_memory_device },
	{ "*", EXACT | ROOT },
);

TEST_HARNESS_MAIN
