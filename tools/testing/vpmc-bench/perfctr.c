// SPDX-License-Identifier: GPL-2.0
/*
 * usage: perfctr
 *
 * Costs of perfctr's own read of counters and the TSC. There is no driver of it
 * for this kernel: its library gets a page of our making, as the driver would map
 * it, and reads counters that run because a set of ours does.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "cost.h"
#include "who.h"
#include "perfctr.h"

static struct cost cost;

static void measure(unsigned int n)
{
	struct counters counters = {};
	struct perfctr_sum_ctrs *sums = perfctr_sums();
	struct vperfctr *perfctr;
	uint32_t index[MAX_N];
	uint64_t first;
	unsigned int i;

	for (i = 0; i < n; i++)
		index[i] = events[i].index;
	perfctr = perfctr_new(n, index);
	counters_open(&counters, VPMC, n, &what_user);
	vperfctr_read_ctrs(perfctr, sums);
	first = perfctr_count(0);
	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		COST_OF(&cost, vperfctr_read_ctrs(perfctr, sums));
	if (perfctr_count(0) == first)
		errx(1, "perfctr's library reads a counter that stands");
	cost_print(&cost, "read-call", n, "perfctr");
	counters_close(&counters);
}

int main(void)
{
	unsigned int i;

	be_alone(0);
	who_init();
	for (i = 0; i < NR_SIZES; i++)
		measure(sizes[i]);
	return 0;
}
