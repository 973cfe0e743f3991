// SPDX-License-Identifier: GPL-2.0
/*
 * execve() of programs that a user may watch, and of others; thread ids in the
 * owner's own namespace.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/capability.h>
#include <sys/xattr.h>
#include "starter.h"

#define SUID_DUMPABLE	"/proc/sys/fs/suid_dumpable"
#define USER	1000

static const struct choice insns[] = { { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} };

FIXTURE(exec)
{
	struct image image;
};

FIXTURE_VARIANT(exec)
{
	uid_t owner;
	gid_t group;
	mode_t mode;
	const char *capability;	/* of the file */
	uid_t effective;	/* user id of whoever calls execve() */
	bool debugged;		/* fs.suid_dumpable: everything may be watched */
	unsigned int flags;	/* of CONTROL */
	bool thread;		/* a thread that does not lead calls execve() */
	bool unlinks;
};

FIXTURE_VARIANT_ADD(exec, ordinary) {
	.mode = 0755,
};

FIXTURE_VARIANT_ADD(exec, set_user_id) {
	.mode = 04755, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, set_user_id_of_its_own) {
	.owner = USER, .group = USER, .mode = 04755,
};

FIXTURE_VARIANT_ADD(exec, file_capability_debugged) {
	.mode = 0755, .capability = "e", .debugged = true, .unlinks = true,
};

/* A user who may not read a program may not watch it either. */
FIXTURE_VARIANT_ADD(exec, not_readable) {
	.mode = 0711, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, not_readable_debugged) {
	.mode = 0711, .debugged = true, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, ids_differ) {
	.mode = 0755, .effective = USER + 1, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, ids_differ_debugged) {
	.mode = 0755, .effective = USER + 1, .debugged = true, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, ordinary_debugged) {
	.mode = 0755, .debugged = true,
};

FIXTURE_VARIANT_ADD(exec, set_group_id) {
	.mode = 02755, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, set_user_id_debugged) {
	.mode = 04755, .debugged = true, .unlinks = true,
};

/* What the file gives is used only if the program asks for it. */
FIXTURE_VARIANT_ADD(exec, file_capability_permitted) {
	.mode = 0755, .capability = "", .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, file_capability_effective) {
	.mode = 0755, .capability = "e", .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, close_on_exec) {
	.mode = 0755, .flags = VPMC_CONTROL_CLOSE_ON_EXEC, .unlinks = true,
};

/* It gets another thread id: the leader's. */
FIXTURE_VARIANT_ADD(exec, thread) {
	.mode = 0755, .thread = true,
};

FIXTURE_VARIANT_ADD(exec, thread_set_user_id) {
	.mode = 04755, .thread = true, .unlinks = true,
};

/* CAP_NET_RAW */
static int set_file_capability(const char *path, bool effective)
{
	struct vfs_cap_data data = {
		.magic_etc = VFS_CAP_REVISION_2 |
			     (effective ? VFS_CAP_FLAGS_EFFECTIVE : 0),
		.data[0].permitted = 1U << CAP_NET_RAW,
	};

	return setxattr(path, "security.capability", &data, sizeof(data), 0);
}

FIXTURE_SETUP(exec)
{
	self->image.uid = USER;
	self->image.effective = variant->effective;
	self->image.flags = variant->flags;
	self->image.thread = variant->thread;
	ASSERT_EQ(0, image_mount(variant->owner, variant->group, variant->mode));
	if (variant->capability)
		ASSERT_EQ(0, set_file_capability(IMAGE, *variant->capability));
	if (variant->debugged)
		ASSERT_EQ(0, write_file(SUID_DUMPABLE, "1"));
	ASSERT_EQ(0, image_run(&self->image));
}

FIXTURE_TEARDOWN(exec)
{
	EXPECT_EQ(0, image_unmount());
	EXPECT_EQ(0, write_file(SUID_DUMPABLE, "0"));
}

TEST_F(exec, counts_or_unlinks)
{
	image_expect(_metadata, &self->image, variant->unlinks);
}

