// SPDX-License-Identifier: GPL-2.0
/*
 * usage: terminal COMMAND...
 *        terminal --count
 *
 * Runs COMMAND in the foreground of a terminal of its own, and types Ctrl-C when it has
 * printed "ready". Prints its output, and its status.
 *
 * With --count it is a program that prints how many SIGINT it gets, and ends with 7.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t taken;

static void take(int sig)
{
	(void)sig;
	taken++;
}

/*
 * A second signal comes at once, or never. The first one must be taken before that,
 * because signals of one kind are not queued. So its CPU runs this program first.
 */
static int count(void)
{
	const struct timespec while_it_comes = { .tv_nsec = 300000000 };
	const struct sigaction action = { .sa_handler = take };
	const struct sched_param first = { .sched_priority = 1 };
	sigset_t blocked, before;

	sched_setscheduler(0, SCHED_FIFO, &first);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	sigdelset(&before, SIGINT);
	sigaction(SIGINT, &action, NULL);
	puts("ready");
	fflush(stdout);
	while (!taken)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	nanosleep(&while_it_comes, NULL);
	printf("\n%d SIGINT\n", taken);
	fflush(stdout);
	return 7;
}

int main(int argc, char **argv)
{
	char text[4096] = "";
	size_t size = 0;
	int fd, status;
	bool typed = false;
	ssize_t n;
	pid_t pid;

	if (argc < 2)
		errx(2, "which command?");
	if (!strcmp(argv[1], "--count"))
		return count();
	alarm(60);
	pid = forkpty(&fd, NULL, NULL, NULL);
	if (pid < 0)
		err(2, "forkpty");
	if (!pid) {
		execvp(argv[1], argv + 1);
		err(127, "%s", argv[1]);
	}
	/* It fails when the last process has closed the terminal. */
	while (size < sizeof(text) - 1 &&
	       (n = read(fd, text + size, sizeof(text) - 1 - size)) > 0) {
		size += n;
		text[size] = '\0';
		if (!typed && strstr(text, "ready")) {
			typed = true;
			if (write(fd, "\003", 1) != 1)
				err(2, "typing");
		}
	}
	waitpid(pid, &status, 0);
	printf("%s\nstatus %d\n", text,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
