// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU is handed back at once, but not to who takes it again and again: that
 * interrupts every CPU each time.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "perf.h"
#include "target.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

#define USER		1000
#define TURNS		100	/* per second, of users */

static const struct choice one[] = { { EV_INSNS, 0 }, {} };
static const struct choice none[] = { {} };

/* Takes the PMU and gives it back, @n times: how often it was free then, or -1. */
static int take_turns(int n)
{
	struct set set;
	int given_back = 0;

	if (set_open(&set, none))
		return -1;
	while (n--) {
		if (set_program(&set, one) ||
		    pmu_holder(set.fd) != VPMC_HOLDER_VPMC ||
		    set_program(&set, none))
			return -1;
		given_back += pmu_holder(set.fd) == VPMC_HOLDER_NONE;
	}
	set_close(&set);
	return given_back;
}

/* The same by a user without privileges. */
static int user_takes_turns(int n)
{
	pid_t pid = fork();

	if (!pid)
		_exit(become(USER) ? 255 : take_turns(n));
	return child_status(pid);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

FIXTURE(turns)
{
	struct set set;		/* counts nothing, and tells who has the PMU */
};

FIXTURE_SETUP(turns)
{
	ASSERT_EQ(0, set_open(&self->set, none));
	/* Another second than that of the test before. */
	sleep(2);
	ASSERT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
}

FIXTURE_TEARDOWN(turns)
{
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
	set_close(&self->set);
}

TEST_F(turns, by_root)
{
	EXPECT_EQ(3 * TURNS, take_turns(3 * TURNS));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
	EXPECT_EQ(0, perf_error(1000));
}

TEST_F(turns, few_by_a_user)
{
	EXPECT_EQ(TURNS, user_takes_turns(TURNS));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
	EXPECT_EQ(0, perf_error(1000));
}

/* Others can count meanwhile. A second later it is free. */
TEST_F(turns, many_by_a_user)
{
	double start;

	EXPECT_EQ(TURNS, user_takes_turns(TURNS + 20));
	start = seconds_now();
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(self->set.fd));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(0, set_program(&self->set, one));
	EXPECT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(0, set_program(&self->set, none));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(self->set.fd));

	while (pmu_holder(self->set.fd) == VPMC_HOLDER_VPMC)
		usleep(10000);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
	EXPECT_GT(1.5, seconds_now() - start);
	EXPECT_EQ(0, perf_error(1000));
}

TEST_F(turns, revoked)
{
	EXPECT_EQ(TURNS, user_takes_turns(TURNS + 20));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(self->set.fd));
	EXPECT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(self->set.fd));
	EXPECT_EQ(0, perf_error(1000));
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
}

TEST_HARNESS_MAIN
