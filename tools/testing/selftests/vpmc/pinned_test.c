// SPDX-License-Identifier: GPL-2.0
/*
 * Sets that borrow counters, and pinned events of perf. perf gives up a pinned event
 * for good if it finds no counter, so a loan leaves room for those that exist.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>

#include "shared.h"
#include "disturb.h"
#include "global.h"

#define PARANOID		"/proc/sys/kernel/perf_event_paranoid"

/* INST_RETIRED.PREC_DIST, which Skylake counts on counter 1 alone. */
#define BOUND_EVENT		0x1c0
#define BOUND_EVENT_MODEL	0x506e0

/* Pinned events move. If they cannot, nothing is lent and they continue. */
TEST_F(shared, pinned_events_need_them)
{
	struct vpmc_control control;

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 1));
	EXPECT_EQ(-EBUSY, set_program(&self->set, branches));
	EXPECT_EQ(reason_of_perf(), self->set.control.reason);
	EXPECT_EQ(1, self->set.control.bad_counter);
	EXPECT_EQ(1, alive(self->perf, ALL_GP));
	ASSERT_EQ(0, close(self->perf[ALL_GP - 1]));
	EXPECT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(1, alive(self->perf, ALL_GP - 1));
	/* No more than that. The set stays as it is. */
	control = self->set.control;
	EXPECT_EQ(-EBUSY, set_program(&self->set, all_but_one));
	self->set.control = control;
	EXPECT_EQ(1, alive(self->perf, ALL_GP - 1));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/* Events of many counters and of few have room, whichever perf has first. */
TEST_F(shared, pinned_events_in_any_order)
{
	__u64 count;
	int i;

	for (i = 0; i < 2; i++) {
		if (!i)
			self->perf[1] = perf_open_pinned_cycles(1);
		ASSERT_EQ(0, open_branches(self->perf, 1, 1));
		if (i)
			self->perf[1] = perf_open_pinned_cycles(1);
		ASSERT_LE(0, self->perf[1]);
		ASSERT_EQ(0, set_open(&self->set, branches));
		EXPECT_EQ(1, alive(self->perf, 1));
		EXPECT_EQ(8, read(self->perf[1], &count, 8));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		set_close(&self->set);
		perf_close_all(self->perf);
		ASSERT_EQ(0, choose_counters("shared"));
	}
}

/* perf reads nothing from an event that it has given up. */
static int alive_alone(int fd)
{
	__u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) && count > 0;
}

/*
 * A process with pinned events of its own thread, on all programmable counters. It
 * sleeps until it is told to close one, to count, here or on CPU 1, or to end.
 */
struct pinner {
	pid_t pid;
	int ask, answer;
};

enum {
	PINNER_CLOSES	= 'c',
	PINNER_COUNTS	= 'n',
	PINNER_MOVES	= 'm',
	PINNER_ENDS	= 'e',
};

static void pinner_main(int ask, int answer)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | perf_pmu_here(),
		.pinned = 1,
		.exclude_kernel = 1,
	};
	int fd[MAX_GP], i, n = ALL_GP;
	__u64 count;
	char c = 0;

	for (i = 0; i < n; i++) {
		fd[i] = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
		if (fd[i] < 0)
			_exit(1);
	}
	do {
		if (c == PINNER_CLOSES)
			close(fd[--n]);
		if (c == PINNER_MOVES && pin(1))
			_exit(3);
		code_loop(1000, 0);
		for (i = 0, c = 0; i < n; i++)
			c += read(fd[i], &count, 8) == 8 && count >= 1000;
		if (write(answer, &c, 1) != 1)
			_exit(2);
	} while (read(ask, &c, 1) == 1 && c != PINNER_ENDS);
	_exit(0);
}

/* What the pinner answers: how many of its events count. -1 on failure. */
static int pinner_answer(const struct pinner *p)
{
	char n;

	return read(p->answer, &n, 1) == 1 ? n : -1;
}

static int pinner_do(const struct pinner *p, char what)
{
	return write(p->ask, &what, 1) == 1 ? pinner_answer(p) : -1;
}

