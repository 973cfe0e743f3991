// SPDX-License-Identifier: GPL-2.0
/*
 * Processors with errata: events by which one hyper-thread spoils what the other
 * one counts. And hypervisors that have fewer counters than they say.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "perf.h"

/* Why an event of that number is refused. */
static unsigned int reason_for(uint64_t event)
{
	struct vpmc_control control;
	int fd = vpmc_open();
	int err;

	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, 0x10100 | event, VPMC_ANY);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	if (!err)
		vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
	close(fd);
	if (err && (err != -EOPNOTSUPP || control.bad_counter))
		return ~0U;
	return err ? control.reason : VPMC_REASON_NONE;
}

TEST(two_threads_to_a_core)
{
	EXPECT_EQ(VPMC_REASON_NONE, reason_for(0xcf));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd0));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd1));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd2));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd3));
	EXPECT_EQ(VPMC_REASON_NONE, reason_for(0xd4));
}

/* There is nobody to be disturbed. */
TEST(one_thread_to_a_core)
{
	uint64_t event;

	for (event = 0xcf; event <= 0xd4; event++)
		EXPECT_EQ(VPMC_REASON_NONE, reason_for(event));
}

/*
 * CPUID names counters that RDPMC does not find, as under some hypervisors: the
 * switch would die of them, so there are none. perf's one event has one that works.
 */
TEST(fewer_counters)
{
	struct vpmc_control control;
	struct vpmc_info info;
	int fd = vpmc_open(), perf;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_info(fd, &info));
	EXPECT_LE(4, info.nr_gp);
	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, EV_INSNS, VPMC_ANY);
	EXPECT_EQ(-ENODEV, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));

	/* What it tried is given back, and the run time is there. */
	perf = perf_open_insns();
	EXPECT_LE(0, perf);
	close(perf);
	control_init(&control, 0);
	EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	close(fd);
}

TEST_HARNESS_MAIN
