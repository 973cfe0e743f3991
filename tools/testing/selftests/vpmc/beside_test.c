// SPDX-License-Identifier: GPL-2.0
/*
 * Sets have borrowed all counters that the administrator permits them, and perf uses
 * the others at the same time. Both count right, whatever the other one does: exactly,
 * or within the tolerance.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <vpmc-read.h>

#include "beside.h"
#include "disturb.h"
#include "overflow.h"
#include "perf.h"

/*
 * The last two programmable counters and the first fixed one, or the last three
 * programmable ones where there is none. So many are left to perf, too.
 */
#define OURS		(machine.nr_fixed ? "shared 2,1" : "shared 3,0")
#define OUR_FIRST	(machine.nr_gp - (machine.nr_fixed ? 2 : 3))
#define OUR_GP		((machine.nr_fixed ? 3U : 7U) << OUR_FIRST)
#define OUR_FIXED	(machine.nr_fixed ? 1 : 0)
#define OUR_BITS	((uint64_t)OUR_FIXED << 32 | OUR_GP)
/* Instructions in user mode on fixed counter 0 */
#define OUR_CONTROL	(machine.nr_fixed ? 0xa : 0)

/* A set of all of them. Without a fixed counter, the first one has the last number. */
#define ours	((const struct choice[]){				\
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, OUR_FIRST },		\
	{ EV_INSNS, OUR_FIRST + 1 }, {} })

FIXTURE(beside)
{
	struct set set;
	int perf[3];
};

FIXTURE_SETUP(beside)
{
	ASSERT_EQ(0, choose_counters(OURS));
	ASSERT_EQ(0, pin(0));
	self->perf[0] = -1;
	self->set.fd = -1;
	self->set.page = MAP_FAILED;
}

FIXTURE_TEARDOWN(beside)
{
	perf_close(self->perf);
	set_close(&self->set);
	EXPECT_EQ(0, choose_counters("all"));
}

TEST_F(beside, told)
{
	struct vpmc_info info;
	char text[64];

	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_EQ(0, strncmp(OURS, text, strlen(OURS)));
	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(OUR_GP, info.gp_mask);
	EXPECT_EQ(OUR_FIXED, info.fixed_mask);
	EXPECT_EQ(__builtin_popcount(OUR_GP), info.nr_gp);
	EXPECT_EQ(OUR_FIXED, info.nr_fixed);
	EXPECT_EQ(OUR_BITS, info.borrowed_mask);
	EXPECT_EQ(VPMC_HOLDER_VPMC, info.holder);
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	/* perf does not keep sets from these. */
	ASSERT_EQ(0, perf_open_three(self->perf));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
}

/* Each with the counter that is named, and with "all". Others are perf's. */
TEST_F(beside, refused)
{
	static const struct choice perfs[] = { { EV_INSNS, 1 }, {} };
	static const struct choice fixed[] = { { 0x10200, VPMC_ANY }, {} };
	static const struct choice four[] = {
		{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
		{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
	};
	static const struct {
		const struct choice *choice;
		uint32_t bad_counter;
	} bad[] = { { perfs, 0 }, { four, 4 }, { fixed, 0 } };
	int i;

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	for (i = 0; i < (machine.nr_fixed ? 3 : 2); i++) {
		EXPECT_EQ(-EBUSY, set_program(&self->set, bad[i].choice));
		EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, self->set.control.reason);
		EXPECT_EQ(bad[i].bad_counter, self->set.control.bad_counter);
	}
	EXPECT_EQ(0, set_program(&self->set, ours));
}

/* A set goes on if its counters are among those that are chosen. */
TEST_F(beside, changed_with_sets)
{
	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, choose_counters(machine.nr_fixed ? "shared 3,1" : "shared 3,0"));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, choose_counters(OURS));
	ASSERT_EQ(0, set_clear(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));

	/* The choice takes effect, and the set is in its way. */
	ASSERT_EQ(0, choose_counters("shared 1,0"));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_STATE_REVOKED, self->set.page->state);
	EXPECT_NE(0, set_program(&self->set, ours));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, self->set.control.reason);
	ASSERT_EQ(0, choose_counters(OURS));
	ASSERT_EQ(0, set_program(&self->set, ours));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* The same instructions by both, on each CPU. */
