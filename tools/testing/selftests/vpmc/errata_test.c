// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of a processor's counters: events that only some of them can count,
 * and events by which one hyper-thread corrupts the counts of the other one.
 * And hypervisors that have fewer counters than CPUID says.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"
#include "interrupts.h"

/* Why an event of that number is refused. */
static unsigned int reason_for(uint64_t event)
{
	struct vpmc_control control;
	int fd = vpmc_open();
	int err;

	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, 0x10100 | event, VPMC_ANY);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	if (!err)
		vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
	close(fd);
	if (err && (err != -EOPNOTSUPP || control.bad_counter))
		return ~0U;
	return err ? control.reason : VPMC_REASON_NONE;
}

TEST(two_threads_to_a_core)
{
	EXPECT_EQ(VPMC_REASON_NONE, reason_for(0xcf));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd0));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd1));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd2));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, reason_for(0xd3));
	EXPECT_EQ(VPMC_REASON_NONE, reason_for(0xd4));
}

/* There is no other hyper-thread. */
TEST(one_thread_to_a_core)
{
	uint64_t event;

	for (event = 0xcf; event <= 0xd4; event++)
		EXPECT_EQ(VPMC_REASON_NONE, reason_for(event));
}

/* CONTROL of these elements: 0, or the element and the reason. */
static uint64_t placed(struct vpmc_control *control, const struct choice *choice)
{
	int fd = vpmc_open();
	int err;

	control_of(control, choice, VPMC_CONTROL_STOPPED);
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, control);
	if (!err)
		err = vpmc_read_control(fd, control) ?:
		      vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
	else
		err = control->bad_counter << 8 | control->reason;
	close(fd);
	return err;
}

#define REFUSED(element, reason)	((element) << 8 | VPMC_REASON_##reason)

/* Counter 2 alone counts it on these processors, and 1 alone the other one. */
#define PENDING_MISSES		0x10148
#define PRECISE_INSNS		0x101c0

TEST(event_of_one_counter)
{
	struct vpmc_control control;
	uint32_t i;

	ASSERT_EQ(0, placed(&control, (struct choice[]){
				    { PENDING_MISSES, VPMC_ANY }, {} }));
	EXPECT_EQ(2, control.counter[0].index);
	ASSERT_EQ(0, placed(&control, (struct choice[]){
				    { PRECISE_INSNS, VPMC_ANY }, {} }));
	EXPECT_EQ(1, control.counter[0].index);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(i == 2 ? 0 : REFUSED(0, WRONG_EVENT),
			  placed(&control, (struct choice[]){
					 { PENDING_MISSES, i }, {} }));
	EXPECT_EQ(REFUSED(1, NO_COUNTER),
		  placed(&control, (struct choice[]){
				 { PENDING_MISSES, VPMC_ANY },
				 { PENDING_MISSES, VPMC_ANY }, {} }));
	/* Counters that were asked for by number stay. */
	EXPECT_EQ(REFUSED(0, NO_COUNTER),
		  placed(&control, (struct choice[]){
				 { PENDING_MISSES, VPMC_ANY },
				 { EV_BRANCHES, 2 }, {} }));
}

/* Others make way, also where that takes two steps, and count as ever. */
TEST(others_make_way)
{
	static const struct choice five[] = {
		{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
		{ EV_BRANCHES, VPMC_ANY }, { PRECISE_INSNS, VPMC_ANY },
		{ PENDING_MISSES, VPMC_ANY }, {}
	};
	struct vpmc_control control;
	struct set set;

	EXPECT_EQ(REFUSED(4, NO_COUNTER), placed(&control, five));
	ASSERT_EQ(0, placed(&control, five + 1));
	EXPECT_EQ(0, control.counter[0].index);
	EXPECT_EQ(3, control.counter[1].index);
	EXPECT_EQ(1, control.counter[2].index);
	EXPECT_EQ(2, control.counter[3].index);

	ASSERT_EQ(0, set_open(&set, (struct choice[]){
			      { EV_BRANCHES, VPMC_ANY },
			      { EV_BRANCHES, VPMC_ANY },
			      { EV_BRANCHES, 3 }, {} }));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&set);
}

