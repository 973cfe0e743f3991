// SPDX-License-Identifier: GPL-2.0
/*
 * Where two features meet: each kind of set beside io_uring, ptrace(), filters of seccomp
 * and namespaces, and what a revocation, CPU hotplug and a lack of time meet there.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/ptrace.h>

#include "perf.h"
#include "seams.h"
#include "uring.h"

static int uring_says(struct uring *ring, int fd, const char *state)
{
	char text[PAGE];
	int n = uring_get(ring, fd, text, sizeof(text), 0);

	return n > 100 && !strncmp(text, state, strlen(state));
}

/* Reads of the text that do not wait, between pieces of work, and after a revocation. */
TEST_F(seams, uring)
{
	struct seam *s = &self->seam;
	struct uring ring;
	int i;

	ASSERT_EQ(0, uring_open(&ring));
	for (i = 0; i < 5; i++) {
		EXPECT_TRUE(uring_says(&ring, s->set.fd, "state: stopped\n"));
		EXPECT_EQ(0, work_and_compare(s));
	}
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_TRUE(uring_says(&ring, s->set.fd, "state: revoked\n"));
	EXPECT_EQ(0, seam_wrong(s));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	close(ring.fd);
}

/* Stops the worker by ptrace(). Returns how waitpid() has told that, or -1. */
static int stop_worker(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -1;
	return status;
}

/* A stop for a signal, and not for PTRACE_INTERRUPT, needs the signal to go on. */
static int let_worker_go(pid_t tid, int status)
{
	long sig = status >> 16 ? 0 : WSTOPSIG(status);

	return ptrace(PTRACE_DETACH, tid, 0, sig);
}

/* Another process stops the worker so often. It ends with 0. */
static pid_t debugger(pid_t tid, int times)
{
	pid_t pid = fork();
	int status;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (times--) {
		status = stop_worker(tid);
		if (status < 0 || let_worker_go(tid, status))
			_exit(1);
		usleep(200);
	}
	_exit(0);
}

TEST_F(seams, traced)
{
	pid_t pid = debugger(self->seam.worker, 50);
	int status;

	ASSERT_LT(0, pid);
	while (!waitpid(pid, &status, WNOHANG))
		ASSERT_EQ(0, work_and_compare(&self->seam));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

/* Another process stops the worker, and lets it go when it has done something. */
static pid_t do_in_a_stop(pid_t tid, int (*something)(void))
{
	pid_t pid = fork();
	int status, err;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	status = stop_worker(tid);
	if (status < 0)
		_exit(1);
	err = something();
	_exit(let_worker_go(tid, status) ? 2 : err ? 3 : 0);
}

static int revoke_and_allow(void)
{
	return write_file(REVOKE_FILE, "1") ?: write_file(REVOKE_FILE, "0");
}

TEST_F(seams, revoked_in_a_stop)
{
	struct seam *s = &self->seam;
	struct vpmc_read read;

	EXPECT_EQ(0, child_status(do_in_a_stop(s->worker, revoke_and_allow)));
	ASSERT_EQ(0, vpmc_read(s->set.fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, seam_wrong(s));
}

static int take_cpu_1_away(void)
{
	return set_cpu_online(1, "0");
}

TEST_F(seams, cpu_goes_in_a_stop)
{
	struct seam *s = &self->seam;
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(1, &mask);
	ASSERT_EQ(0, sched_setaffinity(s->worker, sizeof(mask), &mask));
	EXPECT_EQ(0, work_and_compare(s));
	EXPECT_EQ(0, child_status(do_in_a_stop(s->worker, take_cpu_1_away)));
	EXPECT_EQ(0, work_and_compare(s));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(0, work_and_compare(s));
}

/* CPUs go and come, and the machine sleeps. Sets stay revoked until they are allowed. */
TEST_F(seams, revoked_meanwhile)
{
	struct seam *s = &self->seam;

	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, suspend_in_test_mode());
	EXPECT_EQ(-ENODATA, vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, seam_wrong(s));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	/* A descendant does not get the root's next set. */
	if (s->kind == INHERITED)
		return;
	ASSERT_EQ(0, seam_program(s));
	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(0, work_and_compare(s));
}

/* The worker gets little time, is stopped by a debugger, and loses its CPU. */
TEST_F(seams, starved)
{
	struct seam *s = &self->seam;
	struct uring ring;
	pid_t pid;

	ASSERT_EQ(0, uring_open(&ring));
	ASSERT_EQ(0, seam_starve(s));
	pid = seam_spinner();
	EXPECT_EQ(0, child_status(debugger(s->worker, 1)));
	EXPECT_EQ(0, seam_work(s));
	EXPECT_TRUE(uring_says(&ring, s->set.fd, "state: stopped\n"));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	EXPECT_EQ(0, seam_work(s));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	kill(pid, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
	EXPECT_EQ(0, work_and_compare(s));
	ASSERT_EQ(0, seam_feed(s));
	close(ring.fd);
}

#define ALLOW(nr)						\
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),	\
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* From now on this thread may only count, read, write and end. */
static int allow_counting_alone(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_ioctl), ALLOW(SYS_read), ALLOW(SYS_write),
		ALLOW(SYS_rt_sigreturn), ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?:
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A set of a child that has prepared for it by @prepare, after it was opened. */
static void child_counts(enum seam_kind kind, int (*prepare)(void))
{
	static struct seam s;

	if (seam_open(&s, kind))
		_exit(1);
	if (prepare && prepare())
		_exit(2);
	if (work_and_compare(&s))
		_exit(3);
	_exit(0);
}

/* The thread that works, or reads what its child counts, is confined. */
TEST_F(seams, filtered)
{
	pid_t pid = fork();

	if (!pid)
		child_counts(variant->kind, allow_counting_alone);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

static int mount_own_proc(void)
{
	return unshare(CLONE_NEWNS) ?:
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ?:
	       mount("proc", "/proc", "proc", 0, NULL);
}

/* The thread that works is the first one of a namespace of processes. */
TEST_F(seams, in_a_namespace)
{
	pid_t pid;

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid && !mount_own_proc())
		child_counts(variant->kind, NULL);
	if (!pid)
		_exit(4);
	EXPECT_EQ(0, child_status(pid));
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS, "a PMU that perf lends", NULL,
	  perf_keeps_counters },
);

TEST_HARNESS_MAIN
