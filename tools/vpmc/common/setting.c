// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the settings of the machine that affect counting.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/setting.h"

#define RDPMC		"/sys/bus/event_source/devices/cpu/rdpmc"
/* The same where processors differ. That of their other PMU changes with it. */
#define RDPMC_HYBRID	"/sys/bus/event_source/devices/cpu_core/rdpmc"

const struct setting settings[] = {
	{ "kernel.vpmc_paranoid", "/proc/sys/kernel/vpmc_paranoid" },
	{ "kernel.vpmc_counters", "/proc/sys/kernel/vpmc_counters" },
	{ "kernel.vpmc_revoke", "/proc/sys/kernel/vpmc_revoke" },
	{ "kernel.vpmc_period_min", "/proc/sys/kernel/vpmc_period_min" },
	{ "kernel.vpmc_overflow_rate", "/proc/sys/kernel/vpmc_overflow_rate" },
	{ "kernel.vpmc_isolation", "/proc/sys/kernel/vpmc_isolation" },
	{ "kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid" },
	{ "kernel.nmi_watchdog", "/proc/sys/kernel/nmi_watchdog" },
	{ RDPMC, RDPMC },
	{ RDPMC_HYBRID, RDPMC_HYBRID },
	{}
};

bool setting_read(const struct setting *setting, char *value, size_t size)
{
	int fd = open(setting->file, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, value, size - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	value[n] = 0;
	value[strcspn(value, "\n")] = 0;
	return true;
}

const char *setting_rdpmc(void)
{
	return access(RDPMC, F_OK) && !access(RDPMC_HYBRID, F_OK) ? RDPMC_HYBRID : RDPMC;
}
