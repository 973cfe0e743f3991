// SPDX-License-Identifier: GPL-2.0
/*
 * Run time: of a set without counters, which every machine has, and on a
 * machine that has no PMU at all.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"

static const struct choice none[] = { {} };

FIXTURE(tsc)
{
	struct vpmc_info info;
	struct set set;
};

FIXTURE_SETUP(tsc)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, none));
	ASSERT_EQ(0, vpmc_info(self->set.fd, &self->info));
}

FIXTURE_TEARDOWN(tsc)
{
	set_close(&self->set);
}

TEST_F(tsc, control)
{
	struct vpmc_control control;

	EXPECT_EQ(VPMC_STATE_STOPPED, self->set.page->state);
	EXPECT_EQ(0, self->set.page->nr_counters);
	EXPECT_TRUE(self->set.page->caps & VPMC_CAP_TSC);
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_STATE_RUNNING, self->set.page->state);
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, &control));
	EXPECT_EQ(0, control.nr_counters);
}

/*
 * Uninterrupted, run time is the time that passes: to the tick. It is, unless the
 * scheduler's fair server takes the CPU for what has waited for a second.
 */
TEST_F(tsc, uninterrupted)
{
	const volatile struct vpmc_page *page = self->set.page;
	uint64_t tsc_base, before, ticks, after, last = 0;
	uint64_t switches = my_switches();
	int i, interrupted = 0;

	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 1000; i++) {
		tsc_base = page->tsc_base;
		before = vpmc_rdtsc();
		ticks = vpmc_read_ticks(self->set.page);
		after = vpmc_rdtsc();
		ASSERT_LT(last, ticks);
		last = ticks;
		if (tsc_base != page->tsc_base) {
			interrupted++;
		} else {
			ASSERT_LT(before, ticks - tsc_base);
			ASSERT_LT(ticks - tsc_base, after);
		}
		code_loop(1000, 0);
	}
	switches = my_switches() - switches;
	EXPECT_LE(page_switches(&self->set), switches);
	EXPECT_LE(interrupted, switches);
}

/*
 * The run time is at most the time measured around START and STOP. Unless other
 * threads ran, it is at least the time measured between them.
 */
TEST_F(tsc, start_to_stop)
{
	uint64_t outer, inner, before, low, high, sum = 0;
	uint64_t switches = my_switches();
	int i, undisturbed = 0;
	struct vpmc_read read;

	ASSERT_EQ(0, set_fifo(50));
	for (i = 0; i < 100; i++) {
		before = my_switches();
		outer = vpmc_rdtsc();
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		inner = vpmc_rdtsc();
		code_loop(10000, 0);
		low = vpmc_rdtsc() - inner;
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
		high = vpmc_rdtsc() - outer;
		before = my_switches() - before;
		/* Not counted. */
		code_loop(100000, 0);
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		undisturbed += !before;
		if (!before)
			EXPECT_LT(low, read.ticks - sum);
		EXPECT_GT(high, read.ticks - sum);
		sum = read.ticks;
		EXPECT_EQ(sum, self->set.page->tsc_base);
	}
	EXPECT_LE(50, undisturbed);
	EXPECT_LE(read.switches, my_switches() - switches);
}

/* Time in which others run, or nobody, is not the thread's. */
TEST_F(tsc, asleep)
{
	static const struct timespec ts = { .tv_nsec = 10000000 };
	struct vpmc_read read;
	uint64_t switches, wall;

	ASSERT_EQ(0, set_fifo(50));
	ASSERT_NE(0, self->info.tsc_khz);
	switches = my_switches();
	wall = vpmc_rdtsc();
	ASSERT_EQ(0, set_measure(&self->set, code_sleep, (long)&ts, 10));
	wall = vpmc_rdtsc() - wall;
	switches = my_switches() - switches;
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LE(10, read.switches);
	EXPECT_LE(read.switches, switches);
	/* 10 * 10 ms */
	EXPECT_LE(100ULL * self->info.tsc_khz, wall);
	EXPECT_LT(read.ticks, wall - 100ULL * self->info.tsc_khz + 1);
}

#define TURNS	20

/* Has the CPU in turns with another thread: waits for a byte, loops, sends a byte. */
static long take_turns(long from, long to)
{
	char turn;
	int i;

	for (i = 0; i < TURNS; i++) {
		if (read(from, &turn, 1) != 1)
			return -1;
		code_loop(1000000, 0);
		if (write(to, &turn, 1) != 1)
			return -1;
	}
	return 0;
}

static bool takes_turns(uint64_t *ticks, int from, int to)
{
	struct vpmc_read read;
	struct set set;

	if (set_open(&set, none) || write(to, "", 1) != 1 ||
	    set_measure(&set, take_turns, from, to) || vpmc_read(set.fd, &read))
		return false;
	*ticks = read.ticks;
	return true;
}

