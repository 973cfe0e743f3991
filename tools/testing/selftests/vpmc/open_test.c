// SPDX-License-Identifier: GPL-2.0
/*
 * Which processes may open which file, and what they can do by a descriptor.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "target.h"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

/* Without counters and without O_CREAT: INFO and nothing else. */
TEST(info_alone)
{
	struct vpmc_control control;
	struct vpmc_info info;
	struct vpmc_read sums;
	struct set set;
	char byte;
	int fd;

	fd = open(THREAD_FILE, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, vpmc_info(fd, &info));
	EXPECT_EQ(VPMC_ABI_VERSION, info.version);
	EXPECT_EQ(PAGE, info.map_size);
	EXPECT_EQ(-ENOENT, vpmc_read(fd, &sums));
	EXPECT_EQ(-ENOENT, vpmc_read_control(fd, &control));
	set.fd = fd;
	EXPECT_EQ(-ENOENT, set_program(&set, insns));
	EXPECT_EQ(-ENOENT, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-ENOENT, vpmc_ioctl(fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(-ENOENT, vpmc_ioctl(fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(-ENOENT, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(-1, read(fd, &byte, 1));
	EXPECT_EQ(ENOENT, errno);
	/* Counters that are attached later need another open(). */
	ASSERT_LE(0, vpmc_open());
	EXPECT_EQ(-ENOENT, vpmc_read(fd, &sums));
	close(fd);
	fd = open(THREAD_FILE, O_RDONLY);
	EXPECT_EQ(0, vpmc_read(fd, &sums));
	EXPECT_EQ(VPMC_STATE_EMPTY, sums.state);
}

TEST(never_programmed)
{
	struct vpmc_control control;
	struct vpmc_read read;
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EMPTY, read.state);
	EXPECT_EQ(0, read.nr_counters);
	EXPECT_EQ(my_tid(), read.tid);
	EXPECT_EQ(0, read.ticks);
	EXPECT_EQ(0, vpmc_read_control(fd, &control));
	EXPECT_EQ(0, control.nr_counters);
}

/* The four names of a thread's file, and the same counters behind them. */
TEST(names)
{
	struct vpmc_control control;
	struct vpmc_read read;
	struct set set;
	char path[64];
	int fd, i;

	ASSERT_EQ(0, set_open(&set, insns));
	for (i = 0; i < 5; i++) {
		switch (i) {
		case 0:
			strcpy(path, "/proc/self/perfctr");
			break;
		case 1:
			strcpy(path, "/proc/thread-self/perfctr");
			break;
		case 2:
			sprintf(path, "/proc/%d/perfctr", getpid());
			break;
		case 3:
			sprintf(path, "/proc/self/task/%d/perfctr", my_tid());
			break;
		case 4:
			sprintf(path, "/proc/%d/task/%d/perfctr", getpid(),
				my_tid());
			break;
		}
		fd = open(path, O_RDWR);
		ASSERT_LE(0, fd) {
			TH_LOG("%s: %s", path, strerror(errno));
		}
		EXPECT_EQ(0, vpmc_read_control(fd, &control));
		EXPECT_EQ(counters_here(1), control.nr_counters);
		EXPECT_EQ(0, vpmc_read(fd, &read));
		EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
		EXPECT_EQ(my_tid(), read.tid);
		close(fd);
	}
}

/* The VFS answers before us: the file exists. */
TEST(exclusive)
{
	EXPECT_EQ(-EEXIST, open_error(THREAD_FILE, O_RDWR | O_CREAT | O_EXCL));
}

TEST(read_only_descriptor)
{
	struct vpmc_read before, read;
	struct set set, reader;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, set_measure(&set, code_loop, 100, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &before));
	reader.fd = open(THREAD_FILE, O_RDONLY);
	ASSERT_LE(0, reader.fd);
	EXPECT_EQ(-EBADF, set_program(&reader, insns));
	EXPECT_EQ(-EBADF, vpmc_ioctl(reader.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-EBADF, vpmc_ioctl(reader.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(-EBADF, vpmc_ioctl(reader.fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(-EBADF, vpmc_ioctl(reader.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, vpmc_read(reader.fd, &read));
	EXPECT_EQ(0, memcmp(&before, &read, sizeof(read)));
}

/* A descriptor that a child got with fork() is as good as its parent's. */
TEST(descriptor_in_a_child)
{
	struct vpmc_read before, after;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, set_measure(&set, code_loop, 100, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &before));
	pid = fork();
	if (!pid) {
		struct vpmc_read read;

		if (vpmc_read(set.fd, &read) ||
		    memcmp(&read, &before, sizeof(read)))
			_exit(1);
		if (vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0))
			_exit(2);
		/* The child itself has no counters. */
		set.fd = open(THREAD_FILE, O_RDWR);
		_exit(vpmc_read(set.fd, &read) != -ENOENT ? 3 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, vpmc_read(set.fd, &after));
	EXPECT_EQ(VPMC_STATE_STOPPED, after.state);
	EXPECT_EQ(0, after.sum[0]);
	EXPECT_EQ(0, after.ticks);
}

TEST(after_unlink)
{
	struct vpmc_control control;
	struct vpmc_read before, read;
	struct set set, next;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, set_measure(&set, code_loop, 100, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &before));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	before.state = VPMC_STATE_UNLINKED;
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(0, memcmp(&before, &read, sizeof(read)));
	EXPECT_EQ(0, vpmc_read_control(set.fd, &control));
	EXPECT_EQ(counters_here(1), control.nr_counters);
	EXPECT_EQ(set.control.counter[0].evtsel, control.counter[0].evtsel);
	EXPECT_EQ(-ESRCH, set_program(&set, insns));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	/* What comes next is something new. */
	ASSERT_EQ(0, set_open(&next, insns));
	ASSERT_EQ(0, set_measure(&next, code_loop, 7, 0));
	EXPECT_EQ(0, wrong_after(&next, CODE_LOOP(7)));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(0, memcmp(&before, &read, sizeof(read)));
}

/* Different selections are never treated as equal. */
TEST(selections_that_differ)
{
	static const struct choice choice[][4] = {
		{ { EV_INSNS, 1 } },
		{ { EV_INSNS, FIXED(0) } },
		{ { EV_BRANCHES, 0 } },
		{ { EV_INSNS, 0 }, { EV_BRANCHES, 1 } },
		{ { EV_INSNS, 0 }, { EV_BRANCHES, 2 } },
		{ { EV_BRANCHES, 1 }, { EV_INSNS, 0 } },
	};
	struct set set;
	pid_t pid;
	int i;

	/* The set that stays: counter 0 alone. */
	ASSERT_EQ(0, set_open(&set, insns));
	pid = fork();
	if (!pid) {
		struct vpmc_control *want = &set.control, got;

		set.fd = vpmc_open();
		for (i = 0; i < ARRAY_SIZE(choice); i++) {
			if (set_program(&set, choice[i]) ||
			    vpmc_read_control(set.fd, &got))
				_exit(100);
			if (got.nr_counters != want->nr_counters ||
			    memcmp(got.counter, want->counter,
				   got.nr_counters * sizeof(*got.counter)))
				_exit(i + 1);
		}
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/*
 * A hash leads to those that may be equal. With so many pairs some have the same
 * one of 1024: all but one of 350 runs would notice that one half is not compared.
 */
#define PAIRS	6000

static struct choice varied(int i, uint32_t index)
{
	/* Another event mask and threshold, which are taken as they are. */
	return (struct choice){
		EV_BRANCHES | (uint64_t)(i % 250 + 1) << 24 |
		(i / 250 & 1 ? 1ULL << 23 : 0) | (i / 500 & 1 ? 1ULL << 18 : 0),
		index,
	};
}

/* Of a set that is programmed like this while another one is as @other. */
static int differs(struct set *set, int fd, const struct choice *other,
		   const struct choice *choice)
{
	struct vpmc_control control;
	unsigned int i;

	control_of(&control, other, VPMC_CONTROL_STOPPED);
	if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) ||
	    set_program(set, choice) || vpmc_read_control(set->fd, &control) ||
	    control.nr_counters != set->control.nr_counters)
		return 1;
	for (i = 0; i < control.nr_counters; i++)
		if (control.counter[i].evtsel != set->control.counter[i].evtsel ||
		    control.counter[i].index != set->control.counter[i].index)
			return 1;
	return 0;
}

TEST(selections_of_one_hash)
{
	struct target t = {};
	int i, wrong = 0, fd;
	struct set set;

	ASSERT_EQ(0, target_start(&t));
	fd = target_open(&t, O_RDWR | O_CREAT);
	set.fd = vpmc_open();
	set.page = MAP_FAILED;
	for (i = 0; i < test_times(PAIRS) && wrong < 5; i++) {
		struct choice one[] = { varied(i, 1), {} };
		struct choice more[] = { varied(i, 1), { EV_INSNS, 0 }, {} };

		wrong += differs(&set, fd, one, more);
	}
	EXPECT_EQ(0, wrong);
	set_close(&set);
	close(fd);
	EXPECT_EQ(0, target_end(&t));
}

/* read(2): what cat shows. */
TEST(text)
{
	char text[4096] = "", want[4096];
	struct vpmc_info info;
	struct vpmc_read sums;
	struct set set;
	int n;

	ASSERT_EQ(0, set_open(&set, (struct choice[]){
			      { EV_INSNS, FIXED(0) }, { EV_BRANCHES, 3 }, {} }));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &sums));
	ASSERT_EQ(0, vpmc_info(set.fd, &info));
	n = snprintf(want, sizeof(want),
		     "state: stopped\nowner: %d\nticks: %llu\nns: %llu\n"
		     "switches: %llu\nmigrations: 0\ncounters: 2\n"
		     "0: %llu evtsel 0x100c0 index 0x40000000\n"
		     "1: %llu evtsel 0x100c4 index 0x3\n"
		     "own: 0x%llx\nborrowed: 0x%llx\nperf: 0x%llx\n",
		     my_tid(), (unsigned long long)sums.ticks,
		     (unsigned long long)sums.ns,
		     (unsigned long long)sums.switches,
		     (unsigned long long)sums.sum[0],
		     (unsigned long long)sums.sum[1],
		     (unsigned long long)info.own_mask,
		     (unsigned long long)info.borrowed_mask,
		     (unsigned long long)info.perf_mask);
	EXPECT_EQ(n, read(set.fd, text, sizeof(text) - 1));
	EXPECT_STREQ(want, text);
	EXPECT_EQ(0, read(set.fd, text, sizeof(text)));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	memset(text, 0, sizeof(text));
	EXPECT_EQ(15, pread(set.fd, text, 15, 0));
	EXPECT_STREQ("state: unlinked", text);
	/* It cannot be written. */
	EXPECT_EQ(-1, write(set.fd, text, 1));
	EXPECT_EQ(EINVAL, errno);
}

/* The flag NEW: for a program that must not replace another one's set. */
TEST(new_without_a_set)
{
	struct vpmc_control control;
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	control_init(&control, VPMC_CONTROL_NEW);
	control_choose(&control, EV_INSNS, VPMC_ANY);
	EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(-EEXIST, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
}

/* The machine that scripts/vm emulates. */
TEST(info)
{
	struct vpmc_info info;
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));
	memset(&info, 0x5a, sizeof(info));
	info.size = sizeof(info);
	info.flags = 0;
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_INFO, &info));
	EXPECT_EQ(sizeof(info), info.size);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(VPMC_ABI_VERSION, info.version);
	EXPECT_EQ(VPMC_KIND_INTEL, info.kind);
	EXPECT_EQ(VPMC_FEATURE_RDPMC | VPMC_FEATURE_PMI |
		  VPMC_FEATURE_GLOBAL_CTRL | VPMC_FEATURE_FULL_WIDTH |
		  VPMC_FEATURE_TIME, info.features);
	EXPECT_EQ(VPMC_HOLDER_NONE, info.holder);
	EXPECT_EQ(2, info.pmu_version);
	EXPECT_EQ(48, info.width);
	EXPECT_EQ(4, info.nr_gp);
	EXPECT_EQ(3, info.nr_fixed);
	EXPECT_EQ(0xf, info.gp_mask);
	EXPECT_EQ(0x7, info.fixed_mask);
	EXPECT_LT(0, info.tsc_khz);
	EXPECT_EQ(PAGE, info.map_size);
	EXPECT_LT(0, strnlen(info.name, sizeof(info.name)));
	EXPECT_GT(sizeof(info.name), strnlen(info.name, sizeof(info.name)));
}

NEEDS(
	{ "global.selections_of_one_hash", VPMC | TWO_CPUS },
	{ "global.names", PMU | OR_EMPTY },
	{ "global.after_unlink", PMU | OR_EMPTY },
	{ "global.text", TRUE_COUNTS },
	{ "global.info", TRUE_COUNTS },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
