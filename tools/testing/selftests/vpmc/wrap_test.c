// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware counters that wrap: every crossing of the sign boundary is an
 * interrupt after which the counter is written anew. For a machine whose
 * counters are narrow; the guests file runs one of these tests in each.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"
#include "interrupts.h"

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

/* A counter is 2^(@bits - 1) from its start to the boundary. */
static void wraps(struct __test_metadata *_metadata, struct set *set,
		  unsigned int bits, long crossings)
{
	const long n = (crossings << (bits - 1)) / 16 + 1000;
	long before = vpmc_interrupts(1), switches;
	struct vpmc_read read;

	ASSERT_LE(0, before);
	switches = my_switches();
	ASSERT_EQ(0, set_measure(set, code_long_loop, n, 0));
	switches = my_switches() - switches;
	before = vpmc_interrupts(1) - before;
	EXPECT_EQ(0, wrong_after(set, CODE_LONG_LOOP(n)));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	/* Who comes back may begin anew, up to a crossing earlier. */
	EXPECT_LE(crossings, before + switches);
	EXPECT_LE(crossings, read.sum[0] >> (bits - 1));
	EXPECT_EQ(0, read.migrations);
}

/*
 * So many crossings without a context switch: only the interrupt keeps the
 * counts right. The kernel's own threads use the CPU sometimes, however urgent
 * the test is. With or without them the counts are exact; one run of eight,
 * each less than a second long, must be without. Returns how many timer
 * interrupts that one had.
 */
static long wraps_at_one_go(struct __test_metadata *_metadata, struct set *set,
			    unsigned int bits, long crossings)
{
	uint64_t switches = 1;
	long ticks = -1;
	int i;

	for (i = 0; i < 8 && switches; i++) {
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0));
		ticks = interrupts("LOC", 1);
		wraps(_metadata, set, bits, crossings);
		ticks = interrupts("LOC", 1) - ticks;
		switches = page_switches(set);
	}
	EXPECT_EQ(0, switches);
	TH_LOG("run %d of 8 had no context switch, %ld ticks", i, ticks);
	return ticks;
}

TEST_F(wrap, width_24)
{
	ASSERT_EQ(24, self->info.width);
	wraps_at_one_go(_metadata, &self->set, 24, test_times(100));
}

/* Counters that count the kernel, too, stand while they are rewritten. */
TEST_F(wrap, width_24_kernel)
{
	static const struct choice choice[] = {
		{ 0x200c0, 0 }, { EV_INSNS, 1 }, {}
	};
	const long n = (4L << 23) / 16 + 1000;
	struct code_count count = code_add(CODE_MEASURE, CODE_LONG_LOOP(n));
	long before = vpmc_interrupts(1);
	struct vpmc_read read;

	ASSERT_EQ(24, self->info.width);
	ASSERT_EQ(0, set_program(&self->set, choice));
	ASSERT_EQ(0, set_measure(&self->set, code_long_loop, n, 0));
	EXPECT_LE(4, vpmc_interrupts(1) - before);
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(0, read.sum[0]);
	EXPECT_EQ(count.insns, read.sum[1]);
}

TEST_F(wrap, width_24_without_tick)
{
	const long crossings = test_slowness() > 1 ? 50 : 100;
	char cpus[64] = "";
	FILE *file = fopen("/sys/devices/system/cpu/nohz_full", "r");
	long ticks;

	ASSERT_NE(NULL, file);
	ASSERT_NE(NULL, fgets(cpus, sizeof(cpus), file));
	fclose(file);
	ASSERT_STREQ("1\n", cpus);
	ASSERT_EQ(24, self->info.width);
	/* Until then the tick goes on. */
	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_LE(0, interrupts("LOC", 1));
	ticks = wraps_at_one_go(_metadata, &self->set, 24, crossings);
	/* 100 * 2^23 instructions are 200 ticks otherwise. */
	EXPECT_GE(crossings / 5, ticks);
}

/*
 * Beyond 2^32, where a counter that nobody wrote would be wrong. That takes some
 * seconds: others have to get their turn meanwhile.
 */
TEST_F(wrap, width_32)
{
	ASSERT_EQ(32, self->info.width);
	wraps(_metadata, &self->set, 32, 3);
}

/*
 * Counters of 48 bits, of which a write reaches 32: they start at -2^31, and
 * come to the boundary again only if they were written.
 */
TEST_F(wrap, narrow_writes)
{
	ASSERT_EQ(48, self->info.width);
	ASSERT_FALSE(self->info.features & VPMC_FEATURE_FULL_WIDTH);
	wraps(_metadata, &self->set, 32, 2);
}

static bool has_width_24(void)
{
	return machine.width == 24;
}

static bool has_width_32(void)
{
	return machine.width == 32;
}

static bool has_no_tick(void)
{
	char cpus[64] = "";

	putback_read("/sys/devices/system/cpu/nohz_full", cpus, sizeof(cpus));
	return has_width_24() && !strcmp(cpus, "1\n");
}

static bool writes_narrow(void)
{
	return machine.width == 48 &&
	       !(machine.features & VPMC_FEATURE_FULL_WIDTH);
}

NEEDS(
	{ "wrap.width_24_without_tick", EXACT | FIFO | TWO_CPUS, "counters of 24 bits and nohz_full", NULL, has_no_tick },
	{ "wrap.width_24*", EXACT | FIFO | TWO_CPUS, "counters of 24 bits", NULL, has_width_24 },
	{ "wrap.width_32", EXACT | FIFO | TWO_CPUS, "counters of 32 bits", NULL, has_width_32 },
	{ "wrap.narrow_writes", EXACT | FIFO | TWO_CPUS, "counters that are written with 32 bits", NULL, writes_narrow },
);

TEST_HARNESS_MAIN
