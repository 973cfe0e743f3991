/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Partners of the disturbed thread in a sweep: it and they take turns on CPU 0.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PARTNER_H
#define PARTNER_H

#include "disturb.h"

/*
 * A thread or process on CPU 0 with the same priority as the disturbed one. It
 * calls sched_yield() in a loop, with or without counters.
 */
struct partner {
	const struct choice *choice;
	bool process;
	pthread_t thread;
	pid_t pid;
	pid_t tid;
	int fd;
	volatile bool runs;
};

static inline void *partner_thread(void *arg)
{
	struct partner *p = arg;
	struct set set = { .fd = -1 };

	if (pin(0) || set_fifo(10) ||
	    (p->choice && set_open(&set, p->choice)))
		_exit(1);
	p->fd = set.fd;
	p->tid = my_tid();
	p->runs = true;
	if (p->choice)
		set_measure(&set, code_yield, LONG_MAX, 1);
	else
		code_yield(LONG_MAX, 1);
	return NULL;
}

/* In shared memory. To be called on CPU 0. */
static inline struct partner *start_partner(bool process,
					    const struct choice *choice)
{
	struct partner *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (p == MAP_FAILED)
		return NULL;
	p->process = process;
	p->choice = choice;
	if (process) {
		pid = disturber();
		if (!pid)
			partner_thread(p);
		p->pid = pid;
	} else if (!pthread_create(&p->thread, NULL, partner_thread, p)) {
		p->pid = getpid();
	}
	if (p->pid <= 0)
		return NULL;
	while (!p->runs)
		sched_yield();
	if (!choice)
		return p;
	/* The descriptor is from the other process. */
	if (process)
		p->fd = syscall(SYS_pidfd_getfd,
				syscall(SYS_pidfd_open, p->pid, 0), p->fd, 0);
	/*
	 * It starts counting before it yields. This thread continues only then.
	 */
	sched_yield();
	return p;
}

/*
 * To be called on CPU 0: the partner is in sched_yield(), and has executed 7
 * instructions and 2 branches each time.
 */
static inline int partner_wrong(const struct partner *p)
{
	uint64_t insns = 0, branches = 0;
	struct vpmc_read read;
	unsigned int i;

	if (!p->choice)
		return 0;
	if (vpmc_read(p->fd, &read))
		return 1;
	for (i = 0; p->choice[i].evtsel; i++)
		*(p->choice[i].evtsel == EV_INSNS ? &insns : &branches) =
			read.sum[i];
	if (2 * insns == 7 * branches + 4)
		return 0;
	fprintf(stderr, "# partner: %llu instructions, %llu branches\n",
		(unsigned long long)insns, (unsigned long long)branches);
	return 1;
}

/*
 * A partner that is a thread runs until its process ends, at a lower priority.
 * Call this before anything for which the kernel waits for one of its threads
 * on that CPU.
 */
static inline int stop_partner(struct partner *p)
{
	const struct sched_param param = {};

	close(p->fd);
	if (p->process)
		return stop_disturber(p->pid);
	return sched_setscheduler(p->tid, SCHED_OTHER, &param);
}

/* The partners there are, as variants of a fixture. See sweep.h for the choices. */
#define PARTNERS(fixture)						\
FIXTURE_VARIANT(fixture) {						\
	bool process;							\
	const struct choice *choice;					\
};									\
FIXTURE_VARIANT_ADD(fixture, thread) { false, NULL };			\
FIXTURE_VARIANT_ADD(fixture, process) { true, NULL };			\
FIXTURE_VARIANT_ADD(fixture, counting_thread) { false, mine };		\
FIXTURE_VARIANT_ADD(fixture, counting_process) { true, mine };		\
FIXTURE_VARIANT_ADD(fixture, process_counting_others) { true, others }

#endif /* PARTNER_H */
