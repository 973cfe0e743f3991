// SPDX-License-Identifier: GPL-2.0
/*
 * What the administrator lets users count: kernel.vpmc_paranoid, and perf's
 * policy, which applies by default.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "caps.h"
#include "perf.h"

#define USER		1000
#define PARANOID	"/proc/sys/kernel/vpmc_paranoid"
#define PERF_PARANOID	"/proc/sys/kernel/perf_event_paranoid"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

/* Is this what a file says? */
static bool says(const char *path, const char *text)
{
	int fd = open(path, O_RDONLY);
	char buf[16] = "";
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n > 0 && !strcmp(buf, text);
}


FIXTURE(paranoid)
{
	struct set before;
};

FIXTURE_VARIANT(paranoid)
{
	const char *level;
	bool attaches, runs_time, counts;
};

/* At perf's default, 2: as 0. */
FIXTURE_VARIANT_ADD(paranoid, perf) {
	.level = "-1", .attaches = true, .runs_time = true, .counts = true,
};

FIXTURE_VARIANT_ADD(paranoid, 0) {
	.level = "0", .attaches = true, .runs_time = true, .counts = true,
};

FIXTURE_VARIANT_ADD(paranoid, 1) {
	.level = "1", .attaches = true, .runs_time = true,
};

FIXTURE_VARIANT_ADD(paranoid, 2) {
	.level = "2",
};

FIXTURE_SETUP(paranoid)
{
	ASSERT_TRUE(says(PARANOID, "-1\n"));
	ASSERT_EQ(0, write_file(PERF_PARANOID, "2"));
	ASSERT_EQ(0, set_open(&self->before, insns));
}

FIXTURE_TEARDOWN(paranoid)
{
	EXPECT_EQ(0, write_file(PARANOID, "-1"));
}

/* 0, or -EACCES with the reason, or something else. */
static int paranoid_control(int fd, int n)
{
	struct vpmc_control control;
	int i, err;

	control_init(&control, VPMC_CONTROL_STOPPED);
	for (i = 0; i < n; i++)
		control_add(&control, event_here(EV_INSNS), VPMC_ANY);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	if (err != -EACCES)
		return err;
	return control.reason == VPMC_REASON_PARANOID &&
	       control.bad_counter == n ? -EACCES : -1;
}

/*
 * Is CONTROL answered otherwise than it must be? It names @n counters, or none on a
 * machine that has none.
 */
static bool wrong_control(int fd, int n, bool runs_time, bool counts)
{
	const bool any = n && !lack(OF_A_COUNTER);

	return paranoid_control(fd, any ? n : 0) !=
	       ((any ? counts : runs_time) ? 0 : -EACCES);
}

/* Checks what a process may do whose only privileges are @caps. */
static int try_as_user(uint64_t caps, bool user_namespace, bool attaches,
		       bool runs_time, bool counts)
{
	int fd, old;

	old = open(THREAD_FILE, O_RDWR | O_CREAT, 0);
	if (become_with(USER, caps) || (user_namespace && unshare(CLONE_NEWUSER)))
		return 1;
	/* What is there already is found. */
	if (old >= 0 && open_error(THREAD_FILE, O_RDWR | O_CREAT))
		return 2;
	if (old >= 0 && vpmc_ioctl(old, VPMC_IOC_UNLINK, 0))
		return 3;
	fd = open(THREAD_FILE, O_RDWR | O_CREAT, 0);
	if (fd < 0)
		return attaches || errno != EACCES ? 4 : 0;
	if (wrong_control(fd, 0, runs_time, counts))
		return 5;
	if (wrong_control(fd, 2, runs_time, counts))
		return 6;
	return attaches ? 0 : 7;
}

TEST_F(paranoid, user)
{
	pid_t pid;

	ASSERT_EQ(0, write_file(PARANOID, variant->level));
	pid = fork();
	if (!pid)
		_exit(try_as_user(0, false, variant->attaches,
				  variant->runs_time, variant->counts));
	EXPECT_EQ(0, child_status(pid));
	/* All capabilities, of a user namespace. */
	pid = fork();
	if (!pid)
		_exit(try_as_user(0, true, variant->attaches,
				  variant->runs_time, variant->counts));
	EXPECT_EQ(0, child_status(pid));
	pid = fork();
	if (!pid)
		_exit(try_as_user(1ULL << CAP_PERFMON, false, true, true, true));
	EXPECT_EQ(0, child_status(pid));
}

