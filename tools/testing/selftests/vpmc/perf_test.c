// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU belongs to perf or to programmed sets, never to both; who comes
 * second is refused, and after a release the other one counts exactly.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/perf_event.h>
#include "vpmc_test.h"

static const struct choice both[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
};

/* A disabled event of the calling thread, or -errno. */
static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	return fd < 0 ? -errno : fd;
}

static int open_insns(void)
{
	return open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static uint32_t holder(int fd)
{
	struct vpmc_info info;

	return vpmc_info(fd, &info) ? ~0U : info.holder;
}

/* perf counts body and code_measure() exactly. */
static void perf_counts(struct __test_metadata *_metadata)
{
	const struct code_count count = code_add(CODE_MEASURE,
						 CODE_LOOP(1000000));
	uint64_t sum = 0;
	int fd = open_insns();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, code_measure(fd, PERF_EVENT_IOC_ENABLE,
				  PERF_EVENT_IOC_DISABLE, code_loop, 1000000,
				  0));
	ASSERT_EQ(sizeof(sum), read(fd, &sum, sizeof(sum)));
	EXPECT_EQ(count.insns, sum);
	close(fd);
}

static void set_counts(struct __test_metadata *_metadata, struct set *set)
{
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000000)));
}

TEST(perf_first)
{
	struct vpmc_read before, after;
	struct vpmc_control control;
	struct set set;
	int event, fd;

	fd = vpmc_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(VPMC_HOLDER_NONE, holder(fd));
	perf_counts(_metadata);
	EXPECT_EQ(VPMC_HOLDER_NONE, holder(fd));

	/* An event that exists is enough, enabled or not. */
	event = open_insns();
	ASSERT_LE(0, event);
	EXPECT_EQ(VPMC_HOLDER_OTHER, holder(fd));
	ASSERT_EQ(0, vpmc_read(fd, &before));
	set.fd = fd;
	EXPECT_EQ(-EBUSY, set_program(&set, both));
	EXPECT_EQ(VPMC_REASON_PMU_BUSY, set.control.reason);
	EXPECT_EQ(2, set.control.bad_counter);
	ASSERT_EQ(0, vpmc_read(fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(0, vpmc_read_control(fd, &control));
	EXPECT_EQ(0, control.nr_counters);

	/* perf's count was not disturbed. */
	ASSERT_EQ(0, close(event));
	perf_counts(_metadata);

	EXPECT_EQ(0, set_program(&set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, holder(fd));
	set_counts(_metadata, &set);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
}

/* Refused while perf counts: perf goes on and loses nothing. */
TEST(perf_counting)
{
	const struct code_count count = code_add(CODE_MEASURE, CODE_LOOP(1000));
	uint64_t sum = 0, i;
	struct set set;
	int event;

	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	event = open_insns();
	ASSERT_LE(0, event);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, code_measure(event, PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  1000, 0));
		ASSERT_EQ(-EBUSY, set_program(&set, both));
	}
	ASSERT_EQ(sizeof(sum), read(event, &sum, sizeof(sum)));
	EXPECT_EQ(10 * count.insns, sum);
}

TEST(set_first)
{
	struct set set;
	int fd;

	ASSERT_EQ(0, set_open(&set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, holder(set.fd));
	/* A set that stands holds the PMU, too. */
	EXPECT_EQ(-EBUSY, open_insns());
	EXPECT_EQ(-EBUSY, open_event(PERF_TYPE_RAW, 0xc4));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-EBUSY, open_insns());
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	/* Software events need no PMU. */
	fd = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	EXPECT_LE(0, fd);
	close(fd);
	set_counts(_metadata, &set);

	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, holder(set.fd));
	perf_counts(_metadata);
}

/* The last set that goes gives the PMU back: by UNLINK and by exit. */
TEST(two_processes)
{
	int go[2], ready[2], i;
	struct set set;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		byte = !!set_open(&set, both);
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, byte);
	EXPECT_EQ(-EBUSY, open_insns());
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_open(&set, both));
		set_counts(_metadata, &set);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
		EXPECT_EQ(VPMC_HOLDER_VPMC, holder(set.fd));
		EXPECT_EQ(-EBUSY, open_insns());
	}
	ASSERT_EQ(1, write(go[1], &byte, 1));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_HOLDER_NONE, holder(set.fd));
	perf_counts(_metadata);
}

/* A set of no counters is no reason to keep perf out. */
TEST(no_counter)
{
	struct set set;
	int fd;

	ASSERT_EQ(0, set_open(&set, (struct choice[]){ {} }));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, holder(set.fd));
	perf_counts(_metadata);
	fd = open_insns();
	ASSERT_LE(0, fd);
	/* And the other way round. */
	EXPECT_EQ(0, set_program(&set, (struct choice[]){ {} }));
	close(fd);
	/* The last of a set's counters goes: perf may come. */
	EXPECT_EQ(0, set_program(&set, both));
	EXPECT_EQ(-EBUSY, open_insns());
	EXPECT_EQ(0, set_program(&set, (struct choice[]){ {} }));
	perf_counts(_metadata);
}

/* Turn by turn: each finds the PMU as it needs it. */
TEST(turn_by_turn)
{
	struct set set;
	int i;

	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, pin(i & 1));
		perf_counts(_metadata);
		ASSERT_EQ(0, set_open(&set, both));
		set_counts(_metadata, &set);
		set_close(&set);
	}
}

TEST_HARNESS_MAIN
