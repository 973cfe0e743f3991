// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_revoke: what RDPMC does in a thread whose set was revoked, perhaps in
 * the middle of a read.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "revoke_fixture.h"
#include "runner.h"

/* What RDPMC returns in a thread whose set is revoked, or that it faults. */
static int rdpmc_revoked(bool mapped)
{
	struct set set;

	if (set_open(&set, three) || vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return 100;
	if (!mapped && munmap(set.page, PAGE))
		return 101;
	code_loop(1000, 0);
	if (set_revoked("1"))
		return 102;
	return __builtin_ia32_rdpmc(index_here(0, 0)) ? 103 : 50;
}

/* Zero, if it has the page, and so may be in the middle of a read. */
TEST_F(revoke, rdpmc)
{
	pid_t pid = fork();

	if (!pid)
		_exit(rdpmc_revoked(true));
	EXPECT_EQ(50, child_status(pid));
	ASSERT_EQ(0, set_revoked("0"));
	pid = fork();
	if (!pid)
		_exit(rdpmc_revoked(false));
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(pid));
}

/* Reads until it is stopped. Programs the set again after each revocation. */
static void *read_on(void *arg)
{
	struct runner *runner = arg;
	struct set *set = &runner->set;
	const volatile __u32 *state;
	uint64_t count[NR];
	int i;

	set->fd = vpmc_open();
	set->page = vpmc_map(set->fd);
	runner->wrong = pin(runner->cpu) || set->page == MAP_FAILED;
	control_init(&set->control, VPMC_CONTROL_NEW);
	for (i = 0; i < NR; i++)
		control_choose(&set->control, three[i].evtsel, three[i].index);
	state = &set->page->state;
	while (runner->go && !runner->wrong) {
		if (vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control)) {
			runner->wrong = set->control.reason !=
					VPMC_REASON_REVOKED;
			continue;
		}
		runner->turns++;
		while (*state == VPMC_STATE_RUNNING && runner->go)
			vpmc_read_n(set->page, NR, count, NULL);
	}
	set_close(set);
	return NULL;
}

/*
 * In the middle of a read the permission to use RDPMC goes, between the look at
 * the state and the RDPMC that follows. That must not kill the reader.
 */
TEST_F(revoke, in_the_read_loop)
{
	struct runner reader[2] = { { .cpu = 0, .go = 1 }, { .cpu = 1, .go = 1 } };
	const int turns = test_times(200);
	/* the readers make progress between two of this thread's turns */
	const long pause = 30000L * test_slowness();
	struct timespec ts = { .tv_nsec = pause };
	int i, turn;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&reader[i].thread, NULL, read_on,
					    &reader[i]));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	for (turn = 0; turn < turns; turn++) {
		for (i = 0; i < 2; i++)
			while (reader[i].turns <= turn && !reader[i].wrong)
				nanosleep(&ts, NULL);
		ts.tv_nsec = pause + 7 * turn;
		nanosleep(&ts, NULL);
		ASSERT_EQ(0, set_revoked("1"));
		ASSERT_EQ(0, set_revoked("0"));
	}
	for (i = 0; i < 2; i++) {
		reader[i].go = 0;
		ASSERT_EQ(0, pthread_join(reader[i].thread, NULL));
		EXPECT_EQ(0, reader[i].wrong);
		EXPECT_LE(turns, reader[i].turns);
	}
}

/* The whole of RDPMC's result is zero, whatever was in the registers. */
TEST_F(revoke, rdpmc_reads_zero)
{
	uint32_t low = ~0U, high = ~0U;

	ASSERT_EQ(0, set_open(&self->set, three));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, set_revoked("1"));
	asm volatile("rdpmc" : "+a" (low), "+d" (high) : "c" (0));
	EXPECT_EQ(0, low);
	EXPECT_EQ(0, high);
}

static void privileged(int i)
{
	unsigned long cr0;

	switch (i) {
	case 0:
		asm volatile("rdmsr" : : "c" (0x10) : "eax", "edx");
		break;
	case 1:
		asm volatile("wrmsr" : : "c" (0x10), "a" (0), "d" (0));
		break;
	case 2:
		asm volatile("mov %%cr0, %0" : "=r" (cr0));
		break;
	case 3:
		asm volatile("clts");
		break;
	}
}

/* Other privileged instructions that begin with the same byte still fault. */
TEST_F(revoke, other_instructions_fault)
{
	int i, pid;

	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			if (set_open(&self->set, three) || set_revoked("1"))
				_exit(1);
			privileged(i);
			_exit(2);
		}
		EXPECT_EQ(1000 + SIGSEGV, child_status(pid)) {
			TH_LOG("instruction %d", i);
		}
		ASSERT_EQ(0, set_revoked("0"));
	}
}

/* Without the page RDPMC faults: no read can be in progress. */
TEST_F(revoke, rdpmc_without_the_page)
{
	int pid = fork();

	if (!pid) {
		if (set_open(&self->set, three) ||
		    munmap(self->set.page, PAGE) || set_revoked("1"))
			_exit(1);
		asm volatile("rdpmc" : : "c" (0) : "eax", "edx");
		_exit(2);
	}
	EXPECT_EQ(1000 + SIGSEGV, child_status(pid));
}

NEEDS(
	{ "revoke.in_the_read_loop", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "*", PMU | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
