// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests sets, except for their counts: opening, refusals, overflows, families
 * and permissions.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "lib_test.h"

#define TURNS		100000
#define NOBODY		65534
#define PARANOID_FILE	"/proc/sys/kernel/vpmc_paranoid"
#define PERF_PARANOID_FILE "/proc/sys/kernel/perf_event_paranoid"

/* Seven counters, three of them fixed ones, as Skylake has them. */
static const char seven[] =
	"instructions,cycles,r0300,branches,r00f0,r09f0,r0af0";

static struct vpmc_error error;

static void filled_with_ones(void *what, size_t size)
{
	memset(what, 0xff, size);
}

TEST(open_errors)
{
	struct vpmc *v = (void *)1;
	int fd;

	EXPECT_EQ(-EINVAL, vpmc_open(&v, 1U << 30, &error));
	EXPECT_EQ(NULL, v);
	EXPECT_EQ(EINVAL, error.errnum);
	v = (void *)1;
	EXPECT_EQ(-ENOENT, vpmc_open(&v, VPMC_OPEN_EXISTING, &error));
	EXPECT_EQ(NULL, v);
	EXPECT_NE(NULL, strstr(error.text, "no counters"));
	EXPECT_EQ(-ENOENT, vpmc_open(&v, VPMC_OPEN_READ, NULL));
	EXPECT_EQ(-ESRCH, vpmc_open_thread(&v, 0, 0, &error));
	EXPECT_EQ(-ESRCH, vpmc_open_thread(&v, -1, 0, &error));
	EXPECT_EQ(-ESRCH, vpmc_open_thread(&v, 0x3fffff, 0, &error));
	EXPECT_EQ(VPMC_WHY_NO_THREAD, error.reason);
	EXPECT_STREQ("thread 4194303", error.what);
	/* thread 2 is kthreadd */
	EXPECT_EQ(-EOPNOTSUPP, vpmc_open_thread(&v, 2, 0, &error));
	EXPECT_EQ(VPMC_WHY_KERNEL_THREAD, error.reason);
	v = (void *)1;
	EXPECT_EQ(-EBADF, vpmc_open_fd(&v, -1, &error));
	EXPECT_EQ(NULL, v);
	fd = open("/dev/null", O_RDWR);
	EXPECT_EQ(-ENOTTY, vpmc_open_fd(&v, fd, &error));
	EXPECT_NE(NULL, strstr(error.text, "not a file perfctr"));
	close(fd);
	fd = open("/proc/self/perfctr", O_RDONLY);
	EXPECT_EQ(-ENOENT, vpmc_open_fd(&v, fd, &error));
	close(fd);
	vpmc_close(NULL);
}

/* No descriptor leaks, whatever fails, and none survives execve(). */
TEST(descriptors)
{
	int before = dup(0), i, flags;
	struct vpmc *v;

	close(before);
	for (i = 0; i < 10; i++) {
		vpmc_open(&v, VPMC_OPEN_READ, NULL);
		vpmc_close(v);
		vpmc_open_thread(&v, 2, 0, NULL);
		vpmc_open_fd(&v, 0, NULL);
		ASSERT_EQ(0, vpmc_open(&v, 0, NULL));
		flags = fcntl(vpmc_fd(v), F_GETFD);
		EXPECT_EQ(FD_CLOEXEC, flags);
		vpmc_check(NULL);
		vpmc_close(v);
		ASSERT_EQ(0, vpmc_open(&v, VPMC_OPEN_EXISTING, NULL));
		vpmc_close(v);
	}
	i = dup(0);
	EXPECT_EQ(before, i);
	close(i);
}

TEST(opened_for_reading)
{
	struct vpmc *v, *reader;
	uint64_t ticks;

	ASSERT_EQ(0, vpmc_open(&v, 0, NULL));
	ASSERT_EQ(0, vpmc_program(v, NULL, 0, 0, NULL));
	ASSERT_EQ(0, vpmc_open(&reader, VPMC_OPEN_READ, NULL));
	EXPECT_EQ(0, vpmc_read(reader, NULL, 0, &ticks));
	EXPECT_NE(0, ticks);
	EXPECT_EQ(-EBADF, vpmc_start(reader));
	EXPECT_EQ(-EBADF, vpmc_unlink(reader));
	EXPECT_EQ(-EBADF, vpmc_program(reader, NULL, 0, 0, &error));
	EXPECT_NE(NULL, strstr(error.text, "only for reading"));
	vpmc_close(reader);
	vpmc_close(v);
}

FIXTURE(set) {
	struct vpmc *v;
	struct vpmc_event *events;
	unsigned int nr;
};

FIXTURE_SETUP(set)
{
	ASSERT_EQ(0, vpmc_open(&self->v, 0, &error)) {
		TH_LOG("%s", error.text);
	}
}

FIXTURE_TEARDOWN(set)
{
	vpmc_free_events(self->events);
	vpmc_close(self->v);
}

static int program(FIXTURE_DATA(set) *self, const char *list, unsigned int flags)
{
	int err;

	vpmc_free_events(self->events);
	self->events = NULL;
	err = vpmc_parse_events(list, &self->events, &self->nr, &error);
	if (err)
		return err;
	filled_with_ones(&error, sizeof(error));
	return vpmc_program(self->v, self->events, self->nr, flags, &error);
}

/* Each refusal names the event, the reason and what helps. */
TEST_F(set, refusals)
{
	char list[100];

	if (!all_counters())
		SKIP(return, "needs all counters");
	EXPECT_EQ(7, program(self, seven, 0));
	EXPECT_EQ(0, error.errnum);
	EXPECT_EQ(-ENOSPC, program(self, "r00f0,r01f0,r02f0,r03f0,r04f0", 0));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, error.reason);
	EXPECT_EQ(4, error.event);
	EXPECT_EQ(24, error.position);
	EXPECT_STREQ("r04f0", error.what);
	EXPECT_NE(NULL, strstr(error.text, "the first 4 fit"));
	EXPECT_EQ(-1, self->events[0].element);
	snprintf(list, sizeof(list), "%s,r0bf0", seven);
	EXPECT_EQ(-ENOSPC, program(self, list, 0));
	EXPECT_EQ(VPMC_REASON_TOO_MANY, error.reason);
	EXPECT_NE(NULL, strstr(error.text, "at most 7 events"));
	EXPECT_EQ(-EINVAL, program(self, "instructions@5", 0));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX, error.reason);
	EXPECT_EQ(-EINVAL, program(self, "branches,instructions@fixed1", 0));
	EXPECT_EQ(VPMC_REASON_WRONG_EVENT, error.reason);
	EXPECT_EQ(1, error.event);
	EXPECT_STREQ("instructions@fixed1", error.what);
	EXPECT_EQ(-EOPNOTSUPP, program(self, "cache-misses", 0));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, error.reason);
	EXPECT_EQ(-EINVAL, program(self, "0x8000100c0", 0));
	EXPECT_EQ(VPMC_REASON_RESERVED_BIT, error.reason);
	EXPECT_EQ(-EEXIST, program(self, "branches", VPMC_CONTROL_NEW));
	EXPECT_EQ(VPMC_WHY_EXISTS, error.reason);
	EXPECT_EQ(-EINVAL, program(self, "branches", 1U << 30));
	EXPECT_EQ(VPMC_WHY_SYSTEM, error.reason);
	EXPECT_EQ(-EINVAL, vpmc_program(self->v, self->events, self->nr,
					1U << 30, NULL));
}

