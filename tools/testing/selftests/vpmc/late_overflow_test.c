// SPDX-License-Identifier: GPL-2.0
/*
 * A period of a set ends at each instruction of perf's NMI handler. While the handler
 * runs, LVTPC is masked, and an overflow raises no NMI. The set must still learn of
 * the overflow at once, and not at the next NMI.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "shared.h"

/* Turns of the loop, and the instruction of the user at which perf's NMI comes. */
#define TURNS		1500
#define PERF_PERIOD	2003

/* Counts of the set before the loop and after it. The NMI comes in between. */
struct around {
	uint64_t before;
	uint64_t after;
	bool stopped;
};

/* A set of the kernel and of the user, whose period ends once. */
static int program(struct set *set, uint64_t period)
{
	control_init(&set->control, VPMC_CONTROL_STOPPED);
	control_add_period(&set->control, EV_KERNEL_INSNS,
			   index_here(FIXED(0), 0), period);
	return set_control(set);
}

/* perf's event interrupts once while the set counts a loop. */
static int measure(struct set *set, int perf, uint64_t period,
		   struct around *around)
{
	uint64_t perf_period = PERF_PERIOD, count[VPMC_MAX_COUNTERS];

	if (program(set, period) ||
	    ioctl(perf, PERF_EVENT_IOC_PERIOD, &perf_period) ||
	    vpmc_ioctl(set->fd, VPMC_IOC_START, 0) ||
	    ioctl(perf, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	vpmc_read_page(set->page, count, NULL);
	around->before = count[0];
	code_loop(TURNS, 0);
	vpmc_read_page(set->page, count, NULL);
	around->stopped = set->page->state == VPMC_STATE_OVERFLOWED;
	around->after = count[0];
	return ioctl(perf, PERF_EVENT_IOC_DISABLE, 0) ||
	       vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0);
}

TEST_F(shared, at_each_instruction)
{
	/* The handler of a slow kernel is longer. */
	const unsigned int step = test_slowness() > 1 ? 23 : 1;
	unsigned int n = 0, late = 0;
	struct around all, one;
	struct perf_samples perf;
	uint64_t period;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, PERF_PERIOD));
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	self->set.page = vpmc_map(self->set.fd);
	ASSERT_NE(MAP_FAILED, self->set.page);
	/* The second time everything is in memory. */
	ASSERT_EQ(0, measure(&self->set, perf.fd, 1ULL << 40, &all));
	ASSERT_EQ(0, measure(&self->set, perf.fd, 1ULL << 40, &all));
	ASSERT_FALSE(all.stopped);
	ASSERT_LT(all.before + 2 * TURNS + 500, all.after);

	for (period = all.before; period < all.after; period += step) {
		ASSERT_EQ(0, measure(&self->set, perf.fd, period, &one));
		if (one.before >= period)
			continue;
		n++;
		late += one.after >= period && !one.stopped;
	}
	TH_LOG("%u periods ended in %lu instructions, %u too late", n,
	       (unsigned long)(all.after - all.before), late);
	EXPECT_LT((all.after - all.before) / step / 2, n);
	EXPECT_EQ(0, late);
	samples_close(&perf);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
