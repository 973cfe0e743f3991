// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own tests (CONFIG_VPMC_KUNIT_TEST) have run at boot and passed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "vpmc_test.h"

FIXTURE(suite) {
};

FIXTURE_VARIANT(suite) {
	const char *name;
	unsigned int tests;
};

FIXTURE_VARIANT_ADD(suite, placement) {
	.name = "vpmc_place",
	.tests = 11,
};

FIXTURE_VARIANT_ADD(suite, netburst) {
	.name = "vpmc_p4",
	.tests = 21,
};

FIXTURE_VARIANT_ADD(suite, selection) {
	.name = "vpmc_selection",
	.tests = 12,
};

FIXTURE_VARIANT_ADD(suite, widths) {
	.name = "vpmc_widths",
	.tests = 6,
};

FIXTURE_VARIANT_ADD(suite, ring) {
	.name = "vpmc_ring",
	.tests = 3,
};

FIXTURE_VARIANT_ADD(suite, lend) {
	.name = "x86_pmu_loan",
	.tests = 8,
};

FIXTURE_VARIANT_ADD(suite, borrow) {
	.name = "vpmc_counters",
	.tests = 5,
};

FIXTURE_VARIANT_ADD(suite, set) {
	.name = "vpmc_set",
	.tests = 6,
};

FIXTURE_SETUP(suite)
{
}

FIXTURE_TEARDOWN(suite)
{
}

static bool kernel_has(const char *function)
{
	char line[256], type, name[128];
	bool found = false;
	FILE *file = fopen("/proc/kallsyms", "r");

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %c %127s", &type, name) == 2 &&
			!strcmp(name, function);
	if (file)
		fclose(file);
	return found;
}

/* CPUID leaf 23H, EAX: the subleaf of auto counter reload is there. */
static bool machine_has_reload(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid_count(0x23, 0, &eax, &ebx, &ecx, &edx) && eax & 1 << 2;
}

/* May the test of this line be skipped here? */
static bool may_be_skipped(const char *line)
{
	/* KVM does not change the global register on AMD's processors. */
	if (strstr(line, "each_guest_and_loan # SKIP"))
		return machine_is_amd();
	if (strstr(line, "guests_or_users # SKIP"))
		return !kernel_has("perf_create_mediated_pmu");
	if (strstr(line, " no_reload_"))
		return !kernel_has("intel_pmu_enable_acr") || !machine_has_reload();
	return false;
}

/* Each test of the suite has a line "ok N NAME", indented once. */
TEST_F(suite, has_passed)
{
	unsigned int passed = 0;
	char line[256];
	FILE *file;

	snprintf(line, sizeof(line), "/sys/kernel/debug/kunit/%s/results",
		 variant->name);
	file = fopen(line, "r");
	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		bool skipped = strstr(line, "# SKIP") && !may_be_skipped(line);
		bool failed = strstr(line, "not ok ");

		if (failed || skipped)
			TH_LOG("%s", line);
		EXPECT_FALSE(failed);
		EXPECT_FALSE(skipped);
		passed += !strncmp(line, "    ok ", 7) && !skipped;
	}
	fclose(file);
	EXPECT_EQ(variant->tests, passed);
}

/* debugfs is mounted only in the emulator. Other machines are not changed. */
static bool has_results(void)
{
	if (emulator())
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	return !access("/sys/kernel/debug/kunit/vpmc_place/results", F_OK);
}

NEEDS(
	{ "*", ROOT, "CONFIG_VPMC_KUNIT_TEST=y, and debugfs mounted", NULL,
	  has_results },
);

TEST_HARNESS_MAIN
