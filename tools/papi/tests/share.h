/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the test program share and its cases have in common.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SHARE_H
#define SHARE_H

#include <stdint.h>

#include <vpmc.h>

#define ROUNDS		1000000L
#define INSTRUCTIONS	"INST_RETIRED:ANY_P"
#define SUMS		"/tmp/share.sums"
#define OWNED		(5ULL << 20)		/* INT and EN of an event select */

/* what a case leaves in SUMS: the sums of its thread's set, shortly before its end */
struct sums {
	uint64_t select[VPMC_MAX_COUNTERS], sum[VPMC_MAX_COUNTERS], nr;
};

/* Runs a case. Returns the exit status, or does not return. */
int run_case(const char *name);

#endif /* SHARE_H */
