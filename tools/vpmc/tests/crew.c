// SPDX-License-Identifier: GPL-2.0
/*
 * usage: crew
 *
 * Three threads wait, and the first thread executes instructions, until it is killed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, waits, NULL))
			errx(1, "pthread_create");
	for (;;)
		__asm__ __volatile__("");
}