TEST_F(beside, same_thread)
{
	int cpu;

	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, both_count(&self->set, self->perf, 100000));
	}
}

/* So long that narrow counters wrap, which takes an interrupt of each side. */
TEST_F(beside, long_loop)
{
	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(0, both_count(&self->set, self->perf, 30000000));
}

/* Preempted by a thread without counters, and moved. */
TEST_F(beside, thousand_switches)
{
	struct vpmc_read read;
	uint64_t switches = 0;
	pid_t pid[2];
	int i;

	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	pid[0] = start_preempter(0, 50000);
	pid[1] = start_preempter(1, 50000);
	ASSERT_LT(0, pid[0]);
	ASSERT_LT(0, pid[1]);
	for (i = 0; i < 100 && switches < test_often(1000); i++) {
		ASSERT_EQ(0, pin(i % 2));
		EXPECT_EQ(0, both_count(&self->set, self->perf, 5000000));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		switches += read.switches;
	}
	EXPECT_LE(test_often(1000), switches);
	EXPECT_EQ(0, stop_disturber(pid[0]));
	EXPECT_EQ(0, stop_disturber(pid[1]));
}

/* When perf starts all its counters, stopped ones of ours stay stopped. */
TEST_F(beside, stopped_set_stands)
{
	struct code_count both = code_add(CODE_MEASURE, CODE_LOOP(1000));
	struct shared_registers regs;
	int i;

	/* perf had them all on before it lent some. */
	ASSERT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, set_clear(&self->set));
	ASSERT_EQ(0, shared_registers(0, &regs));
	EXPECT_EQ(0, regs.enabled & OUR_BITS);
	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, shared_registers(0, &regs));
	EXPECT_EQ(0, regs.enabled & OUR_BITS);
	EXPECT_NE(0, regs.enabled);
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_DISABLE, 0));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		ASSERT_EQ(0, code_measure(self->perf[0], PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  12345, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set,
					 code_add(both, CODE_LOOP(1000))));
		ASSERT_EQ(0, set_clear(&self->set));
	}
}

/* Overflows of ours while perf has no event: perf's NMI still handles them. */
TEST_F(beside, overflows_without_perf)
{
	const uint64_t period = period_beside(1000);

	ASSERT_EQ(0, open_for_overflows(&self->set, period));
	expect_overflows(_metadata, &self->set, period);
}

/* Both interrupt, often together. Neither loses one or gets the other's. */
TEST_F(beside, overflows_while_perf_samples)
{
	const uint64_t period = period_beside(1000), other = period_beside(1009);
	struct perf_samples perf;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, open_for_overflows(&self->set, period));
	ASSERT_EQ(0, samples_open(&perf, other));
	expect_overflows_of_both(_metadata, &self->set, period, &perf, other);
	samples_close(&perf);
}

/* All instructions of this CPU, as the emulator counts them. */
static uint64_t emulators_total(void)
{
	uint64_t kernel = PMU_TEST_TOTALS, user, kernel_rep = PMU_TEST_CYCLES;
	uint64_t user_rep;

	__asm__ __volatile__("cpuid" : "+a" (kernel), "=b" (user),
			     "+c" (kernel_rep), "=d" (user_rep));
	return kernel + user - kernel_rep - user_rep;
}

/*
 * How many instructions the set has not counted. An interrupt between the two
 * reads would make the result larger, so the least of some is taken.
 */
static uint64_t not_counted(const struct set *set)
{
	uint64_t count, least = ~0ULL;
	int i;

	for (i = 0; i < 10; i++) {
		count = vpmc_read_1(set->page);
		count = emulators_total() - count;
		if (count < least)
			least = count;
	}
	return least;
}

/*
 * perf stops its counters while it changes its events. A set that counts the
 * kernel also counts what the kernel executes meanwhile.
 */
