// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * usage: stress_test [ROUNDS]
 *
 * 8 threads open, program, read and close counters at once, ROUNDS times in total.
 * Between them they parse event lists and fork. Each count must be right.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vpmc.h>

#define THREADS	8
#define TURNS	500

static unsigned int rounds = 10000;
static unsigned int wrong;

static void work(unsigned long turns)
{
	__asm__ __volatile__("1:\n\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

static void one_round(const char *list)
{
	struct vpmc_event *events;
	uint64_t a[2], b[2], ticks;
	struct vpmc_error error;
	unsigned int nr;
	struct vpmc *v;

	if (vpmc_parse_events(list, &events, &nr, &error) ||
	    vpmc_open(&v, 0, &error) ||
	    vpmc_program(v, events, nr, 0, &error) != 2)
		errx(1, "%s", error.text);
	if (vpmc_read(v, a, 2, &ticks) != 2)
		errx(1, "vpmc_read");
	work(TURNS);
	if (vpmc_read(v, b, 2, &ticks) != 2)
		errx(1, "vpmc_read");
	/* a disturbed read may also count its first attempts */
	if (b[0] - a[0] < 2 * TURNS || b[0] - a[0] > 2 * TURNS + 10000 ||
	    b[1] - a[1] < TURNS || !ticks)
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	vpmc_close(v);
	vpmc_free_events(events);
}

/*
 * Forks. The child has one of many threads. Its copies of all handles are
 * invalid, and it must not hang.
 */
static void fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		one_round("instructions,branches");
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child ends with %#x", status);
}

static void *rounds_of_thread(void *arg)
{
	unsigned long number = (unsigned long)arg;
	unsigned int i;

	for (i = 0; i < rounds / THREADS; i++) {
		/*
		 * uses libpfm4 only now and then, because its tables are long
		 */
		one_round(i % 64 ? "instructions,branches" :
			  number % 2 ? "INSTRUCTION_RETIRED,branches" :
				       "instructions,BR_INST_RETIRED:ALL_BRANCHES");
		if (i % 128 == number)
			fork_once();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	unsigned long i;

	if (argc > 1)
		rounds = atoi(argv[1]);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, rounds_of_thread, (void *)i))
			errx(1, "pthread_create");
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%u rounds, %u wrong counts\n", rounds / THREADS * THREADS, wrong);
	return wrong != 0;
}
