// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_isolation: what other processes see with 0, what a switch saves,
 * and that 1 hides everything at once.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pmu-test-msr.h>
#include "isolation.h"
#include "proc.h"

#define ISOLATION	"/proc/sys/kernel/vpmc_isolation"
#define ROUNDS		100

static const struct choice same[4] = SAME;

FIXTURE(off)
{
	struct stage *stage;
};

FIXTURE_SETUP(off)
{
	ASSERT_EQ(1, read_number(ISOLATION));
	self->stage = open_stage(-1);
	ASSERT_NE(NULL, self->stage);
	ASSERT_EQ(0, write_file(ISOLATION, "0"));
	ASSERT_EQ(0, read_number(ISOLATION));
}

FIXTURE_TEARDOWN(off)
{
	EXPECT_EQ(0, write_file(ISOLATION, "1"));
	EXPECT_EQ(1, read_number(ISOLATION));
}

static int64_t moved(const struct stage *stage, uint32_t index)
{
	unsigned int i;

	for (i = 0; i < stage->n; i++)
		if (stage->index[i] == index)
			return stage->view[1].after[i] - stage->view[0].after[i];
	return -1;
}

/* A process that may use RDPMC sees exactly what others counted. */
TEST_F(off, shows)
{
	static const struct scene scene = {
		.watched = SAME, .victim = SAME, .stands = true,
	};
	const struct code_count more = {
		2 * (LONG_LOOP - SHORT_LOOP), LONG_LOOP - SHORT_LOOP
	};

	play_alike(_metadata, &scene, self->stage, NULL, NULL);
	EXPECT_EQ(more.insns, moved(self->stage, FIXED(0)));
	EXPECT_EQ(more.branches, moved(self->stage, 0));
	EXPECT_EQ(more.insns, moved(self->stage, 1));
	EXPECT_EQ(0, moved(self->stage, 2));
}

/* The watcher, when the victim has run. */
static int isolate(struct player *p)
{
	return write_file(ISOLATION, "1");
}

static void play_without(struct __test_metadata *_metadata,
			 const struct scene *scene, struct stage *stage)
{
	play_alike(_metadata, scene, stage, ISOLATION, "0");
	compare_views(_metadata, scene, stage);
}

/* A process on CPU 1 writes the sysctl. The watcher never leaves CPU 0. */
static struct order {
	volatile bool now, done;
} *order;

static pid_t start_administrator(void)
{
	pid_t pid;

	order = mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (order == MAP_FAILED)
		return -1;
	pid = disturber();
	if (pid)
		return pid;
	for (;;) {
		if (pin(1) || usleep(100))
			_exit(1);
		if (!order->now)
			continue;
		if (write_file(ISOLATION, "1"))
			_exit(2);
		order->now = false;
		order->done = true;
	}
}

static int isolate_from_cpu1(struct player *p)
{
	order->done = false;
	order->now = true;
	while (!order->done)
		;
	return 0;
}

TEST_F(off, on_hides_at_once)
{
	static const struct scene scene = {
		.watched = SAME, .victim = SAME, .stands = true, .still = true,
		.back = isolate_from_cpu1,
	};
	pid_t pid = start_administrator();

	ASSERT_LT(0, pid);
	play_without(_metadata, &scene, self->stage);
	EXPECT_EQ(0, stop_disturber(pid));
}

/* The watcher's own set runs, and has a new base now. */
TEST_F(off, on_hides_from_a_running_set)
{
	static const struct scene scene = {
		.watched = SAME, .victim = SAME,
		.back = isolate,
	};

	play_without(_metadata, &scene, self->stage);
}

/* A thread that has no set, in a process that may use RDPMC. */
TEST_F(off, on_hides_from_a_thread)
{
	static const struct scene scene = {
		.watched = SAME, .victim = OTHER, .stands = true, .still = true,
		.look = look_from_thread,
		.back = isolate,
	};

	play_without(_metadata, &scene, self->stage);
}

/* MSR writes of CPU 0 in kernel mode so far, by the emulator's count. */
static uint64_t msr_writes(void)
{
	int fd = open("/dev/cpu/0/msr", O_RDONLY);
	uint64_t n = 0;

	if (pread(fd, &n, sizeof(n), PMU_TEST_MSR(PMU_TEST_WRMSR)) != sizeof(n))
		n = 0;
	close(fd);
	return n;
}

struct game {
	struct set set;
	int to[2], from[2];
	pid_t partner;
	int64_t off, on;	/* MSRs written */
	uint64_t mine, others;	/* switches, by the scheduler's count */
};

static int answer_always(struct game *g)
{
	char byte;

	if (vpmc_ioctl(g->set.fd, VPMC_IOC_START, 0))
		return 1;
	for (;;)
		if (write(g->from[1], "", 1) != 1 ||
		    read(g->to[0], &byte, 1) != 1)
			return 2;
}

static int partner(struct game *g)
{
	return set_open(&g->set, same) ? 1 : answer_always(g);
}

