// SPDX-License-Identifier: GPL-2.0
/*
 * Sums that continue: those that CONTROL preserves, and those that CLEAR of
 * other counters does not change.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"

static const struct choice two[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
};

static const struct choice three[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 1 }, {}
};

/* One turn of code_measure() with this loop. */
static struct code_count turn(long n)
{
	return code_add(CODE_MEASURE, CODE_LOOP(n));
}

/* CONTROL of @choice, stopped, with PRESERVE for the counters of @keep. */
static int reprogram(struct set *set, const struct choice *choice,
		     unsigned int keep, unsigned int flags)
{
	unsigned int i;

	control_init(&set->control, VPMC_CONTROL_STOPPED | flags);
	for (i = 0; choice[i].evtsel; i++) {
		control_choose(&set->control, choice[i].evtsel, choice[i].index);
		if (keep & 1 << i)
			set->control.counter[i].flags = VPMC_COUNTER_PRESERVE;
	}
	return vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control);
}

FIXTURE(preserve) {
	struct set set;
	struct vpmc_read before;
};

/* Some counts, and a switch, are there already. */
FIXTURE_SETUP(preserve)
{
	struct timespec moment = { .tv_nsec = 1000000 };

	ASSERT_EQ(0, set_open(&self->set, three));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	nanosleep(&moment, NULL);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &self->before));
	ASSERT_LT(turn(1000).insns, self->before.sum[0]);
	ASSERT_LT(turn(1000).branches, self->before.sum[1]);
	ASSERT_LT(0, self->before.switches);
	ASSERT_LT(0, self->before.ticks);
}

FIXTURE_TEARDOWN(preserve)
{
	set_close(&self->set);
}

/*
 * One sum is preserved, one continues for another event, one starts from zero.
 */
TEST_F(preserve, control)
{
	static const struct choice other[] = {
		{ EV_INSNS, 2 }, { EV_INSNS, 3 }, { EV_BRANCHES, 1 }, {}
	};
	struct vpmc_read read;

	ASSERT_EQ(0, reprogram(&self->set, other, 3, VPMC_CONTROL_PRESERVE));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0], read.sum[0]);
	EXPECT_EQ(self->before.sum[1], read.sum[1]);
	EXPECT_EQ(0, read.sum[2]);
	EXPECT_EQ(self->before.ticks, read.ticks);
	EXPECT_EQ(self->before.switches, read.switches);
	EXPECT_EQ(read.sum[1], self->set.page->slot[1].base);

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 500, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0] + turn(500).insns, read.sum[0]);
	EXPECT_EQ(self->before.sum[1] + turn(500).insns, read.sum[1]);
	EXPECT_EQ(turn(500).branches, read.sum[2]);
	EXPECT_LT(self->before.ticks, read.ticks);
}

/* A counter's flag does not preserve time. The set's preserves no counter. */
TEST_F(preserve, control_each_by_itself)
{
	struct vpmc_read read;

	ASSERT_EQ(0, reprogram(&self->set, three, 2, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, read.sum[0]);
	EXPECT_EQ(self->before.sum[1], read.sum[1]);
	EXPECT_EQ(0, read.ticks);
	EXPECT_EQ(0, read.switches);

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 10, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &self->before));
	ASSERT_EQ(0, reprogram(&self->set, three, 0, VPMC_CONTROL_PRESERVE));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, wrong_sums(&self->set, &read, CODE_COUNT(0, 0)));
	EXPECT_EQ(self->before.ticks, read.ticks);
}

/* What a smaller set had no counter for starts from zero. */
TEST_F(preserve, control_of_fewer_and_more)
{
	struct vpmc_read read;

	ASSERT_EQ(0, reprogram(&self->set, two, 3, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0], read.sum[0]);
	EXPECT_EQ(self->before.sum[1], read.sum[1]);
	EXPECT_EQ(0, read.sum[2]);
	ASSERT_EQ(0, reprogram(&self->set, three, 7, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0], read.sum[0]);
	EXPECT_EQ(self->before.sum[1], read.sum[1]);
	EXPECT_EQ(0, read.sum[2]);
}