TEST_F(beside, kernel_counts_go_on)
{
	const struct choice kernel[] = {
		{ EV_KERNEL_INSNS, OUR_FIRST + 1 }, {}
	};
	uint64_t before, after, switches;
	int i, undisturbed = 0;

	ASSERT_EQ(0, set_open(&self->set, kernel));
	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 1000 && undisturbed < 100; i++) {
		switches = page_switches(&self->set);
		before = not_counted(&self->set);
		ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
		ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_DISABLE, 0));
		after = not_counted(&self->set);
		/* The set does not count other threads. */
		if (page_switches(&self->set) != switches)
			continue;
		ASSERT_EQ(before, after);
		undisturbed++;
	}
	EXPECT_EQ(100, undisturbed);
}

/* Cycles in the kernel, on fixed counter 1; stops itself after an interrupt. */
static int open_stopping(uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES | perf_pmu_here(),
		.sample_period = period,
		.disabled = 1,
		.exclude_user = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/*
 * perf's NMI at each instruction of START, which loads a set, and writes what perf
 * has in the same registers. The NMI changes that: it stops the event.
 */
TEST_F(beside, event_stops_while_we_write)
{
	const struct choice other[] = {
		{ 0x300c0, FIXED(0) }, { EV_BRANCHES, OUR_FIRST }, {}
	};
	struct shared_registers regs;
	int event, stopped = 0, late;
	__u64 count[2];
	uint64_t period;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, set_open(&self->set, other));
	event = open_stopping(2);
	ASSERT_LE(0, event);
	for (period = 2, late = 0; late < 50; period++) {
		ASSERT_GT(50000, period);
		ASSERT_EQ(0, set_program(&self->set, other));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 10, 0));
		ASSERT_EQ(0, set_program(&self->set, ours));
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_PERIOD, &period));
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_REFRESH, 1));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		ASSERT_EQ(8, read(event, &count[0], 8));
		ASSERT_EQ(0, shared_registers(0, &regs));
		ASSERT_EQ(8, read(event, &count[1], 8));
		ASSERT_EQ(0xa, regs.fixed_control & 0xf);
		/* It counts the kernel. If the count stands, it was stopped. */
		late = count[0] == count[1] ? 0 : late + 1;
		stopped += !late;
		if (!late)
			ASSERT_EQ(0, regs.fixed_control & 0xf0)
				TH_LOG("period %llu", (unsigned long long)period);
		ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_DISABLE, 0));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	}
	EXPECT_LT(100, stopped);
	ASSERT_EQ(0, close(event));
}

/* Events of perf that would fit on our counters use other ones, or wait. */
TEST_F(beside, perf_has_what_is_left)
{
	const struct code_count want = measured(10000);
	__u64 count[3], four[4];
	struct set as = {};
	int extra;

	ASSERT_EQ(0, set_open(&self->set, ours));
	ASSERT_EQ(0, perf_open_three(self->perf));
	/* A group that fits on the PMU as a whole is accepted, but stands. */
	extra = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
			  PERF_USER, self->perf[0]);
	ASSERT_LE(0, extra);
	ASSERT_EQ(0, code_measure(self->perf[0], PERF_EVENT_IOC_ENABLE,
				  PERF_EVENT_IOC_DISABLE, code_loop, 10000, 0));
	ASSERT_EQ(0, perf_read(self->perf[0], 4, four));
	EXPECT_EQ(0, four[0]);
	/* Without that one it fits on what is left. */
	ASSERT_EQ(0, close(extra));
	as.fd = self->perf[0];
	ASSERT_EQ(0, perf_measure(&as, code_loop, 10000, 0));
	ASSERT_EQ(0, perf_read(self->perf[0], 3, count));
	EXPECT_TRUE(perf_three_fit(&as, count, want))
		TH_LOG("%llu %llu %llu", count[0], count[1], count[2]);
}

