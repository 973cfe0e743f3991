// SPDX-License-Identifier: GPL-2.0
/*
 * VPMC_CONTROL_UNLINK_ON_CLOSE: the sets that a process has programmed in
 * others end with its descriptor, for whatever reason that is closed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "inherit.h"
#include "poller.h"
#include "remote.h"

#define ON_CLOSE	VPMC_CONTROL_UNLINK_ON_CLOSE

static uint32_t state_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0U : read.state;
}

FIXTURE(close)
{
	struct target t;
	int fd;		/* the controller's */
	int other;	/* another file of the same counters */
};

FIXTURE_SETUP(close)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, target_start(&self->t));
	self->fd = target_open(&self->t, O_RDWR | O_CREAT);
	self->other = target_open(&self->t, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(close)
{
	close(self->other);
	EXPECT_EQ(0, target_end(&self->t));
}

TEST_F(close, last_descriptor)
{
	int again = dup(self->fd);
	const uint64_t truth = counted_here(code_times(TARGET_SERVE, 2)).insns;
	struct vpmc_read read;

	ASSERT_LE(0, again);
	ASSERT_EQ(0, program(self->fd, ON_CLOSE, events));
	close(self->fd);
	ASSERT_EQ(0, target_serve(&self->t, 2));
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->other));
	EXPECT_EQ(0, poll_now(self->other));
	EXPECT_EQ(holder_with_sets(), pmu_holder(self->other));
	close(again);
	EXPECT_EQ(VPMC_STATE_UNLINKED, state_of(self->other));
	EXPECT_EQ(POLLHUP, poll_now(self->other));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->other));
	ASSERT_EQ(0, target_serve(&self->t, 1));
	ASSERT_EQ(0, vpmc_read(self->other, &read));
	EXPECT_TRUE(fits_since(read.sum[0], truth, 2));
}

TEST_F(close, controller_is_killed)
{
	pid_t pid = fork();

	close(self->fd);
	if (!pid) {
		int fd = target_open(&self->t, O_RDWR);

		close(self->other);
		if (program(fd, ON_CLOSE, events) || target_serve(&self->t, 1))
			_exit(1);
		raise(SIGKILL);
	}
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
	EXPECT_EQ(VPMC_STATE_UNLINKED, state_of(self->other));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->other));
}

/* Without the flag the set stays. */
TEST_F(close, not_asked_for)
{
	ASSERT_EQ(0, program(self->fd, 0, events));
	close(self->fd);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->other));
}

/* Each CONTROL sets or clears the flag, whichever process calls it. */
TEST_F(close, decided_anew)
{
	int third = target_open(&self->t, O_RDWR);

	ASSERT_EQ(0, program(self->fd, ON_CLOSE, events));
	ASSERT_EQ(0, program(self->fd, 0, events));
	close(self->fd);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->other));
	ASSERT_EQ(0, program(third, ON_CLOSE, events));
	ASSERT_EQ(0, program(self->other, 0, events));
	close(third);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->other));
	third = target_open(&self->t, O_RDWR);
	ASSERT_EQ(0, program(third, ON_CLOSE, events));
	/* A CONTROL that fails changes nothing. */
	EXPECT_EQ(-EEXIST, program(self->other, VPMC_CONTROL_NEW, events));
	close(third);
	EXPECT_EQ(VPMC_STATE_UNLINKED, state_of(self->other));
}

TEST_F(close, read_control)
{
	struct vpmc_control control;

	ASSERT_EQ(0, program(self->fd, ON_CLOSE, events));
	ASSERT_EQ(0, vpmc_read_control(self->other, &control));
	EXPECT_EQ(ON_CLOSE, control.flags);
	ASSERT_EQ(0, program(self->fd, 0, events));
	ASSERT_EQ(0, vpmc_read_control(self->other, &control));
	EXPECT_EQ(0, control.flags);
	close(self->fd);
}

/* A set that was attached after UNLINK is another one. */
TEST_F(close, unlinked_before)
{
	int fd;

	ASSERT_EQ(0, program(self->fd, ON_CLOSE, events));
	ASSERT_EQ(0, vpmc_ioctl(self->other, VPMC_IOC_UNLINK, 0));
	fd = target_open(&self->t, O_RDWR | O_CREAT);
	ASSERT_EQ(0, program(fd, 0, events));
	close(self->fd);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(fd));
	close(fd);
}

