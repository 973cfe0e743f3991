/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings of the machine that matter.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SETTING_H
#define SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct setting {
	const char *name;	/* as sysctl(8) has it, or the file */
	const char *file;
};

/* The last one has no name. */
extern const struct setting settings[];

/* Its value; false if this kernel has not got it. */
bool setting_read(const struct setting *setting, char *value, size_t size);

#endif /* SETTING_H */
