// SPDX-License-Identifier: GPL-2.0
/*
 * A revocation takes no longer than a bound, whatever users do: with many
 * families, and with threads that read them and get no CPU time. Members of
 * such a family fork and end within a bound, too. CONTROL is not delayed by
 * CONTROLs of threads that lose the CPU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include "vpmc_test.h"
#include "inherit.h"
#include "moments.h"
#include "perf.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"
#define CGROUPS		"/sys/fs/cgroup"
#define QUOTA_GROUP	CGROUPS "/vpmc/quota"

#define FAMILIES	1000
#define READERS		8	/* and large families */
#define LARGE		64	/* members */
#define SPINNERS	4
#define MEMBERS_TIMES	10	/* the time that as many other threads take */

/* All threads that sleep do so in a read() of this pipe. */
static int sleep_pipe[2];
static pthread_barrier_t ready, readers_ready;
static volatile bool stop;
static int wrong;

static void *sleeper(void *unused)
{
	char byte;

	pthread_barrier_wait(&ready);
	return (void *)(long)read(sleep_pipe[0], &byte, 1);
}

static int start_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;

	return pthread_attr_init(&attr) ||
	       pthread_attr_setstacksize(&attr, 32 << 10) ||
	       pthread_create(thread, &attr, fn, arg);
}

struct family {
	pthread_t root;
	unsigned int members;
	bool quota;	/* of who reads it */
	struct set set;
};

/* A member that has a child, which is one, too, and ends. */
static int act_pipe[2], acted_pipe[2];

static void *nothing(void *unused)
{
	return NULL;
}

