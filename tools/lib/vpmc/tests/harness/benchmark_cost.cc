// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * usage: benchmark_cost [GOOGLE-BENCHMARK'S OPTION]...
 *
 * Prints the instructions that a pair of PauseTiming() and ResumeTiming() takes: that of
 * benchmark::State, without counters or with those of --benchmark_perf_counters, and that of
 * vpmcpp::Counted with the same three events. The emulator's totals count them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <benchmark/benchmark.h>
#include <vpmc-benchmark.hpp>

#include "cost.h"

static void print(const char *what, const struct cost &cost)
{
	std::fprintf(stderr, "cost %s: %llu user %llu kernel %u rounds\n", what,
		     static_cast<unsigned long long>(instructions(&cost.least, USER_MODE)),
		     static_cast<unsigned long long>(instructions(&cost.least, KERNEL_MODE)),
		     cost.rounds);
}

static void state(benchmark::State &state)
{
	struct cost cost = {};

	for (auto _ : state) {
		COST_OF(&cost, state.PauseTiming(); state.ResumeTiming());
	}
	print("state", cost);
}
BENCHMARK(state)->Iterations(ROUNDS);

static void counted(benchmark::State &state)
{
	vpmcpp::Counted counted(state, "instructions,branches,cycles");
	struct cost cost = {};

	for (auto _ : counted) {
		COST_OF(&cost, counted.PauseTiming(); counted.ResumeTiming());
	}
	print("counted", cost);
}
BENCHMARK(counted)->Iterations(ROUNDS);

BENCHMARK_MAIN();
