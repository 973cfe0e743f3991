// SPDX-License-Identifier: GPL-2.0
/*
 * Files of threads: which one belongs to which thread, and what another thread can do
 * by it, whatever the owner does.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "proc.h"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

/* Threads of one group: each file is its own thread's, all may open all. */
struct peer {
	pthread_t thread;
	pid_t tid;
	int fd;			/* of the peer's counters */
	volatile int go;
	int wrong;
};

static void *peer_thread(void *arg)
{
	struct peer *peer = arg;
	struct set set;

	peer->wrong = 1;
	if (set_open(&set, insns))
		return NULL;
	peer->fd = set.fd;
	__atomic_store_n(&peer->tid, my_tid(), __ATOMIC_RELEASE);
	while (!peer->go)
		sched_yield();
	peer->wrong = set_measure(&set, code_loop, 12345, 0) ||
		      wrong_after(&set, CODE_LOOP(12345));
	munmap(set.page, PAGE);
	return NULL;
}

static int start_peer(struct peer *peer)
{
	memset(peer, 0, sizeof(*peer));
	if (pthread_create(&peer->thread, NULL, peer_thread, peer))
		return -1;
	while (!__atomic_load_n(&peer->tid, __ATOMIC_ACQUIRE))
		sched_yield();
	return 0;
}

TEST(thread_of_the_group)
{
	const uint64_t truth =
		counted_here(code_add(CODE_MEASURE, CODE_LOOP(12345))).insns;
	struct vpmc_control control;
	struct vpmc_read read;
	struct peer peer;
	char path[64];
	int fd, mine;

	tolerance_begin();
	ASSERT_EQ(0, start_peer(&peer));
	sprintf(path, "/proc/self/task/%d/perfctr", peer.tid);
	fd = open(path, O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(peer.tid, read.tid);
	EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	/* The group's file is the caller's own, and the caller has none. */
	mine = open("/proc/self/perfctr", O_RDWR);
	EXPECT_EQ(-ENOENT, vpmc_read(mine, &read));

	/* Its owner gone: sums as they were, and nothing more to change. */
	peer.go = 1;
	pthread_join(peer.thread, NULL);
	EXPECT_EQ(0, peer.wrong);
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	EXPECT_EQ(peer.tid, read.tid);
	EXPECT_EQ(counters_here(1), read.nr_counters);
	EXPECT_TRUE(fits_since(read.sum[0], truth, 1));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, vpmc_read_control(fd, &control));
	EXPECT_EQ(counters_here(1), control.nr_counters);
}

/* The group's file is the caller's own, for a thread that does not lead, too. */
static void *group_file_thread(void *arg)
{
	struct vpmc_read read;
	int fd = open("/proc/self/perfctr", O_RDWR), *err = arg;

	*err = vpmc_read(fd, &read);
	close(fd);
	return NULL;
}

TEST(group_file_of_a_thread)
{
	pthread_t thread;
	struct set set;
	int err = 0;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, pthread_create(&thread, NULL, group_file_thread, &err));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-ENOENT, err);
}

/*
 * A thread controls another one: first on the CPU that they share, where the
 * other one waits for its turn, then on another CPU, where it runs.
 */
TEST(controlled_by_another_thread)
{
	struct vpmc_read read;
	struct peer peer;
	struct set remote;
	uint64_t ticks;
	cpu_set_t cpu1;
	char path[64];
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, start_peer(&peer));
	sprintf(path, "/proc/self/task/%d/perfctr", peer.tid);
	remote.fd = open(path, O_RDWR);
	ASSERT_LE(0, remote.fd);
	CPU_ZERO(&cpu1);
	CPU_SET(1, &cpu1);
	for (i = 0; i < 200; i++) {
		if (i == 100)
			ASSERT_EQ(0, sched_setaffinity(peer.tid, sizeof(cpu1),
						       &cpu1));
		ASSERT_EQ(0, vpmc_ioctl(remote.fd, VPMC_IOC_START, 0));
		ASSERT_EQ(0, vpmc_read(remote.fd, &read));
		EXPECT_EQ(VPMC_STATE_RUNNING, read.state);
		sched_yield();
		/* Now and then it gets the CPU for sure. */
		for (ticks = read.ticks; !(i % 20) && read.ticks == ticks;) {
			usleep(100);
			ASSERT_EQ(0, vpmc_read(remote.fd, &read));
		}
		ASSERT_EQ(0, vpmc_ioctl(remote.fd, VPMC_IOC_STOP, 0));
		ASSERT_EQ(0, vpmc_read(remote.fd, &read));
		EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
		if (i == 99 || i == 199) {
			EXPECT_LT(0, read.ticks);
			EXPECT_LE(counters_here(1), read.sum[0]);
			ASSERT_EQ(0, vpmc_ioctl(remote.fd, VPMC_IOC_CLEAR, 0));
			ASSERT_EQ(0, vpmc_read(remote.fd, &read));
			EXPECT_EQ(0, read.sum[0]);
			EXPECT_EQ(0, read.ticks);
		}
	}
	EXPECT_EQ(0, set_program(&remote, insns));
	peer.go = 1;
	pthread_join(peer.thread, NULL);
	EXPECT_EQ(0, peer.wrong);
}