/* A mapping keeps the file open, too. */
TEST(mapped)
{
	struct set set;
	int other;

	ASSERT_EQ(0, set_open(&set, inherited));
	set.control.flags = ON_CLOSE;
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control));
	other = open(THREAD_FILE, O_RDONLY);
	close(set.fd);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(other));
	munmap(set.page, PAGE);
	EXPECT_EQ(VPMC_STATE_UNLINKED, state_of(other));
	close(other);
}

/* A root that forks a member and ends, each on request. */
static void root_main(struct child *c)
{
	pid_t pid;

	child_wait(c);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	if (write(c->to, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	child_wait(c);
	_exit(0);
}

FIXTURE(family)
{
	struct child root;
	int fd;		/* the controller's */
	pid_t member;
	int watch;	/* the member's */
};

FIXTURE_VARIANT(family)
{
	bool root_ends;
};

FIXTURE_VARIANT_ADD(family, root_lives) {
};

FIXTURE_VARIANT_ADD(family, root_has_ended) {
	.root_ends = true,
};

FIXTURE_SETUP(family)
{
	/* The member becomes a child of this process. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	if (!child_fork(&self->root))
		root_main(&self->root);
	self->fd = open_of(self->root.pid, O_RDWR | O_CREAT);
	ASSERT_EQ(0, program(self->fd, ON_CLOSE | PROCESSES, events));
	ASSERT_EQ(0, child_send(&self->root));
	ASSERT_EQ(sizeof(pid_t), read(self->root.from, &self->member,
				      sizeof(pid_t)));
	self->watch = open_of(self->member, O_RDWR);
	ASSERT_LE(0, self->watch);
	ASSERT_EQ(VPMC_STATE_RUNNING, state_of(self->watch));
	if (variant->root_ends) {
		ASSERT_EQ(0, child_end(&self->root));
		ASSERT_EQ(VPMC_STATE_EXITED, state_of(self->fd));
	}
}

FIXTURE_TEARDOWN(family)
{
	if (!variant->root_ends)
		EXPECT_EQ(0, child_end(&self->root));
	kill(self->member, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(self->member));
	close(self->watch);
}

TEST_F(family, members_end)
{
	close(self->fd);
	EXPECT_EQ(VPMC_STATE_UNLINKED, state_of(self->watch));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->watch));
}

/* The member has another set now. */
TEST_F(family, but_not_what_is_programmed_anew)
{
	ASSERT_EQ(0, program(self->watch, 0, events));
	close(self->fd);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->watch));
	EXPECT_EQ(holder_with_sets(), pmu_holder(self->watch));
}

/* If the set is closed while members fork, no thread counts afterwards. */
#define FORKERS	3

TEST(closed_while_members_fork)
{
	struct child root = {};
	int fd, i, round;

	ASSERT_EQ(0, pin(0));
	for (round = 0; round < test_times(50); round++) {
		if (!child_fork(&root)) {
			child_wait(&root);
			for (i = 0; i < FORKERS; i++)
				if (!fork())
					fork_all_the_time();
			child_send(&root);
			child_wait(&root);
			kill(0, SIGKILL);
		}
		guard_group(root.pid);
		ASSERT_EQ(0, setpgid(root.pid, 0));
		fd = open_of(root.pid, O_RDWR | O_CREAT);
		ASSERT_EQ(0, program(fd, ON_CLOSE | PROCESSES, events));
		ASSERT_EQ(0, child_send(&root));
		ASSERT_EQ(0, child_wait(&root));
		code_loop(1 + 3701 * round, 0);
		close(fd);
		fd = open(THREAD_FILE, O_RDONLY);
		ASSERT_EQ(holder_without_sets(), pmu_holder(fd));
		close(fd);
		ASSERT_EQ(KILLED_BY(SIGKILL), child_end(&root));
		guard_group(0);
	}
}

NEEDS(
	{ "close.last_descriptor", PMU | OR_EMPTY | TWO_CPUS },
	{ "close.*", VPMC | TWO_CPUS },
	{ "global.closed_while_members_fork", VPMC | TWO_CPUS },
	{ "family.*.but_not_what_is_programmed_anew", PMU | OR_EMPTY },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
