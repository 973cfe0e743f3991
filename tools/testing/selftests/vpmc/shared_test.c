// SPDX-License-Identifier: GPL-2.0
/*
 * Sets borrow counters from perf when they need them, and perf has them back
 * afterwards: which ones, how many, when, and what that costs other CPUs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"
#include "disturb.h"
#include "global.h"

TEST_F(shared, told)
{
	bool fixed = machine.nr_fixed;
	struct vpmc_info info;
	char text[64];

	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ("shared\n", text);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(machine.gp_mask & ~1ULL, info.gp_mask);
	EXPECT_EQ(machine.fixed_mask & 7, info.fixed_mask);
	EXPECT_EQ(VPMC_HOLDER_NONE, info.holder);
	ASSERT_EQ(0, choose_counters(fixed ? " shared  2,1 \n" : "shared 2,0"));
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ(fixed ? "shared 2,1\n" : "shared 2,0\n", text);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(3U << (ALL_GP - 2), info.gp_mask);
	EXPECT_EQ(fixed, info.fixed_mask);
}

/* All counters. Nobody has them when a program starts. */
#define ALL_COUNTERS	machine.perf_mask

/* Has vpmc these, and perf all others? INFO and read(2) tell the same. */
static int wrong_shares(int fd, uint64_t own, uint64_t borrowed)
{
	unsigned long long perf = ALL_COUNTERS & ~own & ~borrowed;
	char text[PAGE] = "", want[128];
	struct vpmc_info info;

	snprintf(want, sizeof(want), "\nown: 0x%llx\nborrowed: 0x%llx\nperf: 0x%llx\n",
		 (unsigned long long)own, (unsigned long long)borrowed, perf);
	if (vpmc_info(fd, &info) || info.own_mask != own ||
	    info.borrowed_mask != borrowed || info.perf_mask != perf)
		return 1;
	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 || !strstr(text, want))
		return 2;
	return 0;
}

/* Who has which counters: before, with and after a set, for each choice. */
TEST_F(shared, shares)
{
	EXPECT_EQ(0xf, ALL_COUNTERS & 0xf);
	EXPECT_EQ(machine.fixed_mask, ALL_COUNTERS >> 32);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 0));
	ASSERT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 2));
	/* It is unlinked. Its counters are borrowed for a while. */
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 2));
	usleep(300000);
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 0));
	close(self->set.fd);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, choose_counters("all"));
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 0));
	ASSERT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(0, wrong_shares(self->set.fd, ALL_COUNTERS, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 0));
}

/* perf lends nothing to a set that has lost its owner. */
TEST_F(shared, without_owner)
{
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(-ESRCH, set_program(&self->set, branches));
	EXPECT_EQ(VPMC_REASON_NONE, self->set.control.reason);
	EXPECT_EQ(0, wrong_shares(self->set.fd, 0, 0));
}

static const struct choice cycles[] = { { 0x1003c, FIXED(1) }, {} };

/* The one on fixed counter 1 stays there, unless the administrator says so. */
TEST_F(shared, pinned_cycles)
{
	struct vpmc_info info;
	__u64 count;

	self->perf[0] = perf_open_pinned_cycles(1);
	ASSERT_LE(0, self->perf[0]);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(5, info.fixed_mask);
	EXPECT_EQ(-EBUSY, set_program(&self->set, cycles));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, self->set.control.reason);
	ASSERT_EQ(0, choose_counters("shared 3,3"));
	EXPECT_EQ(0, set_program(&self->set, cycles));
	EXPECT_EQ(8, read(self->perf[0], &count, 8));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, close(self->perf[0]));
	self->perf[0] = -1;
	ASSERT_EQ(0, choose_counters("shared"));
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	/* The watchdog's event is there, too. */
	EXPECT_EQ(has_watchdog() ? 5 : 7, info.fixed_mask);
}

static long ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Is another set refused at once, because of a pinned event of perf? Elsewhere than in
 * the emulator others may have taken the CPU meanwhile. Then it is tried again.
 */
