// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters is "yield": sets are paused while perf has an event, and
 * go on afterwards. Sums are exact all the time, and so is perf.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"
#include "disturb.h"
#include "global.h"
#include "inherit.h"
#include "poller.h"
#include "rdpmc.h"
#include "runner.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

enum { INSNS, BRANCHES, NR };

/* On any counters: some PMUs have no fixed one. */
static const struct choice pair[NR + 1] = {
	[INSNS]		= { EV_INSNS, VPMC_ANY },
	[BRANCHES]	= { EV_BRANCHES, VPMC_ANY },
};

/* A loop between START and STOP. */
static struct code_count measured(long n)
{
	return code_add(CODE_MEASURE, CODE_LOOP(n));
}

static uint32_t state_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0U : read.state;
}

/* Waits until vpmc has the PMU again, and each CPU has been told. */
static int wait_for_pmu(int fd)
{
	const struct timespec ts = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < 10000; i++) {
		if (pmu_holder(fd) == VPMC_HOLDER_VPMC)
			return 0;
		nanosleep(&ts, NULL);
	}
	return -1;
}

FIXTURE(pause)
{
	struct set set;
	int perf;
	int software;
	char before[48];
};

FIXTURE_SETUP(pause)
{
	self->set.fd = -1;
	self->perf = -1;
	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, kept_counters(self->before, sizeof(self->before)));
	ASSERT_EQ(0, keep_counters("yield"));
	/* With its first event perf waits for RCU, and so for all CPUs. */
	self->software = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY,
				   PERF_USER, -1);
	ASSERT_LE(0, self->software);
	ASSERT_EQ(0, set_open(&self->set, pair));
}

FIXTURE_TEARDOWN(pause)
{
	set_close(&self->set);
	if (self->perf >= 0)
		close(self->perf);
	close(self->software);
	EXPECT_EQ(0, keep_counters(self->before));
}

/* perf opens an event, and counts exactly. */
static int perf_begin(int *perf)
{
	*perf = perf_open_insns();
	return *perf < 0 ? *perf : 0;
}

static int perf_end(int *perf, int fd)
{
	close(*perf);
	*perf = -1;
	return wait_for_pmu(fd);
}

/* perf has an event and counts @n turns; nothing moves in the set meanwhile. */
static int wrong_while_paused(struct set *set, int perf, long n)
{
	struct vpmc_read before, after;
	uint64_t count[NR], ticks;
	__u64 from, to;

	if (vpmc_read(set->fd, &before) || perf_read(perf, 1, &from) ||
	    code_measure(perf, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
			 code_loop, n, 0) ||
	    perf_read(perf, 1, &to) || vpmc_read(set->fd, &after))
		return -1;
	vpmc_read_n(set->page, NR, count, &ticks);
	return (to - from != measured(n).insns) +
	       !!memcmp(&before, &after, sizeof(before)) +
	       !!memcmp(count, after.sum, sizeof(count)) +
	       (ticks != after.ticks);
}

/* Before, during and after; stopped whenever perf comes or goes. */
TEST_F(pause, stopped)
{
	struct set *set = &self->set;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 100000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 12345));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 2000, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums(set, &read, code_add(measured(1000),
						     measured(2000))));
}

/* It runs all the time. What it does in between is counted, too. */
TEST_F(pause, running)
{
	struct set *set = &self->set;
	uint64_t generation, count[NR];
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	generation = set->page->generation;
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	EXPECT_NE(generation, set->page->generation);
	EXPECT_EQ(VPMC_STATE_PAUSED, state_of(set->fd));
	EXPECT_LT(0, set->page->slot[INSNS].base);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	generation = set->page->generation;
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(VPMC_STATE_RUNNING, set->page->state);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(set->fd));
	EXPECT_NE(generation, set->page->generation);
	vpmc_read_n(set->page, NR, count, NULL);
	EXPECT_LT(read.sum[INSNS], count[INSNS]);
	EXPECT_EQ(0, set_clear(set));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/*
 * Runs until it is paused from another CPU, which is seen at one of three points
 * of the last turn but one.
 */
