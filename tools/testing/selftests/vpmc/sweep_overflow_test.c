// SPDX-License-Identifier: GPL-2.0
/*
 * Ends of periods whose interrupt comes late: at each of vpmc's instructions
 * that the kernel executes after that, also when another thread has the CPU.
 * And ends of periods that are disturbed, from START to STOP. The right thread
 * gets one signal and one record, and no counts change. For counters of 20
 * bits.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "ring.h"

/*
 * The period ends in this loop. Other counters can pass zero in it, too, and no
 * interrupt comes before the period's: that is to be less than half their range.
 */
#define TURNS	110000
#define PERIOD	200000

/* Of a run that is short, because it is disturbed at each instruction. */
#define SHORT_TURNS	600
#define SHORT_PERIOD	1000

FIXTURE(late_overflow)
{
	struct sweep *s;
	struct set set;
	const struct vpmc_ring *ring;
	uint64_t period;
	struct partner *partner;
	struct code_count sums;
};

FIXTURE_VARIANT(late_overflow)
{
	unsigned int flags;
	struct code_count each;
};

FIXTURE_VARIANT_ADD(late_overflow, resume)
{
	.each = CODE_OVERFLOW_RESUMED,
};

FIXTURE_VARIANT_ADD(late_overflow, rearm)
{
	.flags = VPMC_CONTROL_REARM,
	.each = CODE_OVERFLOW,
};

static int program(struct set *set, unsigned int flags, uint64_t period)
{
	int i;

	control_init(&set->control, VPMC_CONTROL_STOPPED | flags);
	set->control.signal = OVERFLOW_SIGNAL;
	set->control.ring_records = 4;
	set->control.ring_watermark = 1;
	for (i = 0; mine[i].evtsel; i++)
		control_add_period(&set->control, mine[i].evtsel, mine[i].index,
				   i ? 0 : period);
	return set_control(set);
}

FIXTURE_SETUP(late_overflow)
{
	struct vpmc_info info;

	self->s = sweep_start(others);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_LT(0, sweep_kernel_ranges());
	ASSERT_EQ(0, set_open(&self->set, mine));
	self->period = PERIOD;
	ASSERT_EQ(0, program(&self->set, variant->flags, PERIOD));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	ASSERT_EQ(20, info.width);
	self->s->what = LATE;
}

FIXTURE_TEARDOWN(late_overflow)
{
	if (self->partner)
		EXPECT_EQ(0, stop_partner(self->partner));
	set_close(&self->set);
	EXPECT_EQ(0, sweep_stop(self->s));
}

typedef int (*late_fn)(struct sweep *s, struct set *set, unsigned long k);

/* One signal, of this counter, and the set as it is afterwards. */
static int told_wrong(const struct set *set)
{
	const volatile struct vpmc_page *page = set->page;

	if (code_overflows == 1 && code_overflow_log[0].mask == 1 &&
	    code_overflow_log[0].code == POLL_MSG && !code_overflow_error &&
	    page->overflows == 1 && page->state == VPMC_STATE_STOPPED)
		return 0;
	fprintf(stderr, "# %llu signals, %llu overflows, state %u\n",
		(unsigned long long)code_overflows,
		(unsigned long long)page->overflows, page->state);
	return 1;
}

/* One record with the signal's values, and poll() reports it. */
static int recorded_wrong(const struct set *set, const struct vpmc_ring *ring,
			  uint64_t period)
{
	const struct vpmc_record *r = vpmc_ring_record(ring, 0);
	uint32_t unread = vpmc_ring_unread(ring);

	if (unread == 1 && r->mask == 1 && r->periods == 1 && !r->lost &&
	    r->ip == code_overflow_log[0].ip && r->sum[0] >= period &&
	    r->ticks <= set->page->tsc_base && polled(set, 0) == POLLIN &&
	    !ring_consume(set, 1) && !polled(set, 0))
		return 0;
	fprintf(stderr, "# %u records: mask %#x ip %#llx sum %llu\n", unread,
		r->mask, (unsigned long long)r->ip, (unsigned long long)r->sum[0]);
	return 1;
}

/* Did the loop run on after the signal, and not only what followed it? */
static bool told_in_loop(void)
{
	uint64_t ip = code_overflow_log[0].ip;

	return ip >= (uint64_t)code_loop && ip < (uint64_t)code_long_loop;
}

/* @each: what the handler adds if it comes in the loop. */
static void sweep_late(struct __test_metadata *_metadata,
		       FIXTURE_DATA(late_overflow) *self, late_fn run,
		       struct code_count count, struct code_count each)
{
	unsigned long k = 0, most = 0;	/* at the end alone */
	int wrong = 0, past = 0, errors;
	struct sweep *s = self->s;
	struct vpmc_read read;

