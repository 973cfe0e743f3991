// SPDX-License-Identifier: GPL-2.0
/*
 * Counters across suspend to RAM: in the kernel's own test mode, in which
 * suspend ends early, and in a full suspend. In the latter all CPUs lose their
 * registers, the boot CPU too, and the host must wake the machine. perf may have
 * events meanwhile, beside sets that have borrowed counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/uio.h>
#include "beside.h"
#include "disturb.h"
#include "poller.h"
#include "ring.h"
#include "runner.h"

#define DELAY		"/sys/module/suspend/parameters/pm_test_delay"

static const struct choice mine[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 3 }, {}
};

/* Values of pm_test; "none" is all the way. */
static const char * const levels[] = {
	"freezer", "devices", "platform", "processors", "core",
};

static struct iovec mem = { .iov_base = "mem", .iov_len = 3 };

/* A descriptor of /sys/power/state; @level is a value of pm_test. */
static int set_level(const char *level)
{
	if (write_file(DELAY, "0") ||
	    write_file("/sys/power/pm_test", level))
		return -1;
	return open("/sys/power/state", O_WRONLY);
}

FIXTURE(suspend)
{
	struct set set;
	int state;		/* /sys/power/state */
};

/* How far it goes, and on which CPU the thread is that suspends. */
FIXTURE_VARIANT(suspend)
{
	const char *level;
	int cpu;
};

FIXTURE_VARIANT_ADD(suspend, freezer) { .level = "freezer", .cpu = 0 };
FIXTURE_VARIANT_ADD(suspend, devices) { .level = "devices", .cpu = 1 };
FIXTURE_VARIANT_ADD(suspend, platform) { .level = "platform", .cpu = 0 };
FIXTURE_VARIANT_ADD(suspend, processors) { .level = "processors", .cpu = 1 };
FIXTURE_VARIANT_ADD(suspend, core) { .level = "core", .cpu = 1 };
FIXTURE_VARIANT_ADD(suspend, all_the_way) { .level = "none", .cpu = 0 };

FIXTURE_SETUP(suspend)
{
	ASSERT_EQ(0, wait_for_fine_timers());
	self->state = set_level(variant->level);
	ASSERT_LE(0, self->state);
	ASSERT_EQ(0, pin(variant->cpu));
	ASSERT_EQ(0, set_open(&self->set, mine));
}

FIXTURE_TEARDOWN(suspend)
{
	close(self->state);
	set_close(&self->set);
}

/* Afterwards the set counts on each CPU, and perf when the set is gone. */
static void count_again(struct __test_metadata *_metadata, struct set *set)
{
	int cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	}
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(1000));
	}
}

/*
 * The thread that suspends the machine counts, and so do others: they run,
 * sleep with their counters running, or stand. Those that sleep are frozen out
 * of their system call, and begin it again.
 */
TEST_F(suspend, counting)
{
	struct runner runner[] = {
		{ .kind = RUNS, .cpu = 0, .choice = mine },
		{ .kind = RUNS, .cpu = 1, .choice = mine },
		{ .kind = WAITS, .cpu = 0, .choice = mine, .restarts = 1 },
		{ .kind = WAITS, .cpu = 1, .choice = mine, .restarts = 1 },
		{ .kind = STANDS, .cpu = 1, .choice = mine, .moves = true },
	};
	const struct code_count once = code_add(CODE_MEASURE, CODE_WRITE);
	const int n = sizeof(runner) / sizeof(*runner);
	struct vpmc_read read;
	int i;

	for (i = 0; i < n; i++)
		ASSERT_EQ(0, runner_start(&runner[i]));
	ASSERT_EQ(0, set_measure(&self->set, code_write, self->state,
				 (long)&mem));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_WRITE));
	/* The run time is one, though the TSC may have started over. */
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(once.insns, read.ticks);
	EXPECT_GT(1ULL << 40, read.ticks);
	/* On each CPU more than one counter's width, if that is 24 bits. */
	runner_wait_turns(&runner[0], 6000000);
	runner_wait_turns(&runner[1], 6000000);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, runner_finish(&runner[i]));
	count_again(_metadata, &self->set);
}

