// SPDX-License-Identifier: GPL-2.0
/*
 * Cache misses and mispredicted branches, on an emulator that has them. A
 * variant is a geometry of the caches; the guest has one of them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"

#include <pmu-test-msr.h>

#define N		1024
#define NUMBERS		(N * N)
#define LINES		(NUMBERS * sizeof(int) / 64)
#define USER		0x10000ULL

/* Event selects, counting user mode. */
#define EV_REFERENCES	(USER | 0x4f2e)
#define EV_MISSES	(USER | 0x412e)
#define EV_BR_MISSES	(USER | 0x00c5)
#define EV_L1_HIT	(USER | 0x01d1)
#define EV_L2_HIT	(USER | 0x02d1)
#define EV_L1_MISS	(USER | 0x08d1)
#define EV_L2_MISS	(USER | 0x10d1)
#define EV_LOADS	(USER | PMU_TEST_EVTSEL(PMU_TEST_LOADS))
#define EV_STORES	(USER | PMU_TEST_EVTSEL(PMU_TEST_STORES))

static int matrix[N][N] __attribute__((aligned(PAGE)));

FIXTURE(cache)
{
	struct set set;
};

FIXTURE_VARIANT(cache)
{
	uint64_t rows;		/* misses of L2 by rows */
};

/* 32K/8/64+256K/4/64: a miss for each line. */
FIXTURE_VARIANT_ADD(cache, lines_of_64)
{
	.rows = LINES,
};

/* 8K/4/64+512K/8/128: a miss of L2 loads two lines of L1. */
FIXTURE_VARIANT_ADD(cache, lines_of_128)
{
	.rows = LINES / 2,
};

FIXTURE_SETUP(cache)
{
	int i, k;

	ASSERT_EQ(0, pin(0));
	/* The kernel clears the pages now, and not while they are counted. */
	for (i = 0; i < N; i++)
		for (k = 0; k < N; k++)
			matrix[i][k] = i + k;
}

FIXTURE_TEARDOWN(cache)
{
	set_close(&self->set);
}

/*
 * The matrix is read, in rows of consecutive numbers or across, between two RDPMC
 * of one counter. Nothing else is loaded or stored between them.
 */
static uint64_t read_matrix(uint32_t index, long step, long row)
{
	uint64_t before, after;
	long m = N;
	void *p = matrix;

	asm volatile("rdpmc\n\t"
		     "mov %%eax, %%r11d\n\t"
		     "shl $32, %%rdx\n\t"
		     "or %%rdx, %%r11\n"
		     "1:\t"
		     "mov %[p], %%r8\n\t"
		     "mov %[n], %%r9d\n"
		     "2:\t"
		     "mov (%%r8), %%r10d\n\t"
		     "add %[step], %%r8\n\t"
		     "dec %%r9d\n\t"
		     "jnz 2b\n\t"
		     "add %[row], %[p]\n\t"
		     "dec %[m]\n\t"
		     "jnz 1b\n\t"
		     "rdpmc\n\t"
		     "shl $32, %%rdx\n\t"
		     "or %%rdx, %%rax\n\t"
		     "mov %%r11, %%rdx"
		     : "=&a" (after), "=&d" (before), [p] "+r" (p), [m] "+r" (m)
		     : "c" (index), [step] "r" (step), [row] "r" (row),
		       [n] "i" (N)
		     : "r8", "r9", "r10", "r11", "cc", "memory");
	return after - before;
}

/*
 * The least of some passes in which the thread was not switched out: an interrupt
 * may evict the line that is being read.
 */
static uint64_t count(struct set *set, long step, long row)
{
	const volatile __u64 *generation = &set->page->generation;
	uint64_t before, added, least = ~0ULL;
	int i;

	for (i = 0; i < 5; i++) {
		before = *generation;
		added = read_matrix(set->page->slot[0].index, step, row);
		if (*generation == before && added < least)
			least = added;
	}
	return least;
}

static uint64_t by_rows(struct set *set)
{
	return count(set, sizeof(int), sizeof(matrix[0]));
}

static uint64_t by_columns(struct set *set)
{
	return count(set, sizeof(matrix[0]), sizeof(int));
}