/* What perf keeps, by number and by event. */
TEST_F(set, left_to_perf)
{
	if (all_counters())
		SKIP(return, "needs kernel.vpmc_counters at its default");
	EXPECT_EQ(-EBUSY, program(self, "branches,instructions@0", 0));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, error.reason);
	EXPECT_EQ(1, error.event);
	EXPECT_EQ(9, error.position);
	EXPECT_STREQ("instructions@0", error.what);
	EXPECT_NE(NULL, strstr(error.text, "kernel.vpmc_counters"));
	EXPECT_EQ(-EBUSY, program(self, seven, 0));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, error.reason);
	EXPECT_EQ(-ENOSPC, program(self, "r00f0,r01f0,r02f0,r03f0", 0));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, error.reason);
	EXPECT_EQ(3, error.event);
	EXPECT_NE(NULL, strstr(error.text, "the first 3 fit"));
	EXPECT_EQ(3, program(self, "r00f0,r01f0,r02f0", 0));
}

/* More events than the kernel's structure has room for. */
TEST_F(set, thirty_three)
{
	static struct vpmc_event events[VPMC_MAX_COUNTERS + 1];

	EXPECT_EQ(-ENOSPC, vpmc_program(self->v, events, VPMC_MAX_COUNTERS + 1,
					0, &error));
	EXPECT_EQ(VPMC_REASON_TOO_MANY, error.reason);
	EXPECT_STREQ("33 events", error.what);
}

TEST_F(set, optional)
{
	uint64_t count[2];

	ASSERT_EQ(2, program(self, "NOPE?,cache-misses?,instructions,branches@9?,branches", 0));
	EXPECT_EQ(VPMC_WHY_UNKNOWN, self->events[0].reason);
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE, self->events[1].reason);
	EXPECT_EQ(VPMC_REASON_BAD_INDEX, self->events[3].reason);
	EXPECT_EQ(-1, self->events[1].element);
	EXPECT_EQ(0, self->events[2].element);
	EXPECT_EQ(1, self->events[4].element);
	EXPECT_EQ(VPMC_RDPMC_FIXED, self->events[2].counter);
	ASSERT_TRUE(counted(self->v, 2, TURNS, count));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), count[0]);
	EXPECT_EQ(BRANCHES_OF(TURNS), count[1]);
	/* optional events that do not fit are still an error */
	EXPECT_EQ(-ENOSPC, program(self, "r00f0?,r01f0?,r02f0?,r03f0?,r04f0?", 0));
}

TEST_F(set, counters_by_number)
{
	struct vpmc_control control;

	/* the watchdog uses the cycles' fixed counter */
	if (!all_counters())
		SKIP(return, "needs all counters");
	ASSERT_EQ(3, program(self, "branches@3,instructions@1,cycles@fixed1", 0));
	EXPECT_EQ(3, self->events[0].counter);
	EXPECT_EQ(1, self->events[1].counter);
	EXPECT_EQ(VPMC_RDPMC_FIXED + 1, self->events[2].counter);
	ASSERT_EQ(0, vpmc_get_control(self->v, &control));
	ASSERT_EQ(3, control.nr_counters);
	EXPECT_EQ(0x100c4, control.counter[0].evtsel);
	EXPECT_EQ(1, control.counter[1].index);
}

