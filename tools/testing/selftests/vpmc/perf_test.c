// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU belongs to perf or to programmed sets, never to both. The second user
 * is refused, and counts right after the first one has released the PMU: exactly, or
 * within the tolerance.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <vpmc-read.h>

#include "disturb.h"
#include "inherit.h"
#include "perf_samples.h"

static const struct choice both[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
};

static void set_counts(struct __test_metadata *_metadata, struct set *set)
{
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000000)));
}

TEST(perf_first)
{
	struct vpmc_read before, after;
	struct vpmc_control control;
	struct set set;
	int event, fd;

	fd = vpmc_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));
	EXPECT_EQ(0, perf_error(1000000));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(fd));

	/* An event that exists is enough, enabled or not. */
	event = perf_open_insns();
	ASSERT_LE(0, event);
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(fd));
	ASSERT_EQ(0, vpmc_read(fd, &before));
	set.fd = fd;
	EXPECT_EQ(-EBUSY, set_program(&set, both));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, set.control.reason);
	EXPECT_EQ(2, set.control.bad_counter);
	ASSERT_EQ(0, vpmc_read(fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(0, vpmc_read_control(fd, &control));
	EXPECT_EQ(0, control.nr_counters);

	/* perf's count was not disturbed. */
	ASSERT_EQ(0, close(event));
	EXPECT_EQ(0, perf_error(1000000));

	EXPECT_EQ(0, set_program(&set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(fd));
	set_counts(_metadata, &set);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
}

/* Comes again and again, with an event that perf enables the PMU for. */
static pid_t start_leftover(volatile uint32_t *ready)
{
	const struct timespec ts = disturb_period(50000);
	pid_t pid = wait_for_fine_timers() ?: disturber();

	if (pid)
		return pid;
	if (pin(0) || set_fifo(10) || perf_open_leftover() < 0)
		_exit(1);
	*ready = 1;
	for (;;) {
		nanosleep(&ts, NULL);
		code_loop(1000, 0);
	}
}

TEST(group_outlives_its_event)
{
	const int tries = exact_machine() ? 20 : 1000;
	const uint64_t often = exact_machine() ? 6 : 1;
	volatile uint32_t *ready;
	uint64_t switches = 0;
	struct vpmc_read read;
	struct set set;
	pid_t pid;
	int i;

	ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ready);
	pid = start_leftover(ready);
	ASSERT_LT(0, pid);
	while (!*ready) {
		ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
		usleep(100);
	}
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, both));
	/* The timer may be late on a host that has other work. */
	for (i = 0; i < tries && switches < often; i++) {
		set_counts(_metadata, &set);
		ASSERT_EQ(0, vpmc_read(set.fd, &read));
		switches += read.switches;
	}
	EXPECT_LE(often, switches);
	EXPECT_EQ(0, stop_disturber(pid));
	set_close(&set);
}

/* The same event is the counting thread's own: perf stops nothing at a switch. */
TEST(counting_thread_has_the_leftover)
{
	const struct timespec ts = short_sleep(100000);
	struct set set;
	int fd, i;

	ASSERT_EQ(0, pin(0));
	fd = perf_open_leftover();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_open(&set, both));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_clear(&set));
		ASSERT_EQ(0, set_measure(&set, code_sleep_loop, (long)&ts, 10));
		EXPECT_EQ(0, wrong_after(&set, CODE_SLEEP_LOOP(10)));
	}
	set_close(&set);
	close(fd);
}

/* perf's leftover event does not start the counters of a stopped set. */
TEST(stopped_counters_stand_beside_the_leftover)
{
	const struct timespec ts = short_sleep(100000);
	struct set set;
	uint64_t raw[2];
	int fd, i;

	ASSERT_EQ(0, pin(0));
	fd = perf_open_leftover();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_open(&set, both));
	ASSERT_EQ(0, set_measure(&set, code_loop, 10, 0));
	for (i = 0; i < 2; i++)
		raw[i] = vpmc_rdpmc(set.page->slot[i].index);
	ASSERT_EQ(0, nanosleep(&ts, NULL));
	code_loop(1000, 0);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(raw[i], vpmc_rdpmc(set.page->slot[i].index));
	set_close(&set);
	close(fd);
}

