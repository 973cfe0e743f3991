/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that sleeps in poll().
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef POLLER_H
#define POLLER_H

#include <poll.h>
#include "proc.h"
#include "vpmc_test.h"

/* Waits without limit; returns what poll() reported. */
struct poller {
	pthread_t thread;
	volatile pid_t tid;
	int fd;
	short revents;
	int n;
};

static inline void *poll_thread(void *arg)
{
	struct poller *poller = arg;
	struct pollfd p = { .fd = poller->fd, .events = POLLIN };

	poller->tid = my_tid();
	poller->n = poll(&p, 1, -1);
	poller->revents = p.revents;
	return NULL;
}

/* Returns when it sleeps. */
static inline int start_poller(struct poller *poller, int fd)
{
	poller->fd = fd;
	poller->tid = 0;
	if (pthread_create(&poller->thread, NULL, poll_thread, poller))
		return -1;
	while (!poller->tid || task_state(poller->tid) != 'S')
		usleep(100);
	return 0;
}

/* The events that woke it, or -1. */
static inline int end_poller(struct poller *poller)
{
	if (pthread_join(poller->thread, NULL))
		return -1;
	return poller->n == 1 ? poller->revents : -1;
}

static inline int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&p, 1, 0) < 0 ? -errno : p.revents;
}

#endif /* POLLER_H */
