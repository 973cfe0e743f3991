// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Prints structures in perfctr's form, which scripts parse.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdio.h>

#include "internal.h"

/* Tabs after a name align the values at this column. */
#define NAME_WIDTH	24

static void print_name(const char *name)
{
	int length = printf("%s", name);

	do {
		putchar('\t');
		length = (length / 8 + 1) * 8;
	} while (length < NAME_WIDTH);
}

static void print_element(const char *array, unsigned int i)
{
	char name[40];

	snprintf(name, sizeof(name), "%s[%u]", array, i);
	print_name(name);
}

EXPORT void perfctr_info_print(const struct perfctr_info *info)
{
	static const char *const features[] = { "rdpmc", "rdtsc", "pcint" };
	const char *comma = "";

	print_name("abi_version");
	printf("0x%08X\n", info->abi_version);
	print_name("driver_version");
	printf("%s\n", info->driver_version);
	print_name("cpu_type");
	printf("%u (%s)\n", info->cpu_type, perfctr_info_cpu_name(info));
	print_name("cpu_features");
	printf("%#x (", info->cpu_features);
	for (unsigned int i = 0; i < 3; i++) {
		if (!(info->cpu_features & 1U << i))
			continue;
		printf("%s%s", comma, features[i]);
		comma = ",";
	}
	printf(")\n");
	print_name("cpu_khz");
	printf("%u\n", info->cpu_khz);
	print_name("tsc_to_cpu_mult");
	printf("%u%s\n", info->tsc_to_cpu_mult,
	       info->tsc_to_cpu_mult ? "" : " (unspecified, assume 1)");
	print_name("cpu_nrctrs");
	printf("%u\n", perfctr_info_nrctrs(info));
}

static void print_cpus(const char *name, const struct perfctr_cpu_mask *cpus)
{
	unsigned int total = 0;

	print_name(name);
	putchar('[');
	for (unsigned int cpu = 0; cpu < 32 * cpus->nrwords; cpu++)
		if (cpus->mask[cpu / 32] >> cpu % 32 & 1)
			printf("%s%u", total++ ? "," : "", cpu);
	printf("], total: %u\n", total);
}

EXPORT void perfctr_cpus_info_print(const struct perfctr_cpus_info *info)
{
	print_cpus("cpus", info->cpus);
	print_cpus("cpus_forbidden", info->cpus_forbidden);
}

static void print_counter(const struct perfctr_cpu_control *control,
			  unsigned int i)
{
	print_element("pmc_map", i);
	/* hexadecimal is easier to read for the number of a fixed counter */
	printf(control->pmc_map[i] < PERFCTR_X86_MAX_COUNTERS ? "%u\n" : "0x%08X\n",
	       control->pmc_map[i]);
	print_element("evntsel", i);
	printf("0x%08X\n", control->evntsel[i]);
	if (control->p4.escr[i]) {
		print_element("escr", i);
		printf("0x%08X\n", control->p4.escr[i]);
	}
	if (i >= control->nractrs) {
		print_element("ireset", i);
		printf("%d\n", control->ireset[i]);
	}
}

EXPORT void perfctr_cpu_control_print(const struct perfctr_cpu_control *control)
{
	unsigned int nr = control->nractrs + control->nrictrs;

	print_name("tsc_on");
	printf("%u\n", control->tsc_on);
	print_name("nractrs");
	printf("%u\n", control->nractrs);
	if (control->nrictrs) {
		print_name("nrictrs");
		printf("%u\n", control->nrictrs);
	}
	for (unsigned int i = 0; i < nr && i < PERFCTR_X86_MAX_COUNTERS; i++)
		print_counter(control, i);
	if (control->p4.pebs_enable) {
		print_name("pebs_enable");
		printf("0x%08X\n", control->p4.pebs_enable);
	}
	if (control->p4.pebs_matrix_vert) {
		print_name("pebs_matrix_vert");
		printf("0x%08X\n", control->p4.pebs_matrix_vert);
	}
}
