// SPDX-License-Identifier: MIT
#include <err.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "compete.h"

/*
 * Each works for a while and sleeps for a while. While one sleeps, there are
 * three to share the processors, and the kernel moves them about.
 */
static const struct {
	unsigned int work;	/* turns of a loop */
	unsigned int sleep_ms;
} bursts[] = {
	{ 20000000, 5 },
	{ 13000000, 9 },
};

#define NR_PROGRAMS	(sizeof(bursts) / sizeof(bursts[0]))

static pid_t programs[NR_PROGRAMS];

static _Noreturn void program(unsigned int work, unsigned int sleep_ms)
{
	struct timespec pause = { .tv_nsec = sleep_ms * 1000000L };

	for (;;) {
		for (unsigned int i = 0; i < work; i++)
			__asm__ volatile("");
		nanosleep(&pause, NULL);
	}
}

void compete_start(void)
{
	for (unsigned int i = 0; i < NR_PROGRAMS; i++) {
		programs[i] = fork();
		if (programs[i] < 0)
			err(1, "fork");
		if (!programs[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			program(bursts[i].work, bursts[i].sleep_ms);
		}
	}
}

void compete_end(void)
{
	for (unsigned int i = 0; i < NR_PROGRAMS; i++) {
		kill(programs[i], SIGKILL);
		waitpid(programs[i], NULL, 0);
	}
}
