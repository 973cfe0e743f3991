// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs whose PMUs differ: a hybrid processor's two types of core, one CPU that has
 * less than the others, and counters whose numbers have a gap.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include "beside.h"
#include "global.h"
#include "log.h"
#include "perf.h"

#define LEAF_TYPE	0x1a
#define TYPE_SMALL	0x20
#define TYPE_BIG	0x40

/* A CPU that has less than the others, and is offline at first. */
#define LESSER_CPU	3

/* A counter that only big cores have. */
#define BIG_COUNTER	4

#define EVTSEL0		0x186
#define EVTSEL_ENABLE	(1 << 22)
#define FIXED_CTR_CTRL	0x38d

static const struct choice four[] = {
	{ EV_BRANCHES, 3 }, { EV_INSNS, 0 }, { EV_INSNS, FIXED(0) },
	{ EV_CYCLES, FIXED(1) }, {}
};

/* The type of core of a CPU, as CPUID says, or a negative number. */
static int core_type(int cpu)
{
	unsigned int eax, ebx, ecx, edx;

	if (pin(cpu) || !__get_cpuid_count(LEAF_TYPE, 0, &eax, &ebx, &ecx, &edx))
		return -1;
	return eax >> 24;
}

/* CONTROL of one counter: 0, or -errno with the reason in @reason. */
static int control_one(uint64_t evtsel, uint32_t index, uint32_t *reason)
{
	struct vpmc_control control;
	int fd = vpmc_open();
	int err;

	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, EV_INSNS, VPMC_ANY);
	control_choose(&control, evtsel, index);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	if (!err)
		vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
	close(fd);
	*reason = control.reason;
	/* Not the first element, which counts everywhere. */
	return err && control.bad_counter != 1 ? -EPROTO : err;
}

/* What all have is there, and no more. */
TEST(common_counters)
{
	int cpu;

	EXPECT_EQ(VPMC_KIND_INTEL, machine.kind);
	EXPECT_TRUE(machine.features & VPMC_FEATURE_HYBRID);
	EXPECT_EQ(0xf, machine.gp_mask);
	EXPECT_EQ(0x7, machine.fixed_mask);
	for (cpu = 0; cpu < 4; cpu++)
		EXPECT_EQ(cpu & 1 ? TYPE_BIG : TYPE_SMALL, core_type(cpu));
}

/* A counter of one type of core is none. */
TEST(counters_of_one_type)
{
	uint32_t reason;

	EXPECT_EQ(-EINVAL, control_one(EV_INSNS, BIG_COUNTER, &reason));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX, reason);
	EXPECT_EQ(-EINVAL, control_one(EV_INSNS, FIXED(3), &reason));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX, reason);
}

/*
 * Test events, loads that hit L1, what precise events need, off-core responses, and
 * slots, which fixed counter 3 counts; also architectural ones with another mask.
 */
TEST(events_of_one_type)
{
	static const uint64_t event[] = {
		0x100f0, 0x101d1, 0x101cd, 0x101b7, 0x10400, 0x10500, 0x101c0,
		0x1003d, 0x102c4,
	};
	uint32_t reason;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event); i++) {
		EXPECT_EQ(-EOPNOTSUPP, control_one(event[i], VPMC_ANY, &reason));
		EXPECT_EQ(VPMC_REASON_CORE_TYPE, reason);
	}
}

/* The others: edge, invert and counter mask make no other event of one. */
TEST(common_events)
{
	static const uint64_t event[] = {
		EV_INSNS, EV_BRANCHES, EV_CYCLES, 0x1013c, 0x10100, 0x10200,
		EV_REF, EV_INSNS | 1 << 18, EV_INSNS | 1 << 24,
		EV_CYCLES | 1 << 23 | 1 << 24,
	};
	uint32_t reason;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event); i++)
		EXPECT_EQ(0, control_one(event[i], VPMC_ANY, &reason));
	/* CPUID says that this one is not there. */
	EXPECT_EQ(-EOPNOTSUPP, control_one(0x1412e, VPMC_ANY, &reason));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason);
}

