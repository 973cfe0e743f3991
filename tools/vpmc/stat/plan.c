// SPDX-License-Identifier: GPL-2.0
/*
 * Selects the events, and splits them into groups that fit into the counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pieces.h>

#include "common/fail.h"
#include "common/options.h"
#include "stat/detailed.h"
#include "stat/metric-group.h"
#include "stat/plan.h"
#include "stat/software.h"

static const char usual[] = "instructions?,cycles?,branches?,branch-misses?";

/* events that the ratios of --metrics need */
static const char for_metrics[] =
	"instructions?,cycles?,branches?,branch-misses?,cache-references?,cache-misses?";

/* Is the last one of @nr events refused beside the others, which fit? */
static bool does_not_fit(unsigned int reason, unsigned int nr)
{
	switch (reason) {
	case VPMC_REASON_NO_COUNTER:
	case VPMC_REASON_TOO_MANY:
	case VPMC_REASON_INDEX_TAKEN:
	case VPMC_REASON_LEFT_TO_PERF:	/* the processor has as many, and sets have not */
	case VPMC_WHY_CONFLICT:
		return true;
	case VPMC_REASON_PMU_PERF:	/* these leave the counters of the others */
	case VPMC_REASON_PMU_WATCHDOG:
		return nr > 1;
	}
	return false;
}

/*
 * Asks the kernel whether the events fit, by programming them in this thread,
 * stopped. This thread has no other set. Returns 0, or the error of
 * vpmc_program().
 */
static int try_set(struct vpmc_event *events, unsigned int nr,
		   struct vpmc_error *error)
{
	struct vpmc *v;
	int result = vpmc_open(&v, 0, error);

	if (result)
		return result;
	result = vpmc_program(v, events, nr,
			      VPMC_CONTROL_NEW | VPMC_CONTROL_STOPPED, error);
	if (result != -EEXIST)
		vpmc_unlink(v);
	vpmc_close(v);
	return result < 0 ? result : 0;
}

/*
 * Returns @text, one event, with ":uk" if it is written without modes. What is wrong is
 * found when the whole list is parsed.
 */
static char *event_of_both_modes(char *text)
{
	const char *slash = strrchr(text, '/'), *name = slash ?: text;
	const char *counter = name + strcspn(name, "@?");
	struct vpmc_event *event;
	unsigned int nr;
	bool is_usual;

	if (vpmc_parse_events(text, &event, &nr, NULL))
		return text;
	is_usual = event->flags & VPMC_EVENT_USUAL_MODES;
	vpmc_free_events(event);
	return is_usual ? get_text("%.*s%suk%s", (int)(counter - text), text, slash ? "" : ":",
				counter) : text;
}

/*
 * Returns the list with ":uk" after each event that is written without modes. Each is parsed
 * by itself, because "a,a:u" is two events then.
 */
static const char *list_of_both_modes(const char *list)
{
	struct vpmc_pieces pieces = { .at = list, .more = true };
	struct vpmc_piece piece;
	char *other = NULL, *text;

	while (pieces.more) {
		vpmc_pieces_next(&pieces, &piece);
		text = piece.why ? NULL : vpmc_piece_text(&piece);
		if (!text)
			return list;
		other = options_list(other, event_of_both_modes(text));
	}
	return other;
}

/*
 * Parses @list. Optional events that the processor lacks are kept and marked. With
 * @both_modes, an event without modes counts in user and in kernel mode.
 */
static struct vpmc_event *parse(const char *list, bool both_modes, unsigned int *nr)
{
	struct vpmc_event *events;
	struct vpmc_error error;

	if (vpmc_parse_events(both_modes ? list_of_both_modes(list) : list, &events, nr,
			      &error))
		fail_error(&error);
	return events;
}

/* One that the kernel has left out meanwhile has its select. The library's have none. */
static bool counts_the_same(const struct vpmc_event *a,
			    const struct vpmc_event *b)
{
	return a->select && a->select == b->select;
}

static bool in_group(const struct group *group, const struct vpmc_event *event)
{
	unsigned int i;

	for (i = 0; i < group->nr; i++)
		if (counts_the_same(&group->events[i], event))
			return true;
	return false;
}

static void append(struct group *group, const struct vpmc_event *event)
{
	group->events = get_memory(group->events, group->nr + 1,
				   sizeof(*group->events));
	group->events[group->nr++] = *event;
}