static int run_until_paused(struct runner *runner)
{
	struct set *set = &runner->set;
	struct code_count want, then;
	struct vpmc_read read;
	uint64_t m;

	set_measure(set, code_until, (long)&set->page->state,
		    (long)&runner->turns);
	m = runner->turns;
	if (vpmc_read(set->fd, &read) || read.state != VPMC_STATE_STOPPED)
		return 10;
	want = CODE_COUNT(3 * m - 4, m - 2);
	if (read.sum[INSNS] > CODE_MEASURE_HEAD.insns + want.insns)
		want = CODE_COUNT(3 * m - 3, m - 1);
	if (read.sum[INSNS] > CODE_MEASURE_HEAD.insns + want.insns)
		want = CODE_COUNT(3 * m - 2, m - 1);
	want = code_add(want, CODE_MEASURE_HEAD);
	if (wrong_sums(set, &read, want))
		return 11;
	if (wait_for_pmu(set->fd) || set_measure(set, code_loop, 1000, 0) ||
	    vpmc_read(set->fd, &read))
		return 12;
	then = measured(1000);
	return wrong_sums(set, &read, code_add(want, then));
}

TEST_F(pause, from_another_cpu)
{
	struct runner runner[2];
	int turn, i;

	ASSERT_EQ(0, pin(0));
	for (turn = 0; turn < 5; turn++) {
		for (i = 0; i < 2; i++) {
			runner[i] = (struct runner){
				.kind = RUNS, .cpu = i, .choice = pair,
				.body = run_until_paused,
			};
			ASSERT_EQ(0, runner_start(&runner[i]));
		}
		runner_wait_turns(&runner[1], 1000 + turn);
		ASSERT_EQ(0, perf_begin(&self->perf));
		EXPECT_EQ(0, wrong_while_paused(&self->set, self->perf, 1000));
		ASSERT_EQ(0, close(self->perf));
		self->perf = -1;
		for (i = 0; i < 2; i++)
			EXPECT_EQ(0, runner_finish(&runner[i]));
	}
}

/* Spins until the page shows a state, at most a fifth of a second. */
static int spin_until(const struct set *set, uint32_t state)
{
	const volatile __u32 *now = &set->page->state;
	uint64_t end = vpmc_rdtsc() + machine.tsc_khz * 200ULL * test_slowness();

	while (*now != state)
		if (vpmc_rdtsc() > end)
			return -1;
	return 0;
}

/* It never leaves the CPU, and no other thread gets it. */
static int spin_on(struct runner *runner)
{
	struct set *set = &runner->set;
	int wrong;

	if (set_fifo(10) || vpmc_ioctl(set->fd, VPMC_IOC_START, 0))
		return 1;
	runner->turns = 1;
	wrong = spin_until(set, VPMC_STATE_PAUSED) ? 2 : 0;
	runner->turns = 2;
	wrong = wrong ?: spin_until(set, VPMC_STATE_RUNNING) ? 3 : 0;
	return wrong ?: vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ||
	       set_clear(set) || set_measure(set, code_loop, 1000, 0) ||
	       wrong_after(set, CODE_LOOP(1000));
}

TEST_F(pause, never_switched)
{
	struct runner runner = {
		.kind = RUNS, .cpu = 1, .choice = pair, .body = spin_on,
	};

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, perf_begin(&self->perf));
	while (runner.turns < 2 && !runner.wrong)
		sched_yield();
	ASSERT_EQ(0, perf_end(&self->perf, self->set.fd));
	EXPECT_EQ(0, runner_finish(&runner));
}

/* It sleeps while perf comes and goes, and loses nothing. */
TEST_F(pause, asleep)
{
	struct runner runner = {
		.kind = WAITS, .cpu = 1, .choice = pair,
	};

	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(0, wrong_while_paused(&self->set, self->perf, 1000));
	ASSERT_EQ(0, perf_end(&self->perf, self->set.fd));
	ASSERT_EQ(1, write(runner.pipe[1], "", 1));
	EXPECT_EQ(0, runner_finish(&runner));
}

