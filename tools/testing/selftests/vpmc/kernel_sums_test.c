// SPDX-License-Identifier: GPL-2.0
/*
 * Which descriptors can read a set that counts the kernel: those of processes
 * that could count it themselves, not those of the owner in general.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "caps.h"

#define USER		1000
#define PERF_PARANOID	"/proc/sys/kernel/perf_event_paranoid"

static const struct choice user_mode[] = { { EV_INSNS, VPMC_ANY }, {} };
static const struct choice kernel_mode[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };

/* CONTROL: 0 or -errno, with the reason in @reason. */
static int control(int fd, const struct choice *choice, unsigned int flags,
		   unsigned int *reason)
{
	struct vpmc_control control;
	int err;

	control_of(&control, choice, flags);
	if (flags & VPMC_CONTROL_PRESERVE)
		control.counter[0].flags = VPMC_COUNTER_PRESERVE;
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	*reason = err ? control.reason : 0;
	if (err && control.reason && control.bad_counter != 1)
		*reason = ~0U;
	return err;
}

static int refused(int fd, const struct choice *choice, unsigned int flags)
{
	unsigned int reason;
	int err = control(fd, choice, flags, &reason);

	return err ? (err == -EACCES || err == -EBUSY ? (int)reason : err) : 0;
}

static int read_text(int fd)
{
	char text[4096];

	return pread(fd, text, sizeof(text), 0) < 0 ? -errno : 0;
}

static int read_sums(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read);
}

/* An owner of counters executes requests, and reports their results. */
struct owner {
	pid_t pid;
	int fd;			/* its counters, in the owner */
	int ask[2], answer[2];
	void *page;
};

static int map(struct owner *o)
{
	o->page = vpmc_map(o->fd);
	return o->page == MAP_FAILED ? -errno : 0;
}

/* In another thread, with a set of its own. */
static void *map_beside(void *unused)
{
	struct set set;
	int err = set_open(&set, user_mode);

	if (read_sums(set.fd))
		err = 1;
	set_close(&set);
	return (void *)(long)err;
}

static int in_thread(void *(*fn)(void *))
{
	pthread_t thread;
	void *ret = (void *)1L;

	if (pthread_create(&thread, NULL, fn, NULL) ||
	    pthread_join(thread, &ret))
		return 1;
	return (long)ret;
}

/* It stays, with its page mapped. */
static volatile int beside;
static void *stay_mapped(void *unused)
{
	struct set set;

	beside = set_open(&set, user_mode) ? -1 : 1;
	for (;;)
		pause();
	return NULL;
}

static int start_beside(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay_mapped, NULL))
		return 1;
	while (!beside)
		usleep(100);
	return beside < 0;
}

static int map_once(int fd)
{
	void *page = vpmc_map(fd);

	if (page == MAP_FAILED)
		return -errno;
	munmap(page, PAGE);
	return 0;
}

/* By a descriptor that is opened now. */
static int with_new(int (*fn)(int))
{
	int fd = open(THREAD_FILE, O_RDONLY), err;

	if (fd < 0)
		return -errno;
	err = fn(fd);
	close(fd);
	return err;
}

static int change(int fd)
{
	int err = vpmc_ioctl(fd, VPMC_IOC_STOP, 0) ?:
		  vpmc_ioctl(fd, VPMC_IOC_CLEAR, 0) ?:
		  vpmc_ioctl(fd, VPMC_IOC_START, 0);
	struct vpmc_control control;

	return err ?: vpmc_read_control(fd, &control);
}

static int serve(struct owner *o, char what)
{
	switch (what) {
	case 'f':
		return o->fd;
	case 'r':
		return read_sums(o->fd);
	case 't':
		return read_text(o->fd);
	case 'm':
		return map(o);
	case 'M':
		return munmap(o->page, PAGE) ? -errno : 0;
	case 'n':
		return with_new(read_sums);
	case 'N':
		return with_new(read_text);
	case 'x':
		return with_new(map_once);
	case 'b':
		return in_thread(map_beside);
	case 'B':
		return start_beside();
	case 'c':
		return change(o->fd);
	case 'u':
		return refused(o->fd, user_mode, 0);
	case 'p':
		return refused(o->fd, user_mode, VPMC_CONTROL_PRESERVE);
	case 'k':
		return refused(o->fd, kernel_mode, 0);
	case 'd':
		return set_capabilities(0);
	default:
		return 1000;
	}
}

