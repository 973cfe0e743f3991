// SPDX-License-Identifier: GPL-2.0
/*
 * usage: crew [listen]
 *
 * Three threads wait, and the first thread executes instructions, until it is killed. With
 * "listen", the first thread waits for lines instead:
 *
 *   more	creates one more thread
 *   other	ends the thread that was created last, and then creates another one
 *   poll	gives the process a thread of the kernel, io_uring's
 *   leave	ends the first thread; the others live on
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t last;

static void *waits(void *arg)
{
	pause();
	return arg;
}

static void ends_pause(int signal)
{
	(void)signal;
}

static void create(void)
{
	if (pthread_create(&last, NULL, waits, NULL))
		errx(1, "pthread_create");
}

static void replace(void)
{
	if (pthread_kill(last, SIGUSR1) || pthread_join(last, NULL))
		errx(1, "pthread_kill");
	create();
}

static void listen_to(FILE *file)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1 };
	char line[16];

	while (fgets(line, sizeof(line), file))
		if (!strcmp(line, "more\n"))
			create();
		else if (!strcmp(line, "other\n"))
			replace();
		else if (!strcmp(line, "poll\n") && syscall(SYS_io_uring_setup, 1, &params) < 0)
			err(1, "io_uring_setup");
		else if (!strcmp(line, "leave\n"))
			pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	int i;

	signal(SIGUSR1, ends_pause);
	for (i = 0; i < 3; i++)
		create();
	if (argc > 1 && !strcmp(argv[1], "listen"))
		listen_to(stdin);
	for (;;)
		__asm__ __volatile__("");
}
