/* SPDX-License-Identifier: GPL-2.0 */
/*
 * May the calling thread use RDPMC?
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RDPMC_H
#define RDPMC_H

#include <setjmp.h>
#include "vpmc_test.h"

static __thread sigjmp_buf rdpmc_env;

static void rdpmc_refused(int sig)
{
	siglongjmp(rdpmc_env, 1);
}

/* RDPMC of a counter that exists: a value, or SIGSEGV */
static __attribute__((__noinline__)) bool may_rdpmc(uint32_t index)
{
	struct sigaction action = { .sa_handler = rdpmc_refused }, before;
	volatile bool allowed = false;

	sigaction(SIGSEGV, &action, &before);
	if (!sigsetjmp(rdpmc_env, 1)) {
		vpmc_rdpmc(index);
		allowed = true;
	}
	sigaction(SIGSEGV, &before, NULL);
	return allowed;
}

/*
 * The kernel logs a process that dies of SIGSEGV, which looks like a bug. Here
 * the fault is expected, so the log entry is suppressed: in the emulator, whose log
 * is checked. A user's machine stays as it is, and one that stands for it.
 */
static inline int silence_faults(void)
{
	int fd, err;

	if (!emulator() || asked_to_disturb() >= 0)
		return 0;
	fd = open("/proc/sys/debug/exception-trace", O_WRONLY);
	err = fd < 0 || write(fd, "0\n", 2) != 2;
	close(fd);
	return err;
}

/* 1: a new child may, 0: it may not, else an error */
static inline int child_may_rdpmc(uint32_t index)
{
	pid_t pid = fork();

	if (!pid)
		_exit(may_rdpmc(index));
	return child_status(pid);
}

#endif /* RDPMC_H */
