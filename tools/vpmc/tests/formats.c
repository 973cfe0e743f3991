// SPDX-License-Identifier: GPL-2.0
/*
 * usage: formats text|json|csv[SEPARATOR]|openmetrics CASE
 *
 * Prints a result that is made up. It has values that need 64 bits, events that were
 * left out or never counted, threads, ratios and remarks. "groups-" before a case adds the
 * metrics of made-up.json, which is found in the project's directory. The results "cpus" and
 * "cpus-revoked" are about processors, "series" and "series-cpus" are of intervals. No PMU
 * is needed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/output.h"
#include "cpus/cpus.h"
#include "stat/metric-group.h"
#include "stat/openmetrics.h"
#include "stat/result.h"
#include "stat/series.h"

#define BIG	18446744073709551615ULL

static struct vpmc_event first[] = {
	{ .name = "instructions:u", .counter = VPMC_RDPMC_FIXED },
	{ .name = "cycles:u", .element = 1,
	  .counter = VPMC_RDPMC_FIXED + 1 },
	{ .name = "a,name \"quoted\"", .select = BIG, .element = 2, .counter = 3 },
	{ .name = "cache-misses", .select = 0x1412e,
	  .flags = VPMC_EVENT_OPTIONAL | VPMC_EVENT_LEFT_OUT, .element = -1,
	  .reason = VPMC_REASON_UNAVAILABLE },
};
static struct vpmc_event second[] = {
	{ .name = "branches:u", .counter = 0 },
	{ .name = "branch-misses:u", .element = 1, .counter = 1 },
};
static struct group groups[] = { { .events = first, .nr = 4 }, { .events = second, .nr = 2 } };

static char *command[] = { "a program", "with\"quotes", "a\\nd \303\244", NULL };
static struct stat_options options = {
	.repeat = 1, .separator = ',', .command = command,
};
static struct plan plan = { .groups = groups, .nr = 1 };

static pid_t targets[] = { 4711, 4712, 4713 };

static struct software software[] = {
	{ "task-clock", FACT_RUN_TIME }, { "page-faults", FACT_PAGE_FAULTS },
	{ "migrations", FACT_MIGRATIONS }, { "max-rss", FACT_MAX_RSS },
	{ "user_time", FACT_USER_TIME },
};

static struct thread threads[] = {
	{ .tid = 12, .name = "one", .left = THREAD_STAYED, .counts = { { 1, 2, BIG }, 4, 5, 6 } },
	{ .tid = 13, .name = "t,wo", .left = DEPARTURE_UNLINK,
	  .counts = { { BIG - 1, 0, 0 }, 7000000000, 0, 0 } },
};
static struct run runs[3] = {
	{ .counts = { { 9007199254740993, BIG, 0 }, 1234567890123, 3, 1 },
	  .elapsed = 2000000001, .threads = 7, .has_status = true,
	  .has_usage = true, .usage = { .ru_utime = { 3, 4 }, .ru_stime = { 0, 999999 },
	  .ru_minflt = 1234567, .ru_majflt = 8, .ru_maxrss = 4194304 },
	  .thread = threads, .nr_threads = 2 },
	{ .counts = { { 9007199254740995, BIG - 4, 1 }, 1234567890125, 4, 1 },
	  .elapsed = 2000000003, .threads = 7, .has_status = true,
	  .has_usage = true, .usage = { .ru_utime = { 3, 6 }, .ru_minflt = 1234569, .ru_majflt = 1 } },
	{ .group = 1, .counts = { { 1000003, 501 }, 1234567890124, 5, 2 },
	  .elapsed = 2000000002, .threads = 7, .has_status = true },
};
/*
 * Values in no order. Some are outliers, some nearly: 50 instructions are between 1 and 1.5
 * distances of the quartiles above the upper one, and 7 switches are on the fence.
 */
static struct run many[6] = {
	{ .counts = { { 30, 5, BIG }, 0, 2, 0 }, .elapsed = 7, .threads = 2, .has_status = true },
	{ .counts = { { 10, 5, BIG - 1 }, 0, 1, 0 }, .elapsed = 5, .threads = 1, .has_status = true },
	{ .counts = { { 21, 5, 0 }, 0, 7, 0 }, .elapsed = 6, .threads = 2, .has_status = true },
	{ .counts = { { 50, 4, 1 }, 0, 3, 0 }, .elapsed = 1, .threads = 2, .has_status = true },
	{ .counts = { { 20, 5, 2 }, 0, 3, 0 }, .elapsed = 6, .threads = 2, .has_status = true },
	{ .counts = { { 15, 5, 3 }, 0, 4, 0 }, .elapsed = 6, .threads = 2, .has_status = true },
};
static struct result result = {
	.options = &options, .plan = &plan, .run = runs, .nr = 1,
};

