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

/* NetBurst: event and event mask in the ESCR, and which ESCR in the CCCR */
#define P4(event, mask, escr)	((uint64_t)((event) << 25 | (mask) << 9) << 32 | (escr) << 13)

/*
 * NetBurst's instructions are those that were not bogus, whether or not they were tagged.
 * Its references and misses are reads of the second cache.
 */
const struct vpmc_portable vpmc_portable[] = {
	{ "instructions", NULL, "Instructions that were executed to their end",
	  0x00c0, 0x00c0, 0x00c0, P4(0x02, 0x3, 4) },
	{ "cycles", "cpu-cycles", "Cycles of the core while it was not halted",
	  0x003c, 0x0076, 0x0079, P4(0x13, 0x1, 6) },
	{ "ref-cycles", NULL,
	  "Cycles of a clock of constant rate while the core was not halted",
	  0x013c, 0, 0, 0 },
	{ "branches", "branch-instructions",
	  "Branch instructions that were executed to their end",
	  0x00c4, 0x00c2, 0x00c4, P4(0x06, 0xf, 5) },
	{ "branch-misses", NULL, "Branch instructions that were mispredicted",
	  0x00c5, 0x00c3, 0x00c5, P4(0x06, 0xa, 5) },
	{ "cache-references", NULL, "References to the last-level cache",
	  0x4f2e, 0, 0x0f2e, P4(0x0c, 0x107, 7) },
	{ "cache-misses", NULL, "Misses of the last-level cache",
	  0x412e, 0, 0x012e, P4(0x0c, 0x100, 7) },
};

const unsigned int vpmc_nr_portable =
	sizeof(vpmc_portable) / sizeof(vpmc_portable[0]);

/* Decides from the processor's vendor string, and from the family of old ones. */
static enum vpmc_kind vendor(void)
{
	unsigned int max, a, b, c, d;

	__cpuid(0, max, b, c, d);
	/* "AuthenticAMD", "HygonGenuine" */
	if (b == 0x68747541 || b == 0x6f677948)
		return VPMC_KIND_AMD;
	if (b != signature_INTEL_ebx || max >= 0xa)
		return VPMC_KIND_INTEL;
	__cpuid(1, a, b, c, d);
	switch (a >> 8 & 0xf) {
	case 6:
		return VPMC_KIND_P6;
	case 15:
		return VPMC_KIND_P4;
	}
	return VPMC_KIND_INTEL;
}

/*
 * Asks the kernel first. If it offers no PMU, the name of libpfm4's table
 * decides, which a user may have forced. Without a table, the processor
 * decides.
 */
enum vpmc_kind vpmc_processor_kind(void)
{
	struct vpmc_info info;
	const char *table;

	if (!vpmc_get_info(&info) && info.kind != VPMC_KIND_TSC)
		return select_kind_of_events(&info);
	table = vpmc_table(NULL);
	return table ? select_kind_of_table(table) : vendor();
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

uint64_t vpmc_portable_code(const struct vpmc_portable *p, enum vpmc_kind kind)
{
	switch (kind) {
	case VPMC_KIND_AMD:
		return p->amd;
	case VPMC_KIND_P6:
		return p->p6;
	case VPMC_KIND_P4:
		return p->p4;
	default:
		return p->intel;
	}
}