/* Another process's set has no page here, so the kernel reads its counters. */
TEST_F(set, another_process)
{
	struct vpmc_event event = { .text = "branches", .select = 0x100c4,
				    .index = VPMC_ANY };
	struct vpmc_control control;
	uint64_t count[1], ticks;
	unsigned int seen;
	pid_t pid = fork();
	struct vpmc *v;

	if (!pid) {
		raise(SIGSTOP);
		work(TURNS);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	ASSERT_EQ(0, vpmc_open_thread(&v, pid, 0, &error));
	EXPECT_EQ(NULL, vpmc_page(v));
	ASSERT_EQ(1, vpmc_program(v, &event, 1, 0, &error));
	EXPECT_EQ(0, event.element);
	ASSERT_EQ(0, vpmc_get_control(v, &control));
	EXPECT_EQ(control.counter[0].index, event.counter);
	EXPECT_EQ(0, vpmc_wait(v, 0, &seen));
	EXPECT_EQ(0, seen);
	kill(pid, SIGCONT);
	EXPECT_EQ(0, vpmc_wait(v, 60000, &seen));
	EXPECT_EQ(VPMC_WAIT_END, seen);
	ASSERT_EQ(1, vpmc_read(v, count, 1, &ticks));
	EXPECT_LE(BRANCHES_OF(TURNS), count[0]);
	EXPECT_GT(BRANCHES_OF(TURNS) + 5000, count[0]);
	EXPECT_EQ(0, vpmc_ticks_to_ns(v, ticks, &ticks));
	EXPECT_NE(0, ticks);
	EXPECT_EQ(-ESRCH, vpmc_start(v));
	waitpid(pid, NULL, 0);
	vpmc_close(v);
}

TEST_F(set, wait)
{
	struct timespec before, after;
	unsigned int seen = 1;

	EXPECT_EQ(-EINVAL, vpmc_wait(self->v, -1, &seen));
	EXPECT_EQ(0, seen);
	ASSERT_EQ(0, vpmc_program(self->v, NULL, 0, 0, NULL));
	clock_gettime(CLOCK_MONOTONIC, &before);
	EXPECT_EQ(0, vpmc_wait(self->v, 50, &seen));
	clock_gettime(CLOCK_MONOTONIC, &after);
	EXPECT_EQ(0, seen);
	EXPECT_LE(50000000, (after.tv_sec - before.tv_sec) * 1000000000 +
		  after.tv_nsec - before.tv_nsec);
}

TEST_F(set, overflow_and_resume)
{
	unsigned int seen;
	uint64_t a[1], b[1];

	ASSERT_EQ(0, vpmc_parse_events("instructions", &self->events, &self->nr,
				       NULL));
	self->events[0].period = TURNS;
	ASSERT_EQ(1, vpmc_program(self->v, self->events, 1, 0, &error));
	work(TURNS);
	EXPECT_EQ(0, vpmc_wait(self->v, 0, &seen));
	EXPECT_EQ(VPMC_WAIT_OVERFLOW, seen);
	ASSERT_EQ(1, vpmc_read(self->v, a, 1, NULL));
	work(TURNS);
	ASSERT_EQ(1, vpmc_read(self->v, b, 1, NULL));
	EXPECT_EQ(a[0], b[0]);
	EXPECT_EQ(0, vpmc_resume(self->v));
	ASSERT_EQ(1, vpmc_read(self->v, b, 1, NULL));
	EXPECT_LT(a[0], b[0]);
	self->events[0].period = 1;
	EXPECT_EQ(-EINVAL, vpmc_program(self->v, self->events, 1, 0, &error));
	EXPECT_EQ(VPMC_REASON_PERIOD, error.reason);
}

TEST_F(set, ring)
{
	const struct vpmc_ring *ring = (void *)1;
	struct vpmc_control control;
	struct vpmc_event event = { .select = 0x100c0, .index = VPMC_ANY,
				    .period = TURNS };
	struct vpmc *other;
	uint64_t last = 0;
	unsigned int i, n;
	int status;
	pid_t pid;

	ASSERT_EQ(0, vpmc_program(self->v, NULL, 0, 0, NULL));
	EXPECT_EQ(-ENODATA, vpmc_map_ring(self->v, &ring));
	EXPECT_EQ(NULL, ring);
	EXPECT_EQ(-ENODATA, vpmc_consume(self->v, 0));
	ASSERT_EQ(0, vpmc_fill_control(&event, 1, VPMC_CONTROL_REARM, &control));
	control.ring_records = 16;
	control.ring_watermark = 1;
	ASSERT_EQ(1, vpmc_program_raw(self->v, &control, &error));
	ASSERT_EQ(0, vpmc_map_ring(self->v, &ring));
	EXPECT_EQ(0, vpmc_ring_unread(ring));
	work(3 * TURNS);
	n = vpmc_ring_unread(ring);
	EXPECT_LE(6, n);
	for (i = 0; i < n; i++) {
		const struct vpmc_record *record = vpmc_ring_record(ring, i);

		EXPECT_LE(last + TURNS, record->sum[0] + 100);
		last = record->sum[0];
	}
	EXPECT_EQ(0, vpmc_ring_lost(ring));
	EXPECT_EQ(-EINVAL, vpmc_consume(self->v, 100));
	EXPECT_EQ(0, vpmc_consume(self->v, n));
	EXPECT_EQ(n, ring->tail);
	/* in the child the ring is empty, and reading it does not crash */
	pid = fork();
	if (!pid)
		_exit(vpmc_ring_unread(ring) || vpmc_ring_lost(ring) ||
		      vpmc_map_ring(self->v, &ring) != -ESRCH);
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	/* another ring takes its place */
	control.ring_records = 1024;
	ASSERT_EQ(1, vpmc_program_raw(self->v, &control, &error));
	ASSERT_EQ(0, vpmc_map_ring(self->v, &ring));
	EXPECT_EQ(1024, ring->nr_records);
	/* what others have added is not in its records */
	ASSERT_EQ(0, vpmc_open(&other, 0, NULL));
	event = (struct vpmc_event){ .select = 0x100c4, .index = VPMC_ANY };
	ASSERT_EQ(2, vpmc_share(other, &event, 1, &error));
	EXPECT_EQ(0, vpmc_map_ring(self->v, &ring));
	EXPECT_EQ(1, ring ? ring->nr_counters : 0);
	vpmc_close(other);
	control.ring_records = 3;
	EXPECT_EQ(-EINVAL, vpmc_program_raw(self->v, &control, &error));
	EXPECT_EQ(VPMC_REASON_RING, error.reason);
}

static int share(FIXTURE_DATA(set) *self, const char *list)
{
	vpmc_free_events(self->events);
	self->events = NULL;
	return vpmc_parse_events(list, &self->events, &self->nr, &error) ?:
	       vpmc_share(self->v, self->events, self->nr, &error);
}

/* Nobody else's set is replaced. */
TEST_F(set, share)
{
	struct vpmc_read sums;
	uint32_t counter;

	ASSERT_EQ(2, share(self, "instructions,branches"));
	EXPECT_EQ(1, self->events[1].element);
	counter = self->events[1].counter;
	work(TURNS);
	ASSERT_EQ(2, share(self, "branches"));
	EXPECT_EQ(1, self->events[0].element);
	EXPECT_EQ(counter, self->events[0].counter);
	ASSERT_EQ(0, vpmc_stop(self->v));
	ASSERT_EQ(2, share(self, "branches,nosuch_event?,instructions"));
	EXPECT_EQ(0, self->events[2].element);
	EXPECT_EQ(-1, self->events[1].element);
	work(TURNS);
	ASSERT_EQ(0, vpmc_read_sums(self->v, 0, &sums));
	EXPECT_EQ(1, sums.set_number);
	EXPECT_EQ(VPMC_STATE_RUNNING, sums.state);
	EXPECT_EQ(2, sums.sum[1] / TURNS);
}

/* What the set lacks is added to it, until the handle is closed. */
TEST_F(set, share_more)
{
	struct vpmc_control control;
	struct vpmc_event *events;
	struct vpmc_read sums;
	unsigned int nr;
	struct vpmc *v;

	ASSERT_EQ(1, share(self, "instructions"));
	ASSERT_EQ(0, vpmc_parse_events("branches,nosuch_event?,instructions",
				       &events, &nr, &error));
	ASSERT_EQ(0, vpmc_open(&v, 0, &error));
	work(TURNS);
	ASSERT_EQ(2, vpmc_share(v, events, nr, &error));
	EXPECT_EQ(1, events[0].element);
	EXPECT_EQ(-1, events[1].element);
	EXPECT_EQ(0, events[2].element);
	work(TURNS);
	ASSERT_EQ(0, vpmc_read_sums(v, 0, &sums));
	EXPECT_EQ(1, sums.sum[1] / TURNS);
	EXPECT_LE(4, sums.sum[0] / TURNS);
	EXPECT_EQ(1, sums.set_number);
	/* again, it is there */
	ASSERT_EQ(2, vpmc_share(v, events, nr, &error));
	vpmc_free_events(events);
	/* so it is with INT and EN, which libpfm4's events have */
	ASSERT_EQ(0, vpmc_parse_events("0x5100c4", &events, &nr, &error));
	ASSERT_EQ(2, vpmc_share(v, events, nr, &error)) {
		TH_LOG("%s", error.text);
	}
	EXPECT_EQ(1, events[0].element);
	vpmc_free_events(events);

	/* one that has the counter, which it may not share */
	ASSERT_EQ(0, vpmc_get_control(v, &control));
	char taken[32];

	snprintf(taken, sizeof(taken), "cycles@%u",
		 control.counter[1].index & 0xff);
	ASSERT_EQ(0, vpmc_parse_events(taken, &events, &nr, &error));
	EXPECT_EQ(-EINVAL, vpmc_share(v, events, nr, &error));
	EXPECT_NE(NULL, strstr(error.text, "the thread is counted already"));
	EXPECT_EQ(0, error.event);
	EXPECT_STREQ(taken, error.what);
	EXPECT_EQ(-1, events[0].element);
	vpmc_free_events(events);

	vpmc_close(v);
	ASSERT_EQ(0, vpmc_read_sums(self->v, 0, &sums));
	EXPECT_EQ(1, sums.nr_counters);
	EXPECT_EQ(1, sums.set_number);
}

/* Shares @n events and an unknown one. The error names the one that there is no room for. */
static void no_room(struct __test_metadata *_metadata, FIXTURE_DATA(set) *self,
		    unsigned int n, unsigned int which)
{
	char list[1024], *end = list + sprintf(list, "nosuch_event?");
	struct vpmc_event *events;
	unsigned int nr, i;

	for (i = 0; i < n; i++)
		end += sprintf(end, ",r%02xf0", i + 1);
	ASSERT_EQ(0, vpmc_parse_events(list, &events, &nr, &error));
	ASSERT_EQ(n + 1, nr);
	filled_with_ones(&error, sizeof(error));
	EXPECT_GT(0, vpmc_share(self->v, events, nr, &error));
	EXPECT_EQ(1 + which, error.event) {
		TH_LOG("%u events: %s", n, error.text);
	}
	EXPECT_EQ(events[1 + which].position, error.position);
	EXPECT_STREQ(events[1 + which].text, error.what);
	EXPECT_NE(NULL, strstr(error.text, "no counter left for it beside the 1 of that set"));
	EXPECT_EQ(-1, events[1].element);
	EXPECT_GT(0, vpmc_share(self->v, events, nr, NULL));
	vpmc_free_events(events);
}

TEST_F(set, share_names_what_has_no_room)
{
	struct vpmc_info info;
	unsigned int gp, fixed;

	if (!all_counters())
		SKIP(return, "needs all counters");
	ASSERT_EQ(0, vpmc_get_info(&info));
	gp = __builtin_popcountll(info.gp_mask);
	fixed = __builtin_popcountll(info.fixed_mask);
	ASSERT_LT(1, fixed);
	ASSERT_EQ(1, share(self, "instructions"));
	/* The programmable counters end before the events. */
	no_room(_metadata, self, gp + 1, gp);
	/* more events than counters, of which the set has one */
	no_room(_metadata, self, gp + fixed, gp + fixed - 1);
	no_room(_metadata, self, gp + fixed + 2, gp + fixed - 1);
	/* more than any set can have */
	no_room(_metadata, self, VPMC_MAX_COUNTERS + 1, VPMC_MAX_COUNTERS);
	EXPECT_EQ(1, vpmc_page(self->v)->nr_counters);
}

/* It adds to a set that is there, and leaves this as it is in every state. */
TEST_F(set, join)
{
	struct vpmc_event *events;
	struct vpmc_read sums;
	struct vpmc *v, *reader;
	unsigned int nr;

	ASSERT_EQ(0, vpmc_parse_events("branches,instructions", &events, &nr, &error));
	ASSERT_EQ(0, vpmc_open(&v, 0, &error));
	ASSERT_EQ(0, vpmc_open(&reader, VPMC_OPEN_READ, &error));
	EXPECT_EQ(-ENODATA, vpmc_join(v, events, nr, &error));
	EXPECT_NE(NULL, strstr(error.text, "no set of counters"));
	EXPECT_EQ(-ENODATA, vpmc_join(v, NULL, 0, NULL));
	EXPECT_EQ(-ENODATA, vpmc_join(reader, NULL, 0, NULL));
	EXPECT_EQ(VPMC_STATE_EMPTY, vpmc_page(v)->state);

	ASSERT_EQ(1, program(self, "instructions", VPMC_CONTROL_STOPPED));
	EXPECT_EQ(1, vpmc_join(reader, NULL, 0, &error));
	EXPECT_EQ(2, vpmc_join(v, events, nr, &error));
	EXPECT_EQ(1, events[0].element);
	EXPECT_EQ(0, events[1].element);
	EXPECT_EQ(2, vpmc_join(v, events, nr, &error));
	EXPECT_EQ(VPMC_STATE_STOPPED, vpmc_page(v)->state);
	EXPECT_EQ(2, vpmc_join(reader, events, nr, &error));
	ASSERT_EQ(0, vpmc_unshare(v));
	EXPECT_EQ(-EBADF, vpmc_join(reader, events, nr, &error));
	EXPECT_EQ(-1, events[1].element);
	ASSERT_EQ(0, vpmc_start(self->v));
	EXPECT_EQ(2, vpmc_join(v, events, nr, &error));
	work(TURNS);
	ASSERT_EQ(0, vpmc_read_sums(v, 0, &sums));
	EXPECT_EQ(1, sums.set_number);
	EXPECT_EQ(1, sums.sum[1] / TURNS);

	/* The administrator takes the counters and gives them back. */
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	EXPECT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	EXPECT_EQ(-ENODATA, vpmc_join(v, events, nr, &error));
	EXPECT_EQ(-1, events[0].element);
	ASSERT_EQ(0, vpmc_read_sums(v, 0, &sums));
	EXPECT_EQ(VPMC_STATE_REVOKED, sums.state);
	EXPECT_EQ(1, sums.set_number);
	vpmc_free_events(events);
	vpmc_close(reader);
	vpmc_close(v);
}

/* A period is not dropped because the set counts the event already. */
TEST_F(set, share_no_period)
{
	struct vpmc_event *events;
	unsigned int nr;
	struct vpmc *v;

	ASSERT_EQ(0, vpmc_open(&v, 0, &error));
	ASSERT_EQ(0, vpmc_parse_events("branches,instructions", &events, &nr, &error));
	ASSERT_EQ(1, program(self, "instructions", 0));
	events[1].period = TURNS;
	filled_with_ones(&error, sizeof(error));
	EXPECT_EQ(-EINVAL, vpmc_share(v, events, nr, &error));
	EXPECT_EQ(1, error.event);
	EXPECT_EQ(9, error.position);
	EXPECT_EQ(-1, events[0].element);
	EXPECT_NE(NULL, strstr(error.text, "instructions: "));
	EXPECT_EQ(-EINVAL, vpmc_join(v, events, nr, NULL));
	/* without a set it is programmed */
	ASSERT_EQ(0, vpmc_unlink(self->v));
	vpmc_close(v);
	ASSERT_EQ(0, vpmc_open(&v, 0, &error));
	EXPECT_EQ(2, vpmc_share(v, events, nr, &error));
	vpmc_free_events(events);
	vpmc_close(v);
}

static int share_by(struct vpmc *v, const char *name)
{
	struct vpmc_event *events;
	unsigned int nr;
	int err = vpmc_parse_events(name, &events, &nr, &error);

	if (err)
		return err;
	err = vpmc_share(v, events, nr, &error);
	if (err >= 0)
		err = events[0].element;
	vpmc_free_events(events);
	return err;
}

/* What was added can be given back, and the handle goes on with other events. */
TEST_F(set, unshare)
{
	uint64_t before[VPMC_MAX_COUNTERS], after[VPMC_MAX_COUNTERS];
	const struct vpmc_page *page;
	struct vpmc_read sums;
	struct vpmc *v, *other;
	int i, fd;

	ASSERT_EQ(1, share(self, "instructions"));
	ASSERT_EQ(0, vpmc_open(&v, 0, &error));
	ASSERT_EQ(0, vpmc_open(&other, 0, &error));
	page = vpmc_page(v);
	fd = vpmc_fd(v);
	/* more of them than there are counters */
	for (i = 0; i < 2 * VPMC_MAX_COUNTERS; i++) {
		ASSERT_EQ(1, share_by(v, i % 2 ? "branches" : "branches:uk"));
		ASSERT_EQ(2, vpmc_read(v, before, VPMC_MAX_COUNTERS, NULL));
		work(TURNS);
		ASSERT_EQ(2, vpmc_read(v, after, VPMC_MAX_COUNTERS, NULL));
		EXPECT_EQ(1, (after[1] - before[1]) / TURNS);
		ASSERT_EQ(0, vpmc_unshare(v));
		EXPECT_EQ(1, vpmc_read(v, after, VPMC_MAX_COUNTERS, NULL));
		EXPECT_LE(before[0] + 2 * TURNS, after[0]);
		EXPECT_EQ(page, vpmc_page(v));
		EXPECT_EQ(fd, vpmc_fd(v));
		EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	}
	ASSERT_EQ(0, vpmc_read_sums(self->v, 0, &sums));
	EXPECT_EQ(1, sums.set_number);
	EXPECT_EQ(VPMC_STATE_RUNNING, sums.state);
	EXPECT_LE(4 * VPMC_MAX_COUNTERS, sums.sum[0] / TURNS);

	/* what another handle uses stays until it gives it back */
	ASSERT_EQ(1, share_by(v, "branches"));
	ASSERT_EQ(1, share_by(other, "branches"));
	EXPECT_EQ(0, vpmc_unshare(v));
	EXPECT_EQ(0, vpmc_unshare(v));
	EXPECT_EQ(2, vpmc_page(self->v)->nr_counters);
	EXPECT_EQ(0, vpmc_unshare(other));
	EXPECT_EQ(1, vpmc_page(self->v)->nr_counters);
	vpmc_close(other);
	vpmc_close(v);
}

/* The descriptor's flags are the caller's. What is open is another file. */
TEST_F(set, unshare_keeps_flags)
{
	static const int status[] = { 0, O_NONBLOCK, O_APPEND, O_NONBLOCK | O_APPEND };
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd = vpmc_fd(self->v), i, copy;

	ASSERT_EQ(1, share(self, "instructions"));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, fcntl(fd, F_SETFD, i & 1 ? FD_CLOEXEC : 0));
		ASSERT_EQ(0, fcntl(fd, F_SETFL, status[i / 2]));
		ASSERT_EQ(0, vpmc_unshare(self->v));
		EXPECT_EQ(i & 1 ? FD_CLOEXEC : 0, fcntl(fd, F_GETFD));
		EXPECT_EQ(status[i / 2], fcntl(fd, F_GETFL) & (O_NONBLOCK | O_APPEND));
		EXPECT_EQ(O_RDWR, fcntl(fd, F_GETFL) & O_ACCMODE);
	}
	/* epoll(7) and copies of the descriptor have the old file */
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	EXPECT_EQ(-1, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	ASSERT_EQ(0, vpmc_unshare(self->v));
	EXPECT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	ASSERT_EQ(2, share(self, "instructions,branches"));
	copy = dup(fd);
	ASSERT_EQ(0, vpmc_unshare(self->v));
	EXPECT_EQ(2, vpmc_page(self->v)->nr_counters);
	close(copy);
	EXPECT_EQ(1, vpmc_page(self->v)->nr_counters);
	close(epoll);
}

