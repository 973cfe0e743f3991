// SPDX-License-Identifier: GPL-2.0
/*
 * What a process does while somebody attaches counters to it, at each instruction
 * of ours in open(): it ends, becomes a program with other privileges, or has them
 * from somebody else.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/ioctl.h>
#include "sweep.h"
#include "image.h"
#include "poller.h"

#define USER	1000

/* So long CPU 1 waits for something that CPU 0 may be in the way of. */
#define WAITS	50

struct scene {
	struct sweep *s;
	pid_t pid;		/* whose counters */
	int go, full;		/* pipes: it goes on; nothing more fits in */
	unsigned long found, refused;
};

FIXTURE(sweep_open)
{
	struct scene scene;
};

static struct scene *scene;

FIXTURE_SETUP(sweep_open)
{
	scene = &self->scene;
	memset(scene, 0, sizeof(*scene));
	ASSERT_EQ(0, image_mount(0, 0, 04755));
	scene->s = sweep_start(NULL);
	ASSERT_NE(NULL, scene->s);
	scene->s->what = CALL;
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
}

FIXTURE_TEARDOWN(sweep_open)
{
	EXPECT_EQ(0, sweep_stop(scene->s));
	EXPECT_EQ(0, image_unmount());
}

/* It may not come to that before CPU 0 goes on. */
static bool wait_for(bool (*there)(void))
{
	static const struct timespec moment = { .tv_nsec = 200000 };
	int i;

	for (i = 0; i < WAITS && !there(); i++)
		nanosleep(&moment, NULL);
	return there();
}

/* On CPU 1, less urgent than what disturbs. */
static void sleep_for_ever(void)
{
	if (pin(1))
		_exit(1);
	for (;;)
		pause();
}

/* It has come to CPU 1, and sleeps there. */
static void wait_until_asleep(void)
{
	while (task_state(scene->pid) != 'S')
		usleep(100);
}

/* open() of it, disturbed at the k-th instruction: a descriptor or -errno. */
static int open_disturbed(unsigned long k)
{
	int fd, err = sweep_arm(scene->s, k);

	fd = open_of(scene->pid, O_RDWR | O_CREAT);
	sweep_disarm(scene->s);
	return err ? -EPROTO : fd;
}

static uint32_t state_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0U : read.state;
}

/* It ends, and is not waited for. */
static bool is_zombie(void)
{
	return task_state(scene->pid) == 'Z';
}

static int end_it(struct sweep *s)
{
	if (kill(scene->pid, SIGKILL))
		return -errno;
	wait_for(is_zombie);
	return 0;
}

/* It is too late, or what was attached has seen the end. */
static int wrong_if_it_ends(void *arg, unsigned long k)
{
	int fd, wrong = 0;

	scene->pid = fork();
	if (!scene->pid)
		sleep_for_ever();
	wait_until_asleep();
	fd = open_disturbed(k);
	kill(scene->pid, SIGKILL);
	wrong += child_status(scene->pid) != KILLED_BY(SIGKILL);
	if (fd >= 0) {
		scene->found++;
		wrong += state_of(fd) != VPMC_STATE_EXITED;
		wrong += poll_now(fd) != POLLHUP;
		close(fd);
	} else {
		scene->refused++;
		wrong += fd != -ESRCH;
	}
	if (wrong)
		fprintf(stderr, "# open: %d\n", fd);
	return wrong;
}

TEST_F(sweep_open, it_ends)
{
	scene->s->call = end_it;
	sweep_all(_metadata, scene->s, sweep_step(), wrong_if_it_ends, NULL);
	TH_LOG("opened %lu times, too late %lu times", scene->found,
	       scene->refused);
	EXPECT_LT(0, scene->found);
	EXPECT_LT(0, scene->refused);
}

/* Somebody else attaches, and may be first. */
static int attach_too(struct sweep *s)
{
	s->fd = open_of(scene->pid, O_RDWR | O_CREAT);
	return s->fd < 0 ? s->fd : 0;
}

