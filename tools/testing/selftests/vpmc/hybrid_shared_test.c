// SPDX-License-Identifier: GPL-2.0
/*
 * perf lends counters on all types of core of a hybrid processor.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"
#include "disturb.h"

/* Odd CPUs are big cores. */
#define CPUS	4

/* Of a set with programmable counters. */
static uint64_t lent_to(const struct set *set)
{
	uint64_t lent = 0;
	uint32_t i;

	for (i = 0; i < set->page->nr_counters; i++)
		lent |= 1ULL << set->page->slot[i].index;
	return lent;
}

/* An event of a CPU: perf enables its counters there. */
static int open_of_cpu(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.exclude_kernel = 1,
	};

	if (pin(cpu))
		return -1;
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | perf_pmu_here();
	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

/* Which of the counters are on while perf counts on the CPU? The set is stopped. */
static int enabled_of(int cpu, uint64_t counters, uint64_t *enabled)
{
	struct shared_registers regs = {};
	int fd = open_of_cpu(cpu), err = fd < 0 || shared_registers(cpu, &regs);

	*enabled = regs.enabled & counters;
	close(fd);
	return err || !regs.enabled;
}

/* Both count the same loop, on each CPU. */
TEST_F(shared, all_types_count)
{
	int cpu;

	ASSERT_EQ(0, set_open(&self->set, both));
	for (cpu = 0; cpu < CPUS; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, perf_open_three(self->perf));
		ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
		EXPECT_EQ(0, both_count(&self->set, self->perf, 100000));
		perf_close(self->perf);
	}
}

/* perf enables lent counters on no type of core, and all of them afterwards. */
TEST_F(shared, no_type_enables_them)
{
	uint64_t lent, enabled;
	int cpu;

	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	lent = lent_to(&self->set);
	EXPECT_EQ(0xe, lent);
	for (cpu = 0; cpu < CPUS; cpu++) {
		ASSERT_EQ(0, enabled_of(cpu, lent, &enabled));
		EXPECT_EQ(0, enabled);
	}
	set_close(&self->set);
	usleep(300000);
	for (cpu = 0; cpu < CPUS; cpu++) {
		ASSERT_EQ(0, enabled_of(cpu, lent, &enabled));
		EXPECT_EQ(lent, enabled);
	}
}

/* No big core is online when the loan begins. perf sets this type up afterwards. */
TEST_F(shared, type_comes)
{
	uint64_t lent, enabled;
	int cpu;

	for (cpu = 1; cpu < CPUS; cpu += 2)
		ASSERT_EQ(0, set_cpu_online(cpu, "0"));
	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	lent = lent_to(&self->set);
	for (cpu = 1; cpu < CPUS; cpu += 2)
		ASSERT_EQ(0, set_cpu_online(cpu, "1"));
	for (cpu = 1; cpu < CPUS; cpu += 2) {
		ASSERT_EQ(0, enabled_of(cpu, lent, &enabled));
		EXPECT_EQ(0, enabled);
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	}
	set_close(&self->set);
	usleep(300000);
	for (cpu = 1; cpu < CPUS; cpu += 2) {
		ASSERT_EQ(0, enabled_of(cpu, lent, &enabled));
		EXPECT_EQ(lent, enabled);
	}
}

static bool is_hybrid(void)
{
	return machine.features & VPMC_FEATURE_HYBRID;
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT, "cores of two types", NULL, is_hybrid },
);

TEST_HARNESS_MAIN
