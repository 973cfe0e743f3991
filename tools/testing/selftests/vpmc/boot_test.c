// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's command line and configuration decide at boot: vpmc=off, and
 * the costs that CONFIG_VPMC_INIT_TESTS prints. Each test has a guest of its own.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "log.h"
#include "perf.h"
#include "vpmc_test.h"

/* vpmc=off: no file opens, and perf has the PMU. */
TEST(off)
{
	static const char * const path[] = {
		"/proc/self/perfctr", "/proc/thread-self/perfctr",
		"/proc/1/perfctr", "/proc/1/task/1/perfctr",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(path); i++) {
		EXPECT_EQ(-1, open(path[i], O_RDWR | O_CREAT, 0666));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_EQ(-1, open(path[i], O_RDONLY));
		EXPECT_EQ(ENODEV, errno);
	}
	EXPECT_NE(NULL, strstr(kernel_log(), "vpmc: off"));
	EXPECT_EQ(NULL, strstr(kernel_log(), "vpmc: RDPMC takes"));
	EXPECT_EQ(0, perf_error(1000));
}

/* An option that does not exist is named by the kernel, and changes nothing. */
TEST(unknown_option)
{
	struct set set;
	static const struct choice one[] = { { EV_INSNS, 0 }, {} };

	EXPECT_NE(NULL, strstr(kernel_log(),
			       "Unknown kernel command line parameters"));
	EXPECT_NE(NULL, strstr(kernel_log(), "vpmc=no"));
	ASSERT_EQ(0, set_open(&set, one));
	set_close(&set);
}

/* On the emulator a tick is an instruction: RDTSC takes one, the others more. */
TEST(costs)
{
	static const char * const what[] = {
		"RDPMC", "RDTSC", "RDMSR of a counter", "WRMSR to a counter",
		"WRMSR to an event select", "WRMSR to GLOBAL_CTRL",
		"a write of CR4", "a write of LVTPC",
	};
	const char *log = kernel_log(), *line;
	unsigned long long ticks;
	char start[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		snprintf(start, sizeof(start), "vpmc: %s takes ", what[i]);
		line = strstr(log, start);
		ASSERT_NE(NULL, line);
		ASSERT_EQ(1, sscanf(line + strlen(start), "%llu TSC", &ticks));
		TH_LOG("%s: %llu", what[i], ticks);
		if (!strcmp(what[i], "RDTSC")) {
			EXPECT_EQ(1, ticks);
		} else {
			EXPECT_LT(1, ticks);
		}
	}
	EXPECT_EQ(NULL, strstr(log, "vpmc: no costs"));
}

static bool booted_off(void)
{
	return strstr(kernel_log(), "vpmc: off");
}

static bool booted_unknown(void)
{
	return strstr(kernel_log(), " vpmc=no");
}

static bool tested_at_boot(void)
{
	return strstr(kernel_log(), "vpmc: RDPMC takes") ||
	       strstr(kernel_log(), "vpmc: no costs");
}

NEEDS(
	{ "global.off", STEADY | ROOT, "a kernel that was booted with vpmc=off", NULL, booted_off },
	{ "global.unknown_option", EXACT | ROOT, "a kernel that was booted with vpmc=no", NULL, booted_unknown },
	{ "*", STEADY | ROOT, "CONFIG_VPMC_INIT_TESTS=y", NULL, tested_at_boot },
);

TEST_HARNESS_MAIN
