// SPDX-License-Identifier: GPL-2.0
/*
 * usage: ranks TURNS [thread | many | other | clear | stop | added]
 *
 * An MPI program with known differences between its ranks. Rank R executes R * TURNS
 * iterations of 2 instructions outside of MPI. It executes twice as many inside of
 * MPI, in a function that MPI_Comm_delete_attr() calls. It also makes R * 1000 calls
 * of a short function. Apart from that, only waiting in MPI depends on the rank. With
 * "thread", another thread executes the inside part once more. With "many", 300 threads
 * call the short function, one after the other. With "other", such a thread has programmed
 * a set of other events before, with as many counters. With "clear" the first thread's sums are
 * cleared behind all of that, and with "stop" its set is stopped. With "added" it has a set of
 * instructions before, and another part of the program has added branches, until MPI_Init()
 * returns.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <linux/vpmc.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

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

static void *call_once(void *arg)
{
	int size;

	(void)arg;
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	return NULL;
}

/* Counts other events, and as many as the other threads. */
static void *call_with_others(void *arg)
{
	struct vpmc_control control = { .size = sizeof(control), .nr_counters = 2 };
	int fd = open("/proc/thread-self/perfctr", O_RDWR | O_CREAT, 0666);

	control.counter[0].evtsel = 0x100f0;
	control.counter[1].evtsel = 0x101f0;
	control.counter[0].index = control.counter[1].index = VPMC_ANY;
	if (fd < 0 || ioctl(fd, VPMC_IOC_CONTROL, &control))
		return arg;
	close(fd);
	return call_once(NULL);
}

static unsigned int nr_descriptors(void)
{
	unsigned int nr = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* The most memory that the process has had, in KiB */
static long memory(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_maxrss;
}

/* Returns false if one fails, or leaves a descriptor, or if they leave 40 KiB each. */
static bool run_threads(unsigned int nr, void *(*run)(void *arg))
{
	unsigned int before = nr_descriptors();
	long most = memory() + 4000 + 40 * nr;
	pthread_t thread;
	void *bad;

	while (nr--)
		if (pthread_create(&thread, NULL, run, &bad) || pthread_join(thread, &bad) || bad)
			return false;
	return nr_descriptors() == before && memory() < most;
}

static bool request(unsigned long nr)
{
	int fd = open("/proc/thread-self/perfctr", O_RDWR), err;

	err = fd < 0 || ioctl(fd, nr, 0);
	close(fd);
	return !err;
}

static int count(unsigned int event, unsigned int flags)
{
	struct vpmc_control control = { .size = sizeof(control), .flags = flags, .nr_counters = 1 };
	int fd = open("/proc/thread-self/perfctr", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	control.counter[0].evtsel = event;
	control.counter[0].index = VPMC_ANY;
	return fd < 0 || ioctl(fd, VPMC_IOC_CONTROL, &control) ? -1 : fd;
}

int main(int argc, char **argv)
{
	unsigned long turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, sum = 0;
	int rank, provided, size, i, added = -1;

	if (argc > 2 && !strcmp(argv[2], "added") &&
	    (count(0x100c0, 0) < 0 || (added = count(0x100c4, VPMC_CONTROL_ADD)) < 0))
		return 8;
	if (!turns || MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided))
		return 2;
	close(added);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	inside = 1000 + 2 * rank * turns;
	MPI_Barrier(MPI_COMM_WORLD);
	loop(1000 + rank * turns);
	i = 1 + 1000 * rank;
	do
		MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (--i);
	set_and_forget(NULL);
	if (argc > 2 && provided != MPI_THREAD_MULTIPLE)
		return 3;
	if (argc > 2 && !strcmp(argv[2], "thread") && !run_threads(1, set_and_forget))
		return 3;
	if (argc > 2 && !strcmp(argv[2], "many") && !run_threads(300, call_once))
		return 4;
	if (argc > 2 && !strcmp(argv[2], "other") && !run_threads(1, call_with_others))
		return 5;
	if (argc > 2 && !strcmp(argv[2], "clear") && !request(VPMC_IOC_CLEAR))
		return 6;
	if (argc > 2 && !strcmp(argv[2], "stop") && !request(VPMC_IOC_STOP))
		return 7;
	MPI_Allreduce(&inside, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
