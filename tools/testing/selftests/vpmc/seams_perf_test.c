// SPDX-License-Identifier: GPL-2.0
/*
 * Where two features meet: perf's pinned events, groups and mapped events beside each
 * thing that happens to a thread and to the machine, in the setting that users have.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "confine.h"
#include "loan.h"
#include "perf_page.h"
#include "rdpmc.h"
#include "seam_events.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define TURNS		2000

/* perf's events of this thread, and a set that has borrowed what they leave. */
FIXTURE(perf_seams)
{
	struct seam seam;
	int perf[2];
	void *page;
};

FIXTURE_VARIANT(perf_seams)
{
	bool pinned, group, mapped;
};

FIXTURE_VARIANT_ADD(perf_seams, pinned) { .pinned = true };
FIXTURE_VARIANT_ADD(perf_seams, group) { .group = true };
FIXTURE_VARIANT_ADD(perf_seams, mapped) { .mapped = true };
FIXTURE_VARIANT_ADD(perf_seams, mapped_and_pinned) { .mapped = true, .pinned = true };
FIXTURE_VARIANT_ADD(perf_seams, mapped_group) { .mapped = true, .group = true };

static int open_all(FIXTURE_DATA(perf_seams) *self,
		    const FIXTURE_VARIANT(perf_seams) *variant)
{
	int err;

	self->page = MAP_FAILED;
	err = open_events(self->perf, 2, 0, variant->pinned, variant->group);
	if (err)
		return err;
	if (variant->mapped) {
		self->page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->perf[0], 0);
		if (self->page == MAP_FAILED)
			return -errno;
	}
	return seam_open(&self->seam, PLAIN);
}

FIXTURE_SETUP(perf_seams)
{
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, open_all(self, variant));
}

FIXTURE_TEARDOWN(perf_seams)
{
	if (self->page != MAP_FAILED)
		munmap(self->page, PAGE);
	close_events(self->perf, 2);
	seam_close(&self->seam);
}

/* Both sides have counted this work. */
static int both_right(FIXTURE_DATA(perf_seams) *self)
{
	__u64 before[2], after[2];
	int i;

	for (i = 0; i < 2; i++)
		if (read(self->perf[i], &before[i], 8) != 8)
			return -1;
	if (work_and_compare(&self->seam))
		return -2;
	for (i = 0; i < 2; i++)
		if (read(self->perf[i], &after[i], 8) != 8 ||
		    after[i] - before[i] < PIECES * SEAM_TURNS)
			return -3;
	return 0;
}

TEST_F(perf_seams, hotplug)
{
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pin(1));
		EXPECT_EQ(0, both_right(self));
		ASSERT_EQ(0, set_cpu_online(1, "0"));
		EXPECT_EQ(0, both_right(self));
		ASSERT_EQ(0, set_cpu_online(1, "1"));
		EXPECT_EQ(0, both_right(self));
	}
}

TEST_F(perf_seams, suspend)
{
	ASSERT_EQ(0, suspend_in_test_mode());
	EXPECT_EQ(0, both_right(self));
}

TEST_F(perf_seams, watchdog)
{
	char before[2] = { '0' + read_number(WATCHDOG), 0 };
	int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, write_file(WATCHDOG, i & 1 ? "1" : "0"));
		EXPECT_EQ(0, both_right(self));
	}
	EXPECT_EQ(0, write_file(WATCHDOG, before));
}

/* perf's events go on, and a new set counts beside them. */
TEST_F(perf_seams, revoked)
{
	EXPECT_EQ(0, both_right(self));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_EQ(0, seam_wrong(&self->seam));
	EXPECT_EQ(2, events_alive(self->perf, 2));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	ASSERT_EQ(0, seam_program(&self->seam));
	EXPECT_EQ(0, both_right(self));
}

/* This thread gets little time, beside one that takes all. */
TEST_F(perf_seams, starved)
{
	pid_t pid;

	ASSERT_EQ(0, seam_starve(&self->seam));
	pid = seam_spinner();
	EXPECT_EQ(0, both_right(self));
	EXPECT_EQ(0, seam_kill(pid));
	ASSERT_EQ(0, seam_feed(&self->seam));
}

/* What the set and perf's first event have at a moment, without any request. */
struct counts {
	uint64_t set[2], perf;
};

/* It is not inlined, so that its own instructions are the same for all callers. */
static __attribute__((noinline)) void look(FIXTURE_DATA(perf_seams) *self,
					   struct counts *counts,
					   unsigned int *looks)
{
	vpmc_read_2(self->seam.set.page, counts->set, NULL);
	if (self->page != MAP_FAILED) {
		counts->perf = perf_page_count(self->page, looks);
		return;
	}
	++*looks;
	if (read(self->perf[0], &counts->perf, 8) != 8)
		counts->perf = 0;
}

/*
 * Returns how many counts of a loop are wrong. A look that had to be repeated has more
 * instructions.
 */
