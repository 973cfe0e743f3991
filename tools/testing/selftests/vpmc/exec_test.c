// SPDX-License-Identifier: GPL-2.0
/*
 * execve() of programs that a user may watch, and of those that not; who a
 * thread is in its own namespace.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include "vpmc_test.h"

#define IMAGE	"/tmp/vpmc_image"
#define USER	1000

static const struct choice insns[] = { { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} };

FIXTURE(exec)
{
	struct vpmc_read read;		/* what the image says after STOP */
	struct vpmc_page page;		/* what it maps */
	bool mapped;
	int status;
};

FIXTURE_VARIANT(exec)
{
	uid_t owner;
	mode_t mode;
	bool unlinks;
};

FIXTURE_VARIANT_ADD(exec, ordinary) {
	.mode = 0755,
};

FIXTURE_VARIANT_ADD(exec, set_user_id) {
	.mode = 04755, .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, set_user_id_of_its_own) {
	.owner = USER, .mode = 04755,
};

/* Whoever may not read a program may not watch it either. */
FIXTURE_VARIANT_ADD(exec, not_readable) {
	.mode = 0711, .unlinks = true,
};

static int copy(const char *from, const char *to)
{
	char buf[4096];
	int in = open(from, O_RDONLY), out = creat(to, 0600);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			break;
	close(in);
	close(out);
	return n;
}

/* As an ordinary user: counts, and becomes the image. */
static void become_image(int out)
{
	char *argv[] = { "image", NULL };
	struct set set;

	if (setgid(USER) || setuid(USER) || prctl(PR_SET_DUMPABLE, 1) ||
	    dup2(out, 1) != 1)
		_exit(100);
	if (set_open(&set, insns) || dup2(set.fd, EXEC_FD) != EXEC_FD)
		_exit(101);
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     (long)IMAGE, (long)argv);
	_exit(102);
}

static ssize_t read_all(int fd, void *buf, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size && (n = read(fd, (char *)buf + done, size - done)) > 0)
		done += n;
	return done;
}

FIXTURE_SETUP(exec)
{
	int fds[2];
	pid_t pid;

	mkdir("/tmp", 0755);
	ASSERT_EQ(0, copy(exec_image_path(), IMAGE));
	ASSERT_EQ(0, chown(IMAGE, variant->owner, variant->owner));
	ASSERT_EQ(0, chmod(IMAGE, variant->mode));
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	if (!pid)
		become_image(fds[1]);
	close(fds[1]);
	ASSERT_EQ(sizeof(self->read), read_all(fds[0], &self->read,
					       sizeof(self->read)));
	self->mapped = read_all(fds[0], &self->page, sizeof(self->page)) ==
		       sizeof(self->page);
	self->status = child_status(pid);
}

FIXTURE_TEARDOWN(exec)
{
	unlink(IMAGE);
}

TEST_F(exec, counts_or_unlinks)
{
	struct code_count before = code_add(CODE_MEASURE_HEAD, CODE_EXEC);
	struct code_count all = code_add(before, CODE_EXEC_IMAGE);
	const struct vpmc_read *read = &self->read;

	ASSERT_EQ(2, read->nr_counters);
	if (variant->unlinks) {
		/* Up to execve(), and nothing of what the image did. */
		EXPECT_EQ(VPMC_STATE_UNLINKED, read->state);
		EXPECT_EQ(before.insns, read->sum[0]);
		EXPECT_EQ(before.branches, read->sum[1]);
		EXPECT_FALSE(self->mapped);
		EXPECT_EQ(ESRCH, self->status);
	} else {
		EXPECT_EQ(VPMC_STATE_STOPPED, read->state);
		EXPECT_EQ(all.insns, read->sum[0]);
		EXPECT_EQ(all.branches, read->sum[1]);
		EXPECT_TRUE(self->mapped);
		EXPECT_EQ(0, self->status);
	}
}

/* In a pid namespace of its own a thread is known by another number. */
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


TEST_HARNESS_MAIN
