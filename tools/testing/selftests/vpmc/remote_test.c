// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of other processes: programmed, started, read, stopped and unlinked
 * from outside, whatever their owner does. The owners do not take part.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include "poller.h"
#include "remote.h"

#define USER	1000

/*
 * READ: is this the state, and are these the sums of events[]? They may be higher by
 * the tolerance since CONTROL.
 */
static int wrong_read(int fd, uint32_t state, struct code_count want)
{
	struct vpmc_read read;
	int err = vpmc_read(fd, &read);

	want = counted_here(want);
	if (!err && read.state == state && read.nr_counters == counters_here(3) &&
	    piece_fits_since(read.sum[0], want.insns, 1, TARGET_SERVE.insns) &&
	    piece_fits_since(read.sum[1], want.insns, 1, TARGET_SERVE.insns) &&
	    piece_fits_since(read.sum[2], want.branches, 1,
			     TARGET_SERVE.branches))
		return 0;
	fprintf(stderr, "# %d, state %u: %llu, %llu, %llu, expected %llu, %llu, tolerance %llu\n",
		err, read.state, (unsigned long long)read.sum[0],
		(unsigned long long)read.sum[1],
		(unsigned long long)read.sum[2], (unsigned long long)want.insns,
		(unsigned long long)want.branches,
		(unsigned long long)tolerated_since(1));
	return 1;
}

/* Sums of two counters that count the same. */
static bool alike(uint64_t a, uint64_t b)
{
	uint64_t more = tolerated_since(1);

	if (more >= TARGET_SERVE.insns)
		say_doubt(more, TARGET_SERVE.insns);
	return a <= b + more && b <= a + more;
}

/* All that changes a set. */
static int change_error(int fd)
{
	static const unsigned int change[] = {
		VPMC_IOC_START, VPMC_IOC_STOP, VPMC_IOC_CLEAR, VPMC_IOC_UNLINK,
	};
	int err = program(fd, 0, events), i;

	for (i = 0; i < ARRAY_SIZE(change); i++)
		if (vpmc_ioctl(fd, change[i], 0) != err)
			return 1;
	return err;
}

FIXTURE(remote)
{
	struct target t;
	int fd;
};

FIXTURE_SETUP(remote)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, target_start(&self->t));
	self->fd = target_open(&self->t, O_RDWR | O_CREAT);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(remote)
{
	close(self->fd);
	kill(self->t.pid, SIGKILL);
	waitpid(self->t.pid, NULL, 0);
}

TEST_F(remote, every_operation)
{
	struct code_count one = TARGET_SERVE;
	struct vpmc_read read;
	int fd = self->fd;

	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EMPTY, read.state);
	EXPECT_EQ(self->t.pid, read.tid);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, program(fd, 0, events));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_RUNNING, CODE_COUNT(0, 0)));
	ASSERT_EQ(0, target_serve(&self->t, 5));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_RUNNING, code_times(one, 5)));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, target_serve(&self->t, 3));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_STOPPED, code_times(one, 5)));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, target_serve(&self->t, 2));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_RUNNING, code_times(one, 7)));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_RUNNING, CODE_COUNT(0, 0)));
	ASSERT_EQ(0, target_serve(&self->t, 1));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_RUNNING, one));
	EXPECT_EQ(-EEXIST, program(fd, VPMC_CONTROL_NEW, events));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, target_serve(&self->t, 1));
	EXPECT_EQ(0, wrong_read(fd, VPMC_STATE_UNLINKED, one));
	EXPECT_EQ(-ESRCH, change_error(fd));
	EXPECT_EQ(0, target_end(&self->t));
}

/*
 * A period ends while the process serves the third byte. poll() reports that,
 * and the watcher resumes the set.
 */
TEST_F(remote, overflow)
{
	const uint64_t period = code_times(TARGET_SERVE, 3).insns - 1001;
	struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN };
	struct vpmc_control control;
	struct code_count stood;

	control_of(&control, events, 0);
	control.counter[0].period = period;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &control));
	ASSERT_EQ(0, target_serve(&self->t, 2));
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_RUNNING,
				code_times(TARGET_SERVE, 2)));
	ASSERT_EQ(0, target_serve(&self->t, 2));
	/* A jump and half of the loop's last 995 instructions are not counted. */
	stood = CODE_COUNT(period,
			   code_times(TARGET_SERVE, 3).branches - 499);
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_EQ(POLLIN, poll_fd.revents);
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_OVERFLOWED, stood));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_RESUME, 0));
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	ASSERT_EQ(0, target_serve(&self->t, 2));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_RUNNING,
				code_add(stood, code_times(TARGET_SERVE, 2))));
	ASSERT_EQ(0, target_serve(&self->t, 1));
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_EQ(0, target_end(&self->t));
}

