// SPDX-License-Identifier: GPL-2.0
/*
 * perf's event that needs a pair of counters leaves both when one of them is lent.
 * For AMD's processors from family 17h on.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"

#define PAIR_EVENT	0xff03

/* Of all threads: it stays on CPU 0 while this thread waits for a loan. */
static int open_pair(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = PAIR_EVENT,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
}

/*
 * The event has counters 0 and 1, and the set borrows the second one. perf writes the
 * selects of all its events in each switch, because this thread has one, too.
 */
TEST_F(shared, pair_leaves)
{
	static const struct choice second[] = { { EV_BRANCHES, 1 }, {} };
	const struct timespec ts = short_sleep(100000);

	self->perf[0] = open_pair();
	ASSERT_LE(0, self->perf[0]);
	ASSERT_EQ(0, open_branches(&self->perf[1], 1, 0));
	ASSERT_EQ(0, set_open(&self->set, second));
	ASSERT_EQ(0, set_measure(&self->set, code_sleep, (long)&ts, 200));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_SLEEP(200)));
}

static bool has_pairs(void)
{
	unsigned int a = 0, b, c, d;

	__get_cpuid(1, &a, &b, &c, &d);
	return machine_is_amd() && 0xf + (a >> 20 & 0xff) >= 0x17;
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT, "events that need two counters", NULL,
	  has_pairs },
);

TEST_HARNESS_MAIN
