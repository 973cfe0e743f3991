// SPDX-License-Identifier: GPL-2.0
/*
 * Which processes may open counters and what they may count, depending on user,
 * capabilities, namespaces and mount options of /proc.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include "caps.h"

#define USER	1000
#define OTHER	1001

#define SCOPE	"/proc/sys/kernel/yama/ptrace_scope"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

/*
 * Without Yama there is only 0. Its default, 1, refuses siblings. Callers and
 * owners are siblings here.
 */
static int set_scope(const char *value)
{
	int err = write_file(SCOPE, value);

	return err == -ENOENT && !strcmp(value, "0") ? 0 : err;
}

/* Is the sum of the only counter what the target executed for one byte? */
static bool wrong_served(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ||
	       !fits_since(read.sum[0], counted_here(TARGET_SERVE).insns, 1);
}

/* All operations on a descriptor: 0 if they work. */
static int use(const struct target *t)
{
	struct set set;

	set.fd = target_open(t, O_RDWR | O_CREAT);
	tolerance_begin();
	if (set_program(&set, insns) || vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
	    target_serve(t, 1) || vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0) ||
	    wrong_served(set.fd) || vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0))
		return 1;
	return close(set.fd);
}

FIXTURE(access)
{
	struct target t;
};

FIXTURE_VARIANT(access)
{
	uid_t caller, owner;
	uint64_t caps;
	bool private;		/* the owner may not be debugged */
	bool user_namespace;	/* the caller has its own, with all capabilities */
	int err;
};

FIXTURE_VARIANT_ADD(access, root_to_a_user) {
	.owner = USER,
};

FIXTURE_VARIANT_ADD(access, own) {
	.caller = USER, .owner = USER,
};

FIXTURE_VARIANT_ADD(access, another_user) {
	.caller = USER, .owner = OTHER, .err = -EACCES,
};

FIXTURE_VARIANT_ADD(access, a_user_to_root) {
	.caller = USER, .err = -EACCES,
};

FIXTURE_VARIANT_ADD(access, not_dumpable) {
	.caller = USER, .owner = USER, .private = true, .err = -EACCES,
};

FIXTURE_VARIANT_ADD(access, debugger) {
	.caller = USER, .owner = OTHER, .caps = 1ULL << CAP_SYS_PTRACE,
};

/* May count all events, but not in processes that it does not control. */
FIXTURE_VARIANT_ADD(access, perfmon_is_no_debugger) {
	.caller = USER, .owner = OTHER, .caps = 1ULL << CAP_PERFMON,
	.err = -EACCES,
};

FIXTURE_VARIANT_ADD(access, root_of_a_user_namespace) {
	.caller = USER, .owner = OTHER, .user_namespace = true, .err = -EACCES,
};

/*
 * The same user, but outside: there ptrace_may_access() needs CAP_SYS_PTRACE.
 */
FIXTURE_VARIANT_ADD(access, own_from_a_user_namespace) {
	.caller = USER, .owner = USER, .user_namespace = true, .err = -EACCES,
};

FIXTURE_SETUP(access)
{
	ASSERT_EQ(0, set_scope("0"));
	self->t.uid = variant->owner;
	self->t.private = variant->private;
	ASSERT_EQ(0, target_start(&self->t));
}

FIXTURE_TEARDOWN(access)
{
	EXPECT_EQ(0, target_end(&self->t));
}

TEST_F(access, open)
{
	static const int flags[] = {
		O_RDONLY, O_RDWR, O_WRONLY, O_RDWR | O_CREAT,
		O_RDONLY | O_CREAT,
	};
	pid_t pid = fork();
	int i;

	if (!pid) {
		if (become_with(variant->caller, variant->caps) ||
		    (variant->user_namespace && unshare(CLONE_NEWUSER)))
			_exit(100);
		for (i = 0; i < ARRAY_SIZE(flags); i++)
			if (target_open_error(&self->t, flags[i]) !=
			    variant->err)
				_exit(i + 1);
		_exit(variant->err ? 0 : use(&self->t) ? 50 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* A server that acts for a user: its fsuid decides, and not its real or saved uid. */
TEST(acts_for_a_user)
{
	struct target t = { .uid = USER };
	uid_t other = USER + 1000;
	pid_t pid;
	int i;

	ASSERT_EQ(0, set_scope("0"));
	ASSERT_EQ(0, target_start(&t));
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			if (setgid(USER) || prctl(PR_SET_KEEPCAPS, 0) ||
			    setresuid(i ? other : USER, i ? USER : other,
				      i ? other : USER))
				_exit(100);
			_exit(target_open_error(&t, O_RDONLY | O_CREAT) ==
			      (i ? 0 : -EACCES) ? 0 : 1);
		}
		EXPECT_EQ(0, child_status(pid));
	}
	EXPECT_EQ(0, target_end(&t));
}

/* The right is checked at open(). Later changes of the owner do not matter. */
TEST(decided_at_open)
{
	struct target t = { .uid = USER };
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, set_scope("0"));
	ASSERT_EQ(0, target_start(&t));
	pid = fork();
	if (!pid) {
		if (become(USER))
			_exit(1);
		set.fd = target_open(&t, O_RDWR | O_CREAT);
		/* The caller changes, and cannot open it any more. */
		if (setgid(OTHER) != -1 || prctl(PR_SET_DUMPABLE, 0) ||
		    unshare(CLONE_NEWUSER))
			_exit(2);
		tolerance_begin();
		if (set_program(&set, insns) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
		    target_serve(&t, 1))
			_exit(3);
		_exit(wrong_served(set.fd));
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, target_end(&t));
}

