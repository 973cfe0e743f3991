// SPDX-License-Identifier: GPL-2.0
/*
 * The threads of a process, and those that it creates meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/threads.h"

#define MOST_READINGS	500
#define MOST_THREADS	65536	/* those that have ended included */

static DIR *open_tasks(pid_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	return opendir(name);
}

static bool is_known(const struct threads *threads, pid_t tid)
{
	unsigned int i;

	for (i = 0; i < threads->nr; i++)
		if (threads->tid[i] == tid)
			return true;
	return false;
}

/* Returns the next thread in this reading of the directory, or 0 at its end. */
static pid_t next_in_reading(struct threads *threads)
{
	struct dirent *entry;
	pid_t tid;

	while (threads->dir && (entry = readdir(threads->dir))) {
		tid = atoi(entry->d_name);
		if (tid > 0 && !is_known(threads, tid))
			return tid;
	}
	if (threads->dir)
		closedir(threads->dir);
	threads->dir = NULL;
	return 0;
}

__attribute__((__noreturn__))
static void too_fast(const struct threads *threads)
{
	fail(STATUS_OURS, "process %d: creates threads faster than they can be found; stop it meanwhile, by kill -STOP %d",
	     threads->pid, threads->pid);
}

static void begin_reading(struct threads *threads)
{
	if (threads->readings++ == MOST_READINGS)
		too_fast(threads);
	threads->again = false;
	threads->dir = open_tasks(threads->pid);
}

pid_t threads_next(struct threads *threads)
{
	pid_t tid;

	if (!threads->readings)
		begin_reading(threads);
	while (!(tid = next_in_reading(threads)) && threads->again)
		begin_reading(threads);
	if (!tid) {
		free(threads->tid);
		threads->tid = NULL;
		return 0;
	}
	if (threads->nr == MOST_THREADS)
		too_fast(threads);
	threads->tid = get_memory(threads->tid, threads->nr + 1,
				  sizeof(*threads->tid));
	threads->tid[threads->nr++] = tid;
	return tid;
}

void thread_name(pid_t tid, char name[16])
{
	char file[32];
	ssize_t n = -1;
	int fd;

	snprintf(file, sizeof(file), "/proc/%d/comm", tid);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, 16);
		close(fd);
	}
	if (n <= 0)
		strcpy(name, "?");
	else
		name[n - 1] = 0;
}
