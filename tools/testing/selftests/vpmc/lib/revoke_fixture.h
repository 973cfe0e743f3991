/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set, which a test revokes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef REVOKE_FIXTURE_H
#define REVOKE_FIXTURE_H

#include "revoke.h"

FIXTURE(revoke)
{
	struct set set;
};

FIXTURE_SETUP(revoke)
{
	self->set.fd = -1;
	ASSERT_EQ(0, revoked());
	ASSERT_EQ(0, wait_for_fine_timers());
}

FIXTURE_TEARDOWN(revoke)
{
	set_close(&self->set);
	EXPECT_EQ(0, set_revoked("0"));
}

#endif /* REVOKE_FIXTURE_H */
