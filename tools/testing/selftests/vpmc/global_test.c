// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/perfctr: each CPU counts what runs there, to the instruction, and beside
 * nobody who could read it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"
#include "disturb.h"
#include "global.h"
#include "interrupts.h"
#include "perf.h"

/* The same twice: if values are not of one moment, these differ. */
static const struct choice kernel_twice[] = {
	{ EV_KERNEL_INSNS, 0 }, { EV_KERNEL_INSNS, 1 }, {}
};

static const struct choice none[] = { {} };

FIXTURE(cpus)
{
	int fd;
	struct vpmc_global_cpu cpu[GLOBAL_CPUS];
};

FIXTURE_SETUP(cpus)
{
	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, pin(0));
	/* Other work would be counted. Tests of inexact counts do not compare them. */
	ASSERT_EQ(0, counts_are_exact() ? wait_for_silence() : 0);
	self->fd = global_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(cpus)
{
	close(self->fd);
}

/* From START to STOP: the CPU that runs the loop, and no other one. */
TEST_F(cpus, loop_on_each_cpu)
{
	static const long turns[] = { 1, 1000, 100000 };
	int cpu, i, j, n = nr_cpus();

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	for (cpu = 0; cpu < n; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		for (i = 0; i < ARRAY_SIZE(turns); i++) {
			ASSERT_EQ(0, global_clear(self->fd));
			ASSERT_EQ(0, code_measure(self->fd, VPMC_IOC_G_START,
						  VPMC_IOC_G_STOP, code_loop,
						  turns[i], 0));
			ASSERT_EQ(n, global_read(self->fd, self->cpu));
			for (j = 0; j < n; j++) {
				EXPECT_EQ(j, self->cpu[j].cpu);
				EXPECT_EQ(VPMC_CPU_STOPPED, self->cpu[j].state);
				EXPECT_EQ(2, self->cpu[j].nr_counters);
				EXPECT_LT(0, self->cpu[j].ticks);
				EXPECT_EQ(0, wrong_cpu(&self->cpu[j], j == cpu ?
					code_add(CODE_MEASURE,
						 CODE_LOOP(turns[i])) :
					CODE_COUNT(0, 0)));
			}
		}
	}
}

/* While all count: the same constant for all CPUs and loops. */
TEST_F(cpus, read_while_counting)
{
	uint64_t constant;
	int cpu;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(self->fd));
	constant = global_sum_of_loop(self->fd, 0, 1) - 2;
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(constant, global_sum_of_loop(self->fd, cpu, 1) - 2);
		EXPECT_EQ(constant, global_sum_of_loop(self->fd, cpu, 77777) -
				    2 * 77777);
		EXPECT_EQ(VPMC_CPU_RUNNING, global_state(self->fd, cpu));
	}
}

/* Whatever runs: as many as the emulator itself has counted. */
TEST_F(cpus, sum_is_what_was_executed)
{
	uint64_t before[GLOBAL_CPUS];
	int cpu, n = nr_cpus();

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(self->fd));
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	for (cpu = 1; cpu < n; cpu++) {
		before[cpu] = user_total(cpu);
		ASSERT_NE(~0ULL, before[cpu]);
		before[cpu] -= self->cpu[cpu].sum[0];
	}
	ASSERT_EQ(0, loops_on_others(n, 10000));
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	for (cpu = 1; cpu < n; cpu++) {
		EXPECT_LE(2 * 10000 * cpu, self->cpu[cpu].sum[0]);
		EXPECT_EQ(before[cpu] + self->cpu[cpu].sum[0], user_total(cpu));
	}
}

/* Bits that a write of a counter reaches. */
static unsigned int written_bits(void)
{
	return machine.features & VPMC_FEATURE_FULL_WIDTH || machine.width < 32 ?
	       machine.width : 32;
}

/* How often a counter crosses the boundary in a test. */
static long crossings(void)
{
	return written_bits() <= 24 ? 4 : written_bits() <= 32;
}

/* A counter is 2^(bits - 1) from its start to the boundary. A wide one gets to none. */
static long crossing_turns(void)
{
	uint64_t insns = crossings() ? crossings() << (written_bits() - 1) : 40000000;

	return (insns + (1 << 20)) / 16;
}

