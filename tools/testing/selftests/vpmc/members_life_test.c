// SPDX-License-Identifier: GPL-2.0
/*
 * READ_MEMBERS over the life of a family: how members leave, what they do with their
 * sets before, and who reads when the root is gone.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/stat.h>
#include "heirs.h"
#include "sample.h"

#define IMAGE		"/tmp/vpmc_member"
#define REVOKE		"/proc/sys/kernel/vpmc_revoke"
#define LEFT(how)	VPMC_MEMBER_LEFT_##how

static int leave_by_unlink(struct set *set)
{
	return vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0);
}

static int leave_by_exec(struct set *set)
{
	char *argv[] = { "image", NULL };

	/* It writes its counts. */
	dup2(open("/dev/null", O_WRONLY), 1);
	execv(IMAGE, argv);
	return -errno;
}

static pid_t leave(int (*by)(struct set *set))
{
	pid_t pid = fork();
	struct set set;

	if (pid)
		return pid;
	if (prctl(PR_SET_NAME, "leaver") || heir_open(&set) ||
	    set_measure(&set, code_loop, TURNS, 0) || by(&set))
		_exit(1);
	_exit(0);
}

/* What a member counted before it left, once, and how it left. */
TEST_F(members, left)
{
	static const struct {
		int (*by)(struct set *set);
		unsigned int state;
		const char *comm;
	} way[] = {
		{ heir_controls, LEFT(CONTROL), "leaver" },
		{ leave_by_unlink, LEFT(UNLINK), "leaver" },
		{ leave_by_exec, LEFT(EXEC), "vpmc_member" },
	};
	pid_t pid;
	int i;

	mkdir("/tmp", 0755);
	ASSERT_EQ(0, copy_file(exec_image_path(), IMAGE));
	ASSERT_EQ(0, chmod(IMAGE, 0755));
	ASSERT_EQ(0, open_again(self, PROCESSES | VPMC_CONTROL_CLOSE_ON_EXEC, 8));
	for (i = 0; i < 3; i++) {
		pid = leave(way[i].by);
		child_status(pid);
		ASSERT_EQ(1, list(self, FINISHED));
		EXPECT_EQ(0, member_wrong(self->member, pid, way[i].comm,
					  way[i].state, measured(TURNS)));
	}
	unlink(IMAGE);
}

/* A record has what a member counted since it was cleared; what is written stays. */
TEST_F(members, clear)
{
	struct vpmc_read sums;
	struct child c = {};
	struct set set;

	ASSERT_EQ(0, some_end(1, MORE));
	if (!child_fork(&c)) {
		if (heir_open(&set) || set_measure(&set, code_loop, MORE, 0) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0) ||
		    set_measure(&set, code_loop, TURNS, 0) || child_send(&c))
			_exit(1);
		if (child_wait(&c) || set_measure(&set, code_loop, MORE, 0) ||
		    child_send(&c))
			_exit(2);
		_exit(child_wait(&c) ? 0 : 3);
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(1, list(self, LIVING));
	EXPECT_EQ(0, member_wrong(self->member, c.pid, "members_life_te",
				  VPMC_MEMBER_LIVING, measured(TURNS)));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CLEAR_ALL, 0));
	ASSERT_EQ(0, child_send(&c));
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, child_end(&c));
	ASSERT_EQ(0, family_read(self->fd, FINISHED, &sums));
	EXPECT_EQ(1, sums.finished);
	ASSERT_EQ(2, list(self, FINISHED));
	EXPECT_EQ(0, member_wrong(&self->member[0], self->member[0].pid,
				  name_of(0), VPMC_MEMBER_ENDED, measured(MORE)));
	EXPECT_EQ(0, member_wrong(&self->member[1], c.pid, "members_life_te",
				  VPMC_MEMBER_ENDED, measured(MORE)));
	EXPECT_EQ(sums.sum[0], self->member[1].sum[0]);
}

