// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters is "yield": perf gets the PMU at each of vpmc's instructions
 * that a thread executes for its set. And a thread uses its set at each of vpmc's
 * instructions that give the PMU to perf and take it back. SWEEP_STEP=N in the
 * environment disturbs at every N-th of them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "pause.h"

#define WORK_CPUS	"/sys/devices/virtual/workqueue/cpumask"
#define TURNS		100

static const struct choice none[] = { {} };

FIXTURE(sweep_pause)
{
	struct sweep *s;
	char before[48];
	int software;
	unsigned long counted, paused, refused;
};

/* In this process, and used by both threads. */
static FIXTURE_DATA(sweep_pause) *data;
static struct set other;	/* of the thread on CPU 1 */
static uint64_t cleared;	/* when it was, by the TSC */

static int open_other(struct sweep *s)
{
	cleared = vpmc_rdtsc();
	return set_open(&other, pair) ?: vpmc_ioctl(other.fd, VPMC_IOC_START, 0);
}

FIXTURE_SETUP(sweep_pause)
{
	struct sweep *s;

	data = self;
	ASSERT_EQ(0, kept_counters(self->before, sizeof(self->before)));
	ASSERT_EQ(0, keep_counters("yield"));
	/* With its first event perf waits for RCU, and so for all CPUs. */
	self->software = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY,
				   PERF_USER, -1);
	ASSERT_LE(0, self->software);
	/* The work that takes the PMU back is done, and disturbed, on CPU 0. */
	ASSERT_EQ(0, write_file(WORK_CPUS, "1"));
	s = self->s = sweep_start(NULL);
	ASSERT_NE(NULL, s);
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
	ASSERT_EQ(0, set_open(&s->set, pair));
	s->fd = s->set.fd;
	s->what = CALL;
	/* At the first of our instructions the other thread opens its set. */
	s->call = open_other;
	ASSERT_EQ(0, sweep_arm(s, 0));
	ASSERT_EQ(VPMC_STATE_STOPPED, state_of(s->fd));
	sweep_disarm(s);
	ASSERT_TRUE(s->disturbed && !s->error);
	s->perf = -1;
}

FIXTURE_TEARDOWN(sweep_pause)
{
	if (self->s->perf >= 0)
		close(self->s->perf);
	set_close(&other);
	EXPECT_EQ(0, sweep_stop(self->s));
	close(self->software);
	EXPECT_EQ(0, write_file(WORK_CPUS, "3"));
	EXPECT_EQ(0, keep_counters(self->before));
}

/* After that no set runs, whatever its thread is doing. */
static int perf_comes(struct sweep *s)
{
	int err = perf_begin(&s->perf);

	if (err)
		return err;
	if (pmu_holder(s->fd) != VPMC_HOLDER_PERF ||
	    state_of(s->fd) == VPMC_STATE_RUNNING || perf_error(100))
		return -EIO;
	return 0;
}

/* The whole loop has been counted, or nothing of it, or -1. */
static int part_of(struct set *set)
{
	const struct code_count all = measured(TURNS);
	struct vpmc_read read;

	if (vpmc_read(set->fd, &read) || read.state != VPMC_STATE_STOPPED)
		return -1;
	if (!read.sum[INSNS] && !read.sum[BRANCHES])
		return 0;
	return wrong_sums(set, &read, all) ? -1 : 1;
}

/* perf has left. The set goes on from its sums. */
static int wrong_afterwards(struct set *set, int counted)
{
	struct code_count want = measured(2 * TURNS);
	struct vpmc_read read;

	if (counted)
		want = code_add(want, measured(TURNS));
	return set_measure(set, code_loop, 2 * TURNS, 0) ||
	       vpmc_read(set->fd, &read) || wrong_sums(set, &read, want);
}

static int perf_leaves(struct sweep *s)
{
	return s->perf < 0 ? 0 : perf_end(&s->perf, s->fd);
}

