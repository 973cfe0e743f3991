// SPDX-License-Identifier: GPL-2.0
/*
 * Counters with periods: the state "stopped by an overflow", what ends that
 * state, and which periods and signals are refused.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>

#include "overflow.h"

#define PERIOD		10001
#define TURNS		100000
#define PERIOD_MIN	"/proc/sys/kernel/vpmc_period_min"

FIXTURE(overflow_state)
{
	struct set set;
};

/* One counter with a period, one without, and no signal. */
FIXTURE_SETUP(overflow_state)
{
	tolerance_begin();
	ASSERT_EQ(0, open_with_period(&self->set, PERIOD, 0));
}

FIXTURE_TEARDOWN(overflow_state)
{
	set_close(&self->set);
}

/*
 * Starts by this request and runs past the end of the period. What ends
 * code_measure() otherwise is an INFO that does nothing but fail.
 */
static long overflow_once(struct set *set, unsigned int start)
{
	long err = code_measure(set->fd, start, VPMC_IOC_INFO, code_loop, TURNS,
				0);

	return err == -EFAULT ? 0 : -1;
}

/* The set stands, with these sums, however one reads them. */
static void stands(struct __test_metadata *_metadata, struct set *set,
		   uint32_t state, uint64_t insns, uint64_t branches)
{
	const volatile struct vpmc_page *page = page_of(set);
	uint64_t period = set->control.counter[0].period;
	uint64_t count[2], ticks[2];
	struct vpmc_read read;

	/* It did not end. */
	if (!period || period > insns)
		period = insns;
	EXPECT_EQ(state, page->state);
	EXPECT_EQ(state == VPMC_STATE_OVERFLOWED, page->overflowed);
	vpmc_read_page(set->page, count, &ticks[0]);
	EXPECT_TRUE(overflow_fits(count[0], insns, period, true))
		TH_LOG("%llu instructions, not %llu",
		       (unsigned long long)count[0], (unsigned long long)insns);
	EXPECT_TRUE(overflow_fits(count[1], branches, period, false))
		TH_LOG("%llu branches, not %llu", (unsigned long long)count[1],
		       (unsigned long long)branches);
	vpmc_read_page(set->page, count, &ticks[1]);
	EXPECT_EQ(ticks[0], ticks[1]);
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(state, read.state);
	EXPECT_EQ(count[0], read.sum[0]);
	EXPECT_EQ(count[1], read.sum[1]);
	EXPECT_EQ(ticks[0], read.ticks);
}

TEST_F(overflow_state, stands_at_the_end_of_the_period)
{
	char text[256] = "";

	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       branches_at(PERIOD));
	EXPECT_EQ(1, page_of(&self->set)->overflows);
	ASSERT_LT(0, pread(self->set.fd, text, sizeof(text) - 1, 0));
	EXPECT_EQ(0, strncmp(text, "state: overflowed\n", 18));
}

/* RESUME and START go on from there, to the next end. */
TEST_F(overflow_state, goes_on)
{
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_RESUME));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, 2 * PERIOD,
	       2 * branches_at(PERIOD));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, 3 * PERIOD,
	       3 * branches_at(PERIOD));
	EXPECT_EQ(3, page_of(&self->set)->overflows);
}

/* RESUME does not start a set that was stopped in another way. */
TEST_F(overflow_state, resume_after_stop)
{
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, page_of(&self->set)->state);
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
	stands(_metadata, &self->set, VPMC_STATE_STOPPED, PERIOD,
	       branches_at(PERIOD));
}

/* Nor does it disturb what is running. */
TEST_F(overflow_state, resume_while_running)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(1000));

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	stands(_metadata, &self->set, VPMC_STATE_STOPPED, want.insns,
	       want.branches);
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, (void *)1));
}

/* A period does not end one event too early, and ends with its last event. */
TEST_F(overflow_state, exactly_the_period)
{
	const long n = (PERIOD - CODE_MEASURE.insns - 2) / 2;
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(n));
	struct vpmc_control *control = &self->set.control;

	control->counter[0].period = want.insns + 1;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, n, 0));
	stands(_metadata, &self->set, VPMC_STATE_STOPPED, want.insns,
	       want.branches);
	EXPECT_EQ(0, page_of(&self->set)->overflows);

	/* The last one is STOP's system call. */
	control->counter[0].period = want.insns;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, n, 0));
	stands(_metadata, &self->set, VPMC_STATE_STOPPED, want.insns,
	       want.branches);
	EXPECT_EQ(1, page_of(&self->set)->overflows);
}

/* A piece in each of two runs. */
TEST_F(overflow_state, period_over_several_runs)
{
	const struct code_count piece = code_add(CODE_MEASURE, CODE_LOOP(2000));
	uint64_t rest = PERIOD - 2 * piece.insns;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 2000, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 2000, 0));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       2 * piece.branches + branches_at(rest));
}

