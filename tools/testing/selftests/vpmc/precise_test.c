// SPDX-License-Identifier: GPL-2.0
/*
 * Precise events of perf, on a processor with architectural PEBS. There a bit in a
 * register of a counter makes its overflows write records, in place of interrupts.
 * perf leaves the bit set when it stops the counter. A set that has such a counter
 * afterwards overflows as any other, and precise events take all their samples before,
 * beside and after that. Only some counters have the bit.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include "disturb.h"
#include "loan.h"

#define TURNS		20000
#define PERIOD		1000
#define PERIOD_OF_PERF	1013

/* CPUID leaf 23H */
#define SUBLEAF_PEBS	5
#define HAS_PEBS	(3U << 4)

/* With @wakeup_events each record interrupts. */
static int open_precise_as(struct perf_samples *samples, uint64_t config, int leader,
			   uint32_t wakeup_events)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = PERIOD_OF_PERF,
		.sample_type = PERF_SAMPLE_IP,
		.wakeup_events = wakeup_events,
		.disabled = leader < 0,
		.precise_ip = 2,
		.exclude_kernel = 1,
	};

	return samples_open_as(samples, &attr, leader);
}

/* Branches need a programmable counter. */
static int open_precise(struct perf_samples *samples, int leader)
{
	return open_precise_as(samples, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, leader, 0);
}

/* The programmable counters that have the bit */
static unsigned int counters_with_pebs(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	__get_cpuid_count(0x23, SUBLEAF_PEBS, &eax, &ebx, &ecx, &edx);
	return eax;
}

static unsigned int nr_with_pebs(void)
{
	return __builtin_popcount(counters_with_pebs());
}

/* A group that needs all programmable counters with the bit, and fixed counter 0 */
static int open_all_precise(struct perf_samples *samples)
{
	unsigned int i, n = nr_with_pebs();
	int err;

	for (i = 0; i < n; i++) {
		err = open_precise(&samples[i], i ? samples[0].fd : -1);
		if (err)
			return err;
	}
	return open_precise_as(&samples[n], PERF_COUNT_HW_INSTRUCTIONS, samples[0].fd, 0);
}

/* The group has taken samples, and leaves the bit set. */
static int leave_precise(void)
{
	struct perf_samples samples[MAX_GP + 1];
	unsigned int i, n = nr_with_pebs();
	struct set as = {};
	int err;

	err = open_all_precise(samples);
	if (err)
		return err;
	as.fd = samples[0].fd;
	if (perf_measure(&as, code_loop, TURNS, 0))
		err = -EIO;
	if (samples_taken(&samples[n]) != measured(TURNS).insns / PERIOD_OF_PERF)
		err = -ENODATA;
	for (i = 0; i < n; i++)
		if (samples_taken(&samples[i]) != measured(TURNS).branches / PERIOD_OF_PERF)
			err = -ENODATA;
	for (i = 0; i <= n; i++)
		samples_close(&samples[i]);
	return err;
}

FIXTURE(precise)
{
	struct set set;
	struct perf_samples samples;
};

FIXTURE_SETUP(precise)
{
	ASSERT_EQ(0, choose_counters("shared 2,0"));
	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, pin(0));
	self->samples.fd = -1;
	self->set.fd = -1;
}

FIXTURE_TEARDOWN(precise)
{
	if (self->samples.fd >= 0)
		samples_close(&self->samples);
	set_close(&self->set);
	EXPECT_EQ(0, choose_counters("all"));
}

struct sample {
	struct perf_event_header header;
	uint64_t ip;
};

/* How many samples do not have the exact address of the loop's branch? */
static unsigned int wrong_addresses(const struct perf_samples *samples)
{
	const struct sample *sample = (const void *)samples->page + PAGE;
	unsigned int i, wrong = 0;

	for (i = 0; i < samples_taken(samples); i++)
		wrong += sample[i].ip != (uint64_t)code_loop + CODE_DEC_LENGTH ||
			 !(sample[i].header.misc & PERF_RECORD_MISC_EXACT_IP);
	return wrong;
}

