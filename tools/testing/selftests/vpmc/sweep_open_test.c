// SPDX-License-Identifier: GPL-2.0
/*
 * Counters are attached to a process. At each of vpmc's instructions in open()
 * the process ends, executes a set-user-ID program, or another process attaches
 * counters to it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "image.h"
#include "poller.h"

/* How long CPU 1 waits for something that CPU 0 may block. */

struct scene {
	struct sweep *s;
	pid_t pid;		/* whose counters */
	int pidfd;
	int go, execed;		/* ends of pipes: see start_user() */
	unsigned long found, refused;
	unsigned long meanwhile;	/* how often it ended while CPU 0 was held */
};

FIXTURE(sweep_open)
{
	struct scene scene;
	pid_t competitor;	/* an idle CPU 1 lets CPU 0 go */
};

static struct scene *scene;

FIXTURE_SETUP(sweep_open)
{
	scene = &self->scene;
	memset(scene, 0, sizeof(*scene));
	self->competitor = start_competitor(1);
	ASSERT_LT(0, self->competitor);
	scene->s = sweep_start(NULL);
	ASSERT_NE(NULL, scene->s);
	scene->s->what = CALL;
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
}

FIXTURE_TEARDOWN(sweep_open)
{
	EXPECT_EQ(0, sweep_stop(scene->s));
	EXPECT_EQ(0, stop_disturber(self->competitor));
}

/*
 * On CPU 1, less urgent than what disturbs. It has never been on CPU 0, which would
 * be waited for when its memory goes.
 */
static int start_sleeper(void)
{
	if (pin(1))
		return 1;
	scene->pid = fork();
	if (!scene->pid)
		for (;;)
			pause();
	scene->pidfd = syscall(SYS_pidfd_open, scene->pid, 0);
	return scene->pidfd < 0 || pin(0);
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

/*
 * It ends, and is not waited for. What is found out writes nothing that the fork
 * has made common property: CPU 0 would be interrupted for that, and be let go.
 */
static bool is_zombie(void)
{
	return poll_now(scene->pidfd) == POLLIN;
}

static int end_it(struct sweep *s)
{
	struct pmu_trigger at;

	if (kill(scene->pid, SIGKILL))
		return -errno;
	if (!sweep_wait_for(is_zombie))
		return 0;
	at = pmu_trigger_status();
	scene->meanwhile += pmu_trigger_state(&at) == PMU_TRIGGER_HELD;
	return 0;
}

/* Either open() is too late, or the attached counters show the end. */
static int wrong_if_it_ends(void *arg, unsigned long k)
{
	int fd, wrong = 0;

	wrong += start_sleeper();
	wait_until_asleep();
	fd = open_disturbed(k);
	kill(scene->pid, SIGKILL);
	wrong += child_status(scene->pid) != KILLED_BY(SIGKILL);
	close(scene->pidfd);
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
	TH_LOG("opened %lu times, too late %lu times; ended meanwhile %lu times",
	       scene->found, scene->refused, scene->meanwhile);
	EXPECT_LT(10, scene->meanwhile);
	EXPECT_LT(0, scene->found);
	EXPECT_LT(0, scene->refused);
}

/* Another process attaches, and may be first. */
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
	ASSERT_EQ(0, start_sleeper());
	wait_until_asleep();
	scene->s->call = attach_too;
	sweep_all(_metadata, scene->s, sweep_step(), wrong_if_attached, NULL);
	EXPECT_LT(0, scene->found);
	kill(scene->pid, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(scene->pid));
}

/* A program of root's with the set-user-ID bit, which sleeps. */
#define SECRET	IMAGE_DIR "/sleep"

static int install_secret(void)
{
	return image_mount(0, 0, 0755) || copy_file("/bin/busybox", SECRET) ||
	       chmod(SECRET, 04755);
}

/* On CPU 1, a user's. A byte makes it execute the program; that closes @execed. */
static int start_user(void)
{
	int go[2], execed[2];
	char byte;

	if (pin(1) || pipe(go) || pipe2(execed, O_CLOEXEC))
		return 1;
	scene->pid = fork();
	if (!scene->pid) {
		if (become(1000) || read(go[0], &byte, 1) != 1)
			_exit(100);
		execl(SECRET, "sleep", "1000", NULL);
		_exit(101);
	}
	close(go[0]);
	close(execed[1]);
	scene->go = go[1];
	scene->execed = execed[0];
	return scene->pid < 0 || pin(0);
}

static bool is_secret(void)
{
	return poll_now(scene->execed) == POLLHUP;
}

static int exec_it(struct sweep *s)
{
	struct pmu_trigger at;

	if (write(scene->go, "", 1) != 1)
		return -errno;
	if (!sweep_wait_for(is_secret))
		return 0;
	at = pmu_trigger_status();
	scene->meanwhile += pmu_trigger_state(&at) == PMU_TRIGGER_HELD;
	return 0;
}

/* The C library's calls are for all threads. */
static int act_as(uid_t uid)
{
	return syscall(SYS_setresuid, -1, 0, -1) ||
	       syscall(SYS_setresgid, -1, uid, -1) ||
	       syscall(SYS_setresuid, -1, uid, -1);
}

/* Without root's rights, which would let it open the program's, too. */
static int open_as_user(unsigned long k)
{
	int fd;

	if (act_as(1000))
		return -EPROTO;
	fd = open_disturbed(k);
	return act_as(0) ? -EPROTO : fd;
}

/* Either open() is too late, or the attached counters end with execve(). */
static int wrong_if_it_execs(void *arg, unsigned long k)
{
	int fd, wrong = start_user();

	wait_until_asleep();
	fd = open_as_user(k);
	if (!scene->s->disturbed)
		wrong += write(scene->go, "", 1) != 1;
	while (!is_secret())
		usleep(100);
	wait_until_asleep();
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
	close(scene->execed);
	return wrong;
}

TEST_F(sweep_open, it_execs)
{
	ASSERT_EQ(0, install_secret());
	scene->s->call = exec_it;
	sweep_all(_metadata, scene->s, sweep_step(), wrong_if_it_execs, NULL);
	TH_LOG("opened %lu times, too late %lu times; executed meanwhile %lu times",
	       scene->found, scene->refused, scene->meanwhile);
	EXPECT_LT(0, scene->meanwhile);
	EXPECT_LT(0, scene->found);
	EXPECT_LT(0, scene->refused);
	EXPECT_EQ(0, image_unmount());
}
NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
