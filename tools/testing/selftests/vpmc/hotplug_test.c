// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that go offline and come online while counters run, and while perf and
 * sets take the PMU in turn.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"
#include "perf.h"
#include "runner.h"

static const struct choice mine[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 3 }, {}
};

/* Leaves counters running on CPU 1, and may continue on any CPU. */
static const struct runner sleeper = {
	.kind = WAITS, .cpu = 1, .choice = mine, .moves = true,
};

static int set_online(const char *value)
{
	return set_cpu_online(1, value);
}

FIXTURE(hotplug)
{
	struct set set;
	uint32_t *turns;	/* shared: how often the CPU went and came */
};

FIXTURE_SETUP(hotplug)
{
	self->turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->turns);
	count_all_interrupts();
	ASSERT_EQ(0, wait_for_fine_timers());
	self->set.fd = -1;
}

FIXTURE_TEARDOWN(hotplug)
{
	set_close(&self->set);
	EXPECT_EQ(0, set_online("1"));
}

static pid_t start_plugger(volatile uint32_t *turns)
{
	static const struct timespec ts = { .tv_nsec = 2000000 };
	pid_t pid = disturber();

	if (pid)
		return pid;
	if (pin(0))
		_exit(1);
	for (;;) {
		if (set_online("0"))
			_exit(2);
		nanosleep(&ts, NULL);
		if (set_online("1"))
			_exit(3);
		++*turns;
		nanosleep(&ts, NULL);
	}
}

/* Four threads on whatever CPUs there are, until one has come ten times. */
TEST_F(hotplug, threads)
{
	volatile uint32_t *turns = self->turns;
	pid_t pid = start_plugger(turns);
	struct runner runner[4];
	int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < 4; i++) {
		runner[i] = (struct runner){
			.kind = RUNS, .cpu = -1, .choice = mine,
		};
		ASSERT_EQ(0, runner_start(&runner[i]));
	}
	for (i = 0; i < 1000 * test_slowness() && *turns < 10; i++)
		usleep(10000);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, runner_finish(&runner[i]));
	EXPECT_EQ(0, stop_disturber(pid));
	EXPECT_LE(10, *turns);
}

/* A CPU was offline when the PMU was taken. Sets count there afterwards. */
TEST_F(hotplug, taken_while_away)
{
	int i;

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_online("0"));
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	ASSERT_EQ(0, set_online("1"));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pin(!(i & 1)));
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	}
}

/*
 * A CPU was offline when the PMU was given back. perf counts there afterwards.
 */
TEST_F(hotplug, given_back_while_away)
{
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_online("0"));
	set_close(&self->set);
	self->set.fd = -1;
	self->set.page = NULL;
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, set_online("1"));
	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, set_open(&self->set, mine));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* The owner is on the CPU that goes: it finds itself on another one. */
TEST_F(hotplug, running_on_it)
{
	struct code_count sum = CODE_COUNT(0, 0);
	struct vpmc_read read = {};
	cpu_set_t all;
	int i;

	CPU_ZERO(&all);
	CPU_SET(0, &all);
	CPU_SET(1, &all);
	ASSERT_EQ(0, set_open(&self->set, mine));
	/*
	 * Sometimes the CPU goes offline only after all is counted. So this is
	 * repeated until the thread has migrated.
	 */
	for (i = 0; i < 10 || (!read.migrations && i < 100); i++) {
		pid_t pid;

		ASSERT_EQ(0, pin(1));
		ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
		pid = start_plugger(self->turns);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 5000000, 0));
		ASSERT_EQ(0, stop_disturber(pid));
		ASSERT_EQ(0, set_online("1"));
		sum = code_add(sum, code_add(CODE_MEASURE, CODE_LOOP(5000000)));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		EXPECT_EQ(0, wrong_sums(&self->set, &read, sum));
	}
	EXPECT_LE(1, read.migrations);
}

/*
 * Threads in every state, on a CPU that goes and comes: bound to it, in which
 * case the kernel breaks the bond, and not. Those that sleep left counters
 * running on the idle CPU; some wake while it is away, some when it is back.
 */
