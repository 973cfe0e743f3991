/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The limit of open files: each counted thread of another process takes one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LIMITS_H
#define LIMITS_H

/* Raises the limit of open files as far as this process may. */
void limits_raise(void);

/* In the child, before it becomes COMMAND: the limit is as it was. */
void limits_as_before(void);

#endif /* LIMITS_H */
