// SPDX-License-Identifier: GPL-2.0
/*
 * The read loop that the ABI header prints, disturbed at each instruction that
 * it executes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "printed_read.h"

#define MAX_N	5

/* What the loop returned, and the sums after STOP. */
struct result {
	const struct vpmc_page *page;
	uint64_t count[VPMC_MAX_COUNTERS];
	uint64_t ticks;
	unsigned int turns;
	uint64_t preemptions;	/* by the scheduler's count */
	struct vpmc_read read;
};

static long read_body(long arg, long unused)
{
	struct result *result = (struct result *)arg;

	result->turns = read_printed(result->page, result->count,
				     &result->ticks);
	return 0;
}

FIXTURE(sweep_read)
{
	struct sweep *s;
	const struct choice *mine;
	unsigned int n;
	struct result base;	/* undisturbed */
	uint64_t head;		/* instructions before the loop */
	uint64_t turn;		/* instructions in one turn, once known */
	unsigned int again;	/* times that it took more than one, ... */
	unsigned int needless;	/* ... and nobody had taken its CPU */
};

FIXTURE_VARIANT(sweep_read)
{
	struct choice mine[MAX_N + 1];
};

FIXTURE_VARIANT_ADD(sweep_read, one)
{
	.mine = { { EV_INSNS, FIXED(0) } },
};

FIXTURE_VARIANT_ADD(sweep_read, five)
{
	.mine = { { EV_INSNS, 2 }, { EV_INSNS, FIXED(0) }, { EV_INSNS, 3 },
		  { EV_INSNS, 0 }, { EV_INSNS, 1 } },
};

/* Once, disturbed at the k-th instruction. */
static int run(struct sweep *s, unsigned long k, struct result *result)
{
	struct set *set = &s->set;
	uint64_t before;
	int err = pin(0);

	memset(result, 0, sizeof(*result));
	result->page = set->page;
	err = err ?: vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0);
	before = my_preemptions();
	err = err ?: sweep_body(s, set, k, read_body, (long)result, 0);
	result->preemptions = my_preemptions() - before;
	/* STOP has found nothing to stop */
	if (s->what == REVOKE && s->disturbed)
		err = 0;
	return err ?: vpmc_read(set->fd, &result->read);
}

FIXTURE_SETUP(sweep_read)
{
	self->s = sweep_start(others);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_EQ(0, pmu_trigger_range(0, (unsigned long)__start_read_loop,
				       (unsigned long)__stop_read_loop));
	self->mine = variant->mine;
	while (variant->mine[self->n].evtsel)
		self->n++;
	ASSERT_EQ(0, set_open(&self->s->set, variant->mine));
	self->s->tid = my_tid();
	self->s->fd = self->s->set.fd;

	/* READ before the first instruction, and nothing at all. */
	self->s->what = READ;
	ASSERT_EQ(0, run(self->s, 0, &self->base));
	ASSERT_TRUE(self->s->disturbed);
	self->head = self->s->read.sum[0];
	ASSERT_EQ(0, run(self->s, ~0UL, &self->base));
	ASSERT_FALSE(self->s->fired);
	ASSERT_EQ(1, self->base.turns);
	ASSERT_LT(self->head, self->base.count[0]);
}

FIXTURE_TEARDOWN(sweep_read)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

static bool all_are(const FIXTURE_DATA(sweep_read) *self, const void *counts,
		    uint64_t want)
{
	const uint64_t *count = counts;
	unsigned int i;

	for (i = 0; i < self->n && count[i] == want; i++)
		;
	return i == self->n;
}

/* Does the loop return what it would return undisturbed, but for more? */
static bool as_undisturbed(const FIXTURE_DATA(sweep_read) *self,
			   const struct result *result, uint64_t more)
{
	unsigned int i;

	for (i = 0; i < self->n; i++)
		if (result->count[i] != self->base.count[i] + more)
			return false;
	return true;
}

