// SPDX-License-Identifier: GPL-2.0
/*
 * Counters with periods: a set stops, is resumed and signals at exactly the
 * right instruction, whatever else happens. Where counts are not exact, it does so as
 * often as its sum has periods.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "disturb.h"
#include "interrupts.h"
#include "overflow.h"

#define TURNS	1000000

FIXTURE(overflow)
{
	struct set set;
	int rate;
};

/* Does the handler resume the set, or does it continue by REARM? */
FIXTURE_VARIANT(overflow)
{
	unsigned int flags;
	struct code_count each;		/* what the handler adds to the counts */
};

FIXTURE_VARIANT_ADD(overflow, resume)
{
	.each = CODE_OVERFLOW_RESUMED,
};

FIXTURE_VARIANT_ADD(overflow, rearm)
{
	.flags = VPMC_CONTROL_REARM,
	.each = CODE_OVERFLOW,
};

FIXTURE_SETUP(overflow)
{
	self->rate = read_number(RATE);
	ASSERT_EQ(100000, self->rate);
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	self->set.page = vpmc_map(self->set.fd);
	ASSERT_NE(MAP_FAILED, self->set.page);
	ASSERT_EQ(0, take_overflows(&self->set, OVERFLOW_SIGNAL));
	control_init(&self->set.control, VPMC_CONTROL_STOPPED | variant->flags);
	self->set.control.signal = OVERFLOW_SIGNAL;
}

FIXTURE_TEARDOWN(overflow)
{
	EXPECT_EQ(0, write_file(RATE, "100000"));
	set_close(&self->set);
}

/* A counter and its period. */
struct sampled {
	uint64_t evtsel;
	uint32_t index;
	uint64_t period;
};

static struct code_count whole(uint64_t turns)
{
	return code_add(CODE_MEASURE, CODE_LOOP(turns));
}

/* Did STOP report the last one? Then the handler is not counted. */
static bool told_by_stop(void)
{
	return code_overflows && code_overflow_log[code_overflows - 1].ip ==
				 (uint64_t)code_measure_stopped;
}

/*
 * What handlers did not count: a switch that notices the next overflow stops the
 * set before the handler that has resumed it is at its end.
 */
static uint64_t missed_by_handlers(struct code_count each)
{
	uint64_t missed = 0, i;

	if (each.insns != CODE_OVERFLOW_RESUMED.insns)
		return 0;
	for (i = 0; i < code_overflows; i++)
		missed += overflow_rest(code_overflow_log[i].ip);
	return missed;
}

/*
 * Returns how many overflows are not where they should be. An interrupt that is late
 * comes while the loop runs; the last one may come when it is over.
 */
static uint64_t wrong_places(bool branches, uint64_t extra, uint64_t period)
{
	uint64_t wrong = 0, at, ip, i;

	for (i = 0; i < code_overflows; i++) {
		const volatile struct code_overflow *log = &code_overflow_log[i];

		at = overflow_at(i + 1, extra, period);
		ip = branches ? (uint64_t)code_loop : loop_ip(at);
		wrong += log->mask != 1 || log->code != POLL_MSG;
		if (counts_are_exact())
			wrong += log->ip != ip;
		else if (i + 1 < code_overflows)
			wrong += log->ip - (uint64_t)code_loop >= CODE_LOOP_LENGTH;
	}
	return wrong;
}

/*
 * Counts @turns of the loop with one such counter and, at second place, one that
 * has no period. The number of overflows, their places and the sums must be
 * right to the instruction, or within the tolerance.
 */
static void count_overflows(struct __test_metadata *_metadata, struct set *set,
			    const struct sampled *s, uint64_t turns,
			    struct code_count each)
{
	const uint64_t period = period_here(s->period);
	struct code_count main = whole(turns), sums;
	bool branches = s->evtsel == EV_BRANCHES;
	struct vpmc_read read;
	uint64_t extra, n;