/*
 * Its page shows the state as soon as the thread runs: paused, and then running,
 * although the CPU has its selection loaded for another thread by then.
 */
static int wakes_twice(struct runner *runner)
{
	struct set *set = &runner->set;
	char byte;

	if (vpmc_ioctl(set->fd, VPMC_IOC_START, 0) ||
	    read(runner->pipe[0], &byte, 1) != 1)
		return 1;
	if (set->page->state != VPMC_STATE_PAUSED)
		return 2;
	runner->turns = 1;
	if (read(runner->pipe[0], &byte, 1) != 1)
		return 3;
	if (set->page->state != VPMC_STATE_RUNNING)
		return 4;
	return vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) || set_clear(set) ||
	       set_measure(set, code_loop, 1000, 0) ||
	       wrong_after(set, CODE_LOOP(1000));
}

TEST_F(pause, wakes_among_running_sets)
{
	struct runner runner = {
		.kind = WAITS, .cpu = 0, .choice = pair, .body = wakes_twice,
	};
	struct set *set = &self->set;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(1, write(runner.pipe[1], "", 1));
	while (!runner.turns || task_state(runner.tid) != 'S')
		usleep(100);
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(1, write(runner.pipe[1], "", 1));
	EXPECT_EQ(0, runner_finish(&runner));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
}

/* All requests that can be made meanwhile. */
TEST_F(pause, requests)
{
	struct set *set = &self->set;
	struct vpmc_control control;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_RESUME, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, set->page->state);
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));

	/* A new set is refused, and nothing changes. */
	control = set->control;
	EXPECT_EQ(-EBUSY, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, control.reason);
	EXPECT_EQ(NR, control.bad_counter);
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(VPMC_STATE_PAUSED, read.state);
	EXPECT_EQ(0, read.sum[INSNS] | read.sum[BRANCHES] | read.ticks);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 500, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(500)));

	/* perf keeps the PMU when the last set is gone. */
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(500)));
	set_close(set);
	EXPECT_EQ(-EBUSY, set_open(set, pair));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, set->control.reason);
	ASSERT_EQ(0, close(self->perf));
	self->perf = -1;
	ASSERT_EQ(0, set_program(set, pair));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* The run time stands, too, when the thread leaves the CPU and comes back. */
TEST_F(pause, time_stands)
{
	const struct timespec ts = short_sleep(100000);
	struct set *set = &self->set;
	uint64_t switches, ticks;
	struct vpmc_read read;
	int i;

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	code_loop(1000, 0);
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	ticks = read.ticks;
	switches = read.switches;
	EXPECT_LT(CODE_LOOP(1000).insns, ticks);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, nanosleep(&ts, NULL));
		EXPECT_EQ(ticks, vpmc_read_ticks(set->page));
		ASSERT_EQ(0, pin(i & 1));
	}
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(ticks, read.ticks);
	EXPECT_LE(switches + 10, read.switches);
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_LT(ticks, read.ticks);
	/* Far less than it would be with one error of the TSC's size. */
	EXPECT_GT(ticks + 1000000000ULL, read.ticks);
}

static void *poll_for_pause(void *arg)
{
	struct poller *poller = arg;
	struct pollfd p = { .fd = poller->fd, .events = POLLPRI };

	poller->tid = my_tid();
	poller->n = poll(&p, 1, -1);
	poller->revents = p.revents;
	return NULL;
}

