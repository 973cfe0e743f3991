// SPDX-License-Identifier: GPL-2.0
/*
 * Compares what is measured now, with a file or with another command.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <wordexp.h>

#include "common/fail.h"
#include "common/output.h"
#include "common/signals.h"
#include "compare/comparison.h"
#include "compare/measured.h"
#include "stat/measure.h"

static void check_of_comparison(const struct stat_options *options)
{
	const char *option = options->base ? "--compare" : "--vs";

	if (options->base && options->other)
		fail(STATUS_OURS, "--compare and --vs: one base is possible at a time; leave out the other one");
	if (!options->command || options->nr_targets || options->all_cpus)
		fail(STATUS_OURS, "%s: counts a COMMAND; name one, and leave out -p, -t and -a",
		     option);
	if (options->separator || options->openmetrics)
		fail(STATUS_OURS, "%s: has no CSV and no openmetrics; use --format text, json or markdown",
		     option);
	if (options->json && options->markdown)
		fail(STATUS_OURS, "-j and --format markdown: one format is possible at a time; leave out the other one");
	if (options->series_ms)
		fail(STATUS_OURS, "-I: shows one run, and %s compares runs; leave out -I", option);
	if (options->per_thread || options->metrics || options->rank.is_set)
		fail(STATUS_OURS, "%s: compares events; leave out --per-thread, --metrics and --rank",
		     option);
	if (options->other && options->other_cpu)
		fail(STATUS_OURS, "--other-cpu: both commands of --vs run on this one; leave it out");
}

void measured_check(const struct stat_options *options)
{
	if (options->warmup && (options->nr_targets || options->all_cpus ||
				options->openmetrics))
		fail(STATUS_OURS, "--warmup: is for a COMMAND that is counted; leave out -p, -t, -a, -C and --format openmetrics");
	if (options->base || options->other) {
		check_of_comparison(options);
		return;
	}
	if (options->limits)
		fail(STATUS_OURS, "--limit: is for a comparison; add --compare BASE.json or --vs COMMAND");
	if (options->other_cpu)
		fail(STATUS_OURS, "--other-cpu: is for a comparison; add --compare BASE.json");
	if (options->markdown)
		fail(STATUS_OURS, "--format markdown: is for a comparison; add --compare BASE.json or --vs COMMAND");
}

/*
 * Splits the other command into words, as a shell does. No shell runs, because its own
 * instructions would be counted.
 */
static char **words_of(const char *command)
{
	static wordexp_t words;

	switch (wordexp(command, &words, WRDE_NOCMD | WRDE_UNDEF)) {
	case 0:
		break;
	case WRDE_BADCHAR:
		fail(STATUS_OURS, "--vs: has one of |&;<>(){} outside of quotes, and no shell runs it; quote that, or write sh -c '...'");
	case WRDE_BADVAL:
		fail(STATUS_OURS, "--vs: has a variable that is not set; set it, or quote the $");
	case WRDE_CMDSUB:
		fail(STATUS_OURS, "--vs: has a command within the command, and no shell runs it; write what it prints");
	case WRDE_SYNTAX:
		fail(STATUS_OURS, "--vs: has a quote or a brace without its end; write both");
	default:
		fail(STATUS_OURS, "memory: there is none; end other programs");
	}
	if (!words.we_wordc)
		fail(STATUS_OURS, "--vs: the command is empty; name one");
	return words.we_wordv;
}

static void take(struct side *side, const char *name, const struct result *result)
{
	side_take(side, name, result_object(result));
}

/*
 * Marks optional events that the kernel may still refuse. A side has the events in the order
 * of the plan, before the times.
 */
static void mark_undecided(struct side *side, const struct plan *plan)
{
	struct series *series = side->series;
	unsigned int g, i;

	for (g = 0; g < plan->nr; g++)
		for (i = 0; i < plan->groups[g].nr; i++, series++)
			series->undecided = !series->left_out &&
					    plan->groups[g].events[i].flags & VPMC_EVENT_OPTIONAL;
}

int measured_compare(struct stat_options *options)
{
	struct comparison comparison = { .other_cpu = options->other_cpu };
	struct stat_options other_options;
	struct plan plan;
	struct result result = { .options = options, .plan = &plan };
	struct result other = { .options = &other_options, .plan = &plan };
	struct result *const turns[] = { &other, &result };
	FILE *file;

	limits_parse(&comparison.limits, options->limits);
	if (options->base)
		side_read(&comparison.base, options->base);
	if (options->base && !options->events)
		options->events = side_events(&comparison.base);
	plan_make(&plan, options);
	other_options = *options;
	if (options->other) {
		other_options.command = words_of(options->other);
		take(&comparison.base, "--vs", &other);
	} else {
		side_check(&comparison.base, false);
	}
	/* What cannot be compared is found before anything runs. */
	take(&comparison.now, "COMMAND", &result);
	mark_undecided(&comparison.now, &plan);
	comparison_check(&comparison);
	if (options->base)
		output_keep(options->base);
	file = output_open(options->output, 0);
	signals_begin();
	measure(turns + !options->other, 1 + !!options->other);
	take(&comparison.now, "COMMAND", &result);
	if (options->other)
		take(&comparison.base, "--vs", &other);
	comparison_check_ends(&comparison, options->other, true);
	comparison_check(&comparison);
	comparison_make(&comparison);
	comparison_write(file, &comparison, options->json, options->markdown);
	return comparison_beyond(&comparison);
}