static struct group *new_group(struct plan *plan)
{
	plan->groups = get_memory(plan->groups, plan->nr + 1,
				  sizeof(*plan->groups));
	plan->groups[plan->nr] = (struct group){};
	return &plan->groups[plan->nr++];
}

/*
 * Appends @event if the group then still fits. Otherwise removes the event
 * again. Returns 0, or the reason of the refusal.
 */
static unsigned int append_if_it_fits(struct group *group,
				      const struct vpmc_event *event)
{
	struct vpmc_error error;

	append(group, event);
	if (!try_set(group->events, group->nr, &error))
		return 0;
	if (!does_not_fit(error.reason, group->nr))
		plan_refused(group, &error);
	group->nr--;
	return error.reason;
}

static void split(struct plan *plan, const struct group *all)
{
	struct group *group = new_group(plan);
	unsigned int i;

	for (i = 0; i < all->nr; i++) {
		if (!append_if_it_fits(group, &all->events[i]))
			continue;
		/*
		 * An event that does not fit alone is refused by the kernel
		 * later, with its reason.
		 */
		group = new_group(plan);
		append(group, &all->events[i]);
	}
}

/* Appends the events of -e. */
static void append_all(struct group *group, const char *list, bool both_modes)
{
	unsigned int nr, i;
	struct vpmc_event *events = parse(list, both_modes, &nr);

	for (i = 0; i < nr; i++)
		append(group, &events[i]);
}

/*
 * Appends the default events, as far as this processor has them and they fit. @room: so
 * many events fit for sure, and no more; or 0: try each.
 */
static void append_wanted(struct group *group, const char *list, bool both_modes,
			  unsigned int room)
{
	unsigned int nr, i;
	struct vpmc_event *events = parse(list, both_modes, &nr);

	for (i = 0; i < nr; i++) {
		if (events[i].flags & VPMC_EVENT_LEFT_OUT ||
		    in_group(group, &events[i]))
			continue;
		if (!room)
			append_if_it_fits(group, &events[i]);
		else if (group->nr < room)
			append(group, &events[i]);
	}
}

/* Appends an event as one that is left out, so that results have a row that says why. */
static void append_left_out(struct group *group, struct vpmc_event event, unsigned int reason)
{
	event.flags |= VPMC_EVENT_LEFT_OUT;
	event.reason = reason;
	event.element = -1;
	append(group, &event);
}

/*
 * Appends the events of -d. Those that this processor lacks or that do not fit are left out.
 * Two names may be the same event, which has one row.
 */
static void append_detailed(struct group *group, const struct stat_options *options)
{
	struct vpmc_event *event;
	unsigned int nr, i, reason;
	const char *name;

	for (i = 0; (name = detailed_event(options->detailed, i)); i++) {
		event = parse(name, options->both_modes, &nr);
		if (!left_out(event) && in_group(group, event))
			continue;
		if (left_out(event) || options->split) {
			append(group, event);
			continue;
		}
		reason = append_if_it_fits(group, event);
		if (reason)
			append_left_out(group, *event, reason);
	}
}

/* Appends the events of a group of metrics that are not there yet. */
static void append_metric_group(struct group *group, const struct metric_group *metrics)
{
	unsigned int i;

	for (i = 0; i < metrics->here->nr_events; i++) {
		const struct vpmc_event *event = &metrics->here->event[i].event;

		if (!left_out(event) && !in_group(group, event))
			append(group, event);
	}
}

/* Reads the groups of metrics that -M names, and appends their events. */
static void take_metric_groups(struct plan *plan, struct group *group, const char *list)
{
	const char *at = list;
	unsigned int i;
	size_t length;

	group->metric_groups = list;
	for (;; at += length + 1) {
		struct metric_group *metrics;

		length = strcspn(at, ",");
		if (!length)
			fail(STATUS_OURS, "-M: a name in the list is empty; name a group, as vpmc list --groups does");
		metrics = metric_group_find(get_text("%.*s", (int)length, at));
		for (i = 0; i < plan->nr_metric_groups; i++)
			if (!strcmp(plan->metric_groups[i]->name, metrics->name))
				fail(STATUS_OURS, "-M: the group %s is in the list twice; name it once",
				     metrics->name);
		plan->metric_groups = get_memory(plan->metric_groups, plan->nr_metric_groups + 1,
						 sizeof(*plan->metric_groups));
		plan->metric_groups[plan->nr_metric_groups++] = metrics;
		append_metric_group(group, metrics);
		if (!at[length])
			return;
	}
}