	while (past < SWEEP_PAST && wrong <= 5) {
		errors = take_overflows(&self->set, OVERFLOW_SIGNAL) != 0;
		errors += run(s, &self->set, k) != 0;
		errors += sweep_wrong(s, k);
		errors += told_wrong(&self->set);
		errors += recorded_wrong(&self->set, self->ring, self->period);
		errors += vpmc_read(self->set.fd, &read) ||
			  wrong_sums(&self->set, &read, told_in_loop() ?
				     code_add(count, each) : count);
		errors += self->partner && partner_wrong(self->partner);
		if (errors)
			fprintf(stderr, "# at instruction %lu, %#lx\n", k,
				s->at.pc);
		wrong += errors != 0;
		if (s->fired) {
			past = most = 0;
			k++;
			continue;
		}
		past++;
		most = s->at.count > most ? s->at.count : most;
	}
	TH_LOG("%lu instructions, disturbed at %lu, %d mismatches", most, k,
	       wrong);
	EXPECT_EQ(0, wrong);
	/*
	 * Each one was disturbed. After a tick the same takes an instruction
	 * more than before it, and with lockdep a few.
	 */
	EXPECT_LE(most, k);
	EXPECT_GE(most + 8, k);
	EXPECT_LT(20, k);
}

/* The switch, away and back. */
static int run_yield(struct sweep *s, struct set *set, unsigned long k)
{
	int err = vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0);

	return (err || sweep_body(s, set, k, code_yield, 1, TURNS)) ? 1 : 0;
}

static void sweep_yield(struct __test_metadata *_metadata,
			FIXTURE_DATA(late_overflow) *self,
			struct code_count each, bool process,
			const struct choice *choice)
{
	self->partner = start_partner(process, choice);
	ASSERT_NE(NULL, self->partner);
	sweep_late(_metadata, self, run_yield,
		   code_add(each, code_add(code_add(CODE_MEASURE, CODE_ARMED),
					   CODE_YIELD(1, TURNS))),
		   CODE_COUNT(0, 0));
}

TEST_F(late_overflow, switch_to_thread)
{
	sweep_yield(_metadata, self, variant->each, false, NULL);
}

TEST_F(late_overflow, switch_to_process)
{
	sweep_yield(_metadata, self, variant->each, true, NULL);
}

TEST_F(late_overflow, switch_to_counting_thread)
{
	sweep_yield(_metadata, self, variant->each, false, mine);
}

TEST_F(late_overflow, switch_to_counting_process)
{
	sweep_yield(_metadata, self, variant->each, true, mine);
}

TEST_F(late_overflow, switch_to_process_counting_others)
{
	sweep_yield(_metadata, self, variant->each, true, others);
}

/*
 * If the interrupt is held back beyond START, STOP finds it: the handler runs
 * after that, and has nothing to resume.
 */
static int run_stop(struct sweep *s, struct set *set, unsigned long k)
{
	int err = vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0);

	err = err ?: sweep_arm(s, k);
	err = err ?: set_measure(set, code_loop, TURNS, 0);
	sweep_disarm(s);
	return err;
}

TEST_F(late_overflow, start_stop)
{
	sweep_late(_metadata, self, run_stop,
		   code_add(CODE_MEASURE, CODE_LOOP(TURNS)), variant->each);
}

/* By nothing, another thread or another CPU; the counts are what they are without. */
static int wrong_disturbed(void *arg, unsigned long k)
{
	FIXTURE_DATA(late_overflow) *self = arg;
	const volatile struct code_overflow *log = &code_overflow_log[0];
	const struct vpmc_record *record = vpmc_ring_record(self->ring, 0);
	struct set *set = &self->set;
	struct vpmc_read read;
	int err;

	err = pin(0) || take_overflows(set, OVERFLOW_SIGNAL) ||
	      vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0) || sweep_arm(self->s, k);
	err = err ?: set_measure(set, code_loop, SHORT_TURNS, 0);
	sweep_disarm(self->s);
	err += told_wrong(set);
	err += recorded_wrong(set, self->ring, self->period);
	if (log->ip != loop_ip(self->period) || record->sum[0] != self->period) {
		fprintf(stderr, "# told at %#llx, not %#llx; sum %llu\n",
			(unsigned long long)log->ip,
			(unsigned long long)loop_ip(self->period),
			(unsigned long long)record->sum[0]);
		err++;
	}
	return err + (vpmc_read(set->fd, &read) ||
		      wrong_sums(set, &read, self->sums));
}

TEST_F(late_overflow, in_time_and_disturbed)
{
	struct sweep *s = self->s;

	ASSERT_EQ(0, ring_unmap(&self->set, self->ring));
	self->period = SHORT_PERIOD;
	ASSERT_EQ(0, program(&self->set, variant->flags, self->period));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
	self->sums = code_add(variant->each,
			      code_add(CODE_MEASURE, CODE_LOOP(SHORT_TURNS)));
	s->tid = my_tid();
	s->fd = self->set.fd;
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	for (s->what = INTERRUPT; s->what <= READ; s->what++)
		sweep_all(_metadata, s, sweep_step(), wrong_disturbed, self);
	EXPECT_EQ(0, write_file(RATE, "100000"));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
