/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the library for MPI programs share.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MPI_COUNT_H
#define MPI_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <vpmc.h>

/* The run time first, in ticks. */
#define MOST_VALUES	(VPMC_MAX_COUNTERS + 1)

#define EXPORT		__attribute__((__visibility__("default")))

/* calls.inc is what calls.awk has made of mpi.h. */
#define CALL(name, parameters, arguments)	CALL_##name,
enum call {
#include "calls.inc"
	NR_CALLS
};
#undef CALL

/* What was done in the calls of one function. */
struct call_sum {
	uint64_t calls;
	uint64_t inside[MOST_VALUES];
};

/* What threads have done together, from MPI_Init() to MPI_Finalize(). */
struct count_sum {
	uint64_t threads;
	uint64_t left_out;	/* threads that have not ended */
	uint64_t outside[MOST_VALUES];
	uint64_t own[MOST_VALUES];
	struct call_sum call[NR_CALLS];
};

/*
 * MPI_Init() has returned: the calling thread is counted from here on, others from their
 * first call on. 0, or a negative error number.
 */
int count_begin(struct vpmc_error *error);

/* Around each call. */
void count_enter(void);
void count_leave(enum call call);

/* MPI_Finalize() is called: nothing more is counted. NULL: there is no memory. */
struct count_sum *count_end(void);

/* How many values there are; 0: nothing is counted. */
unsigned int count_nr_values(void);

/* The name of a value, and a number that is the same where the same is counted. */
const char *count_name(unsigned int value);
uint64_t count_kind(void);

/* In nanoseconds, or in ticks if the kernel does not know their rate. */
uint64_t count_time(uint64_t ticks);

/* Gathers what all ranks have counted; the first one tells it. @sum: NULL: nothing. */
void gather(const struct count_sum *sum);

/* What the first rank has gathered. */
struct rank_part {
	uint64_t kind;		/* of count_kind(); 0: it counts nothing */
	uint64_t calls, threads, left_out;
	const uint64_t *inside, *outside, *own;
};

struct gathered {
	unsigned int nr_values, nr_ranks, nr_calls;
	struct rank_part *rank;
	const enum call *call;		/* those that a rank has called */
	/* of @call by @rank: how often, and then the values */
	const uint64_t *(*of)(const struct gathered *all, unsigned int rank,
			      unsigned int call);
	const uint64_t *data;
};

/* By VPMC_MPI_REPORT. */
void report(const struct gathered *all);

#endif /* MPI_COUNT_H */