/* A thread goes from each type to the other, a thousand times. */
TEST(migrations)
{
	static const long mask[2] __attribute__((aligned(16))) = { 1, 2 };
	struct vpmc_read read;
	struct set set;

	ASSERT_EQ(TYPE_BIG, core_type(1));
	ASSERT_EQ(TYPE_SMALL, core_type(0));
	ASSERT_EQ(0, set_open(&set, four));
	ASSERT_EQ(0, set_measure(&set, code_migrate, (long)mask, 1000));
	EXPECT_EQ(0, wrong_after(&set, CODE_MIGRATE(1000)));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(1000, read.migrations);
	set_close(&set);
}

/* Of four numbers the one in the middle has no counter. */
TEST(gap)
{
	uint32_t reason;
	struct set set;

	EXPECT_EQ(6, machine.pmu_version);
	EXPECT_EQ(0xd, machine.gp_mask);
	EXPECT_EQ(3, machine.nr_gp);
	EXPECT_EQ(0x7, machine.fixed_mask);
	EXPECT_EQ(-EINVAL, control_one(EV_BRANCHES, 1, &reason));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX, reason);
	/* umask2 and eq, which version 6 may have */
	EXPECT_EQ(-EINVAL, control_one(EV_INSNS | 1ULL << 40, VPMC_ANY, &reason));
	EXPECT_EQ(VPMC_REASON_RESERVED_BIT, reason);
	EXPECT_EQ(-EINVAL, control_one(EV_INSNS | 1ULL << 36, VPMC_ANY, &reason));
	EXPECT_EQ(VPMC_REASON_RESERVED_BIT, reason);

	ASSERT_EQ(0, set_open(&set, (struct choice[]){
			      { EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
			      { EV_BRANCHES, VPMC_ANY }, {} }));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&set);
}

/* perf and vpmc take turns, with the same counters. */
TEST(perf_counts)
{
	/* The event counts on one type of core. */
	ASSERT_EQ(0, pin(0));
	EXPECT_EQ(0, perf_error(1000));
	EXPECT_EQ(0, perf_error(100000));
}

/* A CPU that has less was there at boot: nothing but run time. */
TEST(lesser_at_boot)
{
	struct vpmc_control control;
	int fd = vpmc_open();

	EXPECT_EQ(VPMC_KIND_TSC, machine.kind);
	EXPECT_EQ(0, machine.gp_mask | machine.fixed_mask);
	EXPECT_NE(NULL, strstr(kernel_log(), "vpmc: CPU 3 has "));
	/* By hand: control_add() asks for no counter where there is no PMU. */
	control_init(&control, VPMC_CONTROL_STOPPED);
	control.nr_counters = 1;
	control.counter[0].evtsel = EV_INSNS;
	control.counter[0].index = VPMC_ANY;
	EXPECT_NE(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	close(fd);
}

/*
 * A CPU that has less comes online: the sets are revoked, and no set gets counters
 * any more. What they counted until then stands. perf can have the PMU.
 */
static void lesser_ends_a_set(struct __test_metadata *_metadata)
{
	struct vpmc_control control;
	struct vpmc_read read;
	struct set set;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, four));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, times_in_log("vpmc: CPU"));

	ASSERT_EQ(0, set_cpu_online(LESSER_CPU, "1"));
	EXPECT_EQ(VPMC_STATE_REVOKED, set.page->state);
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_LE(2 * 1000, read.sum[2]);
	EXPECT_EQ(1, times_in_log("vpmc: CPU"));
	EXPECT_EQ(1, times_in_log("vpmc: CPU 3 has "));

	control_of(&control, four, VPMC_CONTROL_STOPPED);
	EXPECT_EQ(-ENODEV, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	/* The administrator cannot give what is not there. */
	EXPECT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	EXPECT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	EXPECT_EQ(-ENODEV, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000));

	/* Not even without that CPU; and it says nothing when it comes again. */
	ASSERT_EQ(0, set_cpu_online(LESSER_CPU, "0"));
	EXPECT_EQ(-ENODEV, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control));
	ASSERT_EQ(0, set_cpu_online(LESSER_CPU, "1"));
	EXPECT_EQ(1, times_in_log("vpmc: CPU"));

	/* Run time is left. */
	control_init(&control, 0);
	EXPECT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control));
	set_close(&set);
}

