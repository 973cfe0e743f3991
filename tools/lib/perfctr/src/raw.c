// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counters through a descriptor. It may come from another process, and its
 * thread may have ended.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define OWN_FILE	"/proc/thread-self/perfctr"

int perfctr_read_fd(int fd, struct vpmc_read *sums)
{
	memset(sums, 0, sizeof(*sums));
	sums->size = sizeof(*sums);
	return perfctr_request(fd, VPMC_IOC_READ, sums);
}

/* Stops the set. One that was never programmed counts as stopped. */
int perfctr_stop_fd(int fd)
{
	int err = perfctr_request(fd, VPMC_IOC_STOP, NULL);

	return err == -ENODATA ? 0 : err;
}

/*
 * Reads the set that is programmed. A stopped one counts as none, as in
 * perfctr.
 */
int perfctr_get_set(int fd, struct vpmc_control *set)
{
	struct vpmc_read sums;
	int err = perfctr_read_fd(fd, &sums);

	memset(set, 0, sizeof(*set));
	if (err)
		return err;
	if (sums.state == VPMC_STATE_EMPTY || sums.state == VPMC_STATE_STOPPED)
		return -ENODATA;
	set->size = sizeof(*set);
	set->nr_counters = VPMC_MAX_COUNTERS;
	return perfctr_request(fd, VPMC_IOC_READ_CONTROL, set);
}

static bool has_counters(int fd)
{
	struct vpmc_read sums;

	return perfctr_read_fd(fd, &sums) != -ENOENT;
}

/*
 * perfctr fails if the thread has counters already. Without counters its
 * descriptor serves only perfctr_info() and similar calls. This one is the
 * same.
 */
EXPORT int _vperfctr_open(int creat)
{
	int fd = open(OWN_FILE, O_RDWR | O_CLOEXEC);

	if (fd < 0 || !creat)
		return fd;
	if (has_counters(fd)) {
		close(fd);
		errno = EEXIST;
		return -1;
	}
	close(fd);
	return open(OWN_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static int program(void *fd, struct vpmc_control *set)
{
	return perfctr_request(*(int *)fd, VPMC_IOC_CONTROL, set);
}

EXPORT int _vperfctr_control(int fd, const struct vperfctr_control *control)
{
	struct vpmc_control set;
	int err;

	if (perfctr_is_stop(control))
		return perfctr_result(perfctr_stop_fd(fd));
	err = perfctr_to_vpmc(fd, control, &set);
	if (!err)
		err = perfctr_place(program, &fd, &set);
	/* in perfctr a refused control leaves the counters stopped */
	if (err)
		perfctr_stop_fd(fd);
	return perfctr_result(err);
}

EXPORT int _vperfctr_read_control(int fd, struct vperfctr_control *control)
{
	struct vpmc_control set;
	int err = perfctr_get_set(fd, &set);

	memset(control, 0, sizeof(*control));
	if (err == -ENODATA)
		return 0;
	if (!err)
		err = perfctr_from_vpmc(fd, &set, control);
	return perfctr_result(err);
}

EXPORT int _vperfctr_read_sum(int fd, struct perfctr_sum_ctrs *sum)
{
	struct vpmc_read sums;
	unsigned int i;
	int err = perfctr_read_fd(fd, &sums);

	memset(sum, 0, sizeof(*sum));
	if (err)
		return perfctr_result(err);
	sum->tsc = sums.ticks;
	for (i = 0; i < PERFCTR_X86_MAX_COUNTERS; i++)
		sum->pmc[i] = sums.sum[i];
	return 0;
}

/*
 * Prints one line on standard error for each failure, as perfctr's library
 * does.
 */
EXPORT int _perfctr_abi_check_fd(int fd, unsigned int user_abi_version)
{
	struct vpmc_info info = { .size = sizeof(info) };
	int err = perfctr_request(fd, VPMC_IOC_INFO, &info);

	if (err) {
		errno = -err;
		perror("perfctr_abi_check");
		return -1;
	}
	/* both major numbers must agree */
	if ((user_abi_version ^ PERFCTR_ABI_VERSION) & 0xff00ff00) {
		fprintf(stderr,
			"Error: perfctr ABI major version mismatch: driver ABI 0x%08X, user ABI 0x%08X\n",
			PERFCTR_ABI_VERSION, user_abi_version);
		errno = EPROTO;
		return -1;
	}
	return 0;
}