static bool is_none(const char *list)
{
	return list && !strcmp(list, "none");
}

/* "none" is no event, so it cannot be beside events. */
static void check_none(const char *list)
{
	while (list) {
		if (!strncmp(list, "none", 4) && (!list[4] || list[4] == ','))
			fail(STATUS_OURS, "-e none: counts no event; leave out none, or all others");
		list = strchr(list, ',');
		list += !!list;
	}
}

/*
 * Returns true and sets @note if there is no PMU. Fails if vpmc is not
 * available.
 */
static bool without_pmu(struct plan *plan, struct vpmc_info *info)
{
	struct vpmc_error error;
	struct vpmc *v;

	if (vpmc_get_info(info)) {
		/* vpmc_open() returns the reason. */
		if (vpmc_open(&v, 0, &error))
			fail_error(&error);
		vpmc_close(v);
	}
	if (info->kind != VPMC_KIND_TSC)
		return false;
	plan->note = "there is no PMU that can be used: run time, switches and migrations alone (vpmc info tells more)";
	return true;
}

void plan_make(struct plan *plan, const struct stat_options *options)
{
	const char *list = options->events;
	struct group all = {};
	struct vpmc_info info;

	*plan = (struct plan){};
	if (is_none(options->events)) {
		if (options->metrics)
			fail(STATUS_OURS, "--metrics: there are no ratios of no events; leave out -e none");
		if (options->metric_groups || options->detailed)
			fail(STATUS_OURS, "%s: counts events; leave out -e none",
			     options->metric_groups ? "-M" : "-d");
		new_group(plan);
		return;
	}
	if (list && (options->software || options->all_cpus))
		list = software_take(list, plan, options);
	if (options->events) {
		/* What is left takes counters. */
		if (list && !is_none(list)) {
			check_none(list);
			append_all(&all, list, options->both_modes);
		}
	} else if (without_pmu(plan, &info)) {
		if (options->metric_groups)
			fail(STATUS_OURS, "-M %s: there is no PMU that can be used; vpmc info tells more",
			     options->metric_groups);
		new_group(plan);
		return;
	} else if (!options->metrics && !options->metric_groups) {
		/*
		 * These events fit into four counters, whatever the processor. What
		 * this thread may count says nothing about processors.
		 */
		append_wanted(&all, usual, options->both_modes, options->all_cpus ?
			      info.nr_gp + info.nr_fixed : info.nr_gp >= 4 ? info.nr_gp : 0);
	}
	if (options->metrics)
		append_wanted(&all, for_metrics, options->both_modes,
			      options->split ? UINT_MAX : 0);
	if (options->metric_groups)
		take_metric_groups(plan, &all, options->metric_groups);
	append_detailed(&all, options);
	if (options->split)
		split(plan, &all);
	else
		*new_group(plan) = all;
}

void plan_ask(struct group *group)
{
	struct vpmc_error error;

	if (group->nr)
		try_set(group->events, group->nr, &error);
}

void plan_too_many(const struct group *group, const struct vpmc_error *error,
		   plan_try_fn *try, const void *arg, const char *helps)
{
	unsigned int nr;

	if (error->reason != VPMC_REASON_NO_COUNTER &&
	    error->reason != VPMC_REASON_TOO_MANY &&
	    (error->reason != VPMC_REASON_LEFT_TO_PERF || error->event >= 0))
		return;
	for (nr = group->nr - 1; nr; nr--)
		if (!try(arg, group->events, nr))
			fail(STATUS_OURS, "%s%s%s%u events: the first %u fit into the counters at once, no more; leave some out, or %s",
			     group->metric_groups ? "-M " : "", group->metric_groups ?: "",
			     group->metric_groups ? ": " : "", group->nr, nr, helps);
}

static int try_here(const void *arg, struct vpmc_event *events, unsigned int nr)
{
	struct vpmc_error error;

	(void)arg;
	return try_set(events, nr, &error);
}

void plan_refused(const struct group *group, const struct vpmc_error *error)
{
	plan_too_many(group, error, try_here, NULL,
		      "let vpmc stat --split run the command once for each group");
	fail_error(error);
}
