// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc report: the results of several ranks together, a graph as a page, or samples.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "common/fail.h"
#include "common/json-write.h"
#include "common/options.h"
#include "common/output.h"
#include "profile/identity.h"
#include "profile/page.h"
#include "profile/samples.h"
#include "stat/merge.h"

#define WHAT_TO_NAME	"name a directory of vpmc stat --rank, or a file of vpmc graph or vpmc record"

enum { OPTION_HTML = 0x100, OPTION_FOLDED, OPTION_SYMFS };

struct report_options {
	const char *file;
	const char *output;
	const char *symfs;
	bool json, html, folded;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case 'j':
		options->json = true;
		return 0;
	case OPTION_HTML:
		options->html = true;
		return 0;
	case OPTION_FOLDED:
		options->folded = true;
		return 0;
	case OPTION_SYMFS:
		options->symfs = arg;
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->file)
			fail(STATUS_OURS, "%s: one file or directory is possible at a time; leave it out",
			     arg);
		options->file = arg;
		return 0;
	default:
		return options_default(key, state);
	}
}

/* Only samples get their names here. */
static void refuse_symfs(const struct report_options *options)
{
	if (options->symfs)
		fail(STATUS_OURS, "--symfs: is for what vpmc record has written; leave it out");
}

static void report_ranks(const struct report_options *options)
{
	struct merge merge;
	FILE *file;

	if (options->folded)
		fail(STATUS_OURS, "--folded: is for what vpmc record has written; leave it out for a directory of ranks");
	if (options->html)
		fail(STATUS_OURS, "--html: is for what vpmc graph has written; leave it out for a directory of ranks");
	refuse_symfs(options);
	merge_read(&merge, options->file);
	file = output_open(options->output, 0);
	if (options->json)
		merge_print_json(file, &merge);
	else
		merge_print_text(file, &merge);
	output_close(file);
}

static void report_graph(const struct report_options *options)
{
	struct page *page;
	FILE *file;

	if (options->json)
		fail(STATUS_OURS, "-j: %s is JSON itself; leave out -j", options->file);
	if (options->folded)
		fail(STATUS_OURS, "--folded: is for samples; vpmc graph has written BASE.folded");
	refuse_symfs(options);
	page = page_read(options->file);
	file = output_open(options->output, 0);
	if (options->html)
		page_print_html(file, page);
	else
		page_print_text(file, page);
	output_close(file);
}

/* A directory that is misspelt would have no file, and "have changed" would be told of all. */
static void check_symfs(const char *name)
{
	struct stat status;
	int error = stat(name, &status) ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;

	if (error)
		fail(STATUS_OURS, "--symfs %s: %s; name a directory with the files that were sampled",
		     name, strerror(error));
}

static void report_samples(const struct report_options *options)
{
	struct samples samples;
	FILE *file;

	if (options->symfs)
		check_symfs(options->symfs);
	if (options->json + options->html + options->folded > 1)
		fail(STATUS_OURS, "-j, --html and --folded: one format is possible at a time; leave out the others");
	identity_symfs(options->symfs);
	samples_read(&samples, options->file);
	file = output_open(options->output, 0);
	if (options->json) {
		print_object(file, samples_object(&samples));
		putc('\n', file);
	} else if (options->html) {
		page_print_html(file, page_of(samples_object(&samples)));
	} else if (options->folded) {
		samples_print_folded(file, &samples);
	} else {
		samples_print_text(file, &samples);
	}
	output_close(file);
}

/* What it is decides how it is read, and a pipe can be read only once. */
static void check_file(const char *file, const struct stat *status)
{
	if (!S_ISDIR(status->st_mode) && !S_ISREG(status->st_mode))
		fail(STATUS_OURS, "%s: is a pipe or a device, which cannot be read; let vpmc graph or vpmc record write a file by -o, and name that",
		     file);
	if (S_ISREG(status->st_mode) && !status->st_size)
		fail(STATUS_OURS, "%s: is empty; " WHAT_TO_NAME, file);
}

int report_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "json", 'j', NULL, 0, "Of ranks and samples: one JSON object", 0 },
		{ "html", OPTION_HTML, NULL, 0, "Of a graph or samples: a page with a table and a flame graph, in one file", 0 },
		{ "folded", OPTION_FOLDED, NULL, 0, "Of samples: a line for each thread and function, as flame graphs are made of", 0 },
		{ "symfs", OPTION_SYMFS, "DIR", 0, "Of samples: looks in DIR first for the files that were sampled", 0 },
		{ "output", 'o', "FILE", 0, "The result goes to FILE (standard output)", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "DIR\nFILE",
		.doc = "Puts together what vpmc stat --rank -o DIR has written, or tells what is in a FILE of vpmc graph or vpmc record.",
	};
	struct report_options options = { .output = "-" };
	struct stat status;

	options_parse("vpmc report", &argp, argc, argv, &options);
	if (!options.file)
		fail(STATUS_OURS, "DIR or FILE: there is none; " WHAT_TO_NAME);
	if (stat(options.file, &status))
		fail(STATUS_OURS, "%s: cannot be read: %s; " WHAT_TO_NAME,
		     options.file, strerror(errno));
	check_file(options.file, &status);
	output_keep(options.file);
	if (S_ISDIR(status.st_mode))
		report_ranks(&options);
	else if (samples_is_file(options.file))
		report_samples(&options);
	else
		report_graph(&options);
	return 0;
}
