/* SPDX-License-Identifier: GPL-2.0 */
/*
 * However a program ends, its guardian ends all processes of the test that runs
 * then, and after that restores the machine (lib/putback.h).
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GUARD_H
#define GUARD_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "putback.h"

/*
 * Shared by all processes of the program. The harness gives each test a process
 * group, so signals from the terminal do not reach the test.
 */
struct guard {
	volatile pid_t group[2];	/* the test's, and guard_group()'s */
	volatile bool ending;		/* no more tests */
};

static struct guard *guard;
static pid_t guard_owner, guardian;
static int guard_pipe[2];

static const int guard_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

/*
 * Is this thread one of the group's, and not dead? Its process may be a zombie,
 * while the thread is still changing something.
 */
static inline bool guard_lives(const char *path, pid_t group)
{
	char text[512], *p, state;
	int parent, its_group;

	putback_read(path, text, sizeof(text));
	p = strrchr(text, ')');
	return p && sscanf(p + 1, " %c %d %d", &state, &parent, &its_group) == 3 &&
	       its_group == group && state != 'Z' && state != 'X';
}

static inline bool guard_group_lives(pid_t group)
{
	bool lives = false;
	glob_t found;
	size_t i;

	if (glob("/proc/[0-9]*/task/[0-9]*/stat", GLOB_NOSORT, NULL, &found))
		return false;
	for (i = 0; i < found.gl_pathc && !lives; i++)
		lives = guard_lives(found.gl_pathv[i], group);
	globfree(&found);
	return lives;
}

/* Ends the test, and waits until none of its processes can do anything. */
static inline void guard_end_test(void)
{
	static const struct timespec ts = { .tv_nsec = 1000000 };
	unsigned int i, n;
	pid_t group;

	guard->ending = true;
	/* guard_test() does the reverse */
	__sync_synchronize();
	for (i = 0; i < 2; i++) {
		group = guard->group[i];
		if (group <= 0 || kill(-group, SIGKILL))
			continue;
		for (n = 0; n < 30000 && guard_group_lives(group); n++)
			nanosleep(&ts, NULL);
		if (n == 30000)
			fprintf(stderr, "# group %d does not end\n", group);
	}
}

static inline void guard_end_all(void)
{
	guard_end_test();
	putback_all();
}

/*
 * Waits until the program ends itself or by a signal. The guardian does not get
 * signals from the terminal. It is a process because the program may have
 * changed to a user who can write none of these files. That user cannot send
 * the guardian signals either, so it watches the program by a descriptor.
 */
static inline void guard_wait(void)
{
	struct pollfd ends[2] = {
		{ .fd = guard_pipe[0], .events = POLLIN },
		{ .events = POLLIN },
	};
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	ends[1].fd = syscall(SYS_pidfd_open, guard_owner, 0);
	while (getppid() == guard_owner && poll(ends, 2, -1) <= 0)
		;
	guard_end_all();
	_exit(0);
}

/* Returns when everything is restored: whether the guardian has done that. */
static inline bool guard_finish(void)
{
	int status = 0;

	if (guardian < 0) {
		guard_end_all();
		return true;
	}
	if (write(guard_pipe[1], "", 1) == 1)
		while (waitpid(guardian, &status, 0) < 0 && errno == EINTR)
			;
	if (!status)
		return true;
	fprintf(stderr, "# the guardian has died (status %#x): the program restores the machine itself\n",
		status);
	guard_end_all();
	return false;
}

/* The signal ends the program, but not before everything is restored. */
static inline void guard_signal(int sig)
{
	if (getpid() == guard_owner)
		guard_finish();
	signal(sig, SIG_DFL);
	raise(sig);
}

static inline void guard_begin(void)
{
	struct sigaction action = { .sa_handler = guard_signal }, old;
	unsigned int i;

	guard = mmap(NULL, sizeof(*guard), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guard == MAP_FAILED || pipe2(guard_pipe, O_CLOEXEC)) {
		perror("no guardian");
		exit(1);
	}
	guard_owner = getpid();
	guardian = fork();
	if (!guardian)
		guard_wait();
	sigfillset(&action.sa_mask);
	for (i = 0; i < sizeof(guard_signals) / sizeof(*guard_signals); i++)
		/* nohup, for one, ignores some */
		if (!sigaction(guard_signals[i], NULL, &old) &&
		    old.sa_handler == SIG_DFL)
			sigaction(guard_signals[i], &action, NULL);
}

/*
 * A test begins, in its process. Signals do with it as they always do. What a
 * failed test has left does not disturb this one.
 */
static inline void guard_test(void)
{
	struct sigaction old;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (guard->group[i] > 0)
			kill(-guard->group[i], SIGKILL);

	for (i = 0; i < sizeof(guard_signals) / sizeof(*guard_signals); i++)
		if (!sigaction(guard_signals[i], NULL, &old) &&
		    old.sa_handler == guard_signal)
			signal(guard_signals[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	guard->group[0] = getpid();
	guard->group[1] = 0;
	__sync_synchronize();
	if (guard->ending || getppid() != guard_owner)
		_exit(1);
}

/*
 * Before a process of the test leaves the test's group for its own one. With 0,
 * when that group is empty: then the number may become somebody else's.
 */
static inline void guard_group(pid_t group)
{
	guard->group[1] = group;
}

static void __attribute__((destructor)) guard_end(void)
{
	if (!guard_owner || getpid() != guard_owner || guard_finish())
		return;
	/* whatever the tests' results are */
	fflush(NULL);
	_exit(1);
}

#endif /* GUARD_H */