/* No user had the PMU when the machine was suspended. */
TEST(not_held)
{
	int state = set_level("core");
	struct set set;

	ASSERT_LE(0, state);
	ASSERT_EQ(0, perf_error(1000));
	ASSERT_EQ(mem.iov_len, writev(state, &mem, 1));
	ASSERT_EQ(0, set_open(&set, mine));
	count_again(_metadata, &set);
	set_close(&set);
}

/*
 * Periods end when interrupts are off. The interrupt that wakes a poller is then
 * lost with the CPU's state, so it is requested again. If it were not, no later
 * period would wake the poller.
 */
TEST(periods_of_the_kernel)
{
	/*
	 * Short, for some to end at the wrong moment. On slow kernels there are
	 * more in the end of each interrupt.
	 */
	const uint64_t period = test_slowness() > 1 ? KERNEL_PERIOD : 1000;
	struct poller poller;
	struct set set;
	int state;

	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	state = set_level("none");
	ASSERT_LE(0, state);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, open_with_ring(&set, period, 1, VPMC_CONTROL_STOPPED |
				    VPMC_CONTROL_REARM));
	set.control.counter[0].evtsel |= 0x20000;
	ASSERT_EQ(0, set_control(&set));
	ASSERT_EQ(0, set_measure(&set, code_write, state, (long)&mem));
	EXPECT_LT(10, set.page->overflows);

	set.control.counter[0].evtsel = EV_INSNS;
	ASSERT_EQ(0, set_control(&set));
	ASSERT_EQ(0, start_poller(&poller, set.fd));
	ASSERT_EQ(0, set_measure(&set, code_loop, period, 0));
	EXPECT_EQ(POLLIN, end_poller(&poller));
	set_close(&set);
	close(state);
	EXPECT_EQ(0, write_file(RATE, "100000"));
}

/* On counters that perf can lend. */
static const struct choice lent[] = {
	{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
};

FIXTURE(beside)
{
	struct set set;
	int perf[3];
	char before[48];
};

FIXTURE_SETUP(beside)
{
	self->perf[0] = -1;
	self->set.fd = -1;
	self->set.page = MAP_FAILED;
	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, chosen_counters(self->before, sizeof(self->before)));
	ASSERT_EQ(0, choose_counters("shared"));
	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, set_open(&self->set, lent));
}

FIXTURE_TEARDOWN(beside)
{
	perf_close(self->perf);
	set_close(&self->set);
	EXPECT_EQ(0, choose_counters(self->before));
}

/*
 * perf has a group of events, and the set has borrowed counters, when the machine is
 * suspended to @level. The set counts that. Afterwards both count, on each CPU.
 * Returns the number of errors.
 */
static int wrong_if_suspended(FIXTURE_DATA(beside) *self, const char *level)
{
	int cpu, wrong, leader = self->perf[0], state = set_level(level);
	struct set *set = &self->set;

	wrong = set_clear(set) ||
		set_measure(set, code_write, state, (long)&mem) ||
		wrong_after(set, CODE_WRITE);
	for (cpu = 0; cpu < 2; cpu++)
		wrong += pin(cpu) || ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) ||
			 both_count(set, self->perf, 1000) ||
			 ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	close(state);
	if (wrong)
		fprintf(stderr, "# %s\n", level);
	return wrong;
}

TEST_F(beside, suspended)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		ASSERT_EQ(0, pin(i & 1));
		EXPECT_EQ(0, wrong_if_suspended(self, levels[i]));
	}
}

TEST_F(beside, suspended_all_the_way)
{
	ASSERT_EQ(0, pin(0));
	EXPECT_EQ(0, wrong_if_suspended(self, "none"));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
