// SPDX-License-Identifier: GPL-2.0
/*
 * From attach to exit: fork, threads, STOP and START, and that nothing is left
 * behind.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "memory.h"
#include "vpmc_test.h"

static const struct choice two[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, VPMC_ANY }, {}
};

static uint32_t holder(void)
{
	int fd = open(THREAD_FILE, O_RDWR);
	uint32_t holder = pmu_holder(fd);

	close(fd);
	return holder;
}

/* A set lives without descriptor and mapping, and can be found again. */
TEST(closed_and_opened_again)
{
	struct vpmc_control control;
	struct set set, again;

	ASSERT_EQ(0, set_open(&set, two));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	again = set;
	ASSERT_EQ(0, munmap(set.page, PAGE));
	ASSERT_EQ(0, close(set.fd));
	EXPECT_EQ(holder_with_sets(), holder());
	again.fd = vpmc_open();
	ASSERT_LE(0, again.fd);
	ASSERT_EQ(0, vpmc_read_control(again.fd, &control));
	EXPECT_EQ(counters_here(2), control.nr_counters);
	EXPECT_EQ(0, wrong_after(&again, CODE_LOOP(1000)));
}

/* Counts from the first START to STOP, with @starts calls of START. */
static int counts_of_starts(struct set *set, unsigned int starts,
			    struct vpmc_read *read)
{
	unsigned int i;

	if (vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ||
	    vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0))
		return -1;
	for (i = 0; i < starts; i++)
		if (vpmc_ioctl(set->fd, VPMC_IOC_START, 0))
			return -1;
	return vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ||
	       vpmc_read(set->fd, read) ? -1 : 0;
}

/*
 * START of a running set does nothing: each further call adds the instructions
 * of one call, and what was counted before stays.
 */
TEST(start_twice)
{
	struct vpmc_read read[3];
	struct set set;
	unsigned int i;

	ASSERT_EQ(0, set_open(&set, two));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, counts_of_starts(&set, i + 1, &read[i]));
	for (i = 0; i < 2; i++) {
		EXPECT_LT(read[0].sum[i], read[1].sum[i]);
		EXPECT_EQ(read[1].sum[i] - read[0].sum[i],
			  read[2].sum[i] - read[1].sum[i]);
	}
}

/* STOP of a stopped set does nothing. */
TEST(stop_twice)
{
	struct vpmc_read read, again;
	struct set set;

	ASSERT_EQ(0, set_open(&set, two));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, set.page->state);
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &again));
	EXPECT_EQ(0, memcmp(&read, &again, sizeof(read)));
	/* It still counts after the second call. */
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
}

/* CLEAR: from zero, running or not; what was counted before is gone. */
TEST(clear)
{
	struct vpmc_read read;
	struct set set;
	unsigned int i;

	ASSERT_EQ(0, set_open(&set, two));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
		ASSERT_EQ(0, set_clear(&set));
		ASSERT_EQ(0, vpmc_read(set.fd, &read));
		EXPECT_EQ(0, wrong_sums(&set, &read, CODE_COUNT(0, 0)));
		EXPECT_EQ(0, read.ticks);
		EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	}
	/* Running: what counts is what comes after the system call. */
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	code_loop(1000000, 0);
	ASSERT_EQ(0, set_measure_by(&set, VPMC_IOC_CLEAR, VPMC_IOC_STOP,
				    code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
}

/* Every change of a thread's page changes its generation. */
TEST(generation)
{
	static const unsigned int change[] = {
		VPMC_IOC_START, VPMC_IOC_CLEAR, VPMC_IOC_STOP, VPMC_IOC_CLEAR,
		VPMC_IOC_START, VPMC_IOC_STOP, VPMC_IOC_UNLINK,
	};
	uint64_t before;
	struct set set;
	int i;

	/* No other thread may run in between: that would add a switch. */
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, set_open(&set, two));
	before = set.page->generation;
	ASSERT_EQ(0, set_program(&set, two));
	EXPECT_NE(before, set.page->generation);
	for (i = 0; i < ARRAY_SIZE(change); i++) {
		before = *(volatile __u64 *)&set.page->generation;
		ASSERT_EQ(0, vpmc_ioctl(set.fd, change[i], 0));
		EXPECT_NE(before, *(volatile __u64 *)&set.page->generation) {
			TH_LOG("change %d", i);
		}
	}
}

/* What a loop adds to what READ says of a set that runs. */
static __attribute__((__noinline__)) int
read_around(const struct set *set, long n, uint64_t *added)
{
	struct vpmc_read before, after;
	int i, err;

	err = vpmc_read(set->fd, &before);
	code_loop(n, 0);
	err |= vpmc_read(set->fd, &after);
	for (i = 0; i < 2; i++)
		added[i] = after.sum[i] - before.sum[i];
	return err || after.state != VPMC_STATE_RUNNING;
}