/* The loop ran on, perhaps for some turns more. */
static int wrong_running(FIXTURE_DATA(sweep_read) *self, struct result *result)
{
	uint64_t more = result->read.sum[0] - self->base.read.sum[0];

	if (!self->turn && result->turns == 2)
		self->turn = more;
	return more != (result->turns - 1) * self->turn ||
	       !as_undisturbed(self, result, more) ||
	       !all_are(self, result->read.sum, result->read.sum[0]);
}

/* It was stopped after the k-th instruction: the whole page shows that. */
static int wrong_stopped(const FIXTURE_DATA(sweep_read) *self,
			 const struct result *result, unsigned long k)
{
	return !all_are(self, result->read.sum, self->head + k) ||
	       (!all_are(self, result->count, self->head + k) &&
		!as_undisturbed(self, result, 0));
}

/* It was started there: nothing was counted, or what came after that. */
static int wrong_started(const FIXTURE_DATA(sweep_read) *self,
			 const struct result *result)
{
	const __u64 *sum = result->read.sum;

	if (!result->turns)
		return !all_are(self, result->count, 0) ||
		       !all_are(self, sum, sum[0]);
	return !as_undisturbed(self, result,
			       result->count[0] - self->base.count[0]) ||
	       sum[0] - result->count[0] !=
	       self->base.read.sum[0] - self->base.count[0] ||
	       !all_are(self, sum, sum[0]);
}

static int wrong_result(FIXTURE_DATA(sweep_read) *self, struct result *result,
			unsigned long k)
{
	struct sweep *s = self->s;

	if (s->disturbed && s->what == REVOKE)
		return wrong_stopped(self, result, k) ||
		       result->read.state != VPMC_STATE_REVOKED;
	if (s->disturbed && s->what == STOP)
		return wrong_stopped(self, result, k);
	if (s->what == START)
		return wrong_started(self, result);
	if (s->disturbed && s->what == READ &&
	    !all_are(self, s->read.sum, self->head + k))
		return 1;
	return wrong_running(self, result);
}

static int wrong_loop(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_read) *self = arg;
	struct sweep *s = self->s;
	struct result result;
	int errors;

	errors = run(s, k, &result) != 0;
	errors += wrong_result(self, &result, k);
	if (errors)
		fprintf(stderr, "# %u turns, %llu, sum %llu\n", result.turns,
			(unsigned long long)result.count[0],
			(unsigned long long)result.read.sum[0]);
	if (s->what == REVOKE) {
		errors += write_file(REVOKE_FILE, "0");
		errors += set_program(&s->set, self->mine);
	}
	self->again += result.turns > 1;
	self->needless += result.turns > 1 &&
			  !(result.preemptions && result.read.switches);
	return errors;
}

/*
 * The loop is short: each instruction, however slow the kernel is. While CPU 0
 * is held time passes, after which the fair server may take it away.
 */
static void sweep_loop(struct __test_metadata *_metadata,
		       FIXTURE_DATA(sweep_read) *self)
{
	struct sweep *s = self->s;

	self->again = self->needless = 0;
	sweep_all(_metadata, s, 1, wrong_loop, self);
	TH_LOG("%u retries", self->again);
	if (s->what == PREEMPT || s->what == MIGRATE) {
		EXPECT_LT(s->at.count / 2, self->again);
		EXPECT_GT(s->at.count, self->again);
	} else if (s->what == INTERRUPT || s->what == READ) {
		EXPECT_EQ(0, self->needless);
	}
}

TEST_F(sweep_read, each_instruction)
{
	for (self->s->what = 0; self->s->what < NR_DISTURBANCES; self->s->what++)
		sweep_loop(_metadata, self);
}

/* The counters go to a thread of this process that counts the same, and back. */
TEST_F(sweep_read, handed_on_at_each_instruction)
{
	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
	ASSERT_EQ(0, start_urgent_thread(&self->s->urgent, self->mine));
	self->s->what = PREEMPT;
	sweep_loop(_metadata, self);
}

/* The urgent thread is stopped, because a revocation would take its counters. */
TEST_F(sweep_read, revoked_at_each_instruction)
{
	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
	self->s->what = REVOKE;
	sweep_loop(_metadata, self);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