TEST_F(pause, poll)
{
	struct set *set = &self->set;
	struct pollfd p = { .fd = set->fd, .events = POLLPRI };
	struct poller poller = { .fd = set->fd };

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, pthread_create(&poller.thread, NULL, poll_for_pause,
				    &poller));
	while (!poller.tid || task_state(poller.tid) != 'S')
		usleep(100);
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(POLLPRI, end_poller(&poller));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLPRI, p.revents);
	EXPECT_EQ(0, poll_now(set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(0, poll(&p, 1, 0));
}

/* Reads without end. Counts never go back, and a pause does not kill it. */
static void *read_on(void *arg)
{
	struct runner *runner = arg;
	struct set *set = &runner->set;
	uint64_t last[NR] = {}, count[NR];
	int i;

	runner->wrong = pin(runner->cpu) || set_open(set, pair) ||
			vpmc_ioctl(set->fd, VPMC_IOC_START, 0);
	runner->tid = my_tid();
	while (runner->go && !runner->wrong) {
		vpmc_read_n(set->page, NR, count, NULL);
		for (i = 0; i < NR; i++)
			if (count[i] < last[i])
				runner->wrong = 2;
		memcpy(last, count, sizeof(last));
		runner->turns++;
	}
	set_close(set);
	return NULL;
}

TEST_F(pause, in_the_read_loop)
{
	struct runner reader[2] = { { .cpu = 0, .go = 1 }, { .cpu = 1, .go = 1 } };
	const int turns = test_times(200);
	struct timespec ts = {};
	int i, turn;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&reader[i].thread, NULL, read_on,
					    &reader[i]));
		while (!reader[i].tid)
			sched_yield();
	}
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	for (turn = 0; turn < turns; turn++) {
		ASSERT_EQ(0, perf_begin(&self->perf));
		EXPECT_EQ(0, wrong_while_paused(&self->set, self->perf, 10));
		ASSERT_EQ(0, perf_end(&self->perf, self->set.fd));
		ts.tv_nsec = 30000 + 7 * turn;
		nanosleep(&ts, NULL);
	}
	for (i = 0; i < 2; i++) {
		reader[i].go = 0;
		ASSERT_EQ(0, pthread_join(reader[i].thread, NULL));
		EXPECT_EQ(0, reader[i].wrong);
		EXPECT_LE(turns, reader[i].turns);
	}
}

/* The permission to use RDPMC goes, and comes back. */
TEST_F(pause, rdpmc)
{
	struct set *set = &self->set;
	uint32_t index = set->page->slot[INSNS].index;
	uint32_t low = ~0U, high = ~0U;

	ASSERT_EQ(0, silence_faults());
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_NE(0, vpmc_rdpmc(index));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_ENABLE, 0));
	asm volatile("rdpmc" : "+a" (low), "+d" (high) : "c" (index));
	EXPECT_EQ(0, low);
	EXPECT_EQ(0, high);

	/* A page that is mapped now gets no permission either. */
	ASSERT_EQ(0, munmap(set->page, PAGE));
	EXPECT_FALSE(may_rdpmc(index));
	set->page = vpmc_map(set->fd);
	ASSERT_NE(MAP_FAILED, set->page);
	EXPECT_EQ(0, vpmc_rdpmc(index));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_NE(0, vpmc_rdpmc(index));
	ASSERT_EQ(0, munmap(set->page, PAGE));
	EXPECT_FALSE(may_rdpmc(index));
	set->page = vpmc_map(set->fd);
	ASSERT_NE(MAP_FAILED, set->page);
	EXPECT_TRUE(may_rdpmc(index));
}

#define ALL	(VPMC_READ_LIVING | VPMC_READ_FINISHED)

/* Counts by the set that it has inherited, between two pipes. */
static void heir(struct child *c)
{
	struct set set = { .fd = vpmc_open() };

	control_of(&set.control, pair, 0);
	if (set.fd < 0 || set_measure(&set, code_loop, 1000, 0) ||
	    child_send(c) || child_wait(c))
		_exit(1);
	_exit(set_measure(&set, code_loop, 3000, 0) || child_send(c));
}