TEST_F(hotplug, every_state)
{
	struct runner runner[] = {
		{ .kind = RUNS, .cpu = 1, .choice = mine },
		{ .kind = RUNS, .cpu = 1, .choice = mine, .moves = true },
		{ .kind = RUNS, .cpu = 0, .choice = mine },
		{ .kind = WAITS, .cpu = 1, .choice = mine, .moves = true },
		{ .kind = WAITS, .cpu = 1, .choice = mine },
		{ .kind = STANDS, .cpu = 1, .choice = mine, .moves = true },
	};
	const int n = sizeof(runner) / sizeof(*runner);
	int i, turn;

	for (turn = 0; turn < 6; turn++) {
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, runner_start(&runner[i]));
		ASSERT_EQ(0, set_online("0"));
		runner_wait_turns(&runner[0], 10000);
		if (turn & 1)
			EXPECT_EQ(0, runner_finish(&runner[3]));
		ASSERT_EQ(0, set_online("1"));
		runner_wait_turns(&runner[1], 10000);
		for (i = 0; i < n; i++)
			if (i != 3 || !(turn & 1))
				EXPECT_EQ(0, runner_finish(&runner[i]));
	}
}

/*
 * The idle CPU goes with counters that a thread left running there, and comes
 * back before that thread does. What the thread remembers of the CPU is then out
 * of date.
 */
TEST_F(hotplug, back_before_its_thread)
{
	struct runner runner = sleeper;
	int turn;

	for (turn = 0; turn < 3; turn++) {
		ASSERT_EQ(0, pin(0));
		ASSERT_EQ(0, runner_start(&runner));
		ASSERT_EQ(0, set_online("0"));
		ASSERT_EQ(0, set_online("1"));
		EXPECT_EQ(0, runner_finish(&runner));
	}
}

/* Counters that run for no set, in a thread that has none. */
static void *keep(void *arg)
{
	volatile uint32_t *go = arg;

	if (pin(1))
		return (void *)1L;
	while (*go)
		code_loop(1000, 0);
	return NULL;
}

TEST_F(hotplug, kept_by_another_thread)
{
	struct runner runner = sleeper;
	volatile uint32_t go = 1;
	pthread_t keeper;
	void *failed;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pthread_create(&keeper, NULL, keep, (void *)&go));
	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, set_online("0"));
	ASSERT_EQ(0, set_online("1"));
	EXPECT_EQ(0, runner_finish(&runner));
	go = 0;
	ASSERT_EQ(0, pthread_join(keeper, &failed));
	EXPECT_EQ(NULL, failed);
}

/* Every CPU but the first, in turn and in both orders. */
TEST_F(hotplug, all_cpus)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF), cpu, i, n, turn;
	struct runner runner[16];

	ASSERT_LE(2 * cpus, 16);
	for (i = n = 0; i < 2 * cpus; i++)
		runner[n++] = (struct runner){
			.kind = i & 1 ? WAITS : RUNS, .cpu = i / 2,
			.choice = mine, .moves = true,
		};
	for (turn = 0; turn < 3; turn++) {
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, runner_start(&runner[i]));
		for (cpu = 1; cpu < cpus; cpu++)
			ASSERT_EQ(0, set_cpu_online(cpu, "0"));
		runner_wait_turns(&runner[2], 1000);
		for (i = 0; turn == 1 && i < n; i++)
			EXPECT_EQ(0, runner_finish(&runner[i]));
		for (cpu = 1; cpu < cpus; cpu++)
			ASSERT_EQ(0, set_cpu_online(turn ? cpus - cpu : cpu, "1"));
		for (i = 0; turn != 1 && i < n; i++)
			EXPECT_EQ(0, runner_finish(&runner[i]));
	}
	for (cpu = 0; cpu < cpus; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(1000));
	}
}

NEEDS(
	{ "hotplug.taken_while_away", TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
	{ "hotplug.given_back_while_away", TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
	{ "hotplug.all_cpus", TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
	{ "*", VPMC | DISTURBS | ROOT | TWO_CPUS },
);

TEST_HARNESS_MAIN
