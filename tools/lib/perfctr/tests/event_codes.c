// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Prints the definitions of perfctr_event_codes.h, from libpfm4's tables.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perfmon/pfmlib.h>

/* Prefixes are perfctr's, where it had some. */
static const struct {
	pfm_pmu_t pmu;
	const char *prefix, *type;
	unsigned int mask;
} tables[] = {
	{ PFM_PMU_AMD64_K7, "K7_", "PERFCTR_X86_AMD_K7", 0xff },
	{ PFM_PMU_AMD64_K8_REVC, "K8_", "PERFCTR_X86_AMD_K8 and PERFCTR_X86_AMD_K8C", 0xff },
	{ PFM_PMU_AMD64_FAM10H_SHANGHAI, "FAM10H_", "PERFCTR_X86_AMD_FAM10H", 0xfff },
	{ PFM_PMU_INTEL_CORE, "CORE2_", "PERFCTR_X86_INTEL_CORE2", 0xff },
	{ PFM_PMU_INTEL_ATOM, "ATOM_", "PERFCTR_X86_INTEL_ATOM", 0xff },
};

static void print(unsigned int table)
{
	pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
	char name[64];

	if (pfm_get_pmu_info(tables[table].pmu, &pmu) != PFM_SUCCESS)
		exit(1);
	printf("\n/* %s */\n", tables[table].type);
	for (int i = pmu.first_event; i != -1; i = pfm_get_event_next(i)) {
		pfm_event_info_t info = { .size = sizeof(info) };

		if (pfm_get_event_info(i, PFM_OS_NONE, &info) != PFM_SUCCESS)
			exit(1);
		snprintf(name, sizeof(name), "%s%s", tables[table].prefix, info.name);
		for (char *c = name; *c; c++)
			*c = toupper(*c);
		printf("#define %-55s 0x%02X\n", name,
		       (unsigned int)info.code & tables[table].mask);
	}
}

int main(void)
{
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	if (pfm_initialize() != PFM_SUCCESS)
		return 1;
	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		print(i);
	return 0;
}