static int control_two(int fd, unsigned int flags)
{
	struct vpmc_control control;

	control_init(&control, flags);
	control_choose(&control, EV_INSNS, 0);
	control_choose(&control, EV_BRANCHES, 1);
	return vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
}

static unsigned int exec_flags(int fd)
{
	struct vpmc_control control;

	return vpmc_read_control(fd, &control) ? ~0U : control.flags;
}

/* A tool measures another program: all of it, and nothing else. */
TEST(enable_on_exec)
{
	const struct code_count all = counted_here(IMAGE_ALL);
	struct pollfd end = { .events = POLLIN };
	struct vpmc_read read;
	struct starter s = {};

	ASSERT_EQ(0, image_install(0, 0, 0755));
	ASSERT_EQ(0, starter_start(&s, 0));
	end.fd = open_of(s.pid, O_RDWR | O_CREAT);
	ASSERT_LE(0, end.fd);
	ASSERT_EQ(0, control_two(end.fd, VPMC_CONTROL_STOPPED |
				 VPMC_CONTROL_ENABLE_ON_EXEC));
	EXPECT_EQ(VPMC_CONTROL_ENABLE_ON_EXEC, exec_flags(end.fd));
	ASSERT_EQ(0, vpmc_read(end.fd, &read));
	EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	ASSERT_EQ(1, write(s.go, "", 1));
	ASSERT_EQ(1, poll(&end, 1, 10000));
	EXPECT_EQ(POLLHUP, end.revents);
	ASSERT_EQ(0, vpmc_read(end.fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	EXPECT_EQ(all.insns, read.sum[0]);
	EXPECT_EQ(all.branches, read.sum[1]);
	EXPECT_LT(all.insns, read.ticks);
	/* The flag works once. */
	EXPECT_EQ(0, exec_flags(end.fd));
	EXPECT_EQ(EBADF, child_status(s.pid));
}

/* A set that runs already goes on, and what is revoked stays so. */
TEST(enable_on_exec_while_running)
{
	const struct code_count all = counted_here(IMAGE_ALL);
	struct vpmc_read before, read;
	struct starter s = {};
	int fd;

	ASSERT_EQ(0, image_install(0, 0, 0755));
	ASSERT_EQ(0, starter_start(&s, 0));
	fd = open_of(s.pid, O_RDWR | O_CREAT);
	ASSERT_EQ(0, control_two(fd, VPMC_CONTROL_ENABLE_ON_EXEC));
	ASSERT_EQ(0, vpmc_read(fd, &before));
	EXPECT_EQ(0, before.sum[0]);
	ASSERT_EQ(1, write(s.go, "", 1));
	EXPECT_EQ(EBADF, child_status(s.pid));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	/* And what it did before execve(). */
	EXPECT_LE(all.insns + counters_here(1), read.sum[0]);
	EXPECT_LT(0, read.ticks);
	EXPECT_EQ(0, exec_flags(fd));
}

TEST(exec_flags_exclude_each_other)
{
	int fd = vpmc_open();

	EXPECT_EQ(-EINVAL, control_two(fd, VPMC_CONTROL_CLOSE_ON_EXEC |
				       VPMC_CONTROL_ENABLE_ON_EXEC));
	EXPECT_EQ(0, control_two(fd, VPMC_CONTROL_CLOSE_ON_EXEC));
	EXPECT_EQ(VPMC_CONTROL_CLOSE_ON_EXEC, exec_flags(fd));
	/* Another CONTROL sets or clears the flag. */
	EXPECT_EQ(0, control_two(fd, 0));
	EXPECT_EQ(0, exec_flags(fd));
}

/* An image that runs, and has ended. */
static void wait_for_image(struct starter *s)
{
	char buf[4096];

	while (read(s->out, buf, sizeof(buf)) > 0)
		;
}

/* A user, with a process that will become root's. Returns as fork() does. */
static pid_t fork_watcher(struct starter *s)
{
	pid_t pid = image_install(0, 0, 04755) ? -1 : fork();

	if (!pid && (become(USER) || starter_start(s, USER)))
		_exit(1);
	return pid;
}

/*
 * A user who watches a process of their own that becomes root's: sums end where
 * execve() begins, and nothing can be opened or programmed any more.
 */
TEST(watched_and_set_user_id)
{
	struct vpmc_read before, read;
	struct pollfd end = { .events = POLLIN };
	struct starter s = {};
	pid_t pid;

	pid = fork_watcher(&s);
	if (!pid) {
		end.fd = open_of(s.pid, O_RDWR | O_CREAT);
		if (control_two(end.fd, 0) || vpmc_read(end.fd, &before))
			_exit(2);
		if (before.sum[0] || write(s.go, "", 1) != 1)
			_exit(3);
		wait_for_image(&s);
		if (poll(&end, 1, 10000) != 1 || end.revents != POLLHUP ||
		    vpmc_read(end.fd, &read))
			_exit(4);
		/* It executed little before, compared with the image's loop. */
		if (read.state != VPMC_STATE_UNLINKED ||
		    read.sum[0] < counters_here(1) || read.sum[0] > 10000)
			_exit(5);
		before = read;
		if (control_two(end.fd, 0) != -ESRCH ||
		    vpmc_ioctl(end.fd, VPMC_IOC_START, 0) != -ESRCH)
			_exit(6);
		child_status(s.pid);
		if (vpmc_read(end.fd, &read) ||
		    memcmp(&before, &read, sizeof(read)))
			_exit(7);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/*
 * Attaches again and again until the other process has become root's. That one
 * begins when counters have been attached once.
 */
static int attach_until_refused(const struct starter *s, int *fds, int max)
{
	int n = 0, fd;

	for (;;) {
		fd = open_of(s->pid, O_RDWR | O_CREAT);
		if (fd < 0)
			return fd == -EACCES || fd == -ESRCH ? n : -1;
		if (!n && write(s->go, "", 1) != 1)
			return -1;
		control_two(fd, 0);
		/* The last ones are those that matter. */
		if (n >= max)
			close(fds[n % max]);
		fds[n++ % max] = fd;
		/* The next one attaches new counters. */
		vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
	}
}

TEST(attached_while_it_becomes_root)
{
	int fds[100], n, i;
	struct vpmc_read read;
	struct starter s = {};
	pid_t pid;

	pid = fork_watcher(&s);
	if (!pid) {
		n = attach_until_refused(&s, fds, ARRAY_SIZE(fds));
		if (n <= 0)
			_exit(2);
		wait_for_image(&s);
		for (i = 0; i < n && i < ARRAY_SIZE(fds); i++)
			if (vpmc_read(fds[i], &read) ||
			    read.state != VPMC_STATE_UNLINKED ||
			    read.sum[0] > 10000)
				_exit(3);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* In its own pid namespace a thread has another number. */
TEST(pid_namespace)
{
	pid_t pid;

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid) {
		struct vpmc_read read;
		struct set set;

		if (getpid() != 1)
			_exit(1);
		/* "self" needs a /proc that knows this namespace. */
		if (unshare(CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("proc", "/proc", "proc", 0, NULL))
			_exit(2);
		set.fd = vpmc_open();
		if (set_program(&set, insns) || vpmc_read(set.fd, &read))
			_exit(3);
		set.page = vpmc_map(set.fd);
		if (set.page == MAP_FAILED || set.page->tid != 1 ||
		    read.tid != 1)
			_exit(4);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

NEEDS(
	{ "exec.*", VPMC | DISTURBS | ROOT },
	{ "global.pid_namespace", VPMC | ROOT },
	{ "global.exec_flags_exclude_each_other", VPMC },
	{ "global.attached_while_it_becomes_root", VPMC | ROOT },
	{ "*", TRUE_COUNTS | OR_EMPTY | ROOT },
);

TEST_HARNESS_MAIN
