/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces COMMAND with ptrace(2), to read each thread's own counts when it ends.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TRACER_H
#define TRACER_H

#include <stdbool.h>

#include "stat/run.h"

/*
 * Traces the child and all its later descendants. With @family, all of them inherit
 * the set that counts them. Otherwise the child alone has one.
 */
void tracer_begin(pid_t child, bool family);

/*
 * Handles all pending events. Returns true when the child has ended. @run then
 * has the status, and a row for each thread, also for threads that still run.
 */
bool tracer_step(pid_t child, struct run *run);

#endif /* TRACER_H */