/* Further than a narrow counter counts, on all CPUs. */
TEST_F(cpus, wraps)
{
	const long turns = crossing_turns();
	int cpu, n = nr_cpus();
	long before;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, pin(1));
	before = vpmc_interrupts(1);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, code_measure(self->fd, VPMC_IOC_G_START, VPMC_IOC_G_STOP,
				  code_long_loop, turns, 0));
	EXPECT_EQ(crossings(), vpmc_interrupts(1) - before);
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	for (cpu = 0; cpu < n; cpu++)
		EXPECT_EQ(0, wrong_cpu(&self->cpu[cpu], cpu != 1 ?
				       CODE_COUNT(0, 0) :
				       code_add(CODE_MEASURE,
						CODE_LONG_LOOP(turns))));
}

/* The same in both modes, where counters are stopped to be written. */
TEST_F(cpus, wraps_kernel)
{
	/*
	 * Without a global register, counters start one after the other, and stop
	 * so. How many instructions of the kernel are in between is the compiler's
	 * choice.
	 */
	const uint64_t apart =
		machine.features & VPMC_FEATURE_GLOBAL_CTRL ? 0 : 32;
	const long turns = crossing_turns();
	int cpu, n = nr_cpus();
	long before;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, kernel_twice));
	ASSERT_EQ(0, pin(1));
	before = vpmc_interrupts(1);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, code_measure(self->fd, VPMC_IOC_G_START, VPMC_IOC_G_STOP,
				  code_long_loop, turns, 0));
	EXPECT_LE(crossings(), vpmc_interrupts(1) - before);
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	EXPECT_LT(CODE_LONG_LOOP(turns).insns, self->cpu[1].sum[0]);
	for (cpu = 0; cpu < n; cpu++) {
		EXPECT_LE(self->cpu[cpu].sum[0], self->cpu[cpu].sum[1] + apart);
		EXPECT_LE(self->cpu[cpu].sum[1], self->cpu[cpu].sum[0] + apart);
	}
}

/* Also counters that go on in the kernel are read and cleared at one moment. */
TEST_F(cpus, one_moment)
{
	int cpu, i, n = nr_cpus();

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, kernel_twice));
	ASSERT_EQ(0, global_start(self->fd));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(n, global_read(self->fd, self->cpu));
		for (cpu = 0; cpu < n; cpu++)
			EXPECT_EQ(self->cpu[cpu].sum[0], self->cpu[cpu].sum[1]);
		if (i & 1)
			ASSERT_EQ(0, global_clear(self->fd));
		code_syscalls(100, 0);
	}
	EXPECT_LT(100 * 4, self->cpu[0].sum[0]);
	ASSERT_EQ(0, global_stop(self->fd));
}

/* So are those that the timer samples. */
TEST_F(cpus, one_moment_of_the_timer)
{
	struct vpmc_global_control control;
	int cpu, i, n = nr_cpus();

	global_init(&control, VPMC_ALL_CPUS, kernel_twice);
	control.interval_ms = 10;
	ASSERT_EQ(0, global_control(self->fd, &control));
	ASSERT_EQ(0, global_start(self->fd));
	for (i = 0; i < 10; i++) {
		usleep(15000);
		ASSERT_EQ(n, global_read(self->fd, self->cpu));
		for (cpu = 0; cpu < n; cpu++)
			EXPECT_EQ(self->cpu[cpu].sum[0], self->cpu[cpu].sum[1]);
	}
	EXPECT_LT(0, self->cpu[0].sum[0]);
	ASSERT_EQ(0, global_stop(self->fd));
}

/* CLEAR also clears what is in the counters. */
TEST_F(cpus, cleared_while_counting)
{
	const struct vpmc_global_cpu *cpu = &self->cpu[1];

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(0, loops_on_others(2, 1000));
	ASSERT_LE(2, global_read(self->fd, self->cpu));
	EXPECT_LE(2 * 1000, cpu->sum[0]);
	ASSERT_EQ(0, global_clear(self->fd));
	ASSERT_LE(2, global_read(self->fd, self->cpu));
	EXPECT_EQ(VPMC_CPU_RUNNING, cpu->state);
	EXPECT_EQ(0, wrong_cpu(cpu, CODE_COUNT(0, 0)));
}

