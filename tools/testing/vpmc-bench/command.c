// SPDX-License-Identifier: GPL-2.0
/*
 * usage: command
 *
 * Measures what it costs to count a program with vpmc stat and with perf stat, from
 * its start to its end. The program does nothing. The events are the same.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/personality.h>
#include <sys/wait.h>

#include "cost.h"
#include "partner.h"
#include "who.h"

#define NR_EVENTS	2
#define EVENTS		"instructions:u,branches:u"
#define RUNS		3

static const char *const by_vpmc[] = {
	"vpmc", "stat", "-e", EVENTS, "--", "/add/tiny", NULL
};
static const char *const by_perf[] = {
	"perf", "stat", "-e", EVENTS, "--", "/add/tiny", NULL
};

static void run(struct cost *cost, const char *const *command)
{
	struct totals begin, end;
	int status, null;
	pid_t pid;

	totals_begin(&begin);
	pid = fork();
	if (!pid) {
		/* Same addresses in each run. The result goes to /dev/null. */
		null = open("/dev/null", O_WRONLY);
		if (personality(ADDR_NO_RANDOMIZE) < 0 || dup2(null, 2) < 0)
			_exit(1);
		execvp(command[0], (char **)command);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "%s stat ended with %#x", command[0], status);
	totals_end(&end);
	/*
	 * A run is too long to be without interrupts, so any number is
	 * accepted.
	 */
	cost_add(cost, &begin, &end,
		 both_modes(&end, PMU_TEST_INTERRUPTS) -
		 both_modes(&begin, PMU_TEST_INTERRUPTS));
}

static void measure(const char *const *command, const char *who)
{
	struct cost first = {}, cost = {};
	int i;

	run(&first, command);	/* loads the files into memory; not measured */
	for (i = 0; i < RUNS; i++)
		run(&cost, command);
	cost_print(&cost, "command-stat", NR_EVENTS, who);
}

int main(void)
{
	be_alone(0);
	measure(by_vpmc, who_name[VPMC]);
	/*
	 * The benchmark runs as root, so perf gets vpmc's counters back at
	 * once.
	 */
	measure(by_perf, who_name[PERF]);
	return 0;
}
