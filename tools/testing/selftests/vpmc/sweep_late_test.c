// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow interrupts that come late: a counter crosses zero in user mode, and
 * the interrupt comes at each of vpmc's instructions that the kernel executes
 * after that. For counters of 20 bits.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "interrupts.h"
#include "sweep.h"

/* More than from the start value to zero, and less than once more. */
#define TURNS	(1 << 18 | 1 << 10)

FIXTURE(late)
{
	struct sweep *s;
};

static struct sweep *start_late(struct __test_metadata *_metadata)
{
	struct sweep *s = sweep_start_kernel();
	struct vpmc_info info;

	ASSERT_NE(NULL, s);
	ASSERT_EQ(0, vpmc_info(s->fd, &info));
	ASSERT_EQ(20, info.width);
	s->what = LATE;
	return s;
}

FIXTURE_SETUP(late)
{
	self->s = start_late(_metadata);
}

FIXTURE_TEARDOWN(late)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

typedef int (*late_fn)(struct sweep *s, unsigned long k);

struct late {
	struct sweep *s;
	late_fn run;
	struct code_count count;
	uint64_t switches;	/* in a run */
	unsigned long runs, preempted;
};

static int wrong_late(void *arg, unsigned long k)
{
	struct late *late = arg;
	struct sweep *s = late->s;
	int errors = late->run(s, k) != 0;
	struct vpmc_read read;

	late->runs++;
	if (vpmc_read(s->set.fd, &read))
		return errors + 1;
	errors += wrong_sums(&s->set, &read, late->count) != 0;
	/* Then the counter may have begun from its start value again. */
	late->preempted += read.switches > late->switches;
	return errors + (s->partner && partner_wrong(s->partner));
}

static void sweep_late(struct __test_metadata *_metadata, struct sweep *s,
		       late_fn run, struct code_count count,
		       uint64_t switches)
{
	struct late late = {
		.s = s, .run = run, .count = count, .switches = switches,
	};
	unsigned long came = vpmc_interrupts(0);

	sweep_all(_metadata, s, sweep_step(), wrong_late, &late);
	came = vpmc_interrupts(0) - came;
	TH_LOG("%lu interrupts, preempted %lu times", came, late.preempted);
	EXPECT_LE(late.runs, came + late.preempted);
}

/* The switch, away and back. */
static int run_yield(struct sweep *s, unsigned long k)
{
	int err = vpmc_ioctl(s->set.fd, VPMC_IOC_CLEAR, 0);

	return (err || sweep_body(s, &s->set, k, code_yield, 1, TURNS)) ? 1 : 0;
}

FIXTURE(late_switch)
{
	struct sweep *s;
};

PARTNERS(late_switch);

FIXTURE_SETUP(late_switch)
{
	self->s = start_late(_metadata);
	self->s->partner = start_partner(variant->process, variant->choice);
	ASSERT_NE(NULL, self->s->partner);
}

FIXTURE_TEARDOWN(late_switch)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

TEST_F(late_switch, away_and_back)
{
	sweep_late(_metadata, self->s, run_yield,
		   code_add(code_add(CODE_MEASURE, CODE_ARMED),
			    CODE_YIELD(1, TURNS)), 1);
}

static int run_stop(struct sweep *s, unsigned long k)
{
	int err = vpmc_ioctl(s->set.fd, VPMC_IOC_CLEAR, 0);

	err = err ?: sweep_arm(s, k);
	err = err ?: set_measure(&s->set, code_loop, TURNS, 0);
	sweep_disarm(s);
	return err;
}

TEST_F(late, start_stop)
{
	sweep_late(_metadata, self->s, run_stop,
		   code_add(CODE_MEASURE, CODE_LOOP(TURNS)), 0);
}

/* With the set goes the PMU; the interrupt perhaps comes after that. */
static int run_unlink(struct sweep *s, unsigned long k)
{
	struct set *set = &s->set;
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
	sweep_late(_metadata, self->s, run_unlink,
		   code_add(CODE_MEASURE, CODE_LOOP(TURNS)), 0);
}

FIXTURE(handed_back)
{
	struct sweep *s;
	int perf;	/* counts what user code executes on CPU 0 */
};

/* For all threads of CPU 0: switches do not program it again. */
static int open_perf_of_cpu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.read_format = PERF_FORMAT_GROUP,
		.exclude_kernel = true,
	};

	return syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
}

FIXTURE_SETUP(handed_back)
{
	struct set set;

	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
	ASSERT_EQ(0, set_open(&set, mine));
	ASSERT_EQ(0, set_measure(&set, code_nothing, 0, 0));
	set_close(&set);
	self->perf = open_perf_of_cpu();
	ASSERT_LE(0, self->perf);
	self->s->what = INTERRUPT;
}

FIXTURE_TEARDOWN(handed_back)
{
	close(self->perf);
	EXPECT_EQ(0, sweep_stop(self->s));
}

static int wrong_without_the_PMU(void *arg, unsigned long k)
{
	struct sweep *s = arg;
	struct vpmc_info info;
	int err, fd;

	err = sweep_arm(s, k);
	fd = vpmc_open();
	err = err ?: vpmc_info(fd, &info);
	close(fd);
	sweep_disarm(s);
	return err != 0;
}

/*
 * Our vector was pending when perf got the PMU back. perf's counter, which is on all
 * the time, wraps after that. perf gets the interrupt: LVTPC is as perf left it.
 */
TEST_F(handed_back, interrupts)
{
	const struct code_count loop = CODE_LOOP(3L << 20);
	unsigned long came = vpmc_interrupts(0);
	__u64 before, after;

	sweep_all(_metadata, self->s, sweep_step(), wrong_without_the_PMU,
		  self->s);
	EXPECT_LT(0, vpmc_interrupts(0) - came);
	ASSERT_EQ(0, perf_read(self->perf, 1, &before));
	code_loop(3L << 20, 0);
	ASSERT_EQ(0, perf_read(self->perf, 1, &after));
	EXPECT_LE(loop.insns, after - before);
	/* A wrap that is taken for another one adds 1 << 20. */
	EXPECT_GT(loop.insns + (1 << 19), after - before);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