/* The file is opened again by the descriptor's number, of any number of digits. */
TEST_F(set, unshare_by_number)
{
	static const int numbers[] = { 9, 10, 99, 100, 1000 };
	int i, before;
	struct vpmc *v;

	ASSERT_EQ(1, share(self, "instructions"));
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		/* The handle gets the lowest number that is free. */
		while ((before = dup(0)) >= 0 && before < numbers[i])
			;
		ASSERT_EQ(numbers[i], before);
		close(before);
		ASSERT_EQ(0, vpmc_open(&v, 0, &error));
		ASSERT_EQ(numbers[i], vpmc_fd(v));
		ASSERT_EQ(1, share_by(v, "branches"));
		EXPECT_EQ(0, vpmc_unshare(v));
		EXPECT_EQ(1, vpmc_page(v)->nr_counters);
		vpmc_close(v);
	}
}

TEST_F(set, unshare_refused)
{
	struct vpmc_control control;
	const struct vpmc_ring *ring;
	struct vpmc *reader;
	int status;
	pid_t pid;

	ASSERT_EQ(0, vpmc_parse_events("branches", &self->events, &self->nr, &error));
	self->events->period = TURNS;
	ASSERT_EQ(0, vpmc_fill_control(self->events, 1, VPMC_CONTROL_REARM, &control));
	control.ring_records = 16;
	control.ring_watermark = 1;
	ASSERT_EQ(1, vpmc_program_raw(self->v, &control, &error));
	ASSERT_EQ(0, vpmc_map_ring(self->v, &ring));
	EXPECT_EQ(-EBUSY, vpmc_unshare(self->v));
	EXPECT_EQ(16, ring->nr_records);
	/* a handle that only reads remains one */
	ASSERT_EQ(0, vpmc_open(&reader, VPMC_OPEN_READ, &error));
	EXPECT_EQ(0, vpmc_unshare(reader));
	EXPECT_EQ(-EBADF, vpmc_stop(reader));
	pid = fork();
	if (!pid)
		_exit(vpmc_unshare(reader) != -ESRCH);
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	/* a refused one has not changed: its page can be read */
	ASSERT_EQ(0, vpmc_unlink(self->v));
	EXPECT_EQ(-ESRCH, vpmc_unshare(reader));
	EXPECT_EQ(VPMC_STATE_UNLINKED, vpmc_page(reader)->state);
	EXPECT_LE(0, vpmc_fd(reader));
	vpmc_close(reader);
}