/* The last set is gone: perf does not start the counters that the set left. */
TEST_F(beside, nothing_left_on)
{
	struct shared_registers regs;
	int cpu, i;

	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(1000));
		ASSERT_EQ(0, set_open(&self->set, ours));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		ASSERT_EQ(0, shared_registers(cpu, &regs));
		EXPECT_EQ(OUR_CONTROL, regs.fixed_control & 0xf);
		EXPECT_EQ(OUR_BITS, regs.enabled & OUR_BITS);
		set_close(&self->set);
		ASSERT_EQ(0, shared_registers(cpu, &regs));
		EXPECT_EQ(0, regs.enabled & OUR_BITS);
		EXPECT_EQ(0, regs.fixed_control & 0xf);
		for (i = OUR_FIRST; i < machine.nr_gp; i++) {
			EXPECT_EQ(0, regs.evtsel[i]);
			EXPECT_EQ(0, regs.counter[i]);
		}
		EXPECT_EQ(0, perf_error(1000));
	}
}

/* A pinned event of a CPU, on a programmable counter. */
static int open_pinned(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.pinned = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

/* perf reads nothing from an event that it has given up. */
static int alive(const int *fd, int n)
{
	__u64 count;
	int i;

	for (i = 0; i < n; i++)
		if (read(fd[i], &count, sizeof(count)) != sizeof(count))
			return 0;
	return 1;
}

static const struct choice none[] = { {} };

/*
 * CONTROL of a set on the programmable counters in a mask, and on fixed counter 0 if
 * asked for. Only perf's pinned events may be the reason of a refusal.
 */
static int borrow(struct set *set, unsigned int gp, bool fixed)
{
	struct choice choice[6] = {};
	int err, i, n = 0;

	for (i = 0; i < 4; i++)
		if (gp & 1U << i)
			choice[n++] = (struct choice){ EV_BRANCHES, i };
	if (fixed)
		choice[n] = (struct choice){ EV_INSNS, FIXED(0) };
	err = set_program(set, choice);
	return err && set->control.reason != VPMC_REASON_PMU_PERF ? -EPROTO : err;
}

/* Pinned events move. If they cannot, nothing is lent and they continue. */
TEST(pinned_events)
{
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int fd[4], i;

	ASSERT_LE(0, set.fd);
	ASSERT_EQ(0, choose_counters("shared 4,1"));
	for (i = 0; i < 4; i++) {
		fd[i] = open_pinned(1);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(1, alive(fd, 4));
	EXPECT_EQ(-EBUSY, borrow(&set, 0x1, false));
	EXPECT_EQ(-EBUSY, borrow(&set, 0x8, true));
	EXPECT_EQ(1, alive(fd, 4));
	ASSERT_EQ(0, close(fd[3]));
	ASSERT_EQ(0, close(fd[2]));
	EXPECT_EQ(-EBUSY, borrow(&set, 0x7, true));
	EXPECT_EQ(1, alive(fd, 2));
	EXPECT_EQ(0, borrow(&set, 0x3, true));
	EXPECT_EQ(1, alive(fd, 2));
	/* A choice, even the same one, ends a loan that nobody uses. */
	ASSERT_EQ(0, set_program(&set, none));
	ASSERT_EQ(0, choose_counters("shared 4,1"));
	EXPECT_EQ(0, borrow(&set, 0xc, true));
	EXPECT_EQ(1, alive(fd, 2));
	/* A third event needs what is lent: the set is revoked. */
	fd[2] = open_pinned(1);
	ASSERT_LE(0, fd[2]);
	EXPECT_EQ(1, alive(fd, 3));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	set_close(&set);
	EXPECT_EQ(0, choose_counters("all"));
	for (i = 0; i < 3; i++)
		close(fd[i]);
}

/* What a lender's set borrows in three of four turns. */
static const struct choice turns_intel[][4] = {
	{ { EV_INSNS, 0 }, { EV_INSNS, 1 }, { EV_INSNS, FIXED(0) }, {} },
	{ { EV_INSNS, 2 }, { EV_INSNS, 3 }, { EV_CYCLES, FIXED(1) }, {} },
	{ { EV_INSNS, 0 }, { EV_INSNS, FIXED(0) }, { EV_CYCLES, FIXED(1) }, {} },
};
static const struct choice turns_amd[][4] = {
	{ { EV_INSNS, 0 }, { EV_INSNS, 1 }, {} },
	{ { EV_INSNS, 2 }, { EV_INSNS, 3 }, {} },
	{ { EV_INSNS, 0 }, {} },
};

/* Borrows other counters in each turn. The next choice gives them back at once. */
static pid_t start_lender(void)
{
	const struct choice (*turn)[4] = machine.nr_fixed ? turns_intel : turns_amd;
	const struct timespec ts = disturb_period(200000);
	pid_t pid = wait_for_fine_timers() ?: awaited_disturber();
	struct set set = { .page = MAP_FAILED };
	char most[32];
	int i;

	if (pid)
		return pid;
	snprintf(most, sizeof(most), "shared %u,%d", machine.nr_gp,
		 __builtin_popcount(machine.fixed_mask & 7));
	set.fd = vpmc_open();
	if (pin(1) || set_fifo(10) || set.fd < 0)
		_exit(1);
	disturber_begin();
	for (i = 0;; i++) {
		if (choose_counters(i % 4 < 3 ? most : "all"))
			_exit(2);
		if (i % 4 < 3 && set_program(&set, turn[i % 4]))
			_exit(3);
		nanosleep(&ts, NULL);
		if (set_program(&set, none))
			_exit(4);
	}
}

/* perf counts and samples, while what is lent changes all the time. */
TEST(lent_and_returned)
{
	pid_t pid;
	int i;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, pin(0));
	pid = start_lender();
	ASSERT_LT(0, pid);
	for (i = 0; i < test_times(100); i++) {
		EXPECT_EQ(0, perf_error(1000000));
		expect_samples(_metadata, 100000, period_beside(1009));
	}
	EXPECT_EQ(0, stop_disturber(pid));
	EXPECT_EQ(0, choose_counters("all"));
}

static bool has_ours(void)
{
	return machine.nr_gp >= (machine.nr_fixed ? 4 : 6);
}

static bool has_four(void)
{
	return machine.nr_gp == 4 && machine.nr_fixed;
}

/* The events of the test do not fit on what is left. */
static bool has_little_left(void)
{
	return machine.nr_gp == (machine.nr_fixed ? 4 : 6);
}

static bool has_global_register(void)
{
	return has_ours() && machine.features & VPMC_FEATURE_GLOBAL_CTRL;
}

static bool has_fixed_register(void)
{
	return has_global_register() && machine.nr_fixed;
}

#define OUR_COUNTERS	"four programmable counters, or six without fixed ones", NULL, has_ours
#define REGISTERS	"four counters, and a register that starts all, in /dev/cpu/0/msr", \
			"/dev/cpu/0/msr"

NEEDS(
	{ "global.pinned_events", PMU | DISTURBS | ROOT | TWO_CPUS,
	  "four programmable counters, and fixed ones", NULL, has_four },
	{ "global.lent_and_returned", PMU | DISTURBS | ROOT | TWO_CPUS, OUR_COUNTERS },
	{ "beside.same_thread", PMU | DISTURBS | ROOT | TWO_CPUS, OUR_COUNTERS },
	{ "beside.thousand_switches", PMU | DISTURBS | ROOT | TWO_CPUS, OUR_COUNTERS },
	{ "beside.perf_has_what_is_left", PMU | DISTURBS | ROOT,
	  "no more programmable counters than four, or six without fixed ones",
	  NULL, has_little_left },
	{ "beside.nothing_left_on", PMU | DISTURBS | ROOT | TWO_CPUS,
	  REGISTERS, has_global_register },
	{ "beside.stopped_set_stands", PMU | DISTURBS | ROOT, REGISTERS, has_global_register },
	{ "beside.event_stops_while_we_write", PMU | DISTURBS | ROOT,
	  "four counters, fixed ones, and a register that starts all, in /dev/cpu/0/msr",
	  "/dev/cpu/0/msr", has_fixed_register },
	{ "beside.kernel_counts_go_on", EXACT | DISTURBS | ROOT },
	{ "*", PMU | DISTURBS | ROOT, OUR_COUNTERS },
);

TEST_HARNESS_MAIN
