// SPDX-License-Identifier: GPL-2.0
/*
 * Loans interrupt the CPUs on which perf uses the counters, and no others. CPU 1 is
 * isolated: wake-ups are counted as function calls, too.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"
#include "interrupts.h"

/* Programs, without a page: its permission may interrupt CPUs, too. */
static int borrow(struct set *set)
{
	set->page = MAP_FAILED;
	set->fd = vpmc_open();
	return set->fd < 0 ? set->fd : set_program(set, branches);
}

/* How often is CPU 1 interrupted when a set is programmed, and dropped? */
static int borrow_and_look(struct set *set, long *borrowed, long *dropped)
{
	long before = function_calls(1);

	if (borrow(set))
		return -1;
	*borrowed = function_calls(1) - before;
	if (set_program(set, branches) || set_program(set, branches))
		return -1;
	before = function_calls(1);
	set_close(set);
	*dropped = function_calls(1) - before;
	return 0;
}

/* Borrowing interrupts the CPUs that perf uses, once each. */
TEST_F(shared, interrupts)
{
	long borrowed, dropped;
	int i;

	ASSERT_EQ(0, wait_until_left_alone(1));
	for (i = 0; i < 10; i++) {
		/* perf has its counters back. */
		usleep(300000);
		ASSERT_EQ(0, borrow_and_look(&self->set, &borrowed, &dropped));
		EXPECT_EQ(0, borrowed);
		EXPECT_EQ(0, dropped);
	}
	ASSERT_EQ(0, open_branches(self->perf, 1, 1));
	for (i = 0; i < 10; i++) {
		usleep(300000);
		ASSERT_EQ(0, borrow_and_look(&self->set, &borrowed, &dropped));
		EXPECT_EQ(1, borrowed);
		EXPECT_EQ(0, dropped);
	}
}

/* A borrower that comes and goes reschedules perf some times per second. */
TEST_F(shared, rate)
{
	struct timespec from, to;
	long before, tenths;
	int i;

	ASSERT_EQ(0, open_branches(self->perf, 1, 1));
	ASSERT_EQ(0, borrow(&self->set));
	set_close(&self->set);
	ASSERT_EQ(0, wait_until_left_alone(1));
	before = function_calls(1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, borrow(&self->set));
		set_close(&self->set);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	tenths = (to.tv_sec - from.tv_sec) * 10 +
		 (to.tv_nsec - from.tv_nsec) / 100000000;
	EXPECT_GE(2 * (tenths + 2), function_calls(1) - before);
	EXPECT_EQ(1, alive(self->perf, 1));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
