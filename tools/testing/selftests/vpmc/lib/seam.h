/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets of each kind, which must count right whatever else happens on the machine. The
 * worker is this thread, or a child whose counts this thread reads.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SEAM_H
#define SEAM_H

#include "members.h"
#include "target.h"
#include "ring.h"
#include "sample.h"

enum seam_kind {
	PLAIN,		/* two counters */
	KERNEL_TOO,	/* another counter counts the kernel, too */
	SIGNALS,	/* a period, and a signal at its end */
	RECORDS,	/* a period, and a ring */
	SAMPLED,	/* a period, and samples */
	INHERITED,	/* the child has inherited the set; records of members are kept */
	CONTROLLED,	/* this process has programmed the child's set */
	GROWN,		/* another descriptor has added a counter */
};

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

#define PIECES		3
#define SEAM_PERIOD	1000
#define SEAM_TURNS	10000		/* of code_loop() for one piece of work */

/**
 * struct seam - A set and its worker
 * @kind:	Which set.
 * @set:	The worker's, or the root's.
 * @adder:	With GROWN: the other descriptor.
 * @child:	The worker, if it is not this thread; else its pid is 0.
 * @worker:	Id of the worker's thread.
 * @pieces:	How many pieces of work were counted.
 * @ring:	With RECORDS.
 * @samples:	With SAMPLED: what was read so far.
 * @periods:	Records or samples that were read so far.
 */
struct seam {
	enum seam_kind kind;
	struct set set;
	int adder;
	struct child child;
	pid_t worker;
	unsigned int pieces;
	const struct vpmc_ring *ring;
	struct samples samples;
	uint64_t periods;
};

static volatile uint64_t seam_signals;

static inline void seam_handler(int sig)
{
	seam_signals++;
}

static const struct choice seam_plain[] = {
	{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
};

/* The first counter counts user mode alone, as in the other sets. */
static const struct choice seam_kernel[] = {
	{ EV_INSNS, VPMC_ANY }, { 0x300c0, VPMC_ANY }, {}
};

/* The child's part: one piece of work for each byte, on CPU 1. */
static inline void seam_child(struct child *c)
{
	struct set set = { .page = MAP_FAILED };

	if (pin(1) || child_send(c))
		_exit(1);
	while (!child_wait(c)) {
		set.fd = open(THREAD_FILE, O_RDWR);
		if (set.fd < 0 || set_measure(&set, code_loop, SEAM_TURNS, 0) ||
		    close(set.fd) || child_send(c))
			_exit(2);
	}
	_exit(0);
}

/* The set counts one event more. */
static inline int seam_add(struct seam *s)
{
	static const struct choice more[] = { { EV_INSNS, VPMC_ANY }, {} };
	struct vpmc_control control;

	if (s->adder)
		close(s->adder);
	s->adder = vpmc_open();
	control_of(&control, more, VPMC_CONTROL_ADD);
	return vpmc_ioctl(s->adder, VPMC_IOC_CONTROL, &control);
}

static inline int seam_program(struct seam *s)
{
	struct vpmc_control *control = &s->set.control;
	int err;

	control_of(control, s->kind == KERNEL_TOO ? seam_kernel : seam_plain,
		   VPMC_CONTROL_STOPPED);
	if (s->kind == SIGNALS || s->kind == RECORDS || s->kind == SAMPLED) {
		control->counter[0].period = SEAM_PERIOD;
		control->flags |= VPMC_CONTROL_REARM;
	}
	if (s->kind == SIGNALS)
		control->signal = OVERFLOW_SIGNAL;
	if (s->kind == RECORDS || s->kind == SAMPLED) {
		control->ring_records = 256;
		control->ring_watermark = 128;
	}
	if (s->kind == SAMPLED)
		control->flags |= VPMC_CONTROL_SAMPLE;
	if (s->kind == INHERITED) {
		control->flags |= PROCESSES;
		control->members = 4;
	}
	s->pieces = 0;
	s->periods = 0;
	seam_signals = 0;
	err = set_control(&s->set);
	if (!err && s->kind == GROWN)
		err = seam_add(s);
	if (err || s->kind != RECORDS)
		return err;
	/* Each set has a ring of its own. */
	if (s->ring)
		ring_unmap(&s->set, s->ring);
	s->ring = ring_map(&s->set);
	return s->ring == MAP_FAILED ? -1 : 0;
}

static inline int seam_fork(struct seam *s)
{
	if (child_fork(&s->child) < 0)
		return -1;
	if (!s->child.pid)
		seam_child(&s->child);
	s->worker = s->child.pid;
	return child_wait(&s->child);
}

/* 0 or an error. This thread is on CPU 0. */
static inline int seam_open(struct seam *s, enum seam_kind kind)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->set.page = MAP_FAILED;
	s->worker = my_tid();
	if (kind == CONTROLLED && seam_fork(s))
		return -1;
	s->set.fd = kind == CONTROLLED ?
		    open_of(s->worker, O_RDWR | O_CREAT) : vpmc_open();
	if (s->set.fd < 0 || signal(OVERFLOW_SIGNAL, seam_handler) == SIG_ERR ||
	    (kind == SAMPLED && samples_alloc(&s->samples)))
		return -1;
	err = seam_program(s);
	if (err)
		return err;
	if (kind != CONTROLLED) {
		s->set.page = vpmc_map(s->set.fd);
		if (s->set.page == MAP_FAILED)
			return -1;
	}
	return kind == INHERITED ? seam_fork(s) : 0;
}

