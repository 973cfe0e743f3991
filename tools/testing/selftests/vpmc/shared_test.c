// SPDX-License-Identifier: GPL-2.0
/*
 * Sets borrow counters from perf when they need them, and perf has them back
 * afterwards. Both count exactly meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"
#include "disturb.h"
#include "global.h"
#include "perf.h"
#include "proc.h"

static const struct choice branches[] = { { EV_BRANCHES, VPMC_ANY }, {} };
static const struct choice both[] = {
	{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
};
static const struct choice three[] = {
	{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
	{ EV_BRANCHES, VPMC_ANY }, {}
};

FIXTURE(shared)
{
	struct set set;
	int perf[4];
};

FIXTURE_SETUP(shared)
{
	ASSERT_EQ(0, keep_counters("shared"));
	ASSERT_EQ(0, pin(0));
	memset(self->perf, -1, sizeof(self->perf));
	self->set.fd = -1;
	self->set.page = MAP_FAILED;
}

FIXTURE_TEARDOWN(shared)
{
	int i;

	for (i = 0; i < 4; i++)
		close(self->perf[i]);
	set_close(&self->set);
	EXPECT_EQ(0, keep_counters("all"));
}

/* Events that need a programmable counter. In a group, or pinned to CPU 1. */
static int open_branches(int *fd, int n, int pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.read_format = PERF_FORMAT_GROUP,
		.pinned = pinned,
		.exclude_kernel = 1,
	};
	int i;

	for (i = 0; i < n; i++) {
		fd[i] = syscall(SYS_perf_event_open, &attr, pinned ? -1 : 0,
				pinned ? 1 : -1, i && !pinned ? fd[0] : -1, 0);
		if (fd[i] < 0)
			return -errno;
	}
	return 0;
}

/* What each event of the group counts of a loop: 0 if it stands, -1 if wrong. */
static long group_counts(const int *fd, int n)
{
	__u64 before[4], after[4];
	long all = -1;
	int i;

	if (perf_read(fd[0], n, before))
		return -1;
	code_loop(10000, 0);
	if (perf_read(fd[0], n, after))
		return -1;
	for (i = 0; i < n; i++) {
		long more = after[i] - before[i];

		if (i && more != all)
			return -1;
		all = more;
	}
	return all < 0 || (all && all < 10000) ? -1 : all;
}

/* perf has all counters back soon after the last set. */
static int returned(const int *fd)
{
	int i;

	for (i = 0; i < 50; i++) {
		if (group_counts(fd, 4) > 0)
			return 1;
		usleep(20000);
	}
	return 0;
}

static uint32_t index_of(const struct set *set, int i)
{
	return set->page->slot[i].index;
}

TEST_F(shared, told)
{
	struct vpmc_info info;
	char text[64];

	ASSERT_EQ(0, kept_counters(text, sizeof(text)));
	EXPECT_STREQ("shared\n", text);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(0xe, info.gp_mask);
	EXPECT_EQ(7, info.fixed_mask);
	EXPECT_EQ(VPMC_HOLDER_NONE, info.holder);
	ASSERT_EQ(0, keep_counters(" shared  2,1 \n"));
	ASSERT_EQ(0, kept_counters(text, sizeof(text)));
	EXPECT_STREQ("shared 2,1\n", text);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(0xc, info.gp_mask);
	EXPECT_EQ(1, info.fixed_mask);
}

/* The one on fixed counter 1 stays there, unless the administrator says so. */
TEST_F(shared, pinned_cycles)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.pinned = 1,
	};
	static const struct choice cycles[] = { { 0x1003c, FIXED(1) }, {} };
	struct vpmc_info info;
	__u64 count;

	self->perf[0] = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);
	ASSERT_LE(0, self->perf[0]);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(5, info.fixed_mask);
	EXPECT_EQ(-EBUSY, set_program(&self->set, cycles));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, self->set.control.reason);
	ASSERT_EQ(0, keep_counters("shared 3,3"));
	EXPECT_EQ(0, set_program(&self->set, cycles));
	EXPECT_EQ(8, read(self->perf[0], &count, 8));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, close(self->perf[0]));
	self->perf[0] = -1;
	ASSERT_EQ(0, keep_counters("shared"));
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(7, info.fixed_mask);
}

