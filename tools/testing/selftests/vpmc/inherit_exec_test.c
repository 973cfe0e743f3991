// SPDX-License-Identifier: GPL-2.0
/*
 * What a descendant may become: another program, also one with other
 * privileges, or another user.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/stat.h>
#include "inherit.h"
#include "proc.h"

#define IMAGE	"/tmp/vpmc_heir"
#define USER	1000
#define TURNS	1000

/* From START to the system call. */
#define BEFORE	code_add(CODE_MEASURE_HEAD, CODE_EXEC)

FIXTURE(heir)
{
	int *root;		/* in shared memory */
	int out[2];
	pid_t pid;
};

FIXTURE_VARIANT(heir)
{
	mode_t mode;
	unsigned int flags;
	bool unlinks;
};

FIXTURE_VARIANT_ADD(heir, ordinary) {
	.mode = 0755,
};

FIXTURE_VARIANT_ADD(heir, set_user_id) {
	.mode = 04755, .unlinks = true,
};

FIXTURE_VARIANT_ADD(heir, not_readable) {
	.mode = 0711, .unlinks = true,
};

FIXTURE_VARIANT_ADD(heir, close_on_exec) {
	.mode = 0755, .flags = VPMC_CONTROL_CLOSE_ON_EXEC, .unlinks = true,
};

/* It does not count before that. */
FIXTURE_VARIANT_ADD(heir, enable_on_exec) {
	.mode = 0755, .flags = VPMC_CONTROL_ENABLE_ON_EXEC,
};

/* Counts, and becomes the image. */
static void become_image(unsigned int flags, int out)
{
	char *argv[] = { "image", NULL };
	struct set set;

	if (heir_open(&set) || dup2(out, 1) != 1 ||
	    dup2(set.fd, EXEC_FD) != EXEC_FD)
		_exit(101);
	if (flags & VPMC_CONTROL_ENABLE_ON_EXEC)
		code_exec((long)IMAGE, (long)argv);
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     (long)IMAGE, (long)argv);
	_exit(102);
}

/* As an ordinary user: has a family, whose root the caller has, too. */
static int have_heir(int *root, unsigned int flags, int out)
{
	struct set set;
	pid_t pid;

	if (setgid(USER) || setuid(USER) || prctl(PR_SET_DUMPABLE, 1) ||
	    root_open(&set, PROCESSES | flags))
		return 100;
	*root = set.fd;
	pid = fork();
	if (!pid)
		become_image(flags, out);
	return child_status(pid);
}

FIXTURE_SETUP(heir)
{
	mkdir("/tmp", 0755);
	ASSERT_EQ(0, copy_file(exec_image_path(), IMAGE));
	ASSERT_EQ(0, chmod(IMAGE, variant->mode));
	self->root = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->root);
	ASSERT_EQ(0, pipe(self->out));
	self->pid = fork_with_files();
	if (!self->pid)
		_exit(have_heir(self->root, variant->flags, self->out[1]));
}

FIXTURE_TEARDOWN(heir)
{
	close(*self->root);
	unlink(IMAGE);
}

TEST_F(heir, execs)
{
	struct code_count count = code_add(BEFORE, CODE_EXEC_IMAGE);
	struct vpmc_read image, all;

	/* The root's owner says how the image ended. */
	ASSERT_EQ(variant->unlinks ? ESRCH : 0, child_status(self->pid));
	ASSERT_EQ(sizeof(image), read(self->out[0], &image, sizeof(image)));
	if (variant->unlinks)
		count = BEFORE;
	if (variant->flags & VPMC_CONTROL_ENABLE_ON_EXEC)
		count = CODE_EXEC_IMAGE;
	EXPECT_EQ(variant->unlinks ? VPMC_STATE_UNLINKED : VPMC_STATE_STOPPED,
		  image.state);
	EXPECT_EQ(counted_here(count).insns, image.sum[0]);
	EXPECT_EQ(0, family_wrong(*self->root, LIVING | FINISHED, 0, 1, count));
	ASSERT_EQ(0, family_read(*self->root, LIVING, &all));
	EXPECT_EQ(variant->unlinks, all.left_exec);
	EXPECT_EQ(0, all.left_control);
	EXPECT_EQ(0, all.left_unlink);
}

