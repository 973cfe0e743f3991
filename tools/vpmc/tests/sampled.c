// SPDX-License-Identifier: GPL-2.0
/*
 * usage: sampled SCENE TURNS
 *
 * A program for vpmc record. Each function has a loop in one line, which executes 2
 * instructions in each of its TURNS iterations.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOP(n)	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n))

__attribute__((__noinline__)) static void one(unsigned long n)
{
	LOOP(n); /* line: one */
}

__attribute__((__noinline__)) static void two(unsigned long n)
{
	LOOP(n); /* line: two */
}

__attribute__((__noinline__)) static void three(unsigned long n)
{
	LOOP(n); /* line: three */
}

static unsigned long turns;

static void *thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	three(3 * turns);
	return NULL;
}

static void two_threads(void *(*function)(void *))
{
	pthread_t id[2];

	if (pthread_create(&id[0], NULL, function, "first") ||
	    pthread_create(&id[1], NULL, function, "second"))
		errx(1, "pthread_create");
	pthread_join(id[0], NULL);
	pthread_join(id[1], NULL);
}

/* Stays on CPU 0 and 1 in turn, with a switch in the middle of each stay. */
static void *stays(void *name)
{
	int cpu = !strcmp(name, "second"), i;
	cpu_set_t cpus;

	pthread_setname_np(pthread_self(), name);
	for (i = 0; i < 4; i++, cpu = !cpu) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			err(1, "sched_setaffinity");
		three(turns);
		usleep(1000);
		three(turns);
	}
	return NULL;
}

static void *brief(void *name)
{
	pthread_setname_np(pthread_self(), name);
	three(turns / 200);
	return NULL;
}

/*
 * Both threads begin on CPU 0. One moves three times, the other one four times.
 * Then a third thread starts and ends soon.
 */
static void moving(void)
{
	cpu_set_t cpus;
	pthread_t id;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		err(1, "sched_setaffinity");
	two_threads(stays);
	if (pthread_create(&id, NULL, brief, "third"))
		errx(1, "pthread_create");
	pthread_join(id, NULL);
}

/* Is in a loop, and then in a system call that blocks. */
static void blocking(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		one(turns);
		usleep(1);
	}
}

/* Makes a child that ends at once, and one that executes another program. */
static void children(char *program, char *number)
{
	char *argv[] = { program, "plain", number, NULL };

	if (!fork()) {
		three(3 * turns);
		_exit(0);
	}
	wait(NULL);
	if (!fork()) {
		three(3 * turns);
		execv(program, argv);
		_exit(1);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: sampled SCENE TURNS");
	turns = strtoul(argv[2], NULL, 0);
	if (!strcmp(argv[1], "alone") &&
	    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 10 }))
		err(1, "sched_setscheduler");
	one(turns);
	two(2 * turns);
	if (!strcmp(argv[1], "threads"))
		two_threads(thread);
	else if (!strcmp(argv[1], "moving"))
		moving();
	else if (!strcmp(argv[1], "children"))
		children("/proc/self/exe", argv[2]);
	else if (!strcmp(argv[1], "blocking"))
		blocking();
	else if (!strcmp(argv[1], "killed"))
		raise(SIGKILL);
	else if (!strcmp(argv[1], "forever"))
		for (;;)
			one(turns);
	return 0;
}