static inline void seam_close(struct seam *s)
{
	if (s->child.pid)
		child_end(&s->child);
	if (s->ring && s->ring != MAP_FAILED)
		ring_unmap(&s->set, s->ring);
	if (s->kind == SAMPLED)
		samples_free(&s->samples);
	if (s->kind == GROWN)
		close(s->adder);
	set_close(&s->set);
	signal(OVERFLOW_SIGNAL, SIG_DFL);
}

/* Takes out what the kernel has recorded. */
static inline int seam_drain(struct seam *s)
{
	int n;

	if (s->kind == RECORDS) {
		for (n = 0; n < vpmc_ring_unread(s->ring); n++)
			s->periods += vpmc_ring_record(s->ring, n)->periods;
		return ring_consume(&s->set, n) ?: vpmc_ring_lost(s->ring) > 0;
	}
	if (s->kind != SAMPLED)
		return 0;
	if (samples_read(s->set.fd, &s->samples))
		return -1;
	for (n = 0; n < s->samples.nr; n++) {
		const struct vpmc_sample *sample = (void *)s->samples.record[n];

		if (sample->head.type == VPMC_SAMPLE_PERIOD ||
		    sample->head.type == VPMC_SAMPLE_DELAYED)
			s->periods += sample->periods;
	}
	samples_forget(&s->samples);
	return 0;
}

/* One piece of work, which is counted. */
static inline int seam_work(struct seam *s)
{
	s->pieces++;
	if (s->child.pid)
		return child_send(&s->child) ?: child_wait(&s->child);
	return set_measure(&s->set, code_loop, SEAM_TURNS, 0) ?: seam_drain(s);
}

/* Is the worker the first in the list of members, with the counts of all? */
static inline bool seam_lists(const struct seam *s, const struct vpmc_read *read)
{
	struct vpmc_member member[1];

	return members_list(s->set.fd, LIVING, member, 1) == 1 &&
	       member[0].tid == s->worker &&
	       member[0].sum[0] == read->sum[0] &&
	       member[0].sum[1] == read->sum[1];
}

/*
 * Returns 0 if all pieces of work were counted to the instruction, and each end of a
 * period was told once.
 */
