// SPDX-License-Identifier: GPL-2.0
/*
 * Those who poll sets are woken, however many they are, and interrupts get through
 * meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "inherit.h"
#include "watched.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

FIXTURE(watched)
{
	struct watchers watchers;
	struct set set;
};

FIXTURE_SETUP(watched)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, inherited));
	ASSERT_EQ(0, watchers_start(&self->watchers, self->set.fd, 0));
}

FIXTURE_TEARDOWN(watched)
{
	EXPECT_EQ(0, watchers_end(&self->watchers));
	set_close(&self->set);
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
}

/* A revocation wakes all of them, and interrupts get through. */
TEST_F_TIMEOUT(watched, revocation, 120)
{
	latest_ms = 0;
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	usleep(2000);
	TH_LOG("interrupts late by %.3f ms at most", latest_ms);
	EXPECT_GT(BOUND_MS * test_slowness(), latest_ms);
	EXPECT_EQ(0, not_seen(&self->watchers, EPOLLERR));
}

/* So does the end of the set. */
TEST_F_TIMEOUT(watched, end, 120)
{
	latest_ms = 0;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, NULL));
	usleep(2000);
	TH_LOG("interrupts late by %.3f ms at most", latest_ms);
	EXPECT_GT(BOUND_MS * test_slowness(), latest_ms);
	EXPECT_EQ(0, not_seen(&self->watchers, EPOLLHUP));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
