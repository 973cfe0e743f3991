// SPDX-License-Identifier: GPL-2.0
/*
 * perf's events of the northbridge, while counters are lent. perf chooses the counter
 * of such an event before it places events: one that no other CPU of the node uses.
 * For AMD's processors before family 15h.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"

/* Probes of the memory controller; the emulator counts none. */
#define NB_EVENT	0x1e8

struct times {
	__u64 count, enabled, running;
};

/* An event of CPU 1. */
static int open_nb(bool pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = NB_EVENT,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.pinned = pinned,
	};

	return syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);
}

/* Does perf count all the time? It tells nothing of an event that it has given up. */
static bool runs(int fd)
{
	struct times before, after;

	if (read(fd, &before, sizeof(before)) != sizeof(before))
		return false;
	usleep(1000);
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		return false;
	return after.running > before.running &&
	       after.running - before.running == after.enabled - before.enabled;
}

/* The first counter is lent. perf would choose it first. */
TEST_F(shared, first_counter_is_not_perfs)
{
	static const struct choice first[] = { { EV_BRANCHES, 0 }, {} };
	char all[32];

	snprintf(all, sizeof(all), "shared %d,0", ALL_GP);
	ASSERT_EQ(0, choose_counters(all));
	ASSERT_EQ(0, set_open(&self->set, first));
	self->perf[0] = open_nb(true);
	ASSERT_LE(0, self->perf[0]);
	EXPECT_TRUE(runs(self->perf[0]));
}

/* One counter is borrowed, and the second event would need it. */
TEST_F(shared, second_event_comes)
{
	ASSERT_EQ(0, set_open(&self->set, branches));
	self->perf[0] = open_nb(false);
	self->perf[1] = open_nb(false);
	EXPECT_TRUE(runs(self->perf[0]));
	EXPECT_TRUE(runs(self->perf[1]));
}

/* The event has the counter that is borrowed, and moves. */
TEST_F(shared, event_leaves)
{
	self->perf[0] = open_nb(false);
	self->perf[1] = open_nb(false);
	EXPECT_TRUE(runs(self->perf[1]));
	ASSERT_EQ(0, set_open(&self->set, branches));
	EXPECT_TRUE(runs(self->perf[0]));
	EXPECT_TRUE(runs(self->perf[1]));
}

/* perf shares the northbridge's counters on these families only. */
static bool has_northbridge(void)
{
	unsigned int a = 0, b, c, d;

	__get_cpuid(1, &a, &b, &c, &d);
	return machine_is_amd() && 0xf + (a >> 20 & 0xff) < 0x15;
}

NEEDS(
	{ "*", TRUE_COUNTS | DISTURBS | ROOT, "AMD's processors before family 15h",
	  NULL, has_northbridge },
);

TEST_HARNESS_MAIN