TEST(read_while_running)
{
	uint64_t few[2], many[2];
	struct set set;

	ASSERT_EQ(0, set_open(&set, two));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, read_around(&set, 1000, few));
	ASSERT_EQ(0, read_around(&set, 1000, few));
	ASSERT_EQ(0, read_around(&set, 5000, many));
	EXPECT_EQ(CODE_LOOP(5000).insns - CODE_LOOP(1000).insns,
		  many[0] - few[0]);
	EXPECT_EQ(CODE_LOOP(5000).branches - CODE_LOOP(1000).branches,
		  many[1] - few[1]);
}

/*
 * Counters of one event that count the kernel too are one moment's in every
 * READ and after CLEAR, though the kernel's own instructions move them.
 */
TEST(kernel_counts_of_one_moment)
{
	static const struct choice same[] = {
		{ EV_KERNEL_INSNS, FIXED(0) }, { EV_KERNEL_INSNS, VPMC_ANY },
		{ EV_KERNEL_INSNS, VPMC_ANY }, {}
	};
	struct vpmc_read read;
	uint64_t last = 0;
	struct set set;
	int i;

	ASSERT_EQ(0, set_open(&set, same));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 50; i++) {
		if (i == 25) {
			ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
			last = 0;
		}
		ASSERT_EQ(0, vpmc_read(set.fd, &read));
		ASSERT_LT(last, read.sum[0]);
		ASSERT_EQ(read.sum[0], read.sum[1]);
		ASSERT_EQ(read.sum[0], read.sum[2]);
		last = read.sum[0];
	}
	set_close(&set);
}

/* CONTROL that is refused at the end leaves no claim on the PMU. */
TEST(refused_control_keeps_nothing)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, two));
	set.control.flags = VPMC_CONTROL_NEW;
	EXPECT_EQ(-EEXIST, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control));
	EXPECT_EQ(holder_without_sets(), holder());
}

/* UNLINK settles, too. */
TEST(unlink_settles)
{
	struct vpmc_read read;
	struct set set;

	ASSERT_EQ(0, set_open(&set, two));
	ASSERT_EQ(0, set_measure_by(&set, VPMC_IOC_START, VPMC_IOC_UNLINK,
				    code_loop, 4321, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(VPMC_STATE_UNLINKED, read.state);
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(4321)));
	EXPECT_EQ(holder_without_sets(), holder());
}

/* A set replaced by another: the old sums are gone, the new ones are exact. */
TEST(reprogrammed)
{
	static const struct choice other[] = {
		{ EV_BRANCHES, 3 }, { EV_CYCLES, VPMC_ANY }, { EV_INSNS, VPMC_ANY }, {}
	};
	struct set set;
	unsigned int i;

	ASSERT_EQ(0, set_open(&set, two));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, set_measure(&set, code_loop, 1000 + i, 0));
		EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000 + i)));
		ASSERT_EQ(0, set_program(&set, i & 1 ? two : other));
		EXPECT_EQ(set.control.nr_counters, set.page->nr_counters);
	}
	/* While it runs. */
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, set_program(&set, other));
	EXPECT_EQ(VPMC_STATE_STOPPED, set.page->state);
	ASSERT_EQ(0, set_measure(&set, code_loop, 555, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(555)));
}

/* Exit of a thread whose counters run: the sums have what it executed. */
static void *counting_thread(void *arg)
{
	struct set *set = arg;

	if (set_open(set, two) || vpmc_ioctl(set->fd, VPMC_IOC_START, 0))
		return (void *)1;
	code_loop(1000000, 0);
	return NULL;
}

TEST(thread_exit)
{
	struct vpmc_read read;
	pthread_t thread;
	struct set set;
	void *err;

	ASSERT_EQ(0, pthread_create(&thread, NULL, counting_thread, &set));
	ASSERT_EQ(0, pthread_join(thread, &err));
	ASSERT_EQ(NULL, err);
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	EXPECT_LE(counted_here(CODE_LOOP(1000000)).insns, read.sum[0]);
	EXPECT_GT(CODE_LOOP(1010000).insns, read.sum[0]);
	EXPECT_LT(0, read.ticks);
	/* The page is still mapped here, and shows the state. */
	EXPECT_EQ(VPMC_STATE_EXITED, set.page->state);
	EXPECT_EQ(read.sum[0], set.page->slot[0].base);
	EXPECT_EQ(holder_without_sets(), holder());
	EXPECT_EQ(0, munmap(set.page, PAGE));
}