static int pinner_start(struct pinner *p)
{
	int ask[2], answer[2];

	if (pipe(ask) || pipe(answer))
		return -1;
	p->pid = fork();
	if (!p->pid) {
		close(ask[1]);
		pinner_main(ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	p->ask = ask[1];
	p->answer = answer[0];
	return pinner_answer(p);
}

static int pinner_end(struct pinner *p)
{
	char end = PINNER_ENDS;

	if (write(p->ask, &end, 1) != 1)
		return -1;
	close(p->ask);
	close(p->answer);
	return child_status(p->pid);
}

/* Sets leave room for pinned events of a thread that sleeps. */
TEST_F(shared, pinned_events_of_a_sleeper)
{
	struct pinner p;

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(ALL_GP, pinner_start(&p));
	EXPECT_EQ(-EBUSY, set_program(&self->set, branches));
	EXPECT_EQ(reason_of_perf(), self->set.control.reason);
	EXPECT_EQ(ALL_GP, pinner_do(&p, PINNER_COUNTS));
	EXPECT_EQ(ALL_GP - 1, pinner_do(&p, PINNER_CLOSES));
	EXPECT_EQ(-EBUSY, set_program(&self->set, two_branches));
	ASSERT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(ALL_GP - 1, pinner_do(&p, PINNER_COUNTS));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(0, pinner_end(&p));
}

/* Two threads' pinned events need the counters at different times. */
TEST_F(shared, pinned_events_of_two_sleepers)
{
	struct pinner p[2];
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(ALL_GP, pinner_start(&p[i]));
		ASSERT_EQ(ALL_GP - 1, pinner_do(&p[i], PINNER_CLOSES));
	}
	ASSERT_EQ(0, set_open(&self->set, branches));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(ALL_GP - 1, pinner_do(&p[i], PINNER_COUNTS));
		EXPECT_EQ(0, pinner_end(&p[i]));
	}
	ASSERT_EQ(0, set_program(&self->set, all_but_one));
}

/*
 * A thread's pinned events need room beside those of the CPU that it comes to, whoever
 * has opened these.
 */
TEST_F(shared, pinned_events_add_up)
{
	struct pinner p;
	int i, user;

	ASSERT_EQ(0, write_file(PARANOID, "-1"));
	for (user = 0; user < 2; user++) {
		ASSERT_EQ(ALL_GP, pinner_start(&p));
		for (i = ALL_GP - 1; i > 0; i--)
			ASSERT_EQ(i, pinner_do(&p, PINNER_CLOSES));
		ASSERT_EQ(0, seteuid(user * 1000));
		i = open_branches(self->perf, ALL_GP - 1, 1);
		ASSERT_EQ(0, seteuid(0));
		ASSERT_EQ(0, i);
		self->set.fd = vpmc_open();
		ASSERT_LE(0, self->set.fd);
		EXPECT_EQ(-EBUSY, set_program(&self->set, branches));
		EXPECT_EQ(1, pinner_do(&p, PINNER_MOVES));
		EXPECT_EQ(1, alive(self->perf, ALL_GP - 1));
		EXPECT_EQ(0, pinner_end(&p));
		EXPECT_EQ(0, set_program(&self->set, branches));
		EXPECT_EQ(1, alive(self->perf, ALL_GP - 1));
		perf_close_all(self->perf);
		set_close(&self->set);
		/* The loan ends at once. */
		ASSERT_EQ(0, choose_counters("shared"));
	}
}

/* The administrator's pinned event of a CPU revokes sets before it takes their room. */
TEST_F(shared, pinned_events_keep_their_room)
{
	struct pinner p;

	ASSERT_EQ(ALL_GP, pinner_start(&p));
	ASSERT_EQ(ALL_GP - 1, pinner_do(&p, PINNER_CLOSES));
	ASSERT_EQ(ALL_GP - 2, pinner_do(&p, PINNER_CLOSES));
	ASSERT_EQ(0, set_open(&self->set, two_branches));
	ASSERT_EQ(0, open_branches(self->perf, 1, 1));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, set_program(&self->set, branches));
	EXPECT_EQ(ALL_GP - 2, pinner_do(&p, PINNER_MOVES));
	EXPECT_EQ(1, alive(self->perf, 1));
	EXPECT_EQ(0, pinner_end(&p));
}

/* Pinned events of a thread that are for one CPU each need no room at the same time. */
TEST_F(shared, pinned_events_on_two_cpus)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | perf_pmu_here(),
		.pinned = 1,
		.exclude_kernel = 1,
	};
	int fd[2][MAX_GP], cpu, i;

	for (cpu = 0; cpu < 2; cpu++)
		for (i = 0; i < ALL_GP - 1; i++) {
			fd[cpu][i] = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, 0);
			ASSERT_LE(0, fd[cpu][i]);
		}
	ASSERT_EQ(0, set_open(&self->set, branches));
	EXPECT_EQ(-EBUSY, set_program(&self->set, two_branches));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		code_loop(1000, 0);
		for (i = 0; i < ALL_GP - 1; i++) {
			EXPECT_EQ(1, alive_alone(fd[cpu][i]));
			close(fd[cpu][i]);
		}
	}
}

