// SPDX-License-Identifier: GPL-2.0
/*
 * Where two features meet on a CPU: its counters beside perf's groups and beside a thread
 * that gets little time, and the watchdog when sets and counters of CPUs are revoked. In
 * the setting that users have.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "global.h"
#include "loan.h"
#include "moments.h"
#include "msr.h"
#include "seam_events.h"

#define TURNS		100000

/* Counts cycles in both modes. */
#define WATCHDOG_COUNTER	(MSR_FIXED_CTR0 + 1)

FIXTURE(cpus)
{
	int fd;
	int perf[MAX_GP];
};

FIXTURE_SETUP(cpus)
{
	memset(self->perf, -1, sizeof(self->perf));
	ASSERT_EQ(0, pin(0));
	/* Other work would be counted. */
	ASSERT_EQ(0, wait_for_silence());
	self->fd = global_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(cpus)
{
	perf_close_all(self->perf);
	close(self->fd);
}

/* What a CPU and the two events of a group count of a loop, with what reads them. */
struct of_loop {
	uint64_t cpu[2];
	__u64 perf[2];
};

/* It is not inlined, so that its own instructions are the same for all loops. */
static __attribute__((noinline)) int count_loop(FIXTURE_DATA(cpus) *self, int cpu,
						long turns, struct of_loop *of)
{
	struct vpmc_global_cpu before, after;
	__u64 first[2];
	int i, bad;

	bad = perf_read(self->perf[0], 2, first) ||
	      global_read_some(self->fd, cpu, 1, &before) != 1 ||
	      code_loop(turns, 0) ||
	      global_read_some(self->fd, cpu, 1, &after) != 1 ||
	      perf_read(self->perf[0], 2, of->perf);
	for (i = 0; i < 2; i++) {
		of->cpu[i] = after.sum[i] - before.sum[i];
		of->perf[i] -= first[i];
	}
	return bad;
}

/* The CPU has counted instructions and branches, and the group branches. 0 or not. */
static int wrong_beside_group(FIXTURE_DATA(cpus) *self, int cpu)
{
	struct of_loop one, all;

	if (pin(cpu) || count_loop(self, cpu, 1, &one) ||
	    count_loop(self, cpu, 1 + TURNS, &all))
		return -1;
	if (all.cpu[0] - one.cpu[0] == 2 * TURNS &&
	    all.cpu[1] - one.cpu[1] == TURNS &&
	    all.perf[0] - one.perf[0] == TURNS && all.perf[1] - one.perf[1] == TURNS)
		return 0;
	fprintf(stderr, "# CPU %d: %llu insns, %llu branches; perf: %llu, %llu branches\n",
		cpu, (unsigned long long)(all.cpu[0] - one.cpu[0]),
		(unsigned long long)(all.cpu[1] - one.cpu[1]),
		(unsigned long long)(all.perf[0] - one.perf[0]),
		(unsigned long long)(all.perf[1] - one.perf[1]));
	return 1;
}

/* A group that needs a counter that is lent stands, as a whole. One with room counts. */
TEST_F(cpus, groups)
{
	int cpu;

	ASSERT_EQ(0, open_branches(self->perf, every_gp(), 0));
	/* Sets of an earlier program may have borrowed counters. */
	ASSERT_EQ(1, returned_to(self->perf, every_gp()));
	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, both));
	ASSERT_EQ(0, global_start(self->fd));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, group_counts(self->perf, every_gp()));
	}
	perf_close_all(self->perf);
	ASSERT_EQ(0, open_branches(self->perf, 2, 0));
	for (cpu = 0; cpu < 2; cpu++)
		EXPECT_EQ(0, wrong_beside_group(self, cpu));
	perf_close_all(self->perf);
	ASSERT_EQ(0, open_branches(self->perf, every_gp(), 0));
	EXPECT_EQ(0, group_counts(self->perf, every_gp()));
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	EXPECT_EQ(1, returned_to(self->perf, every_gp()));
}

/* It gets little of CPU 1, and cannot have counters of its own. */
static pid_t starved_worker(void)
{
	const struct sched_param none = {};
	pid_t pid = fork();
	struct set set;

	if (pid)
		return pid;
	if (pin(1) || sched_setscheduler(0, SCHED_IDLE, &none))
		_exit(1);
	if (set_open(&set, both) != -EBUSY ||
	    set.control.reason != VPMC_REASON_PMU_GLOBAL)
		_exit(2);
	_exit(code_loop(TURNS, 0));
}