TEST_F(overflow_state, clear_begins_a_period)
{
	const struct code_count piece = code_add(CODE_MEASURE, CODE_LOOP(2000));

	/* Another counter's: the period goes on. */
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 2000, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)2));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       branches_at(PERIOD - piece.insns));
	EXPECT_EQ(1, page_of(&self->set)->overflows);

	/* Its own: another one begins. It stands as before. */
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, (void *)3));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       branches_at(PERIOD));
	EXPECT_EQ(2, page_of(&self->set)->overflows);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, 0, 0);
	EXPECT_EQ(0, page_of(&self->set)->overflows);
}

/* A preserved sum goes on, and its period begins anew. */
TEST_F(overflow_state, preserved_sum)
{
	struct vpmc_read read;

	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       branches_at(PERIOD));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	self->set.control.flags |= VPMC_CONTROL_PRESERVE;
	self->set.control.counter[0].flags = VPMC_COUNTER_PRESERVE;
	self->set.control.counter[0].period = PERIOD + 100;
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(VPMC_STATE_STOPPED, page_of(&self->set)->state);
	EXPECT_EQ(0, page_of(&self->set)->overflows);
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED,
	       read.sum[0] + PERIOD + 100, branches_at(PERIOD + 100));
	EXPECT_EQ(1, page_of(&self->set)->overflows);
}

/* A set that has none after all, and one that is on other counters. */
TEST_F(overflow_state, replaced)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(TURNS));
	struct vpmc_control programmed;

	self->set.control.counter[0].period = 0;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	stands(_metadata, &self->set, VPMC_STATE_STOPPED, want.insns,
	       want.branches);

	self->set.control.counter[0].period = PERIOD;
	self->set.control.counter[0].index = 3;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, &programmed));
	EXPECT_EQ(PERIOD, programmed.counter[0].period);
	EXPECT_EQ(0, programmed.counter[1].period);
	EXPECT_EQ(0, programmed.signal);
	EXPECT_EQ(0, programmed.flags);
	self->set.control.flags |= VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, &programmed));
	EXPECT_EQ(VPMC_CONTROL_REARM, programmed.flags);
	self->set.control.flags &= ~VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       branches_at(PERIOD));
}

/* UNLINK and revocation end it; the sums are as they were. */
TEST_F(overflow_state, detached)
{
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	stands(_metadata, &self->set, VPMC_STATE_UNLINKED, PERIOD,
	       branches_at(PERIOD));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
}

TEST_F(overflow_state, revoked)
{
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	/* It stood, and notices when it is looked at. */
	EXPECT_EQ(POLLERR, polled(&self->set, 0));
	stands(_metadata, &self->set, VPMC_STATE_REVOKED, PERIOD,
	       branches_at(PERIOD));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
}

TEST_F(overflow_state, resume_before_control)
{
	int fd;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	fd = vpmc_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(fd, VPMC_IOC_RESUME, 0));
	close(fd);
}

TEST_F(overflow_state, poll)
{
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));
	EXPECT_EQ(POLLIN, polled(&self->set, -1));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_RESUME, 0));
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, polled(&self->set, 0));
}

/* Another thread waits for it, asleep, and resumes it. */
struct waiter {
	struct set *set;
	pthread_t thread;
	volatile pid_t tid;
	volatile int woken;
};

static void *wait_for_overflows(void *arg)
{
	struct waiter *w = arg;

	w->tid = my_tid();
	/* Whatever word for it they use. */
	while (w->woken < 5 &&
	       polled_for(w->set, w->woken & 1 ? POLLRDNORM : POLLIN, -1) > 0) {
		w->woken++;
		vpmc_ioctl(w->set->fd, VPMC_IOC_RESUME, 0);
	}
	return NULL;
}

/* Until a thread of this process sleeps: 0, or -1 if it is gone. */
static int wait_until_asleep(pid_t tid)
{
	char path[64], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	while (!strstr(text, ") S ")) {
		fd = open(path, O_RDONLY);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
			return -1;
		close(fd);
	}
	return 0;
}

TEST_F(overflow_state, poll_wakes)
{
	struct waiter w = { .set = &self->set };
	int i;

	ASSERT_EQ(0, pthread_create(&w.thread, NULL, wait_for_overflows, &w));
	while (!w.tid)
		sched_yield();
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, wait_until_asleep(w.tid));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		while (w.woken == i)
			code_loop(1000, 0);
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	}
	pthread_join(w.thread, NULL);
	EXPECT_EQ(5, w.woken);
}

/*
 * A set with REARM: poll() reports from an overflow until the counters are
 * read.
 */
TEST_F(overflow_state, poll_rearmed)
{
	struct vpmc_read read;
	char text[256];

	self->set.control.flags |= VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));
	EXPECT_EQ(POLLIN, polled(&self->set, -1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, polled(&self->set, 0));
	/* Too few for another one; then enough. */
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 100, 0));
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD, 0));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));
	/* A READ without room for the sums does not count as a read. */
	memset(&read, 0, sizeof(read));
	read.size = offsetof(struct vpmc_read, sum);
	EXPECT_EQ(-ENOSPC, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, &read));
	EXPECT_EQ(0, pread(self->set.fd, text, sizeof(text), PAGE));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));
	ASSERT_LT(0, pread(self->set.fd, text, sizeof(text), 0));
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD, 0));
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(0, polled(&self->set, 0));
}

