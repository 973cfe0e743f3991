/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes signals from a descriptor while a measurement runs, and hands them on to COMMAND.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Takes all signals that others send from now on, but those that the caller of this
 * program ignores. signal_fd() returns a descriptor from which they are read.
 */
void signals_begin(void);
int signal_fd(void);

/* In the child, before it becomes COMMAND: all signals are as they were. */
void signals_as_before(void);

/*
 * Takes one signal. Hands it on to the child, if there is one, unless the terminal has
 * sent the signal to the child as well. Returns true if a measurement without a child
 * ends.
 */
bool signal_take(pid_t child);

/* COMMAND has ended with @status, from wait(): because of a signal that was handed on? */
void signals_ended(int status);

/*
 * Returns the number of a signal after which no further run begins: one that asks programs
 * to end, or that has ended COMMAND. Otherwise 0.
 */
int interrupted(void);

#endif /* SIGNALS_H */
