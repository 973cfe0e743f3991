// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_revoke: the administrator takes the PMU from all sets, at any
 * moment. Their sums are exact up to that moment.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/uio.h>
#include "revoke_fixture.h"
#include "perf.h"
#include "poller.h"
#include "runner.h"

static const struct choice none[] = { {} };

/*
 * What the threads and the test wait for in turn: all are revoked and perf has
 * had the PMU; nothing can be had; CONTROL is allowed again.
 */
static pthread_barrier_t step;

/* The set does not count and cannot be started, but it can be read. */
static int wrong_dead(struct set *set, const struct vpmc_read *sums)
{
	struct vpmc_control control = set->control;
	uint64_t count[NR], ticks;
	struct vpmc_read read;

	code_loop(1000, 0);
	if (vpmc_ioctl(set->fd, VPMC_IOC_START, 0) != -ENODATA ||
	    vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) != -ENODATA ||
	    vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0) != -ENODATA)
		return 1;
	if (vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &control) != -EBUSY ||
	    control.reason != VPMC_REASON_REVOKED || control.bad_counter != NR)
		return 2;
	if (vpmc_read(set->fd, &read) || memcmp(&read, sums, sizeof(read)))
		return 3;
	vpmc_read_n(set->page, NR, count, &ticks);
	if (memcmp(count, sums->sum, sizeof(count)) || ticks != sums->ticks)
		return 4;
	return 0;
}

/* A new CONTROL, when it is allowed again. */
static int wrong_again(struct set *set)
{
	return set_program(set, three) ||
	       set_measure(set, code_loop, 1000, 0) ||
	       wrong_after(set, CODE_LOOP(1000));
}

/* What remains to be done by a thread that was revoked after @want. */
static int wrong_from_then_on(struct runner *runner, struct code_count want)
{
	struct set *set = &runner->set;
	struct vpmc_read read;
	int wrong = 0;

	if (vpmc_read(set->fd, &read) || read.state != VPMC_STATE_REVOKED)
		wrong = 10;
	else if (wrong_sums(set, &read, want))
		wrong = 11;
	pthread_barrier_wait(&step);
	wrong = wrong ?: wrong_dead(set, &read);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return wrong ?: wrong_again(set);
}

/*
 * In code_until() it was stopped after the last turn's look at the state but
 * one, and before the last: there are three such points, and the counters must
 * agree on one of them.
 */
static int run_until_revoked(struct runner *runner)
{
	struct set *set = &runner->set;
	struct code_count want;
	struct vpmc_read read;
	uint64_t m;

	set_measure(set, code_until, (long)&set->page->state,
		    (long)&runner->turns);
	m = runner->turns;
	memset(&read, 0, sizeof(read));
	vpmc_read(set->fd, &read);
	/* Before the jump back, after it, and after the increment. */
	want = CODE_COUNT(3 * m - 4, m - 2);
	if (read.sum[FIXED_INSNS] > CODE_MEASURE_HEAD.insns + want.insns)
		want = CODE_COUNT(3 * m - 3, m - 1);
	if (read.sum[FIXED_INSNS] > CODE_MEASURE_HEAD.insns + want.insns)
		want = CODE_COUNT(3 * m - 2, m - 1);
	return wrong_from_then_on(runner, code_add(CODE_MEASURE_HEAD, want));
}

static int wait_until_revoked(struct runner *runner)
{
	set_measure(&runner->set, code_wait, runner->pipe[0], RUNNER_TURNS);
	return wrong_from_then_on(runner,
				  code_add(CODE_MEASURE_HEAD,
					   CODE_WAIT_HEAD(RUNNER_TURNS)));
}

static int stand_until_revoked(struct runner *runner)
{
	char byte;
	int wrong = set_measure(&runner->set, code_loop, RUNNER_TURNS, 0) ||
		    read(runner->pipe[0], &byte, 1) != 1;

	return wrong_from_then_on(runner,
				  code_add(CODE_MEASURE,
					   CODE_LOOP(RUNNER_TURNS))) ?: wrong;
}

/*
 * Counts are read all the time and never go back. The last ones, of a set that
 * is revoked, are what READ says.
 */
