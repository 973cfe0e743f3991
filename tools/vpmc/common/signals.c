// SPDX-License-Identifier: GPL-2.0
/*
 * Takes signals from a descriptor while a measurement runs, and hands them on to COMMAND:
 * launchers send them to the process that they have started, which is this one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/signals.h"

static sigset_t before;		/* the signal mask that COMMAND gets */
static void (*child_before)(int number);	/* its SIGCHLD */
static sigset_t handed_on;
static int signals = -1;
static int ending;

/* Nobody sends these but the kernel, to a program that is wrong; or they cannot be taken. */
static const int not_taken[] = {
	SIGKILL, SIGSTOP, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
	SIGTTIN, SIGTTOU,
};

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

void signals_begin(void)
{
	sigset_t ours;
	size_t i;
	int number;

	/*
	 * If a parent has left SIGCHLD ignored, waitpid() would return no
	 * status.
	 */
	child_before = signal(SIGCHLD, SIG_DFL);
	sigfillset(&ours);
	for (i = 0; i < sizeof(not_taken) / sizeof(not_taken[0]); i++)
		sigdelset(&ours, not_taken[i]);
	for (number = 1; number <= SIGRTMAX; number++)
		if (is_ignored(number))
			sigdelset(&ours, number);
	sigprocmask(SIG_BLOCK, &ours, &before);
	signals = signalfd(-1, &ours, SFD_CLOEXEC);
	if (signals < 0)
		fail(STATUS_OURS, "signals: %s; close other files", strerror(errno));
}

int signal_fd(void)
{
	return signals;
}

void signals_as_before(void)
{
	signal(SIGCHLD, child_before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool asks_to_end(int number)
{
	return number == SIGHUP || number == SIGINT || number == SIGQUIT ||
	       number == SIGTERM;
}

/* Does it do nothing to a program that does not know it? */
static bool is_harmless(int number)
{
	return number == SIGCONT || number == SIGWINCH || number == SIGURG;
}

bool signal_take(pid_t child)
{
	struct signalfd_siginfo info;
	int number;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return false;
	number = info.ssi_signo;
	/* SIGPIPE comes from this program's own write, which reports it. */
	if (number == SIGCHLD || info.ssi_pid == (uint32_t)getpid())
		return false;
	if (asks_to_end(number))
		ending = number;
	/*
	 * The terminal sends its signals to the whole foreground group, child
	 * included.
	 */
	if (child && info.ssi_code != SI_KERNEL) {
		sigaddset(&handed_on, number);
		kill(child, number);
	}
	if (number == SIGTSTP)
		raise(SIGSTOP);
	if (number == SIGTSTP || is_harmless(number))
		return false;
	if (!child)
		ending = number;
	return true;
}

void signals_ended(int status)
{
	if (!ending && WIFSIGNALED(status) &&
	    sigismember(&handed_on, WTERMSIG(status)))
		ending = WTERMSIG(status);
}

int interrupted(void)
{
	return ending;
}
