// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Replaces libvpmc's table.c without libpfm4, for 32-bit programs (make
 * PFM=no). There are no names of events then.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>

#include "../../vpmc/src/internal.h"

void vpmc_table_lock(void)
{
}

void vpmc_table_unlock(void)
{
}

EXPORT const char *vpmc_table(const char **description)
{
	if (description)
		*description = NULL;
	return NULL;
}

int vpmc_table_encode(const char *name, uint64_t *select, char **full)
{
	(void)name;
	*select = 0;
	*full = NULL;
	return VPMC_WHY_NO_TABLE;
}

int vpmc_table_walk(int (*tell)(void *arg, const struct vpmc_umask *umask),
		    void *arg)
{
	(void)tell;
	(void)arg;
	return 0;
}
