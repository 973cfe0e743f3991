// SPDX-License-Identifier: GPL-2.0
/*
 * Security modules are asked: SELinux checks execve() into another domain,
 * counting events and the kernel, and opening the counters of others. The
 * policy is lsm_policy.conf. In the emulator it is loaded if there is none.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "global.h"
#include "image.h"
#include "perf.h"

#define SELINUX		"/sys/fs/selinux/"
#define DOMAIN(name)	"vpmc_u:vpmc_r:vpmc_" name "_t"

/*
 * The policy, which lies beside this program, to where none is loaded yet. It
 * stays until the machine is booted again, so not to a user's machine.
 */
static void load_policy(void)
{
	char path[PATH_MAX], context[64] = "", *policy = NULL;
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32), n;
	int fd = open("/proc/self/attr/current", O_RDONLY);
	struct stat stat;

	n = read(fd, context, sizeof(context) - 1);
	close(fd);
	if (!emulator() || len <= 0 || n <= 0 || strcmp(context, "kernel"))
		return;
	path[len] = 0;
	strcpy(strrchr(path, '/'), "/lsm_policy");
	mount("selinuxfs", SELINUX, "selinuxfs", 0, NULL);
	fd = open(path, O_RDONLY);
	if (!fstat(fd, &stat))
		policy = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	fd = open(SELINUX "load", O_WRONLY);
	if (fd >= 0 && policy && policy != MAP_FAILED &&
	    write(fd, policy, stat.st_size) != stat.st_size)
		perror("lsm_policy");
	close(fd);
}

/* Is it our policy that is enforced? */
#define REQUIRE_POLICY()						\
	do {								\
		load_policy();						\
		if (write_file(SELINUX "context", DOMAIN("secure")) ||	\
		    read_number(SELINUX "enforce") != 1)		\
			SKIP(return, "needs SELinux with lsm_policy.conf"); \
	} while (0)

/* The calling process goes to another domain. */
static int enter(const char *domain)
{
	return write_file("/proc/self/attr/current", domain);
}

FIXTURE(exec)
{
	struct image image;
};

FIXTURE_VARIANT(exec)
{
	uid_t uid;
	const char *domain;
	bool unlinks;
};

FIXTURE_VARIANT_ADD(exec, same_domain) {
	.uid = 1000, .domain = DOMAIN("base"),
};

FIXTURE_VARIANT_ADD(exec, secure) {
	.uid = 1000, .domain = DOMAIN("secure"), .unlinks = true,
};

FIXTURE_VARIANT_ADD(exec, root_secure) {
	.domain = DOMAIN("secure"), .unlinks = true,
};

/* The policy lets the caller control the program. */
FIXTURE_VARIANT_ADD(exec, not_secure) {
	.uid = 1000, .domain = DOMAIN("open"),
};

FIXTURE_SETUP(exec)
{
	REQUIRE_POLICY();
	self->image.uid = variant->uid;
	self->image.context = variant->domain;
	ASSERT_EQ(0, image_mount(0, 0, 0755));
	ASSERT_EQ(0, image_run(&self->image));
}

FIXTURE_TEARDOWN(exec)
{
	EXPECT_EQ(0, image_unmount());
}

TEST_F(exec, counts_or_unlinks)
{
	image_expect(_metadata, &self->image, variant->unlinks);
}

/* Of a thread's own set: 0, or -errno if that is for counting the kernel. */
static int count_kernel(void)
{
	struct vpmc_control control;
	int fd = vpmc_open(), err;

	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, EV_INSNS, VPMC_ANY);
	if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control))
		return -EPROTO;
	control_choose(&control, EV_KERNEL_INSNS, VPMC_ANY);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	close(fd);
	if (err && (control.reason != VPMC_REASON_KERNEL_MODE ||
		    control.bad_counter != 2))
		return -EPROTO;
	return err;
}

static int perf_counts_kernel(void)
{
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
			   PERF_KERNEL, -1);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The module refuses root with all capabilities, in perf and in vpmc. */
TEST(kernel_mode)
{
	pid_t pid;

	REQUIRE_POLICY();
	EXPECT_EQ(0, perf_counts_kernel());
	EXPECT_EQ(0, count_kernel());
	pid = fork();
	if (!pid) {
		if (enter(DOMAIN("user")))
			_exit(1);
		if (perf_counts_kernel() != -EACCES)
			_exit(2);
		_exit(count_kernel() == -EACCES ? 0 : 3);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* A set that counts nothing, and one that counts user mode: 0, or what is wrong. */
static int refused_everything(void)
{
	struct vpmc_control control;
	int fd = vpmc_open(), perf = perf_open_insns();

	if (perf != -EACCES)
		return 2;
	control_init(&control, VPMC_CONTROL_STOPPED);
	if (fd < 0 || vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control))
		return 3;
	control_choose(&control, EV_INSNS, VPMC_ANY);
	if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) != -EACCES)
		return 4;
	return control.reason == VPMC_REASON_SECURITY &&
	       control.bad_counter == 1 ? 0 : 5;
}

