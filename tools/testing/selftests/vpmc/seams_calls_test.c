// SPDX-License-Identifier: GPL-2.0
/*
 * Where two features meet: each kind of set beside io_uring, ptrace(), filters of seccomp
 * and namespaces, and what a revocation, CPU hotplug and a lack of time meet there.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>

#include "confine.h"
#include "seams.h"
#include "uring.h"

/* Reads of the text that do not wait, between pieces of work, and after a revocation. */
TEST_F(seams, uring)
{
	struct seam *s = &self->seam;
	struct uring ring;
	int i;

	ASSERT_EQ(0, uring_open(&ring));
	for (i = 0; i < 5; i++) {
		EXPECT_TRUE(uring_says(&ring, s->set.fd, "stopped"));
		EXPECT_EQ(0, work_and_compare(s));
	}
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_TRUE(uring_says(&ring, s->set.fd, "revoked"));
	EXPECT_EQ(0, seam_wrong(s));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	close(ring.fd);
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
	EXPECT_TRUE(uring_says(&ring, s->set.fd, "stopped"));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	EXPECT_EQ(0, seam_work(s));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(0, seam_kill(pid));
	EXPECT_EQ(0, work_and_compare(s));
	ASSERT_EQ(0, seam_feed(s));
	close(ring.fd);
}

/* From now on this thread may only count, read, write and end. */
static int allow_counting_alone(void)
{
	struct sock_filter filter[] = {
		THE_CALL, ALLOW(SYS_ioctl), ALLOW(SYS_read), ALLOW(SYS_write),
		ALLOW(SYS_rt_sigreturn), ALLOW(SYS_exit_group),
		OTHERWISE(SECCOMP_RET_KILL_PROCESS),
	};

	return confine(filter, ARRAY_SIZE(filter));
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

/* In shared memory: what a thread counts that can tell nobody. */
struct confined {
	uint64_t turns;		/* of code_until() */
	uint64_t sum[2], later[2];	/* by its page: at once, and after a loop */
	volatile uint32_t state;	/* at the end */
};

/* From now on this thread may start its set and end. All else is refused. */
static int allow_start_alone(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		ALLOW(VPMC_IOC_START), THE_CALL, ALLOW(SYS_exit_group),
		OTHERWISE(SECCOMP_RET_ERRNO | EPERM),
	};

	return confine(filter, ARRAY_SIZE(filter));
}

static void count_confined(struct confined *c)
{
	struct set set;

	if (pin(1) || set_open(&set, seam_plain) || allow_start_alone())
		_exit(1);
	code_measure(set.fd, VPMC_IOC_START, VPMC_IOC_STOP, code_until,
		     (long)&set.page->state, (long)&c->turns);
	vpmc_read_2(set.page, c->sum, NULL);
	code_loop(100000, 0);
	vpmc_read_2(set.page, c->later, NULL);
	c->state = set.page->state;
	_exit(vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0) == -EPERM ? 0 : 2);
}

/*
 * The set stops between two instructions of code_until(): before its last look at the
 * state, of which it executed all or a part.
 */
static bool stopped_in_until(const uint64_t *sum, uint64_t turns)
{
	const struct code_count point[] = {
		CODE_COUNT(3 * turns - 4, turns - 2),
		CODE_COUNT(3 * turns - 3, turns - 1),
		CODE_COUNT(3 * turns - 2, turns - 1),
	};
	struct code_count all;
	int i;

	for (i = 0; i < ARRAY_SIZE(point); i++) {
		all = code_add(CODE_MEASURE_HEAD, point[i]);
		if (sum[0] == all.insns && sum[1] == all.branches)
			return true;
	}
	return false;
}

/* A revocation asks nothing of the thread, which may not even stop its set. */
TEST(revoked_and_filtered)
{
	struct vpmc_read read;
	struct confined *c;
	pid_t pid;
	int fd, i;

	ASSERT_EQ(0, pin(0));
	c = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, c);
	pid = fork();
	if (!pid)
		count_confined(c);
	while (!*(volatile uint64_t *)&c->turns)
		ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
	fd = open_of(pid, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	/* It may never notice. */
	for (i = 0; i < 1000 && !c->state; i++)
		usleep(1000);
	if (!c->state)
		kill(pid, SIGKILL);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_STATE_REVOKED, c->state);
	EXPECT_TRUE(stopped_in_until(c->sum, c->turns)) {
		TH_LOG("%llu insns, %llu branches in %llu turns",
		       (unsigned long long)c->sum[0], (unsigned long long)c->sum[1],
		       (unsigned long long)c->turns);
	}
	EXPECT_EQ(0, memcmp(c->sum, c->later, sizeof(c->sum)));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	EXPECT_EQ(0, memcmp(c->sum, read.sum, sizeof(c->sum)));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	close(fd);
}

