// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Gathers the counts of all ranks in the first rank.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <mpi.h>
#include <stdlib.h>

#include "mpi-count.h"

/*
 * Layout of a rank's numbers. Three arrays of values follow, and then those of
 * each call.
 */
enum { AT_KIND, AT_CALLS, AT_THREADS, AT_LEFT_OUT, AT_VALUES };

static size_t part_size(unsigned int nr_values, unsigned int nr_calls)
{
	return AT_VALUES + 3UL * nr_values + (size_t)nr_calls * (1 + nr_values);
}

/* Lists all functions that at least one rank has called. */
static unsigned int find_calls(const struct count_sum *sum, enum call *list)
{
	int here[NR_CALLS], anywhere[NR_CALLS];
	unsigned int nr = 0, i;

	for (i = 0; i < NR_CALLS; i++)
		here[i] = sum && sum->call[i].calls;
	PMPI_Allreduce(here, anywhere, NR_CALLS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	for (i = 0; i < NR_CALLS; i++)
		if (anywhere[i])
			list[nr++] = i;
	return nr;
}

/*
 * Returns the run time in nanoseconds, because the ranks' machines may differ
 * in speed.
 */
static uint64_t value_of(const uint64_t *value, unsigned int i)
{
	return i ? value[i] : count_time(value[i]);
}

static void fill(uint64_t *part, const struct count_sum *sum, const enum call *list,
		 unsigned int nr_calls, unsigned int nr_values)
{
	uint64_t *inside = part + AT_VALUES, *outside = inside + nr_values;
	uint64_t *own = outside + nr_values, *to = own + nr_values;
	unsigned int c, i;

	part[AT_KIND] = sum->threads ? count_kind() : 0;
	part[AT_THREADS] = sum->threads;
	part[AT_LEFT_OUT] = sum->left_out;
	for (i = 0; i < nr_values; i++) {
		outside[i] = value_of(sum->outside, i);
		own[i] = value_of(sum->own, i);
	}
	for (c = 0; c < nr_calls; c++) {
		const struct call_sum *call = &sum->call[list[c]];

		part[AT_CALLS] += call->calls;
		*to++ = call->calls;
		for (i = 0; i < nr_values; i++) {
			*to = value_of(call->inside, i);
			inside[i] += *to++;
		}
	}
}

static const uint64_t *numbers_of(const struct gathered *all, unsigned int rank,
				  unsigned int call)
{
	return all->data + rank * part_size(all->nr_values, all->nr_calls) + AT_VALUES +
	       3 * all->nr_values + call * (1 + all->nr_values);
}

static void tell(const uint64_t *data, const enum call *list, unsigned int nr_calls,
		 unsigned int nr_values, int nr_ranks)
{
	size_t size = part_size(nr_values, nr_calls);
	struct gathered all = {
		.nr_values = nr_values, .nr_ranks = nr_ranks, .nr_calls = nr_calls,
		.call = list, .of = numbers_of, .data = data,
		.rank = calloc(nr_ranks, sizeof(*all.rank)),
	};
	int r;

	if (!all.rank)
		return;
	for (r = 0; r < nr_ranks; r++) {
		const uint64_t *part = data + r * size;

		all.rank[r] = (struct rank_part){
			.kind = part[AT_KIND], .calls = part[AT_CALLS],
			.threads = part[AT_THREADS], .left_out = part[AT_LEFT_OUT],
			.inside = part + AT_VALUES,
			.outside = part + AT_VALUES + nr_values,
			.own = part + AT_VALUES + 2 * nr_values,
		};
	}
	report(&all);
	free(all.rank);
}

/* All ranks must call this, also those that count nothing. */
void gather(const struct count_sum *sum)
{
	unsigned int here = sum ? count_nr_values() : 0, nr_values = here, nr_calls;
	enum call list[NR_CALLS];
	uint64_t *part, *data = NULL;
	int rank, nr_ranks, room;
	size_t size;

	PMPI_Bcast(&nr_values, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
	if (!nr_values)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &nr_ranks);
	nr_calls = find_calls(sum, list);
	size = part_size(nr_values, nr_calls);
	part = calloc(size, sizeof(*part));
	if (!rank)
		data = calloc(nr_ranks * size, sizeof(*data));
	/* If one rank has no memory, none may wait in PMPI_Gather(). */
	room = part && (rank || data);
	PMPI_Allreduce(MPI_IN_PLACE, &room, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (room) {
		if (here == nr_values)
			fill(part, sum, list, nr_calls, nr_values);
		PMPI_Gather(part, size, MPI_UINT64_T, data, size, MPI_UINT64_T, 0,
			    MPI_COMM_WORLD);
		if (!rank)
			tell(data, list, nr_calls, nr_values, nr_ranks);
	}
	free(part);
	free(data);
}
