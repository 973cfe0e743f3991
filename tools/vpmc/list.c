// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc list: lists the events of this processor. Asks the kernel about each
 * event.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <vpmc.h>

#include "commands.h"
#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"
#include "common/table.h"
#include "stat/metric-group.h"
#include "stat/software.h"

struct list {
	const char *glob;	/* NULL to list all events */
	bool names;		/* print only the names of events that can be counted */
	bool groups;		/* list groups of metrics, and no events */
	struct libscols_table *table;
	/*
	 * set for questions to the kernel; NULL if the kernel cannot be asked
	 */
	struct vpmc *v;
	struct vpmc_error error;	/* why the kernel cannot be asked */
	unsigned int found;
};

/* Returns true for reasons that depend on the event alone. */
static bool is_about_event(unsigned int reason)
{
	switch (reason) {
	case VPMC_REASON_RESERVED_BIT:
	case VPMC_REASON_WRONG_EVENT:
	case VPMC_REASON_NO_COUNTER:
	case VPMC_REASON_UNAVAILABLE:
	case VPMC_REASON_EXTRA_MSR:
	case VPMC_REASON_AMBIGUOUS:
		return true;
	default:
		return false;
	}
}

/* Programs only this event, stopped. Returns the reason of a refusal. */
static unsigned int ask_kernel(struct list *list, uint64_t select)
{
	struct vpmc_control control = {
		.flags = VPMC_CONTROL_STOPPED, .nr_counters = 1,
		.counter = { { .evtsel = select, .index = VPMC_ANY } },
	};

	if (vpmc_program_raw(list->v, &control, NULL) >= 0)
		return VPMC_REASON_NONE;
	return is_about_event(control.reason) ? control.reason :
						VPMC_REASON_NONE;
}

static bool matches(const struct list *list, const struct vpmc_event_info *info)
{
	return !list->glob ||
	       !fnmatch(list->glob, info->name, FNM_CASEFOLD) ||
	       !fnmatch(list->glob, info->event, FNM_CASEFOLD);
}

static int tell(void *arg, const struct vpmc_event_info *info)
{
	struct list *list = arg;
	unsigned int reason = info->reason;
	const char *text[3];

	if (!matches(list, info))
		return 0;
	if (!reason && list->v)
		reason = ask_kernel(list, info->select);
	list->found++;
	if (list->names) {
		if (!reason)
			puts(info->name);
		return 0;
	}
	text[0] = info->name;
	text[1] = reason ? vpmc_reason_name(reason) : "";
	text[2] = info->description;
	table_line(list->table, text);
	return 0;
}

/*
 * Opens a set of this thread. Each question about an event replaces that set.
 */
static void open_kernel(struct list *list)
{
	struct vpmc_control none = {
		.flags = VPMC_CONTROL_STOPPED | VPMC_CONTROL_NEW,
	};

	if (vpmc_open(&list->v, 0, &list->error))
		return;
	if (vpmc_program_raw(list->v, &none, &list->error) >= 0 &&
	    !vpmc_check(&list->error))
		return;
	vpmc_close(list->v);
	list->v = NULL;
}

static void tell_group(void *arg, const char *name, const char *description, const char *why)
{
	struct list *list = arg;
	const char *text[] = { name, why ? "-" : "", why ?: description };

	if (list->glob && fnmatch(list->glob, name, FNM_CASEFOLD))
		return;
	list->found++;
	if (!list->names)
		table_line(list->table, text);
	else if (!why)
		puts(name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct list *list = state->input;

	switch (key) {
	case 'n':
		list->names = true;
		return 0;
	case 'g':
		list->groups = true;
		return 0;
	case ARGP_KEY_ARG:
		if (list->glob)
			fail(STATUS_OURS, "%s: vpmc list takes one pattern; leave it out",
			     arg);
		list->glob = arg;
		return 0;
	default:
		return options_default(key, state);
	}
}

/*
 * Nothing matches. A pattern that is a word by itself is explained as -e does it: it may be
 * refused with a reason, be no event of the processor, or have modes.
 */
__attribute__((__noreturn__))
static void found_nothing(const struct list *list)
{
	struct vpmc_event *events;
	struct vpmc_error error;
	unsigned int nr;

	if (list->groups)
		fail(STATUS_OURS, "--groups: there is no group%s%s; install vpmc-tools, or name a directory in VPMC_GROUPS",
		     list->glob ? " that matches " : "", list->glob ?: "");
	if (*list->glob && !strpbrk(list->glob, "*?[")) {
		software_explain(list->glob);
		if (!vpmc_parse_events(list->glob, &events, &nr, &error))
			fail(STATUS_OURS, "%s: is more than a name; vpmc stat -e takes it as it is, vpmc list wants the name alone",
			     list->glob);
		if (error.nr_similar || error.reason != VPMC_WHY_UNKNOWN ||
		    strcmp(error.why, vpmc_reason_text(VPMC_WHY_UNKNOWN)))
			fail_error(&error);
	}
	fail(STATUS_OURS, "%s: no event's name matches it; vpmc list without a pattern lists all",
	     list->glob);
}

int list_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "names", 'n', NULL, 0, "Nothing but the names of what can be counted", 0 },
		{ "groups", 'g', NULL, 0, "List the groups of metrics that vpmc stat -M takes, and no events; what this processor cannot use has a - and the reason", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "[GLOB]",
		.doc = "Lists the events of this processor, the portable ones first, with their unit masks."
		       "\vWhat cannot be counted is marked with the reason.",
	};
	struct list list = {};

	options_parse("vpmc list", &argp, argc, argv, &list);
	if (!list.groups)
		open_kernel(&list);
	list.table = table_new(false, false);
	table_column(list.table, "", false);
	table_column(list.table, "", false);
	table_column(list.table, "", false);
	if (list.groups)
		metric_groups_list(tell_group, &list);
	else
		vpmc_list_events(tell, &list);
	if (!list.found)
		found_nothing(&list);
	if (!list.names)
		table_print(list.table, stdout);
	output_finish();
	if (!list.v && !list.groups)
		note("kernel: it was not asked what it refuses: %s: %s; vpmc info tells what is possible",
		     list.error.what, list.error.why);
	return 0;
}
