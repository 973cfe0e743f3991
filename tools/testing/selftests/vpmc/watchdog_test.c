// SPDX-License-Identifier: GPL-2.0
/*
 * The hard-lockup watchdog is a perf event on every CPU. The watchdog on one side,
 * programmed sets and counters of CPUs on the other side exclude each other, and
 * a refusal names the watchdog. For a
 * machine with nmi_watchdog=1 on the command line, except for the first test.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "global.h"
#include "interrupts.h"
#include "perf.h"

#define WATCHDOG_FILE	"/proc/sys/kernel/nmi_watchdog"

static const struct choice both[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
};

static int watchdog(void)
{
	return read_number(WATCHDOG_FILE);
}

static int set_watchdog(const char *value)
{
	return write_file(WATCHDOG_FILE, value);
}

/* The watchdog has the PMU: perf counts beside it, a set is refused. */
static void watchdog_has_it(struct __test_metadata *_metadata)
{
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int cpu;

	ASSERT_LE(0, set.fd);
	EXPECT_EQ(VPMC_HOLDER_WATCHDOG, pmu_holder(set.fd));
	EXPECT_EQ(-EBUSY, set_program(&set, both));
	EXPECT_EQ(VPMC_REASON_PMU_WATCHDOG, set.control.reason);
	EXPECT_EQ(2, set.control.bad_counter);
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(10000));
	}
	set_close(&set);
}

static void set_counts(struct __test_metadata *_metadata, struct set *set)
{
	int cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(set, code_loop, 10000, 0));
		EXPECT_EQ(0, wrong_after(set, CODE_LOOP(10000)));
	}
}

/* It is off: a set gets the PMU and counts. The set stays programmed. */
static void set_has_it(struct __test_metadata *_metadata, struct set *set)
{
	set->page = MAP_FAILED;
	set->fd = vpmc_open();
	ASSERT_LE(0, set->fd);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
	ASSERT_EQ(0, set_program(set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set->fd));
	set_counts(_metadata, set);
}

/* The same, but the set is closed again. */
static void set_can_have_it(struct __test_metadata *_metadata)
{
	struct set set;

	set_has_it(_metadata, &set);
	set_close(&set);
}

/* The watchdog has it until it is switched off, then a set can. */
static void watchdog_gives_it_up(struct __test_metadata *_metadata)
{
	watchdog_has_it(_metadata);
	ASSERT_EQ(0, set_watchdog("0"));
	set_can_have_it(_metadata);
}

/* For the machine without an argument: it must not take the PMU. */
TEST(off_by_default)
{
	EXPECT_EQ(0, watchdog());
	set_can_have_it(_metadata);
}

TEST(on_from_boot)
{
	EXPECT_EQ(1, watchdog());
	watchdog_gives_it_up(_metadata);
}

TEST(switched)
{
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, set_watchdog("1"));
		watchdog_gives_it_up(_metadata);
	}
}

/*
 * If it is switched on while a set has the PMU, it cannot start, and the kernel
 * reports nothing. It tries again when it is switched on anew.
 */
TEST(switched_on_while_held)
{
	struct set set;

	set_has_it(_metadata, &set);
	EXPECT_EQ(0, set_watchdog("1"));
	EXPECT_EQ(1, watchdog());
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set.fd));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	set_counts(_metadata, &set);
	set_close(&set);

	EXPECT_EQ(0, perf_error(10000));
	set_can_have_it(_metadata);

	ASSERT_EQ(0, set_watchdog("0"));
	ASSERT_EQ(0, set_watchdog("1"));
	watchdog_gives_it_up(_metadata);
}

/* Or on a CPU that comes online. */
TEST(started_on_one_cpu)
{
	struct set set;

	set_has_it(_metadata, &set);
	EXPECT_EQ(0, set_watchdog("1"));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	set_counts(_metadata, &set);
	set_close(&set);
	set_can_have_it(_metadata);

	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	watchdog_gives_it_up(_metadata);
}

/* What a CPU's loop adds to its counters, in each of three loops. */
static void cpus_count(struct __test_metadata *_metadata, int fd)
{
	uint64_t constant;
	int cpu;

	ASSERT_EQ(0, global_program(fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(fd));
	EXPECT_EQ(VPMC_HOLDER_GLOBAL, pmu_holder(fd));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		constant = global_sum_of_loop(fd, cpu, 1) - 2;
		EXPECT_EQ(constant,
			  global_sum_of_loop(fd, cpu, 5000) - 2 * 5000);
	}
}

/* Counters of CPUs are refused while the watchdog runs, and it while they run. */
TEST(against_cpus)
{
	struct vpmc_global_control control;
	int fd = global_open(), cpu;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_watchdog("1"));
	EXPECT_EQ(VPMC_HOLDER_WATCHDOG, pmu_holder(fd));
	global_init(&control, VPMC_ALL_CPUS, two);
	EXPECT_EQ(-EBUSY, global_control(fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_WATCHDOG, control.reason);
	EXPECT_EQ(2, control.bad_counter);
	/* It takes the PMU from threads, and not from the watchdog. */
	control.flags = VPMC_GLOBAL_REVOKE;
	EXPECT_EQ(-EBUSY, global_control(fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_WATCHDOG, control.reason);
	EXPECT_EQ(-ENODATA, global_start(fd));
	EXPECT_EQ(VPMC_HOLDER_WATCHDOG, pmu_holder(fd));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(10000));
	}

	ASSERT_EQ(0, set_watchdog("0"));
	cpus_count(_metadata, fd);
	/* It cannot start, and the counters go on. */
	EXPECT_EQ(0, set_watchdog("1"));
	EXPECT_EQ(VPMC_HOLDER_GLOBAL, pmu_holder(fd));
	ASSERT_EQ(0, global_stop(fd));
	cpus_count(_metadata, fd);
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(VPMC_CPU_RUNNING, global_state(fd, 1));
	ASSERT_EQ(0, global_stop(fd));
	cpus_count(_metadata, fd);

	close(fd);
	ASSERT_EQ(0, set_watchdog("0"));
	ASSERT_EQ(0, set_watchdog("1"));
	watchdog_gives_it_up(_metadata);
}

/* A set that borrows other counters needs none of the watchdog's. */
TEST(beside_a_set)
{
	static const struct choice ours[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 2 }, {}
	};
	struct set set;
	long before;
	int i;

	ASSERT_EQ(0, set_watchdog("1"));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_counters", "shared 2,1"));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/watchdog_thresh", "1"));
	set.page = MAP_FAILED;
	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	ASSERT_EQ(0, set_program(&set, ours));
	set_counts(_metadata, &set);
	/* The watchdog's are the only NMIs here. */
	before = interrupts("NMI", 1);
	for (i = 0; i < 100 && interrupts("NMI", 1) < before + 2; i++) {
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&set, code_loop, 30000000, 0));
		EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(30000000)));
	}
	EXPECT_LE(before + 2, interrupts("NMI", 1));
	/* perf's other events, too. */
	EXPECT_EQ(0, perf_error(10000));
	set_close(&set);
	ASSERT_EQ(0, write_file("/proc/sys/kernel/watchdog_thresh", "10"));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_counters", "all"));
	watchdog_gives_it_up(_metadata);
}

/* Another event of perf, while the watchdog does not run. */
TEST(perf_is_not_the_watchdog)
{
	struct set set;
	int event;

	ASSERT_EQ(0, watchdog());
	event = perf_open_insns();
	ASSERT_LE(0, event);
	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set.fd));
	EXPECT_EQ(-EBUSY, set_program(&set, both));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, set.control.reason);
	ASSERT_EQ(0, close(event));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