	control_init(&set->control, set->control.flags);
	set->control.signal = OVERFLOW_SIGNAL;
	control_add_period(&set->control, s->evtsel, s->index, period);
	control_choose(&set->control, branches ? EV_INSNS : EV_BRANCHES, VPMC_ANY);
	ASSERT_EQ(0, set_control(set));
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, take_overflows(set, OVERFLOW_SIGNAL));

	extra = branches ? each.branches : each.insns;
	n = overflows_in(branches ? main.branches : main.insns, extra, period);
	ASSERT_LT(n, CODE_OVERFLOW_LOG);
	ASSERT_EQ(0, set_measure(set, code_loop, turns, 0));

	if (counts_are_exact())
		EXPECT_EQ(n, code_overflows);
	n = code_overflows;
	EXPECT_EQ(n, page_of(set)->overflows);
	EXPECT_EQ(0, page_of(set)->merged);
	EXPECT_EQ(0, code_overflow_error);
	EXPECT_EQ(VPMC_STATE_STOPPED, page_of(set)->state);
	EXPECT_EQ(0, page_of(set)->overflowed);
	EXPECT_EQ(0, wrong_places(branches, extra, period));
	sums = code_add(main, code_times(each, n - told_by_stop()));
	sums.insns -= missed_by_handlers(each);
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums_of_overflows(set, &read, sums));
	EXPECT_EQ(read.sum[0] / period, n);
}

/* Counts with one period after the other. A 0 ends the list. */
static void count_periods(struct __test_metadata *_metadata, struct set *set,
			  uint64_t evtsel, uint32_t index,
			  struct code_count each, const uint64_t *period)
{
	struct sampled s = { evtsel, index, 0 };

	for (; *period; period++) {
		s.period = *period;
		count_overflows(_metadata, set, &s, TURNS, each);
	}
}

#define COUNT_PERIODS(evtsel, index, ...)				\
	count_periods(_metadata, &self->set, evtsel, index,		\
		      variant->each, (const uint64_t[]){ __VA_ARGS__, 0 })

TEST_F(overflow, fixed_counter)
{
	COUNT_PERIODS(EV_INSNS, FIXED(0), 1000, 1237, 65536, 1000000);
}

TEST_F(overflow, programmable_counter)
{
	COUNT_PERIODS(EV_INSNS, 1, 1000, 99991);
}

TEST_F(overflow, branches)
{
	COUNT_PERIODS(EV_BRANCHES, 2, 1000, 100003);
}

/* With 24 bits this is more than half the range of a counter. */
TEST_F(overflow, long_period)
{
	const struct sampled s[] = {
		{ EV_INSNS, FIXED(0), 10000000 },
		{ EV_INSNS, 0, 40000001 },
		{ EV_BRANCHES, 3, 10000000 },
	};

	for (int i = 0; i < ARRAY_SIZE(s); i++)
		count_overflows(_metadata, &self->set, &s[i], 25000000,
				variant->each);
}

/*
 * How often a thread must be disturbed, at least. When the disturber's timer
 * expires depends on the emulator, so the test continues until then.
 */
#define DISTURBED	20

static void count_disturbed(struct __test_metadata *_metadata,
			    struct set *set, struct sampled s,
			    struct code_count each,
			    uint64_t (*disturbances)(const struct set *set))
{
	uint64_t times = 0;
	int i;

	for (i = 0; i < 20 && times <= DISTURBED; i++) {
		count_overflows(_metadata, set, &s, 10 * TURNS, each);
		times += disturbances(set);
	}
	EXPECT_LT(DISTURBED, times);
}

/* Short periods, long ones, and some that end anywhere in the loop. */
static const struct sampled disturbed[] = {
	{ EV_INSNS, FIXED(0), 1000 }, { EV_BRANCHES, 1, 1000 },
	{ EV_INSNS, 1, 20011 }, { EV_BRANCHES, 0, 20011 },
	{ EV_INSNS, FIXED(0), 10000000 }, { EV_BRANCHES, 3, 10000000 },
};

/* Another thread takes the CPU again and again. */
TEST_F(overflow, preempted)
{
	pid_t pid;
	int i;

	ASSERT_EQ(0, pin(0));
	pid = start_preempter(0, 50000);
	ASSERT_LT(0, pid);
	for (i = 0; i < ARRAY_SIZE(disturbed); i++)
		count_disturbed(_metadata, &self->set, disturbed[i],
				variant->each, page_switches);
	EXPECT_EQ(0, stop_disturber(pid));
}