/* It comes once per boot, so each of these has a guest. */
TEST(lesser_comes)
{
	lesser_ends_a_set(_metadata);
}

/* perf lends the counters. */
TEST(lesser_comes_to_borrowers)
{
	ASSERT_EQ(0, choose_counters("shared 4,3"));
	lesser_ends_a_set(_metadata);
	EXPECT_EQ(0, choose_counters("all"));
}

/* Returns how many registers of a CPU are not off, or -1. */
static int left_on(int cpu)
{
	uint64_t select, fixed = ~0ULL;
	char path[64];
	int fd, i, n;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	n = pread(fd, &fixed, sizeof(fixed), FIXED_CTR_CTRL) == sizeof(fixed) ?
	    fixed != 0 : -1;
	for (i = 0; n >= 0 && i < machine.nr_gp; i++) {
		if (pread(fd, &select, sizeof(select), EVTSEL0 + i) !=
		    sizeof(select))
			n = -1;
		else
			n += !!(select & EVTSEL_ENABLE);
	}
	close(fd);
	return n;
}

/* CPUs count for all threads: that ends, and their sums stand. */
TEST(lesser_comes_to_cpus)
{
	struct vpmc_global_cpu before[GLOBAL_CPUS], after[GLOBAL_CPUS];
	struct vpmc_global_control control;
	int fd = global_open(), cpu, i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, global_program(fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(fd));
	EXPECT_EQ(0, loops_on_others(LESSER_CPU, 1000));
	EXPECT_LT(0, left_on(1));

	ASSERT_EQ(0, set_cpu_online(LESSER_CPU, "1"));
	EXPECT_EQ(1, times_in_log("vpmc: CPU 3 has "));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));
	for (cpu = 0; cpu < 4; cpu++)
		EXPECT_EQ(0, left_on(cpu));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(4, global_read(fd, i ? after : before));
		EXPECT_EQ(0, loops_on_others(4, 1000));
	}
	EXPECT_EQ(0, memcmp(before, after, 4 * sizeof(*after)));
	for (cpu = 0; cpu < 4; cpu++)
		EXPECT_EQ(VPMC_CPU_STOPPED, after[cpu].state);
	EXPECT_LE(2 * 1000, after[1].sum[0]);
	EXPECT_EQ(0, after[LESSER_CPU].sum[0]);

	EXPECT_EQ(-ENODATA, global_start(fd));
	global_init(&control, VPMC_ALL_CPUS, two);
	EXPECT_EQ(-ENODEV, global_control(fd, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	EXPECT_EQ(0, perf_error(1000));
	close(fd);
	fd = global_open();
	EXPECT_EQ(VPMC_CPU_ABSENT, global_state(fd, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));
	close(fd);
}

static bool has_gap(void)
{
	return machine.gp_mask != (1ULL << machine.nr_gp) - 1;
}

static bool is_hybrid(void)
{
	return machine.features & VPMC_FEATURE_HYBRID;
}

NEEDS(
	{ "global.gap", EXACT | ROOT, "counters with gaps between their numbers", NULL, has_gap },
	{ "global.perf_counts", EXACT | ROOT },
	/* The kernel uses no PMU there. */
	{ "global.lesser_at_boot", STEADY | ROOT, "four CPUs", "/sys/devices/system/cpu/cpu3" },
	{ "global.lesser*", EXACT | DISTURBS | ROOT, "four CPUs", "/sys/devices/system/cpu/cpu3" },
	{ "*", EXACT | ROOT, "cores of two types", NULL, is_hybrid },
);

TEST_HARNESS_MAIN
