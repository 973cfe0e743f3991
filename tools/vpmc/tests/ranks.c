// SPDX-License-Identifier: GPL-2.0
/*
 * usage: ranks TURNS
 *
 * A program on MPI with known differences between its ranks: rank R executes R * TURNS
 * turns of 2 instructions outside of MPI and twice as many inside, in a function that
 * MPI_Comm_delete_attr() calls. Nothing else depends on the rank but what MPI itself
 * does in calls that wait for others.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void loop(unsigned long n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n));
}

static int forget(MPI_Comm comm, int key, void *value, void *state)
{
	(void)comm;
	(void)key;
	(void)state;
	loop(*(unsigned long *)value);
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	unsigned long turns = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, inside, sum = 0;
	int key, rank;

	if (!turns || MPI_Init(&argc, &argv))
		return 2;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &inside);
	inside = 1000 + 2 * rank * turns;
	MPI_Barrier(MPI_COMM_WORLD);
	loop(1000 + rank * turns);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	MPI_Allreduce(&inside, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