/* Each CPU has its own set or none, and each is replaced alone. */
TEST_F(cpus, sets_of_their_own)
{
	static const struct choice branches[] = { { EV_BRANCHES, 0 }, {} };
	struct vpmc_global_control control;

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, global_program(self->fd, 0, two));
	ASSERT_EQ(0, global_program(self->fd, 1, branches));
	ASSERT_EQ(0, code_measure(self->fd, VPMC_IOC_G_START, VPMC_IOC_G_STOP,
				  code_loop, 1000, 0));
	ASSERT_LE(2, global_read(self->fd, self->cpu));
	EXPECT_EQ(1, self->cpu[1].nr_counters);
	EXPECT_EQ(code_add(CODE_MEASURE, CODE_LOOP(1000)).branches,
		  self->cpu[1].sum[0]);
	EXPECT_EQ(0, self->cpu[1].sum[1]);
	if (nr_cpus() > 2)
		EXPECT_EQ(VPMC_CPU_ABSENT, self->cpu[2].state);

	/* While it counts, nothing is replaced; the sums of others stay. */
	ASSERT_EQ(0, global_start(self->fd));
	global_init(&control, 0, two);
	EXPECT_EQ(-EBUSY, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_CPU_RUNNING, control.reason);
	EXPECT_EQ(-EBUSY, global_program(self->fd, VPMC_ALL_CPUS, none));
	ASSERT_EQ(0, global_stop(self->fd));
	ASSERT_EQ(0, global_program(self->fd, 0, none));
	EXPECT_EQ(VPMC_CPU_ABSENT, global_state(self->fd, 0));
	EXPECT_LT(0, global_sum(self->fd, 1, 0));
	EXPECT_EQ(VPMC_HOLDER_GLOBAL, pmu_holder(self->fd));
	ASSERT_EQ(0, global_program(self->fd, 1, none));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->fd));
	EXPECT_EQ(-ENODATA, global_start(self->fd));
}

/*
 * The kernel's own wake-ups of a sleeping CPU are such calls, too. They come at any
 * time and only add to ours: of some rounds each CPU's least number is ours.
 */
#define CALL_ROUNDS	10

struct calls {
	uint64_t before[GLOBAL_CPUS], least[GLOBAL_CPUS];
	int rounds;
};

static int calls_begin(struct calls *c)
{
	return interrupts_of_cpus("CAL", nr_cpus(), c->before);
}

static int calls_end(struct calls *c)
{
	uint64_t now[GLOBAL_CPUS];
	int cpu, err = interrupts_of_cpus("CAL", nr_cpus(), now);

	for (cpu = 0; cpu < nr_cpus(); cpu++)
		if (!c->rounds || now[cpu] - c->before[cpu] < c->least[cpu])
			c->least[cpu] = now[cpu] - c->before[cpu];
	c->rounds++;
	return err;
}

/* A request, and the CPUs that it must interrupt: of these the caller's never is. */
struct step {
	const char *name;
	unsigned int request;
	uint64_t called;		/* mask of CPUs */
	uint32_t first, number;		/* the CPUs of READ */
};

static int do_step(int fd, const struct step *step)
{
	struct vpmc_global_cpu cpu[GLOBAL_CPUS];

	if (step->request != VPMC_IOC_G_READ)
		return vpmc_ioctl(fd, step->request, NULL);
	return global_read_some(fd, step->first, step->number, cpu) - step->number;
}

/*
 * Each step interrupts its CPUs once, and no other. The caller is on CPU 0. The other
 * CPUs are kept busy, because one that is in its idle loop takes calls without an
 * interrupt.
 */
static void check_steps(struct __test_metadata *_metadata, int fd,
			const struct step *step, int n)
{
	pid_t busy[GLOBAL_CPUS];
	struct calls calls[n];
	int cpu, i, round;

	memset(calls, 0, sizeof(calls));
	for (cpu = 1; cpu < nr_cpus(); cpu++) {
		busy[cpu] = start_competitor(cpu);
		ASSERT_LT(0, busy[cpu]);
	}
	for (round = 0; round < CALL_ROUNDS; round++) {
		for (i = 0; i < n; i++) {
			ASSERT_EQ(0, calls_begin(&calls[i]));
			ASSERT_EQ(0, do_step(fd, &step[i]));
			ASSERT_EQ(0, calls_end(&calls[i]));
		}
	}
	for (cpu = 1; cpu < nr_cpus(); cpu++)
		EXPECT_EQ(0, stop_disturber(busy[cpu]));
	for (i = 0; i < n; i++) {
		for (cpu = 0; cpu < nr_cpus(); cpu++) {
			EXPECT_EQ(cpu ? step[i].called >> cpu & 1 : 0,
				  calls[i].least[cpu]) {
				TH_LOG("%s, CPU %d", step[i].name, cpu);
			}
		}
	}
}

#define ALL	(~0ULL)
#define CPU_1	(1ULL << 1)

