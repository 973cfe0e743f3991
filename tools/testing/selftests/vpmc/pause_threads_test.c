// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters is "yield": threads that run, sleep, read their page or
 * hold the lock of their set when perf pauses it. Where they are then, and who
 * runs beside them, makes no difference to the sums.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/utsname.h>
#include "pause.h"
#include "rdpmc.h"
#include "runner.h"

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

static bool is_preempt_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
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
		ASSERT_EQ(0, close(self->perf));
		self->perf = -1;
		/*
		 * close() waits for RCU. There that waits for the reader, if that
		 * has lost the CPU in one of the kernel's many RCU sections.
		 */
		if (is_preempt_rt())
			clock_gettime(CLOCK_MONOTONIC, &from);
		ASSERT_EQ(0, wait_for_pmu(self->set.fd));
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

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS | FIFO },
);

TEST_HARNESS_MAIN