static int wrong_if_attached(void *arg, unsigned long k)
{
	int fd, wrong = 0;

	scene->s->fd = -1;
	fd = open_disturbed(k);
	if (fd < 0) {
		fprintf(stderr, "# open: %d\n", fd);
		return 1;
	}
	if (scene->s->fd >= 0) {
		struct vpmc_control control;

		/* Both have the same. */
		control_of(&control, mine, VPMC_CONTROL_STOPPED);
		wrong += vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) != 0;
		wrong += state_of(scene->s->fd) != VPMC_STATE_STOPPED;
		close(scene->s->fd);
		scene->found++;
	}
	wrong += vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0) != 0;
	close(fd);
	return wrong;
}

TEST_F(sweep_open, attached_meanwhile)
{
	scene->pid = fork();
	if (!scene->pid)
		sleep_for_ever();
	wait_until_asleep();
	scene->s->call = attach_too;
	sweep_all(_metadata, scene->s, sweep_step(), wrong_if_attached, NULL);
	EXPECT_LT(0, scene->found);
	kill(scene->pid, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(scene->pid));
}

/* It is the image: that has nowhere to write to, and sleeps. */
static bool is_image(void)
{
	char path[64], name[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", scene->pid);
	fd = open(path, O_RDONLY);
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = 0;
	close(fd);
	return !strcmp(name, "image\n") && task_state(scene->pid) == 'S';
}

static int let_it_exec(struct sweep *s)
{
	if (write(scene->go, "", 1) != 1)
		return -errno;
	wait_for(is_image);
	return 0;
}

/* A process of the user's that becomes root's when it is told to. */
static int start_image(void)
{
	char *argv[] = { "image", NULL }, byte;
	int go[2];

	if (pipe2(go, O_CLOEXEC))
		return -1;
	scene->pid = fork();
	if (!scene->pid) {
		/* Nothing of root's is left. */
		if (pin(1) || setresgid(USER, USER, USER) ||
		    setresuid(USER, USER, USER) ||
		    prctl(PR_SET_DUMPABLE, 1) ||
		    dup2(scene->full, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(100);
		execv(IMAGE, argv);
		_exit(101);
	}
	close(go[0]);
	scene->go = go[1];
	wait_until_asleep();
	return 0;
}

static int fill_pipe(void)
{
	char page[PAGE] = "";
	int fds[2];

	if (pipe2(fds, O_NONBLOCK))
		return -1;
	while (write(fds[1], page, sizeof(page)) > 0)
		;
	scene->full = fds[1];
	return errno == EAGAIN ? fcntl(fds[1], F_SETFL, 0) : -1;
}

/* Root's program has no counters that a user has attached. */
static int wrong_if_it_execs(void *arg, unsigned long k)
{
	int fd, wrong = 0;

	if (start_image())
		return 1;
	fd = open_disturbed(k);
	if (!scene->s->disturbed && write(scene->go, "", 1) != 1)
		wrong++;
	while (!is_image())
		usleep(100);
	if (fd >= 0) {
		scene->found++;
		wrong += state_of(fd) != VPMC_STATE_UNLINKED;
		close(fd);
	} else {
		scene->refused++;
		wrong += fd != -EACCES;
	}
	if (wrong)
		fprintf(stderr, "# open: %d\n", fd);
	kill(scene->pid, SIGKILL);
	wrong += child_status(scene->pid) != KILLED_BY(SIGKILL);
	close(scene->go);
	return wrong;
}

TEST_F_TIMEOUT(sweep_open, it_becomes_root, 120)
{
	ASSERT_EQ(0, fill_pipe());
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setresgid(USER, USER, 0));
	ASSERT_EQ(0, setresuid(USER, USER, 0));
	scene->s->call = let_it_exec;
	sweep_all(_metadata, scene->s, 5 * sweep_step(), wrong_if_it_execs,
		  NULL);
	TH_LOG("opened %lu times, refused %lu times", scene->found,
	       scene->refused);
	EXPECT_LT(0, scene->found);
	EXPECT_LT(0, scene->refused);
	ASSERT_EQ(0, setresuid(0, 0, 0));
}

TEST_HARNESS_MAIN