/* One is born before, one while perf has the PMU and ends then. */
TEST_F(pause, inherited)
{
	struct set *set = &self->set;
	struct child child[2] = {};
	struct code_count want = {};
	struct vpmc_read read;
	int i;

	control_of(&set->control, pair, VPMC_CONTROL_STOPPED |
		   VPMC_CONTROL_INHERIT_PROCESSES);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control));
	for (i = 0; i < 2; i++) {
		if (i)
			ASSERT_EQ(0, perf_begin(&self->perf));
		if (!child_fork(&child[i]))
			heir(&child[i]);
		ASSERT_LT(0, child[i].pid);
		ASSERT_EQ(0, child_wait(&child[i]));
	}
	/* Only the first one's first loop has been counted. */
	want = measured(1000);
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(2, read.living);
	EXPECT_EQ(0, wrong_sums(set, &read, want));
	ASSERT_EQ(0, child_send(&child[1]));
	ASSERT_EQ(0, child_wait(&child[1]));
	EXPECT_EQ(0, child_end(&child[1]));
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(1, read.living);
	EXPECT_EQ(1, read.finished);
	EXPECT_EQ(0, wrong_sums(set, &read, want));

	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, child_send(&child[0]));
	ASSERT_EQ(0, child_wait(&child[0]));
	EXPECT_EQ(0, child_end(&child[0]));
	want = code_add(want, measured(3000));
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(2, read.finished);
	EXPECT_EQ(0, read.lost);
	EXPECT_EQ(0, wrong_sums(set, &read, want));
}

/* The administrator's word also ends paused sets. */
TEST_F(pause, revoked)
{
	struct set *set = &self->set;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_EQ(VPMC_STATE_REVOKED, set->page->state);
	EXPECT_EQ(VPMC_STATE_REVOKED, state_of(set->fd));
	EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(set->fd));
	EXPECT_EQ(read.sum[INSNS], set->page->slot[INSNS].base);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	ASSERT_EQ(0, close(self->perf));
	self->perf = -1;
	usleep(100000);
	EXPECT_EQ(VPMC_STATE_REVOKED, state_of(set->fd));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
	ASSERT_EQ(0, set_program(set, pair));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* As many periods pass as the sums say. */
TEST_F(pause, periods)
{
	struct set *set = &self->set;
	struct vpmc_read read;
	int i;

	ASSERT_EQ(0, set_rate(INT_MAX));
	control_init(&set->control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	control_add_period(&set->control, EV_INSNS, VPMC_ANY, 1000);
	ASSERT_EQ(0, set_control(set));
	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, set_measure(set, code_loop, 9999, 0));
		ASSERT_EQ(0, perf_begin(&self->perf));
		ASSERT_EQ(0, set_measure(set, code_loop, 7777, 0));
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
		EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
		ASSERT_EQ(0, perf_end(&self->perf, set->fd));
		ASSERT_EQ(0, vpmc_read(set->fd, &read));
		EXPECT_EQ(i * measured(9999).insns, read.sum[0]);
		EXPECT_EQ(read.sum[0] / 1000, set->page->overflows);
	}
}

/* perf comes and goes. Every other piece of the loop is counted. */
TEST_F(pause, again_and_again)
{
	const int turns = test_times(1000);
	struct set *set = &self->set;
	struct code_count want = {};
	struct vpmc_read read;
	int i;

	for (i = 1; i <= turns; i++) {
		ASSERT_EQ(0, set_measure(set, code_loop, i, 0));
		want = code_add(want, measured(i));
		ASSERT_EQ(0, perf_begin(&self->perf));
		ASSERT_EQ(0, set_measure(set, code_loop, 2 * i, 0));
		ASSERT_EQ(0, wrong_while_paused(set, self->perf, i));
		ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	}
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums(set, &read, want));
}

/* Reads its set all the time, by system calls, if it gets CPU time. */
static void *read_idly(void *arg)
{
	const struct sched_param param = {};
	struct runner *runner = arg;
	struct set *set = &runner->set;
	struct vpmc_read read;

	runner->wrong = pin(runner->cpu) || set_open(set, pair) ||
			vpmc_ioctl(set->fd, VPMC_IOC_START, 0) ||
			sched_setscheduler(0, SCHED_IDLE, &param);
	runner->tid = my_tid();
	while (runner->go && !runner->wrong) {
		runner->wrong = vpmc_read(set->fd, &read);
		runner->turns++;
	}
	set_close(set);
	return NULL;
}