/* One has an event that the whole does not count, and the other one is of no time. */
static struct region_value region_values[] = {
	{ "instructions:u", 1000, 500 }, { "others:u", BIG, 0 },
};
static struct stat_region regions[] = {
	{ .name = "a, b", .threads = 2, .calls = 1234, .dirty = 5, .unfinished = 6, .replaced = 7,
	  .refused = 8, .inclusive_ns = 3000000004, .exclusive_ns = 5, .value = region_values,
	  .nr_values = 2 },
	{ .name = "empty", .threads = 1, .calls = 9 },
};

/* Names that would command a terminal, or begin another line */
#define ODD	"a\nb\r\033[31m\tc\177\302\233\377\\x1b \303\244"
#define ODD_THREAD	"a\nb\033[31m\tc\177\377"
static char *odd_command[] = { "./" ODD, "-c", ODD, NULL };

static struct vpmc_global_cpu cpus[] = {
	{ .cpu = 0, .state = VPMC_CPU_STOPPED, .nr_counters = 3,
	  .sum = { 9007199254740993, 5, 0 } },
	{ .cpu = 1, .state = VPMC_CPU_ABSENT },
	{ .cpu = 2, .state = VPMC_CPU_OFFLINE, .nr_counters = 3,
	  .sum = { 1, 7, BIG } },
};
static const struct cpus_sample sample = { .cpu = cpus, .nr = 3 };

/* Events are as somebody has written them. */
static void give_texts(void)
{
	unsigned int i;

	for (i = 0; i < groups[0].nr; i++)
		first[i].text = (char *)first[i].name;
}

static void print_cpus(const char *format, bool revoked, bool early)
{
	const struct cpus_result of_cpus = {
		.options = &options, .group = &groups[0], .sample = &sample,
		.elapsed = 2000000001, .revoked = revoked,
		.status = revoked ? 9 : early ? SIGTERM : 3 << 8,
		.early = early, .timed_out = early,
	};

	give_texts();
	options.delay_ms = early ? 12 : 0;
	options.timeout_ms = early ? 34 : 0;
	options.json = !strcmp(format, "json");
	options.separator = strcmp(format, "csv") ? 0 : ',';
	cpus_print(stdout, &of_cpus);
}

/* Ratios depend on this processor's selects of the portable events. */
static void select_as_here(struct vpmc_event *event, const char *name)
{
	struct vpmc_event *events;
	unsigned int nr;

	if (vpmc_parse_events(name, &events, &nr, NULL))
		errx(1, "%s", name);
	event->select = events[0].select;
	vpmc_free_events(events);
}

/* What -M does, with events of this processor */
static void add_metric_group(const char *path)
{
	static struct metric_group *group;
	char *why;

	group = metric_group_read(path, "made-up", &why);
	if (!group || !metric_group_choose(group, &why))
		errx(1, "%s: %s", path, why);
	plan.metric_groups = &group;
	plan.nr_metric_groups = 1;
}