/* One interrupt for each other CPU that a request needs, and no further one. */
TEST_F(cpus, interrupts)
{
	const uint32_t n = nr_cpus();
	const struct step step[] = {
		{ "START", VPMC_IOC_G_START, ALL, 0, 0 },
		{ "START again", VPMC_IOC_G_START, 0, 0, 0 },
		{ "READ", VPMC_IOC_G_READ, ALL, 0, n },
		{ "READ of CPU 0", VPMC_IOC_G_READ, 0, 0, 1 },
		{ "READ of CPU 1", VPMC_IOC_G_READ, CPU_1, 1, 1 },
		{ "READ from CPU 1 on", VPMC_IOC_G_READ, ALL, 1, n - 1 },
		{ "CLEAR", VPMC_IOC_G_CLEAR, ALL, 0, 0 },
		{ "STOP", VPMC_IOC_G_STOP, ALL, 0, 0 },
		{ "STOP again", VPMC_IOC_G_STOP, 0, 0, 0 },
		{ "READ of stopped", VPMC_IOC_G_READ, 0, 0, n },
		{ "CLEAR of stopped", VPMC_IOC_G_CLEAR, 0, 0, 0 },
	};

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	check_steps(_metadata, self->fd, step, ARRAY_SIZE(step));
}

/* CPUs without a set have nothing to do. */
TEST_F(cpus, interrupts_of_one)
{
	const uint32_t n = nr_cpus();
	const struct step step[] = {
		{ "START", VPMC_IOC_G_START, CPU_1, 0, 0 },
		{ "READ", VPMC_IOC_G_READ, CPU_1, 0, n },
		{ "READ of CPU 0", VPMC_IOC_G_READ, 0, 0, 1 },
		{ "CLEAR", VPMC_IOC_G_CLEAR, CPU_1, 0, 0 },
		{ "STOP", VPMC_IOC_G_STOP, CPU_1, 0, 0 },
	};

	ASSERT_EQ(0, global_program(self->fd, 1, two));
	check_steps(_metadata, self->fd, step, ARRAY_SIZE(step));
}

/* The timer's samples: nobody is interrupted, and at the end all is there. */
TEST_F(cpus, interval)
{
	struct vpmc_global_control control;
	struct calls calls = {};
	int cpu, n = nr_cpus(), round;
	uint64_t at, sum;

	global_init(&control, VPMC_ALL_CPUS, two);
	control.interval_ms = 10;
	ASSERT_EQ(0, global_control(self->fd, &control));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, global_start(self->fd));
	code_loop(1000, 0);
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	at = self->cpu[1].sampled_at;
	EXPECT_LT(0, at);
	EXPECT_EQ(10, self->cpu[1].interval_ms);
	ASSERT_EQ(0, pin(0));
	usleep(40000);
	for (round = 0; round < CALL_ROUNDS; round++) {
		ASSERT_EQ(0, calls_begin(&calls));
		ASSERT_EQ(n, global_read(self->fd, self->cpu));
		ASSERT_EQ(0, calls_end(&calls));
	}
	for (cpu = 1; cpu < n; cpu++)
		EXPECT_EQ(0, calls.least[cpu]);
	/* Every 10 ms, on its own CPU. */
	EXPECT_LE(at + 20000000, self->cpu[1].sampled_at);
	EXPECT_LE(2 * 1000, self->cpu[1].sum[0]);
	sum = self->cpu[1].sum[0];
	EXPECT_EQ(0, loops_on_others(2, 1000));
	ASSERT_EQ(0, global_stop(self->fd));
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	EXPECT_LE(sum + 2 * 1000, self->cpu[1].sum[0]);
	at = self->cpu[1].sampled_at;
	usleep(30000);
	ASSERT_EQ(n, global_read(self->fd, self->cpu));
	EXPECT_EQ(at, self->cpu[1].sampled_at);
}