/* What a program with an older or a newer header has room for, and a guard behind it. */
struct room {
	union {
		struct vpmc_read sums;
		struct vpmc_control control;
		struct vpmc_info info;
		unsigned char byte[2048];
	};
};

static bool is_guarded(const struct room *room, size_t size)
{
	for (; size < sizeof(*room); size++)
		if (room->byte[size] != 0xff)
			return false;
	return true;
}

static bool is_zero(const struct room *room, size_t from, size_t to)
{
	for (; from < to; from++)
		if (room->byte[from])
			return false;
	return true;
}

/* Programs whose header has 32 bytes fewer, or more, than the library's. */
TEST_F(set, other_headers)
{
	struct room room;
	size_t size;
	int more;

	ASSERT_EQ(2, program(self, "instructions,branches", 0));
	for (more = -32; more <= 32; more += 32) {
		size = sizeof(struct vpmc_read) + more;
		filled_with_ones(&room, sizeof(room));
		EXPECT_EQ(0, vpmc_read_sums_sized(self->v, 0, &room.sums, size));
		EXPECT_EQ(2, room.sums.nr_counters);
		EXPECT_NE(0, room.sums.sum[0]);
		EXPECT_TRUE(is_guarded(&room, size));
		EXPECT_TRUE(is_zero(&room, sizeof(struct vpmc_read), size));

		size = sizeof(struct vpmc_control) + more;
		filled_with_ones(&room, sizeof(room));
		EXPECT_EQ(0, vpmc_get_control_sized(self->v, &room.control, size));
		EXPECT_EQ(2, room.control.nr_counters);
		EXPECT_TRUE(is_guarded(&room, size));
		EXPECT_TRUE(is_zero(&room, sizeof(struct vpmc_control), size));

		filled_with_ones(&room, sizeof(room));
		EXPECT_EQ(0, vpmc_fill_control_sized(self->events, self->nr, 0,
						     &room.control, size));
		EXPECT_TRUE(is_guarded(&room, size));
		EXPECT_TRUE(is_zero(&room, sizeof(struct vpmc_control), size));
		EXPECT_EQ(2, vpmc_program_raw_sized(self->v, &room.control, &error));
	}
	for (more = 0; more <= 32; more += 32) {
		size = sizeof(struct vpmc_info) + more;
		filled_with_ones(&room, sizeof(room));
		EXPECT_EQ(0, vpmc_get_info_sized(&room.info, size));
		EXPECT_NE(0, room.info.kind);
		EXPECT_TRUE(is_guarded(&room, size));
		EXPECT_TRUE(is_zero(&room, sizeof(struct vpmc_info), size));
	}
	filled_with_ones(&room, sizeof(room));
	EXPECT_EQ(-ENOSPC, vpmc_fill_control_sized(self->events, self->nr, 0,
						   &room.control, 64));
	EXPECT_TRUE(is_guarded(&room, 64));
}

