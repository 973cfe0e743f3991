/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds lines of source code for addresses, with libdw.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LINES_H
#define LINES_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

/* units of a file, by address */
struct units;

/*
 * Finds the line of @address. Returns the source file, or NULL if it is not known.
 * @units: of the module, NULL before the first call.
 */
const char *lines_find(Dwfl_Module *module, struct units **units, uint64_t address,
		       int *line);

#endif /* LINES_H */
