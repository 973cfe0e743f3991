/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Starts COMMAND as a child.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <vpmc.h>

#include "common/signals.h"
#include "stat/plan.h"

struct child {
	pid_t pid;
	int channel;		/* socket to the child, until the child has become COMMAND */
	struct vpmc *v;		/* counters of the child, or NULL */
};

/*
 * Programs a set of this thread, which the next child and its descendants inherit:
 * @flags have both INHERIT flags, and STOPPED, so that this thread counts nothing. A
 * descendant may program counters of its own. Then the sums keep what it counted
 * before, and tell that it left. @group then names the counters. Fails if the kernel
 * refuses the events. The caller unlinks and closes the set. With @may_be_counted,
 * returns NULL if this thread has a set already: what executed this program has made it.
 */
struct vpmc *child_family(struct group *group, unsigned int flags,
			  bool may_be_counted);

/*
 * Starts a child that waits to become COMMAND. With @group, the child programs
 * these events for itself, and @group then names their counters. What it counted is lost
 * if it programs others. Fails if the kernel refuses the events.
 */
void child_start(struct child *child, char **command, struct group *group,
		 unsigned int flags);

/* Lets the child become COMMAND. Fails with COMMAND's status if it cannot. */
void child_exec(struct child *child, char **command);

/* Says that COMMAND has not ended by the SIGTERM of --timeout, and what helps. */
void child_lives_on(pid_t pid);

#endif /* CHILD_H */
