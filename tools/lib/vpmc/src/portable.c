// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The portable names. This is the only table of events that the library has
 * itself. libpfm4 knows these names too, but gives perf's own numbers for them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include <string.h>

#include "internal.h"

const struct vpmc_portable vpmc_portable[] = {
	{ "instructions", NULL, "Instructions that were executed to their end",
	  0x00c0, 0x00c0 },
	{ "cycles", "cpu-cycles", "Cycles of the core while it was not halted",
	  0x003c, 0x0076 },
	{ "ref-cycles", NULL,
	  "Cycles of a clock of constant rate while the core was not halted",
	  0x013c, 0 },
	{ "branches", "branch-instructions",
	  "Branch instructions that were executed to their end",
	  0x00c4, 0x00c2 },
	{ "branch-misses", NULL, "Branch instructions that were mispredicted",
	  0x00c5, 0x00c3 },
	{ "cache-references", NULL, "References to the last-level cache",
	  0x4f2e, 0 },
	{ "cache-misses", NULL, "Misses of the last-level cache", 0x412e, 0 },
};

const unsigned int vpmc_nr_portable =
	sizeof(vpmc_portable) / sizeof(vpmc_portable[0]);

/* Decides from the processor's vendor string. */
static enum vpmc_kind vendor(void)
{
	unsigned int max, b, c, d;

	__cpuid(0, max, b, c, d);
	/* "AuthenticAMD", "HygonGenuine" */
	return b == 0x68747541 || b == 0x6f677948 ? VPMC_KIND_AMD :
						    VPMC_KIND_INTEL;
}

/*
 * Asks the kernel first. If it offers no PMU, the name of libpfm4's table
 * decides, which a user may have forced. Without a table, the processor's
 * vendor decides.
 */
enum vpmc_kind vpmc_processor_kind(void)
{
	struct vpmc_info info;
	const char *table;

	if (!vpmc_get_info(&info) && info.kind != VPMC_KIND_TSC)
		return info.kind;
	table = vpmc_table(NULL);
	if (table)
		return strncmp(table, "amd64", 5) ? VPMC_KIND_INTEL :
						    VPMC_KIND_AMD;
	return vendor();
}

static bool is(const char *known, const char *name, size_t length)
{
	return known && strlen(known) == length && !memcmp(known, name, length);
}

const struct vpmc_portable *vpmc_portable_find(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < vpmc_nr_portable; i++)
		if (is(vpmc_portable[i].name, name, length) ||
		    is(vpmc_portable[i].alias, name, length))
			return &vpmc_portable[i];
	return NULL;
}

uint32_t vpmc_portable_code(const struct vpmc_portable *p, enum vpmc_kind kind)
{
	return kind == VPMC_KIND_AMD ? p->amd : p->intel;
}