/* A second open() finds the same set, as it is. */
TEST_F(remote, found_again)
{
	struct vpmc_control control;
	struct vpmc_read read;
	int again;

	EXPECT_EQ(0, target_open_error(&self->t, O_RDONLY));
	ASSERT_EQ(0, program(self->fd, 0, events));
	again = target_open(&self->t, O_RDONLY);
	ASSERT_LE(0, again);
	ASSERT_EQ(0, target_serve(&self->t, 1));
	EXPECT_EQ(0, wrong_read(again, VPMC_STATE_RUNNING, TARGET_SERVE));
	ASSERT_EQ(0, vpmc_read_control(again, &control));
	EXPECT_EQ(counters_here(3), control.nr_counters);
	/* This one only reads. */
	EXPECT_EQ(-EBADF, change_error(again));
	EXPECT_EQ(0, wrong_read(again, VPMC_STATE_RUNNING, TARGET_SERVE));
	/*
	 * After UNLINK nothing is found, until O_CREAT attaches new counters.
	 */
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	close(again);
	again = target_open(&self->t, O_RDWR);
	EXPECT_EQ(-ENOENT, vpmc_read(again, &read));
	close(again);
	again = target_open(&self->t, O_RDWR | O_CREAT);
	EXPECT_EQ(0, program(again, 0, events));
	ASSERT_EQ(0, target_serve(&self->t, 2));
	EXPECT_EQ(0, wrong_read(again, VPMC_STATE_RUNNING,
				code_times(TARGET_SERVE, 2)));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_UNLINKED, TARGET_SERVE));
	close(again);
}

/* It is put on the other CPU each time it wakes up. */
TEST_F(remote, migrates)
{
	struct vpmc_read read;
	cpu_set_t mask;
	int i;

	ASSERT_EQ(0, program(self->fd, 0, events));
	for (i = 1; i <= 50; i++) {
		CPU_ZERO(&mask);
		CPU_SET(i % 2, &mask);
		ASSERT_EQ(0, sched_setaffinity(self->t.pid, sizeof(mask),
					       &mask));
		ASSERT_EQ(0, target_serve(&self->t, 1));
		EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_RUNNING,
					code_times(TARGET_SERVE, i)));
	}
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_EQ(49, read.migrations);
}

/* The page is for the owner's address space alone. */
TEST_F(remote, cannot_map)
{
	ASSERT_EQ(0, program(self->fd, 0, events));
	EXPECT_EQ(MAP_FAILED, vpmc_map(self->fd));
	EXPECT_EQ(EPERM, errno);
	ASSERT_EQ(0, target_serve(&self->t, 1));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_RUNNING, TARGET_SERVE));
}

/* In kernel mode too, by one who may. */
TEST_F(remote, kernel_mode)
{
	struct vpmc_read read;

	ASSERT_EQ(0, program(self->fd, 0, (struct choice[]){
			     { EV_INSNS, 0 }, { 0x200c0, 1 }, {} }));
	ASSERT_EQ(0, target_serve(&self->t, 7));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_TRUE(piece_fits_since(read.sum[0], 7 * TARGET_SERVE.insns, 1,
				     TARGET_SERVE.insns));
	EXPECT_LT(7 * 100, read.sum[1]);
}

/* A debugger has stopped it, and its system call begins anew afterwards. */
TEST_F(remote, stopped_by_a_debugger)
{
	struct code_count one = TARGET_SERVE;
	int status;

	ASSERT_EQ(0, program(self->fd, 0, events));
	ASSERT_EQ(0, target_serve(&self->t, 1));
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, self->t.pid, 0, 0));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, self->t.pid, 0, 0));
	ASSERT_EQ(self->t.pid, waitpid(self->t.pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	EXPECT_EQ('t', task_state(self->t.pid));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_RUNNING, one));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, self->t.pid, 0, 0));
	ASSERT_EQ(0, target_serve(&self->t, 1));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_RUNNING,
				code_add(one, CODE_COUNT(1, 0))));
}

