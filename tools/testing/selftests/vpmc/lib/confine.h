/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that a debugger stops, or that a filter of system calls confines.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CONFINE_H
#define CONFINE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ptrace.h>

#include "vpmc_test.h"

/* Stops the worker by ptrace(). Returns how waitpid() has told that, or -1. */
static inline int stop_worker(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -1;
	return status;
}

/* A stop for a signal, and not for PTRACE_INTERRUPT, needs the signal to go on. */
static inline int let_worker_go(pid_t tid, int status)
{
	long sig = status >> 16 ? 0 : WSTOPSIG(status);

	return ptrace(PTRACE_DETACH, tid, 0, sig);
}

/* Another process stops the worker so often. It ends with 0. */
static inline pid_t debugger(pid_t tid, int times)
{
	pid_t pid = fork();
	int status;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (times--) {
		status = stop_worker(tid);
		if (status < 0 || let_worker_go(tid, status))
			_exit(1);
		usleep(200);
	}
	_exit(0);
}

/* Another process stops the worker, and lets it go when it has done something. */
static inline pid_t do_in_a_stop(pid_t tid, int (*something)(void))
{
	pid_t pid = fork();
	int status, err;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	status = stop_worker(tid);
	if (status < 0)
		_exit(1);
	err = something();
	_exit(let_worker_go(tid, status) ? 2 : err ? 3 : 0);
}

/* For filters: what is done with a system call, and with all that are not named. */
#define THE_CALL							\
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ON_CALL(nr, action)						\
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),		\
	BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW(nr)	ON_CALL(nr, SECCOMP_RET_ALLOW)
#define REFUSE(nr)	ON_CALL(nr, SECCOMP_RET_ERRNO | EPERM)
#define OTHERWISE(action)	BPF_STMT(BPF_RET | BPF_K, (action))

/* From now on the filter confines this thread and the programs that it executes. */
static inline int confine(struct sock_filter *filter, unsigned short n)
{
	struct sock_fprog program = { n, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?:
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif /* CONFINE_H */
