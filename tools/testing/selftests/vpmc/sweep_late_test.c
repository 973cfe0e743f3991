// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow interrupts that come late: a counter crosses zero in user mode, and
 * the interrupt comes at each instruction of ours that the kernel executes after
 * that. For counters of 20 bits.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"

/* More than from the start value to zero, and less than once more. */
#define TURNS	(1 << 18 | 1 << 10)

static const struct choice mine[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 1 }, { EV_INSNS, 2 }, {}
};

static const struct choice others[] = {
	{ EV_BRANCHES, 2 }, { EV_INSNS, 1 }, { EV_INSNS, FIXED(0) }, {}
};

FIXTURE(late)
{
	struct sweep *s;
	struct set set;
	struct partner *partner;
};

FIXTURE_SETUP(late)
{
	struct vpmc_info info;

	self->s = sweep_start(others);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_LT(0, sweep_kernel_ranges());
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	ASSERT_EQ(20, info.width);
	self->s->what = LATE;
}

FIXTURE_TEARDOWN(late)
{
	set_close(&self->set);
	if (self->partner)
		EXPECT_EQ(0, stop_partner(self->partner));
	EXPECT_EQ(0, sweep_stop(self->s));
}

typedef int (*late_fn)(struct sweep *s, struct set *set, unsigned long k);

/* Interrupts of ours on CPU 0, so far. */
static unsigned long interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long n = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " VPC: %lu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static void sweep_late(struct __test_metadata *_metadata,
		       FIXTURE_DATA(late) *self, late_fn run,
		       struct code_count count)
{
	unsigned long k, came, before = interrupts();
	struct sweep *s = self->s;
	int wrong = 0, errors;
	struct vpmc_read read;

	for (k = 0;; k++) {
		errors = run(s, &self->set, k) != 0;
		errors += sweep_wrong(s, k);
		errors += vpmc_read(self->set.fd, &read) ||
			  wrong_sums(&self->set, &read, count);
		errors += self->partner && partner_wrong(self->partner);
		if (errors)
			fprintf(stderr, "# at instruction %lu, %#lx\n", k,
				s->at.pc);
		wrong += errors != 0;
		if (!s->fired || wrong > 5)
			break;
	}
	came = interrupts() - before;
	TH_LOG("%lu instructions, disturbed at %lu, %lu interrupts, %d mismatches",
	       s->at.count, k, came, wrong);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(k, s->at.count);
	EXPECT_LT(20, k);
	EXPECT_LT(k, came);
}

/* The switch, away and back. */
static int run_yield(struct sweep *s, struct set *set, unsigned long k)
{
	int err = vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0);

	return (err || sweep_body(s, set, k, code_yield, 1, TURNS)) ? 1 : 0;
}

static void sweep_yield(struct __test_metadata *_metadata,
			FIXTURE_DATA(late) *self, bool process,
			const struct choice *choice)
{
	self->partner = start_partner(process, choice);
	ASSERT_NE(NULL, self->partner);
	sweep_late(_metadata, self, run_yield,
		   code_add(code_add(CODE_MEASURE, CODE_ARMED),
			    CODE_YIELD(1, TURNS)));
}

TEST_F(late, switch_to_thread)
{
	sweep_yield(_metadata, self, false, NULL);
}

TEST_F(late, switch_to_process)
{
	sweep_yield(_metadata, self, true, NULL);
}

TEST_F(late, switch_to_counting_thread)
{
	sweep_yield(_metadata, self, false, mine);
}

TEST_F(late, switch_to_counting_process)
{
	sweep_yield(_metadata, self, true, mine);
}

TEST_F(late, switch_to_process_counting_others)
{
	sweep_yield(_metadata, self, true, others);
}

static int run_stop(struct sweep *s, struct set *set, unsigned long k)
{
	int err = vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0);

	err = err ?: sweep_arm(s, k);
	err = err ?: set_measure(set, code_loop, TURNS, 0);
	sweep_disarm(s);
	return err;
}

TEST_F(late, start_stop)
{
	sweep_late(_metadata, self, run_stop,
		   code_add(CODE_MEASURE, CODE_LOOP(TURNS)));
}

/* With the set goes the PMU; the interrupt perhaps comes after that. */
static int run_unlink(struct sweep *s, struct set *set, unsigned long k)
{
	int err;

	set_close(set);
	err = set_open(set, mine);
	err = err ?: sweep_arm(s, k);
	err = err ?: code_measure(set->fd, VPMC_IOC_START, VPMC_IOC_UNLINK,
				  code_loop, TURNS, 0);
	sweep_disarm(s);
	return err;
}

TEST_F(late, unlink)
{
	sweep_late(_metadata, self, run_unlink,
		   code_add(CODE_MEASURE, CODE_LOOP(TURNS)));
}

TEST_HARNESS_MAIN