static void *actor(void *unused)
{
	pthread_t child;
	char byte;

	pthread_barrier_wait(&ready);
	if (read(act_pipe[0], &byte, 1) != 1)
		return NULL;
	if (start_thread(&child, nothing, NULL) || pthread_join(child, NULL) ||
	    write(acted_pipe[1], "", 1) != 1)
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* The root of a family: maps its page, counts, and sleeps like its members. */
static void *root(void *arg)
{
	struct family *f = arg;
	pthread_t member[LARGE];
	unsigned int i;

	if (root_open(&f->set, THREADS) ||
	    vpmc_ioctl(f->set.fd, VPMC_IOC_START, 0))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	for (i = 0; i < f->members; i++)
		if (start_thread(&member[i], i ? sleeper : actor, NULL))
			abort();
	sleeper(NULL);
	for (i = 0; i < f->members; i++)
		pthread_join(member[i], NULL);
	set_close(&f->set);
	return NULL;
}

/* A group of threads that have the CPUs for 1 ms of each 100 ms. */
static int make_quota(void)
{
	if (mount("cgroup", CGROUPS, "cgroup2", 0, NULL) && errno != EBUSY)
		return -errno;
	mkdir(CGROUPS "/vpmc", 0755);
	mkdir(QUOTA_GROUP, 0755);
	return write_file(CGROUPS "/cgroup.subtree_control", "+cpu") ?:
	       write_file(QUOTA_GROUP "/cgroup.type", "threaded") ?:
	       write_file(CGROUPS "/vpmc/cgroup.procs", "0") ?:
	       write_file(CGROUPS "/vpmc/cgroup.subtree_control", "+cpu") ?:
	       write_file(QUOTA_GROUP "/cpu.max", "1000 100000");
}

/* Gives this thread as little of CPU 1 as a user can arrange for. */
static int starve(bool quota)
{
	const struct sched_param none = {};

	return pin(1) ?:
	       quota ? write_file(QUOTA_GROUP "/cgroup.threads", "0") :
	       sched_setscheduler(0, SCHED_IDLE, &none);
}

/* Reads a family on CPU 1 whenever it gets some time there. */
static void *starved_reader(void *arg)
{
	struct family *f = arg;
	struct vpmc_read read;

	if (starve(f->quota))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&readers_ready);
	while (!stop)
		if (family_read(f->set.fd, LIVING | FINISHED, &read))
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *spinner(void *unused)
{
	if (pin(1) || setpriority(PRIO_PROCESS, 0, -20))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	while (!stop)
		;
	return NULL;
}

/* A thread of its own does what is measured, because it may never return. */
struct action {
	int (*fn)(void);
	pthread_t thread;
	volatile bool done;
	double ms;
	int err;
};

static void *action_thread(void *arg)
{
	struct action *a = arg;
	double begin = ms_now();

	a->err = a->fn();
	a->ms = ms_now() - begin;
	a->done = true;
	return NULL;
}

/* Much longer than the bound. If the thread still runs, it is not done. */
static double action_ms(struct action *a)
{
	int i;

	a->done = false;
	if (pthread_create(&a->thread, NULL, action_thread, a))
		return -1;
	for (i = 0; i < 1000 && !a->done; i++)
		usleep(10000);
	return a->done ? a->ms : 1e9;
}

/* What as many threads outside of all families take, on this kernel. */
static double threads_ms(void)
{
	double begin = ms_now();
	pthread_t thread;
	int i;

	for (i = 0; i < READERS + FAMILIES; i++)
		if (start_thread(&thread, nothing, NULL) ||
		    pthread_join(thread, NULL))
			return 0;
	return ms_now() - begin;
}

/* All members that can: those of families that are read, and others. */
static int act_all(void)
{
	char byte;
	int i;

	for (i = 0; i < READERS + FAMILIES; i++)
		if (write(act_pipe[1], "", 1) != 1)
			return -errno;
	for (i = 0; i < READERS + FAMILIES; i++)
		if (read(acted_pipe[0], &byte, 1) != 1)
			return -errno;
	return 0;
}

/* The families that others read, after that. */
static struct family *large;

static int read_and_stop_all(void)
{
	struct vpmc_read read;
	int i, err = 0;

	for (i = 0; i < READERS && !err; i++) {
		int fd = large[i].set.fd;

		err = family_read(fd, LIVING | FINISHED, &read) ?:
		      vpmc_ioctl(fd, VPMC_IOC_STOP_ALL, 0);
		if (read.finished != 2 || read.living != LARGE - 1)
			err = -EIO;
	}
	return err;
}

static int take_back(void)
{
	return write_file(REVOKE_FILE, "1");
}

/* A process outside of the family. On request it starts a set and ends. */
static int stranger_pipe[2];
static pid_t stranger_pid;

static int make_stranger(void)
{
	struct set set;
	char byte;

	if (pipe(stranger_pipe))
		return -errno;
	stranger_pid = fork();
	if (!stranger_pid)
		_exit(read(stranger_pipe[0], &byte, 1) != 1 ||
		      set_open(&set, inherited) ||
		      vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	return stranger_pid < 0 ? -errno : 0;
}

static int live_and_die(void)
{
	return write(stranger_pipe[1], "", 1) != 1 ||
	       child_status(stranger_pid);
}

FIXTURE(bound)
{
	struct family *family;
	pthread_t reader[READERS];
	pthread_t spinner[SPINNERS];
};

FIXTURE_VARIANT(bound) {
	bool quota;
};

/* Threads of higher priority spin. */
FIXTURE_VARIANT_ADD(bound, idle) {
	.quota = false,
};

/* For a kernel with CONFIG_CFS_BANDWIDTH */
FIXTURE_VARIANT_ADD(bound, quota) {
	.quota = true,
};

FIXTURE_SETUP(bound)
{
	const struct rlimit files = { 4096, 4096 };
	unsigned int i, n = READERS + FAMILIES;

	stop = false;
	wrong = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_EQ(0, pipe(sleep_pipe));
	ASSERT_EQ(0, pipe(act_pipe));
	ASSERT_EQ(0, pipe(acted_pipe));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, make_stranger());
	if (variant->quota)
		ASSERT_EQ(0, make_quota());
	self->family = calloc(n, sizeof(*self->family));
	ASSERT_NE(NULL, self->family);
	ASSERT_EQ(0, pthread_barrier_init(&ready, NULL,
					  READERS * (LARGE + 1) + FAMILIES * 2 + 1));
	for (i = 0; i < n; i++) {
		self->family[i].members = i < READERS ? LARGE : 1;
		self->family[i].quota = variant->quota;
		ASSERT_EQ(0, start_thread(&self->family[i].root, root,
					  &self->family[i]));
	}
	pthread_barrier_wait(&ready);
	ASSERT_EQ(0, wrong);

	/* The readers run for a moment, and then get no time any more. */
	ASSERT_EQ(0, pthread_barrier_init(&readers_ready, NULL, READERS + 1));
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, pthread_create(&self->reader[i], NULL,
					    starved_reader, &self->family[i]));
	pthread_barrier_wait(&readers_ready);
	usleep(100000);
	for (i = 0; i < SPINNERS && !variant->quota; i++)
		ASSERT_EQ(0, pthread_create(&self->spinner[i], NULL, spinner,
					    NULL));
	usleep(100000);
	ASSERT_EQ(0, wrong);
}

FIXTURE_TEARDOWN(bound)
{
	unsigned int i;

	stop = true;
	for (i = 0; i < SPINNERS && !variant->quota; i++)
		EXPECT_EQ(0, pthread_join(self->spinner[i], NULL));
	for (i = 0; i < READERS; i++)
		EXPECT_EQ(0, pthread_join(self->reader[i], NULL));
	close(sleep_pipe[1]);
	close(act_pipe[1]);
	for (i = 0; i < READERS + FAMILIES; i++)
		EXPECT_EQ(0, pthread_join(self->family[i].root, NULL));
	close(sleep_pipe[0]);
	close(act_pipe[0]);
	close(acted_pipe[0]);
	close(acted_pipe[1]);
	free(self->family);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
}

