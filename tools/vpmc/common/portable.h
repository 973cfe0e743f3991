/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recognizes the portable events by their event selects.
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

/* Returns the portable event of @select, in any modes, or -1 if it is none. */
int portable_of(uint64_t select);

/* Writes "instructions:u", or "0xSELECT" for other events, to @buffer. */
const char *select_text(uint64_t select, char buffer[48]);

#endif /* PORTABLE_H */
