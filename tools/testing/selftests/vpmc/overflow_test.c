// SPDX-License-Identifier: GPL-2.0
/*
 * Counters with periods: a set stops, is resumed and signals at exactly the
 * right instruction, whatever else happens.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "disturb.h"
#include "overflow.h"

#define TURNS	1000000

FIXTURE(overflow)
{
	struct set set;
};

FIXTURE_SETUP(overflow)
{
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	self->set.page = vpmc_map(self->set.fd);
	ASSERT_NE(MAP_FAILED, self->set.page);
	ASSERT_EQ(0, take_overflows(&self->set, OVERFLOW_SIGNAL));
	control_init(&self->set.control, VPMC_CONTROL_STOPPED);
	self->set.control.signal = OVERFLOW_SIGNAL;
}

FIXTURE_TEARDOWN(overflow)
{
	set_close(&self->set);
}

/* A counter and its period. */
struct sampled {
	uint64_t evtsel;
	uint32_t index;
	uint64_t period;
};

static const volatile struct vpmc_page *page_of(const struct set *set)
{
	return set->page;
}

static struct code_count whole(uint64_t turns)
{
	return code_add(CODE_MEASURE, CODE_LOOP(turns));
}

/*
 * Counts @turns of the loop with one such counter and, at second place, one that
 * has no period. The number of overflows, their places and the sums must be
 * right to the instruction.
 */
static void count_overflows(struct __test_metadata *_metadata, struct set *set,
			    const struct sampled *s, uint64_t turns)
{
	struct code_count each = CODE_OVERFLOW_RESUMED, sums;
	struct code_count main = whole(turns);
	uint64_t total, extra, n, i, wrong = 0;
	bool branches = s->evtsel == EV_BRANCHES;

	control_init(&set->control, set->control.flags);
	set->control.signal = OVERFLOW_SIGNAL;
	control_add_period(&set->control, s->evtsel, s->index, s->period);
	control_add(&set->control, branches ? EV_INSNS : EV_BRANCHES, VPMC_ANY);
	ASSERT_EQ(0, set_control(set));
	ASSERT_EQ(0, take_overflows(set, OVERFLOW_SIGNAL));

	total = branches ? main.branches : main.insns;
	extra = branches ? each.branches : each.insns;
	n = overflows_in(total, extra, s->period);
	ASSERT_LT(n, CODE_OVERFLOW_LOG);
	ASSERT_EQ(0, set_measure(set, code_loop, turns, 0));

	EXPECT_EQ(n, code_overflows);
	EXPECT_EQ(n, page_of(set)->overflows);
	EXPECT_EQ(0, code_overflow_error);
	EXPECT_EQ(VPMC_STATE_STOPPED, page_of(set)->state);
	EXPECT_EQ(0, page_of(set)->overflowed);
	for (i = 0; i < n; i++) {
		const volatile struct code_overflow *log = &code_overflow_log[i];
		uint64_t at = overflow_at(i + 1, extra, s->period);
		uint64_t ip = branches ? (uint64_t)code_loop : loop_ip(at);

		wrong += log->ip != ip || log->mask != 1 ||
			 log->code != POLL_MSG;
	}
	EXPECT_EQ(0, wrong);
	sums = code_add(main, code_times(each, n));
	EXPECT_EQ(0, wrong_after(set, CODE_COUNT(sums.insns - CODE_MEASURE.insns,
						 sums.branches -
						 CODE_MEASURE.branches)));
	EXPECT_EQ((branches ? sums.branches : sums.insns) / s->period,
		  page_of(set)->overflows);
}

TEST_F(overflow, fixed_counter)
{
	static const uint64_t periods[] = { 1000, 1237, 65536, 1000000 };

	for (int i = 0; i < ARRAY_SIZE(periods); i++) {
		struct sampled s = { EV_INSNS, FIXED(0), periods[i] };

		count_overflows(_metadata, &self->set, &s, TURNS);
	}
}

TEST_F(overflow, programmable_counter)
{
	static const uint64_t periods[] = { 1000, 99991 };

	for (int i = 0; i < ARRAY_SIZE(periods); i++) {
		struct sampled s = { EV_INSNS, 1, periods[i] };

		count_overflows(_metadata, &self->set, &s, TURNS);
	}
}

TEST_F(overflow, branches)
{
	static const uint64_t periods[] = { 1000, 100003 };

	for (int i = 0; i < ARRAY_SIZE(periods); i++) {
		struct sampled s = { EV_BRANCHES, 2, periods[i] };

		count_overflows(_metadata, &self->set, &s, TURNS);
	}
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
		count_overflows(_metadata, &self->set, &s[i], 25000000);
}

/* Another thread takes the CPU again and again. */
TEST_F(overflow, preempted)
{
	const struct sampled s = { EV_INSNS, FIXED(0), 1009 };
	pid_t pid;

	ASSERT_EQ(0, pin(0));
	pid = start_preempter(0, 50000);
	ASSERT_LT(0, pid);
	count_overflows(_metadata, &self->set, &s, 3 * TURNS);
	EXPECT_LT(50, page_switches(&self->set));
	EXPECT_EQ(0, stop_disturber(pid));
}

/* So does one that counts, and overflows, with the same counters. */
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
	count_overflows(_metadata, &self->set, &s, 5 * TURNS);
	EXPECT_LT(50, page_switches(&self->set));
	EXPECT_EQ(0, stop_disturber(pid));
}

TEST_F(overflow, migrated)
{
	const struct sampled s = { EV_INSNS, 1, 1009 };
	pid_t pid = start_migrator(my_tid(), 50000);

	ASSERT_LT(0, pid);
	count_overflows(_metadata, &self->set, &s, 3 * TURNS);
	EXPECT_LT(50, page_migrations(&self->set));
	EXPECT_EQ(0, stop_disturber(pid));
}

/* Two threads of a process, with periods of their own, yield to each other. */
struct yielder {
	pthread_t thread;
	uint64_t period;
	int wrong;
};

#define YIELDS	500

/* Each time that it starts it counts up to the end of the period, and stands. */
static void *yield_and_overflow(void *arg)
{
	struct yielder *y = arg;
	struct vpmc_read read;
	struct set set;
	uint64_t n;

	set.fd = vpmc_open();
	set.page = vpmc_map(set.fd);
	control_init(&set.control, VPMC_CONTROL_STOPPED);
	control_add_period(&set.control, EV_INSNS, FIXED(0), y->period);
	control_add(&set.control, EV_BRANCHES, 0);
	y->wrong = pin(0) || set_control(&set);
	for (n = 1; n <= 50; n++) {
		y->wrong += set_measure(&set, code_yield, YIELDS, 10) != 0;
		y->wrong += vpmc_read(set.fd, &read) != 0;
		y->wrong += read.sum[0] != n * y->period;
		y->wrong += page_of(&set)->overflows != n;
	}
	y->wrong += page_of(&set)->switches < YIELDS;
	set_close(&set);
	return NULL;
}

TEST_F(overflow, threads_yield)
{
	struct yielder y[2] = { { .period = 1000 }, { .period = 7919 } };

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
		missed += overflow_rest(code_overflow_log[i].ip);
	}
	sums = code_add(whole(TURNS),
			code_times(CODE_OVERFLOW_RESUMED, code_overflows));
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

TEST_HARNESS_MAIN