/* The same for arrays, whose elements have the size that the program knows. */
TEST_F(set, other_headers_arrays)
{
	unsigned char room[2 * (sizeof(struct vpmc_global_cpu) + 32) + 64];
	struct vpmc_global_cpu cpu[2];
	struct vpmc_cpus *cpus;
	size_t size, i;
	int more;

	ASSERT_EQ(0, vpmc_cpus_open(&cpus, &error));
	for (more = -32; more <= 32; more += 32) {
		size = sizeof(struct vpmc_global_cpu) + more;
		filled_with_ones(room, sizeof(room));
		ASSERT_EQ(2, vpmc_cpus_read_sized(cpus, 0, room, 2, size));
		memset(cpu, 0, sizeof(cpu));
		for (i = 0; i < 2; i++) {
			memcpy(&cpu[i], room + i * size, more < 0 ? size : sizeof(*cpu));
			EXPECT_EQ(i, cpu[i].cpu);
			EXPECT_EQ(0, cpu[i].nr_counters);
			EXPECT_EQ(0, cpu[i].sum[0]);
		}
		for (i = sizeof(*cpu); i < size; i++)
			EXPECT_EQ(0, room[size + i]);
		for (i = 2 * size; i < sizeof(room); i++)
			EXPECT_EQ(0xff, room[i]);
	}
	vpmc_cpus_close(cpus);
}

static void set_online(struct __test_metadata *_metadata, bool online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(fd, online ? "1" : "0", 1));
	close(fd);
}

/* What is wrong is named, and a set that is there stays. */
TEST_F(set, wrong_cpus)
{
	static const struct {
		unsigned int cpu, flags, interval;
		int err;
		const char *text;
	} bad[] = {
		{ 2, 0, 0, -EINVAL, "processor 2: there is no such processor; lscpu -e lists those that there are, and VPMC_ALL_CPUS means all" },
		{ 8191, 0, 0, -EINVAL, "processor 8191: there is no such processor; " },
		{ 4000000000U, 0, 0, -EINVAL, "processor 4000000000: there is no such processor; " },
		{ 0, 0x80, 0, -EINVAL, "flags 0x80: VPMC_GLOBAL_REVOKE is the only one that this kernel may know" },
		{ 0, 0, 9, -EINVAL, "interval of 9 ms: it is not possible; 0, or 10 to 60000" },
		{ VPMC_ALL_CPUS, 0, 60001, -EINVAL, "interval of 60001 ms: " },
	};
	struct vpmc_global_cpu cpu;
	struct vpmc_cpus *cpus;
	unsigned int i;

	ASSERT_EQ(0, vpmc_parse_events("instructions:uk", &self->events, &self->nr, &error));
	ASSERT_EQ(0, vpmc_cpus_open(&cpus, &error));
	ASSERT_EQ(1, vpmc_cpus_program(cpus, 1, self->events, 1, 0, 0, &error));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(bad[i].err, vpmc_cpus_program(cpus, bad[i].cpu, self->events, 1,
							bad[i].flags, bad[i].interval, &error));
		EXPECT_EQ(0, strncmp(bad[i].text, error.text, strlen(bad[i].text))) {
			TH_LOG("%s", error.text);
		}
		EXPECT_EQ(-bad[i].err, error.errnum);
		EXPECT_EQ(-1, error.event);
		EXPECT_EQ(bad[i].err, vpmc_cpus_program(cpus, bad[i].cpu, self->events, 1,
							bad[i].flags, bad[i].interval, NULL));
	}
	ASSERT_EQ(0, vpmc_cpus_start(cpus));
	EXPECT_EQ(-EBUSY, vpmc_cpus_program(cpus, 1, self->events, 1, 0, 0, &error));
	EXPECT_STREQ("processor 1: the processor counts; stop it first", error.text);
	EXPECT_EQ(-EBUSY, vpmc_cpus_program(cpus, VPMC_ALL_CPUS, self->events, 1, 0, 0, &error));
	EXPECT_STREQ("counting: the processor counts; stop it first", error.text);
	EXPECT_EQ(VPMC_REASON_CPU_RUNNING, error.reason);
	ASSERT_EQ(1, vpmc_cpus_read(cpus, 1, &cpu, 1));
	EXPECT_EQ(1, cpu.nr_counters);
	EXPECT_EQ(VPMC_CPU_RUNNING, cpu.state);
	vpmc_cpus_close(cpus);
}

