/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the settings of the machine that affect counting.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SETTING_H
#define SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct setting {
	const char *name;	/* name as in sysctl(8), or path of the file */
	const char *file;
};

/* array that ends with an entry without a name */
extern const struct setting settings[];

/* Reads a setting. Returns false if this kernel does not have it. */
bool setting_read(const struct setting *setting, char *value, size_t size);

/* Returns the file that permits RDPMC. */
const char *setting_rdpmc(void);

#endif /* SETTING_H */