/* Another thread reads at each wake, asleep between them. */
static void *wait_and_read(void *arg)
{
	struct waiter *w = arg;
	struct vpmc_read read;

	w->tid = my_tid();
	while (w->woken < 5 && polled(w->set, -1) == POLLIN) {
		vpmc_read(w->set->fd, &read);
		w->woken++;
	}
	return NULL;
}

TEST_F(overflow_state, poll_wakes_rearmed)
{
	struct waiter w = { .set = &self->set };
	int i;

	self->set.control.flags |= VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, wait_and_read, &w));
	while (!w.tid)
		sched_yield();
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, wait_until_asleep(w.tid));
		EXPECT_EQ(i, w.woken);
		ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD / 2, 0));
		while (w.woken == i)
			sched_yield();
	}
	pthread_join(w.thread, NULL);
	EXPECT_EQ(5, w.woken);
}

/* Refused, and everything stays as it was. */
static void refused(struct __test_metadata *_metadata, struct set *set,
		    const struct vpmc_control *bad, uint32_t counter,
		    uint32_t reason)
{
	struct vpmc_control control = *bad;

	EXPECT_EQ(-EINVAL, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(counter, control.bad_counter);
	EXPECT_EQ(reason, control.reason);
}

TEST_F(overflow_state, short_period)
{
	struct vpmc_control bad = self->set.control;
	int min = read_number(PERIOD_MIN);
	char text[16];

	ASSERT_EQ(1000, min);
	bad.counter[1].period = 999;
	refused(_metadata, &self->set, &bad, 1, VPMC_REASON_PERIOD);
	bad.counter[0].period = 1;
	refused(_metadata, &self->set, &bad, 0, VPMC_REASON_PERIOD);
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, PERIOD,
	       branches_at(PERIOD));

	/* The administrator decides. */
	bad = self->set.control;
	bad.counter[0].period = 900;
	ASSERT_EQ(0, write_file(PERIOD_MIN, "901"));
	refused(_metadata, &self->set, &bad, 0, VPMC_REASON_PERIOD);
	ASSERT_EQ(0, write_file(PERIOD_MIN, "900"));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, &bad));
	ASSERT_EQ(0, overflow_once(&self->set, VPMC_IOC_START));
	stands(_metadata, &self->set, VPMC_STATE_OVERFLOWED, 900,
	       branches_at(900));
	EXPECT_EQ(-EINVAL, write_file(PERIOD_MIN, "0"));
	snprintf(text, sizeof(text), "%d", min);
	ASSERT_EQ(0, write_file(PERIOD_MIN, text));
}

TEST_F(overflow_state, longest_period)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(TURNS));

	self->set.control.counter[0].period = UINT64_MAX;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	stands(_metadata, &self->set, VPMC_STATE_STOPPED, want.insns,
	       want.branches);
	EXPECT_EQ(0, page_of(&self->set)->overflows);
}

/* Every number, those that no kernel has included. */
TEST_F(overflow_state, signals)
{
	static const int bad[] = {
		SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGCHLD,
		SIGSTOP, SIGSYS, 65, 0x100, INT_MAX, -1,
	};
	struct vpmc_control control = self->set.control, programmed;
	bool is_bad;
	int sig, i;

	for (sig = 1; sig <= 64; sig++) {
		for (i = 0, is_bad = false; i < ARRAY_SIZE(bad); i++)
			is_bad |= sig == bad[i];
		control.signal = sig;
		EXPECT_EQ(is_bad ? -EINVAL : 0,
			  vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, &control))
			TH_LOG("signal %d", sig);
	}
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, &programmed));
	EXPECT_EQ(64, programmed.signal);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		control.signal = bad[i];
		refused(_metadata, &self->set, &control, 2, VPMC_REASON_SIGNAL);
	}
}

TEST_F(overflow_state, no_period)
{
	struct vpmc_control control = self->set.control;

	control.counter[0].period = 0;
	control.signal = SIGIO;
	refused(_metadata, &self->set, &control, 2, VPMC_REASON_NO_PERIOD);
	control.signal = 0;
	control.flags |= VPMC_CONTROL_REARM;
	refused(_metadata, &self->set, &control, 2, VPMC_REASON_NO_PERIOD);
}

NEEDS(
	/* A count that is one too high ends the period. */
	{ "overflow_state.exactly_the_period", TRUE_COUNTS },
	{ "overflow_state.revoked", PMU | DISTURBS | ROOT },
	{ "overflow_state.short_period", PMU | DISTURBS | ROOT },
	{ "*", PMU },
);

TEST_HARNESS_MAIN
