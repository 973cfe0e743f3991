// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The least values of many trials.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <string.h>
#include <linux/vpmc.h>

#include "least.h"

int vpmc_least(vpmc_trial_fn *trial, void *arg, unsigned int nr, unsigned int rounds,
	       uint64_t *least)
{
	uint64_t best[1 + VPMC_MAX_COUNTERS], value[1 + VPMC_MAX_COUNTERS];
	unsigned int good = 0, tries, i;

	for (tries = 0; tries < 100 * rounds && good < rounds; tries++) {
		if (!trial(arg, value))
			continue;
		for (i = 0; i < nr; i++)
			if (!good || value[i] < best[i])
				best[i] = value[i];
		good++;
	}
	if (!good)
		return -EAGAIN;
	memcpy(least, best, nr * sizeof(*least));
	return 0;
}