/* A CPU that goes keeps its sums, and one that comes counts. */
TEST_F(cpus, hotplug)
{
	struct vpmc_global_control control;
	uint64_t sum, constant;
	int interval;

	for (interval = 0; interval <= 10; interval += 10) {
		global_init(&control, VPMC_ALL_CPUS, two);
		control.interval_ms = interval;
		ASSERT_EQ(0, global_control(self->fd, &control));
		ASSERT_EQ(0, global_start(self->fd));
		EXPECT_EQ(0, loops_on_others(2, 1000));
		usleep(30000);
		sum = global_sum(self->fd, 1, 0);
		EXPECT_LE(2000, sum);
		ASSERT_EQ(0, set_cpu_online(1, "0"));
		EXPECT_EQ(VPMC_CPU_OFFLINE, global_state(self->fd, 1));
		EXPECT_EQ(sum, global_sum(self->fd, 1, 0));
		ASSERT_EQ(0, set_cpu_online(1, "1"));
		EXPECT_EQ(VPMC_CPU_RUNNING, global_state(self->fd, 1));
		usleep(30000);
		EXPECT_EQ(sum, global_sum(self->fd, 1, 0));
		EXPECT_EQ(0, loops_on_others(2, 1000));
		usleep(30000);
		EXPECT_LE(sum + 2000, global_sum(self->fd, 1, 0));
		ASSERT_EQ(0, global_stop(self->fd));
	}
	/* Programmed and started while it is away. */
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(VPMC_CPU_OFFLINE, global_state(self->fd, 1));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	constant = global_sum_of_loop(self->fd, 0, 1) - 2;
	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(constant, global_sum_of_loop(self->fd, 1, 5000) - 2 * 5000);
	/* Its set alone. */
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, global_stop(self->fd));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, none));
	ASSERT_EQ(0, global_program(self->fd, 1, two));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(VPMC_CPU_ABSENT, global_state(self->fd, 0));
	EXPECT_EQ(VPMC_CPU_OFFLINE, global_state(self->fd, 1));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(constant, global_sum_of_loop(self->fd, 1, 1) - 2);
	EXPECT_EQ(constant, global_sum_of_loop(self->fd, 1, 5000) - 2 * 5000);
	/* Stopped while it is away. */
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, global_stop(self->fd));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(VPMC_CPU_STOPPED, global_state(self->fd, 1));
}

/* CPU 0 suspends the machine. It is watched from CPU 1, which goes and comes. */
static void suspend(struct __test_metadata *_metadata, int fd,
		    const char *level)
{
	struct vpmc_global_control control;
	struct vpmc_global_cpu cpu[2];
	uint64_t sum, total;
	int turn;

	ASSERT_EQ(0, write_file("/sys/module/suspend/parameters/pm_test_delay",
				"0"));
	ASSERT_EQ(0, write_file("/sys/power/pm_test", level));
	global_init(&control, VPMC_ALL_CPUS, two);
	control.interval_ms = 10;
	ASSERT_EQ(0, global_control(fd, &control));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, global_start(fd));
	EXPECT_EQ(0, child_status(start_loop(0, 1000)));
	usleep(30000);
	sum = global_sum(fd, 0, 0);
	total = user_total(0);
	EXPECT_LE(2 * 1000, sum);
	ASSERT_EQ(0, write_file("/sys/power/state", "mem"));
	ASSERT_EQ(0, pin(1));
	/* The timers continue; and those who were frozen, with a system call. */
	for (turn = 0; turn < 2; turn++) {
		usleep(30000);
		ASSERT_EQ(2, global_read_some(fd, 0, 2, cpu));
		EXPECT_EQ(VPMC_CPU_RUNNING, cpu[0].state);
		EXPECT_EQ(VPMC_CPU_RUNNING, cpu[1].state);
		EXPECT_EQ(user_total(0) - total, cpu[0].sum[0] - sum);
		EXPECT_LE(turn * 2 * 1000, cpu[0].sum[0] - sum);
		EXPECT_GT(1ULL << 40, cpu[0].ticks);
		EXPECT_GT(1ULL << 40, cpu[1].ticks);
		EXPECT_EQ(0, child_status(start_loop(0, 1000)));
	}
}

TEST_F(cpus, suspend_core)
{
	suspend(_metadata, self->fd, "core");
}

/* Needs somebody who wakes the machine. */
TEST_F(cpus, suspend_all_the_way)
{
	suspend(_metadata, self->fd, "none");
}

/* With counters that perf has lent both count, on the same CPU. */
TEST_F(cpus, beside_perf)
{
	static const struct choice lent[] = {
		{ EV_INSNS, 2 }, { EV_BRANCHES, 3 }, {}
	};
	struct vpmc_global_control control;
	uint64_t constant;

	ASSERT_EQ(0, choose_counters("shared 2,0"));
	global_init(&control, VPMC_ALL_CPUS, two);
	EXPECT_EQ(-EBUSY, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_LEFT_TO_PERF, control.reason);
	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, lent));
	EXPECT_EQ(0, choose_counters("shared 3,0"));
	ASSERT_EQ(0, global_start(self->fd));
	constant = global_sum_of_loop(self->fd, 0, 1) - 2;
	EXPECT_EQ(0, perf_error(1000));
	EXPECT_EQ(constant, global_sum_of_loop(self->fd, 0, 9999) - 2 * 9999);
	EXPECT_EQ(0, perf_error(20000000));
	close(self->fd);
	EXPECT_EQ(0, choose_counters("all"));
	self->fd = global_open();
}

NEEDS(
	{ "cpus.interrupts", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "cpus.interrupts_of_one", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "cpus.interval", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
