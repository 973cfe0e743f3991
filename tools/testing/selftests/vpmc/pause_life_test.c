// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters is "yield": a set is paused while its thread forks, ends
 * or executes a program, or while its CPU goes offline.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "pause.h"
#include "inherit.h"

#define ALL	(VPMC_READ_LIVING | VPMC_READ_FINISHED)

/* Counts by the set that it has inherited, between two pipes. */
static void heir(struct child *c)
{
	struct set set = { .fd = vpmc_open() };

	control_of(&set.control, pair, 0);
	if (set.fd < 0 || set_measure(&set, code_loop, 1000, 0) ||
	    child_send(c) || child_wait(c))
		_exit(1);
	_exit(set_measure(&set, code_loop, 3000, 0) || child_send(c));
}

/* One is born before, one while perf has the PMU and ends then. */
TEST_F(pause, inherited)
{
	struct set *set = &self->set;
	struct child child[2] = {};
	struct code_count want = {};
	struct vpmc_read read;
	int i;

	control_of(&set->control, pair, VPMC_CONTROL_STOPPED |
		   VPMC_CONTROL_INHERIT_PROCESSES);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control));
	for (i = 0; i < 2; i++) {
		if (i)
			ASSERT_EQ(0, perf_begin(&self->perf));
		if (!child_fork(&child[i]))
			heir(&child[i]);
		ASSERT_LT(0, child[i].pid);
		ASSERT_EQ(0, child_wait(&child[i]));
	}
	/* Only the first one's first loop has been counted. */
	want = measured(1000);
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(2, read.living);
	EXPECT_EQ(0, wrong_sums(set, &read, want));
	ASSERT_EQ(0, child_send(&child[1]));
	ASSERT_EQ(0, child_wait(&child[1]));
	EXPECT_EQ(0, child_end(&child[1]));
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(1, read.living);
	EXPECT_EQ(1, read.finished);
	EXPECT_EQ(0, wrong_sums(set, &read, want));

	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, child_send(&child[0]));
	ASSERT_EQ(0, child_wait(&child[0]));
	EXPECT_EQ(0, child_end(&child[0]));
	want = code_add(want, measured(3000));
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(2, read.finished);
	EXPECT_EQ(0, read.lost);
	EXPECT_EQ(0, wrong_sums(set, &read, want));
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS | FIFO },
);

TEST_HARNESS_MAIN