/* START while the owner sleeps: it counts from its wake-up on. */
struct sleeper {
	pthread_t thread;
	int go[2];
	struct set set;
	struct vpmc_read sums;	/* when it is awake */
	uint64_t switches;	/* the scheduler's count, with its sleep */
	uint64_t sleeps;	/* before that sleep */
	int wrong;
	pid_t tid;
};

/* Publishes that the calling thread is about to sleep. */
static void sleeper_ready(struct sleeper *sleeper)
{
	struct rusage usage;

	sleeper->switches = my_switches();
	getrusage(RUSAGE_THREAD, &usage);
	sleeper->sleeps = usage.ru_nvcsw;
	__atomic_store_n(&sleeper->tid, my_tid(), __ATOMIC_RELEASE);
}

/* Waits until the scheduler has taken the CPU from the thread because it sleeps. */
static int start_sleeper(struct sleeper *sleeper, void *(*main)(void *))
{
	char path[64];

	if (pipe(sleeper->go) ||
	    pthread_create(&sleeper->thread, NULL, main, sleeper))
		return -1;
	while (!__atomic_load_n(&sleeper->tid, __ATOMIC_ACQUIRE))
		sched_yield();
	sprintf(path, "/proc/self/task/%d/status", sleeper->tid);
	while (proc_number(path, "voluntary_ctxt_switches:") <= sleeper->sleeps)
		usleep(100);
	return 0;
}

static void *sleeper_thread(void *arg)
{
	struct sleeper *sleeper = arg;
	char byte;

	sleeper->wrong = pin(1) || set_open(&sleeper->set, insns);
	sleeper_ready(sleeper);
	if (read(sleeper->go[0], &byte, 1) != 1)
		sleeper->wrong = 1;
	if (vpmc_ioctl(sleeper->set.fd, VPMC_IOC_STOP, 0))
		sleeper->wrong = 1;
	sleeper->switches = my_switches() - sleeper->switches;
	return NULL;
}

TEST(started_asleep)
{
	struct sleeper sleeper = {};
	struct vpmc_read sums;
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, start_sleeper(&sleeper, sleeper_thread));
	ASSERT_EQ(0, vpmc_ioctl(sleeper.set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 3; i++) {
		usleep(1000);
		ASSERT_EQ(0, vpmc_read(sleeper.set.fd, &sums));
		EXPECT_EQ(VPMC_STATE_RUNNING, sums.state);
		EXPECT_EQ(0, sums.sum[0]);
		EXPECT_EQ(0, sums.ticks);
		EXPECT_EQ(0, sums.switches);
	}
	ASSERT_EQ(1, write(sleeper.go[1], "", 1));
	ASSERT_EQ(0, pthread_join(sleeper.thread, NULL));
	EXPECT_EQ(0, sleeper.wrong);
	ASSERT_EQ(0, vpmc_read(sleeper.set.fd, &sums));
	EXPECT_EQ(VPMC_STATE_EXITED, sums.state);
	EXPECT_LE(counters_here(1), sums.sum[0]);
	EXPECT_LT(0, sums.ticks);
	/* One, unless it was preempted as well. */
	EXPECT_LE(1, sums.switches);
	EXPECT_GE(sleeper.switches, sums.switches);
	/* There was no CPU before that one. */
	EXPECT_EQ(0, sums.migrations);
}

/* The same, on a CPU that its last counting had nothing to do with. */
static void *moved_thread(void *arg)
{
	struct sleeper *sleeper = arg;
	char byte;

	sleeper->wrong = pin(0) || set_open(&sleeper->set, insns) ||
			 set_measure(&sleeper->set, code_loop, 1000, 0) ||
			 pin(1);
	sleeper_ready(sleeper);
	if (read(sleeper->go[0], &byte, 1) != 1 ||
	    vpmc_read(sleeper->set.fd, &sleeper->sums))
		sleeper->wrong = 1;
	sleeper->switches = my_switches() - sleeper->switches;
	return NULL;
}

TEST(started_asleep_elsewhere)
{
	struct sleeper sleeper = {};
	struct vpmc_read sums;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, start_sleeper(&sleeper, moved_thread));
	ASSERT_EQ(0, vpmc_ioctl(sleeper.set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, vpmc_ioctl(sleeper.set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(1, write(sleeper.go[1], "", 1));
	ASSERT_EQ(0, pthread_join(sleeper.thread, NULL));
	EXPECT_EQ(0, sleeper.wrong);
	ASSERT_EQ(0, vpmc_read(sleeper.set.fd, &sums));
	/* As above, up to where it looked itself. */
	EXPECT_LE(1, sleeper.sums.switches);
	EXPECT_GE(sleeper.switches, sleeper.sums.switches);
	EXPECT_LE(sleeper.sums.switches, sums.switches);
	EXPECT_EQ(0, sums.migrations);
}

NEEDS(
	{ "global.thread_of_the_group", PMU | OR_EMPTY },
	{ "global.controlled_by_another_thread", PMU | OR_EMPTY | TWO_CPUS },
	{ "global.started_asleep", PMU | OR_EMPTY | TWO_CPUS },
	{ "global.started_asleep_elsewhere", VPMC | TWO_CPUS },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
