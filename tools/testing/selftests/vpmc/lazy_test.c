// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU's registers are taken when a set first runs there, and handed back where
 * they were taken. All other CPUs are left alone.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "interrupts.h"
#include "perf.h"

#define PAIRS		10000
#define MSR_PMC0	0xc1

static const struct choice one[] = { { EV_INSNS, 0 }, {} };

static uint64_t pmc0_of(int cpu)
{
	char path[32];
	uint64_t value = ~0ULL;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	if (pread(fd, &value, sizeof(value), MSR_PMC0) != sizeof(value))
		value = ~0ULL;
	close(fd);
	return value;
}

/* A set that counts on this CPU for a moment, so often. 0 or not. */
static int come_and_go(int n)
{
	int wrong = 0;

	while (n-- && !wrong) {
		struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };

		wrong = set.fd < 0 || set_program(&set, one) ||
			vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
			pmu_holder(set.fd) != VPMC_HOLDER_VPMC ||
			vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0) ||
			pmu_holder(set.fd) != VPMC_HOLDER_NONE;
		set_close(&set);
	}
	return wrong;
}

/*
 * The first set since the machine was started prepares nothing on other CPUs. This is
 * the first program that runs.
 */
TEST(first_set_interrupts_nobody)
{
	long before;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, wait_until_left_alone(1));
	before = function_calls(1);
	ASSERT_EQ(0, come_and_go(1));
	/* Work that was left for later has been done. */
	sleep(1);
	EXPECT_EQ(before, function_calls(1));
}

/*
 * Nothing else needs CPU 1: it is isolated. If it never ran an address space, a
 * change of that one's permission to use RDPMC does not interrupt it either.
 */
TEST(stranger_is_not_interrupted)
{
	long before;
	pid_t pid;

	/* Registers that were taken before were handed back. */
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, come_and_go(1));
	ASSERT_EQ(0, pin(0));
	pid = fork();
	if (!pid) {
		if (wait_until_left_alone(1))
			_exit(2);
		before = function_calls(1);
		if (before < 0 || come_and_go(PAIRS))
			_exit(3);
		before = function_calls(1) - before;
		if (before)
			fprintf(stderr, "# %ld interrupts\n", before);
		_exit(before != 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* Only CPUs where a set has run are used, until the last claim ends. */
TEST(taken_where_it_runs)
{
	struct set set = {}, other = {};

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, one));
	/* A set that stands uses no CPU. */
	EXPECT_EQ(0, pmc0_of(0));
	EXPECT_EQ(0, pmc0_of(1));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	EXPECT_NE(0, pmc0_of(0));
	EXPECT_EQ(0, pmc0_of(1));

	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(0, pmc0_of(1));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	EXPECT_NE(0, pmc0_of(0));
	EXPECT_NE(0, pmc0_of(1));

	set_close(&set);
	EXPECT_EQ(0, pmc0_of(0));
	EXPECT_EQ(0, pmc0_of(1));
	EXPECT_EQ(0, perf_error(1000));
	/* Once more. */
	ASSERT_EQ(0, set_open(&other, one));
	ASSERT_EQ(0, set_measure(&other, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&other, CODE_LOOP(1000)));
	EXPECT_EQ(0, pmc0_of(0));
	EXPECT_NE(0, pmc0_of(1));
	set_close(&other);
	EXPECT_EQ(0, pmc0_of(1));
	EXPECT_EQ(0, perf_error(1000));
}

/* A revocation interrupts only CPUs whose registers belong to vpmc. */
TEST(revoked_where_it_runs)
{
	struct set set = {};

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_open(&set, one));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, pmc0_of(0));
	EXPECT_NE(0, pmc0_of(1));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	EXPECT_EQ(0, pmc0_of(1));
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	/* The old set takes nothing. */
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, pmc0_of(1));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&set);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