static void choose(const char *name)
{
	if (!strncmp(name, "groups-", 7)) {
		add_metric_group("tools/vpmc/tests/made-up.json");
		name += 7;
	}
	if (!strcmp(name, "threads")) {
		options.per_thread = true;
		runs[0].unlisted = 5;
	} else if (!strcmp(name, "regions")) {
		options.marked = true;
		result.regions = (struct stat_regions){ regions, 2, 4, 3, NULL };
	} else if (!strcmp(name, "control-characters")) {
		options.marked = options.per_thread = true;
		options.command = odd_command;
		regions[0].name = ODD;
		strcpy(threads[0].name, ODD_THREAD);
		result.regions = (struct stat_regions){ regions, 2, 4, 3, NULL };
	} else if (!strcmp(name, "no-regions")) {
		options.marked = true;
	} else if (!strcmp(name, "repeat")) {
		options.repeat = result.nr = 2;
		runs[1].status = 3 << 8;
		result.input_was_read = true;
	} else if (!strcmp(name, "order")) {
		options.repeat = result.nr = 6;
		options.warmup = 2;
		options.stopped = true;
		result.run = many;
	} else if (!strcmp(name, "software")) {
		options.repeat = result.nr = 2;
		plan.software = software;
		plan.nr_software = sizeof(software) / sizeof(software[0]);
	} else if (!strcmp(name, "split")) {
		options.repeat = 2;
		options.metrics = options.split = true;
		plan.nr = 2;
		result.nr = 3;
		runs[2].status = 9;
	} else if (!strcmp(name, "remarks")) {
		runs[0].living = 2;
		runs[0].left = (struct departures){ { 4, 5, 6, 3 } };
		runs[0].replaced = 8;
		runs[0].revoked = true;
		runs[0].has_usage = false;
		options.command = NULL;
		options.target = targets;
		options.nr_targets = 1;
	} else if (!strcmp(name, "detailed")) {
		select_as_here(&first[0], "L1-dcache-loads");
		first[0].name = "L1-dcache-loads:u";
		select_as_here(&first[1], "L1-dcache-load-misses");
		first[1].name = "L1-dcache-load-misses:u";
		/* its loads are not counted in this mode */
		select_as_here(&second[0], "L1-dcache-load-misses:k");
		second[0].name = "L1-dcache-load-misses:k";
		options.repeat = plan.nr = 2;
		result.nr = 3;
	} else if (!strcmp(name, "none")) {
		groups[0].nr = 0;
		plan.note = "there is no PMU";
		runs[0].detached = true;
	} else if (!strcmp(name, "left")) {
		runs[0].left.number[1] = 1;
	} else if (!strcmp(name, "replaced")) {
		runs[0].replaced = 1;
	} else if (!strcmp(name, "interrupted")) {
		plan.nr = 2;
		runs[0].status = 2;
	} else if (!strcmp(name, "escaped")) {
		first[0].name = "back\\slash\nand line";
	} else if (!strcmp(name, "targets")) {
		options.command = NULL;
		options.target = targets;
		options.nr_targets = 3;
		options.threads = true;
		options.delay_ms = 12;
		runs[0].early = true;
		runs[0].has_usage = runs[0].has_status = false;
	} else if (!strcmp(name, "timeout")) {
		options.repeat = 5;
		result.nr = 2;
		result.early = 3;
		options.timeout_ms = 34;
		runs[0].timed_out = true;
		runs[0].status = SIGTERM;
		runs[1].status = 3 << 8;
	} else if (strcmp(name, "plain")) {
		errx(2, "%s: no such case", name);
	}
}

/* Two intervals, the second one with a mark, and the whole */
static void print_series(const char *format, bool of_cpus)
{
	static const struct interval interval[] = {
		{ 1000000007, 1000000007 }, { 18000000000000000001ULL, 17999999998999999994ULL },
	};
	static const struct cpus_sample nothing;
	struct run second = runs[1];
	FILE *file;

	give_texts();
	options.json = !strcmp(format, "json");
	options.separator = strcmp(format, "csv") ? 0 : ',';
	options.series_ms = 1000;
	options.all_cpus = of_cpus;
	file = output_open("-", 0);
	series_begin(file, &options, &groups[0]);
	second.left.number[DEPARTURE_EXEC] = 1;
	if (of_cpus) {
		cpus_interval(&interval[0], &sample, &nothing, false);
		cpus_interval(&interval[1], &sample, &sample, true);
	} else {
		series_write(&interval[0], &runs[0]);
		series_write(&interval[1], &second);
	}
	output_close(file);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: formats text|json|csv[SEPARATOR]|openmetrics CASE");
	select_as_here(&first[0], "instructions");
	select_as_here(&first[1], "cycles");
	select_as_here(&second[0], "branches");
	select_as_here(&second[1], "branch-misses");
	if (!strncmp(argv[2], "cpus", 4)) {
		print_cpus(argv[1], !strcmp(argv[2], "cpus-revoked"), !strcmp(argv[2], "cpus-early"));
		return 0;
	}
	if (!strncmp(argv[2], "series", 6)) {
		print_series(argv[1], !strcmp(argv[2], "series-cpus"));
		return 0;
	}
	choose(argv[2]);
	if (!strncmp(argv[1], "csv", 3) && argv[1][3])
		options.separator = argv[1][3];
	if (!strcmp(argv[1], "json"))
		print_json(stdout, &result);
	else if (!strncmp(argv[1], "csv", 3))
		print_csv(stdout, &result);
	else if (!strcmp(argv[1], "openmetrics"))
		print_openmetrics(stdout, &result);
	else
		print_text(stdout, &result, false);
	return 0;
}