/* setuid() is no execve(): as with perf, its caller is still counted. */
TEST(becomes_another_user)
{
	struct set root;
	pid_t pid;

	ASSERT_EQ(0, root_open(&root, PROCESSES));
	pid = fork();
	if (!pid) {
		struct set set;

		if (heir_open(&set) || setgid(USER) || setuid(USER))
			_exit(1);
		_exit(set_measure(&set, code_loop, TURNS, 0));
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(root.fd, FINISHED, 0, 1,
				  code_add(CODE_MEASURE, CODE_LOOP(TURNS))));
	set_close(&root);
}

/* A thread of such a descendant: by RDPMC it would see what the other one counts. */
static void *map_beside(void *unused)
{
	struct set set;
	int err = set_open(&set, inherited);
	struct vpmc_read read;

	if (err != -EACCES || vpmc_read(set.fd, &read))
		return (void *)-1L;
	return NULL;
}

/* It counts the kernel, in all its processes. */
static int root_open_kernel(struct set *root)
{
	static const struct choice kernel[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };
	int err = set_open(root, kernel);

	root->control.flags = PROCESSES;
	return err ?: vpmc_ioctl(root->fd, VPMC_IOC_CONTROL, &root->control);
}

/* A descendant that gave up privileges does not see what the kernel does. */
TEST(counts_the_kernel)
{
	struct vpmc_read own, all;
	struct set root;
	pid_t pid;

	ASSERT_EQ(0, root_open_kernel(&root));
	pid = fork();
	if (!pid) {
		int fd = open(THREAD_FILE, O_RDWR);
		struct vpmc_read read;
		pthread_t thread;
		void *failed;

		if (fd < 0 || setgid(USER) || setuid(USER))
			_exit(100);
		/* The descriptor that was opened before. */
		if (vpmc_read(fd, &read))
			_exit(103);
		fd = vpmc_open();
		if (fd < 0 || vpmc_read(fd, &read) != -EACCES ||
		    vpmc_map(fd) != MAP_FAILED || errno != EACCES)
			_exit(101);
		if (pthread_create(&thread, NULL, map_beside, NULL) ||
		    pthread_join(thread, &failed) || failed)
			_exit(102);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_STOP, NULL));
	ASSERT_EQ(0, family_read(root.fd, 0, &own));
	ASSERT_EQ(0, family_read(root.fd, FINISHED, &all));
	EXPECT_EQ(1, all.finished);
	EXPECT_LT(own.sum[0], all.sum[0]);
	set_close(&root);
}

/*
 * A relative whose leader has counted the kernel and ended. Its other thread has
 * counters of its own, and its memory in common with its parent, who counts the
 * kernel.
 */
struct relative {
	volatile pid_t leader;
	void *volatile failed;
};

static void *map_when_alone(void *arg)
{
	struct relative *r = arg;

	while (task_state(r->leader) != 'Z')
		usleep(100);
	r->failed = map_beside(NULL);
	syscall(SYS_exit, 0);
	return NULL;
}

static int have_relative(void)
{
	struct relative r = { .failed = &r };
	pthread_t thread;
	pid_t pid = vfork();

	if (!pid) {
		r.leader = getpid();
		if (pthread_create(&thread, NULL, map_when_alone, &r))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	return child_status(pid) || r.failed;
}

TEST(relative_of_one_that_counts_the_kernel)
{
	struct set root;
	pid_t pid;

	ASSERT_EQ(0, root_open_kernel(&root));
	pid = fork();
	if (!pid)
		_exit(setgid(USER) || setuid(USER) ||
		      prctl(PR_SET_DUMPABLE, 1) || have_relative());
	EXPECT_EQ(0, child_status(pid));
	set_close(&root);
}

static bool may_become_user(void)
{
	return !geteuid() || (geteuid() == USER && getegid() == USER);
}

NEEDS(
	{ "global.counts_the_kernel", PMU | ROOT },
	{ "global.relative_of_one_that_counts_the_kernel", PMU | ROOT },
	{ "global.becomes_another_user", PMU | OR_EMPTY | ROOT },
	{ "heir.set_user_id.*", TRUE_COUNTS | OR_EMPTY | ROOT },
	{ "heir.not_readable.*", TRUE_COUNTS | OR_EMPTY | ROOT },
	{ "*", TRUE_COUNTS | OR_EMPTY, "root, or user 1000", NULL, may_become_user },
);

TEST_HARNESS_MAIN
