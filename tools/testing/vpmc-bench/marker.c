// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the markers of vpmc-marker.h, in the two forms, after their first pass.
 *
 * Copyright (C) 2026 vpmc developers
 */
#define VPMC
#include <vpmc-marker.h>

#include "cost.h"
#include "marker.h"

static struct cost cost;

static __attribute__((__noinline__)) void begin_and_end(void)
{
	unsigned int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		COST_OF(&cost, VPMC_BEGIN("pair"); VPMC_END("pair"));
}

static __attribute__((__noinline__)) void block(void)
{
	unsigned int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS; i++)
		COST_OF(&cost, VPMC_REGION("block") { });
}

void measure_markers(unsigned int n)
{
	begin_and_end();
	cost_print(&cost, "marker", n, "vpmc");
	block();
	cost_print(&cost, "marker-block", n, "vpmc");
}