/* perf counts, and this thread's set does not. */
static int wrong_beside_perf(struct sweep *s)
{
	return pmu_holder(s->fd) != VPMC_HOLDER_PERF || perf_error(TURNS) ||
	       vpmc_ioctl(s->fd, VPMC_IOC_START, 0) ||
	       s->set.page->state != VPMC_STATE_PAUSED ||
	       vpmc_ioctl(s->fd, VPMC_IOC_STOP, 0);
}

/* Perhaps CONTROL, and START, a loop, STOP and READ. */
static int wrong_if_perf_comes(void *arg, unsigned long k)
{
	const bool *programs = arg;
	struct sweep *s = data->s;
	struct set *set = &s->set;
	int err, counted, wrong;

	wrong = set_clear(set) || sweep_arm(s, k);
	err = *programs ? set_program(set, pair) : 0;
	wrong += set_measure(set, code_loop, TURNS, 0) != 0;
	counted = part_of(set);
	sweep_disarm(s);
	wrong += s->perf >= 0 && wrong_beside_perf(s);
	wrong += counted < 0 || counted != part_of(set);
	wrong += err && (err != -EBUSY || !s->disturbed || counted ||
			 set->control.reason != VPMC_REASON_PMU_PERF);
	wrong += !s->disturbed && counted != 1;
	if (wrong)
		fprintf(stderr, "# CONTROL %d (reason %u), %d counted, %d\n", err,
			set->control.reason, counted, part_of(set));
	data->refused += err != 0;
	*(counted ? &data->counted : &data->paused) += 1;
	wrong += perf_leaves(s) != 0;
	return wrong + (wrong_afterwards(set, counted) != 0);
}

static void sweep_use(struct __test_metadata *_metadata,
		      FIXTURE_DATA(sweep_pause) *self, bool programs)
{
	self->s->call = perf_comes;
	sweep_all(_metadata, self->s, sweep_step(), wrong_if_perf_comes,
		  &programs);
	TH_LOG("counted %lu times, paused %lu times, refused %lu times",
	       self->counted, self->paused, self->refused);
	EXPECT_LT(0, self->counted);
	EXPECT_LT(0, self->paused);
	EXPECT_EQ(programs, self->refused > 0);
}

TEST_F_TIMEOUT(sweep_pause, perf_comes, 1200)
{
	sweep_use(_metadata, self, false);
}

TEST_F_TIMEOUT(sweep_pause, perf_comes_to_control, 1200)
{
	sweep_use(_metadata, self, true);
}

/* perf always gets the PMU, and counts. */
static int perf_gets_it(struct sweep *s)
{
	return perf_begin(&s->perf) ?: perf_error(100) ? -EIO : 0;
}

/* CONTROL of the only set: the PMU is perf's, and free for sets afterwards. */
static int wrong_if_perf_comes_to_the_only_set(void *arg, unsigned long k)
{
	struct sweep *s = data->s;
	int err, wrong;
	uint32_t reason;

	wrong = sweep_arm(s, k) != 0;
	err = set_program(&s->set, pair);
	reason = s->set.control.reason;
	wrong += set_program(&s->set, none) != 0;
	sweep_disarm(s);
	wrong += err && (err != -EBUSY || !s->disturbed ||
			 reason != VPMC_REASON_PMU_PERF);
	data->refused += err != 0;
	data->counted += !err;
	if (s->perf >= 0)
		wrong += perf_error(100) || close(s->perf);
	s->perf = -1;
	if (wrong)
		fprintf(stderr, "# CONTROL %d (reason %u)\n", err, reason);
	/* The PMU is free at once. */
	wrong += set_program(&s->set, pair) ||
		 set_measure(&s->set, code_loop, TURNS, 0) ||
		 wrong_after(&s->set, CODE_LOOP(TURNS)) ||
		 set_program(&s->set, none);
	return wrong;
}

