// SPDX-License-Identifier: GPL-2.0
/*
 * perf and programmed sets have the PMU in turn. Each side uses every counter,
 * and counts right while it has the PMU: exactly, or within the tolerance.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"
#include "perf.h"

/*
 * What both sides count, with all programmable counters and two fixed ones.
 * Kernel mode is not known beforehand, but the counters must agree on it.
 */
enum { USER, KERNEL, BOTH, BRANCHES, CYCLES, USER_AGAIN, NR };

static const struct choice all[NR + 1] = {
	[USER]		= { EV_INSNS, FIXED(0) },
	[KERNEL]	= { 0x200c0, 0 },
	[BOTH]		= { 0x300c0, 1 },
	[BRANCHES]	= { EV_BRANCHES, 2 },
	[CYCLES]	= { EV_CYCLES, FIXED(1) },
	[USER_AGAIN]	= { EV_INSNS, 3 },
};

static int differs(const char *who, const char *what, bool fits, uint64_t got,
		   uint64_t want)
{
	if (fits)
		return 0;
	fprintf(stderr, "# %s: %s: expected %llu, got %llu (%+lld)\n", who,
		what, (unsigned long long)want, (unsigned long long)got,
		(long long)(got - want));
	return 1;
}

/*
 * How many of the counts of a loop of @n turns are wrong. @by has measured them: a set,
 * or what perf's events would be as a set.
 */
static int wrong_counts(const char *who, const struct set *by, const __u64 *count,
			long n)
{
	const struct code_count want = measured(n);
	const uint64_t more = perf_tolerated(by);
	__u64 both = count[USER] + count[KERNEL];

	/* Started one after the other, they count what lies between. */
	if (!(machine.features & VPMC_FEATURE_GLOBAL_CTRL) &&
	    count[BOTH] - both < 100)
		both = count[BOTH];
	return differs(who, "user", perf_fits(by, count[USER], want.insns),
		       count[USER], want.insns) +
	       differs(who, "user again",
		       perf_fits(by, count[USER_AGAIN], want.insns),
		       count[USER_AGAIN], want.insns) +
	       differs(who, "branches",
		       perf_fits(by, count[BRANCHES], want.branches),
		       count[BRANCHES], want.branches) +
	       differs(who, "cycles", cycles_fit(count[CYCLES], want.insns, more),
		       count[CYCLES], want.insns) +
	       /* Each of the three may be too high. */
	       differs(who, "user and kernel",
		       count_fits(count[BOTH] + 2 * more, both, 3 * more,
				  perf_piece(by, want.insns)),
		       count[BOTH], both) +
	       differs(who, "any in the kernel", count[KERNEL], count[KERNEL], 1);
}

static void perf_close_group(const int *fd, int n)
{
	while (n--)
		close(fd[n]);
}

static int perf_open_group(int *fd)
{
	static const struct {
		uint64_t config;
		unsigned int modes;
	} event[NR] = {
		[USER] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_USER },
		[KERNEL] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_KERNEL },
		[BOTH] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_USER | PERF_KERNEL },
		[BRANCHES] = { PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_USER },
		[CYCLES] = { PERF_COUNT_HW_CPU_CYCLES, PERF_USER },
		[USER_AGAIN] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_USER },
	};
	int i;

	for (i = 0; i < NR; i++) {
		fd[i] = perf_open(PERF_TYPE_HARDWARE, event[i].config,
				  event[i].modes, i ? fd[0] : -1);
		if (fd[i] < 0) {
			perf_close_group(fd, i);
			return fd[i];
		}
	}
	return 0;
}

/* How many of perf's counts of a loop are wrong. */
static int perf_counts(const int *fd, long n)
{
	struct set by = { .fd = fd[0] };
	__u64 count[NR];

	n = turns_here(n);
	if (perf_measure(&by, code_loop, n, 0) || perf_read(fd[0], NR, count))
		return NR;
	return wrong_counts("perf", &by, count, n);
}

