/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How costs are measured: the least of many trials is what is left when nothing disturbs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_LEAST_H
#define VPMC_LEAST_H

#include <stdbool.h>
#include <stdint.h>

/* Runs once and stores the values. Returns false if it was disturbed. */
typedef bool vpmc_trial_fn(void *arg, uint64_t *value);

/*
 * Stores the least of each of @nr values to @least, from @rounds undisturbed trials, or as
 * many as come in a hundred times as many trials. Returns 0, or -EAGAIN if there was none.
 */
int vpmc_least(vpmc_trial_fn *trial, void *arg, unsigned int nr, unsigned int rounds,
	       uint64_t *least);

#endif /* VPMC_LEAST_H */
