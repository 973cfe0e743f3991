// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a page for perfctr's library. Only this file includes the library's
 * source, to know its structures.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <virtual.c>

#include "perfctr.h"

static struct vperfctr_state state;
static struct vperfctr perfctr = { .kstate = &state };
static struct perfctr_sum_ctrs sums;

struct vperfctr *perfctr_new(unsigned int n, const uint32_t *index)
{
	unsigned int i;

	memset(&state, 0, sizeof(state));
	state.cpu_state.cstatus = perfctr_mk_cstatus(1, n, 0);
	for (i = 0; i < n; i++)
		state.cpu_state.pmc[i].map = index[i];
	return &perfctr;
}

struct perfctr_sum_ctrs *perfctr_sums(void)
{
	return &sums;
}

uint64_t perfctr_count(unsigned int i)
{
	return sums.pmc[i];
}
