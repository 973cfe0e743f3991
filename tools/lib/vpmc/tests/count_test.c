// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests a thread that counts itself with the library: exact counts, wrong
 * threads, fork(), execve(), the end of a set, forbidden RDPMC, a debugger.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "lib_test.h"

#define TURNS		100000
#define RDPMC_FILE	"/sys/bus/event_source/devices/cpu/rdpmc"
#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

/* A set with two counts, of instructions and branches. */
FIXTURE(self) {
	struct vpmc *v;
	struct vpmc_event *events;
	struct vpmc_error error;
	unsigned int nr;
};

FIXTURE_SETUP(self)
{
	/* another test may have left other values */
	write_file(REVOKE_FILE, "0");
	write_file(RDPMC_FILE, "1");
	ASSERT_EQ(0, vpmc_open(&self->v, 0, &self->error)) {
		TH_LOG("%s", self->error.text);
	}
	ASSERT_EQ(0, vpmc_parse_events("instructions,branches", &self->events,
				       &self->nr, &self->error));
	ASSERT_EQ(2, vpmc_program(self->v, self->events, self->nr, 0,
				  &self->error)) {
		TH_LOG("%s", self->error.text);
	}
}

FIXTURE_TEARDOWN(self)
{
	vpmc_free_events(self->events);
	vpmc_close(self->v);
}

TEST_F(self, exact)
{
	uint64_t count[2];

	ASSERT_TRUE(counted(self->v, 2, TURNS, count));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), count[0]);
	EXPECT_EQ(BRANCHES_OF(TURNS), count[1]);
	EXPECT_EQ(0, self->events[0].element);
	EXPECT_EQ(1, self->events[1].element);
	EXPECT_NE(self->events[0].counter, self->events[1].counter);
}

/*
 * All ways to read must continue each other: inline and by a call, from the
 * page and by the kernel.
 */
TEST_F(self, all_ways_agree)
{
	uint64_t a[2], b[2], c[2], d[2], e[2], ticks[4];
	const struct vpmc_page *page = vpmc_page(self->v);
	struct vpmc_read sums;

	vpmc_read_n(page, 2, a, &ticks[0]);
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, &ticks[1]));
	ASSERT_EQ(2, vpmc_read_bounded(page, vpmc_fd(self->v), 2, c, &ticks[2]));
	vpmc_read_page(page, d, &ticks[3]);
	ASSERT_EQ(0, vpmc_read_sums(self->v, 0, &sums));
	vpmc_read_n(page, 2, e, NULL);
	EXPECT_LT(a[0], b[0]);
	EXPECT_LT(b[0], c[0]);
	EXPECT_LT(c[0], d[0]);
	EXPECT_LT(d[0], sums.sum[0]);
	EXPECT_LT(sums.sum[0], e[0]);
	EXPECT_LT(e[0], a[0] + 100000);
	EXPECT_LT(ticks[0], ticks[1]);
	EXPECT_LT(ticks[1], ticks[2]);
	EXPECT_LT(ticks[2], ticks[3]);
	EXPECT_LT(ticks[3], sums.ticks);
}

/* Reads with more room than counters, and with less. */
TEST_F(self, room)
{
	uint64_t count[5], ticks = 1;
	unsigned int i;

	memset(count, 0xff, sizeof(count));
	EXPECT_EQ(2, vpmc_read(self->v, count, 4, &ticks));
	EXPECT_NE(0, count[0]);
	EXPECT_NE(0, count[1]);
	EXPECT_EQ(0, count[2]);
	EXPECT_EQ(0, count[3]);
	EXPECT_EQ(~0ULL, count[4]);
	EXPECT_LT(1, ticks);
	memset(count, 0xff, sizeof(count));
	EXPECT_EQ(-ENOSPC, vpmc_read(self->v, count, 1, &ticks));
	EXPECT_EQ(0, count[0]);
	EXPECT_EQ(~0ULL, count[1]);
	EXPECT_EQ(0, ticks);
	EXPECT_EQ(-ENOSPC, vpmc_read(self->v, NULL, 0, NULL));
	/* a set without counters has a run time */
	ASSERT_EQ(0, vpmc_program(self->v, NULL, 5, 0, &self->error));
	memset(count, 0xff, sizeof(count));
	EXPECT_EQ(0, vpmc_read(self->v, count, 2, &ticks));
	EXPECT_NE(0, ticks);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, count[i]);
}