/* The event has been enabled during so many loops, in all. */
static void expect_precise(struct __test_metadata *_metadata,
			   const struct perf_samples *samples, int loops)
{
	EXPECT_EQ(0, wrong_addresses(samples));
	EXPECT_EQ(loops * measured(TURNS).branches / PERIOD_OF_PERF, samples_taken(samples));
}

static void run_precise(struct __test_metadata *_metadata, const struct perf_samples *samples)
{
	struct set as = { .fd = samples->fd };

	ASSERT_EQ(0, perf_measure(&as, code_loop, TURNS, 0));
}

/* The set overflows on this counter, and perf's event takes its samples. */
static void expect_both(struct __test_metadata *_metadata, struct set *set,
			const struct perf_samples *samples, int loops)
{
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	run_precise(_metadata, samples);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_LE(measured(TURNS).branches, read.sum[0]);
	EXPECT_EQ(read.sum[0] / PERIOD, set->page->overflows);
	EXPECT_EQ(0, set->page->merged);
	expect_precise(_metadata, samples, loops);
}

/* The set overflows on this counter, and counts right. */
static void expect_overflows_of(struct __test_metadata *_metadata, struct set *set,
				uint64_t evtsel, uint32_t index)
{
	struct vpmc_read read;

	ASSERT_EQ(0, open_rearmed(set, evtsel, index, PERIOD));
	ASSERT_EQ(0, set_control(set));
	ASSERT_EQ(0, set_measure(set, code_loop, TURNS, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(TURNS)));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(read.sum[0] / PERIOD, set->page->overflows);
	set_close(set);
	set->fd = -1;
}

/* Each counter that is lent */
TEST_F(precise, borrowed)
{
	ASSERT_EQ(0, choose_counters("shared 2,1"));
	ASSERT_EQ(0, leave_precise());
	expect_overflows_of(_metadata, &self->set, EV_BRANCHES, machine.nr_gp - 1);
	expect_overflows_of(_metadata, &self->set, EV_BRANCHES, machine.nr_gp - 2);
	expect_overflows_of(_metadata, &self->set, EV_INSNS, FIXED(0));
}

/* A precise event beside the set has a counter with the bit that is not lent. */
static void beside(struct __test_metadata *_metadata, struct set *set,
		   struct perf_samples *samples, uint32_t wakeup_events)
{
	int i;

	ASSERT_EQ(0, open_precise_as(samples, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1,
				     wakeup_events));
	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, open_rearmed(set, EV_BRANCHES, machine.nr_gp - i, PERIOD));
		ASSERT_EQ(0, set_control(set));
		expect_both(_metadata, set, samples, i);
		set_close(set);
		set->fd = -1;
	}
}

TEST_F(precise, beside)
{
	ASSERT_EQ(0, leave_precise());
	beside(_metadata, &self->set, &self->samples, 0);
}

/* When the thread loses the CPU, perf takes the records that there are so far. */
TEST_F(precise, beside_switches)
{
	pid_t pid = start_competitor(0);

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, leave_precise());
	beside(_metadata, &self->set, &self->samples, 0);
	EXPECT_EQ(0, stop_disturber(pid));
}

TEST_F(precise, beside_single_records)
{
	ASSERT_EQ(0, leave_precise());
	beside(_metadata, &self->set, &self->samples, 1);
}

/* The set has all counters, each with a period in turn. */
TEST_F(precise, taken)
{
	uint32_t i;

	ASSERT_EQ(0, choose_counters("all"));
	ASSERT_EQ(0, leave_precise());
	for (i = 0; i < machine.nr_gp; i++)
		expect_overflows_of(_metadata, &self->set, EV_BRANCHES, i);
	expect_overflows_of(_metadata, &self->set, EV_INSNS, FIXED(0));
}

/* perf has all counters again. */
static void expect_returned(struct __test_metadata *_metadata)
{
	int all[MAX_GP], i;

	for (i = 0; i < MAX_GP; i++)
		all[i] = -1;
	ASSERT_EQ(0, open_branches(all, ALL_GP, 0));
	EXPECT_TRUE(returned(all));
	perf_close_all(all);
}

/*
 * Waits until nothing is borrowed, and closes the set. No event of perf runs meanwhile: one
 * without the bit would clear it.
 */
