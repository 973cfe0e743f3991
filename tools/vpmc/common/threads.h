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
	bool again;		/* the caller's: read the directory once more */
	unsigned int readings;
};

/*
 * Returns a thread that it has not returned before, or 0 behind the last one, or if there is no
 * such process. threads->nr is the number of threads then. The caller sets threads->again if
 * others may be new because of this thread: it may have created some before the caller changed
 * it. Then the whole directory is read once more. A process that creates threads for ever does
 * not keep the caller here: after some hundred readings, or 65536 threads, this fails.
 */
pid_t threads_next(struct threads *threads);

/* Reads the name of a thread. The name is "?" if the thread has ended. */
void thread_name(pid_t tid, char name[16]);

#endif /* THREADS_H */
