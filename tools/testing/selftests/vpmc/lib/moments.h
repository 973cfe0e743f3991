/* SPDX-License-Identifier: GPL-2.0 */
/* How long something takes for others. */
#ifndef MOMENTS_H
#define MOMENTS_H

#include <time.h>

/* No call takes longer, and no interrupt is later, whatever users do. */
#define BOUND_MS	10

static double ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

#endif