TEST_F_TIMEOUT(bound, revocation, 120)
{
	struct action revocation = { .fn = take_back };
	struct action stranger = { .fn = live_and_die };
	struct vpmc_read read;
	double ms;

	ms = action_ms(&revocation);
	TH_LOG("revoked in %.3f ms", ms);
	EXPECT_GT(BOUND_MS * test_slowness(), ms);
	stop = true;
	ASSERT_EQ(0, pthread_join(revocation.thread, NULL));
	EXPECT_EQ(0, revocation.err);
	/*
	 * Not while others spin: perf's first event waits for an RCU grace period,
	 * which a reader that gets no CPU time can hold up.
	 */
	EXPECT_EQ(0, perf_error(1000));

	/* Afterwards the descendants that lost the PMU are counted. */
	ASSERT_EQ(0, family_read(self->family[0].set.fd, LIVING, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(LARGE, read.living);
	EXPECT_EQ(LARGE, read.lost);
	ASSERT_EQ(0, family_read(self->family[READERS].set.fd, LIVING, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(1, read.lost);
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	ms = action_ms(&stranger);
	EXPECT_GT(BOUND_MS * test_slowness(), ms);
	ASSERT_EQ(0, pthread_join(stranger.thread, NULL));
	EXPECT_EQ(0, stranger.err);
}

/* Readers of a family do not block its members. */
TEST_F_TIMEOUT(bound, members_come_and_go, 120)
{
	struct action members = { .fn = act_all };
	struct action reads = { .fn = read_and_stop_all };
	double others = threads_ms(), ms = action_ms(&members);

	TH_LOG("%d members in %.3f ms, as many others in %.3f ms",
	       READERS + FAMILIES, ms, others);
	EXPECT_GT(MEMBERS_TIMES * others, ms);
	if (members.done) {
		large = self->family;
		ms = action_ms(&reads);
		TH_LOG("READ and STOP_ALL of %d families in %.3f ms", READERS,
		       ms);
		EXPECT_GT(BOUND_MS * test_slowness(), ms);
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(members.thread, NULL));
	EXPECT_EQ(0, members.err);
	if (large)
		ASSERT_EQ(0, pthread_join(reads.thread, NULL));
	EXPECT_EQ(0, reads.err);
	/* It holds the pipes. */
	EXPECT_EQ(0, live_and_die());
}

/* Readers do not block an unrelated process either. */
TEST_F_TIMEOUT(bound, strangers_come_and_go, 120)
{
	struct action stranger = { .fn = live_and_die };
	double ms = action_ms(&stranger);

	TH_LOG("a process in %.3f ms", ms);
	EXPECT_GT(BOUND_MS * test_slowness(), ms);
	stop = true;
	ASSERT_EQ(0, pthread_join(stranger.thread, NULL));
	EXPECT_EQ(0, stranger.err);
}

/* CONTROL's way through perf's tables, again and again. The last event is refused. */
static void *starved_control(void *unused)
{
	struct vpmc_control control;
	int i, fd = vpmc_open();

	control_init(&control, VPMC_CONTROL_STOPPED);
	for (i = 0; i < 5; i++)
		control_add(&control, EV_INSNS, VPMC_ANY);
	control_add(&control, 0, VPMC_ANY);
	if (fd < 0 || starve(false))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	while (!stop)
		if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) != -EINVAL ||
		    control.reason != VPMC_REASON_NO_MODE)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	close(fd);
	return NULL;
}

/* Takes the CPU from it for longer than the bound, at any of its instructions. */
static void *robber(void *unused)
{
	double end;

	if (pin(1))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	while (!stop) {
		usleep(1000);
		for (end = ms_now() + 2 * BOUND_MS * test_slowness();
		     ms_now() < end && !stop;)
			;
	}
	return NULL;
}

TEST(control_beside_starved)
{
	const int times = 3000 / (2 * BOUND_MS);
	pthread_t starved, robbing;
	double begin, ms, worst = 0, end;
	struct set set;

	stop = false;
	wrong = 0;
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, inherited));
	ASSERT_EQ(0, pthread_create(&starved, NULL, starved_control, NULL));
	ASSERT_EQ(0, pthread_create(&robbing, NULL, robber, NULL));
	end = ms_now() + times * 2 * BOUND_MS * test_slowness();
	while (ms_now() < end) {
		begin = ms_now();
		ASSERT_EQ(0, set_program(&set, inherited));
		ms = ms_now() - begin;
		worst = ms > worst ? ms : worst;
		usleep(200);
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(starved, NULL));
	ASSERT_EQ(0, pthread_join(robbing, NULL));
	TH_LOG("CONTROL took at most %.3f ms", worst);
	EXPECT_GT(BOUND_MS * test_slowness(), worst);
	EXPECT_EQ(0, wrong);
	set_close(&set);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
