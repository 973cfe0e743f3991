// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU belongs to perf or to programmed sets, never to both; who comes
 * second is refused, and after a release the other one counts exactly.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "perf.h"

static const struct choice both[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
};

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
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));
	EXPECT_EQ(0, perf_error(1000000));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));

	/* An event that exists is enough, enabled or not. */
	event = perf_open_insns();
	ASSERT_LE(0, event);
	EXPECT_EQ(VPMC_HOLDER_OTHER, pmu_holder(fd));
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
	EXPECT_EQ(0, perf_error(1000000));

	EXPECT_EQ(0, set_program(&set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(fd));
	set_counts(_metadata, &set);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
}

/* Refused while perf counts: perf goes on and loses nothing. */
TEST(perf_counting)
{
	const struct code_count count = code_add(CODE_MEASURE, CODE_LOOP(1000));
	struct set set;
	int event, i;
	__u64 sum;

	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	event = perf_open_insns();
	ASSERT_LE(0, event);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, code_measure(event, PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  1000, 0));
		ASSERT_EQ(-EBUSY, set_program(&set, both));
	}
	ASSERT_EQ(0, perf_read(event, 1, &sum));
	EXPECT_EQ(10 * count.insns, sum);
}

TEST(set_first)
{
	struct set set;
	int fd;

	ASSERT_EQ(0, set_open(&set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set.fd));
	/* A set that stands holds the PMU, too. */
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(-EBUSY, perf_open(PERF_TYPE_RAW, 0xc4, PERF_USER, -1));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	/* Software events need no PMU. */
	fd = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
		       PERF_USER, -1);
	EXPECT_LE(0, fd);
	close(fd);
	set_counts(_metadata, &set);

	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000000));
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
	EXPECT_EQ(-EBUSY, perf_open_insns());
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_open(&set, both));
		set_counts(_metadata, &set);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
		EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set.fd));
		EXPECT_EQ(-EBUSY, perf_open_insns());
	}
	ASSERT_EQ(1, write(go[1], &byte, 1));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000000));
}

/* A set of no counters is no reason to keep perf out. */
TEST(no_counter)
{
	struct set set;
	int fd;

	ASSERT_EQ(0, set_open(&set, (struct choice[]){ {} }));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000000));
	fd = perf_open_insns();
	ASSERT_LE(0, fd);
	/* And the other way round. */
	EXPECT_EQ(0, set_program(&set, (struct choice[]){ {} }));
	close(fd);
	/* The last of a set's counters goes: perf may come. */
	EXPECT_EQ(0, set_program(&set, both));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(0, set_program(&set, (struct choice[]){ {} }));
	EXPECT_EQ(0, perf_error(1000000));
}

TEST_HARNESS_MAIN
