// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_overflow_rate: all sets on a CPU share its interrupts, and a set that needs
 * few of them gets them whatever others do.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <sched.h>
#include "interrupts.h"
#include "overflow.h"

#define HASTY		8
#define TURNS		50000		/* until the next thread's turn */
#define CALM_PERIOD	1000000
#define CALM_PERIODS	50

struct runner {
	uint64_t period;
	int err;
	volatile bool *stop;
	volatile uint64_t overflows, merged;
	volatile uint64_t late;		/* turns after which an end was not told */
	pthread_t thread;
};

static void *run(void *arg)
{
	struct runner *r = arg;
	uint64_t count;
	struct set set;

	r->err = pin(1) ?: open_with_period(&set, r->period, 0);
	if (r->err)
		return NULL;
	set.control.flags = VPMC_CONTROL_REARM;
	r->err = set_control(&set);
	while (!r->err && !*r->stop) {
		code_loop(TURNS, 0);
		vpmc_read_page(set.page, &count, NULL);
		r->late += count / r->period > page_of(&set)->overflows;
		sched_yield();
		r->overflows = page_of(&set)->overflows;
		r->merged = page_of(&set)->merged;
	}
	set_close(&set);
	return NULL;
}

/*
 * What the rate allows, the one that is too many, and the first one and delayed ones of
 * each set.
 */
static uint64_t most_in_a_tick(void)
{
	uint64_t budget = read_number(RATE) * tick_length() / 1000000000 + 1;

	return budget + 1 + HASTY * (1 + delayed_in_a_tick(1000));
}

FIXTURE(rate)
{
	struct runner runner[HASTY];
	volatile bool stop;
	int nr;
};

FIXTURE_SETUP(rate)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_low_rate());
}

FIXTURE_TEARDOWN(rate)
{
	self->stop = true;
	for (int i = 0; i < self->nr; i++) {
		EXPECT_EQ(0, pthread_join(self->runner[i].thread, NULL));
		EXPECT_EQ(0, self->runner[i].err);
	}
	EXPECT_EQ(0, write_file(RATE, "100000"));
}

/* Starts a thread on CPU 1. The teardown ends it. */
static struct runner *start(FIXTURE_DATA(rate) *self, uint64_t period)
{
	struct runner *r = &self->runner[self->nr];

	*r = (struct runner){ .period = period, .stop = &self->stop };
	if (pthread_create(&r->thread, NULL, run, r))
		return NULL;
	self->nr++;
	return r;
}

/* Returns the interrupts of CPU 1 in @ticks ticks, and tells how many it were. */
static uint64_t interrupts_in(uint64_t *ticks)
{
	uint64_t before, from = coarse_time();

	before = vpmc_interrupts(1);
	usleep(*ticks * tick_length() / 1000);
	before = vpmc_interrupts(1) - before;
	*ticks = (coarse_time() - from) / tick_length();
	return before;
}

/* One thread gets what the rate allows, and few more. */
TEST_F(rate, of_one_thread)
{
	uint64_t budget = read_number(RATE) * tick_length() / 1000000000 + 1;
	uint64_t ticks = 50, n;

	ASSERT_NE(NULL, start(self, 1000));
	usleep(10 * tick_length() / 1000);
	n = interrupts_in(&ticks);
	TH_LOG("%llu interrupts in %llu ticks", (unsigned long long)n,
	       (unsigned long long)ticks);
	EXPECT_LT(ticks * budget / 2, n);
	EXPECT_GE((ticks + 2) * (budget + 1 + delayed_in_a_tick(budget * 1000)), n);
}

/* Eight threads get no more of a CPU than one. */
TEST_F(rate, of_many_threads)
{
	uint64_t ticks = 50, n;

	for (int i = 0; i < HASTY; i++)
		ASSERT_NE(NULL, start(self, 1000));
	usleep(10 * tick_length() / 1000);
	n = interrupts_in(&ticks);
	TH_LOG("%d threads: %llu interrupts in %llu ticks", HASTY,
	       (unsigned long long)n, (unsigned long long)ticks);
	EXPECT_LT(ticks * most_in_a_tick() / 4, n);
	EXPECT_GE((ticks + 2) * most_in_a_tick(), n);
	for (int i = 0; i < HASTY; i++)
		EXPECT_LT(0, self->runner[i].merged);
}

/* What that costs another set on this CPU: nothing, if it needs one in a tick. */
TEST_F(rate, of_a_calm_one)
{
	struct runner *calm = start(self, CALM_PERIOD);

	ASSERT_NE(NULL, calm);
	for (int i = 1; i < HASTY; i++)
		ASSERT_NE(NULL, start(self, 1000));
	for (int i = 0; i < 1000 && calm->overflows < CALM_PERIODS; i++)
		usleep(tick_length() / 1000);
	EXPECT_LE(CALM_PERIODS, calm->overflows);
	EXPECT_EQ(0, calm->merged);
	EXPECT_EQ(0, calm->late);
	for (int i = 1; i < HASTY; i++) {
		EXPECT_LT(0, self->runner[i].merged);
		EXPECT_LT(0, self->runner[i].late);
	}
}

NEEDS(
	{ "*", TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
);

TEST_HARNESS_MAIN