/* Ended, and not yet waited for. */
TEST_F(remote, zombie)
{
	siginfo_t info;

	ASSERT_EQ(0, program(self->fd, 0, events));
	ASSERT_EQ(0, target_serve(&self->t, 3));
	ASSERT_EQ(0, kill(self->t.pid, SIGKILL));
	ASSERT_EQ(0, waitid(P_PID, self->t.pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ('Z', task_state(self->t.pid));
	EXPECT_EQ(-ESRCH, target_open_error(&self->t, O_RDWR | O_CREAT));
	EXPECT_EQ(-ESRCH, target_open_error(&self->t, O_RDONLY));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_EXITED,
				code_times(TARGET_SERVE, 3)));
	EXPECT_EQ(-ESRCH, change_error(self->fd));
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(self->t.pid));
	EXPECT_EQ(-ENOENT, target_open_error(&self->t, O_RDWR));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_EXITED,
				code_times(TARGET_SERVE, 3)));
}

static int send_fd(int to, int fd)
{
	char buf[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(to, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int from)
{
	char buf[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf),
	};
	int fd;

	if (recvmsg(from, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* A descriptor keeps its rights when it is passed to another process. */
TEST_F(remote, passed_over_a_socket)
{
	int pair[2], ro = target_open(&self->t, O_RDONLY);
	struct target *t = &self->t;
	pid_t pid;

	ASSERT_LE(0, ro);
	ASSERT_EQ(0, program(self->fd, VPMC_CONTROL_STOPPED, events));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	if (!pid) {
		int rw;

		close(self->fd);
		close(ro);
		if (become(USER))
			_exit(1);
		/* The target is root's. */
		if (target_open_error(t, O_RDWR) != -EACCES ||
		    target_open_error(t, O_RDONLY) != -EACCES)
			_exit(2);
		rw = receive_fd(pair[0]);
		ro = receive_fd(pair[0]);
		if (vpmc_ioctl(rw, VPMC_IOC_START, 0) || target_serve(t, 2) ||
		    vpmc_ioctl(rw, VPMC_IOC_STOP, 0))
			_exit(3);
		if (wrong_read(ro, VPMC_STATE_STOPPED,
			       code_times(TARGET_SERVE, 2)))
			_exit(4);
		if (change_error(ro) != -EBADF)
			_exit(5);
		_exit(vpmc_ioctl(rw, VPMC_IOC_UNLINK, 0) ? 6 : 0);
	}
	ASSERT_EQ(0, send_fd(pair[1], self->fd));
	ASSERT_EQ(0, send_fd(pair[1], ro));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, wrong_read(self->fd, VPMC_STATE_UNLINKED,
				code_times(TARGET_SERVE, 2)));
}

TEST_F(remote, poll_reports_exit)
{
	struct poller poller;

	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, program(self->fd, 0, events));
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, start_poller(&poller, self->fd));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ('S', task_state(poller.tid));
	ASSERT_EQ(0, kill(self->t.pid, SIGKILL));
	EXPECT_EQ(POLLHUP, end_poller(&poller));
	EXPECT_EQ(POLLHUP, poll_now(self->fd));
}

TEST_F(remote, poll_reports_unlink)
{
	int other = target_open(&self->t, O_RDONLY);
	struct poller poller;

	ASSERT_EQ(0, start_poller(&poller, other));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(POLLHUP, end_poller(&poller));
	close(other);
	/* There is nothing to wait for any more. */
	other = target_open(&self->t, O_RDONLY);
	EXPECT_EQ(POLLERR, poll_now(other));
	close(other);
}

/* A second thread of another process has a file of its own. */
struct serving {
	int wake[2];
	int to_tid[2];
};

static void *serving_thread(void *arg)
{
	struct serving *serving = arg;
	pid_t tid = my_tid();

	if (write(serving->to_tid[1], &tid, sizeof(tid)) == sizeof(tid))
		code_serve(serving->wake[0], TARGET_TURNS);
	return NULL;
}

static pid_t start_serving(struct serving *serving, pid_t *tid)
{
	pthread_t thread;
	pid_t pid;

	if (pipe(serving->to_tid) || pipe(serving->wake))
		return -1;
	pid = fork();
	if (!pid) {
		close(serving->wake[1]);
		pthread_create(&thread, NULL, serving_thread, serving);
		for (;;)
			pause();
	}
	if (read(serving->to_tid[0], tid, sizeof(*tid)) != sizeof(*tid))
		return -1;
	while (task_state(*tid) != 'S')
		usleep(100);
	return pid;
}

TEST(thread_of_another_process)
{
	struct serving serving;
	struct vpmc_read sums;
	int leader, fd;
	pid_t pid, tid;
	char path[64];

	pid = start_serving(&serving, &tid);
	ASSERT_LT(0, pid);
	sprintf(path, "/proc/%d/perfctr", pid);
	leader = open(path, O_RDWR | O_CREAT, 0);
	ASSERT_LE(0, leader);
	sprintf(path, "/proc/%d/task/%d/perfctr", pid, tid);
	fd = open(path, O_RDWR | O_CREAT, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_read(fd, &sums));
	EXPECT_EQ(tid, sums.tid);
	ASSERT_EQ(0, vpmc_read(leader, &sums));
	EXPECT_EQ(pid, sums.tid);

	ASSERT_EQ(0, program(fd, 0, events));
	/* One byte, and the end: the thread is gone, its process not. */
	ASSERT_EQ(1, write(serving.wake[1], "", 1));
	close(serving.wake[1]);
	while (open_error(path, O_RDONLY) != -ENOENT)
		usleep(100);
	ASSERT_EQ(0, vpmc_read(fd, &sums));
	EXPECT_EQ(VPMC_STATE_EXITED, sums.state);
	EXPECT_LE(counted_here(TARGET_SERVE).insns + counters_here(1),
		  sums.sum[0]);
	EXPECT_TRUE(alike(sums.sum[0], sums.sum[1]));
	ASSERT_EQ(0, vpmc_read(leader, &sums));
	EXPECT_EQ(VPMC_STATE_EMPTY, sums.state);
	kill(pid, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
}

/* Processes that end while somebody attaches: attached and ended, or too late. */
TEST(attach_and_exit)
{
	int attached = 0, late = 0, i, fd;
	struct vpmc_read sums;
	struct target t = {};
	int open_end[2];
	char byte;

	ASSERT_EQ(0, pin(0));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, pipe(open_end));
		t.pid = fork();
		if (!t.pid) {
			close(open_end[1]);
			if (pin(1))
				_exit(1);
			/* One in ten lives until it is attached. */
			if (i % 10 == 5 && read(open_end[0], &byte, 1))
				_exit(2);
			_exit(0);
		}
		/* One in ten has ended before. */
		while (i % 10 == 0 && task_state(t.pid) != 'Z')
			usleep(100);
		code_loop(1 + 20000 * (i % 50), 0);
		fd = target_open(&t, O_RDWR | O_CREAT);
		close(open_end[0]);
		close(open_end[1]);
		if (fd >= 0) {
			attached++;
			program(fd, 0, events);
		} else {
			ASSERT_EQ(-ESRCH, fd);
			late++;
		}
		ASSERT_EQ(0, child_status(t.pid));
		if (fd < 0)
			continue;
		ASSERT_EQ(0, vpmc_read(fd, &sums));
		ASSERT_EQ(VPMC_STATE_EXITED, sums.state);
		ASSERT_TRUE(alike(sums.sum[0], sums.sum[1]));
		close(fd);
	}
	TH_LOG("%d attached, %d too late", attached, late);
	EXPECT_LE(10, attached);
	EXPECT_LE(10, late);
}