static int close_and_wait(struct set *set)
{
	struct vpmc_info info = { .borrowed_mask = 1 };
	int i;

	if (ioctl(set->fd, VPMC_IOC_UNLINK, 0))
		return -errno;
	for (i = 0; i < 50 && info.borrowed_mask; i++) {
		usleep(20000);
		if (vpmc_info(set->fd, &info))
			return -EIO;
	}
	set_close(set);
	set->fd = -1;
	return info.borrowed_mask ? -ETIME : 0;
}

static const struct choice two_and_fixed[] = {
	{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, { EV_INSNS, FIXED(0) }, {}
};

/* perf sets the bit again after a set had the counters. */
TEST_F(precise, goes_on)
{
	struct perf_samples samples[MAX_GP + 1];
	uint32_t i, n = nr_with_pebs();

	ASSERT_EQ(0, choose_counters("shared 2,1"));
	ASSERT_EQ(0, open_all_precise(samples));
	run_precise(_metadata, &samples[0]);
	ASSERT_EQ(0, set_open(&self->set, two_and_fixed));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(TURNS)));
	ASSERT_EQ(0, close_and_wait(&self->set));
	run_precise(_metadata, &samples[0]);
	for (i = 0; i < n; i++)
		expect_precise(_metadata, &samples[i], 2);
	EXPECT_EQ(2 * measured(TURNS).insns / PERIOD_OF_PERF, samples_taken(&samples[n]));
	for (i = 0; i <= n; i++)
		samples_close(&samples[i]);
}

/* A group that runs when loans begin and end makes a sample of each period that it counts. */
TEST_F(precise, loans_come_and_go)
{
	struct perf_samples samples[MAX_GP + 1];
	uint32_t i, n = nr_with_pebs();
	__u64 count;

	ASSERT_EQ(0, choose_counters("shared 2,1"));
	ASSERT_EQ(0, open_all_precise(samples));
	ASSERT_EQ(0, ioctl(samples[0].fd, PERF_EVENT_IOC_ENABLE, 0));
	for (i = 0; i < 10; i++) {
		code_loop(TURNS / 4 + 11 * i, 0);
		ASSERT_EQ(0, set_open(&self->set, two_and_fixed));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(TURNS)));
		ASSERT_EQ(0, close_and_wait(&self->set));
	}
	code_loop(TURNS / 4, 0);
	ASSERT_EQ(0, ioctl(samples[0].fd, PERF_EVENT_IOC_DISABLE, 0));
	for (i = 0; i <= n; i++) {
		ASSERT_EQ(8, read(samples[i].fd, &count, 8));
		EXPECT_LT(10 * PERIOD_OF_PERF, count);
		EXPECT_EQ(count / PERIOD_OF_PERF, samples_taken(&samples[i]));
		samples_close(&samples[i]);
	}
}

/*
 * An event that is opened while counters are lent runs when they are back. Then it still
 * has a counter with the bit, although two other events come first.
 */
TEST_F(precise, opened_beside_a_loan)
{
	int fd[MAX_GP], i;

	for (i = 0; i < MAX_GP; i++)
		fd[i] = -1;
	ASSERT_EQ(0, set_open(&self->set, two_branches));
	ASSERT_EQ(0, open_branches(fd, 2, 0));
	ASSERT_EQ(0, open_precise(&self->samples, -1));
	set_close(&self->set);
	self->set.fd = -1;
	ASSERT_EQ(0, ioctl(fd[0], PERF_EVENT_IOC_DISABLE, 0));
	expect_returned(_metadata);
	ASSERT_EQ(0, ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0));
	run_precise(_metadata, &self->samples);
	EXPECT_LT(0, group_counts(fd, 2));
	expect_precise(_metadata, &self->samples, 1);
	perf_close_all(fd);
}

static bool has_arch_pebs(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	__get_cpuid_count(0x23, 0, &eax, &ebx, &ecx, &edx);
	return (eax & HAS_PEBS) == HAS_PEBS &&
	       read_number("/sys/bus/event_source/devices/cpu/caps/max_precise") > 0;
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT,
	  "a perf that uses architectural PEBS, and a processor with it", NULL, has_arch_pebs },
);

TEST_HARNESS_MAIN
