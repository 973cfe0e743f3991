/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The threads of a process, and those that it creates meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef THREADS_H
#define THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

/* Set @pid, and all else to zero. */
struct threads {
	pid_t pid;		/* of the process */
	pid_t *tid;		/* threads that were returned */
	unsigned int nr;
	DIR *dir;
	bool found;		/* this reading of the directory has found one */
};

/*
 * Returns a thread that it has not returned before. It reads /proc/PID/task again and again:
 * when a whole reading finds none that is new, it returns 0 and releases the memory. It also
 * returns 0 if there is no such process. threads->nr is the number of threads then.
 */
pid_t threads_next(struct threads *threads);

/* Reads the name of a thread. The name is "?" if the thread has ended. */
void thread_name(pid_t tid, char name[16]);

#endif /* THREADS_H */