/* A member's added counter is its own. */
TEST_F(members, added)
{
	static const struct choice more[] = { { EV_BRANCHES, VPMC_ANY }, {} };
	struct vpmc_control control;
	struct child c = {};
	struct set set;
	int adder;

	control_of(&control, more, VPMC_CONTROL_ADD);
	if (!child_fork(&c)) {
		adder = vpmc_open();
		if (vpmc_ioctl(adder, VPMC_IOC_CONTROL, &control) ||
		    heir_open(&set) || set_measure(&set, code_loop, TURNS, 0) ||
		    child_send(&c))
			_exit(1);
		_exit(child_wait(&c) ? 0 : 2);
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(1, list(self, LIVING));
	EXPECT_EQ(0, member_wrong(self->member, c.pid, "members_life_te",
				  VPMC_MEMBER_LIVING, measured(TURNS)));
	ASSERT_EQ(0, child_end(&c));
	ASSERT_EQ(1, list(self, FINISHED));
	EXPECT_EQ(0, member_wrong(self->member, c.pid, "members_life_te",
				  VPMC_MEMBER_ENDED, measured(TURNS)));
}

/* Samples and records are kept beside each other, and poll() tells of both. */
TEST_F(members, sampled)
{
	struct vpmc_control *control = &self->root.control;
	struct samples samples;
	struct child c = {};

	ASSERT_EQ(0, samples_alloc(&samples));
	control->flags = VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM |
			 VPMC_CONTROL_SAMPLE | PROCESSES;
	control->counter[0].period = TURNS;
	control->ring_records = 64;
	control->ring_watermark = 1;
	control->members = 2;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, control));
	ASSERT_EQ(0, heir_start(&c, 0, TURNS));
	EXPECT_EQ(POLLIN, poll_now(self->fd));
	ASSERT_EQ(0, samples_read(self->fd, &samples));
	EXPECT_LT(0, samples.nr);
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, heir_end(&c));
	EXPECT_EQ(POLLIN, poll_now(self->fd));
	ASSERT_EQ(1, list(self, FINISHED));
	EXPECT_EQ(0, member_wrong(self->member, c.pid, name_of(0),
				  VPMC_MEMBER_ENDED, measured(TURNS)));
	EXPECT_EQ(0, poll_now(self->fd));
	samples_free(&samples);
}

/* Up to the revocation, which is told. */
TEST_F(members, revoked)
{
	struct child c[2];
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, heir_start(&c[i], i, TURNS));
	ASSERT_EQ(0, heir_end(&c[0]));
	ASSERT_EQ(0, write_file(REVOKE, "1"));
	ASSERT_EQ(0, write_file(REVOKE, "0"));
	ASSERT_EQ(1, list(self, LIVING));
	EXPECT_EQ(VPMC_MEMBER_LOST, self->member[0].flags);
	EXPECT_EQ(0, member_wrong(&self->member[0], c[1].pid, name_of(1),
				  VPMC_MEMBER_LIVING, measured(TURNS)));
	ASSERT_EQ(0, heir_end(&c[1]));
	ASSERT_EQ(2, list(self, FINISHED));
	EXPECT_EQ(0, self->member[0].flags);
	EXPECT_EQ(VPMC_MEMBER_LOST, self->member[1].flags);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, member_wrong(&self->member[i], c[i].pid, name_of(i),
					  VPMC_MEMBER_ENDED, measured(TURNS)));
}