/* Has RDPMC on CPU 1, and moves to CPU 0 on request. */
static void reader_from_elsewhere(struct child *c)
{
	struct set set;

	if (child_wait(c) || pin(1) || set_open(&set, both) || child_send(c) ||
	    child_wait(c) || pin(0))
		_exit(1);
	for (;;)
		code_loop(1000, 0);
}

/*
 * perf leaves counts behind, to be cleared for the next one with RDPMC: not now,
 * neither for a process that has it since before nor for one that comes.
 */
TEST(dirty_counters)
{
	const struct timespec ts = short_sleep(1000000);
	struct child reader = {};
	struct set set;

	ASSERT_EQ(0, pin(0));
	if (!child_fork(&reader))
		reader_from_elsewhere(&reader);
	ASSERT_LT(0, reader.pid);
	ASSERT_EQ(0, set_fifo(50));
	set.page = MAP_FAILED;
	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, child_send(&reader));
	ASSERT_EQ(0, child_wait(&reader));
	ASSERT_EQ(0, set_program(&set, both));
	ASSERT_EQ(0, child_send(&reader));
	ASSERT_EQ(0, set_measure(&set, code_sleep_loop, (long)&ts, 10));
	EXPECT_EQ(0, wrong_after(&set, CODE_SLEEP_LOOP(10)));
	set_close(&set);
	EXPECT_EQ(0, stop_disturber(reader.pid));

	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	set.page = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, set.page);
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, set_program(&set, both));
	ASSERT_EQ(0, set_measure(&set, code_sleep_loop, (long)&ts, 10));
	EXPECT_EQ(0, wrong_after(&set, CODE_SLEEP_LOOP(10)));
	set_close(&set);
}

/* Refused while perf counts: perf goes on and loses nothing. */
TEST(perf_counting)
{
	const long n = turns_here(1000);
	const struct code_count count = measured(n);
	struct set set, perf = {};
	int event, i;
	__u64 sum;

	set.fd = vpmc_open();
	ASSERT_LE(0, set.fd);
	event = perf_open_insns();
	ASSERT_LE(0, event);
	perf.fd = event;
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, perf_measure(&perf, code_loop, n, 0));
		ASSERT_EQ(-EBUSY, set_program(&set, both));
	}
	ASSERT_EQ(0, perf_read(event, 1, &sum));
	EXPECT_TRUE(perf_fits(&perf, sum, 10 * count.insns))
		TH_LOG("%llu, not %llu", sum,
		       (unsigned long long)(10 * count.insns));
}

TEST(set_first)
{
	struct set set;
	int fd;

	ASSERT_EQ(0, set_open(&set, both));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set.fd));
	/* A set that stands holds the PMU, too. */
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(-EBUSY, perf_open(PERF_TYPE_RAW, 0xc4, PERF_USER, -1));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	/* Software events need no PMU. */
	fd = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
		       PERF_USER, -1);
	EXPECT_LE(0, fd);
	close(fd);
	set_counts(_metadata, &set);

	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000000));
}

/* The last set that goes gives the PMU back: by UNLINK and by exit. */
TEST(two_processes)
{
	int go[2], ready[2], i;
	struct set set;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		byte = !!set_open(&set, both);
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, byte);
	EXPECT_EQ(-EBUSY, perf_open_insns());
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_open(&set, both));
		set_counts(_metadata, &set);
		ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
		EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set.fd));
		EXPECT_EQ(-EBUSY, perf_open_insns());
	}
	ASSERT_EQ(1, write(go[1], &byte, 1));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000000));
}

/* A set without counters does not keep perf out. */
TEST(no_counter)
{
	struct set set;
	int fd;

	ASSERT_EQ(0, set_open(&set, (struct choice[]){ {} }));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	EXPECT_EQ(0, perf_error(1000000));
	fd = perf_open_insns();
	ASSERT_LE(0, fd);
	/* And the other way round. */
	EXPECT_EQ(0, set_program(&set, (struct choice[]){ {} }));
	close(fd);
	/* The last of a set's counters goes: perf may come. */
	EXPECT_EQ(0, set_program(&set, both));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(0, set_program(&set, (struct choice[]){ {} }));
	EXPECT_EQ(0, perf_error(1000000));
}

/*
 * A counter's interrupts by perf: one sample for each 10,000 instructions. One page of
 * records: no more than 256 of them are asked for. The loop does not end with a period.
 */
static void perf_samples(struct __test_metadata *_metadata)
{
	expect_samples(_metadata, 1002500, 10000);
}

