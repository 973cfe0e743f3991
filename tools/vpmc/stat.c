// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc stat: counts a whole program, or a process or thread for some time.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "commands.h"
#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"
#include "compare/limit.h"
#include "compare/measured.h"
#include "cpus/cpus.h"
#include "stat/child.h"
#include "stat/measure.h"
#include "stat/openmetrics.h"
#include "stat/perf-options.h"
#include "stat/result.h"
#include "stat/series.h"

enum { OPTION_NO_INHERIT = 0x100, OPTION_PER_THREAD, OPTION_METRICS,
       OPTION_SPLIT, OPTION_STOPPED, OPTION_FORMAT, OPTION_INTERVAL,
       OPTION_RANK, OPTION_REVOKE, OPTION_WARMUP, OPTION_COMPARE, OPTION_VS,
       OPTION_LIMIT, OPTION_OTHER_CPU, OPTION_TIMEOUT };

#define MOST_MS		1000000000	/* 11 days */

static const struct argp_option stat_option[] = {
	{ "event", 'e', "EVENTS", 0, "What to count: a list separated by commas, or none (the usual: instructions, cycles, branches, branch-misses)", 0 },
	{ "repeat", 'r', "N", 0, "Run COMMAND N times and print means, deviations, medians and outliers", 0 },
	{ "warmup", OPTION_WARMUP, "N", 0, "Run COMMAND N times before, without keeping what is counted", 0 },
	{ "no-inherit", OPTION_NO_INHERIT, NULL, 0, "Count only the first thread: not the threads and processes that it creates", 0 },
	{ "per-thread", OPTION_PER_THREAD, NULL, 0, "Print a table of the counts of each thread as well", 0 },
	{ "marked", 'm', NULL, 0, "Print a table of each region that COMMAND marks (VPMC_REGION, compiled with -DVPMC) as well", 0 },
	{ "metrics", OPTION_METRICS, NULL, 0, "Print ratios such as instructions per cycle as well, and count the events that they need", 0 },
	{ "group", 'M', "GROUP", 0, "Print the metrics of this group as well, and count the events that they need: a list separated by commas, of names as vpmc list --groups prints them, or of files", 0 },
	{ "detailed", 'd', NULL, 0, "Count loads and load misses of the caches as well, as far as they fit; -dd those of the TLBs, too; -ddd prefetches, too", 0 },
	{ "split", OPTION_SPLIT, NULL, 0, "Run COMMAND once for each group of events that fits into the counters", 0 },
	{ "stopped", OPTION_STOPPED, NULL, 0, "Do not start the counters: the program does that, or vpmc ctl", 0 },
	{ "delay", 'D', "MS", 0, "Leave out the first MS milliseconds", 0 },
	{ "timeout", OPTION_TIMEOUT, "MS", 0, "End COMMAND by SIGTERM after MS milliseconds, or without COMMAND the measurement", 0 },
	{ "interval-print", 'I', "MS", 0, "Print what was counted in each interval of MS milliseconds as well", 1 },
	{ "json", 'j', NULL, 0, "Print the result as one JSON object", 1 },
	{ "csv", 'x', "SEPARATOR", 0, "Print the result as CSV, with this character between the fields", 1 },
	{ "format", OPTION_FORMAT, "FORMAT", 0, "Print the result in this format: text (the default), json, csv, or openmetrics, which needs -o; of a comparison also markdown", 1 },
	{ "interval", OPTION_INTERVAL, "SECONDS", 0, "With --format openmetrics: write the file again every SECONDS seconds", 1 },
	{ "rank", OPTION_RANK, NULL, 0, "For a rank of a parallel program: write a JSON file of this rank into the directory of -o", 1 },
	{ "output", 'o', "FILE", 0, "Write the result to FILE, or to standard output if it is -; the default is standard error", 1 },
	{ "all-cpus", 'a', NULL, 0, "Count what each processor does in user and kernel mode, whoever runs there, while COMMAND runs or until Ctrl-C comes", 2 },
	{ "cpu", 'C', "LIST", 0, "As -a, but count only these processors, such as 0-3,6", 2 },
	{ "revoke", OPTION_REVOKE, NULL, 0, "With -a: take the PMU from threads that count", 2 },
	{ "pid", 'p', "PID", 0, "Count the threads of a process, or of several (PID,PID), until they end, COMMAND does, or Ctrl-C comes", 2 },
	{ "tid", 't', "TID", 0, "Count one thread or several, and none that they create, until they end, COMMAND does, or Ctrl-C comes", 2 },
	{ "compare", OPTION_COMPARE, "FILE", 0, "Compare with FILE, which an earlier vpmc stat -j has written; without -e, count the events of FILE", 3 },
	{ "vs", OPTION_VS, "COMMAND", 0, "Run this COMMAND in turns with the other one, and compare them", 3 },
	{ "limit", OPTION_LIMIT, "LIMIT", 0, "How much more of each event is permitted, such as 0.5%, 1000 or instructions=0.5%; beyond that, the exit status is 1", 3 },
	{ "other-cpu", OPTION_OTHER_CPU, NULL, 0, "A FILE of another processor is no error", 3 },
	{}
};