static int read_until_revoked(struct runner *runner)
{
	struct set *set = &runner->set;
	const volatile __u32 *state = &set->page->state;
	uint64_t last[NR] = {}, count[NR];
	struct vpmc_read read;
	int i, wrong = vpmc_ioctl(set->fd, VPMC_IOC_START, 0);
	uint32_t before;

	do {
		before = *state;
		vpmc_read_n(set->page, NR, count, NULL);
		for (i = 0; i < NR; i++)
			if (count[i] < last[i])
				wrong = 20;
		memcpy(last, count, sizeof(last));
		runner->turns++;
	} while (before == VPMC_STATE_RUNNING);
	if (vpmc_read(set->fd, &read) || read.state != VPMC_STATE_REVOKED ||
	    read.sum[FIXED_INSNS] != read.sum[GP_INSNS] ||
	    memcmp(count, read.sum, sizeof(count)))
		wrong = 21;
	pthread_barrier_wait(&step);
	wrong = wrong ?: wrong_dead(set, &read);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return wrong ?: wrong_again(set);
}

/* A set without counters is not revoked. */
static int time_all_along(struct runner *runner)
{
	struct set *set = &runner->set;
	struct vpmc_read before, after;
	int wrong = vpmc_ioctl(set->fd, VPMC_IOC_START, 0);

	runner->turns = 1;
	pthread_barrier_wait(&step);
	wrong = wrong || vpmc_read(set->fd, &before) ||
		before.state != VPMC_STATE_RUNNING;
	code_loop(1000, 0);
	wrong = wrong || vpmc_read(set->fd, &after) ||
		after.state != VPMC_STATE_RUNNING ||
		after.ticks < before.ticks + CODE_LOOP(1000).insns;
	wrong = wrong || set_program(set, none);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return wrong ?: wrong_again(set);
}

/* Its page says so as soon as the thread runs, and before it makes a call. */
static int wakes_revoked(struct runner *runner)
{
	struct set *set = &runner->set;
	char byte;

	if (vpmc_ioctl(set->fd, VPMC_IOC_START, 0) ||
	    read(runner->pipe[0], &byte, 1) != 1)
		return 1;
	return set->page->state == VPMC_STATE_REVOKED ? 0 : 2;
}

TEST_F(revoke, asleep)
{
	struct runner runner = {
		.kind = WAITS, .cpu = 1, .choice = three, .body = wakes_revoked,
	};

	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, set_revoked("1"));
	ASSERT_EQ(1, write(runner.pipe[1], "", 1));
	EXPECT_EQ(0, runner_finish(&runner));
	ASSERT_EQ(0, set_revoked("0"));
}

TEST_F(revoke, eight_threads)
{
	struct runner runner[] = {
		{ .kind = RUNS, .cpu = 0, .body = run_until_revoked },
		{ .kind = RUNS, .cpu = 0, .body = read_until_revoked },
		{ .kind = WAITS, .cpu = 0, .body = wait_until_revoked },
		{ .kind = STANDS, .cpu = 0, .body = stand_until_revoked },
		{ .kind = RUNS, .cpu = 1, .body = run_until_revoked },
		{ .kind = RUNS, .cpu = 1, .body = read_until_revoked },
		{ .kind = WAITS, .cpu = 1, .body = wait_until_revoked },
		{ .kind = RUNS, .cpu = 1, .body = time_all_along },
	};
	int fd = vpmc_open(), i, turn;

	ASSERT_LE(0, fd);
	for (turn = 0; turn < 5; turn++) {
		ASSERT_EQ(0, pthread_barrier_init(&step, NULL, 9));
		for (i = 0; i < 8; i++) {
			runner[i].choice = i < 7 ? three : none;
			ASSERT_EQ(0, runner_start(&runner[i]));
		}
		runner_wait_turns(&runner[0], 1000 + turn);
		runner_wait_turns(&runner[4], 1000 + turn);
		ASSERT_EQ(0, set_revoked("1"));
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, pin(i));
			EXPECT_EQ(0, perf_error(1000));
		}
		ASSERT_EQ(0, runner_unbind());
		EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(fd));
		for (i = 0; i < 8; i++)
			ASSERT_EQ(1, write(runner[i].pipe[1], "", 1));
		pthread_barrier_wait(&step);
		pthread_barrier_wait(&step);
		ASSERT_EQ(0, set_revoked("0"));
		EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));
		pthread_barrier_wait(&step);
		for (i = 0; i < 8; i++)
			EXPECT_EQ(0, runner_finish(&runner[i]));
	}
}

/*
 * Its page shows the state as soon as the thread runs. Nothing more was
 * counted.
 */
static int wake_revoked(struct runner *runner)
{
	struct set *set = &runner->set;
	struct vpmc_read read;

	set_measure(set, code_wait, runner->pipe[0], RUNNER_TURNS);
	if (set->page->state != VPMC_STATE_REVOKED || vpmc_read(set->fd, &read))
		return 1;
	return wrong_sums(set, &read, code_add(CODE_MEASURE_HEAD,
					       CODE_WAIT_HEAD(RUNNER_TURNS)));
}

