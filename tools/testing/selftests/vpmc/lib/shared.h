/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests in which sets and perf share the PMU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SHARED_H
#define SHARED_H

#include "loan.h"

FIXTURE(shared)
{
	struct set set;
	int perf[MAX_GP];
};

FIXTURE_SETUP(shared)
{
	ASSERT_EQ(0, choose_counters("shared"));
	ASSERT_EQ(0, pin(0));
	memset(self->perf, -1, sizeof(self->perf));
	self->set.fd = -1;
	self->set.page = MAP_FAILED;
}

FIXTURE_TEARDOWN(shared)
{
	int i;

	for (i = 0; i < MAX_GP; i++)
		close(self->perf[i]);
	set_close(&self->set);
	EXPECT_EQ(0, choose_counters("all"));
}

#endif /* SHARED_H */
