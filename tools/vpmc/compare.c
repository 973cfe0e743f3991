// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc compare: two results of vpmc stat.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <string.h>

#include "commands.h"
#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"
#include "compare/comparison.h"

enum { OPTION_LIMIT = 0x100, OPTION_OTHER_CPU, OPTION_FORMAT };

struct compare_options {
	const char *file[2];
	char *limits;
	const char *output;
	const char *format;	/* --format, NULL if not given */
	bool other_cpu, json, markdown;
};

static void check_name(const char *name)
{
	if (strcmp(name, "json") && strcmp(name, "markdown") && strcmp(name, "text"))
		fail(STATUS_OURS, "--format %s: there is none of that name; use text, json or markdown",
		     name);
}

/* Takes --format, if it is there. It may stand behind -j, or before it. */
static void set_format(struct compare_options *options, const char *name)
{
	if (!name)
		return;
	if (options->json && strcmp(name, "json"))
		fail(STATUS_OURS, "-j and --format %s: one format is possible at a time; leave out the other one",
		     name);
	options->json = !strcmp(name, "json");
	options->markdown = !strcmp(name, "markdown");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct compare_options *options = state->input;

	switch (key) {
	case OPTION_LIMIT:
		options->limits = limits_add(options->limits, arg);
		return 0;
	case OPTION_OTHER_CPU:
		options->other_cpu = true;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case OPTION_FORMAT:
		check_name(arg);
		options->format = arg;
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->file[1])
			fail(STATUS_OURS, "%s: two files are compared, no more; leave it out",
			     arg);
		options->file[!!options->file[0]] = arg;
		return 0;
	default:
		return options_default(key, state);
	}
}

int compare_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "limit", OPTION_LIMIT, "LIMIT", 0, "How much more of each event is permitted, such as 0.5%, 1000 or instructions=0.5%; beyond that, the exit status is 1", 0 },
		{ "other-cpu", OPTION_OTHER_CPU, NULL, 0, "Results of different processors are no error", 0 },
		{ "json", 'j', NULL, 0, "One JSON object", 1 },
		{ "format", OPTION_FORMAT, "FORMAT", 0, "text (the default), json, or markdown for a pull request", 1 },
		{ "output", 'o', "FILE", 0, "The result goes to FILE (standard output)", 1 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "BASE.json NEW.json",
		.doc = "Compares two results that vpmc stat -j has written."
		       "\vThe exit status is 0, or 1 if something is beyond its limit, 125 if something failed.",
	};
	struct compare_options options = { .output = "-" };
	struct comparison comparison = {};

	options_parse("vpmc compare", &argp, argc, argv, &options);
	set_format(&options, options.format);
	if (!options.file[1])
		fail(STATUS_OURS, "compare: two files are needed; name BASE.json and NEW.json, as vpmc stat -j -o FILE writes them");
	limits_parse(&comparison.limits, options.limits);
	comparison.other_cpu = options.other_cpu;
	side_read(&comparison.base, options.file[0]);
	side_read(&comparison.now, options.file[1]);
	comparison_check(&comparison);
	comparison_check_ends(&comparison, false, false);
	comparison_make(&comparison);
	output_keep(options.file[0]);
	output_keep(options.file[1]);
	comparison_write(output_open(options.output, 0), &comparison, options.json,
			 options.markdown);
	return comparison_beyond(&comparison);
}
