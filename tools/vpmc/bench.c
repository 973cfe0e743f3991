// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc bench: what reading costs on this machine.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench/ways.h"
#include "commands.h"
#include "common/fail.h"
#include "common/json-write.h"
#include "common/options.h"
#include "common/output.h"
#include "common/table.h"

struct bench {
	unsigned int n;
	bool json, histogram;
};

static void add_line(struct libscols_table *table, const struct way *way,
		     const char *unit, const struct vpmc_stats *stats)
{
	const char *text[] = {
		way->name, get_text("%u", way->counters), unit,
		get_text("%llu", (unsigned long long)vpmc_stats_n(stats)),
		get_text("%llu", (unsigned long long)vpmc_stats_min(stats)),
		get_text("%llu", (unsigned long long)vpmc_stats_quantile(stats, 0.5)),
		get_text("%.2f", vpmc_stats_mean(stats)),
		get_text("%llu", (unsigned long long)vpmc_stats_max(stats)),
		get_text("%.2f", vpmc_stats_deviation(stats)),
	};

	table_line(table, text);
}

static void print_text(const struct way *way, unsigned int nr)
{
	static const char *const column[] = {
		"WAY", "COUNTERS", "UNIT", "N", "MIN", "MEDIAN", "MEAN", "MAX", "DEVIATION"
	};
	struct libscols_table *table = table_new(true, false);
	unsigned int i;

	for (i = 0; i < sizeof(column) / sizeof(column[0]); i++)
		table_column(table, column[i], i && i != 2);
	for (i = 0; i < nr; i++) {
		if (way[i].left_out)
			continue;
		add_line(table, &way[i], "ticks", way[i].ticks);
		if (way[i].has_instructions)
			add_line(table, &way[i], "instructions", way[i].instructions);
	}
	table_print(table, stdout);
	for (i = 0; i < nr; i++)
		if (way[i].left_out)
			printf("%s, counters: %u: left out: %s\n", way[i].name,
			       way[i].counters, way[i].left_out);
}

/* Prints the least value, the number of samples and a bar for each bucket. */
static void print_histogram(const struct way *way)
{
	const struct vpmc_stats *stats = way->ticks;
	uint64_t most = 1, n;
	unsigned int i;

	if (way->left_out)
		return;
	printf("\n%s, counters: %u, ticks:\n", way->name, way->counters);
	for (i = 0; i < VPMC_STATS_BUCKETS; i++)
		if (vpmc_stats_bucket(stats, i) > most)
			most = vpmc_stats_bucket(stats, i);
	for (i = 0; i < VPMC_STATS_BUCKETS; i++) {
		n = vpmc_stats_bucket(stats, i);
		if (n)
			printf("%14llu %10llu %.*s\n",
			       (unsigned long long)vpmc_stats_low(i),
			       (unsigned long long)n,
			       (int)((n * 50 + most - 1) / most),
			       "##################################################");
	}
}

static struct json_object *real(double value)
{
	char text[400];

	snprintf(text, sizeof(text), "%.6f", value);
	return json_object_new_double_s(value, text);
}

static struct json_object *statistics(const struct vpmc_stats *stats)
{
	struct json_object *object = json_object_new_object();
	struct json_object *histogram = json_object_new_array();
	unsigned int i;

	json_object_object_add(object, "n", json_object_new_uint64(vpmc_stats_n(stats)));
	json_object_object_add(object, "sum", json_object_new_uint64(vpmc_stats_sum(stats)));
	if (!vpmc_stats_n(stats)) {
		json_object_put(histogram);
		return object;
	}
	json_object_object_add(object, "min", json_object_new_uint64(vpmc_stats_min(stats)));
	json_object_object_add(object, "median",
		json_object_new_uint64(vpmc_stats_quantile(stats, 0.5)));
	json_object_object_add(object, "mean", real(vpmc_stats_mean(stats)));
	json_object_object_add(object, "max", json_object_new_uint64(vpmc_stats_max(stats)));
	json_object_object_add(object, "deviation", real(vpmc_stats_deviation(stats)));
	for (i = 0; i < VPMC_STATS_BUCKETS; i++) {
		struct json_object *pair;

		if (!vpmc_stats_bucket(stats, i))
			continue;
		pair = json_object_new_array();
		json_object_array_add(pair, json_object_new_uint64(vpmc_stats_low(i)));
		json_object_array_add(pair, json_object_new_uint64(vpmc_stats_bucket(stats, i)));
		json_object_array_add(histogram, pair);
	}
	json_object_object_add(object, "histogram", histogram);
	return object;
}

static void print_json(const struct way *way, unsigned int nr)
{
	struct json_object *object = json_object_new_object();
	struct json_object *ways = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "way", json_text(way[i].name));
		json_object_object_add(one, "counters",
				       json_object_new_uint64(way[i].counters));
		if (way[i].left_out) {
			json_object_object_add(one, "left_out",
				json_text(way[i].left_out));
		} else {
			json_object_object_add(one, "dirty",
				json_object_new_uint64(way[i].dirty));
			json_object_object_add(one, "ticks", statistics(way[i].ticks));
		}
		if (way[i].has_instructions)
			json_object_object_add(one, "instructions",
					       statistics(way[i].instructions));
		json_object_array_add(ways, one);
	}
	json_object_object_add(object, "version", json_object_new_uint64(1));
	json_object_object_add(object, "kind", json_text("bench"));
	json_object_object_add(object, "ways", ways);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct bench *bench = state->input;

	switch (key) {
	case 'n':
		bench->n = options_number("-n", arg, 1, 1000000);
		return 0;
	case 'j':
		bench->json = true;
		return 0;
	case 'H':
		bench->histogram = true;
		return 0;
	case ARGP_KEY_ARG:
		fail(STATUS_OURS, "%s: vpmc bench takes no argument; leave it out", arg);
	default:
		return options_default(key, state);
	}
}

int bench_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "samples", 'n', "N", 0, "Samples of each way (100)", 0 },
		{ "histogram", 'H', NULL, 0, "How the ticks are distributed, too", 0 },
		{ "json", 'j', NULL, 0, "One JSON object", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "",
		.doc = "Measures what it costs to read counters on this machine, in TSC ticks and in instructions of user mode.",
	};
	struct bench bench = { .n = 100 };
	struct way *way;
	unsigned int nr, i;

	options_parse("vpmc bench", &argp, argc, argv, &bench);
	nr = ways_measure(&way, bench.n);
	if (bench.json) {
		print_json(way, nr);
	} else {
		print_text(way, nr);
		for (i = 0; bench.histogram && i < nr; i++)
			print_histogram(&way[i]);
	}
	output_finish();
	return 0;
}