static inline int seam_wrong(struct seam *s)
{
	struct code_count piece = code_add(CODE_MEASURE, CODE_LOOP(SEAM_TURNS));
	uint64_t want = s->pieces * piece.insns, periods;
	struct vpmc_read read;
	int err = family_read(s->set.fd, s->kind == INHERITED ? LIVING | FINISHED : 0,
			      &read);

	if (err || seam_drain(s))
		return -1;
	periods = read.sum[0] / SEAM_PERIOD;
	if (s->kind == INHERITED && !seam_lists(s, &read))
		return -1;
	switch (s->kind) {
	case SIGNALS:
		/* The handler is counted, too. A late signal stands for more periods. */
		if (read.sum[0] >= want &&
		    seam_signals + s->set.page->merged == periods)
			return 0;
		break;
	case RECORDS:
	case SAMPLED:
		if (read.sum[0] == want && s->periods == periods)
			return 0;
		break;
	case KERNEL_TOO:
		if (read.sum[0] == want && read.sum[1] > want)
			return 0;
		break;
	case GROWN:
		if (read.sum[0] == want && read.sum[2] == want &&
		    read.sum[1] == s->pieces * piece.branches)
			return 0;
		break;
	default:
		if (read.sum[0] == want &&
		    read.sum[1] == s->pieces * piece.branches)
			return 0;
	}
	fprintf(stderr, "# state %u: %llu of %llu, %llu, %llu signals, %llu of %llu periods\n",
		read.state, (unsigned long long)read.sum[0],
		(unsigned long long)want, (unsigned long long)read.sum[1],
		(unsigned long long)seam_signals, (unsigned long long)s->periods,
		(unsigned long long)periods);
	return 1;
}

/* Some pieces of work, all counted exactly. */
static inline int work_and_compare(struct seam *s)
{
	int i, err = 0;

	for (i = 0; i < PIECES && !err; i++)
		err = seam_work(s);
	return err ?: seam_wrong(s);
}

/* Suspend up to the point at which all other CPUs are offline. */
static inline int suspend_in_test_mode(void)
{
	return write_file("/sys/module/suspend/parameters/pm_test_delay", "0") ?:
	       write_file("/sys/power/pm_test", "core") ?:
	       write_file("/sys/power/state", "mem") ?:
	       write_file("/sys/power/pm_test", "none");
}

/* Another process takes all time of CPU 1. */
static inline pid_t seam_spinner(void)
{
	const struct sched_param none = {};
	pid_t pid = fork();

	if (pid)
		return pid;
	/* It may have inherited the policy of a thread that gets little time. */
	sched_setscheduler(0, SCHED_OTHER, &none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pin(1);
}

/* The worker leaves CPU 1 to whoever wants it. */
static inline int seam_starve(struct seam *s)
{
	const struct sched_param none = {};
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(1, &mask);
	return sched_setaffinity(s->worker, sizeof(mask), &mask) ||
	       sched_setscheduler(s->worker, SCHED_IDLE, &none);
}

static inline int seam_feed(struct seam *s)
{
	const struct sched_param none = {};

	return sched_setscheduler(s->worker, SCHED_OTHER, &none);
}

/* Another process borrows a counter, and ends, all the time. */
static inline pid_t seam_borrower(int cpu)
{
	static const struct choice one[] = { { EV_INSNS, VPMC_ANY }, {} };
	pid_t pid = fork();
	struct set set;

	if (pid)
		return pid;
	if (pin(cpu) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
	for (;;) {
		if (set_open(&set, one) || set_measure(&set, code_loop, 100, 0) ||
		    wrong_after(&set, CODE_LOOP(100)))
			_exit(2);
		set_close(&set);
		usleep(500);
	}
}

/* Ends a process that works all the time. 0 if nothing was wrong until then. */
static inline int seam_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	return child_status(pid) == KILLED_BY(SIGKILL) ? 0 : -1;
}

#endif /* SEAM_H */