/*
 * Two that share a CPU: together not more than the time that passed. They hand it over,
 * because the scheduler need not do that where a host stops the guest for a while.
 */
TEST_F(tsc, shared_cpu)
{
	uint64_t *other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int to_child[2], from_child[2];
	struct vpmc_read result;
	uint64_t wall;
	char ready;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, other);
	ASSERT_EQ(0, pipe(to_child));
	ASSERT_EQ(0, pipe(from_child));
	pid = fork();
	if (!pid)
		_exit(!takes_turns(other, to_child[0], from_child[1]));
	ASSERT_EQ(1, read(from_child[0], &ready, 1));
	wall = vpmc_rdtsc();
	ASSERT_EQ(1, write(to_child[1], &ready, 1));
	ASSERT_EQ(0, set_measure(&self->set, take_turns, from_child[0], to_child[1]));
	ASSERT_EQ(0, child_status(pid));
	wall = vpmc_rdtsc() - wall;
	ASSERT_EQ(0, vpmc_read(self->set.fd, &result));
	/* The other's first turn may be over before START. */
	EXPECT_LE(TURNS - 1, result.switches);
	EXPECT_LT(0, *other);
	EXPECT_GT(wall, result.ticks + *other);
	/* And together most of it. */
	EXPECT_LT(wall / 2, result.ticks + *other);
}

/* Nanoseconds by the page and by READ are ticks by the TSC's rate. */
TEST_F(tsc, nanoseconds)
{
	struct vpmc_read read;
	uint64_t want;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 10000000, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	ASSERT_TRUE(self->info.features & VPMC_FEATURE_TIME);
	EXPECT_TRUE(self->set.page->caps & VPMC_CAP_TIME);
	EXPECT_EQ(((unsigned __int128)read.ticks * self->set.page->time_mult) >>
		  self->set.page->time_shift, read.ns);
	ASSERT_NE(0, self->info.tsc_khz);
	want = (unsigned __int128)read.ticks * 1000000 / self->info.tsc_khz;
	/* The multiplier has 32 bits or less. */
	EXPECT_GE(want / 100000 + 1, want > read.ns ? want - read.ns :
						      read.ns - want);
}

/* Only where there is no PMU. */
FIXTURE(no_pmu)
{
	struct vpmc_info info;
	int fd;
};

FIXTURE_SETUP(no_pmu)
{
	self->fd = vpmc_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vpmc_info(self->fd, &self->info));
}

FIXTURE_TEARDOWN(no_pmu)
{
}

TEST_F(no_pmu, info)
{
	EXPECT_EQ(VPMC_ABI_VERSION, self->info.version);
	EXPECT_EQ(VPMC_KIND_TSC, self->info.kind);
	EXPECT_EQ(0, self->info.features & ~VPMC_FEATURE_TIME);
	EXPECT_EQ(VPMC_HOLDER_NONE, self->info.holder);
	EXPECT_EQ(0, self->info.pmu_version);
	EXPECT_EQ(0, self->info.width);
	EXPECT_EQ(0, self->info.nr_gp);
	EXPECT_EQ(0, self->info.nr_fixed);
	EXPECT_EQ(0, self->info.gp_mask);
	EXPECT_EQ(0, self->info.fixed_mask);
	EXPECT_EQ(PAGE, self->info.map_size);
	EXPECT_NE(0, self->info.name[0]);
}

TEST_F(no_pmu, counter_refused)
{
	struct set set = { .fd = self->fd };

	control_init(&set.control, VPMC_CONTROL_STOPPED);
	set.control.nr_counters = 1;
	set.control.counter[0].evtsel = EV_INSNS;
	set.control.counter[0].index = VPMC_ANY;
	EXPECT_EQ(-ENODEV, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &set.control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, set.control.reason);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, set_program(&set, none));
	EXPECT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
}

static bool has_constant_tsc(void)
{
	return emulator() || machine.features & VPMC_FEATURE_TIME;
}

static bool has_no_pmu(void)
{
	return !machine.nr_gp;
}

NEEDS(
	{ "no_pmu.*", VPMC, "a machine without PMU", NULL, has_no_pmu },
	{ "tsc.uninterrupted", VPMC | FIFO },
	{ "tsc.start_to_stop", VPMC | FIFO },
	{ "tsc.asleep", VPMC | FIFO },
	/* The emulated TSC is constant everywhere. */
	{ "tsc.nanoseconds", VPMC, "a TSC whose rate is constant and the same on all CPUs",
	  NULL, has_constant_tsc },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
