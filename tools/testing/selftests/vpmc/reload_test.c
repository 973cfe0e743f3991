// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that perf has used with auto counter reload: an overflow of one counter sets
 * others back. perf leaves that in the counters' registers. A set that borrows such a
 * counter afterwards counts right, while perf's counters overflow.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"

#define ACR_MASK	"/sys/bus/event_source/devices/cpu/format/acr_mask"
#define TURNS		20000
#define PERIOD		1000

/* One event for each programmable counter. An overflow of any reloads all of them. */
static int open_reloaded(int leader, bool pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = EV_BRANCHES & 0xffff,
		.config2 = (1 << machine.nr_gp) - 1,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = leader < 0,
		.pinned = pinned,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);

	return fd < 0 ? -errno : fd;
}

/* perf's events that overflow, on the counters that it keeps. */
static int open_overflowing(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = EV_BRANCHES & 0xffff,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	return fd < 0 ? -errno : fd;
}

static int leave_reloads(void)
{
	int fd[MAX_GP] = {}, err = 0;
	uint32_t i;

	for (i = 0; i < machine.nr_gp; i++) {
		fd[i] = open_reloaded(i ? fd[0] : -1, false);
		if (fd[i] < 0)
			return fd[i];
	}
	if (ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP))
		err = -errno;
	code_loop(TURNS, 0);
	while (i--)
		close(fd[i]);
	return err;
}

FIXTURE(reload)
{
	struct set set;
	int perf;
};

FIXTURE_SETUP(reload)
{
	ASSERT_EQ(0, choose_counters("all"));
	ASSERT_EQ(0, pin(0));
	self->perf = -1;
}

FIXTURE_TEARDOWN(reload)
{
	if (self->perf >= 0)
		close(self->perf);
	set_close(&self->set);
	EXPECT_EQ(0, choose_counters("all"));
}

static void expect_right(struct __test_metadata *_metadata, struct set *set)
{
	const struct code_count want = measured(TURNS);
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, TURNS, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(want.branches, read.sum[0]);
	EXPECT_EQ(want.insns, read.sum[1]);
}

/* The set has the counters that perf lends, and perf's others overflow. */
TEST_F(reload, borrowed)
{
	const struct choice two[] = {
		{ EV_BRANCHES, machine.nr_gp - 2 }, { EV_INSNS, machine.nr_gp - 1 }, {}
	};

	ASSERT_EQ(0, choose_counters("shared 2,0"));
	ASSERT_EQ(0, leave_reloads());
	self->perf = open_overflowing();
	ASSERT_LE(0, self->perf);
	ASSERT_EQ(0, set_open(&self->set, two));
	expect_right(_metadata, &self->set);
}

/* The set has the whole PMU, and its own period overflows. */
TEST_F(reload, taken)
{
	struct vpmc_control *control = &self->set.control;
	struct vpmc_read read;
	uint32_t i;

	ASSERT_EQ(0, leave_reloads());
	self->set.page = MAP_FAILED;
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	control_init(control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	for (i = 0; i < machine.nr_gp; i++)
		control_choose(control, i ? EV_INSNS : EV_BRANCHES, i);
	control->counter[0].period = PERIOD;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	for (i = 1; i < machine.nr_gp; i++)
		EXPECT_EQ(measured(TURNS).insns, read.sum[i]);
}

/*
 * What counters a pinned event needs can change as long as others join its group, so nothing
 * is lent beside it.
 */
TEST_F(reload, pinned)
{
	const struct choice one[] = { { EV_INSNS, machine.nr_gp - 1 }, {} };

	ASSERT_EQ(0, choose_counters("shared 2,0"));
	self->perf = open_reloaded(-1, true);
	ASSERT_LE(0, self->perf);
	ASSERT_EQ(-EBUSY, set_open(&self->set, one));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, self->set.control.reason);
	close(self->perf);
	self->perf = -1;
	EXPECT_EQ(0, set_open(&self->set, one));
}

static bool has_reload(void)
{
	return !access(ACR_MASK, F_OK);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT,
	  "a perf that uses auto counter reload (format/acr_mask), and a processor with it", NULL, has_reload },
);

TEST_HARNESS_MAIN