/* The ids are those that the caller of CONTROL sees. */
TEST_F(members, pid_namespace)
{
	struct child c = {}, inner = {};

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	if (!child_fork(&c)) {
		if (getpid() != 1 || heir_start(&inner, 1, TURNS) ||
		    heir_end(&inner) || child_send(&c))
			_exit(1);
		_exit(child_wait(&c) ? 0 : 2);
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(1, list(self, LIVING));
	EXPECT_EQ(c.pid, self->member[0].pid);
	EXPECT_EQ(c.pid, self->member[0].tid);
	ASSERT_EQ(1, list(self, FINISHED));
	EXPECT_LT(c.pid, self->member[0].pid);
	EXPECT_EQ(0, child_end(&c));
	ASSERT_EQ(1, list(self, FINISHED));
	EXPECT_EQ(c.pid, self->member[0].pid);
	EXPECT_EQ(c.pid, self->member[0].tid);
}

/* A program in the namespace has a family: its ids are those of the namespace. */
TEST_F(members, programmed_in_a_namespace)
{
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (pid)
			_exit(child_status(pid));
		if (members_open(&set, PROCESSES, 4) || some_end(1, TURNS) ||
		    members_list(set.fd, FINISHED, self->member, 1) != 1)
			_exit(2);
		_exit(self->member[0].pid != 2 || self->member[0].tid != 2);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* The descriptor reads on when the root's owner has ended. */
TEST_F(members, root_has_ended)
{
	volatile int *root = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int up[2], down[2];
	pid_t pid, heir;
	char byte;

	ASSERT_NE(MAP_FAILED, root);
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	pid = fork_with_files();
	if (!pid) {
		struct set set;

		if (members_open(&set, PROCESSES, 4))
			_exit(1);
		*root = set.fd;
		if (fork())
			_exit(0);
		heir = getpid();
		close(down[1]);
		if (heir_open(&set) || set_measure(&set, code_loop, TURNS, 0) ||
		    write(up[1], &heir, sizeof(heir)) != sizeof(heir))
			_exit(2);
		/* The other end is closed after this process has left. */
		_exit(read(down[0], &byte, 1) == 1 ? 0 : 3);
	}
	EXPECT_EQ(0, child_status(pid));
	close(up[1]);
	ASSERT_EQ(sizeof(heir), read(up[0], &heir, sizeof(heir)));
	ASSERT_EQ(1, members_list(*root, LIVING, self->member, 2));
	EXPECT_EQ(heir, self->member[0].pid);
	EXPECT_EQ(POLLHUP, poll_now(*root));
	ASSERT_EQ(1, write(down[1], "", 1));
	ASSERT_EQ(0, read(up[0], &byte, 1));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(*root));
	ASSERT_EQ(1, members_list(*root, FINISHED, self->member, 2));
	EXPECT_EQ(0, member_wrong(self->member, heir, "members_life_te",
				  VPMC_MEMBER_ENDED, measured(TURNS)));
	close(*root);
}

/* Another CONTROL begins another family. The old one's members tell it nothing. */
TEST_F(members, root_controls_anew)
{
	struct child c[2];
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, heir_start(&c[i], i, TURNS));
	ASSERT_EQ(0, heir_end(&c[0]));
	self->root.control.members = 1;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->root.control));
	EXPECT_EQ(0, list(self, LIVING));
	ASSERT_EQ(0, heir_end(&c[1]));
	EXPECT_EQ(0, list(self, FINISHED));
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, some_end(1, TURNS));
	ASSERT_EQ(1, list(self, FINISHED));
	EXPECT_EQ(1, self->member[0].number);
	self->root.control.members = 0;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->root.control));
	EXPECT_EQ(-ENODATA, list(self, FINISHED));
	EXPECT_EQ(-ENODATA, list(self, LIVING));
}

/* The root's last descriptor is closed before the members end. */
TEST_F(members, nobody_reads)
{
	struct child c[2];
	int i;

	ASSERT_EQ(0, open_again(self, PROCESSES, 2));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, heir_start(&c[i], i, TURNS));
	set_close(&self->root);
	self->root.fd = -1;
	self->root.page = MAP_FAILED;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, heir_end(&c[i]));
}

/* A family that ends with its descriptor: another one reads what its members counted. */
TEST_F(members, family_ends)
{
	const unsigned int flags = PROCESSES | VPMC_CONTROL_UNLINK_ON_CLOSE;
	struct child c[2];
	int i, other;

	ASSERT_EQ(0, open_again(self, flags, 4));
	other = open(THREAD_FILE, O_RDWR);
	ASSERT_LE(0, other);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, heir_start(&c[i], i, TURNS));
	munmap(self->root.page, PAGE);
	close(self->fd);
	self->root.fd = -1;
	self->root.page = MAP_FAILED;
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(other));
	EXPECT_EQ(0, members_list(other, LIVING, self->member, 4));
	ASSERT_EQ(2, members_list(other, FINISHED, self->member, 4));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, member_wrong(&self->member[i], c[i].pid, name_of(i),
					  VPMC_MEMBER_ENDED, measured(TURNS)));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, heir_end(&c[i]));
	EXPECT_EQ(0, members_list(other, FINISHED, self->member, 4));
	close(other);
}

NEEDS(
	{ "members.revoked", PMU | DISTURBS | ROOT },
	{ "members.pid_namespace", VPMC | ROOT },
	{ "members.programmed_in_a_namespace", VPMC | ROOT },
	{ "members.added", PMU },
	{ "members.sampled", PMU },
	{ "*", PMU | OR_EMPTY },
);

TEST_HARNESS_MAIN