/* A user that holds the lock of its set and gets no CPU time does not delay perf. */
TEST_F(pause, not_held_up)
{
	const uint64_t bound = 20000000ULL * test_slowness();
	struct runner reader = { .cpu = 1, .go = 1 };
	struct timespec from, to;
	int i;

	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, read_idly, &reader));
	while (!reader.tid)
		usleep(100);
	ASSERT_EQ(0, pin(0));
	for (i = 0; i < 20; i++) {
		pid_t hog;

		runner_wait_turns(&reader, 1);
		usleep(100 + 7 * i);
		hog = disturber();
		if (!hog) {
			if (pin(1) || set_fifo(10))
				_exit(1);
			for (;;)
				code_loop(1000000, 0);
		}
		ASSERT_LT(0, hog);
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &from);
		ASSERT_EQ(0, perf_begin(&self->perf));
		clock_gettime(CLOCK_MONOTONIC, &to);
		EXPECT_GT(bound, (to.tv_sec - from.tv_sec) * 1000000000ULL +
				 to.tv_nsec - from.tv_nsec);
		EXPECT_EQ(0, wrong_while_paused(&self->set, self->perf, 1000));
		clock_gettime(CLOCK_MONOTONIC, &from);
		ASSERT_EQ(0, perf_end(&self->perf, self->set.fd));
		clock_gettime(CLOCK_MONOTONIC, &to);
		EXPECT_GT(2 * bound,
			  (to.tv_sec - from.tv_sec) * 1000000000ULL +
			  to.tv_nsec - from.tv_nsec);
		EXPECT_EQ(0, stop_disturber(hog));
	}
	reader.go = 0;
	ASSERT_EQ(0, pthread_join(reader.thread, NULL));
	EXPECT_EQ(0, reader.wrong);
}

/* The watchdog is a user of perf. With "all" it would stay out. */
TEST_F(pause, by_the_watchdog)
{
	struct set *set = &self->set;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/nmi_watchdog", "1"));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	EXPECT_EQ(VPMC_HOLDER_WATCHDOG, pmu_holder(set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/nmi_watchdog", "0"));
	ASSERT_EQ(0, wait_for_pmu(set->fd));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* The administrator's choice: a word, and not while there are sets. */
TEST_F(pause, sysctl)
{
	static const char *const bad[] = {
		"yields", "yield 1", "yield,", "yield all", "Yield",
	};
	struct set *set = &self->set;
	char text[48];
	int i;

	ASSERT_EQ(0, kept_counters(text, sizeof(text)));
	EXPECT_STREQ("yield\n", text);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, keep_counters(bad[i]));
	EXPECT_EQ(-EBUSY, keep_counters("all"));
	EXPECT_EQ(-EBUSY, keep_counters("yield"));
	/* Sets have the PMU although they are paused. */
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(-EBUSY, keep_counters("all"));
	set_close(set);
	set->fd = -1;
	set->page = NULL;
	ASSERT_EQ(0, keep_counters("all"));
	ASSERT_EQ(0, close(self->perf));
	self->perf = -1;
	ASSERT_EQ(0, set_open(set, pair));
	EXPECT_EQ(-EBUSY, perf_open_insns());
}

/* The counters of CPUs are not paused. */
TEST_F(pause, counters_of_cpus)
{
	int fd;

	set_close(&self->set);
	self->set.fd = -1;
	self->set.page = NULL;
	fd = global_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, global_program(fd, VPMC_ALL_CPUS, pair));
	ASSERT_EQ(0, global_start(fd));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	ASSERT_EQ(0, close(fd));
	EXPECT_EQ(0, perf_error(1000));
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS | FIFO },
);

TEST_HARNESS_MAIN
