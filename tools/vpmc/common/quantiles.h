/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of the values of several runs: least, median, greatest, and outliers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef QUANTILES_H
#define QUANTILES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Twice a median, which may end with one half. */
typedef unsigned __int128 twice_t;

struct quantiles {
	uint64_t min, max;
	twice_t twice_median;
	unsigned int outliers;	/* number of values beyond Tukey's fences */
};

/*
 * Sorts the values, of which there is at least one. An outlier is more than 1.5 times the
 * distance of the quartiles below the lower or above the upper one. The quartiles are the
 * medians of the lower and of the upper half, without the median of all. With fewer than
 * four values there are no outliers.
 */
struct quantiles quantiles_of(uint64_t *value, size_t nr);

/* The quantiles of one value */
static inline struct quantiles quantiles_of_one(uint64_t value)
{
	return (struct quantiles){ value, value, (twice_t)value * 2, 0 };
}

/* Writes half of @twice to @buffer as "12", or "12.5"; or "1,234.5" with @separators. */
const char *half_text(twice_t twice, bool separators, char buffer[40]);

/* Adds min, median, max and outliers. */
void quantiles_members(struct json_object *object, const struct quantiles *quantiles);

/* Half of @twice as a JSON number */
struct json_object *half_number(twice_t twice);

#endif /* QUANTILES_H */
