// SPDX-License-Identifier: GPL-2.0
/*
 * What perf's events do in a kernel without vpmc, they do in one with it. No test
 * here uses a set, so the program runs on any kernel. scripts/suites/perf-unharmed
 * compares what it prints on three kernels.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"

#define TURNS		100000
#define BRANCHES	PERF_COUNT_HW_BRANCH_INSTRUCTIONS
#define INSNS		PERF_COUNT_HW_INSTRUCTIONS

/* A number that must be the same on all kernels. */
#define SAY(...)	({ printf("# value " __VA_ARGS__); fflush(stdout); })

/* An event in user mode that is stopped, to be changed before it is opened. */
static struct perf_event_attr user_event(uint64_t config)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
	};
}

static int open_attr(const struct perf_event_attr *attr, pid_t pid, int leader)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, -1, leader, 0);

	return fd < 0 ? -errno : fd;
}

static __u64 count_of(int fd)
{
	__u64 count[3] = {};

	return read(fd, count, sizeof(count)) > 0 ? count[0] : ~0ULL;
}

static int measure(int fd, long n)
{
	return code_measure(fd, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
			    code_loop, n, 0);
}

TEST(three_events)
{
	const struct code_count want = measured(TURNS);
	__u64 count[3];
	int fd[3];

	ASSERT_EQ(0, perf_open_three(fd));
	ASSERT_EQ(0, measure(fd[0], TURNS));
	ASSERT_EQ(0, perf_read(fd[0], 3, count));
	EXPECT_EQ(want.insns, count[0]);
	EXPECT_EQ(want.branches, count[1]);
	EXPECT_EQ(want.insns, count[2]);
	perf_close(fd);
}

/* Alone, each event has a counter. */
TEST(each_alone)
{
	static const uint64_t config[] = { 0xc0, 0xc4, 0x3c };
	const struct code_count want = measured(TURNS);
	__u64 count;
	int i, fd;

	for (i = 0; i < 3; i++) {
		fd = perf_open(PERF_TYPE_RAW, config[i], PERF_USER, -1);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, measure(fd, TURNS));
		ASSERT_EQ(0, perf_read(fd, 1, &count));
		EXPECT_EQ(i == 1 ? want.branches : want.insns, count);
		close(fd);
	}
}

/* Opens events that need a programmable counter. Returns how many fit. */
static int open_group(int *fd, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		fd[i] = perf_open(PERF_TYPE_HARDWARE, BRANCHES, PERF_USER,
				  i ? fd[0] : -1);
		if (fd[i] < 0)
			break;
	}
	return i;
}

/* perf_event_open() refuses what can never be counted, and nothing else. */
TEST(largest_group)
{
	int fd[10], n = open_group(fd, 10);

	SAY("%d branch events in a group, then %s\n", n,
	    n < 10 ? strerror(-fd[n]) : "no error");
	EXPECT_LT(0, n);
	while (n--)
		close(fd[n]);
}

/* Such a group counts, all of it at once. */
TEST(full_group)
{
	const struct code_count want = measured(TURNS);
	__u64 count[10];
	int fd[10], n = open_group(fd, 10), i;

	ASSERT_LT(0, n);
	ASSERT_EQ(0, measure(fd[0], TURNS));
	ASSERT_EQ(0, perf_read(fd[0], n, count));
	for (i = 0; i < n; i++)
		EXPECT_EQ(want.branches, count[i]);
}

/* A group with one counter less, which perf keeps for one set that borrows one. */
TEST(group_with_room)
{
	const struct code_count want = measured(TURNS);
	__u64 count[10];
	int fd[10], n = open_group(fd, 10), i;

	ASSERT_LT(1, n);
	close(fd[--n]);
	ASSERT_EQ(0, measure(fd[0], TURNS));
	ASSERT_EQ(0, perf_read(fd[0], n, count));
	for (i = 0; i < n; i++)
		EXPECT_EQ(want.branches, count[i]);
}

#define MANY	8

/* More events than counters take turns. None counts while it has no counter. */
TEST(multiplexed)
{
	struct perf_event_attr attr = user_event(BRANCHES);
	__u64 value[MANY][3];
	int fd[MANY], i, j, shared = 0;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (i = 0; i < MANY; i++) {
		fd[i] = open_attr(&attr, 0, -1);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0));
	}
	for (j = 0; j < 100; j++)
		code_loop(500000, 0);
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0));
		ASSERT_EQ(24, read(fd[i], value[i], 24));
		EXPECT_LT(0, value[i][0]);
		EXPECT_LT(0, value[i][2]);
		shared += value[i][2] < value[i][1];
		close(fd[i]);
	}
	SAY("%d of %d events took turns\n", shared, MANY);
}

TEST(enabled_1000_times)
{
	const struct code_count each = measured(100);
	int fd = perf_open_insns(), i;
	__u64 count;

	ASSERT_LE(0, fd);
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, measure(fd, 100));
	ASSERT_EQ(0, perf_read(fd, 1, &count));
	EXPECT_EQ(1000 * each.insns, count);
}

/* A thread that leaves the CPU 100 times loses nothing, and gets nothing. */
TEST(sleeps)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_SLEEP(100));
	const struct timespec ts = short_sleep(100000);
	int fd = perf_open_insns();
	__u64 count;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, code_measure(fd, PERF_EVENT_IOC_ENABLE,
				  PERF_EVENT_IOC_DISABLE, code_sleep,
				  (long)&ts, 100));
	ASSERT_EQ(0, perf_read(fd, 1, &count));
	EXPECT_EQ(want.insns, count);
}