TEST_F_TIMEOUT(sweep_pause, perf_comes_to_the_only_set, 1200)
{
	ASSERT_EQ(0, vpmc_ioctl(other.fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, set_program(&self->s->set, none));
	self->s->call = perf_gets_it;
	sweep_all(_metadata, self->s, sweep_step(),
		  wrong_if_perf_comes_to_the_only_set, self);
	TH_LOG("granted %lu times, refused %lu times", self->counted,
	       self->refused);
	EXPECT_LT(0, self->counted);
	EXPECT_LT(0, self->refused);
}

/* Nothing but this thread has counted since then. */
static int wrong_since(uint64_t tsc, struct vpmc_read *read)
{
	if (vpmc_read(other.fd, read))
		return -1;
	tsc = vpmc_rdtsc() - tsc;
	return read->ticks > tsc || read->sum[INSNS] > tsc ||
	       read->sum[BRANCHES] > read->sum[INSNS];
}

/* READ, STOP, START, a loop, STOP and START of the set of this thread, on CPU 1. */
static int use_other(struct sweep *s)
{
	struct vpmc_read first, last;
	int counted;

	if (wrong_since(cleared, &first) ||
	    vpmc_ioctl(other.fd, VPMC_IOC_STOP, 0) ||
	    wrong_since(cleared, &last) || last.state != VPMC_STATE_STOPPED ||
	    first.sum[INSNS] > last.sum[INSNS] || first.ticks > last.ticks)
		return -EIO;
	cleared = vpmc_rdtsc();
	if (set_clear(&other) || set_measure(&other, code_loop, TURNS, 0))
		return -EPROTO;
	counted = part_of(&other);
	if (counted < 0)
		return -ERANGE;
	*(counted ? &data->counted : &data->paused) += 1;
	return vpmc_ioctl(other.fd, VPMC_IOC_START, 0);
}

/* Sums of a stopped set stand, wherever the PMU goes. */
static int wrong_own(struct set *set)
{
	return wrong_after(set, CODE_LOOP(TURNS));
}

static int wrong_while_perf_comes(void *arg, unsigned long k)
{
	struct sweep *s = data->s;
	struct set *set = &s->set;
	int wrong = set_clear(set) || set_measure(set, code_loop, TURNS, 0) ||
		    sweep_arm(s, k) || perf_begin(&s->perf);

	sweep_disarm(s);
	wrong += wrong_own(set) + (state_of(other.fd) != VPMC_STATE_PAUSED);
	wrong += !!wrong_while_paused(set, s->perf, TURNS);
	wrong += perf_leaves(s) != 0;
	return wrong + (wrong_afterwards(set, 1) != 0);
}

TEST_F_TIMEOUT(sweep_pause, while_perf_comes, 1200)
{
	self->s->call = use_other;
	sweep_all(_metadata, self->s, sweep_step(), wrong_while_perf_comes, self);
	TH_LOG("counted %lu times, paused %lu times", self->counted,
	       self->paused);
	EXPECT_LT(0, self->counted);
	EXPECT_LT(0, self->paused);
}

/* This thread sleeps until its running set has been paused and goes on. */
static int wrong_while_perf_leaves(void *arg, unsigned long k)
{
	struct sweep *s = data->s;
	struct set *set = &s->set;
	int wrong;

	wrong = set_clear(set) || set_measure(set, code_loop, TURNS, 0) ||
		perf_begin(&s->perf) || vpmc_ioctl(set->fd, VPMC_IOC_START, 0) ||
		wrong_own(set) || sweep_arm(s, k) || close(s->perf);
	s->perf = -1;
	/* Not by INFO, which would be disturbed. */
	while (set->page->state == VPMC_STATE_PAUSED)
		usleep(10000);
	sweep_disarm(s);
	wrong += vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ||
		 state_of(other.fd) != VPMC_STATE_RUNNING || set_clear(set) ||
		 set_measure(set, code_loop, TURNS, 0);
	return wrong + wrong_own(set);
}

TEST_F_TIMEOUT(sweep_pause, while_perf_leaves, 1200)
{
	self->s->call = use_other;
	sweep_all(_metadata, self->s, sweep_step(), wrong_while_perf_leaves, self);
	TH_LOG("counted %lu times, paused %lu times", self->counted,
	       self->paused);
	EXPECT_LT(0, self->counted);
	EXPECT_LT(0, self->paused);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