static int partner_unmapped(struct game *g)
{
	return set_open(&g->set, same) || munmap(g->set.page, PAGE) ?
	       1 : answer_always(g);
}

static int64_t rounds(struct game *g)
{
	uint64_t before = msr_writes();
	char byte;
	int i;

	for (i = 0; i < ROUNDS; i++)
		if (write(g->to[1], "", 1) != 1 ||
		    read(g->from[0], &byte, 1) != 1)
			return -1;
	return msr_writes() - before;
}

/* All rounds without isolation, and all with it: 0 or not. */
static int play_rounds(struct game *g)
{
	if (write_file(ISOLATION, "0"))
		return -1;
	g->others = task_switches(g->partner);
	g->mine = my_switches();
	if (vpmc_ioctl(g->set.fd, VPMC_IOC_CLEAR, 0))
		return -1;
	g->off = rounds(g);
	if (write_file(ISOLATION, "1"))
		return -1;
	g->on = rounds(g);
	g->mine = my_switches() - g->mine;
	g->others = task_switches(g->partner) - g->others;
	return 0;
}

/*
 * Two processes with the same events and their pages mapped, which wake each
 * other: each of the two switches in a round writes the three counters, or
 * nothing. The scheduler's fair server may take the CPU from either, so one
 * play of eight must be without a switch that they did not make.
 */
TEST_F(off, saves_the_writes)
{
	const int all = 2 * ROUNDS;
	struct vpmc_read sums;
	struct game g;
	char byte;
	int i;

	ASSERT_EQ(0, pipe(g.to));
	ASSERT_EQ(0, pipe(g.from));
	ASSERT_EQ(0, set_fifo(50));
	g.partner = disturber();
	if (!g.partner)
		_exit(partner(&g));
	ASSERT_EQ(0, set_open(&g.set, same));
	ASSERT_EQ(0, vpmc_ioctl(g.set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(1, read(g.from[0], &byte, 1));
	for (i = 0; i < 8 && (!i || g.mine != all || g.others != all); i++)
		ASSERT_EQ(0, play_rounds(&g));
	TH_LOG("%lld and %lld MSRs written in %d rounds, play %d",
	       (long long)g.off, (long long)g.on, ROUNDS, i);
	EXPECT_EQ(all, g.mine);
	EXPECT_EQ(all, g.others);
	EXPECT_EQ(0, g.off);
	EXPECT_EQ(ROUNDS * 2 * 3, g.on);
	ASSERT_EQ(0, vpmc_read(g.set.fd, &sums));
	EXPECT_EQ(all, sums.switches);
	EXPECT_EQ(sums.sum[0], sums.sum[2]);
	EXPECT_EQ(0, stop_disturber(g.partner));
}

/* A thread without a set */
static void *echo(void *arg)
{
	struct game *g = arg;
	char byte;

	while (read(g->to[0], &byte, 1) == 1 && write(g->from[1], "", 1) == 1)
		;
	return NULL;
}

/*
 * Two processes without RDPMC have moved the counters. Then one of them is alone on
 * the CPU, with a thread that does not count. At first each switch to that thread
 * stops the counters. This ends when the counting thread comes from another CPU.
 */
TEST(alone_again)
{
	struct game g;
	pthread_t thread;
	char byte;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pipe(g.to));
	ASSERT_EQ(0, pipe(g.from));
	ASSERT_EQ(0, set_fifo(50));
	g.partner = disturber();
	if (!g.partner)
		_exit(partner_unmapped(&g));
	ASSERT_EQ(0, set_open(&g.set, same));
	ASSERT_EQ(0, munmap(g.set.page, PAGE));
	ASSERT_EQ(0, vpmc_ioctl(g.set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(1, read(g.from[0], &byte, 1));
	ASSERT_LE(0, rounds(&g));
	ASSERT_EQ(0, stop_disturber(g.partner));
	ASSERT_EQ(0, pthread_create(&thread, NULL, echo, &g));
	EXPECT_LE(2 * ROUNDS, rounds(&g));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, pin(0));
	EXPECT_EQ(0, rounds(&g));
}

TEST(values)
{
	EXPECT_EQ(-EINVAL, write_file(ISOLATION, "2"));
	EXPECT_EQ(-EINVAL, write_file(ISOLATION, "-1"));
	EXPECT_EQ(1, read_number(ISOLATION));
}

/* The write needs root's capabilities; being the file's owner is not enough. */
TEST(unprivileged)
{
	int fd = open(ISOLATION, O_WRONLY);
	pid_t pid;

	ASSERT_LE(0, fd);
	pid = fork();
	if (!pid) {
		if (setgid(1000) || setuid(1000))
			_exit(1);
		if (write_file(ISOLATION, "0") != -EACCES)
			_exit(2);
		if (write(fd, "0", 1) != -1 || errno != EPERM)
			_exit(3);
		if (unshare(CLONE_NEWUSER) || write(fd, "0", 1) != -1 ||
		    errno != EPERM)
			_exit(4);
		_exit(read_number(ISOLATION) != 1);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(1, read_number(ISOLATION));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