TEST_F(self, start_stop_clear)
{
	uint64_t a[2], b[2], ticks;

	EXPECT_EQ(0, vpmc_stop(self->v));
	ASSERT_EQ(2, vpmc_read(self->v, a, 2, NULL));
	work(TURNS);
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, NULL));
	EXPECT_EQ(a[0], b[0]);
	EXPECT_EQ(0, vpmc_clear(self->v, 1U << 1));
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, NULL));
	EXPECT_EQ(a[0], b[0]);
	EXPECT_EQ(0, b[1]);
	EXPECT_EQ(-EINVAL, vpmc_clear(self->v, 1U << 2));
	EXPECT_EQ(0, vpmc_clear(self->v, 0));
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, &ticks));
	EXPECT_EQ(0, b[0]);
	EXPECT_EQ(0, ticks);
	EXPECT_EQ(0, vpmc_start(self->v));
	ASSERT_TRUE(counted(self->v, 2, TURNS, a));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), a[0]);
}

TEST_F(self, nanoseconds)
{
	const struct vpmc_page *page = vpmc_page(self->v);
	uint64_t ticks = 0x123456789abcdef, ns = 0;
	unsigned __int128 exact;

	ASSERT_EQ(0, vpmc_ticks_to_ns(self->v, ticks, &ns));
	exact = ((unsigned __int128)ticks * page->time_mult) >> page->time_shift;
	EXPECT_EQ((uint64_t)exact, ns);
	EXPECT_EQ(ns, vpmc_page_ns(page, ticks));
}

/*
 * Uses the owner's handle in another thread. The owner sleeps, so its counts
 * must not change. This thread has counters of its own, which RDPMC would read.
 */
static void *use_owners_handle(void *arg)
{
	uint64_t a[2], b[2], own[2];
	struct vpmc_event *events;
	struct vpmc *owners = arg, *v;
	unsigned int nr, tries = 1000;
	bool good;

	if (vpmc_open(&v, 0, NULL) ||
	    vpmc_parse_events("instructions,branches", &events, &nr, NULL) ||
	    vpmc_program(v, events, nr, 0, NULL) != 2)
		return "cannot count";
	/* wait until the owner is off its CPU, in pthread_join() */
	do {
		vpmc_read(owners, a, 2, NULL);
		sched_yield();
		vpmc_read(owners, b, 2, NULL);
	} while (a[0] != b[0] && --tries);
	work(TURNS);
	good = vpmc_read(owners, b, 2, NULL) == 2 && a[0] == b[0] &&
	       a[1] == b[1] && counted(v, 2, TURNS, own) &&
	       own[0] == INSTRUCTIONS_OF(TURNS);
	vpmc_free_events(events);
	vpmc_close(v);
	return good ? NULL : "another thread's registers";
}

TEST_F(self, other_thread)
{
	pthread_t thread;
	uint64_t count[2];
	void *wrong;

	ASSERT_EQ(0, pthread_create(&thread, NULL, use_owners_handle, self->v));
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s", (char *)wrong);
	}
	ASSERT_TRUE(counted(self->v, 2, TURNS, count));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), count[0]);
}

/*
 * A new thread has the thread pointer of one that has ended, because thread
 * libraries reuse them. The counts of the ended thread must not change.
 */
static struct vpmc *left_behind;
static const void *left_pointer;

static void *leave_a_handle(void *arg)
{
	(void)arg;
	__asm__("mov %%fs:0, %0" : "=r" (left_pointer));
	if (vpmc_open(&left_behind, 0, NULL) ||
	    vpmc_program(left_behind, NULL, 0, 0, NULL))
		return "cannot count";
	return NULL;
}

static void *take_that_handle(void *arg)
{
	uint64_t ticks[2];
	const void *pointer;

	(void)arg;
	__asm__("mov %%fs:0, %0" : "=r" (pointer));
	if (pointer != left_pointer)
		return "not the same address: the test tests nothing";
	if (vpmc_read(left_behind, NULL, 0, &ticks[0]))
		return "cannot read";
	work(TURNS);
	vpmc_read(left_behind, NULL, 0, &ticks[1]);
	return ticks[0] && ticks[0] == ticks[1] ? NULL : "it goes on";
}

