// SPDX-License-Identifier: GPL-2.0
/*
 * Where two features meet: each kind of set beside each thing that others do on the
 * machine, in the setting that users have. Documentation/dev-tools/vpmc-seams.rst has
 * the table of all pairs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/seccomp.h>

#include "global.h"
#include "seam_events.h"
#include "seams.h"

/* More events than there are counters: perf multiplexes them. */
TEST_F(seams, flexible_events)
{
	const int n = machine.nr_gp + 2;

	ASSERT_GE(MAX_EVENTS, n);
	ASSERT_EQ(0, open_events(self->perf, n, self->seam.worker, false, false));
	EXPECT_EQ(0, work_and_compare(&self->seam));
	EXPECT_LT(0, events_alive(self->perf, n));
	close_events(self->perf, n);
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

TEST_F(seams, pinned_event)
{
	ASSERT_EQ(0, open_events(self->perf, 1, self->seam.worker, true, false));
	EXPECT_EQ(0, work_and_compare(&self->seam));
	EXPECT_EQ(1, events_alive(self->perf, 1));
	close_events(self->perf, 1);
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

TEST_F(seams, group)
{
	ASSERT_EQ(0, open_events(self->perf, 2, self->seam.worker, false, true));
	EXPECT_EQ(0, work_and_compare(&self->seam));
	EXPECT_EQ(2, events_alive(self->perf, 2));
	close_events(self->perf, 2);
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

/* This process may use RDPMC because of perf, too, and then because of vpmc alone. */
TEST_F(seams, mapped_event)
{
	void *page;

	ASSERT_EQ(0, open_events(self->perf, 1, 0, false, false));
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->perf[0], 0);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(0, work_and_compare(&self->seam));
	ASSERT_EQ(0, munmap(page, PAGE));
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

TEST_F(seams, loans)
{
	pid_t pid[2];
	int i;

	for (i = 0; i < 2; i++)
		pid[i] = seam_borrower(i);
	for (i = 0; i < test_times(20); i++) {
		ASSERT_EQ(0, work_and_compare(&self->seam));
		usleep(300);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, seam_kill(pid[i]));
}

/* The worker is on the CPU that goes, and comes back to it. */
TEST_F(seams, hotplug)
{
	struct seam *s = &self->seam;
	cpu_set_t mask;
	int i;

	CPU_ZERO(&mask);
	CPU_SET(1, &mask);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, sched_setaffinity(s->worker, sizeof(mask), &mask));
		EXPECT_EQ(0, work_and_compare(s));
		ASSERT_EQ(0, set_cpu_online(1, "0"));
		EXPECT_EQ(0, work_and_compare(s));
		ASSERT_EQ(0, set_cpu_online(1, "1"));
		EXPECT_EQ(0, work_and_compare(s));
	}
}

TEST_F(seams, suspend)
{
	ASSERT_EQ(0, suspend_in_test_mode());
	EXPECT_EQ(0, work_and_compare(&self->seam));
}

TEST_F(seams, watchdog)
{
	char before[2] = { '0' + read_number(WATCHDOG), 0 };
	int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, write_file(WATCHDOG, i & 1 ? "1" : "0"));
		EXPECT_EQ(0, work_and_compare(&self->seam));
	}
	EXPECT_EQ(0, write_file(WATCHDOG, before));
}

/* What was counted stays, to the instruction, and a new set counts. */
TEST_F(seams, revoked)
{
	struct seam *s = &self->seam;
	struct vpmc_read read;

	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_EQ(0, seam_wrong(s));
	ASSERT_EQ(0, vpmc_read(s->set.fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, seam_wrong(s));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	/* A descendant does not get the root's next set. */
	if (s->kind == INHERITED)
		return;
	ASSERT_EQ(0, seam_program(s));
	EXPECT_EQ(0, work_and_compare(s));
}

/* Counters of CPUs are refused, and disturb nothing. */
TEST_F(seams, counters_of_cpus)
{
	int fd = global_open();
	struct vpmc_global_control control;
	static const struct choice one[] = { { EV_INSNS, VPMC_ANY }, {} };

	ASSERT_LE(0, fd);
	global_init(&control, VPMC_ALL_CPUS, one);
	EXPECT_EQ(-EBUSY, global_control(fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_THREADS, control.reason);
	EXPECT_EQ(0, work_and_compare(&self->seam));
	close(fd);
}

/* The worker gets little time, beside one that takes all. */
TEST_F(seams, starved)
{
	struct seam *s = &self->seam;
	pid_t pid;

	ASSERT_EQ(0, seam_starve(s));
	pid = seam_spinner();
	EXPECT_EQ(0, work_and_compare(s));
	EXPECT_EQ(0, seam_kill(pid));
	EXPECT_EQ(0, work_and_compare(s));
	ASSERT_EQ(0, seam_feed(s));
}

/* A child that may only read, write and exit. Returns its pid. */
static pid_t strict_child(const struct set *set, long turns, int out)
{
	pid_t pid = fork();
	uint64_t before, count;
	struct set own;

	if (pid)
		return pid;
	if (!set && set_open(&own, seam_plain))
		_exit(1);
	if (!set) {
		own.control.flags = 0;
		if (set_control(&own))
			_exit(2);
	} else if (heir_open(&own)) {
		_exit(3);
	}
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(4);
	before = vpmc_read_1(own.page);
	code_loop(turns, 0);
	count = vpmc_read_1(own.page) - before;
	syscall(SYS_exit, write(out, &count, sizeof(count)) != sizeof(count));
	__builtin_unreachable();
}

/* RDPMC and the page need no system call, and descendants are counted to their end. */
TEST(seccomp)
{
	uint64_t count[2], sum[2];
	int i, inherits, out[2];
	struct vpmc_read read_sums;
	struct set root;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pipe(out));
	for (inherits = 0; inherits < 2; inherits++) {
		for (i = 0; i < 2; i++) {
			if (inherits) {
				ASSERT_EQ(0, set_open(&root, seam_plain));
				root.control.flags |= PROCESSES;
				ASSERT_EQ(0, set_control(&root));
				ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_START, 0));
			}
			EXPECT_EQ(0, child_status(strict_child(
				inherits ? &root : NULL, 1000 + 2000 * i, out[1])));
			ASSERT_EQ(8, read(out[0], &count[i], 8));
			if (!inherits)
				continue;
			ASSERT_EQ(0, family_read(root.fd, FINISHED, &read_sums));
			EXPECT_EQ(1, read_sums.finished);
			sum[i] = read_sums.sum[1];
			set_close(&root);
		}
		EXPECT_EQ(CODE_LOOP(3000).insns - CODE_LOOP(1000).insns,
			  count[1] - count[0]);
	}
	/* At least the branches of the loop, which are the root's second counter. */
	EXPECT_LE(CODE_LOOP(1000).branches, sum[0]);
	EXPECT_LE(CODE_LOOP(3000).branches, sum[1]);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS, "a PMU that perf lends", NULL,
	  perf_keeps_counters },
);

TEST_HARNESS_MAIN
