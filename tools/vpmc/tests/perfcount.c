// SPDX-License-Identifier: GPL-2.0
/*
 * usage: perfcount COMMAND...	prints how many instructions COMMAND, its threads
 *				and children execute in user mode, as perf
 *				counts them
 *	  perfcount --hold	has a perf event until it is killed
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int event(int enable_on_exec)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1,
		.exclude_hv = 1, .inherit = 1, .disabled = enable_on_exec,
		.enable_on_exec = enable_on_exec,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		err(1, "perf_event_open");
	return fd;
}

int main(int argc, char **argv)
{
	uint64_t count;
	int fd, status;
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "--hold")) {
		event(0);
		pause();
	}
	/* the child inherits it; only its execve() enables it */
	fd = event(1);
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		err(1, "%s", argv[1]);
	}
	if (waitpid(pid, &status, 0) != pid || status ||
	    read(fd, &count, sizeof(count)) != sizeof(count))
		err(1, "status %#x, or no count", status);
	printf("%llu\n", (unsigned long long)count);
	return 0;
}