/* A processor that is offline has a set, and counts when it comes online. */
TEST_F(set, offline_cpu)
{
	struct vpmc_global_cpu cpu;
	struct vpmc_cpus *cpus;

	ASSERT_EQ(0, vpmc_parse_events("instructions:uk", &self->events, &self->nr, &error));
	ASSERT_EQ(0, vpmc_cpus_open(&cpus, &error));
	set_online(_metadata, false);
	EXPECT_EQ(1, vpmc_cpus_program(cpus, 1, self->events, 1, 0, 0, &error));
	EXPECT_EQ(0, vpmc_cpus_start(cpus));
	EXPECT_EQ(1, vpmc_cpus_read(cpus, 1, &cpu, 1));
	EXPECT_EQ(VPMC_CPU_OFFLINE, cpu.state);
	EXPECT_EQ(0, cpu.sum[0]);
	set_online(_metadata, true);
	EXPECT_EQ(1, vpmc_cpus_read(cpus, 1, &cpu, 1));
	EXPECT_EQ(VPMC_CPU_RUNNING, cpu.state);
	EXPECT_LT(0, cpu.sum[0]);
	vpmc_cpus_close(cpus);
}

/* Without a descriptor there is an error, and nothing is said of the PMU. */
TEST_F(set, no_descriptor)
{
	struct rlimit none = { 0 }, before;
	struct vpmc_cpus *cpus;
	struct vpmc_info info;
	int err[2];

	memset(&info, 0xff, sizeof(info));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	none.rlim_max = before.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	err[0] = vpmc_get_info(&info);
	err[1] = vpmc_cpus_open(&cpus, &error);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
	EXPECT_EQ(-EMFILE, err[0]);
	EXPECT_EQ(0, info.size);
	EXPECT_EQ(-EMFILE, err[1]);
	EXPECT_NE(NULL, strstr(error.text, "ulimit -n"));
}

/* A family with two children that have ended and one that lives. */
TEST_F(set, family)
{
	struct vpmc_read sums;
	pid_t pid[3];
	int i;

	ASSERT_EQ(1, program(self, "branches", VPMC_CONTROL_INHERIT_PROCESSES));
	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			work((i + 1) * TURNS);
			if (i == 2)
				raise(SIGSTOP);
			_exit(0);
		}
		waitpid(pid[i], NULL, WUNTRACED);
	}
	ASSERT_EQ(0, vpmc_read_sums(self->v, 0, &sums));
	EXPECT_GT(TURNS, sums.sum[0]);
	ASSERT_EQ(0, vpmc_read_sums(self->v, VPMC_READ_FINISHED, &sums));
	EXPECT_EQ(2, sums.finished);
	EXPECT_EQ(3, sums.sum[0] / TURNS);
	ASSERT_EQ(0, vpmc_read_sums(self->v, VPMC_READ_FINISHED |
				    VPMC_READ_LIVING, &sums));
	EXPECT_EQ(1, sums.living);
	EXPECT_EQ(6, sums.sum[0] / TURNS);
	EXPECT_EQ(0, sums.lost);
	filled_with_ones(&sums, sizeof(sums));
	EXPECT_EQ(-EINVAL, vpmc_read_sums(self->v, 1U << 30, &sums));
	EXPECT_EQ(0, sums.sum[0]);
	EXPECT_EQ(0, sums.tid);
	kill(pid[2], SIGKILL);
	waitpid(pid[2], NULL, 0);
}

/* Programs a family that keeps what so many members counted. */
static int program_members(FIXTURE_DATA(set) *self, unsigned int members)
{
	struct vpmc_control control;
	int err = vpmc_parse_events("branches", &self->events, &self->nr, &error) ?:
		  vpmc_fill_control(self->events, self->nr,
				    members ? VPMC_CONTROL_INHERIT_PROCESSES : 0,
				    &control);

	control.members = members ? members : 1;
	return err ?: vpmc_program_raw(self->v, &control, &error);
}

/* Each member by itself: those that have ended, and those that live. */
TEST_F(set, members)
{
	struct vpmc_read_members read = {};
	struct vpmc_member member[4];
	unsigned int seen;
	pid_t pid[3];
	int i;

	EXPECT_EQ(-EINVAL, program_members(self, 0));
	EXPECT_EQ(VPMC_REASON_MEMBERS, error.reason);
	vpmc_free_events(self->events);
	ASSERT_EQ(1, program_members(self, 4));
	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			work((i + 1) * TURNS);
			if (i == 2)
				raise(SIGSTOP);
			_exit(0);
		}
		waitpid(pid[i], NULL, WUNTRACED);
	}
	ASSERT_EQ(0, vpmc_wait(self->v, 0, &seen));
	EXPECT_EQ(VPMC_WAIT_OVERFLOW, seen);
	ASSERT_EQ(1, vpmc_read_members(self->v, VPMC_READ_LIVING, member, 4, &read));
	EXPECT_EQ(pid[2], member[0].pid);
	EXPECT_EQ(3, member[0].sum[0] / TURNS);
	EXPECT_EQ(3, read.after);
	EXPECT_EQ(0, vpmc_read_members(self->v, VPMC_READ_LIVING, member, 4, &read));
	ASSERT_EQ(2, vpmc_read_members(self->v, VPMC_READ_FINISHED, member, 4, &read));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(pid[i], member[i].pid);
		EXPECT_EQ(i + 1, member[i].number);
		EXPECT_EQ(i + 1, member[i].sum[0] / TURNS);
		EXPECT_EQ(VPMC_MEMBER_ENDED, member[i].state);
	}
	EXPECT_EQ(3, read.born);
	EXPECT_EQ(1, read.nr_counters);
	EXPECT_EQ(-EINVAL, vpmc_read_members(self->v, 0, member, 4, &read));
	EXPECT_EQ(0, read.nr + read.born + read.nr_counters);
	kill(pid[2], SIGKILL);
	waitpid(pid[2], NULL, 0);
}

