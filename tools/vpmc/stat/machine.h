/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a result says of the machine, so that results of different machines are not compared.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MACHINE_H
#define MACHINE_H

struct json_object;

/* Returns the processor, the kernel and the version of vpmc. */
struct json_object *machine_object(void);

#endif /* MACHINE_H */