/* The thread that it follows counts the same, in the same address space. */
TEST_F(revoke, wakes_among_new_sets)
{
	struct runner runner = {
		.kind = WAITS, .cpu = 0, .body = wake_revoked, .choice = three,
	};
	struct vpmc_read read;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, set_revoked("1"));
	ASSERT_EQ(0, set_revoked("0"));
	ASSERT_EQ(0, set_open(&self->set, three));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(1, write(runner.pipe[1], "", 1));
	EXPECT_EQ(0, runner_finish(&runner));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(VPMC_STATE_RUNNING, read.state);
	EXPECT_EQ(read.sum[FIXED_INSNS], read.sum[GP_INSNS]);
	EXPECT_LT(0, read.switches);
}

/* By itself, and so at a known instruction. */
TEST_F(revoke, own_hand)
{
	struct iovec text = { .iov_base = "1", .iov_len = 1 };
	struct vpmc_read read;
	int fd, i;

	fd = open(REVOKE_FILE, O_WRONLY);
	ASSERT_LE(0, fd);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, pin(i & 1));
		ASSERT_EQ(0, set_open(&self->set, three));
		ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
		/* STOP is refused. */
		EXPECT_NE(0, set_measure(&self->set, code_write, fd,
					 (long)&text));
		ASSERT_EQ(1, revoked());
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
		EXPECT_EQ(0, wrong_sums(&self->set, &read,
					code_add(CODE_MEASURE_HEAD,
						 CODE_WRITE_HEAD)));
		EXPECT_EQ(0, wrong_dead(&self->set, &read));
		EXPECT_EQ(0, perf_error(1000));
		ASSERT_EQ(0, set_revoked("0"));
		EXPECT_EQ(0, wrong_again(&self->set));
		set_close(&self->set);
	}
	close(fd);
}

/* Programs and detaches all the time, revoked or not. */
static void *come_and_go(void *arg)
{
	struct runner *runner = arg;
	struct set *set = &runner->set;

	runner->wrong = pin(runner->cpu);
	while (runner->go && !runner->wrong) {
		int err = set_open(set, three);

		/* PMU_BUSY: a revocation began and ended meanwhile. */
		if (err && (err != -EBUSY ||
			    (set->control.reason != VPMC_REASON_REVOKED &&
			     set->control.reason != VPMC_REASON_PMU_BUSY)))
			runner->wrong = 1;
		runner->turns++;
		set_close(set);
	}
	return NULL;
}

/* When the write returns the PMU is free, even if a CONTROL was in progress. */
TEST_F(revoke, while_others_come_and_go)
{
	struct runner other[3] = {
		{ .cpu = 0, .go = 1 }, { .cpu = 1, .go = 1 },
		{ .cpu = 1, .go = 1 },
	};
	int i, turn;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&other[i].thread, NULL,
					    come_and_go, &other[i]));
	for (turn = 0; turn < 100; turn++) {
		runner_wait_turns(&other[turn % 3], 1);
		ASSERT_EQ(0, set_revoked("1"));
		EXPECT_EQ(0, perf_error(10));
		ASSERT_EQ(0, set_revoked("0"));
	}
	for (i = 0; i < 3; i++) {
		other[i].go = 0;
		ASSERT_EQ(0, pthread_join(other[i].thread, NULL));
		EXPECT_EQ(0, other[i].wrong);
	}
}

/* What can be done with the descriptor of a revoked set. */
TEST_F(revoke, descriptor)
{
	struct set *set = &self->set;
	struct vpmc_control control;
	struct vpmc_read sums, read;
	struct vpmc_page *again;

	ASSERT_EQ(0, set_open(set, three));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, set_revoked("1"));
	ASSERT_EQ(0, vpmc_read(set->fd, &sums));
	EXPECT_EQ(VPMC_STATE_REVOKED, sums.state);
	EXPECT_EQ(VPMC_STATE_REVOKED, set->page->state);
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	EXPECT_EQ(0, wrong_dead(set, &sums));

	/* What was programmed can still be asked for. */
	ASSERT_EQ(0, vpmc_read_control(set->fd, &control));
	EXPECT_EQ(NR, control.nr_counters);
	EXPECT_EQ(event_here(three[BRANCHES].evtsel),
		  control.counter[BRANCHES].evtsel);
	EXPECT_EQ(three[GP_INSNS].index, control.counter[GP_INSNS].index);

	/* A page that is mapped now shows the same. */
	again = vpmc_map(set->fd);
	ASSERT_NE(MAP_FAILED, again);
	EXPECT_EQ(0, memcmp(again, set->page, sizeof(*again)));
	ASSERT_EQ(0, munmap(again, PAGE));

	/* A set that was unlinked does not come back. */
	EXPECT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(VPMC_STATE_UNLINKED, read.state);
	EXPECT_EQ(0, memcmp(sums.sum, read.sum, sizeof(sums.sum)));
	ASSERT_EQ(0, set_revoked("0"));
	EXPECT_EQ(-ESRCH, set_program(set, three));
}

