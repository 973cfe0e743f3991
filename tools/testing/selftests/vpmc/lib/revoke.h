/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets that the administrator revokes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef REVOKE_H
#define REVOKE_H

#include "disturb.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

enum { FIXED_INSNS, BRANCHES, GP_INSNS, NR };

static const struct choice three[NR + 1] = {
	[FIXED_INSNS]	= { EV_INSNS, FIXED(0) },
	[BRANCHES]	= { EV_BRANCHES, 0 },
	[GP_INSNS]	= { EV_INSNS, 3 },
};

static inline int set_revoked(const char *value)
{
	return write_file(REVOKE_FILE, value);
}

static inline int revoked(void)
{
	return read_number(REVOKE_FILE);
}

#endif /* REVOKE_H */