/* A set that overflows on the same counters does the same. */
TEST_F(overflow, preempted_by_one_like_it)
{
	const struct sampled s = { EV_BRANCHES, 0, 20011 };
	static const struct choice other[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
	};
	pid_t pid;

	ASSERT_EQ(0, pin(0));
	pid = start_counting_preempter(0, 50000, other);
	ASSERT_LT(0, pid);
	count_disturbed(_metadata, &self->set, s, variant->each, page_switches);
	EXPECT_EQ(0, stop_disturber(pid));
}

TEST_F(overflow, migrated)
{
	pid_t pid = start_migrator(my_tid(), 50000);
	int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < ARRAY_SIZE(disturbed); i++)
		count_disturbed(_metadata, &self->set, disturbed[i],
				variant->each, page_migrations);
	EXPECT_EQ(0, stop_disturber(pid));
}

/* Two threads of a process, with periods of their own, yield to each other. */
struct yielder {
	pthread_t thread;
	uint64_t period;
	unsigned int flags;
	int wrong;
};

#define YIELDS	500

/*
 * Each time that it starts it counts up to the end of the period, and stands; or
 * goes on.
 */
static void *yield_and_overflow(void *arg)
{
	const uint64_t insns = CODE_MEASURE.insns +
			       CODE_YIELD(YIELDS, 10).insns;
	struct yielder *y = arg;
	struct vpmc_read read;
	struct set set;
	uint64_t n;

	y->wrong = pin(0) || open_with_period(&set, y->period, 0);
	if (y->wrong)
		return NULL;
	set.control.flags |= y->flags;
	y->wrong = set_control(&set) != 0;
	for (n = 1; n <= 50; n++) {
		y->wrong += set_measure(&set, code_yield, YIELDS, 10) != 0;
		y->wrong += vpmc_read(set.fd, &read) != 0;
		y->wrong += read.sum[0] != n * (y->flags ? insns : y->period);
		y->wrong += page_of(&set)->overflows !=
			    read.sum[0] / y->period;
	}
	y->wrong += page_of(&set)->switches < YIELDS;
	set_close(&set);
	return NULL;
}

TEST_F(overflow, threads_yield)
{
	struct yielder y[2] = {
		{ .period = 1000, .flags = variant->flags },
		{ .period = 7919, .flags = variant->flags },
	};

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&y[i].thread, NULL,
					    yield_and_overflow, &y[i]));
	for (int i = 0; i < 2; i++) {
		pthread_join(y[i].thread, NULL);
		EXPECT_EQ(0, y[i].wrong);
	}
}

/* Each counter has its own periods; here and there both end at once. */
TEST_F(overflow, two_counters)
{
	/* The first ones come together. */
	const uint64_t branches = 1000, insns = 2 * branches + 2;
	struct code_count sums;
	uint64_t n[2] = {}, both = 0, missed = 0, i;

	control_add_period(&self->set.control, EV_INSNS, FIXED(0), insns);
	control_add_period(&self->set.control, EV_BRANCHES, 0, branches);
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));

	for (i = 0; i < code_overflows; i++) {
		n[0] += code_overflow_log[i].mask & 1;
		n[1] += code_overflow_log[i].mask >> 1 & 1;
		both += code_overflow_log[i].mask == 3;
		if (!variant->flags)
			missed += overflow_rest(code_overflow_log[i].ip);
	}
	sums = code_add(whole(TURNS),
			code_times(variant->each, code_overflows));
	sums.insns -= missed;
	EXPECT_EQ(sums.insns / insns, n[0]);
	EXPECT_EQ(sums.branches / branches, n[1]);
	EXPECT_LT(0, both);
	EXPECT_EQ(3, code_overflow_log[0].mask);
	EXPECT_EQ(n[0] + n[1], page_of(&self->set)->overflows);
	EXPECT_EQ(n[0] + n[1] - both, code_overflows);
	EXPECT_EQ(0, wrong_after(&self->set,
				 CODE_COUNT(sums.insns - CODE_MEASURE.insns,
					    sums.branches -
					    CODE_MEASURE.branches)));
}