/* perf has all counters without sets, and the others with one. */
TEST_F(shared, borrowed_and_returned)
{
	int i;

	ASSERT_EQ(0, open_branches(self->perf, 4, 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1, returned(self->perf));
		ASSERT_EQ(0, set_open(&self->set, branches));
		EXPECT_EQ(0, group_counts(self->perf, 4));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		set_close(&self->set);
	}
	EXPECT_EQ(1, returned(self->perf));
}

/* perf's events come after the set, on each CPU. */
TEST_F(shared, event_comes)
{
	int cpu;

	ASSERT_EQ(0, set_open(&self->set, branches));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, open_branches(self->perf, 3, 0));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		EXPECT_LT(0, group_counts(self->perf, 3));
		close(self->perf[2]);
		close(self->perf[1]);
		close(self->perf[0]);
		ASSERT_EQ(0, open_branches(self->perf, 4, 0));
		EXPECT_EQ(0, group_counts(self->perf, 4));
		close(self->perf[3]);
		close(self->perf[2]);
		close(self->perf[1]);
		close(self->perf[0]);
	}
	memset(self->perf, -1, sizeof(self->perf));
}

/* A group of three has room beside one set, and moves to make it. */
TEST_F(shared, group_moves)
{
	int i;

	ASSERT_EQ(0, open_branches(self->perf, 3, 0));
	ASSERT_LT(0, group_counts(self->perf, 3));
	ASSERT_EQ(0, set_open(&self->set, branches));
	for (i = 0; i < 3; i++) {
		ASSERT_LT(0, group_counts(self->perf, 3));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	}
	/* No room for both: perf waits. */
	ASSERT_EQ(0, set_program(&self->set, three));
	EXPECT_EQ(0, group_counts(self->perf, 3));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* What has been borrowed is used first. */
TEST_F(shared, borrowed_ones_first)
{
	static const struct choice third[] = { { EV_BRANCHES, 3 }, {} };
	static const struct choice insns[] = { { EV_INSNS, VPMC_ANY }, {} };
	struct set other;
	pid_t pid;

	ASSERT_EQ(0, set_open(&self->set, third));
	pid = fork();
	if (!pid) {
		if (set_open(&other, branches) || index_of(&other, 0) != 3)
			_exit(1);
		if (set_program(&other, insns) || index_of(&other, 0) != 3)
			_exit(2);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* More is borrowed while a set counts. Its counters stay where they are. */
TEST_F(shared, grows)
{
	struct set other;
	pid_t pid;
	int i;

	ASSERT_EQ(0, set_open(&self->set, branches));
	ASSERT_EQ(1, index_of(&self->set, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	pid = fork();
	if (!pid) {
		for (i = 0; i < 2; i++) {
			if (pin(i) || (i ? set_program(&other, three) :
					   set_open(&other, three)) ||
			    set_measure(&other, code_loop, 1000, 0) ||
			    wrong_after(&other, CODE_LOOP(1000)))
				_exit(1 + i);
		}
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(1, index_of(&self->set, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* At most so many, also if more are free. */
TEST_F(shared, limit)
{
	static const struct choice fixed[] = { { 0x1003c, FIXED(1) }, {} };

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, keep_counters("shared 2,1"));
	EXPECT_EQ(-EBUSY, set_program(&self->set, fixed));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, self->set.control.reason);
	EXPECT_NE(0, set_program(&self->set, three));
	EXPECT_EQ(0, set_program(&self->set, both));
	EXPECT_EQ(-EBUSY, keep_counters("shared 3,1"));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	/* A loan that nobody uses any more does not matter. */
	EXPECT_EQ(0, keep_counters("shared 4,3"));
	close(self->set.fd);
	EXPECT_EQ(0, set_open(&self->set, three));
}

static int alive(const int *fd, int n)
{
	__u64 count[2];

	while (n--)
		if (read(fd[n], count, sizeof(count)) != sizeof(count))
			return 0;
	return 1;
}

/* Pinned events move. If they cannot, nothing is lent and they continue. */
TEST_F(shared, pinned_events_need_them)
{
	struct vpmc_control control;

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, open_branches(self->perf, 4, 1));
	EXPECT_EQ(-EBUSY, set_program(&self->set, branches));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, self->set.control.reason);
	EXPECT_EQ(1, self->set.control.bad_counter);
	EXPECT_EQ(1, alive(self->perf, 4));
	ASSERT_EQ(0, close(self->perf[3]));
	EXPECT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(1, alive(self->perf, 3));
	/* No more than that. The set stays as it is. */
	control = self->set.control;
	EXPECT_EQ(-EBUSY, set_program(&self->set, three));
	self->set.control = control;
	EXPECT_EQ(1, alive(self->perf, 3));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* A refusal of counters of CPUs leaves the PMU to sets of threads. */
TEST_F(shared, cpus_refused)
{
	int fd = global_open();

	ASSERT_LE(0, fd);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, open_branches(self->perf, 4, 1));
	EXPECT_EQ(-EBUSY, global_program(fd, VPMC_ALL_CPUS, branches));
	EXPECT_EQ(1, alive(self->perf, 4));
	ASSERT_EQ(0, close(self->perf[3]));
	/* Counter 0 stays perf's. */
	EXPECT_EQ(-EBUSY, global_program(fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	close(fd);
}

/* Calls of functions on a CPU, by interrupt. */
static long calls(int cpu)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[1024], *at = NULL;
	long n = -1;

	while (file && !at && fgets(line, sizeof(line), file))
		at = strstr(line, "CAL:");
	if (file)
		fclose(file);
	for (at += 4; at && cpu >= 0; cpu--)
		n = strtol(at, &at, 10);
	return n;
}

/* Programs, without a page: its permission may interrupt CPUs, too. */
static int borrow(struct set *set)
{
	set->page = MAP_FAILED;
	set->fd = vpmc_open();
	return set->fd < 0 ? set->fd : set_program(set, branches);
}

/* How often is CPU 1 interrupted when a set is programmed, and dropped? */
static int borrow_and_look(struct set *set, long *borrowed, long *dropped)
{
	long before = calls(1);

	if (borrow(set))
		return -1;
	*borrowed = calls(1) - before;
	if (set_program(set, branches) || set_program(set, branches))
		return -1;
	before = calls(1);
	set_close(set);
	*dropped = calls(1) - before;
	return 0;
}

/* Borrowing interrupts the CPUs that perf uses, once each. */
TEST_F(shared, interrupts)
{
	long borrowed, dropped;
	int i;

	/* The machine's first loan may interrupt all. */
	ASSERT_EQ(0, borrow_and_look(&self->set, &borrowed, &dropped));
	for (i = 0; i < 10; i++) {
		/* perf has its counters back. */
		usleep(300000);
		ASSERT_EQ(0, borrow_and_look(&self->set, &borrowed, &dropped));
		EXPECT_EQ(0, borrowed);
		EXPECT_EQ(0, dropped);
	}
	ASSERT_EQ(0, open_branches(self->perf, 1, 1));
	for (i = 0; i < 10; i++) {
		usleep(300000);
		ASSERT_EQ(0, borrow_and_look(&self->set, &borrowed, &dropped));
		EXPECT_EQ(1, borrowed);
		EXPECT_EQ(0, dropped);
	}
}

/* A borrower that comes and goes reschedules perf some times per second. */
TEST_F(shared, rate)
{
	struct timespec from, to;
	long before, tenths;
	int i;

	ASSERT_EQ(0, open_branches(self->perf, 1, 1));
	ASSERT_EQ(0, borrow(&self->set));
	set_close(&self->set);
	before = calls(1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, borrow(&self->set));
		set_close(&self->set);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	tenths = (to.tv_sec - from.tv_sec) * 10 +
		 (to.tv_nsec - from.tv_nsec) / 100000000;
	EXPECT_GE(2 * (tenths + 2), calls(1) - before);
	EXPECT_EQ(1, alive(self->perf, 1));
}

/*
 * The administrator has all counters at once. perf tries a group that stands
 * again after some milliseconds.
 */
TEST_F(shared, revoked)
{
	ASSERT_EQ(0, open_branches(self->perf, 4, 0));
	ASSERT_EQ(0, set_open(&self->set, three));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, group_counts(self->perf, 4));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	usleep(20000);
	EXPECT_LT(0, group_counts(self->perf, 4));
	EXPECT_EQ(-EBUSY, set_program(&self->set, three));
	EXPECT_EQ(VPMC_REASON_REVOKED, self->set.control.reason);
	EXPECT_LT(0, group_counts(self->perf, 4));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	EXPECT_EQ(0, set_program(&self->set, three));
	EXPECT_EQ(0, group_counts(self->perf, 4));
}

/* A CPU that comes while counters are lent lends them, too, and returns them. */
TEST_F(shared, cpu_comes)
{
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_open(&self->set, three));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	ASSERT_EQ(0, open_branches(self->perf, 4, 0));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(0, group_counts(self->perf, 4));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	set_close(&self->set);
	EXPECT_EQ(1, returned(self->perf));
	ASSERT_EQ(0, pin(0));
	EXPECT_LT(0, group_counts(self->perf, 4));
}

/* Both interrupt, often together. Neither loses one or gets the other's. */
TEST_F(shared, overflows)
{
	struct vpmc_control *control = &self->set.control;
	const struct code_count more = code_add(CODE_MEASURE, CODE_LOOP(100000));
	struct perf_samples perf;
	struct vpmc_read read;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, set_rate(INT_MAX));
	ASSERT_EQ(0, samples_open(&perf, 1009));
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	self->set.page = vpmc_map(self->set.fd);
	ASSERT_NE(MAP_FAILED, self->set.page);
	control_init(control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	control_add_period(control, EV_INSNS, VPMC_ANY, 1000);
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, code_measure(perf.fd, PERF_EVENT_IOC_ENABLE,
				  PERF_EVENT_IOC_DISABLE, code_loop, 100000, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LE(more.insns, read.sum[0]);
	EXPECT_EQ(read.sum[0] / 1000, self->set.page->overflows);
	EXPECT_EQ(0, self->set.page->merged);
	EXPECT_EQ(more.insns / 1009, samples_taken(&perf));
	samples_close(&perf);
}

/* CONTROL and UNLINK of sets of 1 to 3 counters, and of fixed ones. */
static void borrow_at_random(unsigned int seed, int times)
{
	static const struct choice * const choices[] = { branches, both, three };
	struct set set = { .page = MAP_FAILED };

	set.fd = vpmc_open();
	while (times--) {
		const struct choice *choice = choices[rand_r(&seed) % 3];

		if (rand_r(&seed) % 8 == 0 && pin(rand_r(&seed) % 2))
			_exit(1);
		if (set_program(&set, choice))
			_exit(2);
		if (set_measure(&set, code_loop, 100, 0) ||
		    wrong_after(&set, CODE_LOOP(100)))
			_exit(3);
		if (rand_r(&seed) % 2)
			continue;
		close(set.fd);
		set.fd = vpmc_open();
		if (rand_r(&seed) % 64 == 0)
			usleep(150000);
	}
	_exit(0);
}

/* All are exact: the sets, and perf's counting and sampling. */
TEST_F(shared, many_borrowers)
{
	const uint64_t want = code_add(CODE_MEASURE, CODE_LOOP(100000)).insns;
	int running = 4, status, i;
	struct perf_samples perf;

	ASSERT_EQ(0, allow_all_samples());
	for (i = 0; i < running; i++)
		if (!fork())
			borrow_at_random(i + 1, test_often(2000));
	while (running) {
		EXPECT_EQ(0, perf_error(100000));
		ASSERT_EQ(0, samples_open(&perf, 1009));
		ASSERT_EQ(0, code_measure(perf.fd, PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  100000, 0));
		EXPECT_EQ(want / 1009, samples_taken(&perf));
		samples_close(&perf);
		while (running && waitpid(-1, &status, WNOHANG) > 0) {
			EXPECT_EQ(0, status);
			running--;
		}
	}
	ASSERT_EQ(0, open_branches(self->perf, 4, 0));
	EXPECT_EQ(1, returned(self->perf));
}

NEEDS(
	/* How soon a counter is borrowed, and how often in a time. */
	{ "shared.interrupts", EXACT | DISTURBS | ROOT },
	{ "shared.rate", EXACT | DISTURBS | ROOT },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