/* This domain may count nothing, whatever the sysctl says. */
TEST(user_mode)
{
	pid_t pid;

	REQUIRE_POLICY();
	pid = fork();
	if (!pid)
		_exit(enter(DOMAIN("none")) ? 1 : refused_everything());
	EXPECT_EQ(0, child_status(pid));
}

FIXTURE(cpus)
{
};

FIXTURE_VARIANT(cpus)
{
	const char *domain;
	int open;		/* the result of open() */
	int control;		/* of CONTROL by a descriptor of root's */
	int kernel;		/* of CONTROL of kernel mode by that */
	uint32_t reason;	/* of the last refusal */
};

FIXTURE_VARIANT_ADD(cpus, everything) {
	.domain = DOMAIN("base"),
};

FIXTURE_VARIANT_ADD(cpus, not_the_kernel) {
	.domain = DOMAIN("user"), .kernel = -EACCES,
	.reason = VPMC_REASON_KERNEL_MODE,
};

FIXTURE_VARIANT_ADD(cpus, threads_alone) {
	.domain = DOMAIN("thread"), .open = -EACCES, .control = -EACCES,
	.kernel = -EACCES, .reason = VPMC_REASON_SECURITY,
};

FIXTURE_VARIANT_ADD(cpus, no_events) {
	.domain = DOMAIN("none"), .open = -EACCES, .control = -EACCES,
	.kernel = -EACCES, .reason = VPMC_REASON_SECURITY,
};

FIXTURE_SETUP(cpus)
{
	REQUIRE_POLICY();
}

FIXTURE_TEARDOWN(cpus)
{
}

static int wrong_cpus(int fd, const FIXTURE_VARIANT(cpus) *variant)
{
	static const struct choice kernel[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };
	struct vpmc_global_control control;
	int own;

	if (enter(variant->domain))
		return 1;
	own = global_open();
	if ((own < 0 ? own : 0) != variant->open)
		return 2;
	global_init(&control, 0, two);
	if (global_control(fd, &control) != variant->control)
		return 3;
	global_init(&control, 0, kernel);
	if (global_control(fd, &control) != variant->kernel)
		return 4;
	return control.reason != variant->reason ? 5 : 0;
}

/* Counting processors is asked as perf asks. */
TEST_F(cpus, what_is_allowed)
{
	int fd = global_open();
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork();
	if (!pid)
		_exit(wrong_cpus(fd, variant));
	EXPECT_EQ(0, child_status(pid));
	close(fd);
}

/* A process in @domain that ends when the pipe is closed. */
static pid_t start_in(const char *domain, int *stop)
{
	int go[2], ready[2];
	pid_t pid;
	char byte;

	if (pipe2(go, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (enter(domain) || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(go[0], &byte, 1));
	}
	close(ready[1]);
	close(go[0]);
	*stop = go[1];
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	close(ready[0]);
	return pid;
}

FIXTURE(open)
{
	pid_t pid;
	int stop;
};

FIXTURE_VARIANT(open)
{
	const char *domain;
	int error;
};

FIXTURE_VARIANT_ADD(open, may_be_debugged) {
	.domain = DOMAIN("open"),
};

FIXTURE_VARIANT_ADD(open, may_not) {
	.domain = DOMAIN("secure"), .error = -EACCES,
};

FIXTURE_SETUP(open)
{
	REQUIRE_POLICY();
	self->pid = start_in(variant->domain, &self->stop);
	ASSERT_LT(0, self->pid);
}

FIXTURE_TEARDOWN(open)
{
	close(self->stop);
	EXPECT_EQ(0, child_status(self->pid));
}

/*
 * A process cannot control counters of processes that its domain may not debug.
 */
TEST_F(open, of_another)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		if (enter(DOMAIN("user")))
			_exit(1);
		fd = open_of(self->pid, O_RDWR | O_CREAT);
		_exit((fd < 0 ? fd : 0) == variant->error ? 0 : 2);
	}
	EXPECT_EQ(0, child_status(pid));
}

NEEDS({ "*", VPMC | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
