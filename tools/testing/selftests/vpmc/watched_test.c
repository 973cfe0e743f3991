// SPDX-License-Identifier: GPL-2.0
/*
 * Those who poll sets are woken, however many they are, and interrupts get through
 * meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/epoll.h>

#include "inherit.h"
#include "moments.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

static volatile bool stop;
static int wrong;

/* Each of so many epoll instances watches so many descriptors of one set. */
#define WATCHES_FILE	"/proc/sys/fs/epoll/max_user_watches"
#define EPOLLS		400
#define WATCHED		500

FIXTURE(watched)
{
	struct set set;
	int fd[WATCHED], epoll[EPOLLS];
	pthread_t prober;
};

static volatile double latest_ms;

/* Wakes up all the time on CPU 0, and notes how late at most. */
static void *prober(void *unused)
{
	const struct sched_param first = { .sched_priority = 50 };
	struct timespec at;
	double late;

	if (pin(0) || sched_setscheduler(0, SCHED_FIFO, &first))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &at);
	while (!stop) {
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

FIXTURE_SETUP(watched)
{
	struct epoll_event event = {};
	int i, j;

	stop = false;
	wrong = 0;
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, inherited));
	ASSERT_EQ(0, write_file(WATCHES_FILE, "1000000"));
	for (i = 0; i < WATCHED; i++)
		ASSERT_LE(0, self->fd[i] = dup(self->set.fd));
	for (i = 0; i < EPOLLS; i++) {
		ASSERT_LE(0, self->epoll[i] = epoll_create1(0));
		for (j = 0; j < WATCHED; j++)
			ASSERT_EQ(0, epoll_ctl(self->epoll[i], EPOLL_CTL_ADD,
					       self->fd[j], &event));
	}
	ASSERT_EQ(0, pthread_create(&self->prober, NULL, prober, NULL));
	usleep(10000);
	ASSERT_TRUE(prober_preempts());
}

FIXTURE_TEARDOWN(watched)
{
	int i;

	stop = true;
	EXPECT_EQ(0, pthread_join(self->prober, NULL));
	EXPECT_EQ(0, wrong);
	for (i = 0; i < EPOLLS; i++)
		close(self->epoll[i]);
	for (i = 0; i < WATCHED; i++)
		close(self->fd[i]);
	set_close(&self->set);
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
}

/* Does each instance report this event of each descriptor? */
static int not_seen(const int *epoll, uint32_t expected)
{
	struct epoll_event event[WATCHED];
	int i, j;

	for (i = 0; i < EPOLLS; i++) {
		if (epoll_wait(epoll[i], event, WATCHED, 0) != WATCHED)
			return i + 1;
		for (j = 0; j < WATCHED; j++)
			if (!(event[j].events & expected))
				return i + 1;
	}
	return 0;
}

/* A revocation wakes all of them, and interrupts get through. */
TEST_F_TIMEOUT(watched, revocation, 120)
{
	latest_ms = 0;
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	usleep(2000);
	TH_LOG("interrupts late by %.3f ms at most", latest_ms);
	EXPECT_GT(BOUND_MS * test_slowness(), latest_ms);
	EXPECT_EQ(0, not_seen(self->epoll, EPOLLERR));
}

/* So does the end of the set. */
TEST_F_TIMEOUT(watched, end, 120)
{
	latest_ms = 0;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, NULL));
	usleep(2000);
	TH_LOG("interrupts late by %.3f ms at most", latest_ms);
	EXPECT_GT(BOUND_MS * test_slowness(), latest_ms);
	EXPECT_EQ(0, not_seen(self->epoll, EPOLLHUP));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