/* The parent reads what a child counted until it was killed. */
TEST(killed_child)
{
	int fds[2], i;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		struct set set;
		char byte;

		ASSERT_EQ(0, pipe(fds));
		pid = fork();
		if (!pid) {
			if (set_open(&set, two) ||
			    vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
			    write(fds[1], "", 1) != 1)
				_exit(1);
			for (;;)
				code_loop(1000, 0);
		}
		ASSERT_EQ(1, read(fds[0], &byte, 1));
		EXPECT_EQ(holder_with_sets(), holder());
		kill(pid, SIGKILL);
		EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
		EXPECT_EQ(holder_without_sets(), holder());
		close(fds[0]);
		close(fds[1]);
	}
}

/* fork() in the middle: parent and child each have what is theirs. */
TEST(fork_has_no_counters)
{
	struct vpmc_read read;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, set_open(&set, two));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	pid = fork();
	if (!pid) {
		int fd = open(THREAD_FILE, O_RDWR);

		if (vpmc_read(fd, &read) != -ENOENT)
			_exit(1);
		if (set_open(&set, two) ||
		    set_measure(&set, code_loop, 777, 0) ||
		    wrong_after(&set, CODE_LOOP(777)))
			_exit(2);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_STATE_RUNNING, set.page->state);
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&set, code_fork, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_FORK));
}

static int short_life(void)
{
	struct set set;
	long err = set_open(&set, two);

	if (err)
		return err;
	err = set_measure(&set, code_loop, 333, 0) ?:
	      wrong_after(&set, CODE_LOOP(333));
	munmap(set.page, PAGE);
	close(set.fd);
	return err;
}

static void *short_thread(void *arg)
{
	return (void *)(long)short_life();
}

static int cycles(int n)
{
	pthread_t thread;
	void *result;
	int err;

	while (n--) {
		err = pthread_create(&thread, NULL, short_thread, NULL);
		if (err) {
			fprintf(stderr, "# no thread: %d\n", err);
			return -1;
		}
		pthread_join(thread, &result);
		if (result) {
			fprintf(stderr, "# a thread's error: %ld\n",
				(long)result);
			return -1;
		}
	}
	return 0;
}

/* What takes longer than the harness waits, on a kernel with checks. */
FIXTURE(leak) {
};

FIXTURE_SETUP(leak)
{
}

FIXTURE_TEARDOWN(leak)
{
}

/*
 * After 1,000 cycles in which everything finds its place, 4,000 more cost
 * nothing: a page or an object of 256 bytes lost in each would be seen.
 */
TEST_F_TIMEOUT(leak, threads, 120)
{
	const long n = 1000;
	long before, lost = n;
	int i;

	ASSERT_EQ(0, cycles(n));
	for (i = 0; i < LOSSES && lost >= n; i++) {
		before = settled_kb();
		ASSERT_LT(0, before);
		ASSERT_EQ(0, cycles(4 * n));
		lost = lost_kb(before, n);
	}
	EXPECT_GT(n, lost) {
		TH_LOG("%ld kB less", lost);
	}
	EXPECT_EQ(holder_without_sets(), holder());
}

/* CONTROL again and again, by a thread whose selection is shared or not. */
TEST_F_TIMEOUT(leak, selections, 120)
{
	static const struct choice other[] = { { EV_BRANCHES, 3 }, {} };
	const long n = 16000, limit = n / 16;
	long before, lost = limit;
	struct set set;
	int i, j;

	ASSERT_EQ(0, set_open(&set, two));
	for (i = 0; i < n / 4; i++)
		ASSERT_EQ(0, set_program(&set, i & 1 ? two : other));
	for (i = 0; i < LOSSES && lost >= limit; i++) {
		before = settled_kb();
		ASSERT_LT(0, before);
		for (j = 0; j < n; j++)
			ASSERT_EQ(0, set_program(&set, j & 1 ? two : other));
		lost = lost_kb(before, limit);
	}
	EXPECT_GT(limit, lost) {
		TH_LOG("%ld kB less", lost);
	}
}

NEEDS(
	{ "global.generation", VPMC | FIFO },
	{ "global.killed_child", PMU | OR_EMPTY },
	{ "global.closed_and_opened_again", PMU | OR_EMPTY },
	{ "global.read_while_running", TRUE_COUNTS },
	{ "global.kernel_counts_of_one_moment", TRUE_COUNTS | ROOT },
	{ "global.thread_exit", TRUE_COUNTS | OR_EMPTY },
	{ "global.start_twice", TRUE_COUNTS },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
