// SPDX-License-Identifier: GPL-2.0
/*
 * The numbers of context switches and migrations, compared with the scheduler's
 * own and with those that the test causes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"

FIXTURE(switches)
{
	struct set set;
};

FIXTURE_VARIANT(switches)
{
	struct choice choice[4];
};

FIXTURE_VARIANT_ADD(switches, no_counter)
{
};

FIXTURE_VARIANT_ADD(switches, two_counters)
{
	.choice = { { EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 } },
};

/* Must be stopped whenever the kernel runs. */
FIXTURE_VARIANT_ADD(switches, kernel_mode)
{
	.choice = { { EV_INSNS, 0 }, { 0x200c0, 1 } },
};

FIXTURE_SETUP(switches)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, variant->choice));
}

FIXTURE_TEARDOWN(switches)
{
	set_close(&self->set);
}

/* The page's count and the scheduler's, at one moment. */
static int64_t difference(const struct set *set)
{
	uint64_t page, mine;

	do {
		page = page_switches(set);
		mine = my_switches();
	} while (page != page_switches(set));
	return mine - page;
}

TEST_F(switches, none_when_nothing_happens)
{
	struct vpmc_read read;
	uint64_t before, after;

	ASSERT_EQ(0, set_fifo(50));
	before = my_switches();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 10000000, 0));
	after = my_switches();
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	/*
	 * There is no switch that the scheduler does not count, too. Its fair server
	 * may give the CPU to a task that has waited for a second.
	 */
	EXPECT_LE(read.switches, after - before);
	EXPECT_EQ(0, read.migrations);
}

TEST_F(switches, sleeps)
{
	const struct timespec ts = short_sleep(100000);
	uint64_t before, after;
	struct vpmc_read read;

	/*
	 * Each sleep is one switch, unless it is over before. The scheduler may
	 * add switches, as above.
	 */
	ASSERT_EQ(0, set_fifo(50));
	before = my_switches();
	ASSERT_EQ(0, set_measure(&self->set, code_sleep, (long)&ts, 100));
	after = my_switches();
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LE(test_often(100), read.switches);
	EXPECT_LE(read.switches, after - before);
	EXPECT_EQ(0, read.migrations);
	/* Not while it stands. */
	before = read.switches;
	ASSERT_EQ(0, code_sleep((long)&ts, 10));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(before, read.switches);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, read.switches);
}

/* Two processes that wake each other in turn. */
TEST_F(switches, ping_pong)
{
	int to[2], from[2], i;
	struct vpmc_read sums;
	int64_t before;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	pid = disturber();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (;;)
			if (read(to[0], &byte, 1) != 1 ||
			    write(from[1], &byte, 1) != 1)
				_exit(1);
	}
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	before = difference(&self->set);
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(1, write(to[1], &byte, 1));
		ASSERT_EQ(1, read(from[0], &byte, 1));
	}
	EXPECT_EQ(before, difference(&self->set));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &sums));
	EXPECT_LE(1000, sums.switches);
	EXPECT_EQ(0, sums.migrations);
	EXPECT_EQ(0, stop_disturber(pid));
}

TEST_F(switches, preemptions)
{
	int64_t before;
	pid_t pid[2];
	int i;

	pid[0] = start_preempter(0, 50000);
	pid[1] = start_competitor(0);
	ASSERT_LT(0, pid[0]);
	ASSERT_LT(0, pid[1]);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	before = difference(&self->set);
	for (i = 0; i < test_tries(20) && page_switches(&self->set) < test_often(100); i++)
		code_loop(10000000, 0);
	EXPECT_EQ(before, difference(&self->set));
	EXPECT_LE(test_often(100), page_switches(&self->set));
	EXPECT_EQ(0, stop_disturber(pid[0]));
	EXPECT_EQ(0, stop_disturber(pid[1]));
}

TEST_F(switches, migrations)
{
	static const long mask[2] __attribute__((aligned(16))) = { 1, 2 };
	struct vpmc_read read;
	int64_t before;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	before = difference(&self->set);
	ASSERT_EQ(0, code_migrate((long)mask, 777));
	EXPECT_EQ(before, difference(&self->set));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(777, read.migrations);
	EXPECT_LE(777, read.switches);
	EXPECT_EQ(read.migrations, page_migrations(&self->set));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(0, page_migrations(&self->set));
}

/* Counts the same, on CPU 1, and lets others have it. */
struct yielder {
	const struct choice *choice;
	volatile int state;	/* 1: it runs; -1: it failed */
	volatile bool over;
};

static void *yield_on_cpu_1(void *arg)
{
	struct yielder *y = arg;
	struct set set;

	if (pin(1) || set_open(&set, y->choice) ||
	    vpmc_ioctl(set.fd, VPMC_IOC_START, 0)) {
		y->state = -1;
		return NULL;
	}
	y->state = 1;
	while (!y->over)
		code_yield(1, 10);
	set_close(&set);
	return NULL;
}

/* There the counters are handed on from a thread of this process. */
TEST_F(switches, migrations_to_one_like_it)
{
	static const long mask[2] __attribute__((aligned(16))) = { 1, 2 };
	struct yielder y = { .choice = variant->choice };
	struct vpmc_read read;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, yield_on_cpu_1, &y));
	while (!y.state)
		usleep(10);
	ASSERT_EQ(1, y.state);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, code_migrate((long)mask, 777));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(777, read.migrations);
	y.over = true;
	pthread_join(thread, NULL);
}

NEEDS(
	{ "switches.kernel_mode.*", PMU | OR_EMPTY | ROOT | TWO_CPUS },
	{ "switches.no_counter.*", VPMC | FIFO | TWO_CPUS },
	{ "*", PMU | OR_EMPTY | FIFO | TWO_CPUS },
);

TEST_HARNESS_MAIN
