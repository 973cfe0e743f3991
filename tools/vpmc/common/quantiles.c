// SPDX-License-Identifier: GPL-2.0
/*
 * The order of the values of several runs. All of it is exact: what can end with one half
 * is kept twice as large.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json-write.h"
#include "common/quantiles.h"
#include "common/table.h"

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* of sorted values */
static twice_t twice_median(const uint64_t *value, size_t nr)
{
	return (twice_t)value[(nr - 1) / 2] + value[nr / 2];
}

static unsigned int outliers(const uint64_t *value, size_t nr)
{
	__int128 low = twice_median(value, nr / 2);
	__int128 high = twice_median(value + (nr + 1) / 2, nr / 2);
	__int128 fence = 3 * (high - low);	/* four times 1.5 times the distance */
	unsigned int found = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		found += 4 * (__int128)value[i] < 2 * low - fence ||
			 4 * (__int128)value[i] > 2 * high + fence;
	return found;
}

struct quantiles quantiles_of(uint64_t *value, size_t nr)
{
	qsort(value, nr, sizeof(*value), compare);
	return (struct quantiles){
		.min = value[0], .max = value[nr - 1],
		.twice_median = twice_median(value, nr),
		.outliers = nr < 4 ? 0 : outliers(value, nr),
	};
}

const char *half_text(twice_t twice, bool separators, char buffer[40])
{
	if (separators)
		with_separators(twice / 2, buffer);
	else
		snprintf(buffer, 40, "%" PRIu64, (uint64_t)(twice / 2));
	return twice % 2 ? strcat(buffer, ".5") : buffer;
}

struct json_object *half_number(twice_t twice)
{
	char text[40];

	if (twice % 2)
		return json_object_new_double_s((double)twice / 2,
						half_text(twice, false, text));
	return json_object_new_uint64(twice / 2);
}

void quantiles_members(struct json_object *object, const struct quantiles *quantiles)
{
	member_number(object, "min", quantiles->min);
	member(object, "median", half_number(quantiles->twice_median));
	member_number(object, "max", quantiles->max);
	member_number(object, "outliers", quantiles->outliers);
}
