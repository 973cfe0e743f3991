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
#include "stat/regions.h"

static void one_run(const struct result *result, unsigned int group, struct run *run)
{
	const struct stat_options *options = result->options;

	*run = (struct run){ .group = group };
	/* With --rank and -r, regions are those of the last run. */
	regions_restart();
	if (options->nr_targets)
		target_run(options, &result->plan->groups[group], run);
	else
		command_run(options, &result->plan->groups[group], run);
}

/* This run is in no number, but if it has failed, COMMAND has. */
static void leave_out(struct result *result, struct run *run)
{
	if (!result->other_status && run_failed(run))
		result->other_status = run->status;
	free(run->thread);
}

static void warm_up(struct result *result, unsigned int group)
{
	struct run run;

	one_run(result, group, &run);
	leave_out(result, &run);
}

static void keep_run(struct result *result, unsigned int group)
{
	result->run = get_memory(result->run, result->nr + 1, sizeof(*result->run));
	one_run(result, group, &result->run[result->nr]);
	result->nr++;
}

static bool some_counted(const struct result *result, unsigned int group)
{
	unsigned int i;

	for (i = 0; i < result->nr; i++)
		if (result->run[i].group == group && !result->run[i].early)
			return true;
	return false;
}

/*
 * A run that ended before -D was over has counted nothing, so it is no part of means. If all
 * of a group did, they stay, and the result says so.
 */
void measure_end(struct result *result)
{
	unsigned int i, g, to;

	for (g = 0; g < result->plan->nr; g++) {
		if (!some_counted(result, g))
			continue;
		for (i = to = 0; i < result->nr; i++) {
			struct run *run = &result->run[i];

			if (run->group == g && run->early)
				leave_out(result, run);
			else
				result->run[to++] = *run;
		}
		result->early += result->nr - to;
		result->nr = to;
	}
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
	for (r = 0; r < nr; r++)
		measure_end(result[r]);
}
