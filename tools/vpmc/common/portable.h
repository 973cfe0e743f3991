/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recognizes the portable events, and the modes, by event selects.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PORTABLE_H
#define PORTABLE_H

#include <stdint.h>
#include <linux/vpmc.h>

enum portable { INSTRUCTIONS, CYCLES, REF_CYCLES, BRANCHES, BRANCH_MISSES,
		CACHE_REFERENCES, CACHE_MISSES, NR_PORTABLE };

extern const char *const portable_name[NR_PORTABLE];

/*
 * Returns the kind of this processor's events. VPMC_KIND_P6 has those whose events are not
 * Intel's architectural ones. VPMC_KIND_TSC: neither the kernel nor libpfm4 knows it.
 */
enum vpmc_kind events_kind(void);

/* Returns the bits of a select's modes, and a select without them. */
uint64_t modes_of(uint64_t select);
uint64_t without_modes(uint64_t select);

/* Returns the portable event of @select, in any modes, or -1 if it is none. */
int portable_of(uint64_t select);

/* Writes "instructions:u", or "0xSELECT" for other events, to @buffer. */
const char *select_text(uint64_t select, char buffer[48]);

#endif /* PORTABLE_H */