static bool is_refused_at_once(const struct choice *choice)
{
	int tries = exact_machine() ? 1 : 10;
	struct set other;
	long before;

	while (tries--) {
		before = ms_now();
		if (set_open(&other, choice) != -EBUSY ||
		    other.control.reason != reason_of_perf())
			return false;
		if (ms_now() - before < 50 * test_slowness())
			return true;
		set_close(&other);
	}
	return false;
}

/*
 * It makes way for a set on fixed counter 1. While that set is there, another one
 * cannot have all programmable counters. Afterwards it can, as soon as the counter
 * has been given back, which takes 100 ms.
 */
TEST_F(shared, pinned_cycles_move_back)
{
	const struct choice *all_gp = all_but_one - 1;
	char text[32];
	long before;
	__u64 count;
	pid_t pid;
	int i;

	snprintf(text, sizeof(text), "shared %d,3", ALL_GP);
	ASSERT_EQ(0, choose_counters(text));
	self->perf[0] = perf_open_pinned_cycles(1);
	ASSERT_LE(0, self->perf[0]);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, set_open(&self->set, cycles));
		EXPECT_EQ(8, read(self->perf[0], &count, 8));
		pid = fork();
		if (!pid)
			_exit(!is_refused_at_once(all_gp));
		EXPECT_EQ(0, child_status(pid));
		set_close(&self->set);
		before = ms_now();
		self->set.page = MAP_FAILED;
		self->set.fd = vpmc_open();
		control_of(&self->set.control, all_gp, VPMC_CONTROL_STOPPED |
			   (i ? VPMC_CONTROL_INHERIT_THREADS : 0));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL,
					&self->set.control));
		EXPECT_GT((exact_machine() ? 150 : 1500) * test_slowness(),
			  ms_now() - before);
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		EXPECT_EQ(8, read(self->perf[0], &count, 8));
		set_close(&self->set);
	}
}

/* perf has all counters without sets, and the others with one. */
TEST_F(shared, borrowed_and_returned)
{
	int i;

	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1, returned(self->perf));
		ASSERT_EQ(0, set_open(&self->set, branches));
		EXPECT_EQ(0, group_counts(self->perf, ALL_GP));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		set_close(&self->set);
	}
	EXPECT_EQ(1, returned(self->perf));
}

/* Another CPU ends the set each time. Its own CPU must not believe it still counts. */
TEST_F(shared, ended_by_another_cpu)
{
	pid_t pid;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_open(&self->set, branches));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		pid = fork();
		if (!pid)
			_exit(pin(1) || vpmc_ioctl(self->set.fd,
						   VPMC_IOC_UNLINK, 0));
		EXPECT_EQ(0, child_status(pid));
		set_close(&self->set);
		/* The loan ends, or the next set keeps it. */
		if (i)
			usleep(300000);
	}
}

/* The next set comes before a loan has ended, and keeps it. */
TEST_F(shared, kept_by_the_next_set)
{
	ASSERT_EQ(0, set_open(&self->set, branches));
	set_close(&self->set);
	ASSERT_EQ(0, set_open(&self->set, branches));
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	usleep(300000);
	EXPECT_EQ(0, group_counts(self->perf, ALL_GP));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* perf's events come after the set, on each CPU. */
TEST_F(shared, event_comes)
{
	int cpu;

	ASSERT_EQ(0, set_open(&self->set, branches));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, open_branches(self->perf, ALL_GP - 1, 0));
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		EXPECT_LT(0, group_counts(self->perf, ALL_GP - 1));
		perf_close_all(self->perf);
		ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
		EXPECT_EQ(0, group_counts(self->perf, ALL_GP));
		perf_close_all(self->perf);
	}
}

