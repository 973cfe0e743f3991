/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since an arbitrary moment. They do not change when the clock is set. */
static inline uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* CLOCK_H */
