/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests that try each kind of set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SEAMS_H
#define SEAMS_H

#include "seam.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"
#define PIECES		3
#define MAX_EVENTS	12

FIXTURE(seams)
{
	struct seam seam;
	int perf[MAX_EVENTS];
};

FIXTURE_VARIANT(seams)
{
	enum seam_kind kind;
};

FIXTURE_VARIANT_ADD(seams, plain) { .kind = PLAIN };
FIXTURE_VARIANT_ADD(seams, kernel) { .kind = KERNEL_TOO };
FIXTURE_VARIANT_ADD(seams, signal) { .kind = SIGNALS };
FIXTURE_VARIANT_ADD(seams, ring) { .kind = RECORDS };
FIXTURE_VARIANT_ADD(seams, samples) { .kind = SAMPLED };
FIXTURE_VARIANT_ADD(seams, family) { .kind = INHERITED };
FIXTURE_VARIANT_ADD(seams, remote) { .kind = CONTROLLED };

FIXTURE_SETUP(seams)
{
	memset(self->perf, -1, sizeof(self->perf));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, seam_open(&self->seam, variant->kind));
	ASSERT_EQ(0, seam_work(&self->seam));
}

FIXTURE_TEARDOWN(seams)
{
	int i;

	for (i = 0; i < MAX_EVENTS; i++)
		close(self->perf[i]);
	seam_close(&self->seam);
}

/* Some pieces of work, all counted exactly. */
static inline int work_and_compare(struct seam *s)
{
	int i, err = 0;

	for (i = 0; i < PIECES && !err; i++)
		err = seam_work(s);
	return err ?: seam_wrong(s);
}

/* Suspend up to the point at which all other CPUs are offline. */
static inline int suspend_in_test_mode(void)
{
	return write_file("/sys/module/suspend/parameters/pm_test_delay", "0") ?:
	       write_file("/sys/power/pm_test", "core") ?:
	       write_file("/sys/power/state", "mem") ?:
	       write_file("/sys/power/pm_test", "none");
}

/* Another process takes all time of CPU 1. */
static inline pid_t seam_spinner(void)
{
	const struct sched_param none = {};
	pid_t pid = fork();

	if (pid)
		return pid;
	/* It may have inherited the policy of a thread that gets little time. */
	sched_setscheduler(0, SCHED_OTHER, &none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pin(1);
}

/* The worker leaves CPU 1 to whoever wants it. */
static inline int seam_starve(struct seam *s)
{
	const struct sched_param none = {};
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(1, &mask);
	return sched_setaffinity(s->worker, sizeof(mask), &mask) ||
	       sched_setscheduler(s->worker, SCHED_IDLE, &none);
}

static inline int seam_feed(struct seam *s)
{
	const struct sched_param none = {};

	return sched_setscheduler(s->worker, SCHED_OTHER, &none);
}

#endif /* SEAMS_H */