/* Off-core responses, and loads of a latency that a register holds. */
TEST(event_of_another_register)
{
	static const uint64_t evtsel[] = { 0x101b7, 0x101bb, 0x101cd };
	struct vpmc_control control;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(evtsel); i++)
		EXPECT_EQ(REFUSED(0, EXTRA_MSR),
			  placed(&control, (struct choice[]){
					 { evtsel[i], VPMC_ANY }, {} }));
}

/*
 * CPUID names counters that RDPMC does not find, or that ignore writes, as under
 * some hypervisors. The switch would crash, or counts would be wrong, so no counters
 * are offered. perf's one event has a counter that works.
 */
static void no_counters(struct __test_metadata *_metadata)
{
	struct vpmc_control control;
	struct vpmc_info info;
	int fd = vpmc_open(), perf;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_info(fd, &info));
	EXPECT_LE(4, info.nr_gp);
	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, EV_INSNS, VPMC_ANY);
	EXPECT_EQ(-ENODEV, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));

	/* The PMU was given back after the check, and the run time works. */
	perf = perf_open_insns();
	EXPECT_LE(0, perf);
	close(perf);
	control_init(&control, 0);
	EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	close(fd);
}

TEST(fewer_counters)
{
	no_counters(_metadata);
}

/* perf keeps the PMU, and lends counters. */
TEST(fewer_counters_lent)
{
	ASSERT_EQ(0, choose_counters("shared"));
	no_counters(_metadata);
	EXPECT_EQ(0, choose_counters("all"));
}

/*
 * perf lends those that work, also in the second in which the others are not tried
 * again because a set has asked for both.
 */
TEST(others_are_lent)
{
	struct vpmc_control control;
	struct vpmc_info info;
	struct set set;
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_info(fd, &info));
	ASSERT_EQ(0, choose_counters("shared"));
	control_init(&control, VPMC_CONTROL_STOPPED);
	control_choose(&control, EV_INSNS, 1);
	control_choose(&control, EV_INSNS, info.nr_gp - 1);
	EXPECT_EQ(-ENODEV, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NO_PMU, control.reason);
	close(fd);
	EXPECT_EQ(0, set_open(&set, (struct choice[]){ { EV_INSNS, 1 }, {} }));
	EXPECT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&set);
	EXPECT_EQ(0, choose_counters("all"));
}

/*
 * Microcode has counter 3 until perf takes it from the microcode. The other three
 * count.
 */
TEST(force_abort)
{
	static const struct choice four[] = {
		{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
		{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
	};
	static const struct choice fourth[] = { { EV_BRANCHES, 3 }, {} };
	struct vpmc_control control;
	struct vpmc_info info;
	struct set set;
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_info(fd, &info));
	close(fd);
	EXPECT_EQ(7, info.gp_mask);
	EXPECT_EQ(REFUSED(0, BAD_INDEX), placed(&control, fourth));
	EXPECT_EQ(REFUSED(3, NO_COUNTER), placed(&control, four));
	ASSERT_EQ(0, set_open(&set, (struct choice[]){
			      { EV_BRANCHES, 0 }, { EV_INSNS, 1 },
			      { EV_BRANCHES, 2 }, {} }));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&set);
}

#define PERFCTR0	0xc1
#define GLOBAL_STATUS	0x38e

/*
 * Zhaoxin's family 6 clears a status bit only while some counter is enabled. The
 * interrupt of a set that counts the kernel finds all of them stopped.
 */
TEST(status_is_acknowledged)
{
	uint64_t value = -500ULL, status = ~0ULL;
	struct set set;
	long before;
	int msr;

	ASSERT_EQ(0, pin(1));
	msr = open("/dev/cpu/1/msr", O_RDWR);
	ASSERT_LE(0, msr);
	ASSERT_EQ(0, set_open(&set, (struct choice[]){
			      { EV_KERNEL_INSNS, 0 }, {} }));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(8, pwrite(msr, &value, sizeof(value), PERFCTR0));
	before = vpmc_interrupts(1);
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(1, vpmc_interrupts(1) - before);
	ASSERT_EQ(8, pread(msr, &status, sizeof(status), GLOBAL_STATUS));
	EXPECT_EQ(0, status);
	set_close(&set);
	close(msr);
}

NEEDS(
	{ "global.fewer_counters_lent", EXACT | DISTURBS | ROOT },
	{ "global.others_are_lent", EXACT | DISTURBS | ROOT },
	{ "*", EXACT | ROOT },
);

TEST_HARNESS_MAIN