/* There is nothing to preserve yet. */
TEST(preserve_nothing)
{
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };

	ASSERT_LE(0, set.fd);
	ASSERT_EQ(0, reprogram(&set, two, 3, VPMC_CONTROL_PRESERVE));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&set);
}

/* While it runs: what was counted up to CONTROL counts. */
TEST_F(preserve, control_of_running)
{
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	code_loop(1000, 0);
	ASSERT_EQ(0, reprogram(&self->set, three, 7, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(self->before.sum[0] + CODE_LOOP(1000).insns, read.sum[0]);
	EXPECT_EQ(read.sum[0] - self->before.sum[0],
		  read.sum[2] - self->before.sum[2]);
}

TEST_F(preserve, refused_control)
{
	struct vpmc_read read;

	/* Bit 21 is reserved. */
	static const struct choice bad[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES | 1 << 21, 0 }, {}
	};

	ASSERT_EQ(-EINVAL, reprogram(&self->set, bad, 0, 0));
	EXPECT_EQ(1, self->set.control.bad_counter);
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, memcmp(&self->before, &read, sizeof(read)));
}

/* Sums remain after the PMU was revoked. */
TEST_F(preserve, control_after_revocation)
{
	struct vpmc_read read;

	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	/*
	 * Its page has not changed: a stopped set notices at the next
	 * operation.
	 */
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(VPMC_STATE_REVOKED, self->set.page->state);
	ASSERT_EQ(0, reprogram(&self->set, three, 7, VPMC_CONTROL_PRESERVE));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0] + turn(1000).insns, read.sum[0]);
	EXPECT_EQ(self->before.sum[2] + turn(1000).insns, read.sum[2]);
}

/* CLEAR of one counter: the others and the time stand. */
TEST_F(preserve, clear)
{
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)2));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0], read.sum[0]);
	EXPECT_EQ(0, read.sum[1]);
	EXPECT_EQ(self->before.sum[2], read.sum[2]);
	EXPECT_EQ(self->before.ticks, read.ticks);
	EXPECT_EQ(self->before.switches, read.switches);

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 500, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(self->before.sum[0] + turn(500).insns, read.sum[0]);
	EXPECT_EQ(turn(500).branches, read.sum[1]);
	EXPECT_EQ(self->before.sum[2] + turn(500).insns, read.sum[2]);
}

/* The others count on: two that count the same stay as far apart as CLEAR put them. */
TEST_F(preserve, clear_of_running)
{
	struct vpmc_read first, second;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	code_loop(1000, 0);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)4));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &first));
	EXPECT_LT(self->before.sum[0] + CODE_LOOP(1000).insns,
		  first.sum[0] - first.sum[2]);
	EXPECT_GT(100, first.sum[2]);
	code_loop(1000, 0);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &second));
	EXPECT_LT(CODE_LOOP(1000).insns, second.sum[2]);
	EXPECT_EQ(first.sum[0] - first.sum[2], second.sum[0] - second.sum[2]);
	EXPECT_LT(first.ticks, second.ticks);
}

/* A counter that is not there: nothing is cleared. */
TEST_F(preserve, clear_bad_mask)
{
	struct vpmc_read read;

	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)8));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)9));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR,
				      (void *)(1UL << 32)));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)-1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, memcmp(&self->before, &read, sizeof(read)));
}

NEEDS(
	/* It is switched meanwhile. */
	{ "preserve.control_each_by_itself", EXACT },
	{ "preserve.control_after_revocation", TRUE_COUNTS | DISTURBS | ROOT },
	{ "preserve.clear_bad_mask", PMU },
	{ "preserve.clear_of_running", PMU },
	{ "preserve.control_of_fewer_and_more", PMU },
	{ "preserve.refused_control", PMU },
	{ "*", TRUE_COUNTS },
);

TEST_HARNESS_MAIN
