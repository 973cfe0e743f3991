/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Restores what tests change on the machine: sysctls, online CPUs, bonds to CPUs.
 * lib/guard.h does that when the program ends in any way.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PUTBACK_H
#define PUTBACK_H

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bonds.h"

/* Files that a test writes to and whose values outlive the test. */
static const char *const putback_patterns[] = {
	"/sys/devices/system/cpu/cpu*/online",
	"/proc/sys/kernel/vpmc_*",
	"/proc/sys/kernel/perf_event_paranoid",
	/* Before the rate, which perf does not let change while this is 0. */
	"/proc/sys/kernel/perf_cpu_time_max_percent",
	"/proc/sys/kernel/perf_event_max_sample_rate",
	"/proc/sys/kernel/nmi_watchdog",
	"/proc/sys/kernel/watchdog_cpumask",
	"/proc/sys/kernel/watchdog_thresh",
	"/proc/sys/kernel/core_pattern",
	"/proc/sys/kernel/core_pipe_limit",
	"/proc/sys/kernel/yama/ptrace_scope",
	"/proc/sys/fs/suid_dumpable",
	"/proc/sys/fs/epoll/max_user_watches",
	"/proc/sys/debug/exception-trace",
	"/sys/bus/event_source/devices/cpu/rdpmc",
	"/sys/bus/event_source/devices/cpu_core/rdpmc",
	"/sys/bus/event_source/devices/cpu/freeze_on_smi",
	"/sys/devices/virtual/workqueue/cpumask",
	"/sys/power/pm_test",
	"/sys/module/suspend/parameters/pm_test_delay",
};

struct putback {
	char path[96];
	char text[256];
};

/* A file for each CPU, and some more. */
static struct putback putback_files[1024];
static unsigned int putback_number;

static inline void putback_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
}

/* pm_test lists the choices and has the chosen one in brackets. */
static inline void putback_choice(char *text)
{
	char *begin = strchr(text, '['), *end = strchr(text, ']');

	if (!begin || !end)
		return;
	*end = 0;
	memmove(text, begin + 1, end - begin);
}

static inline void putback_note(const char *path)
{
	struct putback *file = &putback_files[putback_number];

	if (putback_number == sizeof(putback_files) / sizeof(*file) ||
	    strlen(path) >= sizeof(file->path) || access(path, W_OK))
		return;
	memcpy(file->path, path, strlen(path) + 1);
	putback_read(path, file->text, sizeof(file->text));
	putback_choice(file->text);
	putback_number += !!*file->text;
}

/* Writes only what has changed. */
static inline void putback_all(void)
{
	char now[sizeof(putback_files->text)];
	const struct putback *file;
	int fd;

	for (file = putback_files; file < putback_files + putback_number; file++) {
		putback_read(file->path, now, sizeof(now));
		putback_choice(now);
		if (!strcmp(now, file->text))
			continue;
		fd = open(file->path, O_WRONLY);
		if (fd < 0 || write(fd, file->text, strlen(file->text)) < 0)
			fprintf(stderr, "# %s: cannot be put back\n", file->path);
		if (fd >= 0)
			close(fd);
	}
	/* now that their CPUs are online again */
	bonds_put_back();
}

/* Changes a file, only if it is one that is put back. */
static inline void putback_write(const char *path, const char *text)
{
	char now[sizeof(putback_files->text)] = "";
	unsigned int i = 0;
	int fd;

	while (i < putback_number && strcmp(putback_files[i].path, path))
		i++;
	if (i == putback_number)
		return;
	putback_read(path, now, sizeof(now));
	now[strcspn(now, "\n")] = 0;
	if (!strcmp(now, text))
		return;
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "# %s: %s is refused\n", path, text);
	if (fd >= 0)
		close(fd);
}

static inline void putback_begin(void)
{
	unsigned int i;
	size_t k;
	glob_t found;

	for (i = 0; i < sizeof(putback_patterns) / sizeof(*putback_patterns); i++) {
		if (glob(putback_patterns[i], 0, NULL, &found))
			continue;
		for (k = 0; k < found.gl_pathc; k++)
			putback_note(found.gl_pathv[k]);
		globfree(&found);
	}
	bonds_note();
}

#endif /* PUTBACK_H */
