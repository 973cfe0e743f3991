/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the names of functions for addresses, with libdw.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/identity.h"

/* names of one file */
struct names;

/* A function. The caller owns the strings. */
struct name {
	char *function;
	char *module;
	char *file;	/* source file, or NULL */
	int line;
	bool nameless;
	bool changed;	/* the file is not the one that was mapped */
};

/*
 * Opens the names of the file that was mapped from @path. Returns NULL if that file is
 * not there any more. Each one is read once. @pid is a process that has mapped it, or 0.
 */
struct names *names_open_file(const char *path, const struct identity *identity,
			      unsigned int pid);

/*
 * Finds the function at @offset of a file from names_open_file(). @offset may
 * be anywhere in the function. Returns false if @offset is not loaded into
 * memory, or the file has no names.
 */
bool names_find_offset(struct names *names, uint64_t offset, struct name *name);

/*
 * Finds the function that begins at @offset, like names_find_offset(). The name is
 * FILE+OFFSET if none begins there.
 */
bool names_find_start(struct names *names, uint64_t offset, struct name *name);

#endif /* SYMBOLS_H */
