// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc cpus: shows periodically what each processor does.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "common/clock.h"
#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"
#include "cpus/cpus.h"
#include "stat/child.h"

enum { OPTION_REVOKE = 0x100 };

struct cpus_options {
	struct stat_options stat;
	unsigned int delay_ms;
	unsigned int rounds;	/* number of tables; 0 means until a signal */
};

static const struct argp_option cpus_option[] = {
	{ "event", 'e', "EVENTS", 0, "What to count: a list separated by commas (the usual: instructions, cycles, branches, branch-misses)", 0 },
	{ "cpu", 'C', "LIST", 0, "Only these processors, such as 0-3,6 (all)", 0 },
	{ "delay", 'd', "SECONDS", 0, "Time from one table to the next one (1)", 0 },
	{ "rounds", 'n', "N", 0, "Print N tables and end (until Ctrl-C)", 0 },
	{ "revoke", OPTION_REVOKE, NULL, 0, "Take the PMU from threads that count", 0 },
	{}
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cpus_options *options = state->input;

	switch (key) {
	case 'e':
		options->stat.events = options_list(options->stat.events, arg);
		return 0;
	case 'C':
		options->stat.cpus = options_list(options->stat.cpus, arg);
		return 0;
	case 'd':
		options->delay_ms = options_milliseconds("-d", arg);
		return 0;
	case 'n':
		options->rounds = options_number("-n", arg, 1, 1000000000);
		return 0;
	case OPTION_REVOKE:
		options->stat.revoke = true;
		return 0;
	case ARGP_KEY_ARG:
		fail(STATUS_OURS, "%s: vpmc cpus runs no command; leave it out, or use vpmc stat -a",
		     arg);
	default:
		return options_default(key, state);
	}
}

static int64_t milliseconds(void)
{
	return now() / 1000000;
}

/* Waits until the time @until. Returns false if a signal comes before. */
static bool wait_until(int64_t until)
{
	struct pollfd fd = { .fd = signal_fd(), .events = POLLIN };

	for (;;) {
		int64_t left = until - milliseconds();

		if (left <= 0)
			return true;
		if (poll(&fd, 1, left > INT_MAX ? INT_MAX : left) > 0 &&
		    signal_take(0))
			return false;
	}
}

/*
 * The time of the table after that of the time @last. If that came much later, as after SIGSTOP,
 * no table is made up for, and none is of an instant.
 */
static int64_t next_after(int64_t last, unsigned int delay_ms)
{
	int64_t late = milliseconds() - last;

	return (late < delay_ms ? last : last + late) + delay_ms;
}

static void show(struct vpmc_cpus *cpus, const struct group *group,
		 const struct cpus_options *options)
{
	struct cpus_sample counts = {}, before = {}, other;
	bool terminal = isatty(STDOUT_FILENO);
	int64_t next = milliseconds();
	unsigned int round = 0;

	do {
		next = next_after(next, options->delay_ms);
		if (!wait_until(next))
			break;
		cpus_read(cpus, &counts);
		if (terminal)
			fputs("\033[H\033[J", stdout);
		else if (round)
			putchar('\n');
		cpus_table(stdout, group, &counts, &before,
			   terminal && !getenv("NO_COLOR"));
		output_finish();
		if (cpus_were_taken(cpus, &counts))
			fail(STATUS_OURS, "processors: the PMU was taken away, by the administrator or for a CPU that lacks its counters; the last table has the counts up to then, try again later");
		other = before;
		before = counts;
		counts = other;
	} while (++round != options->rounds);
	free(counts.cpu);
	free(before.cpu);
}

int cpus_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cpus_option,
		.parser = parse,
		.doc = "Shows what each processor has counted since the table before, whoever ran there."
		       "\vNeeds the rights to count whole processors, see vpmc-cpus(1).",
	};
	struct cpus_options options = {
		.stat = { .repeat = 1, .all_cpus = true },
		.delay_ms = 1000,
	};
	struct vpmc_cpus *cpus;
	struct plan plan;

	options_parse("vpmc cpus", &argp, argc, argv, &options);
	signals_begin();
	cpus = cpus_open(&plan, &options.stat);
	cpus_start(cpus);
	show(cpus, &plan.groups[0], &options);
	vpmc_cpus_close(cpus);
	return 0;
}
