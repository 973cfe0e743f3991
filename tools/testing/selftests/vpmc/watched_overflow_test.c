// SPDX-License-Identifier: GPL-2.0
/*
 * Those who poll for overflows and samples are woken, however many they are, and the
 * interrupt of an overflow is short all the same.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "overflow.h"
#include "sample.h"
#include "watched.h"

#define PERIOD	100000
#define TURNS	(4 * PERIOD)
#define RECORDS	64

FIXTURE(watched)
{
	struct watchers watchers;
	struct set set;
};

FIXTURE_VARIANT(watched)
{
	unsigned int flags;
	int records;
};

/* A set without a ring wakes once, until it is read. */
FIXTURE_VARIANT_ADD(watched, no_ring) { .flags = VPMC_CONTROL_REARM };
FIXTURE_VARIANT_ADD(watched, ring) { .flags = VPMC_CONTROL_REARM, .records = RECORDS };
FIXTURE_VARIANT_ADD(watched, stopped) { .flags = 0 };
FIXTURE_VARIANT_ADD(watched, samples) {
	.flags = VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE, .records = RECORDS,
};

FIXTURE_SETUP(watched)
{
	struct vpmc_control *control = &self->set.control;

	ASSERT_EQ(0, pin(0));
	self->set.page = MAP_FAILED;
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	control_init(control, VPMC_CONTROL_STOPPED | variant->flags);
	control_add_period(control, EV_INSNS, FIXED(0), PERIOD);
	control->ring_records = variant->records;
	control->ring_watermark = !!variant->records;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, watchers_start(&self->watchers, self->set.fd, EPOLLIN));
}

FIXTURE_TEARDOWN(watched)
{
	EXPECT_EQ(0, watchers_end(&self->watchers));
	set_close(&self->set);
}

TEST_F_TIMEOUT(watched, overflow, 120)
{
	double end;

	latest_ms = 0;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	code_loop(TURNS, 0);
	/* Those whom the interrupt does not wake are woken later. */
	end = ms_now() + 5000 * test_slowness();
	while (not_seen(&self->watchers, EPOLLIN) && ms_now() < end)
		usleep(10000);
	TH_LOG("interrupts late by %.3f ms at most", latest_ms);
	EXPECT_GT(BOUND_MS * test_slowness(), latest_ms);
	EXPECT_EQ(0, not_seen(&self->watchers, EPOLLIN));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
