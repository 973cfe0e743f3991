// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware counters that wrap: every crossing of the sign boundary is an
 * interrupt after which the counter is written anew. For a machine whose
 * counters are narrow; the guests file runs one of these tests in each.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"

FIXTURE(wrap)
{
	struct vpmc_info info;
	struct set set;
};

FIXTURE_SETUP(wrap)
{
	static const struct choice choice[] = {
		{ EV_INSNS, FIXED(0) }, { EV_INSNS, 1 }, { EV_BRANCHES, 0 }, {}
	};

	ASSERT_EQ(0, pin(1));
	/* Only something more urgent than the test could preempt it. */
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, set_open(&self->set, choice));
	ASSERT_EQ(0, vpmc_info(self->set.fd, &self->info));
}

FIXTURE_TEARDOWN(wrap)
{
	set_close(&self->set);
}

/* The number of interrupts of @name on CPU 1. */
static long interrupts(const char *name)
{
	char line[1024], *p;
	long n = -1;
	FILE *file = fopen("/proc/interrupts", "r");

	if (!file)
		return -1;
	while (n < 0 && fgets(line, sizeof(line), file)) {
		for (p = line; *p == ' '; p++)
			;
		if (strncmp(p, name, strlen(name)) || p[strlen(name)] != ':')
			continue;
		p += strlen(name) + 1;
		strtol(p, &p, 10);
		n = strtol(p, NULL, 10);
	}
	fclose(file);
	return n;
}

/*
 * A counter's distance from its start to the boundary is 2^(width - 1). While
 * the thread stays on its CPU, a count beyond it has crossed it.
 */
static void wraps(struct __test_metadata *_metadata, struct set *set,
		  unsigned int width, unsigned long crossings)
{
	const long n = (crossings << (width - 1)) / 16 + 1000;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_long_loop, n, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LONG_LOOP(n)));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_LE(crossings, read.sum[0] >> (width - 1));
	EXPECT_EQ(0, read.switches);
}

TEST_F(wrap, width_24)
{
	ASSERT_EQ(24, self->info.width);
	wraps(_metadata, &self->set, 24, 100);
}

/* Without the scheduler's tick: nothing else would notice the wrap in time. */
TEST_F(wrap, width_24_without_tick)
{
	char cpus[64] = "";
	FILE *file = fopen("/sys/devices/system/cpu/nohz_full", "r");
	long ticks;

	ASSERT_NE(NULL, file);
	ASSERT_NE(NULL, fgets(cpus, sizeof(cpus), file));
	fclose(file);
	ASSERT_STREQ("1\n", cpus);
	ASSERT_EQ(24, self->info.width);
	ticks = interrupts("LOC");
	ASSERT_LE(0, ticks);
	wraps(_metadata, &self->set, 24, 100);
	/* 100 * 2^23 instructions are 200 ticks otherwise. */
	EXPECT_GE(20, interrupts("LOC") - ticks);
}

TEST_F(wrap, width_32)
{
	ASSERT_EQ(32, self->info.width);
	wraps(_metadata, &self->set, 32, 1);
}

TEST_HARNESS_MAIN
