/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of the library for MPI programs share.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MPI_COUNT_H
#define MPI_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <vpmc.h>

/* The first value is the run time in ticks. */
#define MOST_VALUES	(VPMC_MAX_COUNTERS + 1)

#define EXPORT		__attribute__((__visibility__("default")))

/* calls.awk makes calls.inc from mpi.h. */
#define CALL(name, parameters, arguments)	CALL_##name,
enum call {
#include "calls.inc"
	NR_CALLS
};
#undef CALL

/* sums over the calls of one function */
struct call_sum {
	uint64_t calls;
	uint64_t inside[MOST_VALUES];
};

/* sums over all threads, from MPI_Init() to MPI_Finalize() */
struct count_sum {
	uint64_t threads;
	uint64_t left_out;	/* threads that have not ended, or were not counted to the end */
	uint64_t outside[MOST_VALUES];
	uint64_t own[MOST_VALUES];
	struct call_sum call[NR_CALLS];
};

/* Begin after MPI_Init(), and end before MPI_Finalize(), in C or Fortran. Each once. */
void calls_begin(void);
void calls_end(void);

/*
 * Starts counting after MPI_Init(). The calling thread is counted from now on,
 * other threads from their first call on. Returns 0 or a negative error number.
 */
int count_begin(struct vpmc_error *error);

/* Called at the beginning and at the end of each call. */
void count_enter(void);
void count_leave(enum call call);

/* Stops counting at MPI_Finalize(). Returns NULL if there is no memory. */
struct count_sum *count_end(void);

/* Returns the number of values, or 0 if nothing is counted. */
unsigned int count_nr_values(void);

/*
 * count_name() returns the name of a value. count_kind() returns a number that
 * is equal in ranks that count the same.
 */
const char *count_name(unsigned int value);
uint64_t count_kind(void);

/*
 * Converts ticks to nanoseconds. Returns ticks if the kernel does not know
 * their rate.
 */
uint64_t count_time(uint64_t ticks);

/*
 * Gathers the sums of all ranks. The first rank reports them. @sum is NULL if
 * this rank has counted nothing.
 */
void gather(const struct count_sum *sum);

/* sums of one rank, in the first rank */
struct rank_part {
	uint64_t kind;		/* result of count_kind(), or 0 if the rank counts nothing */
	uint64_t calls, threads, left_out;
	const uint64_t *inside, *outside, *own;
};

struct gathered {
	unsigned int nr_values, nr_ranks, nr_calls;
	struct rank_part *rank;
	const enum call *call;		/* functions that at least one rank has called */
	/*
	 * returns the number of calls of @call in @rank, followed by the values
	 */
	const uint64_t *(*of)(const struct gathered *all, unsigned int rank,
			      unsigned int call);
	const uint64_t *data;
};

/* Writes the report that VPMC_MPI_REPORT selects. */
void report(const struct gathered *all);

#endif /* MPI_COUNT_H */
