// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU is revoked, or the set is programmed again, at each of vpmc's
 * instructions that a thread executes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "rdpmc.h"

FIXTURE(sweep_revoke)
{
	struct sweep *s;
	unsigned long zeros, counts;	/* what RDPMC returned */
	unsigned long granted, refused;	/* how often CONTROL was */
};

FIXTURE_SETUP(sweep_revoke)
{
	self->s = sweep_start_kernel();
	ASSERT_NE(NULL, self->s);
	/* A revocation would take the counters of the urgent thread. */
	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
}

FIXTURE_TEARDOWN(sweep_revoke)
{
	EXPECT_EQ(0, sweep_stop(self->s));
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
}

/* A reader that saw its set run is stopped before its RDPMC, and revoked. */
static int wrong_fault(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	struct vpmc_read read;
	uint64_t value;
	int wrong;

	wrong = set_program(&s->set, mine) ||
		vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0) ||
		write_file(REVOKE_FILE, "1") || write_file(REVOKE_FILE, "0");
	wrong += sweep_arm(s, k) != 0;
	value = vpmc_rdpmc(s->set.page->slot[0].index);
	sweep_disarm(s);
	*(value ? &self->counts : &self->zeros) += 1;
	wrong += vpmc_read(s->set.fd, &read) != 0;
	wrong += read.state != (s->disturbed ? VPMC_STATE_RUNNING :
					       VPMC_STATE_REVOKED);
	return wrong;
}

TEST_F(sweep_revoke, programmed_again_in_the_fault)
{
	self->s->what = PROGRAM;
	sweep_all(_metadata, self->s, sweep_step(), wrong_fault, self);
	TH_LOG("RDPMC returned zero %lu times, a count %lu times",
	       self->zeros, self->counts);
	EXPECT_LT(0, self->zeros);
	EXPECT_LT(0, self->counts);
}

static void *rdpmc_thread(void *arg)
{
	struct set *set = arg;

	return (void *)(long)may_rdpmc(set->control.counter[0].index);
}

/* By a thread without a set: it gets what the address space has. */
static bool other_thread_may_rdpmc(struct set *set)
{
	pthread_t thread;
	void *allowed = (void *)1;

	if (!pthread_create(&thread, NULL, rdpmc_thread, set))
		pthread_join(thread, &allowed);
	return allowed;
}

/* A CONTROL was revoked, or refused: nothing of it remains. */
static int wrong_remains(struct sweep *s, const struct vpmc_read *read)
{
	uint32_t holder = s->what == REVOKE ? VPMC_HOLDER_REVOKED :
					      VPMC_HOLDER_NONE;

	return (read->state != VPMC_STATE_REVOKED) +
	       (s->set.page->state != VPMC_STATE_REVOKED) +
	       (read->sum[0] != read->sum[2]) +
	       (pmu_holder(s->set.fd) != holder) +
	       other_thread_may_rdpmc(&s->set) + (perf_error(10) != 0);
}

/*
 * Why a CONTROL was refused. It goes on while the revocation waits for its CPU, so it
 * may find that counting is forbidden, or is allowed again.
 */
static int wrong_reason(const struct sweep *s)
{
	uint32_t reason = s->set.control.reason;

	return !s->disturbed ||
	       (reason != VPMC_REASON_REVOKED &&
		(s->what != REVOKE_AND_ALLOW || reason != VPMC_REASON_PMU_BUSY));
}

/* The results of CONTROL, START, a loop and STOP. */
static int wrong_control(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	struct set *set = &s->set;
	struct vpmc_read read;
	int err, wrong;

	wrong = sweep_arm(s, k) != 0;
	err = set_program(set, mine);
	if (!err && set_measure(set, code_loop, 100, 0) && !s->disturbed)
		wrong++;
	sweep_disarm(s);
	wrong += err && (err != -EBUSY || wrong_reason(s));
	*(err ? &self->refused : &self->granted) += 1;
	wrong += vpmc_read(set->fd, &read) != 0;
	/* It had not begun when all was over, or it was not disturbed at all. */
	if (!err && read.state == VPMC_STATE_STOPPED &&
	    (!s->disturbed || s->what == REVOKE_AND_ALLOW))
		wrong += wrong_after(set, CODE_LOOP(100));
	else
		wrong += wrong_remains(s, &read);
	return wrong + (write_file(REVOKE_FILE, "0") != 0);
}

static void sweep_control(struct __test_metadata *_metadata,
			  FIXTURE_DATA(sweep_revoke) *self)
{
	sweep_all(_metadata, self->s, sweep_step(), wrong_control, self);
	TH_LOG("granted %lu times, refused %lu times", self->granted,
	       self->refused);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
}

TEST_F(sweep_revoke, at_each_instruction_of_control)
{
	self->s->what = REVOKE;
	sweep_control(_metadata, self);
}

/*
 * A thread that still has RDPMC would read perf's counts. The set is not used.
 */
static int wrong_permission(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	bool allowed;
	int err, wrong;

	wrong = sweep_arm(s, k) != 0;
	err = set_program(&s->set, mine);
	sweep_disarm(s);
	allowed = other_thread_may_rdpmc(&s->set);
	*(err ? &self->refused : &self->granted) += 1;
	wrong += allowed != (!err && !s->disturbed);
	return wrong + (write_file(REVOKE_FILE, "0") != 0);
}

TEST_F(sweep_revoke, no_rdpmc_after_control)
{
	self->s->what = REVOKE;
	sweep_all(_metadata, self->s, sweep_step(), wrong_permission, self);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
}

TEST_F(sweep_revoke, and_allowed_at_each_instruction_of_control)
{
	self->s->what = REVOKE_AND_ALLOW;
	sweep_control(_metadata, self);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