TEST(samples)
{
	static const uint64_t period[] = { 10000, 1009 };
	const struct code_count want = measured(TURNS);
	struct perf_samples perf;
	int i;

	ASSERT_EQ(0, allow_all_samples());
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, samples_open(&perf, period[i]));
		ASSERT_EQ(0, measure(perf.fd, TURNS));
		EXPECT_EQ(want.insns / period[i], samples_taken(&perf));
		EXPECT_EQ(want.insns, count_of(perf.fd));
		samples_close(&perf);
	}
}

/* Children that exit add to the event. */
TEST(inherited)
{
	struct perf_event_attr attr = user_event(INSNS);
	struct code_count want;
	int fd, i;

	attr.inherit = 1;
	for (i = 1; i < 10; i++) {
		fd = open_attr(&attr, 0, -1);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, code_measure(fd, PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_fork,
					  1000 * i, 0));
		want = code_add(CODE_FORK, CODE_FORK_CHILD(1000 * i));
		EXPECT_EQ(CODE_MEASURE.insns + want.insns, count_of(fd));
		close(fd);
	}
}

/* From execve() to the end of a program of known length. */
TEST(from_exec)
{
	struct perf_event_attr attr = user_event(INSNS);
	char *argv[] = { "image", NULL };
	int fd, go[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		dup2(open("/dev/null", O_WRONLY), 1);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		execv(exec_image_path(), argv);
		_exit(1);
	}
	attr.enable_on_exec = 1;
	fd = open_attr(&attr, pid, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(go[1], "", 1));
	waitpid(pid, NULL, 0);
	EXPECT_LE(CODE_EXEC_IMAGE.insns, count_of(fd));
	SAY("%llu instructions from execve()\n", count_of(fd));
}

static volatile int taken;

static void count_signal(int sig)
{
	taken++;
}

/* Each overflow sends a signal, at the limit the event stops. */
TEST(signals)
{
	struct perf_event_attr attr = user_event(INSNS);
	int fd;

	ASSERT_EQ(0, allow_all_samples());
	attr.sample_period = 20000;
	attr.wakeup_events = 1;
	fd = open_attr(&attr, 0, -1);
	ASSERT_LE(0, fd);
	signal(SIGUSR1, count_signal);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_ASYNC));
	ASSERT_EQ(0, fcntl(fd, F_SETSIG, SIGUSR1));
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_REFRESH, 3));
	code_loop(TURNS, 0);
	EXPECT_EQ(3, taken);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
}

/* A pinned event has a counter, or an error: then read() returns nothing. */
TEST(pinned)
{
	struct perf_event_attr attr = user_event(PERF_COUNT_HW_CPU_CYCLES);
	const struct code_count want = measured(TURNS);
	int fd;

	attr.pinned = 1;
	fd = open_attr(&attr, 0, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, measure(fd, TURNS));
	EXPECT_EQ(want.insns, count_of(fd));
}

/* The event's page permits RDPMC, and base and counter are the count. */
TEST(page)
{
	struct perf_event_attr attr = user_event(INSNS);
	volatile struct perf_event_mmap_page *page;
	uint64_t before, after;
	int fd;

	fd = open_attr(&attr, 0, -1);
	ASSERT_LE(0, fd);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(1, (int)page->cap_user_rdpmc);
	ASSERT_LT(0, page->index);
	before = vpmc_rdpmc(page->index - 1);
	code_loop(TURNS, 0);
	after = vpmc_rdpmc(page->index - 1);
	EXPECT_LE(2 * TURNS, after - before);
	EXPECT_GT(2 * TURNS + 200, after - before);
	SAY("%u bits\n", page->pmc_width);
}

/* What perf_event_open() refuses, and how. */
TEST(refused)
{
	static const struct {
		const char *what;
		unsigned int type, precise;
		uint64_t config;
	} bad[] = {
		{ "exact samples", PERF_TYPE_HARDWARE, 2, INSNS },
		{ "an event that is not there", PERF_TYPE_HARDWARE, 0, 100 },
		{ "a raw event with another bit", PERF_TYPE_RAW, 0, 1ULL << 40 },
		{ "a type that is not there", 12345, 0, 0 },
		{ "a cache that is not there", PERF_TYPE_HW_CACHE, 0, 99 },
	};
	int i, fd;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct perf_event_attr attr = user_event(bad[i].config);

		attr.type = bad[i].type;
		attr.precise_ip = bad[i].precise;
		attr.sample_period = bad[i].precise ? 1000 : 0;
		fd = open_attr(&attr, 0, -1);
		SAY("%s: %s\n", bad[i].what, fd < 0 ? strerror(-fd) : "opened");
		if (fd >= 0)
			close(fd);
	}
}

/* A CPU's event counts whoever runs there; on another CPU it counts nothing. */
TEST(of_a_cpu)
{
	struct perf_event_attr attr = user_event(BRANCHES);
	__u64 before[2];
	int fd[2], i;

	for (i = 0; i < 2; i++) {
		fd[i] = syscall(SYS_perf_event_open, &attr, -1, i, -1, 0);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pin(i));
		before[i] = count_of(fd[i]);
		code_loop(10 * TURNS, 0);
		EXPECT_LE(10 * TURNS, count_of(fd[i]) - before[i]);
	}
}

static bool perf_counts_exactly(void)
{
	int fd = perf_open_insns();

	close(fd);
	return exact_machine() && fd >= 0;
}

NEEDS({ "*", NOTHING, "the exact machine of tools/testing/pmu-emulator, and perf's events",
	NULL, perf_counts_exactly },);

TEST_HARNESS_MAIN