TEST(perf_samples_afterwards)
{
	struct set set;
	int cpu;

	ASSERT_EQ(0, allow_all_samples());
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		perf_samples(_metadata);
	}
	ASSERT_EQ(0, set_open(&set, both));
	set_counts(_metadata, &set);
	set_close(&set);
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		perf_samples(_metadata);
	}
}

/* The PMU's registers as the Intel SDM, volume 4, numbers them. */
struct registers {
	uint64_t evtsel[4];		/* from 0x186 */
	uint64_t counter[4];		/* from 0xc1 */
	uint64_t fixed[3];		/* from 0x309 */
	uint64_t fixed_control;		/* 0x38d */
	uint64_t status;		/* 0x38e */
	uint64_t enabled;		/* 0x38f */
};

static int read_registers(int cpu, struct registers *regs)
{
	static const struct {
		uint32_t first;
		uint32_t n;
	} range[] = {
		{ 0x186, 4 }, { 0xc1, 4 }, { 0x309, 3 }, { 0x38d, 3 },
	};
	uint64_t *to = (uint64_t *)regs;
	char path[64];
	uint32_t i, j;
	int fd;

	sprintf(path, "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	for (i = 0; i < ARRAY_SIZE(range); i++)
		for (j = 0; j < range[i].n; j++, to++)
			if (pread(fd, to, sizeof(*to), range[i].first + j) !=
			    sizeof(*to))
				return -1;
	close(fd);
	return 0;
}

/* perf knows what it wrote to the control registers, and counters it cleared. */
TEST(registers_given_back)
{
	static const struct choice all[] = {
		{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, { EV_INSNS, 2 },
		{ EV_BRANCHES, 3 }, { EV_INSNS, FIXED(0) },
		{ EV_CYCLES, FIXED(1) }, {}
	};
	struct registers before[2], held, after;
	struct set set;
	int cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(1000));
		ASSERT_EQ(0, read_registers(cpu, &before[cpu]));
		EXPECT_NE(0, before[cpu].enabled);
		/* perf leaves no fixed counter on: to save it is a precaution. */
		EXPECT_EQ(0, before[cpu].fixed_control);
	}
	ASSERT_EQ(0, set_open(&set, all));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		set_counts(_metadata, &set);
		ASSERT_EQ(0, read_registers(cpu, &held));
		EXPECT_NE(0, held.evtsel[3]);
		EXPECT_NE(0, held.counter[3]);
		EXPECT_NE(0, held.fixed_control);
		EXPECT_EQ(0, held.enabled);
	}
	set_close(&set);
	for (cpu = 0; cpu < 2; cpu++) {
		static const struct registers zero;

		ASSERT_EQ(0, read_registers(cpu, &after));
		EXPECT_EQ(0, memcmp(after.evtsel, zero.evtsel,
				    sizeof(zero.evtsel)));
		EXPECT_EQ(0, memcmp(after.counter, zero.counter,
				    sizeof(zero.counter)));
		EXPECT_EQ(0, memcmp(after.fixed, zero.fixed,
				    sizeof(zero.fixed)));
		EXPECT_EQ(before[cpu].fixed_control, after.fixed_control);
		EXPECT_EQ(0, after.status);
		EXPECT_EQ(before[cpu].enabled, after.enabled);
	}
}

static bool has_these_registers(void)
{
	return sets_have_all() && machine.kind == VPMC_KIND_INTEL &&
	       machine.features & VPMC_FEATURE_GLOBAL_CTRL &&
	       machine.nr_gp >= 4 && machine.nr_fixed >= 3;
}

#define ALL_FOR_SETS	"sysctl kernel.vpmc_counters=all", NULL, sets_have_all

NEEDS(
	{ "global.registers_given_back", PMU | DISTURBS | ROOT | TWO_CPUS,
	  "sysctl kernel.vpmc_counters=all, and Intel's registers in /dev/cpu/0/msr",
	  "/dev/cpu/0/msr", has_these_registers },
	{ "global.dirty_counters", PMU | DISTURBS | ROOT | TWO_CPUS, ALL_FOR_SETS },
	{ "global.perf_samples_afterwards", PMU | DISTURBS | ROOT | TWO_CPUS, ALL_FOR_SETS },
	{ "*", PMU | DISTURBS | ROOT, ALL_FOR_SETS },
);

TEST_HARNESS_MAIN