/* The administrator's counters of CPUs displace a user's pinned events. */
TEST_F(shared, cpus_displace_pinned_events)
{
	int fd = global_open();
	struct pinner p;

	ASSERT_LE(0, fd);
	ASSERT_EQ(ALL_GP, pinner_start(&p));
	EXPECT_EQ(-EBUSY, global_program(fd, VPMC_ALL_CPUS, branches));
	EXPECT_EQ(ALL_GP, pinner_do(&p, PINNER_COUNTS));
	EXPECT_EQ(0, global_program_revoking(fd, VPMC_ALL_CPUS, all_but_one));
	EXPECT_GE(1, pinner_do(&p, PINNER_COUNTS));
	EXPECT_EQ(0, pinner_end(&p));
	close(fd);
	/* Not those of CPUs, which are an administrator's, too. */
	usleep(300000);
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 1));
	fd = global_open();
	EXPECT_EQ(-EBUSY, global_program_revoking(fd, VPMC_ALL_CPUS, branches));
	EXPECT_EQ(1, alive(self->perf, ALL_GP));
	close(fd);
}

/*
 * What was borrowed for CPUs without room for pinned events goes back with the last set
 * of the CPUs. A user who is quick does not get it.
 */
TEST_F(shared, displacing_loan_ends)
{
	int fd = global_open();
	struct pinner p;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, global_program_revoking(fd, VPMC_ALL_CPUS, all_but_one));
	close(fd);
	ASSERT_EQ(0, set_open(&self->set, branches));
	EXPECT_EQ(ALL_GP - 1, pinner_start(&p));
	EXPECT_EQ(0, pinner_end(&p));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/*
 * A pinned event that only one counter can count. Sets leave it that counter as long
 * as others are free, and it keeps counting.
 */
TEST_F(shared, pinned_event_cannot_move)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = BOUND_EVENT,
		.read_format = PERF_FORMAT_GROUP,
		.pinned = 1,
		.exclude_kernel = 1,
	};

	self->perf[0] = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);
	ASSERT_LE(0, self->perf[0]);
	ASSERT_EQ(0, set_open(&self->set, two_branches));
	EXPECT_EQ(2 + 3, index_of(&self->set, 0) + index_of(&self->set, 1));
	EXPECT_EQ(1, alive(self->perf, 1));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(-EBUSY, set_program(&self->set, all_but_one));
	EXPECT_EQ(reason_of_perf(), self->set.control.reason);
	EXPECT_EQ(1, alive(self->perf, 1));
}

/*
 * The administrator's pinned events of a CPU get the counters of a set that is stopped,
 * and whose owner sleeps. A set that leaves them room is granted again.
 */
TEST_F(shared, pinned_events_of_cpus_come)
{
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, i ? set_program(&self->set, all_but_one) :
				 set_open(&self->set, all_but_one));
		ASSERT_EQ(0, open_branches(self->perf, 1, 1));
		usleep(10000);
		EXPECT_EQ(1, alive(self->perf, 1));
		EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		perf_close_all(self->perf);
		ASSERT_EQ(0, open_branches(self->perf, 2, 1));
		usleep(10000);
		EXPECT_EQ(1, alive(self->perf, 2));
		EXPECT_EQ(-ENODATA, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		EXPECT_EQ(-EBUSY, set_program(&self->set, all_but_one));
		EXPECT_EQ(reason_of_perf(), self->set.control.reason);
		EXPECT_EQ(0, set_program(&self->set, two_branches));
		EXPECT_EQ(1, alive(self->perf, 2));
		perf_close_all(self->perf);
	}
}

/* The same for the second event of a group, which is not waited for. */
TEST_F(shared, pinned_group_of_a_cpu_comes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | perf_pmu_here(),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.pinned = 1,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int i;

	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	self->perf[0] = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);
	ASSERT_LE(0, self->perf[0]);
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	attr.pinned = 0;
	attr.disabled = 0;
	self->perf[1] = syscall(SYS_perf_event_open, &attr, -1, 1, self->perf[0], 0);
	ASSERT_LE(0, self->perf[1]);
	for (i = 0; i < 1000 && !vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0); i++)
		usleep(10000);
	EXPECT_GT(1000, i);
	EXPECT_EQ(0, set_program(&self->set, two_branches));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	usleep(10000);
	EXPECT_EQ(1, alive(self->perf, 1));
	EXPECT_EQ(-EBUSY, set_program(&self->set, all_but_one));
}

static bool has_bound_event(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	return machine.kind == VPMC_KIND_INTEL &&
	       (eax & 0xf0ff0) == BOUND_EVENT_MODEL;
}

NEEDS(
	{ "shared.pinned_event_cannot_move", PMU | DISTURBS | ROOT | TWO_CPUS,
	  "a processor of model 94", NULL, has_bound_event },
	{ "*", PMU | DISTURBS | ROOT | TWO_CPUS, ROOM_FOR_SETS },
);

TEST_HARNESS_MAIN
