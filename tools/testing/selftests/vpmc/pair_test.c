// SPDX-License-Identifier: GPL-2.0
/*
 * perf's event that needs a pair of counters has both, and leaves both when one of
 * them is lent. For AMD's processors from family 17h on.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"

#define PAIR_EVENT	0xff03
#define TURNS		20000000

static uint64_t period = 1ULL << 40;

/* Of all threads: it stays on CPU 0 while this thread waits for a loan. */
static int open_pair(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = PAIR_EVENT,
		.sample_period = period,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
}

/*
 * A process that lets perf write the event's registers on CPU 0 all the time. It
 * counts how often, and has done so once.
 */
static pid_t start_writer(int perf, volatile uint32_t *times)
{
	pid_t pid = fork();

	if (pid) {
		while (pid > 0 && !*times && !waitpid(pid, NULL, WNOHANG))
			usleep(1000);
		return pid;
	}
	if (!pin(1))
		while (!ioctl(perf, PERF_EVENT_IOC_PERIOD, &period))
			++*times;
	_exit(1);
}

/* The event has counters 0 and 1, and the set borrows the second one. */
TEST_F(shared, pair_leaves)
{
	static const struct choice second[] = { { EV_BRANCHES, 1 }, {} };
	volatile uint32_t *times = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t before;
	int wrong;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)times);
	self->perf[0] = open_pair();
	ASSERT_LE(0, self->perf[0]);
	ASSERT_EQ(0, set_open(&self->set, second));
	pid = start_writer(self->perf[0], times);
	ASSERT_LT(0, pid);
	before = *times;
	wrong = set_measure(&self->set, code_loop, TURNS, 0) ||
		wrong_after(&self->set, CODE_LOOP(TURNS));
	EXPECT_LT(before + 10, *times);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(0, wrong);
}

/* The second counter of the pair, on CPU 0. */
static uint64_t second_counter(void)
{
	uint64_t value = ~0ULL;
	int fd = open("/dev/cpu/0/msr", O_RDONLY);

	if (pread(fd, &value, sizeof(value), 0xc0010203) != sizeof(value))
		value = ~0ULL;
	close(fd);
	return value;
}

/* This process may use RDPMC now, so perf zeroes counters that it has left. */
static int let_perf_zero(void)
{
	int fd = perf_open_insns(), err = 0;
	void *page;

	if (fd < 0)
		return fd;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err = -errno;
	else
		munmap(page, PAGE);
	close(fd);
	return err;
}

/* Leaves counters 0 and 1 of CPU 0 behind. */
static int leave_two(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	};
	int i, fd[2];

	for (i = 0; i < 2; i++)
		fd[i] = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	for (i = 0; i < 2; i++)
		if (fd[i] < 0 || close(fd[i]))
			return -1;
	return 0;
}

/*
 * perf does not zero the second counter of an event because an earlier event has
 * left it behind. When the event ends it has left both.
 */
TEST(second_counter_is_the_events)
{
	int pair;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, leave_two());
	EXPECT_NE(0, second_counter());
	pair = open_pair();
	ASSERT_LE(0, pair);
	EXPECT_EQ(0xffff, second_counter());
	ASSERT_EQ(0, let_perf_zero());
	EXPECT_EQ(0xffff, second_counter());
	ASSERT_EQ(0, close(pair));
	EXPECT_EQ(0xffff, second_counter());
	ASSERT_EQ(0, let_perf_zero());
	EXPECT_EQ(0, second_counter());
}

static bool has_pairs(void)
{
	unsigned int a = 0, b, c, d;

	__get_cpuid(1, &a, &b, &c, &d);
	return machine_is_amd() && 0xf + (a >> 20 & 0xff) >= 0x17;
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT, "events that need two counters", NULL,
	  has_pairs },
);

TEST_HARNESS_MAIN
