// SPDX-License-Identifier: GPL-2.0
/*
 * Ratios of events.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "common/fail.h"
#include "common/portable.h"
#include "stat/detailed.h"
#include "stat/result.h"

/*
 * Divisor of each event, and the name of the ratio. NULL: per 1000
 * instructions.
 */
static const struct {
	int by;
	const char *per;
} ratio[NR_PORTABLE] = {
	[INSTRUCTIONS] = { CYCLES, "per cycle" },
	[CYCLES] = { INSTRUCTIONS, "per instruction" },
	[REF_CYCLES] = { INSTRUCTIONS, "per instruction" },
	[BRANCHES] = { INSTRUCTIONS, NULL },
	[BRANCH_MISSES] = { BRANCHES, "per branch" },
	[CACHE_REFERENCES] = { INSTRUCTIONS, NULL },
	[CACHE_MISSES] = { CACHE_REFERENCES, "per cache-reference" },
};

static const char per_thousand[] = "per 1000 instructions";

/* Returns the mean of an event of kind @kind, counted in the same modes. */
static struct value value_of(const struct result *result, int kind,
			     uint64_t modes)
{
	unsigned int g, i;

	for (g = 0; g < result->plan->nr; g++) {
		const struct group *group = &result->plan->groups[g];

		for (i = 0; i < group->nr; i++)
			if (!left_out(&group->events[i]) &&
			    portable_of(group->events[i].select) == kind &&
			    modes_of(group->events[i].select) == modes)
				return result_event(result, g, &group->events[i]);
	}
	return (struct value){};
}

/* Returns the mean of the event of this select. */
static struct value value_of_select(const struct result *result, uint64_t select)
{
	unsigned int g, i;

	for (g = 0; g < result->plan->nr; g++) {
		const struct group *group = &result->plan->groups[g];

		for (i = 0; i < group->nr; i++)
			if (!left_out(&group->events[i]) && group->events[i].select == select)
				return result_event(result, g, &group->events[i]);
	}
	return (struct value){};
}

static bool divide_by(const struct result *result, unsigned int group,
		      const struct vpmc_event *event, struct value below, const char *per,
		      struct metric *metric)
{
	struct value above = result_event(result, group, event);

	if (!above.runs || !below.runs || !below.mean)
		return false;
	metric->per = per ? per : per_thousand;
	metric->value = (double)above.mean * (per ? 1 : 1000) / below.mean;
	metric->name = get_text("%s %s", event->name, metric->per);
	return true;
}

static bool divide(const struct result *result, unsigned int group,
		   const struct vpmc_event *event, int by, const char *per,
		   struct metric *metric)
{
	return divide_by(result, group, event,
			 value_of(result, by, modes_of(event->select)), per, metric);
}

bool result_metric(const struct result *result, unsigned int group,
		   const struct vpmc_event *event, struct metric *metric)
{
	int kind = portable_of(event->select);
	const char *per;
	uint64_t loads;

	if (left_out(event))
		return false;
	if (detailed_loads(event, &loads, &per)) {
		struct value below = value_of_select(result, loads);

		/* If the loads are counted, misses have no other ratio, also if these are 0. */
		if (below.runs)
			return divide_by(result, group, event, below, per, metric);
	}
	if (kind < 0)
		return divide(result, group, event, INSTRUCTIONS, NULL, metric);
	return divide(result, group, event, ratio[kind].by, ratio[kind].per,
		      metric);
}

struct metric *result_metrics(const struct result *result, unsigned int *nr)
{
	struct metric *metrics = NULL, metric;
	unsigned int g, i;

	*nr = 0;
	for (g = 0; g < result->plan->nr; g++)
		for (i = 0; i < result->plan->groups[g].nr; i++) {
			const struct vpmc_event *event =
				&result->plan->groups[g].events[i];
			int kind = left_out(event) ? CYCLES : portable_of(event->select);

			metrics = get_memory(metrics, *nr + 2, sizeof(*metrics));
			if (kind != CYCLES &&
			    result_metric(result, g, event, &metric))
				metrics[(*nr)++] = metric;
			/* Misses have a second ratio, to instructions. */
			if ((kind == BRANCH_MISSES || kind == CACHE_MISSES) &&
			    divide(result, g, event, INSTRUCTIONS, NULL, &metric))
				metrics[(*nr)++] = metric;
		}
	return metrics;
}
