/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many who poll one set, and how late interrupts are meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef WATCHED_H
#define WATCHED_H

#include <sys/epoll.h>

#include "disturb.h"
#include "moments.h"
#include "proc.h"

/* Each of so many epoll instances watches so many descriptors of one set. */
#define WATCHES_FILE	"/proc/sys/fs/epoll/max_user_watches"
#define EPOLLS		400
#define WATCHED		500

struct watchers {
	int fd[WATCHED], epoll[EPOLLS];
	pthread_t prober;
};

static volatile bool prober_stops, prober_wrong;

static volatile double latest_ms;

/* Wakes up all the time on CPU 0, and notes how late at most. */
static void *prober(void *unused)
{
	const struct sched_param first = { .sched_priority = 50 };
	struct timespec at;
	double late;

	if (pin(0) || sched_setscheduler(0, SCHED_FIFO, &first))
		prober_wrong = true;
	clock_gettime(CLOCK_MONOTONIC, &at);
	while (!prober_stops) {
		at.tv_nsec += 500000;
		if (at.tv_nsec >= 1000000000) {
			at.tv_nsec -= 1000000000;
			at.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		late = ms_now() - (at.tv_sec * 1e3 + at.tv_nsec * 1e-6);
		if (late > latest_ms)
			latest_ms = late;
	}
	return NULL;
}

/*
 * Waits until the prober preempts this thread at once, so that only interrupts can make it
 * late. Until a second after boot, Linux 7's deadline server runs the fair class before
 * SCHED_FIFO.
 */
static bool prober_preempts(void)
{
	int tries = 500;
	double end;

	do {
		latest_ms = 0;
		end = ms_now() + 10;
		while (ms_now() < end)
			;
	} while (latest_ms > 1 && --tries);
	return tries;
}

/* They wait for @events of @fd, and the prober begins. Returns 0 or -errno. */
static inline int watchers_start(struct watchers *w, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int i, j, err = write_file(WATCHES_FILE, "1000000");

	prober_stops = false;
	prober_wrong = false;
	for (i = 0; !err && i < WATCHED; i++) {
		w->fd[i] = dup(fd);
		err = w->fd[i] < 0 ? -errno : 0;
	}
	for (i = 0; !err && i < EPOLLS; i++) {
		w->epoll[i] = epoll_create1(0);
		for (j = 0; !err && j < WATCHED; j++)
			err = epoll_ctl(w->epoll[i], EPOLL_CTL_ADD, w->fd[j], &event) ?
			      -errno : 0;
	}
	if (!err)
		err = -pthread_create(&w->prober, NULL, prober, NULL);
	if (err)
		return err;
	usleep(10000);
	return prober_preempts() ? 0 : -ETIME;
}

/* Returns 0, or not if the prober could not work. */
static inline int watchers_end(struct watchers *w)
{
	int i, err;

	prober_stops = true;
	err = pthread_join(w->prober, NULL);
	for (i = 0; i < EPOLLS; i++)
		close(w->epoll[i]);
	for (i = 0; i < WATCHED; i++)
		close(w->fd[i]);
	return err || prober_wrong;
}

/* Does each instance report this event of each descriptor? 0, or the first that does not. */
static inline int not_seen(const struct watchers *w, uint32_t expected)
{
	struct epoll_event event[WATCHED];
	int i, j;

	for (i = 0; i < EPOLLS; i++) {
		if (epoll_wait(w->epoll[i], event, WATCHED, 0) != WATCHED)
			return i + 1;
		for (j = 0; j < WATCHED; j++)
			if (!(event[j].events & expected))
				return i + 1;
	}
	return 0;
}

#endif /* WATCHED_H */