/* 0, the number of wrong counts, or -errno if perf is refused */
static int perf_turn(long n)
{
	int fd[NR], err = perf_open_group(fd);

	if (err)
		return err;
	err = perf_counts(fd, n);
	perf_close_group(fd, NR);
	return err;
}

static int set_counts(struct set *set, long n)
{
	struct vpmc_read read;

	n = turns_here(n);
	if (set_clear(set) || set_measure(set, code_loop, n, 0) ||
	    vpmc_read(set->fd, &read))
		return NR;
	return wrong_counts("vpmc", set, read.sum, n);
}

static int vpmc_turn(long n)
{
	struct set set;
	int err = set_open(&set, all);

	if (!err)
		err = set_counts(&set, n);
	set_close(&set);
	return err;
}

static int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/* All requests that need the PMU are refused. */
static void perf_is_refused(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};
	int fd[NR], cpu;

	EXPECT_EQ(-EBUSY, perf_open_group(fd));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(-EBUSY, perf_open(PERF_TYPE_RAW, 0xc4, PERF_KERNEL, -1));
	EXPECT_EQ(-EBUSY, perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES,
				    PERF_USER, -1));
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		errno = 0;
		EXPECT_EQ(-1, syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0));
		EXPECT_EQ(EBUSY, errno);
	}
}

TEST(before_during_after)
{
	struct set set;
	int cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_turn(100000));
	}
	ASSERT_EQ(0, set_open(&set, all));
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		perf_is_refused(_metadata);
		EXPECT_EQ(0, set_counts(&set, 100000));
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
		perf_is_refused(_metadata);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	}
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_turn(100000));
	}
}

TEST(thousand_turns)
{
	const int turns = test_times(1000);
	int i;

	for (i = 0; i < turns; i++) {
		ASSERT_EQ(0, pin(i % nr_cpus()));
		ASSERT_EQ(0, perf_turn(i + 1));
		ASSERT_EQ(0, pin(i / 2 % nr_cpus()));
		ASSERT_EQ(0, vpmc_turn(i + 1));
	}
}

/* Who has the PMU, as each side says of itself. */
struct claims {
	volatile uint32_t perf, vpmc;
};

static void claim(volatile uint32_t *mine, const volatile uint32_t *other)
{
	__atomic_store_n(mine, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(other, __ATOMIC_SEQ_CST))
		_exit(10);
}

static void race_perf(struct claims *claims)
{
	int fd[NR], err, won = 0;

	while (won < 200) {
		err = perf_open_group(fd);
		if (err == -EBUSY)
			continue;
		if (err)
			_exit(11);
		claim(&claims->perf, &claims->vpmc);
		if (perf_counts(fd, 500))
			_exit(12);
		claims->perf = 0;
		perf_close_group(fd, NR);
		won++;
	}
	_exit(0);
}

static void race_vpmc(struct claims *claims)
{
	struct set set;
	int err, won = 0;

	while (won < 200) {
		err = set_open(&set, all);
		if (err && err != -EBUSY)
			_exit(13);
		if (!err) {
			claim(&claims->vpmc, &claims->perf);
			if (set_counts(&set, 500))
				_exit(14);
			claims->vpmc = 0;
			won++;
		}
		set_close(&set);
	}
	_exit(0);
}

/* Both try at any time: one gets the whole PMU, the other one nothing. */
TEST(race)
{
	struct claims *claims = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[2];

	ASSERT_NE(MAP_FAILED, claims);
	pid[0] = fork();
	if (!pid[0]) {
		if (pin(0))
			_exit(15);
		race_perf(claims);
	}
	pid[1] = fork();
	if (!pid[1]) {
		if (pin(1))
			_exit(15);
		race_vpmc(claims);
	}
	EXPECT_EQ(0, child_status(pid[0]));
	EXPECT_EQ(0, child_status(pid[1]));
}

