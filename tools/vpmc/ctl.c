// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc ctl: starts, stops, clears or reads the counters of a thread or a process.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <vpmc.h>

#include "commands.h"
#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"
#include "ctl/process.h"
#include "ctl/reading.h"

struct ctl_options {
	const char *word;		/* NULL if none was given */
	const struct action *action;	/* NULL: read */
	pid_t pid, tid;			/* 0 if not given */
	bool json;
};

static int clear(struct vpmc *v)
{
	return vpmc_clear(v, 0);
}

static const struct action actions[] = {
	{ "start", "started", vpmc_start },
	{ "stop", "stopped", vpmc_stop },
	{ "clear", "cleared", clear },
};

static int read_counters(struct vpmc *v, bool json)
{
	struct reading reading;
	int error = reading_take(v, VPMC_READ_LIVING | VPMC_READ_FINISHED, &reading);

	if (error)
		return error;
	if (json)
		print_thread_json(&reading);
	else
		print_thread_text(&reading);
	output_finish();
	return 0;
}

static void set_action(struct ctl_options *options, const char *word)
{
	size_t i;

	if (options->word)
		fail(STATUS_OURS, "%s: vpmc ctl does one thing at a time; leave it out",
		     word);
	options->word = word;
	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(word, actions[i].word))
			options->action = &actions[i];
	if (!options->action && strcmp(word, "read"))
		fail(STATUS_OURS, "%s: vpmc ctl cannot do that; use start, stop, clear or read",
		     word);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *options = state->input;

	switch (key) {
	case 'p':
		options->pid = options_number("-p", arg, 1, INT_MAX);
		return 0;
	case 't':
		options->tid = options_number("-t", arg, 1, INT_MAX);
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		set_action(options, arg);
		return 0;
	default:
		return options_default(key, state);
	}
}

static void check(const struct ctl_options *options)
{
	if (!options->word)
		fail(STATUS_OURS, "ctl: nothing to do is named; use start, stop, clear or read");
	if (options->json && options->action)
		fail(STATUS_OURS, "-j: vpmc ctl %s prints nothing; leave it out", options->word);
	if (options->pid && options->tid)
		fail(STATUS_OURS, "-p and -t: one of them is possible at a time; leave out the other one");
	if (!options->pid && !options->tid)
		fail(STATUS_OURS, "-p: there is none; name a process, or a thread by -t");
}

static void one_thread(const struct ctl_options *options)
{
	struct vpmc_error error;
	struct vpmc *v;
	int result = vpmc_open_thread(&v, options->tid, options->action ?
				      VPMC_OPEN_EXISTING : VPMC_OPEN_READ, &error);

	if (result == -ENOENT)
		fail(STATUS_OURS, "thread %d: has no counters; program some, as by vpmc stat --stopped",
		     options->tid);
	if (result)
		fail_error(&error);
	result = options->action ? options->action->act(v) : read_counters(v, options->json);
	if (result == -ENODATA)
		fail(STATUS_OURS, "thread %d: has no set that counts, or has lost it to kernel.vpmc_revoke; program one, as by vpmc stat --stopped",
		     options->tid);
	if (result)
		fail(STATUS_OURS, "thread %d: cannot %s its counters: %s; %s",
		     options->tid, options->word, strerror(-result), reading_remedy(result));
	vpmc_close(v);
}

int ctl_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "pid", 'p', "PID", 0, "All threads of the process that have counters", 0 },
		{ "tid", 't', "TID", 0, "One thread; the number of a process is its first thread's", 0 },
		{ "json", 'j', NULL, 0, "read: one JSON object", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "start|stop|clear|read",
		.doc = "Starts, stops, clears or reads the counters that a process or a thread has, as by vpmc stat --stopped.",
	};
	struct ctl_options options = {};

	options_parse("vpmc ctl", &argp, argc, argv, &options);
	check(&options);
	if (options.tid)
		one_thread(&options);
	else if (options.action)
		process_act(options.pid, options.action);
	else
		process_read(options.pid, options.json);
	return 0;
}