/* One event alone, which runs. */
static int start(struct set *set, uint64_t evtsel)
{
	const struct choice choice[] = { { evtsel, 0 }, {} };
	int err = set_open(set, choice);

	return err ?: vpmc_ioctl(set->fd, VPMC_IOC_START, 0);
}

/*
 * L1 is so small that each timer interrupt may evict the line that is being read
 * by rows, which is one more miss of L1; the line is in L2 then.
 */
TEST_F(cache, matrix)
{
	const struct {
		uint64_t evtsel, rows_least, rows_most, columns;
	} events[] = {
		{ EV_L2_MISS, variant->rows, variant->rows, NUMBERS },
		{ EV_MISSES, variant->rows, variant->rows, NUMBERS },
		{ EV_L2_HIT, LINES - variant->rows, NUMBERS, 0 },
		{ EV_L1_MISS, LINES, NUMBERS, NUMBERS },
		{ EV_REFERENCES, LINES, NUMBERS, NUMBERS },
		{ EV_L1_HIT, 0, NUMBERS - LINES, 0 },
		{ EV_LOADS, NUMBERS, NUMBERS, NUMBERS },
		{ EV_STORES, 0, 0, 0 },
	};
	uint64_t rows;
	unsigned int i;

	/* On PREEMPT_RT, threads of the kernel handle interrupts. */
	ASSERT_EQ(0, set_fifo(60));
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		ASSERT_EQ(0, start(&self->set, events[i].evtsel));
		rows = by_rows(&self->set);
		EXPECT_LE(events[i].rows_least, rows);
		EXPECT_GE(events[i].rows_most, rows);
		EXPECT_EQ(events[i].columns, by_columns(&self->set));
		set_close(&self->set);
	}
}

/* START, read the matrix by rows, STOP, all sums at once */
static int sums(struct set *set, const struct choice *choice,
		struct vpmc_read *read)
{
	int err = set_open(set, choice);

	err = err ?: vpmc_ioctl(set->fd, VPMC_IOC_START, 0);
	if (err)
		return err;
	by_rows(set);
	err = vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ?: vpmc_read(set->fd, read);
	set_close(set);
	return err;
}

/* Hits and misses add up to the loads, even if others use the caches. */
TEST_F(cache, sums)
{
	static const struct choice of_loads[] = {
		{ EV_LOADS, 0 }, { EV_L1_HIT, 1 }, { EV_L1_MISS, 2 }, {}
	};
	static const struct choice of_misses[] = {
		{ EV_L1_MISS, 0 }, { EV_L2_HIT, 1 }, { EV_L2_MISS, 2 }, {}
	};
	pid_t pid = start_preempter(0, 50000);
	struct vpmc_read read;
	int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, sums(&self->set, of_loads, &read));
		EXPECT_EQ(read.sum[0], read.sum[1] + read.sum[2]);
		EXPECT_LE(NUMBERS, read.sum[0]);
		ASSERT_EQ(0, sums(&self->set, of_misses, &read));
		EXPECT_EQ(read.sum[0], read.sum[1] + read.sum[2]);
		EXPECT_LE(LINES, read.sum[0]);
	}
	EXPECT_EQ(0, stop_disturber(pid));
}

/* Loads of other threads, interrupts and switches are not counted. */
TEST_F(cache, preemptions)
{
	pid_t pid = start_preempter(0, 50000);
	struct vpmc_read few, many;

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, start(&self->set, EV_LOADS));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &few));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	/* A turn of the loop loads nothing. */
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 10000000, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &many));
	EXPECT_LE(test_often(100), page_switches(&self->set));
	EXPECT_LT(0, few.sum[0]);
	EXPECT_EQ(few.sum[0], many.sum[0]);
	EXPECT_EQ(0, stop_disturber(pid));
}

/* The inner loops end with a miss each, and so does the outer one. */
TEST_F(cache, branches)
{
	ASSERT_EQ(0, start(&self->set, EV_BR_MISSES));
	by_rows(&self->set);
	EXPECT_EQ(N + 1, by_rows(&self->set));
}

NEEDS({ "*", EXACT | FIFO },);

TEST_HARNESS_MAIN
