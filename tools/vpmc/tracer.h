/* SPDX-License-Identifier: GPL-2.0 */
/*
 * COMMAND under ptrace(2), to read each thread's own counts when it ends.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TRACER_H
#define TRACER_H

#include <stdbool.h>

#include "run.h"

/* The child and all its descendants are traced from here on. */
void tracer_begin(pid_t child);

/*
 * Does what has to be done at once. Returns true when the child has ended: @run
 * has its status then, and a row for each thread, also for those that live on.
 */
bool tracer_step(pid_t child, struct run *run);

#endif /* TRACER_H */