/* A /proc that hides other users' processes hides their counters. */
TEST(hidepid)
{
	struct target own = { .uid = USER }, other = { .uid = OTHER };
	char path[64];
	pid_t pid;

	ASSERT_EQ(0, set_scope("0"));
	ASSERT_EQ(0, target_start(&own));
	ASSERT_EQ(0, target_start(&other));
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("proc", "/proc", "proc", 0, "hidepid=2") ||
		    become(USER))
			_exit(1);
		if (target_open_error(&own, O_RDWR | O_CREAT))
			_exit(2);
		if (target_open_error(&other, O_RDONLY) != -ENOENT ||
		    target_open_error(&other, O_RDWR | O_CREAT) != -ENOENT)
			_exit(3);
		sprintf(path, "/proc/%d/task/%d/perfctr", other.pid, other.pid);
		if (open_error(path, O_RDONLY) != -ENOENT)
			_exit(4);
		_exit(open_error(THREAD_FILE, O_RDWR | O_CREAT) ? 5 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, target_end(&own));
	EXPECT_EQ(0, target_end(&other));
}

/*
 * Counting the kernel: what perf requires, of the process that calls CONTROL.
 */
static int kernel_refused(int fd)
{
	struct vpmc_control control;
	int err;

	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, EV_INSNS, 0);
	control_choose(&control, 0x200c0, 1);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	if (!err)
		return 0;
	return err == -EACCES && control.reason == VPMC_REASON_KERNEL_MODE &&
	       control.bad_counter == 2 ? 1 : -1;
}

TEST(kernel_mode)
{
	struct target t = { .uid = USER };
	int fd, i;
	pid_t pid;

	ASSERT_EQ(0, set_scope("0"));
	ASSERT_EQ(2, read_number("/proc/sys/kernel/perf_event_paranoid"));
	ASSERT_EQ(0, target_start(&t));
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			uint64_t caps = i == 1 ? 1ULL << CAP_PERFMON : 0;

			if (become_with(USER, caps))
				_exit(1);
			fd = target_open(&t, O_RDWR | O_CREAT);
			if (i == 2 && unshare(CLONE_NEWUSER))
				_exit(2);
			_exit(kernel_refused(fd) == (i == 0 || i == 2) ? 0 : 3);
		}
		EXPECT_EQ(0, child_status(pid)) {
			TH_LOG("step %d", i);
		}
		/* The last one: everybody may. */
		if (i == 2)
			ASSERT_EQ(0, write_file("/proc/sys/kernel/perf_event_paranoid",
						"1"));
	}
	EXPECT_EQ(0, write_file("/proc/sys/kernel/perf_event_paranoid", "2"));
	EXPECT_EQ(0, target_end(&t));
}

#define CORE_PATTERN	"/proc/sys/kernel/core_pattern"

/* The last process so far; programs of the kernel's come after it. */
static volatile pid_t last;
static volatile bool over;
static int too_early;

/* One that has ended has no address space either. */
static bool lives(pid_t pid)
{
	char state = task_state(pid);

	return state && !strchr("ZX", state);
}

/* Lets new processes count, whatever program they will execute. */
static void *attach_to_newborns(void *unused)
{
	struct vpmc_control control;
	pid_t pid;
	int fd;

	if (pin(1))
		return (void *)1L;
	while (!over) {
		for (pid = last + 1; pid < last + 4; pid++) {
			fd = open_of(pid, O_RDWR | O_CREAT);
			too_early += fd == -ESRCH && lives(pid);
			if (fd < 0)
				continue;
			control_of(&control, insns, 0);
			vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
			close(fd);
		}
	}
	return NULL;
}

/*
 * A program that the kernel starts is a process without an address space before
 * its execve(): nothing that could be counted.
 */
TEST(program_of_the_kernel)
{
	pthread_t thread;
	void *failed;
	pid_t pid;
	int i;

	ASSERT_EQ(0, write_file(CORE_PATTERN, "|/bin/true"));
	last = getpid();
	ASSERT_EQ(0, pthread_create(&thread, NULL, attach_to_newborns, NULL));
	ASSERT_EQ(0, pin(0));
	for (i = 0; i < 100; i++) {
		pid = fork();
		if (!pid)
			abort();
		last = pid;
		EXPECT_EQ(KILLED_BY(SIGABRT), child_status(pid));
	}
	over = true;
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
	EXPECT_LT(0, too_early);
	EXPECT_EQ(0, write_file(CORE_PATTERN, "core"));
}

NEEDS(
	{ "global.program_of_the_kernel", EXACT | DISTURBS | ROOT | TWO_CPUS },
	{ "global.kernel_mode", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "global.hidepid", VPMC | DISTURBS | ROOT | TWO_CPUS },
	/* Those that may, count. */
	{ "*", PMU | OR_EMPTY | DISTURBS | ROOT | TWO_CPUS },
);

TEST_HARNESS_MAIN
