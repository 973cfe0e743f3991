/* SPDX-License-Identifier: GPL-2.0 */
/*
 * COMMAND as a child: started, waited for, and told what signals we get.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CHILD_H
#define CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <vpmc.h>

#include "plan.h"

struct child {
	pid_t pid;
	int channel;		/* to the child, until it has become COMMAND */
	struct vpmc *v;		/* its counters, or NULL */
};

/*
 * Signals that end a measurement are blocked from here on, and SIGCHLD, to be
 * waited for; signal_fd() is a descriptor for them.
 */
void signals_begin(void);
int signal_fd(void);

/*
 * A child that waits to become COMMAND. With @group it has programmed itself so;
 * @group tells the counters. Fails if that was refused.
 */
void child_start(struct child *child, char **command, struct group *group,
		 unsigned int flags);

/* Lets it become COMMAND. Fails with its status if it cannot. */
void child_exec(struct child *child, char **command);

/*
 * Takes one signal that has come and hands it on to the child, if there is one,
 * unless it has got it from the terminal as well. Returns true if it is one that
 * ends the measurement.
 */
bool signal_take(pid_t child);

/* Has a signal come that ends measurements? No further one is begun then. */
bool interrupted(void);

#endif /* CHILD_H */
