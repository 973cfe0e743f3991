/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that share CPU 1. One gets as little of it as a user can arrange for, because
 * the other one takes nearly all.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef STARVE_H
#define STARVE_H

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "moments.h"
#include "vpmc_test.h"

/* The caller gets little time from now on, and ends with its parent. */
static inline int be_starved(void)
{
	const struct sched_param none = {};

	return prctl(PR_SET_PDEATHSIG, SIGKILL) || pin(1) ||
	       sched_setscheduler(0, SCHED_IDLE, &none);
}

/*
 * The other process. It computes for @ms, and sleeps for @us to seven times as long, again
 * and again. @turns counts that.
 */
static inline void be_busy(volatile unsigned long *turns, unsigned int ms, unsigned int us)
{
	double end;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || pin(1))
		_exit(1);
	for (;;) {
		end = ms_now() + ms * test_slowness();
		while (ms_now() < end)
			;
		++*turns;
		usleep(us * (1 + *turns % 7) * test_slowness());
	}
}

#endif /* STARVE_H */
