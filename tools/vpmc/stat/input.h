/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds out whether a run of COMMAND has read standard input. The next run then has
 * another input.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <sys/types.h>

/* standard input at one time */
struct input {
	off_t offset;	/* of a file */
	int ready;	/* bytes in a pipe or a socket */
	bool at_end;	/* nothing more can come from it */
};

struct input input_now(void);

/* Returns true if something was read since @before. */
bool input_was_read(const struct input *before);

#endif /* INPUT_H */