/* Makes perf_event_open() raise SIGSYS. The library must not need that call. */
static void forbid_perf(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]), .filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(100);
}

/* Makes mmap() of a file fail, as a security module may. */
static void forbid_mmap(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[4])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]), .filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(100);
}

/* There is no handle without a page, which a thread could read. */
TEST(page_cannot_be_mapped)
{
	struct vpmc_regions *regions;
	struct vpmc *v = (void *)1;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		forbid_mmap();
		_exit(vpmc_open(&v, 0, &error) != -EPERM || v ||
		      error.errnum != EPERM ||
		      vpmc_open_thread(&v, gettid(), 0, NULL) != -EPERM || v ||
		      vpmc_regions_open(&regions, "instructions", 0, NULL) != -EPERM ||
		      regions);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

static void be_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ||
	    prctl(PR_SET_DUMPABLE, 1))
		_exit(101);
}

/* Somebody who may count the kernel does so in a thread that may not. */
TEST(kernel_counts_of_others)
{
	struct vpmc_event *events;
	int ready[2], go[2], status;
	unsigned int nr;
	struct vpmc *v;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (setgid(1000) || setuid(1000) || write(ready[1], &byte, 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(1);
		if (vpmc_open(&v, 0, &error) != -EACCES)
			_exit(2);
		_exit(error.reason != VPMC_REASON_KERNEL_MODE ||
		      !strstr(error.text, "somebody counts the kernel in a thread of this process") ? 3 : 0);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, vpmc_open_thread(&v, pid, 0, &error));
	ASSERT_EQ(0, vpmc_parse_events("instructions:uk", &events, &nr, &error));
	ASSERT_EQ(1, vpmc_program(v, events, nr, 0, &error)) {
		TH_LOG("%s", error.text);
	}
	ASSERT_EQ(1, write(go[1], &byte, 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	vpmc_free_events(events);
	vpmc_close(v);
}

/* With a set that is there, the caller's own rights to program one do not matter. */
TEST_F(set, share_without_rights)
{
	int status, shared;
	pid_t pid;

	ASSERT_EQ(0, vpmc_parse_events("branches,instructions", &self->events,
				       &self->nr, &error));
	pid = fork();
	if (!pid) {
		if (vpmc_open(&self->v, 0, &error) ||
		    vpmc_program(self->v, self->events, 2, 0, &error) != 2)
			_exit(10);
		vpmc_free_events(self->events);
		self->events = NULL;
		if (write_file(PARANOID_FILE, "2"))
			_exit(11);
		be_nobody();
		shared = share(self, "instructions");
		if (shared < 0)
			fprintf(stderr, "# %s\n", error.text);
		_exit(shared != 2 || self->events[0].element != 1);
	}
	waitpid(pid, &status, 0);
	write_file(PARANOID_FILE, "0");
	EXPECT_EQ(0, status);
}

static int count_as_anybody(void)
{
	struct vpmc_event *events;
	struct vpmc *v, *other;
	unsigned int nr;
	uint64_t count[1];

	if (vpmc_check(&error))
		return 1;
	if (vpmc_open(&v, 0, &error) ||
	    vpmc_parse_events("instructions", &events, &nr, &error) ||
	    vpmc_program(v, events, nr, 0, &error) != 1 ||
	    !counted(v, 1, TURNS, count) || count[0] != INSTRUCTIONS_OF(TURNS))
		return 2;
	events[0].select = 0x300c0;
	if (vpmc_program(v, events, nr, 0, &error) != -EACCES ||
	    error.reason != VPMC_REASON_KERNEL_MODE ||
	    !strstr(error.text, "kernel.perf_event_paranoid"))
		return 3;
	if (vpmc_open_thread(&other, 1, 0, &error) != -EACCES ||
	    error.reason != VPMC_WHY_NO_ACCESS)
		return 4;
	return 0;
}

FIXTURE(who) { };
FIXTURE_SETUP(who) { }
FIXTURE_TEARDOWN(who) { }
FIXTURE_VARIANT(who) {
	bool nobody, namespace, seccomp;
};
FIXTURE_VARIANT_ADD(who, nobody) { .nobody = true };
FIXTURE_VARIANT_ADD(who, user_namespace) { .nobody = true, .namespace = true };
FIXTURE_VARIANT_ADD(who, without_perf) { .nobody = true, .seccomp = true };

static void become(const FIXTURE_VARIANT(who) *variant)
{
	if (variant->nobody)
		be_nobody();
	if (variant->namespace && unshare(CLONE_NEWUSER))
		_exit(102);
	if (variant->seccomp)
		forbid_perf();
}

TEST_F(who, counts)
{
	int status, err;
	pid_t pid;

	ASSERT_EQ(0, write_file(PERF_PARANOID_FILE, "2"));
	pid = fork();
	if (!pid) {
		become(variant);
		err = count_as_anybody();
		if (err)
			fprintf(stderr, "# %d: %s\n", err, error.text);
		_exit(err);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(who, is_refused)
{
	char level[2] = "1";
	int status;
	pid_t pid;

	for (; level[0] < '3'; level[0]++) {
		ASSERT_EQ(0, write_file(PARANOID_FILE, level));
		pid = fork();
		if (!pid) {
			become(variant);
			_exit(vpmc_check(&error) != -EACCES ||
			      error.reason != VPMC_REASON_PARANOID ||
			      !strstr(error.text, "kernel.vpmc_paranoid"));
		}
		waitpid(pid, &status, 0);
		EXPECT_EQ(0, status);
	}
	write_file(PARANOID_FILE, "0");
}

/* vpmc_check() leaves the caller's counters alone. */
TEST_F(set, check)
{
	uint64_t count[1];

	filled_with_ones(&error, sizeof(error));
	ASSERT_EQ(1, program(self, "instructions", VPMC_CONTROL_INHERIT_THREADS));
	EXPECT_EQ(0, vpmc_check(&error));
	EXPECT_EQ(0, error.errnum);
	EXPECT_STREQ("", error.text);
	ASSERT_TRUE(counted(self->v, 1, TURNS, count));
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), count[0]);
}

TEST_HARNESS_MAIN