/* A descriptor is not enough: CONTROL checks its caller. */
TEST_F(paranoid, descriptor_from_before)
{
	pid_t pid;

	ASSERT_EQ(0, write_file(PARANOID, variant->level));
	pid = fork();
	if (!pid) {
		if (become(USER))
			_exit(1);
		if (wrong_control(self->before.fd, 0, variant->runs_time,
				  variant->counts))
			_exit(2);
		_exit(wrong_control(self->before.fd, 1, variant->runs_time,
				    variant->counts) ? 3 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* Existing sets continue. */
TEST_F(paranoid, set_from_before)
{
	pid_t pid = fork();
	struct set set;

	if (!pid) {
		int fd = open(PARANOID, O_WRONLY);

		if (become(USER) || set_open(&set, insns))
			_exit(1);
		/* This user may not change it, and has the file from before. */
		if (write(fd, variant->level, strlen(variant->level)) != -1 ||
		    errno != EPERM)
			_exit(2);
		_exit(set_measure(&set, code_loop, 100, 0) ||
		      wrong_after(&set, CODE_LOOP(100)) ? 3 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, write_file(PARANOID, variant->level));
	ASSERT_EQ(0, set_measure(&self->before, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->before, CODE_LOOP(1000)));
}

/* The write needs root's capabilities; being the file's owner is not enough. */
TEST(sysctls_without_capability)
{
	pid_t pid = fork();

	if (!pid) {
		if (set_capabilities(0))
			_exit(1);
		if (write_file(PARANOID, "1") != -EPERM)
			_exit(2);
		_exit(write_file("/proc/sys/kernel/vpmc_isolation", "0") ==
		      -EPERM ? 0 : 3);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_TRUE(says(PARANOID, "-1\n"));
	EXPECT_EQ(1, read_number("/proc/sys/kernel/vpmc_isolation"));
	EXPECT_EQ(0, write_file(PARANOID, "-1"));
}

TEST(paranoid_values)
{
	EXPECT_EQ(-EINVAL, write_file(PARANOID, "-2"));
	EXPECT_EQ(-EINVAL, write_file(PARANOID, "3"));
	EXPECT_TRUE(says(PARANOID, "-1\n"));
}

/* What is less than the least is refused, and changes nothing. */
TEST(least_values)
{
	static const char *const least_is_1[] = {
		"/proc/sys/kernel/vpmc_overflow_rate",
		"/proc/sys/kernel/vpmc_period_min",
	};
	int before, i;

	for (i = 0; i < ARRAY_SIZE(least_is_1); i++) {
		before = read_number(least_is_1[i]);
		EXPECT_LT(1, before);
		EXPECT_EQ(-EINVAL, write_file(least_is_1[i], "0"));
		EXPECT_EQ(-EINVAL, write_file(least_is_1[i], "-1"));
		EXPECT_EQ(before, read_number(least_is_1[i]));
	}
}

/* At -1 perf's policy decides, which is compared with perf itself. */
FIXTURE(follows)
{
};

FIXTURE_VARIANT(follows)
{
	uid_t uid;
	uint64_t caps;
	bool user_namespace;
	bool refused[5];	/* at perf_event_paranoid -1 to 3 */
};

FIXTURE_VARIANT_ADD(follows, user) {
	.uid = USER, .refused = { [4] = true },
};

FIXTURE_VARIANT_ADD(follows, root) {
};

FIXTURE_VARIANT_ADD(follows, root_of_a_user_namespace) {
	.uid = USER, .user_namespace = true, .refused = { [4] = true },
};

/* Debian's value 3 requires more than what counting the kernel requires. */
FIXTURE_VARIANT_ADD(follows, perfmon) {
	.uid = USER, .caps = 1ULL << CAP_PERFMON, .refused = { [4] = true },
};

FIXTURE_VARIANT_ADD(follows, sys_admin) {
	.uid = USER, .caps = 1ULL << CAP_SYS_ADMIN,
};

FIXTURE_SETUP(follows)
{
	ASSERT_TRUE(says(PARANOID, "-1\n"));
}

FIXTURE_TEARDOWN(follows)
{
	EXPECT_EQ(0, write_file(PERF_PARANOID, "2"));
}

/* Opened by perf and by us: 0, or what is wrong. */
static int wrong_follower(bool refused)
{
	int perf = perf_open_insns(), fd, err = refused ? -EACCES : 0;

	if ((perf < 0 ? perf : 0) != err)
		return 1;
	if (perf >= 0)
		close(perf);
	fd = vpmc_open();
	if (fd < 0)
		return 2;
	if (paranoid_control(fd, 0))
		return 3;
	return paranoid_control(fd, 1) == err ? 0 : 4;
}

TEST_F(follows, perf)
{
	char level[4];
	pid_t pid;
	int i;

	for (i = 0; i < 5; i++) {
		sprintf(level, "%d", i - 1);
		ASSERT_EQ(0, write_file(PERF_PARANOID, level));
		pid = fork();
		if (!pid) {
			if (become_with(variant->uid, variant->caps) ||
			    (variant->user_namespace && unshare(CLONE_NEWUSER)))
				_exit(100);
			_exit(wrong_follower(variant->refused[i]));
		}
		EXPECT_EQ(0, child_status(pid)) {
			TH_LOG("perf_event_paranoid = %s", level);
		}
	}
}

/* An explicit value of the administrator does not depend on perf's value. */
TEST(explicit)
{
	pid_t pid;

	ASSERT_EQ(0, write_file(PERF_PARANOID, "3"));
	ASSERT_EQ(0, write_file(PARANOID, "0"));
	pid = fork();
	if (!pid)
		_exit(try_as_user(0, false, true, true, true));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, write_file(PARANOID, "-1"));
	EXPECT_EQ(0, write_file(PERF_PARANOID, "2"));
}

NEEDS(
	{ "paranoid.*.user", COUNTER | OR_EMPTY | DISTURBS | ROOT },
	{ "paranoid.*.descriptor_from_before",
	  COUNTER | OR_EMPTY | DISTURBS | ROOT },
	{ "follows.*", COUNTER | DISTURBS | ROOT },
	{ "global.explicit", COUNTER | OR_EMPTY | DISTURBS | ROOT },
	{ "*", VPMC | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
