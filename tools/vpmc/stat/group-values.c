// SPDX-License-Identifier: GPL-2.0
/*
 * What the metrics of groups are worth: finds the counts of the events that formulas name.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <math.h>
#include <string.h>

#include "common/fail.h"
#include "stat/group-values.h"

/* Says why there is no value. Returns false. */
static bool none(const char **mark, char **why, const char *reason, char *text)
{
	*mark = reason;
	*why = text;
	return false;
}

/* Finds the event in the plan, where another group or -e may have asked for it first. */
static const struct vpmc_event *find_planned(const struct plan *plan, const struct vpmc_event *event,
					     unsigned int *group)
{
	unsigned int g, i;

	for (g = 0; g < plan->nr; g++)
		for (i = 0; i < plan->groups[g].nr; i++)
			if (plan->groups[g].events[i].select == event->select) {
				*group = g;
				return &plan->groups[g].events[i];
			}
	return NULL;
}

static bool value_of_region(const struct stat_region *region, const struct vpmc_event *event,
			    double *value)
{
	unsigned int i;

	for (i = 0; i < region->nr_values; i++)
		if (!strcmp(region->value[i].event, event->name)) {
			*value = region->value[i].inclusive;
			return true;
		}
	return false;
}

static bool value_of_event(const struct group_source *source, const struct named_event *named,
			   double *value, const char **mark, char **why)
{
	const struct vpmc_event *event = &named->event;
	char buffer[VPMC_NAME_SIZE];
	const char *label = event_label(event, buffer);
	struct value counted;
	unsigned int group;

	if (!left_out(event))
		event = find_planned(source->result->plan, event, &group);
	if (!event)
		return none(mark, why, "not-run", get_text("%s was not counted", label));
	if (left_out(event))
		return none(mark, why, vpmc_reason_name(event->reason),
			    get_text("%s is left out: %s", label, vpmc_reason_text(event->reason)));
	if (source->region)
		return value_of_region(source->region, event, value) ||
		       none(mark, why, "not-run",
			    get_text("the region does not count %s", label));
	if (source->run) {
		*value = source->run->counts.sum[event->element];
		return true;
	}
	counted = result_event(source->result, group, event);
	*value = counted.mean;
	return counted.runs ||
	       none(mark, why, "not-run", get_text("%s was not run", label));
}

static bool value_of_time(const struct group_source *source, enum fact fact, double *value,
			  const char **mark, char **why)
{
	struct value counted;

	if (source->region && fact == FACT_ELAPSED)
		return none(mark, why, "not-run", get_text("a region has no elapsed time"));
	if (source->region) {
		*value = source->region->inclusive_ns / 1e9;
		return true;
	}
	if (source->run) {
		*value = run_fact(source->run, fact) / 1e9;
		return true;
	}
	counted = result_fact(source->result, fact);
	*value = counted.mean / 1e9;
	return counted.runs || none(mark, why, "not-run", get_text("no run was made"));
}

static bool value_of(const void *values, int name, double *value, const char **mark, char **why)
{
	const struct group_source *source = values;
	int own = name - (int)source->alternative->nr_events;

	if (own < 0)
		return value_of_event(source, &source->alternative->event[name], value, mark, why);
	return value_of_time(source, own == NAME_TIME ? FACT_RUN_TIME : FACT_ELAPSED, value, mark,
			     why);
}

struct worth group_metric_worth(const struct group_source *source,
				const struct group_metric *metric)
{
	return formula_worth(metric->formula, value_of, source);
}

const char *group_number(double value, char text[GROUP_NUMBER])
{
	double size = fabs(value);

	/* Six digits behind the point would hide a small number. */
	snprintf(text, GROUP_NUMBER, !value || (size >= 0.001 && size < 1e18) ? "%.6f" : "%.6e",
		 value);
	return *text == '-' && !text[1 + strspn(text + 1, "0.")] ? text + 1 : text;
}
