/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From addresses to names, by libdw.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Of a program: what was mapped where, as files like /proc/PID/maps have it. */
struct names;

/* A function; the texts are the caller's. */
struct name {
	char *function;
	char *module;
	char *file;	/* or NULL */
	int line;
	bool nameless;
};

/* NULL if @maps cannot be read. Equal maps are read once. */
struct names *names_open(const char *maps);

/* Of one file, by its path; NULL if it has no names. Equal paths are read once. */
struct names *names_open_file(const char *path);

/*
 * What is at that place of such a file: any address within a function, not its
 * beginning alone. False if nothing is.
 */
bool names_find_offset(struct names *names, uint64_t offset, struct name *name);

/* False if nothing is mapped there. */
bool names_find(struct names *names, uint64_t address, struct name *name);

#endif /* NAMES_H */