/* A group of all but one has room beside one set, and moves to make it. */
TEST_F(shared, group_moves)
{
	int i;

	ASSERT_EQ(0, open_branches(self->perf, ALL_GP - 1, 0));
	ASSERT_LT(0, group_counts(self->perf, ALL_GP - 1));
	ASSERT_EQ(0, set_open(&self->set, branches));
	for (i = 0; i < 3; i++) {
		ASSERT_LT(0, group_counts(self->perf, ALL_GP - 1));
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	}
	/* No room for both: perf waits. */
	ASSERT_EQ(0, set_program(&self->set, all_but_one));
	EXPECT_EQ(0, group_counts(self->perf, ALL_GP - 1));
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

/*
 * More is borrowed while a set counts. Its counters stay where they are. What
 * perf left in the other counters is not counted.
 */
TEST_F(shared, grows)
{
	struct set other;
	pid_t pid;
	int i;

	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	set_close(&self->set);
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	ASSERT_EQ(1, returned(self->perf));
	perf_close_all(self->perf);
	ASSERT_EQ(0, set_open(&self->set, branches));
	ASSERT_EQ(1, index_of(&self->set, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	pid = fork();
	if (!pid) {
		for (i = 0; i < 2; i++) {
			if (pin(i) ||
			    (i ? set_program(&other, all_but_one) :
				 set_open(&other, all_but_one)) ||
			    set_measure(&other, code_loop, 1000, 0) ||
			    wrong_after(&other, CODE_LOOP(1000)))
				_exit(1 + i);
		}
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(1, index_of(&self->set, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, set_clear(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* Few instructions, which a counter must not count before the others. */
#define COUNTED_EARLY	50

/*
 * Sums of a set of the kernel on all counters but one; they must be equal, or as near as
 * what START and interrupts add.
 */
static int kernel_sums_differ(void)
{
	struct vpmc_read read;
	uint64_t before, more;
	struct set set;
	int i;

	control_init(&set.control, VPMC_CONTROL_STOPPED);
	for (i = 1; i < ALL_GP; i++)
		control_add(&set.control, EV_KERNEL_INSNS, i);
	set.fd = vpmc_open();
	/* The faults of a new process are over. */
	disturbances();
	code_loop(1, 0);
	if (set_control(&set))
		return 1;
	before = disturbances();
	if (vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return 1;
	code_loop(1000, 0);
	if (vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0) || vpmc_read(set.fd, &read) ||
	    read.sum[0] < 2 * 1000)
		return 2;
	more = tolerated(disturbances() - before, 1);
	for (i = 1; i < ALL_GP - 1; i++)
		if (!count_fits(read.sum[i] + more, read.sum[0], 2 * more,
				COUNTED_EARLY))
			return 3;
	return 0;
}

/*
 * perf has left its own bits in the global register. A set that counts the kernel
 * on new counters must not count from the write of its selects on.
 */
TEST_F(shared, grows_for_the_kernel)
{
	pid_t pid;

	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	ASSERT_LT(0, group_counts(self->perf, ALL_GP));
	perf_close_all(self->perf);
	ASSERT_EQ(0, set_open(&self->set, branches));
	/* Nothing counts when the other set's counters are borrowed. */
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	pid = fork();
	if (!pid)
		_exit(kernel_sums_differ());
	EXPECT_EQ(0, child_status(pid));
}

/* At most so many, also if more are free. */
TEST_F(shared, limit)
{
	static const struct choice fixed[] = { { 0x1003c, FIXED(1) }, {} };

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, choose_counters("shared 2,1"));
	EXPECT_EQ(-EBUSY, set_program(&self->set, fixed));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, self->set.control.reason);
	EXPECT_NE(0, set_program(&self->set, all_but_one));
	EXPECT_EQ(0, set_program(&self->set, both));
	EXPECT_EQ(0, choose_counters("shared 3,1"));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	/* A loan that nobody uses any more does not matter. */
	EXPECT_EQ(0, choose_counters("shared 4,3"));
	close(self->set.fd);
	EXPECT_EQ(0, set_open(&self->set, all_but_one));
}

/* A refusal of counters of CPUs leaves the PMU to sets of threads. */
TEST_F(shared, cpus_refused)
{
	int fd = global_open();

	ASSERT_LE(0, fd);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 1));
	EXPECT_EQ(-EBUSY, global_program(fd, VPMC_ALL_CPUS, branches));
	EXPECT_EQ(1, alive(self->perf, ALL_GP));
	ASSERT_EQ(0, close(self->perf[ALL_GP - 1]));
	/* Counter 0 stays perf's. */
	EXPECT_EQ(-EBUSY, global_program(fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	close(fd);
}

/*
 * The administrator has all counters at once. perf tries a group that stands
 * again after some milliseconds.
 */
TEST_F(shared, revoked)
{
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, group_counts(self->perf, ALL_GP));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	usleep(20000);
	EXPECT_LT(0, group_counts(self->perf, ALL_GP));
	EXPECT_EQ(-EBUSY, set_program(&self->set, all_but_one));
	EXPECT_EQ(VPMC_REASON_REVOKED, self->set.control.reason);
	EXPECT_LT(0, group_counts(self->perf, ALL_GP));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	EXPECT_EQ(0, set_program(&self->set, all_but_one));
	EXPECT_EQ(0, group_counts(self->perf, ALL_GP));
}

/* A CPU that comes while counters are lent lends them, too, and returns them. */
TEST_F(shared, cpu_comes)
{
	count_all_interrupts();
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(0, group_counts(self->perf, ALL_GP));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_clear(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	set_close(&self->set);
	EXPECT_EQ(1, returned(self->perf));
	ASSERT_EQ(0, pin(0));
	EXPECT_LT(0, group_counts(self->perf, ALL_GP));
}

/* perf has all counters of a CPU that was away when the last set ended. */
TEST_F(shared, cpu_is_away_at_the_end)
{
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	set_close(&self->set);
	EXPECT_EQ(1, returned(self->perf));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	perf_close_all(self->perf);
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 1));
	usleep(10000);
	EXPECT_EQ(1, alive(self->perf, ALL_GP));
}

static bool has_global_register(void)
{
	return has_room_for_sets() && machine.features & VPMC_FEATURE_GLOBAL_CTRL;
}

static bool has_three_fixed(void)
{
	return has_room_for_sets() && machine.nr_fixed == 3;
}

#define THREE_FIXED	\
	"four to eight programmable counters and three fixed ones", NULL, has_three_fixed

NEEDS(
	/* Otherwise counters start and stop one after the other. */
	{ "shared.grows_for_the_kernel", PMU | DISTURBS | ROOT,
	  "four to eight programmable counters, and a register that starts all",
	  NULL, has_global_register },
	{ "shared.cpu_comes", PMU | DISTURBS | ROOT | TWO_CPUS,
	  "a CPU 1 that can be taken away",
	  "/sys/devices/system/cpu/cpu1/online", has_room_for_sets },
	{ "shared.cpu_is_away_at_the_end", PMU | DISTURBS | ROOT | TWO_CPUS,
	  "a CPU 1 that can be taken away",
	  "/sys/devices/system/cpu/cpu1/online", has_room_for_sets },
	{ "shared.pinned_cycles*", PMU | DISTURBS | ROOT | TWO_CPUS, THREE_FIXED },
	{ "shared.limit", PMU | DISTURBS | ROOT, THREE_FIXED },
	{ "shared.event_comes", PMU | DISTURBS | ROOT | TWO_CPUS, ROOM_FOR_SETS },
	{ "shared.grows", PMU | DISTURBS | ROOT | TWO_CPUS, ROOM_FOR_SETS },
	{ "shared.ended_by_another_cpu", PMU | DISTURBS | ROOT | TWO_CPUS, ROOM_FOR_SETS },
	{ "shared.cpus_*", PMU | DISTURBS | ROOT | TWO_CPUS, ROOM_FOR_SETS },
	{ "*", PMU | DISTURBS | ROOT, ROOM_FOR_SETS },
);

TEST_HARNESS_MAIN
