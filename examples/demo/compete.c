// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "compete.h"

#define NR_PROGRAMS	2

static pid_t programs[NR_PROGRAMS];

/* A program stays on one processor for this time, and then goes to the next. */
static const int stay_ms[NR_PROGRAMS] = { 7, 17 };

static int processor_now(int stay)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec * 1000 + now.tv_nsec / 1000000) / stay %
		sysconf(_SC_NPROCESSORS_ONLN);
}

/*
 * When both are on one processor, the kernel moves measured threads away from
 * it.
 */
static _Noreturn void program(int stay)
{
	int where = -1, next;
	cpu_set_t set;

	for (;;) {
		next = processor_now(stay);
		if (next != where) {
			where = next;
			CPU_ZERO(&set);
			CPU_SET(where, &set);
			sched_setaffinity(0, sizeof(set), &set);
		}
		for (int i = 0; i < 100000; i++)
			__asm__ volatile("");
	}
}

void compete_start(void)
{
	for (int i = 0; i < NR_PROGRAMS; i++) {
		programs[i] = fork();
		if (programs[i] < 0)
			err(1, "fork");
		if (!programs[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			program(stay_ms[i]);
		}
	}
}

void compete_end(void)
{
	for (int i = 0; i < NR_PROGRAMS; i++) {
		kill(programs[i], SIGKILL);
		waitpid(programs[i], NULL, 0);
	}
}