static int wrong_loop(FIXTURE_DATA(perf_seams) *self)
{
	const volatile __u64 *generation = &self->seam.set.page->generation;
	struct counts c[3];
	unsigned int looks;
	__u64 before;

	do {
		looks = 0;
		before = *generation;
		look(self, &c[0], &looks);
		code_loop(TURNS, 0);
		look(self, &c[1], &looks);
		code_loop(2 * TURNS, 0);
		look(self, &c[2], &looks);
	} while (looks != 3 || *generation != before);
	return (c[2].set[0] - 2 * c[1].set[0] + c[0].set[0] != 2 * TURNS) +
	       (c[2].set[1] - 2 * c[1].set[1] + c[0].set[1] != TURNS) +
	       (c[2].perf - 2 * c[1].perf + c[0].perf != TURNS);
}

static int may_use_rdpmc(void)
{
	return may_rdpmc(0);
}

/* Both count on between the stops. The debugger may not use RDPMC, whoever is stopped. */
TEST_F(perf_seams, traced)
{
	pid_t pid = debugger(my_tid(), 50);
	int status;

	ASSERT_LT(0, pid);
	while (!waitpid(pid, &status, WNOHANG)) {
		ASSERT_EQ(0, both_right(self));
		ASSERT_EQ(0, vpmc_ioctl(self->seam.set.fd, VPMC_IOC_START, 0));
		ASSERT_EQ(0, wrong_loop(self));
		ASSERT_EQ(0, seam_program(&self->seam));
	}
	EXPECT_EQ(0, status);
	EXPECT_TRUE(may_rdpmc(0));
	EXPECT_EQ(0, child_status(do_in_a_stop(my_tid(), may_use_rdpmc)));
	EXPECT_EQ(0, both_right(self));
}

/* Events and a set of a child. From some moment on it may only read, write and end. */
static void count_confined(const FIXTURE_VARIANT(perf_seams) *variant, int out)
{
	static FIXTURE_DATA(perf_seams) own;
	char wrong;

	if (open_all(&own, variant) ||
	    vpmc_ioctl(own.seam.set.fd, VPMC_IOC_START, 0))
		_exit(1);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(2);
	wrong = wrong_loop(&own);
	syscall(SYS_exit, write(out, &wrong, 1) != 1);
	__builtin_unreachable();
}

/* RDPMC needs no system call: neither by vpmc's page nor by perf's. */
TEST_F(perf_seams, filtered)
{
	char wrong = -1;
	int out[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(out));
	pid = fork();
	if (!pid)
		count_confined(variant, out[1]);
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(1, read(out[0], &wrong, 1));
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, both_right(self));
}

/* Opens a pinned event of CPU 1 as a user. */
static int open_pinned_as(uid_t uid, int *fd)
{
	int err;

	if (seteuid(uid))
		return -errno;
	err = open_branches(fd, 1, 1);
	return seteuid(0) ? -errno : err;
}

static int wrong_in_a_loop(struct set *set)
{
	return set_clear(set) || set_measure(set, code_loop, TURNS, 0) ||
	       wrong_after(set, CODE_LOOP(TURNS));
}

/*
 * A user's pinned event gets what sets of others leave, or nothing. The administrator's
 * gets its counter, and the older one of the user keeps its own.
 */
TEST(pinned_events_of_users)
{
	const struct choice *all_others = seven + MAX_GP - every_gp();
	int fd[3] = { -1, -1, -1 }, i;
	struct set set;

	ASSERT_EQ(0, write_file(PARANOID, "-1"));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_open(&set, all_others));
	ASSERT_EQ(0, open_pinned_as(1000, &fd[0]));
	EXPECT_EQ(1, alive(&fd[0], 1));
	EXPECT_EQ(0, wrong_in_a_loop(&set));
	ASSERT_EQ(0, open_pinned_as(1001, &fd[1]));
	EXPECT_EQ(0, alive(&fd[1], 1));
	EXPECT_EQ(1, alive(&fd[0], 1));
	EXPECT_EQ(0, wrong_in_a_loop(&set));
	close(fd[1]);
	ASSERT_EQ(0, open_branches(&fd[2], 1, 1));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(1, alive(&fd[2], 1));
	EXPECT_EQ(1, alive(&fd[0], 1));
	EXPECT_EQ(-EBUSY, set_program(&set, all_others));
	/* It is named first, although it would make way. */
	EXPECT_EQ(VPMC_REASON_PMU_WATCHDOG, set.control.reason);
	ASSERT_EQ(0, set_program(&set, branches));
	EXPECT_EQ(0, wrong_in_a_loop(&set));
	EXPECT_EQ(1, alive(&fd[2], 1));
	EXPECT_EQ(1, alive(&fd[0], 1));
	for (i = 0; i < 3; i++)
		close(fd[i]);
	set_close(&set);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS, "a PMU that perf lends", NULL,
	  perf_keeps_counters },
);

TEST_HARNESS_MAIN
