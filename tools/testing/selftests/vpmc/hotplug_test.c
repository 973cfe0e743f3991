// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that go and come while counters run, and while the PMU changes hands.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/perf_event.h>
#include "vpmc_test.h"
#include "disturb.h"

static const struct choice mine[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 3 }, {}
};

static int set_online(const char *value)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);
	int err = fd < 0 || write(fd, value, 1) != 1;

	close(fd);
	return err;
}

FIXTURE(hotplug)
{
	struct set set;
	uint32_t *turns;	/* shared: how often the CPU went and came */
};

FIXTURE_SETUP(hotplug)
{
	self->turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->turns);
	ASSERT_EQ(0, wait_for_fine_timers());
	self->set.fd = -1;
}

FIXTURE_TEARDOWN(hotplug)
{
	set_close(&self->set);
	EXPECT_EQ(0, set_online("1"));
}

static pid_t start_plugger(volatile uint32_t *turns)
{
	static const struct timespec ts = { .tv_nsec = 2000000 };
	pid_t pid = disturber();

	if (pid)
		return pid;
	if (pin(0))
		_exit(1);
	for (;;) {
		if (set_online("0"))
			_exit(2);
		nanosleep(&ts, NULL);
		if (set_online("1"))
			_exit(3);
		++*turns;
		nanosleep(&ts, NULL);
	}
}

struct worker {
	pthread_t thread;
	int wrong;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct set set;

	worker->wrong = set_open(&set, mine) ||
			set_measure(&set, code_loop, 60000000, 0) ||
			wrong_after(&set, CODE_LOOP(60000000));
	set_close(&set);
	return NULL;
}

/* Four threads on whatever CPUs there are. */
TEST_F(hotplug, threads)
{
	pid_t pid = start_plugger(self->turns);
	struct worker worker[4];
	int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&worker[i].thread, NULL, work,
					    &worker[i]));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(worker[i].thread, NULL));
		EXPECT_EQ(0, worker[i].wrong);
	}
	EXPECT_EQ(0, stop_disturber(pid));
	EXPECT_LE(10, *self->turns);
}

/* perf counts exactly on CPU 1, to the instruction. */
static uint64_t perf_error(void)
{
	const struct code_count count = code_add(CODE_MEASURE, CODE_LOOP(1000));
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t sum = 0;

	if (fd < 0 || code_measure(fd, PERF_EVENT_IOC_ENABLE,
				   PERF_EVENT_IOC_DISABLE, code_loop, 1000, 0) ||
	    read(fd, &sum, sizeof(sum)) != sizeof(sum))
		return ~0ULL;
	close(fd);
	return sum - count.insns;
}

/* The CPU that was away when the PMU was taken has it ready. */
TEST_F(hotplug, taken_while_away)
{
	int i;

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, perf_error());
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_online("0"));
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	ASSERT_EQ(0, set_online("1"));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pin(!(i & 1)));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	}
}

/* The CPU that was away when the PMU was given back lets perf count. */
TEST_F(hotplug, given_back_while_away)
{
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_online("0"));
	set_close(&self->set);
	self->set.fd = -1;
	self->set.page = NULL;
	EXPECT_EQ(0, perf_error());
	ASSERT_EQ(0, set_online("1"));
	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(0, perf_error());
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* The owner is on the CPU that goes: it finds itself on another one. */
TEST_F(hotplug, running_on_it)
{
	struct code_count sum = CODE_COUNT(0, 0);
	struct vpmc_read read;
	cpu_set_t all;
	int i;

	CPU_ZERO(&all);
	CPU_SET(0, &all);
	CPU_SET(1, &all);
	ASSERT_EQ(0, set_open(&self->set, mine));
	for (i = 0; i < 10; i++) {
		pid_t pid;

		ASSERT_EQ(0, pin(1));
		ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
		pid = start_plugger(self->turns);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 5000000, 0));
		ASSERT_EQ(0, stop_disturber(pid));
		ASSERT_EQ(0, set_online("1"));
		sum = code_add(sum, code_add(CODE_MEASURE, CODE_LOOP(5000000)));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		EXPECT_EQ(0, wrong_sums(&self->set, &read, sum));
	}
	EXPECT_LE(1, read.migrations);
}

TEST_HARNESS_MAIN
