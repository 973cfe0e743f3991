// SPDX-License-Identifier: GPL-2.0
/*
 * Options of perf stat that vpmc stat does not have. vpmc-stat(1) has the same table; a test
 * compares them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <string.h>

#include "stat/perf-options.h"

static const char cgroups[] =
	"a set belongs to threads; start the service by vpmc stat, or use perf stat --for-each-cgroup";
static const char places[] =
	"vpmc stat -a prints each processor; add these up, or use perf stat";
static const char separators[] =
	"text has separators in numbers, JSON and CSV have none; leave it out";
static const char top_down[] =
	"use -M topdown, where vpmc list --groups has it, or perf stat";
static const char metrics_alone[] = "use -M GROUP -j, and take \"metrics\" of the result";
static const char counts_all[] = "counts are exact, and nothing is scaled; leave it out";
static const char by_perf[] = "use perf stat";
static const char core_types[] =
	"threads move between types of core, and are counted on all of them; leave it out";

/* @options: separated by blanks */
static const struct {
	const char *options, *advice;
} table[] = {
	{ "-G --cgroup --for-each-cgroup", cgroups },
	{ "--per-socket --per-die --per-cluster --per-cache --per-core --per-node", places },
	{ "-A --no-aggr --percore-show-thread", "vpmc stat -a prints each processor; leave it out" },
	{ "-B --big-num --no-big-num", separators },
	{ "--topdown --td-level", top_down },
	{ "--metric-only --metric-no-group --metric-no-merge --metric-no-threshold", metrics_alone },
	{ "-c --scale --no-scale", counts_all },
	{ "-n --null", "use -e none" },
	{ "-i", "use --no-inherit" },
	{ "--json-output", "use -j" },
	{ "--field-separator", "use -x" },
	{ "--append", "use -o /dev/stdout, and >>FILE of the shell" },
	{ "--log-fd", "use -o /dev/fd/N" },
	{ "--quiet", "use -o /dev/null" },
	{ "--table", "use -r N -j, and take \"values\" of each event" },
	{ "--pre --post", "run them before and behind vpmc stat, which has one COMMAND" },
	{ "-S --sync", "call sync(1) before vpmc stat" },
	{ "--control", "use --stopped, and vpmc ctl start or vpmc_start(3)" },
	{ "--all-user", "events count user mode as they are; leave it out" },
	{ "--all-kernel", "write :k behind each event, or {a,b}:k" },
	{ "--no-merge --hybrid-merge --cputype", core_types },
	{ "-b --bpf-prog --bpf-counters --filter --smi-cost --iostat -T --transaction", by_perf },
	{ "-v --verbose", "vpmc stat says all that it knows; leave it out" },
};

const char *perf_option_advice(const char *option, size_t length)
{
	const char *at;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (at = table[i].options; *at; at += strcspn(at, " "), at += *at == ' ')
			if (strcspn(at, " ") == length && !memcmp(at, option, length))
				return table[i].advice;
	return NULL;
}