TEST(thread_with_the_address_of_another)
{
	pthread_t thread;
	void *wrong;

	ASSERT_EQ(0, pthread_create(&thread, NULL, leave_a_handle, NULL));
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	ASSERT_EQ(NULL, wrong);
	ASSERT_EQ(0, pthread_create(&thread, NULL, take_that_handle, NULL));
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s", (char *)wrong);
	}
	vpmc_close(left_behind);
}

/* Checks the handles in the child of a fork(). Returns 0 if all are right. */
static int look_at_childs_handles(struct vpmc *v, struct vpmc *other)
{
	uint64_t count[2] = { 1, 1 }, ticks = 1, ns = 1;
	const struct vpmc_page *page = vpmc_page(v);
	const struct vpmc_ring *ring;
	struct vpmc_control control;
	struct vpmc_read sums;
	struct vpmc *own;
	unsigned int seen = 1;

	if (vpmc_read(v, count, 2, &ticks) != -ESRCH || count[0] || count[1] ||
	    ticks)
		return 1;
	count[0] = count[1] = ticks = 1;
	vpmc_read_n(page, 2, count, &ticks);
	if (count[0] || count[1] || ticks || page->nr_counters)
		return 2;
	memset(&sums, 0xff, sizeof(sums));
	memset(&control, 0xff, sizeof(control));
	if (vpmc_read_sums(v, 0, &sums) != -ESRCH || sums.sum[0] || sums.tid ||
	    vpmc_get_control(v, &control) != -ESRCH || control.nr_counters)
		return 3;
	if (vpmc_start(v) != -ESRCH || vpmc_stop(v) != -ESRCH ||
	    vpmc_clear(v, 0) != -ESRCH || vpmc_resume(v) != -ESRCH ||
	    vpmc_unlink(v) != -ESRCH || vpmc_consume(v, 0) != -ESRCH ||
	    vpmc_fd(v) != -ESRCH || vpmc_program(v, NULL, 0, 0, NULL) != -ESRCH)
		return 4;
	if (vpmc_wait(v, 0, &seen) != -ESRCH || seen ||
	    vpmc_map_ring(v, &ring) != -ESRCH || ring ||
	    vpmc_ticks_to_ns(v, 1000, &ns) != -ESRCH || ns)
		return 5;
	/* another process' counters are still readable */
	if (other && vpmc_read_sums(other, 0, &sums))
		return 6;
	/* the child's own counters work */
	if (vpmc_open(&own, 0, NULL) || vpmc_program(own, NULL, 0, 0, NULL) ||
	    vpmc_read(own, count, 2, &ticks) || !ticks)
		return 7;
	vpmc_close(own);
	vpmc_close(v);
	return 0;
}

TEST_F(self, fork)
{
	struct vpmc *other;
	uint64_t count[2];
	int status;
	pid_t sleeper = fork(), child;

	if (!sleeper) {
		pause();
		_exit(0);
	}
	ASSERT_EQ(0, vpmc_open_thread(&other, sleeper, 0, &self->error)) {
		TH_LOG("%s", self->error.text);
	}
	ASSERT_EQ(0, vpmc_program(other, NULL, 0, 0, NULL));
	child = fork();
	if (!child)
		_exit(look_at_childs_handles(self->v, other));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* the calls in the child did not change the parent's counters */
	ASSERT_TRUE(counted(self->v, 2, TURNS, count));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), count[0]);
	kill(sleeper, SIGKILL);
	waitpid(sleeper, NULL, 0);
	vpmc_close(other);
}

TEST_F(self, unlinked)
{
	uint64_t a[2], b[2];
	unsigned int seen;

	EXPECT_EQ(0, vpmc_unlink(self->v));
	ASSERT_EQ(2, vpmc_read(self->v, a, 2, NULL));
	EXPECT_NE(0, a[0]);
	work(TURNS);
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, NULL));
	EXPECT_EQ(a[0], b[0]);
	EXPECT_EQ(-ESRCH, vpmc_start(self->v));
	EXPECT_EQ(-ESRCH, vpmc_unlink(self->v));
	EXPECT_EQ(-ESRCH, vpmc_program(self->v, self->events, 2, 0,
				       &self->error));
	EXPECT_EQ(VPMC_WHY_NO_THREAD, self->error.reason);
	EXPECT_EQ(-ESRCH, vpmc_join(self->v, self->events, 2, &self->error));
	EXPECT_EQ(VPMC_WHY_NO_THREAD, self->error.reason);
	EXPECT_EQ(-ESRCH, vpmc_share(self->v, self->events, 2, &self->error));
	EXPECT_EQ(VPMC_WHY_NO_THREAD, self->error.reason);
	EXPECT_EQ(0, vpmc_wait(self->v, 1000, &seen));
	EXPECT_EQ(VPMC_WAIT_END, seen);
}

