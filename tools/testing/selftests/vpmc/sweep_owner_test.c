// SPDX-License-Identifier: GPL-2.0
/*
 * perf takes or releases the PMU at each of vpmc's instructions while the first
 * set asks for it. One of the two gets it, and the other one is refused with a
 * reason.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "target.h"

FIXTURE(sweep_owner)
{
	struct sweep *s;
	struct target target;	/* perf's events are of a thread that sleeps */
	unsigned long granted, busy, perf;	/* CONTROLs with this result */
};

FIXTURE_SETUP(sweep_owner)
{
	ASSERT_EQ(0, target_start(&self->target));
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
}

FIXTURE_TEARDOWN(sweep_owner)
{
	EXPECT_EQ(0, sweep_stop(self->s));
	EXPECT_EQ(0, target_end(&self->target));
}

/*
 * Ask for the PMU, disturbed at the k-th instruction; who gets it counts. The
 * number of errors.
 */
static int wrong_request(FIXTURE_DATA(sweep_owner) *self, unsigned long k)
{
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open() };
	int err, wrong = set.fd < 0;

	wrong += sweep_arm(s, k) != 0;
	err = set_program(&set, mine);
	sweep_disarm(s);
	if (!err) {
		self->granted++;
		wrong += set_measure(&set, code_nothing, 0, 0) ||
			 wrong_after(&set, CODE_NOTHING);
	} else if (err == -EBUSY &&
		   set.control.reason == VPMC_REASON_PMU_BUSY) {
		self->busy++;
	} else if (err == -EBUSY &&
		   set.control.reason == VPMC_REASON_PMU_PERF) {
		self->perf++;
	} else {
		fprintf(stderr, "# error %d, reason %u\n", err,
			set.control.reason);
		wrong++;
	}
	set_close(&set);
	return wrong;
}

/*
 * perf leaves at some time. CONTROL succeeds if perf was gone before it
 * mattered. It fails without naming perf if perf left after the refusal, and it
 * names perf if perf was there all the time.
 */
static int wrong_if_perf_leaves(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_owner) *self = arg;
	unsigned long busy = self->busy, perf = self->perf;
	struct sweep *s = self->s;
	int wrong;

	s->perf = perf_open_of(self->target.pid, PERF_TYPE_HARDWARE,
			       PERF_COUNT_HW_INSTRUCTIONS, PERF_USER, -1);
	if (s->perf < 0)
		return 1;
	wrong = wrong_request(self, k);
	if (!s->disturbed)
		close(s->perf);
	wrong += perf && self->perf == perf;
	wrong += busy && self->busy == busy && self->perf == perf;
	return wrong;
}

TEST_F(sweep_owner, perf_leaves)
{
	self->s->what = PERF_LEAVES;
	sweep_all(_metadata, self->s, sweep_step(), wrong_if_perf_leaves, self);
	TH_LOG("granted %lu times, refused %lu times, and for perf %lu times",
	       self->granted, self->busy, self->perf);
	EXPECT_LT(0, self->perf);
	/* There close() waits for the CPU that is held: perf may be there all along. */
	if (!kernel_is_rt()) {
		EXPECT_LT(0, self->granted);
		EXPECT_LT(0, self->busy);
	}
}

/* Either it was first, or it is refused. */
static int wrong_if_perf_comes(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_owner) *self = arg;
	unsigned long granted = self->granted;
	struct sweep *s = self->s;
	int wrong;

	s->perf = -EBUSY;
	wrong = wrong_request(self, k);
	wrong += granted && self->granted == granted;
	wrong += (s->perf < 0) != (self->granted != granted);
	if (s->perf >= 0)
		close(s->perf);
	return wrong;
}

TEST_F(sweep_owner, perf_comes)
{
	self->s->what = PERF_COMES;
	sweep_all(_metadata, self->s, sweep_step(), wrong_if_perf_comes, self);
	TH_LOG("granted %lu times, refused for perf %lu times", self->granted,
	       self->perf);
	EXPECT_LT(0, self->granted);
	EXPECT_EQ(0, self->busy);
	EXPECT_LT(0, self->perf);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
