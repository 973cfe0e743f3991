// SPDX-License-Identifier: GPL-2.0
/*
 * usage: many N
 *
 * Has N threads at once. Each calls one function, and all end when the last one has begun.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long missing;

static void arrive(void)
{
	pthread_mutex_lock(&lock);
	if (!--missing)
		pthread_cond_broadcast(&changed);
	while (missing)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	arrive();
	return arg;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, i;
	pthread_t *thread = calloc(n + 1, sizeof(*thread));
	pthread_attr_t attr;

	if (n < 1 || !thread)
		errx(2, "usage: many N");
	missing = n;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	for (i = 0; i < n; i++) {
		errno = pthread_create(&thread[i], &attr, work, NULL);
		if (errno)
			err(1, "thread %ld", i);
	}
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