TEST_F(self, revoked)
{
	uint64_t a[2], b[2];
	unsigned int seen;

	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	ASSERT_EQ(2, vpmc_read(self->v, a, 2, NULL));
	EXPECT_NE(0, a[0]);
	work(TURNS);
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, NULL));
	EXPECT_EQ(a[0], b[0]);
	EXPECT_EQ(-ENODATA, vpmc_start(self->v));
	EXPECT_EQ(0, vpmc_wait(self->v, 1000, &seen));
	EXPECT_EQ(VPMC_WAIT_REVOKED, seen);
	EXPECT_EQ(-EBUSY, vpmc_program(self->v, self->events, 2, 0,
				       &self->error));
	EXPECT_EQ(VPMC_REASON_REVOKED, self->error.reason);
	EXPECT_NE(NULL, strstr(self->error.text, "sysctl kernel.vpmc_revoke=0"));
	EXPECT_EQ(-EBUSY, vpmc_check(&self->error));
	EXPECT_EQ(VPMC_REASON_REVOKED, self->error.reason);
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	EXPECT_EQ(0, vpmc_check(&self->error)) {
		TH_LOG("%s", self->error.text);
	}
	ASSERT_EQ(2, vpmc_program(self->v, self->events, 2, 0, &self->error));
	ASSERT_TRUE(counted(self->v, 2, TURNS, a));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), a[0]);
}

/*
 * RDPMC would raise SIGSEGV, so the library asks the kernel. The counts are the
 * same.
 */
TEST_F(self, rdpmc_forbidden)
{
	uint64_t a[2], b[2];
	struct vpmc *v;

	ASSERT_EQ(0, write_file(RDPMC_FILE, "0"));
	ASSERT_EQ(2, vpmc_program(self->v, self->events, 2, 0, &self->error));
	ASSERT_EQ(2, vpmc_read(self->v, a, 2, NULL));
	work(TURNS);
	ASSERT_EQ(2, vpmc_read(self->v, b, 2, NULL));
	EXPECT_LE(INSTRUCTIONS_OF(TURNS), b[0] - a[0]);
	EXPECT_GT(INSTRUCTIONS_OF(TURNS) + 10000, b[0] - a[0]);
	/* a handle that is opened now must use the kernel, too */
	ASSERT_EQ(0, vpmc_open(&v, VPMC_OPEN_EXISTING, NULL));
	EXPECT_EQ(2, vpmc_read(v, b, 2, NULL));
	vpmc_close(v);
	ASSERT_EQ(0, write_file(RDPMC_FILE, "1"));
	ASSERT_EQ(2, vpmc_program(self->v, self->events, 2, 0, &self->error));
	ASSERT_TRUE(counted(self->v, 2, TURNS, a));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), a[0]);
}

/*
 * Takes the CPU at any instruction of a read, and counts on the same counters.
 * If a read mixed values from before and after, it would exceed the next one.
 */
