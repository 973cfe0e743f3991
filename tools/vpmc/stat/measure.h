/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes all runs of one measurement, or of two that are to be compared.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MEASURE_H
#define MEASURE_H

#include "stat/result.h"

/*
 * Runs each result's COMMAND once for each group of its plan, as often as the options say.
 * Of several results, the runs take turns: A B A B. They share the plan. Those of --warmup
 * come first, and are not kept.
 */
void measure(struct result *const *result, unsigned int nr);

/*
 * For results whose measurement fails in the middle. Takes runs out of the means that are
 * no part of them, as measure() does at its end.
 */
void measure_end(struct result *result);

#endif /* MEASURE_H */