/*
 * What kernel.vpmc_overflow_rate allows, the one that is too many, and those that
 * are delayed.
 */
static uint64_t most_in_a_tick(void)
{
	uint64_t share = read_number(RATE) * tick_length() / 1000000000 + 1;

	return share + 1 + delayed_in_a_tick(share * 1000);
}

/*
 * One counter with @period. All numbers must agree, however many ends of
 * periods are reported at once. Returns how many were not reported separately.
 * The rate is set.
 */
static uint64_t count_at_rate(struct __test_metadata *_metadata,
			      struct set *set, uint64_t period,
			      struct code_count each)
{
	const volatile struct vpmc_page *page = page_of(set);
	const uint64_t turns = 5000000;
	struct code_count sums;
	uint64_t before, switches, ticks;

	ASSERT_EQ(0, take_overflows(set, OVERFLOW_SIGNAL));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(0, page->merged);
	EXPECT_EQ(0, page->overflows);
	ticks = coarse_time();
	before = vpmc_interrupts(0);
	/* The page does not count overflows that stopped the set. */
	switches = my_switches();
	EXPECT_EQ(0, set_measure(set, code_loop, turns, 0));
	switches = my_switches() - switches;
	before = vpmc_interrupts(0) - before;
	ticks = (coarse_time() - ticks) / tick_length();
	/* In each tick, and in the two that were begun or not ended. */
	EXPECT_GE((ticks + 2) * most_in_a_tick(), before);
	ASSERT_LT(1, code_overflows);
	ASSERT_GT(CODE_OVERFLOW_LOG, code_overflows);
	/* A context switch can be before the interrupt, and notice it itself. */
	EXPECT_GE(code_overflows, before + told_by_stop());
	if (period >= 1000)
		EXPECT_LE(code_overflows, before + told_by_stop() + switches);
	EXPECT_EQ(code_overflows, page->overflows - page->merged);
	sums = code_add(CODE_LOOP(turns),
			code_times(each, code_overflows - told_by_stop()));
	sums.insns -= missed_by_handlers(each);
	EXPECT_EQ(0, wrong_after(set, sums));
	sums = code_add(CODE_MEASURE, sums);
	EXPECT_EQ(sums.insns / period, page->overflows);
	return page->merged;
}

/* 'intr' of /proc/stat */
static long all_interrupts(void)
{
	FILE *f = fopen("/proc/stat", "r");
	char line[8192];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, "intr ", 5))
			n = atol(line + 5);
	if (f)
		fclose(f);
	return n;
}

/* They are among all interrupts, of which there are few others meanwhile. */
TEST_F(overflow, in_proc_stat)
{
	const uint64_t period = 1000;
	long all, ours;

	control_add_period(&self->set.control, EV_INSNS, FIXED(0), period);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_control(&self->set));
	all = all_interrupts();
	ours = vpmc_interrupts(0);
	ASSERT_LT(0, all);
	EXPECT_EQ(0, count_at_rate(_metadata, &self->set, period,
				   variant->each));
	ours = vpmc_interrupts(0) - ours;
	all = all_interrupts() - all;
	EXPECT_LT(500, ours);
	EXPECT_LE(ours, all);
}

/* More often than the administrator allows: several are reported at once. */
TEST_F(overflow, too_fast)
{
	const uint64_t period = 1000;

	control_add_period(&self->set.control, EV_INSNS, FIXED(0), period);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(0, count_at_rate(_metadata, &self->set, period,
				   variant->each));
	ASSERT_EQ(0, set_low_rate());
	EXPECT_LT(5000, count_at_rate(_metadata, &self->set, period,
				      variant->each));
	/* CLEAR and CONTROL reset their numbers in the page. */
	EXPECT_LT(5000, count_at_rate(_metadata, &self->set, period,
				      variant->each));
	self->set.control.flags |= VPMC_CONTROL_PRESERVE;
	self->set.control.counter[0].flags = VPMC_COUNTER_PRESERVE;
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(0, page_of(&self->set)->merged);
	EXPECT_EQ(0, page_of(&self->set)->overflows);
	EXPECT_LT(5000 * period, page_of(&self->set)->slot[0].base);
}

