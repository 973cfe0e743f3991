/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The read loop that the ABI header prints, as a function.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PRINTED_READ_H
#define PRINTED_READ_H

#include "vpmc_test.h"

/* What the loop leaves to its user to define. */
#define barrier()	__asm__ __volatile__("" : : : "memory")
#define rdtsc()		(turns++, vpmc_rdtsc())
#define rdpmc(index)	vpmc_rdpmc(index)

/* In a section of its own, whose ends the linker names. */
extern const char __start_read_loop[], __stop_read_loop[];

/* Returns how many turns the loop took while the set counted. */
static __attribute__((__noinline__, __section__("read_loop"))) unsigned int
read_printed(const struct vpmc_page *page, uint64_t *count,
	     uint64_t *ticks_out)
{
	uint64_t generation, ticks;
	unsigned int i, turns = 0;
	bool running;

#include "printed_loop.h"

	*ticks_out = ticks;
	return turns;
}

#endif