static void serve_all(struct owner *o, uint64_t caps)
{
	int answer;
	char what;

	close(o->ask[1]);
	if (become_with(USER, caps))
		_exit(1);
	o->fd = vpmc_open();
	while (read(o->ask[0], &what, 1) == 1) {
		answer = serve(o, what);
		if (write(o->answer[1], &answer, sizeof(answer)) < 0)
			break;
	}
	_exit(0);
}

static int owner_start(struct owner *o, uint64_t caps)
{
	if (pipe(o->ask) || pipe(o->answer))
		return -1;
	o->pid = fork();
	if (!o->pid)
		serve_all(o, caps);
	close(o->ask[0]);
	close(o->answer[1]);
	return 0;
}

static int ask(struct owner *o, char what)
{
	int answer;

	if (write(o->ask[1], &what, 1) != 1 ||
	    read(o->answer[0], &answer, sizeof(answer)) != sizeof(answer))
		return 1001;
	return answer;
}

/* The owner's own open file description. */
static int owners_file(struct owner *o)
{
	int pidfd = syscall(SYS_pidfd_open, o->pid, 0), fd;

	fd = syscall(SYS_pidfd_getfd, pidfd, ask(o, 'f'), 0);
	close(pidfd);
	return fd;
}

FIXTURE(kernel_sums)
{
	struct owner o;
	int fd;			/* root's */
};

