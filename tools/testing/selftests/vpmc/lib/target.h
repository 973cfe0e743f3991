/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes whose counters others open. They do not use counters themselves.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TARGET_H
#define TARGET_H

#include <poll.h>
#include <sys/ioctl.h>
#include "proc.h"

#define TARGET_TURNS	1000
#define TARGET_SERVE	CODE_SERVE(TARGET_TURNS)

/**
 * struct target - A process on CPU 1 whose counters others open
 * @uid:	Its user id. For root nothing is changed.
 * @runs:	It stays in user mode, instead of sleeping in code_serve().
 * @private:	It may not be debugged.
 * @pid:	Process id.
 * @wake:	Pipe that it reads. Each byte makes it execute TARGET_SERVE. It ends
 *		at the end of the pipe.
 * @shared:	Memory for data in both directions.
 */
struct target {
	uid_t uid;
	bool runs;
	bool private;
	pid_t pid;
	int wake;
	struct {
		volatile uint32_t go;	/* @runs: VPMC_STATE_RUNNING */
		volatile uint64_t turns;
	} *shared;
};

/* 0 or -1. A process that drops root keeps no privileges. */
static inline int become(uid_t uid)
{
	if (uid && (setgid(uid) || setuid(uid) || prctl(PR_SET_DUMPABLE, 1)))
		return -1;
	return 0;
}

/*
 * Waits until the target has taken all bytes and sleeps. Returns 0, or -1 if
 * the target has ended.
 */
static inline int target_wait(const struct target *t)
{
	int left = 0;
	char state;

	for (;;) {
		usleep(100);
		if (ioctl(t->wake, FIONREAD, &left))
			return -1;
		state = task_state(t->pid);
		if (!left && state == 'S')
			return 0;
		if (!state || state == 'Z')
			return -1;
	}
}

static inline void target_main(const struct target *t, int pipe_fd)
{
	if (pin(1) || become(t->uid) ||
	    (t->private && prctl(PR_SET_DUMPABLE, 0)))
		_exit(100);
	if (t->runs)
		_exit(code_until((long)&t->shared->go, (long)&t->shared->turns));
	_exit(code_serve(pipe_fd, TARGET_TURNS));
}

/* Starts the process and waits until it sleeps or runs. Returns 0 or -1. */
static inline int target_start(struct target *t)
{
	pid_t parent = getpid();
	int fds[2];

	t->shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->shared == MAP_FAILED || pipe2(fds, O_CLOEXEC))
		return -1;
	t->shared->go = VPMC_STATE_RUNNING;
	t->pid = fork();
	if (!t->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/*
		 * getppid() is 0 if this process is the first one of a pid
		 * namespace
		 */
		if (getppid() && getppid() != parent)
			_exit(101);
		/* it must not keep the pipes of other targets open */
		dup2(fds[0], 3);
		syscall(SYS_close_range, 4, ~0U, 0);
		target_main(t, 3);
	}
	close(fds[0]);
	t->wake = fds[1];
	if (!t->runs)
		return target_wait(t);
	while (!t->shared->turns)
		if (task_state(t->pid) == 'Z' || usleep(100))
			return -1;
	return 0;
}

/* Makes it serve @n bytes, and waits until it sleeps again. */
static inline int target_serve(const struct target *t, int n)
{
	while (n--)
		if (write(t->wake, "", 1) != 1)
			return -errno;
	return target_wait(t);
}

/* Ends the process. Returns its exit status. */
static inline int target_end(struct target *t)
{
	t->shared->go = 0;
	close(t->wake);
	munmap(t->shared, PAGE);
	return child_status(t->pid);
}

/* A descriptor of that process' counters, or -errno. */
static inline int open_of(pid_t pid, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/perfctr", pid);
	fd = open(path, flags | O_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static inline int target_open(const struct target *t, int flags)
{
	return open_of(t->pid, flags);
}

static inline int open_error(const char *path, int flags)
{
	int fd = open(path, flags, 0);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static inline int target_open_error(const struct target *t, int flags)
{
	int fd = target_open(t, flags);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

#endif /* TARGET_H */
