// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a process that is in user mode on another CPU, read and changed
 * from outside: all of them at one moment.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/ptrace.h>
#include "remote.h"

/*
 * A process that is in user mode all the time, on the other CPU. One turn of its
 * loop is three instructions, one of them a branch, in this order: turns + 1,
 * compare, branch.
 */
FIXTURE(running)
{
	struct target t;
	int fd;
};

FIXTURE_SETUP(running)
{
	self->t.runs = true;
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, target_start(&self->t));
	self->fd = target_open(&self->t, O_RDWR | O_CREAT);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(running)
{
	close(self->fd);
	kill(self->t.pid, SIGKILL);
	waitpid(self->t.pid, NULL, 0);
}

/* All of one moment: two are equal, and the third is what belongs to them. */
static bool torn(const struct vpmc_read *read)
{
	uint64_t insns = read->sum[0], branches = read->sum[2];

	if (read->sum[1] == insns &&
	    insns + 2 >= 3 * branches && insns <= 3 * branches + 2)
		return false;
	fprintf(stderr, "# %llu, %llu, %llu\n", (unsigned long long)insns,
		(unsigned long long)read->sum[1], (unsigned long long)branches);
	return true;
}

/* Between two counts of turns that were read before and after. */
static bool outside(const struct vpmc_read *read, uint64_t low, uint64_t high)
{
	if (read->sum[0] + 3 > 3 * low && read->sum[0] < 3 * high + 3)
		return false;
	fprintf(stderr, "# %llu instructions, %llu to %llu turns\n",
		(unsigned long long)read->sum[0], (unsigned long long)low,
		(unsigned long long)high);
	return true;
}

/* Neither torn nor old: what it did up to the system call is in the sums. */
TEST_F(running, read_at_one_moment)
{
	uint64_t before, started, from, to = 0;
	struct vpmc_read read;
	int i;

	before = self->t.shared->turns;
	ASSERT_EQ(0, program(self->fd, 0, events));
	started = self->t.shared->turns;
	/* Until it has run, which other load on its CPU may delay. */
	for (i = 0; i < 1000 || to - started <= 1000; i++) {
		from = self->t.shared->turns;
		ASSERT_EQ(0, vpmc_read(self->fd, &read));
		to = self->t.shared->turns;
		ASSERT_EQ(VPMC_STATE_RUNNING, read.state);
		ASSERT_FALSE(torn(&read));
		ASSERT_FALSE(outside(&read, from - started, to - before));
	}
}

/* When STOP returns the set has stopped; when START returns it runs. */
TEST_F(running, start_and_stop)
{
	uint64_t t[4], low = 0, high = 0;
	struct vpmc_read read, again;
	int i;

	ASSERT_EQ(0, program(self->fd, VPMC_CONTROL_STOPPED, events));
	for (i = 0; i < 200; i++) {
		t[0] = self->t.shared->turns;
		ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
		t[1] = self->t.shared->turns;
		while (self->t.shared->turns == t[1])
			;
		t[2] = self->t.shared->turns;
		ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_STOP, 0));
		t[3] = self->t.shared->turns;
		low += t[2] - t[1];
		high += t[3] - t[0] + 1;
		ASSERT_EQ(0, vpmc_read(self->fd, &read));
		ASSERT_EQ(VPMC_STATE_STOPPED, read.state);
		ASSERT_EQ(read.sum[0], read.sum[1]);
		ASSERT_LE(3 * (low - i), read.sum[0] + 3);
		ASSERT_GE(3 * high, read.sum[0]);
		ASSERT_EQ(0, vpmc_read(self->fd, &again));
		ASSERT_EQ(0, memcmp(&read, &again, sizeof(read)));
	}
}

/* CLEAR and CONTROL while it runs: all counters begin at the same moment. */
TEST_F(running, cleared_and_programmed)
{
	struct vpmc_read read;
	uint64_t from, to;
	int i;

	ASSERT_EQ(0, program(self->fd, 0, events));
	for (i = 0; i < 200; i++) {
		from = self->t.shared->turns;
		ASSERT_EQ(0, i % 2 ? program(self->fd, 0, events) :
			     vpmc_ioctl(self->fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, vpmc_read(self->fd, &read));
		to = self->t.shared->turns;
		ASSERT_FALSE(torn(&read));
		ASSERT_FALSE(outside(&read, 0, to - from));
	}
}

/* Returns when the process has run. */
static void await_turn(const struct target *t)
{
	uint64_t turns = t->shared->turns;

	while (t->shared->turns == turns)
		usleep(20);
}

/* It is moved to another CPU for each READ. */
TEST_F(running, read_while_it_migrates)
{
	uint64_t before, started, from, to;
	struct vpmc_read read;
	cpu_set_t mask;
	int i;

	before = self->t.shared->turns;
	ASSERT_EQ(0, program(self->fd, 0, events));
	started = self->t.shared->turns;
	/* The process must run with the set before its first move. */
	await_turn(&self->t);
	for (i = 0; i < 200; i++) {
		from = self->t.shared->turns;
		CPU_ZERO(&mask);
		CPU_SET(i % 2, &mask);
		ASSERT_EQ(0, sched_setaffinity(self->t.pid, sizeof(mask),
					       &mask));
		/* It has run there. */
		await_turn(&self->t);
		ASSERT_EQ(0, vpmc_read(self->fd, &read));
		to = self->t.shared->turns;
		ASSERT_FALSE(torn(&read));
		ASSERT_FALSE(outside(&read, from - started, to - before));
		ASSERT_EQ(i + 1, read.migrations);
	}
}

TEST_F(running, unlinked)
{
	struct vpmc_read read, again;
	uint64_t turns;

	ASSERT_EQ(0, program(self->fd, 0, events));
	turns = self->t.shared->turns;
	while (self->t.shared->turns < turns + 1000)
		;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_EQ(VPMC_STATE_UNLINKED, read.state);
	EXPECT_FALSE(torn(&read));
	turns = self->t.shared->turns;
	while (self->t.shared->turns < turns + 1000)
		;
	ASSERT_EQ(0, vpmc_read(self->fd, &again));
	EXPECT_EQ(0, memcmp(&read, &again, sizeof(read)));
}

/* A debugger lets it go on instruction by instruction. */
TEST_F(running, single_steps)
{
	struct vpmc_read read;
	int status, i;

	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, self->t.pid, 0, 0));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, self->t.pid, 0, 0));
	ASSERT_EQ(self->t.pid, waitpid(self->t.pid, &status, 0));
	ASSERT_EQ(0, program(self->fd, 0, events));
	for (i = 1; i <= 30; i++) {
		ASSERT_EQ(0, ptrace(PTRACE_SINGLESTEP, self->t.pid, 0, 0));
		ASSERT_EQ(self->t.pid, waitpid(self->t.pid, &status, 0));
		ASSERT_EQ(0, vpmc_read(self->fd, &read));
		EXPECT_EQ(i, read.sum[0]);
		EXPECT_EQ(i, read.sum[1]);
	}
	EXPECT_EQ(10, read.sum[2]);
	EXPECT_EQ(0, ptrace(PTRACE_DETACH, self->t.pid, 0, 0));
}

NEEDS(
	{ "running.cleared_and_programmed", TRUE_COUNTS | OR_EMPTY | TWO_CPUS },
	{ "running.unlinked", TRUE_COUNTS | OR_EMPTY | TWO_CPUS },
	{ "*", TRUE_COUNTS | TWO_CPUS },
);

TEST_HARNESS_MAIN
