/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The portable events, known by their event selects.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PORTABLE_H
#define PORTABLE_H

#include <stdint.h>

enum portable { INSTRUCTIONS, CYCLES, REF_CYCLES, BRANCHES, BRANCH_MISSES,
		CACHE_REFERENCES, CACHE_MISSES, NR_PORTABLE };

#define SELECT_USER	0x10000u
#define SELECT_KERNEL	0x20000u
#define SELECT_MODES	(SELECT_USER | SELECT_KERNEL)

extern const char *const portable_name[NR_PORTABLE];

/* Which one @select is, in whatever modes; -1: none of them. */
int portable_of(uint64_t select);

/* "instructions:u", or "0xSELECT" of any other; in a buffer of the caller's */
const char *select_text(uint64_t select, char buffer[48]);

#endif /* PORTABLE_H */