/* The handler alone takes a whole period. */
TEST_F(overflow, faster_than_its_handler)
{
	const uint64_t period = variant->each.insns;

	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_period_min", "1"));
	control_add_period(&self->set.control, EV_INSNS, FIXED(0), period);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_period_min", "1000"));
	ASSERT_EQ(0, set_rate(1000));
	EXPECT_LT(100000, count_at_rate(_metadata, &self->set, period,
					variant->each));
}

/*
 * They come too fast for a moment, and then with pauses: from the next tick on
 * each one is reported separately again.
 */
TEST(not_slow_for_ever)
{
	const volatile struct vpmc_page *page;
	uint64_t merged = 0;
	struct set set;
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_low_rate());
	ASSERT_EQ(0, open_with_period(&set, 1000, 0));
	page = page_of(&set);
	set.control.flags = VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&set));
	code_loop(TURNS, 0);
	for (i = 0; i < 50; i++) {
		usleep(20000);
		if (!i)
			merged = page->merged;
		code_loop(2000, 0);
	}
	EXPECT_LT(1000, merged);
	EXPECT_EQ(merged, page->merged);
	EXPECT_EQ(0, write_file(RATE, "100000"));
	set_close(&set);
}

/*
 * Interrupts that come too fast are made rare for the set that they come from. The
 * next one in the same tick gets its first.
 */
TEST(only_the_hasty_wait)
{
	struct vpmc_control hasty, calm;
	uint64_t told, slowed = 0;
	struct set set;
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_low_rate());
	ASSERT_EQ(0, open_with_period(&set, 2 * TURNS / 10 * 2 / 3, 0));
	set.control.flags = VPMC_CONTROL_REARM;
	calm = set.control;
	hasty = set.control;
	hasty.counter[0].period = 1000;
	for (i = 0; i < 10; i++) {
		/* Others had none in this tick. */
		usleep(10000);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &hasty));
		code_loop(TURNS / 10, 0);
		/* A switch reports all that have passed until then. */
		told = page_of(&set)->overflows - page_of(&set)->merged;
		slowed += told < 100;
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &calm));
		code_loop(TURNS / 10, 0);
		EXPECT_EQ(1, page_of(&set)->overflows);
		EXPECT_EQ(0, page_of(&set)->merged);
	}
	EXPECT_EQ(10, slowed);
	EXPECT_EQ(0, write_file(RATE, "100000"));
	set_close(&set);
}

/*
 * Others have used up the interrupts of the tick. A set is delayed by no more than it
 * has counted in the tick, so that one with few events does not wait for ever.
 */
TEST(delays_are_short)
{
	struct vpmc_control hasty, calm;
	struct set set;
	int i, prompt = 0;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_low_rate());
	ASSERT_EQ(0, open_with_period(&set, 10000, 0));
	set.control.flags = VPMC_CONTROL_REARM;
	calm = set.control;
	hasty = set.control;
	hasty.counter[0].period = 1000;
	for (i = 0; i < 10; i++) {
		usleep(10000);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &hasty));
		code_loop(TURNS / 10, 0);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &calm));
		code_loop(TURNS / 8, 0);
		prompt += page_of(&set)->overflows - page_of(&set)->merged >= 4;
	}
	EXPECT_EQ(10, prompt);
	EXPECT_EQ(0, write_file(RATE, "100000"));
	set_close(&set);
}

NEEDS(
	{ "overflow.*.fixed_counter", PMU | DISTURBS | ROOT },
	{ "overflow.*.programmable_counter", PMU | DISTURBS | ROOT },
	{ "overflow.*.branches", PMU | DISTURBS | ROOT },
	{ "overflow.*.long_period", PMU | DISTURBS | ROOT },
	{ "overflow.*.preempted*", PMU | DISTURBS | ROOT },
	{ "overflow.*.migrated", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
