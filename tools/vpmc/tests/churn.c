// SPDX-License-Identifier: GPL-2.0
/*
 * usage: churn
 *
 * Creates threads that end at once, until it is killed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <pthread.h>
#include <stddef.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_t thread[4];
	int i;

	for (;;) {
		for (i = 0; i < 4; i++)
			if (pthread_create(&thread[i], NULL, nothing, NULL))
				errx(1, "pthread_create");
		for (i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	}
}
