/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vpmc ctl -p: acts on each thread of a process that has counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <vpmc.h>

/* What vpmc ctl does to a set */
struct action {
	const char *word;	/* "start" */
	const char *done;	/* "started" */
	int (*act)(struct vpmc *v);
};

/*
 * Acts on each thread of the process that has a set, and on those that it creates meanwhile.
 * Checks all of them first: fails, and has changed nothing, if one cannot be acted on, or if
 * none has a set. A thread that ends is no error.
 */
void process_act(pid_t pid, const struct action *action);

/* Prints what each thread of the process has counted. */
void process_read(pid_t pid, bool json);

#endif /* PROCESS_H */
