/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the counters for code that subtracts the cost of each read.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_READ_H
#define GRAPH_READ_H

#include <stdint.h>
#include <linux/vpmc.h>

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/*
 * Reads the run time in ticks and the counters, @nr values together; @forced: 1 makes
 * one more turn. Returns the number of turns after the first one.
 */
__attribute__((__visibility__("hidden")))
unsigned int graph_read(const struct vpmc_page *page, unsigned int nr,
			uint64_t *value, unsigned int forced);

#endif /* GRAPH_READ_H */