/* Use all counters by perf, and leave all of them on its list of dirty ones. */
static int leave_dirty(void)
{
	int fd[NR], i, wrong;
	void *page[NR];

	if (perf_open_group(fd))
		return -1;
	for (i = 0; i < NR; i++) {
		page[i] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd[i], 0);
		if (page[i] == MAP_FAILED)
			return -1;
	}
	wrong = perf_counts(fd, 1000);
	for (i = 0; i < NR; i++)
		munmap(page[i], PAGE);
	perf_close_group(fd, NR);
	return wrong;
}

/*
 * Map a page on another CPU than @cpu, so that the address space may use RDPMC,
 * and come to @cpu later.
 */
static pid_t start_late_reader(int cpu, volatile uint32_t *ready)
{
	static const struct choice one[] = { { EV_BRANCHES, VPMC_ANY }, {} };
	struct timespec ts = disturb_period(2000000);
	pid_t pid = wait_for_fine_timers() ?: disturber();
	struct set set;

	if (pid)
		return pid;
	if (pin(!cpu) || set_fifo(10) || set_open(&set, one))
		_exit(1);
	*ready = 1;
	nanosleep(&ts, NULL);
	if (pin(cpu))
		_exit(2);
	ts = disturb_period(20000);
	for (;;)
		nanosleep(&ts, NULL);
}

/*
 * perf zeroes what it left behind when a thread comes that may use RDPMC. By
 * then the counters are ours, and run. The owner has no page mapped: that would
 * have made perf do it before.
 */
static void count_as_reader_comes(struct __test_metadata *_metadata, int cpu,
				  bool away)
{
	/* With fewer switches an interval is narrower than a piece. */
	const long n = counts_are_exact() ? 5000000 : 500000;
	const int tries = exact_machine() ? 20 : 1000;
	const uint64_t often = exact_machine() ? 10 : 1;
	struct set set = { .page = MAP_FAILED };
	volatile uint32_t *ready;
	uint64_t switches = 0;
	struct vpmc_read read;
	pid_t pid;
	int i;

	ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ready);
	ASSERT_EQ(0, pin(cpu));
	ASSERT_EQ(0, leave_dirty());
	if (away) {
		count_all_interrupts();
		ASSERT_EQ(0, pin(!cpu));
		ASSERT_EQ(0, set_cpu_online(cpu, "0"));
	}
	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	ASSERT_EQ(0, set_program(&set, all));
	if (away) {
		ASSERT_EQ(0, set_cpu_online(cpu, "1"));
		ASSERT_EQ(0, pin(cpu));
	}
	pid = start_late_reader(cpu, ready);
	ASSERT_LT(0, pid);
	while (!*ready)
		sched_yield();
	for (i = 0; i < tries && switches < often; i++) {
		EXPECT_EQ(0, set_counts(&set, n));
		ASSERT_EQ(0, vpmc_read(set.fd, &read));
		switches += read.switches;
	}
	EXPECT_LE(often, switches);
	EXPECT_EQ(0, stop_disturber(pid));
	set_close(&set);
	EXPECT_EQ(0, perf_turn(1000));
	munmap((void *)ready, PAGE);
}

TEST(dirty_counters)
{
	int cpu;

	for (cpu = 0; cpu < 2; cpu++)
		count_as_reader_comes(_metadata, cpu, false);
}

/* Counts on a CPU that was offline when the PMU was taken. */
TEST(dirty_counters_away)
{
	count_as_reader_comes(_metadata, 1, true);
}

static bool has_six_counters(void)
{
	return sets_have_all() && machine.nr_gp + machine.nr_fixed >= NR;
}

#define SIX_COUNTERS	\
	"sysctl kernel.vpmc_counters=all, and six counters", NULL, has_six_counters

NEEDS(
	{ "global.before_during_after", PMU | DISTURBS | ROOT, SIX_COUNTERS },
	{ "global.thousand_turns", PMU | DISTURBS | ROOT, SIX_COUNTERS },
	{ "*", PMU | DISTURBS | ROOT | TWO_CPUS, SIX_COUNTERS },
);

TEST_HARNESS_MAIN