TEST(kernel_thread)
{
	EXPECT_EQ(-EOPNOTSUPP, open_error("/proc/2/perfctr", O_RDWR | O_CREAT));
	EXPECT_EQ(-EOPNOTSUPP, open_error("/proc/2/perfctr", O_RDONLY));
}

/* From outside, too, an owner's number is the one in its own namespace. */
TEST(pid_namespace)
{
	const uint64_t truth = counted_here(TARGET_SERVE).insns;
	struct vpmc_read read;
	struct target t = {};
	int fd;

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	ASSERT_EQ(0, target_start(&t));
	EXPECT_NE(1, t.pid);
	fd = target_open(&t, O_RDWR | O_CREAT);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(1, read.tid);
	ASSERT_EQ(0, program(fd, 0, events));
	ASSERT_EQ(0, target_serve(&t, 1));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(1, read.tid);
	EXPECT_TRUE(fits_since(read.sum[0], truth, 1));
	EXPECT_EQ(0, target_end(&t));
}

NEEDS(
	{ "remote.poll_reports_exit", VPMC | TWO_CPUS },
	{ "remote.poll_reports_unlink", VPMC | TWO_CPUS },
	{ "global.attach_and_exit", VPMC | TWO_CPUS },
	{ "global.kernel_thread", VPMC },
	{ "global.pid_namespace", PMU | OR_EMPTY | ROOT | TWO_CPUS },
	{ "remote.passed_over_a_socket", PMU | OR_EMPTY | ROOT | TWO_CPUS },
	/* What is left of the period when the interrupt comes late is not known. */
	{ "remote.overflow", TRUE_COUNTS | TWO_CPUS },
	{ "remote.kernel_mode", PMU | ROOT | TWO_CPUS },
	{ "*", PMU | OR_EMPTY | TWO_CPUS },
);

TEST_HARNESS_MAIN
