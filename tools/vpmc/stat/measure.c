// SPDX-License-Identifier: GPL-2.0
/*
 * Makes all runs of a measurement.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>

#include "common/fail.h"
#include "common/signals.h"
#include "stat/input.h"
#include "stat/measure.h"

static void one_run(const struct result *result, unsigned int group, struct run *run)
{
	const struct stat_options *options = result->options;

	*run = (struct run){ .group = group };
	if (options->nr_targets)
		target_run(options, &result->plan->groups[group], run);
	else
		command_run(options, &result->plan->groups[group], run);
}

static void warm_up(struct result *result, unsigned int group)
{
	struct run run;

	one_run(result, group, &run);
	if (!result->warmup_status && run_failed(&run))
		result->warmup_status = run.status;
	free(run.thread);
}

static void keep_run(struct result *result, unsigned int group)
{
	result->run = get_memory(result->run, result->nr + 1, sizeof(*result->run));
	one_run(result, group, &result->run[result->nr]);
	result->nr++;
}

void measure(struct result *const *result, unsigned int nr)
{
	const struct stat_options *options = result[0]->options;
	const struct plan *plan = result[0]->plan;
	unsigned int rounds = options->warmup + options->repeat;
	struct input before = input_now();
	unsigned int i, g, r, made = 0;
	bool was_read = false;

	for (i = 0; i < rounds; i++)
		for (g = 0; g < plan->nr; g++)
			for (r = 0; r < nr && !interrupted(); r++) {
				if (i < options->warmup)
					warm_up(result[r], g);
				else
					keep_run(result[r], g);
				/* What the first run of all has read, the others lack. */
				if (!made++)
					was_read = input_was_read(&before);
			}
	for (r = 0; r < nr; r++)
		result[r]->input_was_read = was_read && made > 1;
}