FIXTURE_SETUP(kernel_sums)
{
	ASSERT_EQ(0, write_file(PERF_PARANOID, "2"));
	ASSERT_EQ(0, owner_start(&self->o, 0));
	ASSERT_LE(0, ask(&self->o, 'f'));
	self->fd = open_of(self->o.pid, O_RDWR);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(kernel_sums)
{
	close(self->fd);
	close(self->o.ask[1]);
	EXPECT_EQ(0, child_status(self->o.pid));
	EXPECT_EQ(0, write_file(PERF_PARANOID, "2"));
}

/* Root has programmed it: its owner does everything but read. */
TEST_F(kernel_sums, not_for_the_owner)
{
	struct owner *o = &self->o;

	ASSERT_EQ(0, refused(self->fd, kernel_mode, 0));
	EXPECT_EQ(-EACCES, ask(o, 'r'));
	EXPECT_EQ(-EACCES, ask(o, 't'));
	EXPECT_EQ(-EACCES, ask(o, 'm'));
	EXPECT_EQ(-EACCES, ask(o, 'n'));
	EXPECT_EQ(-EACCES, ask(o, 'N'));
	EXPECT_EQ(0, ask(o, 'c'));
	EXPECT_EQ(0, read_sums(self->fd));
	EXPECT_EQ(0, read_text(self->fd));
	/* Nor when it has ended. */
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(-EACCES, ask(o, 'r'));
	EXPECT_EQ(0, read_sums(self->fd));
}

/* RDPMC in another thread's page would be RDPMC here. */
TEST_F(kernel_sums, no_page_beside_it)
{
	struct owner *o = &self->o;

	EXPECT_EQ(0, ask(o, 'b'));
	ASSERT_EQ(0, refused(self->fd, kernel_mode, 0));
	EXPECT_EQ(-EACCES, ask(o, 'b'));
	ASSERT_EQ(0, refused(self->fd, user_mode, 0));
	EXPECT_EQ(0, ask(o, 'b'));
	ASSERT_EQ(0, refused(self->fd, kernel_mode, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, ask(o, 'b'));
}

/* The owner reads and maps a set of its own. */
TEST_F(kernel_sums, replaced_by_the_owner)
{
	struct owner *o = &self->o;

	ASSERT_EQ(0, refused(self->fd, kernel_mode, 0));
	EXPECT_EQ(VPMC_REASON_KERNEL_MODE, ask(o, 'p'));
	EXPECT_EQ(-EACCES, ask(o, 'r'));
	EXPECT_EQ(VPMC_REASON_KERNEL_MODE, ask(o, 'k'));
	EXPECT_EQ(0, ask(o, 'u'));
	EXPECT_EQ(0, ask(o, 'r'));
	EXPECT_EQ(0, ask(o, 'm'));
	/* Those of user mode are preserved. */
	EXPECT_EQ(0, ask(o, 'p'));
	EXPECT_EQ(0, ask(o, 'r'));
}

/* User mode is counted, and added to what the kernel did. */
TEST_F(kernel_sums, preserved)
{
	struct owner *o = &self->o;

	ASSERT_EQ(0, refused(self->fd, kernel_mode, 0));
	ASSERT_EQ(0, refused(self->fd, user_mode, VPMC_CONTROL_PRESERVE));
	EXPECT_EQ(-EACCES, ask(o, 'r'));
	EXPECT_EQ(-EACCES, ask(o, 'm'));
	EXPECT_EQ(-EACCES, ask(o, 'b'));
	ASSERT_EQ(0, refused(self->fd, user_mode, VPMC_CONTROL_PRESERVE));
	EXPECT_EQ(-EACCES, ask(o, 'r'));
	ASSERT_EQ(0, refused(self->fd, user_mode, 0));
	EXPECT_EQ(0, ask(o, 'r'));
}

/* The page was mapped before CONTROL. */
TEST_F(kernel_sums, mapped)
{
	struct owner *o = &self->o;
	struct vpmc_read read;

	ASSERT_EQ(0, ask(o, 'm'));
	EXPECT_EQ(VPMC_REASON_MAPPED, refused(self->fd, kernel_mode, 0));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_EQ(VPMC_STATE_EMPTY, read.state);
	EXPECT_EQ(0, refused(self->fd, user_mode, 0));
	EXPECT_EQ(0, ask(o, 'r'));
	ASSERT_EQ(0, ask(o, 'M'));
	EXPECT_EQ(0, refused(self->fd, kernel_mode, 0));
	EXPECT_EQ(-EACCES, ask(o, 'm'));
}

/* That of another thread, too. */
TEST_F(kernel_sums, mapped_beside)
{
	ASSERT_EQ(0, ask(&self->o, 'B'));
	EXPECT_EQ(VPMC_REASON_MAPPED, refused(self->fd, kernel_mode, 0));
}

/* A privileged CONTROL gives the descriptor the right. */
TEST_F(kernel_sums, programmed_by_the_descriptor)
{
	struct owner *o = &self->o;
	int fd = owners_file(o);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, refused(fd, kernel_mode, 0));
	EXPECT_EQ(0, ask(o, 'r'));
	EXPECT_EQ(0, ask(o, 'm'));
	EXPECT_EQ(-EACCES, ask(o, 'n'));
	/* It is mapped by one with the right. */
	EXPECT_EQ(0, refused(self->fd, kernel_mode, 0));
	close(fd);
}

/* It could count the kernel when it opened the file; later it cannot. */
TEST_F(kernel_sums, right_at_open)
{
	struct owner late;

	ASSERT_EQ(0, write_file(PERF_PARANOID, "1"));
	ASSERT_EQ(0, owner_start(&late, 0));
	ASSERT_EQ(0, ask(&late, 'k'));
	ASSERT_EQ(0, write_file(PERF_PARANOID, "2"));
	EXPECT_EQ(0, ask(&late, 'r'));
	EXPECT_EQ(0, ask(&late, 'm'));
	EXPECT_EQ(-EACCES, ask(&late, 'n'));
	close(late.ask[1]);
	EXPECT_EQ(0, child_status(late.pid));
}

/* A root process that becomes a user keeps its descriptors' rights. */
TEST_F(kernel_sums, gives_up_privileges)
{
	struct owner late;

	ASSERT_EQ(0, owner_start(&late, 1ULL << CAP_PERFMON));
	ASSERT_EQ(0, ask(&late, 'k'));
	ASSERT_EQ(0, ask(&late, 'd'));
	EXPECT_EQ(VPMC_REASON_KERNEL_MODE, ask(&late, 'k'));
	EXPECT_EQ(0, ask(&late, 'r'));
	EXPECT_EQ(0, ask(&late, 't'));
	EXPECT_EQ(0, ask(&late, 'm'));
	EXPECT_EQ(-EACCES, ask(&late, 'n'));
	EXPECT_EQ(-EACCES, ask(&late, 'x'));
	/* Its own counts: its other threads may have pages. */
	EXPECT_EQ(0, ask(&late, 'b'));
	close(late.ask[1]);
	EXPECT_EQ(0, child_status(late.pid));
}

NEEDS({ "*", PMU | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
