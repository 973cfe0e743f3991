// SPDX-License-Identifier: GPL-2.0
/*
 * usage: perfctr
 *
 * Measures how perfctr's own library reads counters and the TSC. There is no driver
 * of perfctr for this kernel. Instead the library gets a page that is made here, and
 * reads counters that a set of vpmc keeps running.
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
		errx(1, "perfctr's library reads a counter that does not run");
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
