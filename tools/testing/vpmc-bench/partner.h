/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A partner is another thread on this CPU. It answers through an eventfd, so
 * each round has a switch to it and one back.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PARTNER_H
#define PARTNER_H

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cost.h"
#include "who.h"

/*
 * @process:	The partner is in another process.
 * @who, @n, @what: The partner's counters.
 */
struct partner {
	bool process;
	enum who who;
	unsigned int n;
	struct what what;
	int to, from;
	pthread_t thread;
	pid_t pid;
};

#define GO	1ULL
#define END	2ULL

static inline void eventfd_post(int fd, uint64_t value)
{
	if (write(fd, &value, sizeof(value)) != sizeof(value))
		err(1, "eventfd");
}

static inline uint64_t eventfd_take(int fd)
{
	uint64_t value;

	if (read(fd, &value, sizeof(value)) != sizeof(value))
		err(1, "eventfd");
	return value;
}

static inline int eventfd_new(void)
{
	int fd = eventfd(0, 0);

	if (fd < 0)
		err(1, "eventfd");
	return fd;
}

static inline void partner_answer(struct partner *p)
{
	struct counters counters = {};

	be_alone(0);
	counters_open(&counters, p->who, p->n, &p->what);
	while (eventfd_take(p->to) == GO)
		eventfd_post(p->from, GO);
	counters_close(&counters);
}

static inline void *partner_thread(void *partner)
{
	partner_answer(partner);
	return NULL;
}

static inline pid_t forked(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

/*
 * Forks a process for what follows, so that earlier measurements leave nothing
 * in it. The sleep lets the kernel finish its pending work, during which a
 * switch costs more instructions.
 */
static inline pid_t fresh_process(void)
{
	usleep(20000);
	return forked();
}

/* Waits for a child, and exits if the child has failed. */
static inline void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	if (status)
		errx(1, "a child ended with %#x", status);
}

static inline void partner_start(struct partner *p)
{
	p->to = eventfd_new();
	p->from = eventfd_new();
	if (!p->process) {
		if (pthread_create(&p->thread, NULL, partner_thread, p))
			errx(1, "pthread_create");
		return;
	}
	p->pid = forked();
	if (!p->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		partner_answer(p);
		_exit(0);
	}
}

static inline void partner_stop(struct partner *p)
{
	eventfd_post(p->to, END);
	if (p->process)
		wait_for(p->pid);
	else
		pthread_join(p->thread, NULL);
	close(p->to);
	close(p->from);
}

static inline void partner_rounds(struct partner *p, int rounds,
				  struct cost *cost)
{
	int i;

	partner_start(p);
	for (i = 0; i < rounds; i++)
		COST_OF(cost, eventfd_post(p->to, GO); eventfd_take(p->from));
	partner_stop(p);
}

#endif /* PARTNER_H */