/* A thread that ends with a revoked set, and one that executes a program. */
TEST_F(revoke, exit_and_exec)
{
	int i;

	for (i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (set_open(&self->set, three) ||
			    vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0) ||
			    set_revoked("1") || perf_error(10))
				_exit(1);
			if (i)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		EXPECT_EQ(0, child_status(pid));
		EXPECT_EQ(0, perf_error(10));
		ASSERT_EQ(0, set_revoked("0"));
	}
}

/* poll() for an overflow returns: no overflow will come. */
TEST_F(revoke, poll)
{
	struct set *set = &self->set;
	struct poller poller;

	ASSERT_EQ(0, set_open(set, three));
	EXPECT_EQ(0, poll_now(set->fd));
	ASSERT_EQ(0, start_poller(&poller, set->fd));
	ASSERT_EQ(0, set_revoked("1"));
	EXPECT_EQ(POLLERR, end_poller(&poller));
	ASSERT_EQ(0, set_revoked("0"));
	EXPECT_EQ(POLLERR, poll_now(set->fd));
	EXPECT_EQ(0, wrong_again(set));
	EXPECT_EQ(0, poll_now(set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(POLLHUP, poll_now(set->fd));
}

/* When no set has the PMU. */
TEST_F(revoke, nobody)
{
	struct set *set = &self->set;

	ASSERT_EQ(0, set_revoked("1"));
	ASSERT_EQ(0, set_revoked("1"));
	EXPECT_EQ(1, revoked());
	set->page = MAP_FAILED;
	set->fd = vpmc_open();
	ASSERT_LE(0, set->fd);
	EXPECT_EQ(-EBUSY, set_program(set, three));
	EXPECT_EQ(VPMC_REASON_REVOKED, set->control.reason);
	EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(set->fd));
	/* Run time needs no PMU. */
	EXPECT_EQ(0, set_program(set, none));
	EXPECT_EQ(0, set_measure(set, code_loop, 1000, 0));
	/* Errors in the request do not depend on the holder either. */
	EXPECT_EQ(-EINVAL, set_program(set, (struct choice[]){ { 0xc0, 0 }, {} }));
	EXPECT_EQ(VPMC_REASON_NO_MODE, set->control.reason);
	ASSERT_EQ(0, set_revoked("0"));
	ASSERT_EQ(0, set_revoked("0"));
	EXPECT_EQ(0, wrong_again(set));
}

TEST_F(revoke, bad_values)
{
	static const char *const bad[] = {
		"2", "-1", "x", "4294967296", "4294967297", "1x",
	};
	int i;

	ASSERT_EQ(0, set_open(&self->set, three));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_EQ(-EINVAL, set_revoked(bad[i])) {
			TH_LOG("%s", bad[i]);
		}
		EXPECT_EQ(0, revoked());
	}
	EXPECT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* The write needs root's capabilities; being the file's owner is not enough. */
TEST_F(revoke, unprivileged)
{
	int fd = open(REVOKE_FILE, O_WRONLY);
	pid_t pid;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_open(&self->set, three));
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		if (set_revoked("1") != -EACCES)
			_exit(2);
		if (write(fd, "1", 1) != -1 || errno != EPERM)
			_exit(3);
		/* Root in another user namespace may not. */
		if (unshare(CLONE_NEWUSER) || write(fd, "1", 1) != -1 ||
		    errno != EPERM)
			_exit(4);
		_exit(revoked());
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, revoked());
	EXPECT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

NEEDS(
	{ "revoke.bad_values", PMU | OR_EMPTY | DISTURBS | ROOT },
	{ "revoke.unprivileged", PMU | OR_EMPTY | DISTURBS | ROOT },
	{ "revoke.asleep", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "revoke.descriptor", PMU | DISTURBS | ROOT },
	{ "revoke.nobody", PMU | DISTURBS | ROOT },
	{ "revoke.poll", PMU | DISTURBS | ROOT },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
