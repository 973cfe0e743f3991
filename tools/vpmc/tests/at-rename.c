// SPDX-License-Identifier: GPL-2.0
/*
 * usage: at-rename OTHER COMMAND...
 *
 * Runs COMMAND until it gives a file a new name for the first time. There it stops, runs the
 * shell command OTHER to its end, and lets COMMAND go on. The status is that of COMMAND.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ptrace.h>

/* Is COMMAND at the entry of rename() or one of its kind? */
static int at_rename(pid_t child)
{
	struct ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) < 0)
		err(1, "PTRACE_GET_SYSCALL_INFO");
	return info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	       (info.entry.nr == SYS_rename || info.entry.nr == SYS_renameat ||
		info.entry.nr == SYS_renameat2);
}

int main(int argc, char **argv)
{
	int status, signal = 0, has_run = 0;
	pid_t child;

	if (argc < 3)
		errx(1, "usage: at-rename OTHER COMMAND...");
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		err(1, "%s", argv[2]);
	}
	if (child < 0 || waitpid(child, &status, 0) != child ||
	    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD))
		err(1, "cannot trace COMMAND");
	while (!has_run) {
		if (ptrace(PTRACE_SYSCALL, child, 0, signal) || waitpid(child, &status, 0) != child)
			err(1, "cannot trace COMMAND");
		if (!WIFSTOPPED(status))
			errx(1, "COMMAND ended, and renamed nothing");
		signal = WSTOPSIG(status);
		if (signal == (SIGTRAP | 0x80) || signal == SIGTRAP)
			signal = 0;
		else
			continue;
		if (!at_rename(child))
			continue;
		has_run = 1;
		if (system(argv[1]) < 0)
			err(1, "%s", argv[1]);
	}
	if (ptrace(PTRACE_DETACH, child, 0, 0) || waitpid(child, &status, 0) != child)
		err(1, "cannot let COMMAND go on");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
