// SPDX-License-Identifier: GPL-2.0
/*
 * The rank test of Mann and Whitney. All values are put in order together, and the places
 * of one list in that order are added up. Equal values share the mean of their places. If
 * the lists do not differ, each choice of so many places is as likely as any other. For up to
 * EXACT_MOST values, all choices are counted. For more, their sum is taken as normal.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <math.h>
#include <stdlib.h>

#include "common/fail.h"
#include "compare/rank-test.h"

#define EXACT_MOST	60	/* values of both lists */

/* Places of all values, twice as large so that shared ones are whole, in order. */
struct places {
	uint64_t *twice;
	size_t nr;
	uint64_t twice_sum;	/* of the second list's places */
	double ties;		/* sum of t^3 - t of each group of t equal values */
};

bool rank_test_can_tell(size_t nr_a, size_t nr_b)
{
	double choices = 1;
	size_t i;

	/* The least p is that of the two extreme choices. */
	for (i = 1; i <= nr_a && choices <= 2 / SIGNIFICANCE; i++)
		choices = choices * (nr_b + i) / i;
	return 2 <= SIGNIFICANCE * choices;
}

static struct places places_of(const uint64_t *a, size_t nr_a, const uint64_t *b, size_t nr_b)
{
	struct places places = { .nr = nr_a + nr_b };
	size_t i = 0, j = 0;

	places.twice = get_memory(NULL, places.nr, sizeof(*places.twice));
	while (i + j < places.nr) {
		uint64_t value = j == nr_b || (i < nr_a && a[i] < b[j]) ? a[i] : b[j];
		size_t first = i + j, of_b = j, k;
		double equal;

		while (i < nr_a && a[i] == value)
			i++;
		while (j < nr_b && b[j] == value)
			j++;
		for (k = first; k < i + j; k++)
			places.twice[k] = first + 1 + i + j;
		places.twice_sum += (j - of_b) * (first + 1 + i + j);
		equal = i + j - first;
		places.ties += equal * equal * equal - equal;
	}
	return places;
}

/*
 * Returns the share of all choices of @chosen places whose sum is at least as far from its
 * mean as @places.twice_sum.
 */
static double exact_p(const struct places *places, size_t chosen)
{
	size_t most = places->nr * (places->nr + 1), width = most + 1;
	/* number of choices by how many places they have, and by their sum */
	long double *ways = get_memory(NULL, (chosen + 1) * width, sizeof(*ways));
	long double all = 0, far = 0;
	int64_t mean = chosen * (places->nr + 1), sum;
	int64_t distance = llabs((int64_t)places->twice_sum - mean);
	size_t i, n, s;

	for (i = 0; i < (chosen + 1) * width; i++)
		ways[i] = 0;
	ways[0] = 1;
	for (i = 0; i < places->nr; i++)
		for (n = chosen; n > 0; n--)
			for (s = places->twice[i]; s <= most; s++)
				ways[n * width + s] += ways[(n - 1) * width + s - places->twice[i]];
	for (sum = 0; sum <= (int64_t)most; sum++) {
		all += ways[chosen * width + sum];
		if (llabs(sum - mean) >= distance)
			far += ways[chosen * width + sum];
	}
	free(ways);
	return far / all;
}

/* The same from the normal distribution, corrected for steps and for ties */
static double normal_p(const struct places *places, size_t nr_a, size_t nr_b)
{
	double n = places->nr, mean = nr_b * (n + 1) / 2;
	double variance = (double)nr_a * nr_b / 12 * (n + 1 - places->ties / (n * (n - 1)));
	double distance = fabs(places->twice_sum / 2.0 - mean) - 0.5;

	return distance <= 0 ? 1 : erfc(distance / sqrt(2 * variance));
}

struct rank_test rank_test(const uint64_t *a, size_t nr_a, const uint64_t *b, size_t nr_b)
{
	struct places places = places_of(a, nr_a, b, nr_b);
	struct rank_test test = {
		.u = (places.twice_sum - (double)nr_b * (nr_b + 1)) / 2,
		.exact = places.nr <= EXACT_MOST,
	};

	test.p = test.exact ? exact_p(&places, nr_b) : normal_p(&places, nr_a, nr_b);
	free(places.twice);
	return test;
}
