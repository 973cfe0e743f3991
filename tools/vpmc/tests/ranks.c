// SPDX-License-Identifier: GPL-2.0
/*
 * usage: ranks TURNS [thread]
 *
 * An MPI program with known differences between its ranks. Rank R executes R * TURNS
 * iterations of 2 instructions outside of MPI. It executes twice as many inside of
 * MPI, in a function that MPI_Comm_delete_attr() calls. It also makes R * 1000 calls
 * of a short function. Apart from that, only waiting in MPI depends on the rank. With
 * "thread", another thread executes the inside part once more.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <mpi.h>
#include <pthread.h>
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

static unsigned long inside;

static void *set_and_forget(void *arg)
{
	int key;

	(void)arg;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &inside);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, sum = 0;
	int rank, provided, size, i;
	pthread_t thread;

	if (!turns || MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided))
		return 2;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	inside = 1000 + 2 * rank * turns;
	MPI_Barrier(MPI_COMM_WORLD);
	loop(1000 + rank * turns);
	i = 1 + 1000 * rank;
	do
		MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (--i);
	set_and_forget(NULL);
	if (argc > 2 && (provided != MPI_THREAD_MULTIPLE ||
			 pthread_create(&thread, NULL, set_and_forget, NULL) ||
			 pthread_join(thread, NULL)))
		return 3;
	MPI_Allreduce(&inside, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