#define USER	1000

/* A ring with a set in it that counts the kernel, too. 0 or not. */
static int keep_kernel_set(struct uring *ring, struct set *set)
{
	return uring_open(ring) || set_open(set, seam_kernel) ||
	       set_measure(set, code_loop, 1000, 0) || uring_register(ring, set->fd);
}

/* Is this what the ring reads of the file that is kept in it? */
static bool keeps_reading(struct uring *ring, struct code_count want, pid_t owner)
{
	char text[PAGE];

	return uring_text(ring, URING_REGISTERED, text) > 100 &&
	       !strncmp(text, "state: stopped\n", 15) &&
	       uring_number(text, "\nowner: ") == owner &&
	       uring_number(text, "\n0: ") == want.insns &&
	       uring_number(text, "\n1: ") > want.insns;
}

/* Neither by a descriptor of its own, nor in another one's name. 0 or not. */
static int reads_kernel_counts(struct uring *ring, int identity)
{
	char text[PAGE];
	int fd = open(THREAD_FILE, O_RDONLY);
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)text,
		.len = sizeof(text), .personality = identity,
	};

	return fd < 0 ? fd : uring_do(ring, &sqe);
}

/* What root has opened is read on. What the user opens does not show the kernel. */
static int wrong_after_setuid(bool namespace)
{
	const struct code_count want = measured(1000);
	struct uring ring;
	struct set set;
	int root;

	if (keep_kernel_set(&ring, &set))
		return 1;
	root = syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PERSONALITY,
		       NULL, 0);
	if (root <= 0 || reads_kernel_counts(&ring, root) < 100)
		return 2;
	if (become(USER) || (namespace && unshare(CLONE_NEWUSER)))
		return 3;
	if (!keeps_reading(&ring, want, my_tid()))
		return 4;
	if (reads_kernel_counts(&ring, 0) != -EACCES)
		return 5;
	return reads_kernel_counts(&ring, root) != -EACCES ? 6 : 0;
}

TEST(uring_and_users)
{
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid)
			_exit(wrong_after_setuid(i));
		EXPECT_EQ(0, child_status(pid)) {
			TH_LOG("with%s a user namespace", i ? "" : "out");
		}
	}
}

/* The first process of a namespace: its own set, and its father's in the ring. */
static int wrong_inside(struct uring *outer, pid_t father)
{
	struct uring ring;
	struct set set;
	char text[PAGE], byte;

	if (getpid() != 1 || mount_own_proc() || read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	if (!keeps_reading(outer, measured(1000), father))
		return 2;
	if (uring_open(&ring) || set_open(&set, seam_plain) ||
	    set_measure(&set, code_loop, 1000, 0))
		return 3;
	if (uring_text(&ring, set.fd, text) < 100 ||
	    uring_number(text, "\nowner: ") != 1 ||
	    uring_number(text, "\n0: ") != measured(1000).insns)
		return 4;
	/* Its father reads it from outside. */
	return write(STDOUT_FILENO, "", 1) != 1 || pause() ? 5 : 6;
}

/* Each owner has the number of its own namespace, whoever attaches and reads. */
TEST(uring_and_namespaces)
{
	struct uring ring, outside;
	int in[2], out[2], fd;
	struct set set;
	char text[PAGE], byte;
	pid_t pid, father = my_tid();

	ASSERT_EQ(0, pipe(in));
	ASSERT_EQ(0, pipe(out));
	ASSERT_EQ(0, keep_kernel_set(&ring, &set));
	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid) {
		if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
			_exit(7);
		_exit(wrong_inside(&ring, father));
	}
	close(out[1]);
	fd = open_of(pid, O_RDONLY | O_CREAT);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(in[1], "", 1));
	ASSERT_EQ(1, read(out[0], &byte, 1)) {
		TH_LOG("status %d", child_status(pid));
	}
	ASSERT_EQ(0, uring_open(&outside));
	ASSERT_LT(100, uring_text(&outside, fd, text));
	EXPECT_EQ(1, uring_number(text, "\nowner: "));
	EXPECT_EQ(measured(1000).insns, uring_number(text, "\n0: "));
	EXPECT_TRUE(keeps_reading(&ring, measured(1000), my_tid()));
	kill(pid, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
	EXPECT_TRUE(uring_says(&outside, fd, "exited"));
	close(fd);
	set_close(&set);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS, "a PMU that perf lends", NULL,
	  perf_keeps_counters },
);

TEST_HARNESS_MAIN
