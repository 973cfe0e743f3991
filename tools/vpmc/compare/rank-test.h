/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rank test of Mann and Whitney: do two lists of values differ by more than chance?
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNIFICANCE	0.05	/* p at most this: the lists differ */

struct rank_test {
	double u;	/* how often a value of @b is above one of @a; ties count one half */
	double p;	/* two-sided */
	bool exact;	/* p is of the exact distribution, not of the normal one */
};

/* Returns false if no values in lists of these lengths could give a p that is small enough. */
bool rank_test_can_tell(size_t nr_a, size_t nr_b);

/* Both lists are sorted, and not all values of both are equal. */
struct rank_test rank_test(const uint64_t *a, size_t nr_a, const uint64_t *b, size_t nr_b);

#endif /* RANK_TEST_H */