static void take_the_cpu(const struct vpmc_event *events)
{
	const struct timespec pause = { .tv_nsec = 5000 };
	const struct sched_param param = { .sched_priority = 10 };
	struct vpmc_event own[2] = { events[0], events[1] };
	struct vpmc *v;

	if (vpmc_open(&v, 0, NULL) || vpmc_program(v, own, 2, 0, NULL) != 2 ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	for (;;) {
		work(100);
		nanosleep(&pause, NULL);
	}
}

TEST_F(self, disturbed)
{
	uint64_t last[2] = {}, count[2];
	unsigned int i, wrong = 0;
	struct vpmc_read sums;
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	/* soon after boot, a sleep lasts a whole tick; see make bench */
	sleep(2);
	pid = fork();
	if (!pid)
		take_the_cpu(self->events);
	for (i = 0; i < 1000000; i++) {
		if (i % 2)
			vpmc_read_bounded(vpmc_page(self->v), vpmc_fd(self->v),
					  2, count, NULL);
		else
			vpmc_read(self->v, count, 2, NULL);
		wrong += count[0] <= last[0] || count[1] <= last[1];
		last[0] = count[0];
		last[1] = count[1];
	}
	EXPECT_EQ(0, wrong);
	ASSERT_EQ(0, vpmc_read_sums(self->v, 0, &sums));
	EXPECT_LT(last[0], sums.sum[0]);
	EXPECT_LT(300, sums.switches);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Reads in both ways while the parent stops it at each instruction. The parent
 * counts on the same CPU. A read must not mix values from before and after.
 */
static int read_step_by_step(struct vpmc *v)
{
	uint64_t by_call[2], inlined[2];
	struct vpmc_read before, between, after;

	if (vpmc_read_sums(v, 0, &before) ||
	    vpmc_read(v, by_call, 2, NULL) != 2 ||
	    vpmc_read_sums(v, 0, &between) ||
	    vpmc_read_bounded(vpmc_page(v), vpmc_fd(v), 2, inlined, NULL) != 2 ||
	    vpmc_read_sums(v, 0, &after))
		return 2;
	if (by_call[0] <= before.sum[0] || by_call[0] >= between.sum[0] ||
	    by_call[1] <= before.sum[1] || by_call[1] >= between.sum[1])
		return 3;
	if (inlined[0] <= between.sum[0] || inlined[0] >= after.sum[0] ||
	    inlined[1] <= between.sum[1] || inlined[1] >= after.sum[1])
		return 4;
	return 0;
}

/* Both reads must end although a debugger steps through them. */
TEST_F(self, single_steps)
{
	static const unsigned int limit = 100000;
	unsigned int steps;
	cpu_set_t one;
	int status;
	pid_t pid;

	/* both on one CPU, so that the parent changes the counters */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	pid = fork();
	if (!pid) {
		struct vpmc *v;

		if (vpmc_open(&v, 0, NULL) ||
		    vpmc_program(v, self->events, 2, 0, NULL) != 2 ||
		    ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		_exit(read_step_by_step(v));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	for (steps = 0; WIFSTOPPED(status) && steps < limit; steps++) {
		ASSERT_EQ(0, ptrace(PTRACE_SINGLESTEP, pid, 0, 0));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
	}
	EXPECT_LT(steps, limit);
	EXPECT_LT(2 * VPMC_READ_TRIES, steps);
	EXPECT_EQ(0, status);
	kill(pid, SIGKILL);
}

/* Runs after execve(). See the test exec below. */
static int after_exec(int fd)
{
	uint64_t count[2], a[2], b[2], c[2], d[2];
	struct vpmc *v, *own;
	char path[64], link[64];
	int other;

	/* only the descriptor that was to stay open is open */
	for (other = 3; other < 20; other++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", other);
		if (other != fd && readlink(path, link, sizeof(link)) > 0)
			return 10;
	}
	if (vpmc_open_fd(&v, fd, NULL) || vpmc_read(v, count, 2, NULL) != 2)
		return 11;
	/* reads by RDPMC, as with the thread's own handle */
	if (!vpmc_page(v) || count[0] < INSTRUCTIONS_OF(TURNS) ||
	    vpmc_open(&own, VPMC_OPEN_EXISTING, NULL))
		return 12;
	read_around(v, 2, 1, a, b);
	read_around(own, 2, 1, c, d);
	if (b[0] - a[0] > d[0] - c[0] + 20)
		return 14;
	if (!counted(v, 2, TURNS, count) || count[0] != INSTRUCTIONS_OF(TURNS))
		return 13;
	return 0;
}

TEST_F(self, exec)
{
	char number[16];
	int status, fd;
	pid_t pid = fork();

	if (!pid) {
		struct vpmc *v, *closed;

		if (vpmc_open(&v, 0, NULL) || vpmc_open(&closed, 0, NULL) ||
		    vpmc_open_fd(&closed, vpmc_fd(v), NULL) ||
		    vpmc_program(v, self->events, 2, 0, NULL) != 2)
			_exit(1);
		work(TURNS);
		fd = dup(vpmc_fd(v));
		snprintf(number, sizeof(number), "%d", fd);
		execl("/proc/self/exe", "count_test", "after-exec", number, NULL);
		_exit(2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "after-exec"))
		return after_exec(atoi(argv[2]));
	return test_harness_run(argc, argv);
}
