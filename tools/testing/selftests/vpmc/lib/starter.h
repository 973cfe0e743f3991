/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that wait, and then become another program, which others measure.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef STARTER_H
#define STARTER_H

#include "image.h"

/**
 * struct starter - A process that waits, and becomes the image
 * @prepare:	What it does before it waits, or NULL. 0 or an error.
 * @path:	Another program than the image, or NULL.
 * @argv:	Arguments for that, or for the image, or NULL.
 * @pid:	Process id.
 * @go:		Write: now.
 * @out:	Read: what the program writes.
 * @fd:		The counters.
 */
struct starter {
	int (*prepare)(void);
	const char *path;
	char **argv;
	pid_t pid;
	int go;
	int out;
	int fd;
};

/* What the image does after its STOP, which fails: it has no such descriptor. */
#define IMAGE_TAIL	CODE_COUNT(29, 0)
#define IMAGE_ALL	code_add(CODE_EXEC_IMAGE, IMAGE_TAIL)

/* Ends with 101 if there is no new program. That has the end of the pipe as input. */
static inline void starter_main(const struct starter *s, uid_t uid, int go, int out)
{
	char *image[] = { "image", NULL }, byte;
	char **argv = s->argv ?: image;

	if (become(uid) || dup2(go, 0) != 0 || dup2(out, 1) != 1 ||
	    (s->prepare && s->prepare()) || read(0, &byte, 1) != 1)
		_exit(100);
	/* The first one fails, and changes nothing. */
	code_exec((long)"/nothing", (long)argv);
	code_exec((long)(s->path ?: IMAGE), (long)argv);
	_exit(101);
}

static inline int starter_start(struct starter *s, uid_t uid)
{
	int go[2], out[2];

	if (pipe2(go, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;
	s->pid = fork();
	if (!s->pid)
		starter_main(s, uid, go[0], out[1]);
	close(go[0]);
	close(out[1]);
	s->go = go[1];
	s->out = out[0];
	while (task_state(s->pid) != 'S')
		if (task_state(s->pid) == 'Z' || usleep(100))
			return -1;
	return 0;
}

static inline int starter_go(const struct starter *s)
{
	return write(s->go, "", 1) == 1 ? 0 : -errno;
}

#endif /* STARTER_H */