static void set_separator(struct stat_options *options, const char *text)
{
	if (!text[0] || text[1])
		fail(STATUS_OURS, "-x %s: not a single character; give one, such as -x ,",
		     text);
	if (text[0] == '"' || text[0] == '\n' || text[0] == '\r')
		fail(STATUS_OURS, "-x: quotes and ends of lines cannot separate fields; give another character, such as -x ,");
	options->separator = text[0];
}

static void check_name(const char *name)
{
	static const char *const names[] = { "text", "json", "csv", "openmetrics", "markdown" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return;
	fail(STATUS_OURS, "--format %s: there is none of that name; use text, json, csv or openmetrics, and markdown for a comparison",
	     name);
}

/* Takes --format, if it is there. It may stand behind -j and -x, or before them. */
static void set_format(struct stat_options *options, const char *name)
{
	const char *other = NULL;

	if (!name)
		return;
	options->openmetrics = !strcmp(name, "openmetrics");
	options->markdown = !strcmp(name, "markdown");
	if (options->json && strcmp(name, "json"))
		other = "-j";
	else if (options->separator && strcmp(name, "csv"))
		other = "-x";
	if (other && !options->openmetrics)
		fail(STATUS_OURS, "%s and --format %s: one format is possible at a time; leave out the other one",
		     other, name);
	options->json |= !strcmp(name, "json");
	if (!options->separator && !strcmp(name, "csv"))
		options->separator = ',';
}

/* Parses -p or -t: numbers separated by commas. The option may be given several times. */
static void add_targets(struct stat_options *options, const char *option, bool threads, char *list)
{
	char *text;
	pid_t number;
	unsigned int i;

	if (options->nr_targets && options->threads != threads)
		fail(STATUS_OURS, "-p and -t: one of them is possible at a time; leave out the other one");
	options->threads = threads;
	do {
		text = strsep(&list, ",");
		if (!*text)
			fail(STATUS_OURS, "%s: a number in the list is empty; write it, or leave out the comma",
			     option);
		number = options_number(option, text, 1, INT_MAX);
		for (i = 0; i < options->nr_targets; i++)
			if (options->target[i] == number)
				fail(STATUS_OURS, "%s: %d is there twice; name it once", option, number);
		options->target = get_memory(options->target, options->nr_targets + 1,
					     sizeof(*options->target));
		options->target[options->nr_targets++] = number;
	} while (list);
}

/* Parses the options of a comparison and of time, and those that all commands have. */
static error_t parse_more(int key, char *arg, struct argp_state *state)
{
	struct stat_options *options = state->input;

	switch (key) {
	case 'D':
		options->delay_ms = options_number("-D", arg, 1, MOST_MS);
		return 0;
	case 'I':
		options->series_ms = options_number("-I", arg, 1, MOST_MS);
		return 0;
	case OPTION_TIMEOUT:
		options->timeout_ms = options_number("--timeout", arg, 1, MOST_MS);
		return 0;
	case OPTION_COMPARE:
		options->base = arg;
		return 0;
	case OPTION_VS:
		options->other = arg;
		return 0;
	case OPTION_LIMIT:
		options->limits = limits_add(options->limits, arg);
		return 0;
	case OPTION_OTHER_CPU:
		options->other_cpu = true;
		return 0;
	default:
		return options_default(key, state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_options *options = state->input;

	switch (key) {
	case 'e':
		options->events = options_list(options->events, arg);
		return 0;
	case 'r':
		options->repeat = options_number("-r", arg, 1, 1000000);
		return 0;
	case OPTION_WARMUP:
		options->warmup = options_number("--warmup", arg, 0, 1000000);
		return 0;
	case OPTION_NO_INHERIT:
		options->inherit = false;
		return 0;
	case OPTION_PER_THREAD:
		options->per_thread = true;
		return 0;
	case 'm':
		options->marked = true;
		return 0;
	case OPTION_METRICS:
		options->metrics = true;
		return 0;
	case 'M':
		options->metric_groups = options_list(options->metric_groups, arg);
		return 0;
	case 'd':
		options->detailed++;
		return 0;
	case OPTION_SPLIT:
		options->split = true;
		return 0;
	case OPTION_STOPPED:
		options->stopped = true;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case 'x':
		set_separator(options, arg);
		return 0;
	case OPTION_FORMAT:
		check_name(arg);
		options->format = arg;
		return 0;
	case OPTION_INTERVAL:
		options->interval_ms = options_milliseconds("--interval", arg);
		return 0;
	case OPTION_RANK:
		rank_find(&options->rank);
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case 'a':
		options->all_cpus = true;
		return 0;
	case 'C':
		options->cpus = options_list(options->cpus, arg);
		options->all_cpus = true;
		return 0;
	case OPTION_REVOKE:
		options->revoke = true;
		return 0;
	case 'p':
		add_targets(options, "-p", false, arg);
		return 0;
	case 't':
		add_targets(options, "-t", true, arg);
		return 0;
	case ARGP_KEY_ARG:
		options->command = options_command(state);
		return 0;
	default:
		return parse_more(key, arg, state);
	}
}

static void check_format(const struct stat_options *options)
{
	if (options->json && options->separator)
		fail(STATUS_OURS, "-j and -x: one format is possible at a time; leave out the other one");
	if (options->openmetrics && (options->json || options->separator))
		fail(STATUS_OURS, "--format openmetrics: one format is possible at a time; leave out -j and -x");
	if (options->openmetrics && output_is_descriptor(options->output))
		fail(STATUS_OURS, "--format openmetrics: goes on from what its file has; name the file by -o");
	if (options->openmetrics && (options->repeat > 1 || options->split))
		fail(STATUS_OURS, "--format openmetrics: is of one run; leave out -r and --split");
	if (options->openmetrics && (options->per_thread || options->metrics))
		fail(STATUS_OURS, "--format openmetrics: has the sums alone; leave out --per-thread and --metrics");
	if (options->interval_ms && !options->openmetrics)
		fail(STATUS_OURS, "--interval: is for --format openmetrics; add that");
	if (!options->rank.is_set)
		return;
	if (!options->output || !strcmp(options->output, "-"))
		fail(STATUS_OURS, "--rank: there is no directory for the ranks' files; name one by -o");
	if (options->separator || options->openmetrics)
		fail(STATUS_OURS, "--rank: writes JSON; leave out -x and --format");
	if (!options->command || options->nr_targets)
		fail(STATUS_OURS, "--rank: counts a COMMAND; name one, and leave out -p and -t");
}

/* Checks that -M and -d have a result that shows what they give. */
static void check_groups(const struct stat_options *options)
{
	const char *option = options->metric_groups ? "-M" : "-d";

	if (!options->metric_groups && !options->detailed)
		return;
	if (options->all_cpus || options->base || options->other)
		fail(STATUS_OURS, "%s: is not for -a, -C, --compare and --vs, which show events alone; name these by -e",
		     option);
	if (options->metric_groups && options->openmetrics)
		fail(STATUS_OURS, "-M: OpenMetrics has counts alone; name the events by -e, or use another format");
}

/* Checks the options of -a, which counts one set of events. */
static void check_all_cpus(const struct stat_options *options)
{
	const char *name = options->cpus ? "-C" : "-a";

	if (options->revoke && !options->all_cpus)
		fail(STATUS_OURS, "--revoke: is for processors; add -a");
	if (!options->all_cpus)
		return;
	if (options->nr_targets)
		fail(STATUS_OURS, "%s: counts whoever runs; leave out -p and -t", name);
	if (!options->inherit)
		fail(STATUS_OURS, "%s: counts whoever runs; leave out --no-inherit", name);
	if (options->repeat > 1 || options->split || options->metrics ||
	    options->per_thread || options->stopped || options->rank.is_set || options->marked)
		fail(STATUS_OURS, "%s: counts one set once; leave out -r, -m, --split, --metrics, --per-thread, --stopped and --rank", name);
	if (options->openmetrics)
		fail(STATUS_OURS, "%s: has no openmetrics; use -j or -x, or leave out --format", name);
	check_format(options);
}

/* Checks -I and -D. */
static void check_time(const struct stat_options *options)
{
	if (options->series_ms && (options->repeat > 1 || options->warmup || options->split ||
				   options->openmetrics || options->rank.is_set))
		fail(STATUS_OURS, "-I: shows one run; leave out -r, --warmup, --split, --rank and --format openmetrics, which has --interval");
	if (options->series_ms && options->separator &&
	    (options->metrics || options->metric_groups || options->per_thread || options->marked))
		fail(STATUS_OURS, "-I and -x: CSV has the intervals alone; leave out -m, -M, --metrics and --per-thread, or use -j");
	if (options->delay_ms && (options->stopped || options->per_thread || options->marked))
		fail(STATUS_OURS, "-D: leaves out the beginning of sums alone; leave out -m, --stopped and --per-thread");
}

static void check(const struct stat_options *options, const struct plan *plan)
{
	if (options->per_thread &&
	    (options->repeat > 1 || options->split))
		fail(STATUS_OURS, "--per-thread: the threads of several runs are not the same; leave out -r and --split");
	if (options->marked && (options->repeat > 1 || options->warmup || options->base ||
				options->other || options->split || options->stopped ||
				options->nr_targets || options->openmetrics))
		fail(STATUS_OURS, "-m: shows the regions of one run, from its beginning; leave out -r, --warmup, --compare, --vs, --split, --stopped, -p, -t and --format openmetrics");
	if (options->command)
		return;
	if (!options->nr_targets)
		fail(STATUS_OURS, "COMMAND: there is none; name one, or a process by -p, a thread by -t, or all processors by -a");
	if (options->repeat > 1 || (plan && plan->nr > 1))
		fail(STATUS_OURS, "COMMAND: there is none to be repeated; name one, such as -- sleep 5, or leave out -r and --split");
}

static int exit_status(const struct result *result)
{
	struct remarks remarks = result_remarks(result);

	if (!remarks.failed && remarks.timed_out && !remarks.signal)
		return 0;
	if (WIFSIGNALED(remarks.status))
		return STATUS_SIGNAL + WTERMSIG(remarks.status);
	if (!remarks.status && remarks.signal)
		return STATUS_SIGNAL + remarks.signal;
	return WEXITSTATUS(remarks.status);
}

static void print_result(FILE *file, const struct result *result)
{
	const struct stat_options *options = result->options;

	if (options->series_ms)
		series_end();
	if (options->openmetrics)
		print_openmetrics(file, result);
	else if (options->json)
		print_json(file, result);
	else if (options->separator && !options->series_ms)
		print_csv(file, result);
	else if (!options->separator)
		print_text(file, result, output_is_terminal() && !getenv("NO_COLOR"));
}

/* What was measured, until it is printed */
static struct {
	FILE *file;
	struct result *result;
	const char *regions;		/* the file for regions, or NULL */
} unprinted;

/* A later run of -r cannot begin. The earlier ones are not lost. */
static void print_unprinted(void)
{
	if (!unprinted.result->nr)
		return;
	measure_end(unprinted.result);
	if (unprinted.regions)
		regions_read_earlier(&unprinted.result->regions);
	print_result(unprinted.file, unprinted.result);
	output_close(unprinted.file);
	if (unprinted.regions)
		regions_write(&unprinted.result->regions, &unprinted.result->options->rank,
			      unprinted.regions);
}

/* Makes all runs. If one fails after others, these are printed. */
static void measure_and_keep(struct result *result, FILE *file, const char *regions)
{
	unprinted.file = file;
	unprinted.result = result;
	unprinted.regions = regions;
	if (file)
		fail_after(print_unprinted);
	measure(&result, 1);
	fail_after(NULL);
}

int stat_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = stat_option,
		.parser = parse,
		.args_doc = "[--] COMMAND [ARGUMENT]...\n-a [-- COMMAND...]\n-p PID [-- COMMAND...]\n-t TID [-- COMMAND...]",
		.doc = "Counts what COMMAND, its threads and its children do, from the first instruction to the last."
		       "\vEvents are described in vpmc(7), and listed by vpmc list. "
		       "The exit status is COMMAND's; 128+N if signal N ended it; 127 if it is not found, 126 if it cannot be executed; 125 if something else failed. With --compare or --vs it is 0, or 1 beyond a limit, and 2 if a command does not succeed.",
	};
	struct stat_options options = { .repeat = 1, .inherit = true, .software = true };
	struct result result = { .options = &options };
	struct plan plan;
	const char *regions = NULL;	/* with --rank: the file for them */
	FILE *file = NULL;

	options_advice(perf_option_advice);
	options_parse("vpmc stat", &argp, argc, argv, &options);
	set_format(&options, options.format);
	check_groups(&options);
	measured_check(&options);
	check_all_cpus(&options);
	if (options.all_cpus)
		return cpus_stat(&options);
	if (options.nr_targets && options.threads)
		options.inherit = false;
	check(&options, NULL);
	check_time(&options);
	check_format(&options);
	if (options.base || options.other)
		return measured_compare(&options);
	if (options.rank.is_set) {
		regions = rank_regions(&options.rank, options.output);
		options.output = rank_output(&options.rank, options.output);
		options.json = true;
	}
	plan_make(&plan, &options);
	check(&options, &plan);
	result.plan = &plan;
	if (options.openmetrics)
		openmetrics_begin(&result);
	else
		file = output_open(options.output,
				   options.rank.is_set ? OUTFILE_REPLACE : 0);
	if (options.series_ms)
		series_begin(file, &options, &plan.groups[0]);
	signals_begin();
	if (options.marked || regions)
		regions_begin(options.marked ? &plan.groups[0] : NULL);
	measure_and_keep(&result, file, regions);
	if (options.marked || regions)
		regions_read(&result.regions);
	if (options.openmetrics)
		file = output_open(options.output, OUTFILE_REPLACE);
	print_result(file, &result);
	output_close(file);
	if (regions)
		regions_write(&result.regions, &options.rank, regions);
	return exit_status(&result);
}