static double ms_of_read(int fd)
{
	struct vpmc_global_cpu cpu[GLOBAL_CPUS];
	double begin = ms_now();

	return global_read(fd, cpu) > 0 ? ms_now() - begin : 1e9;
}

/* What it executes is counted, and a request waits for none of its time. */
TEST_F(cpus, starved)
{
	uint64_t sum, total;
	pid_t spinner, worker;
	double worst = 0, ms;
	int status;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, both));
	ASSERT_EQ(0, global_start(self->fd));
	total = user_total(1);
	sum = global_sum(self->fd, 1, 0);
	spinner = seam_spinner();
	worker = starved_worker();
	while (!waitpid(worker, &status, WNOHANG)) {
		ms = ms_of_read(self->fd);
		worst = ms > worst ? ms : worst;
		usleep(1000);
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, seam_kill(spinner));
	EXPECT_GT(BOUND_MS * test_slowness(), worst);
	ASSERT_EQ(0, wait_for_silence());
	total = user_total(1) - total;
	sum = global_sum(self->fd, 1, 0) - sum;
	EXPECT_EQ(total, sum);
	EXPECT_LE(2 * TURNS, sum);
}

/* Does the watchdog's counter count cycles of this CPU? 0 or not. */
static int watchdog_stands(int cpu)
{
	uint64_t before, after;

	if (pin(cpu) || msr_read(cpu, WATCHDOG_COUNTER, &before))
		return -1;
	code_loop(TURNS, 0);
	if (msr_read(cpu, WATCHDOG_COUNTER, &after))
		return -2;
	/* It may begin again in between. */
	return ((after - before) & ((1ULL << 47) - 1)) < 2 * TURNS;
}

static int watchdogs_stand(void)
{
	return watchdog_stands(1) ?: watchdog_stands(0);
}

static int wrong_set(struct set *set)
{
	return set_program(set, both) || set_measure(set, code_loop, TURNS, 0) ||
	       wrong_after(set, CODE_LOOP(TURNS));
}

/* The administrator takes the PMU from sets, and from CPUs. The watchdog keeps its own. */
TEST_F(cpus, watchdog_and_revocation)
{
	struct set set;
	int cpus;

	ASSERT_EQ(1, read_number(WATCHDOG));
	EXPECT_EQ(0, watchdogs_stand());
	ASSERT_EQ(0, set_open(&set, both));
	for (cpus = 0; cpus < 2; cpus++) {
		if (cpus) {
			ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
			ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, both));
			ASSERT_EQ(0, global_start(self->fd));
		} else {
			EXPECT_EQ(0, wrong_set(&set));
			ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
		}
		EXPECT_EQ(0, watchdogs_stand());
		ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
		EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(self->fd));
		EXPECT_EQ(0, watchdogs_stand());
		EXPECT_EQ(-ENODATA, cpus ? global_start(self->fd) :
				    vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
		EXPECT_EQ(0, perf_error(TURNS));
		/* It ends and begins meanwhile. */
		ASSERT_EQ(0, write_file(WATCHDOG, "0"));
		EXPECT_EQ(1, watchdog_stands(1));
		ASSERT_EQ(0, write_file(WATCHDOG, "1"));
		EXPECT_EQ(0, watchdogs_stand());
		ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
		EXPECT_EQ(0, watchdogs_stand());
	}
	set_close(&set);
	ASSERT_EQ(0, set_open(&set, both));
	EXPECT_EQ(0, wrong_set(&set));
	EXPECT_EQ(0, watchdogs_stand());
	set_close(&set);
}

/* The same for counters of CPUs that take it from sets. */
TEST_F(cpus, watchdog_and_taking)
{
	struct set set;

	ASSERT_EQ(1, read_number(WATCHDOG));
	ASSERT_EQ(0, set_open(&set, both));
	EXPECT_EQ(0, wrong_set(&set));
	ASSERT_EQ(0, global_program_revoking(self->fd, VPMC_ALL_CPUS, both));
	EXPECT_EQ(0, watchdogs_stand());
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, open_branches(self->perf, 2, 0));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(0, wrong_beside_group(self, 0));
	EXPECT_EQ(0, wrong_beside_group(self, 1));
	EXPECT_EQ(0, watchdogs_stand());
	set_close(&set);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS, "a PMU that perf lends", NULL,
	  perf_keeps_counters },
);

TEST_HARNESS_MAIN
