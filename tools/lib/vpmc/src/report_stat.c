// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Hands the report of each process to vpmc stat -m or --rank.
 *
 * The variable VPMC_STAT_REGIONS names a file. A process appends one line of JSON when it
 * opens its first regions, and one with its report when it ends. So vpmc stat knows of processes
 * that have ended without a report. The file is opened by its name each time, because programs
 * close descriptors that they do not know.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "region.h"
#include "report.h"
#include "write.h"

/* When the process has opened its first regions; a number that tells it from others. */
static unsigned long long begun;
static pid_t begun_by;

const char *vpmc_report_stat_file(void)
{
	const char *name = secure_getenv("VPMC_STAT_REGIONS");

	return name && *name ? name : NULL;
}

/* Appends the text as a whole, whoever else does so. */
static int append(struct writer *w)
{
	int fd = open(vpmc_report_stat_file(), O_WRONLY | O_APPEND | O_CLOEXEC), err = 0;
	size_t done = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) && errno == EINTR)
		;
	while (!err && done < w->length) {
		n = write(fd, w->text + done, w->length - done);
		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			err = -errno;
	}
	close(fd);
	return err;
}

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

void vpmc_report_begins(void)
{
	struct writer w;

	if (!vpmc_report_stat_file() ||
	    __atomic_exchange_n(&begun_by, getpid(), __ATOMIC_RELAXED) == getpid())
		return;
	begun = now();
	if (vpmc_writer_open(&w))
		return;
	vpmc_json_open(&w, NULL, '{');
	vpmc_json_number(&w, "pid", getpid());
	vpmc_json_number(&w, "begun", begun);
	vpmc_json_close(&w, '}');
	vpmc_put(&w, "\n");
	if (!w.failed)
		append(&w);
	vpmc_writer_drop(&w);
}

int vpmc_report_to_stat(void)
{
	struct vpmc_regions *all, *regions;
	struct writer w;
	int err;

	if (!vpmc_report_stat_file())
		return 0;
	err = vpmc_writer_open(&w);
	if (err)
		return err;
	all = vpmc_regions_lock();
	for (regions = all; regions; regions = regions->next)
		vpmc_samples_settle(regions);
	vpmc_report_json(&w, all, begun);
	vpmc_regions_unlock();
	err = w.failed ? -ENOMEM : append(&w);
	vpmc_writer_drop(&w);
	return err;
}
