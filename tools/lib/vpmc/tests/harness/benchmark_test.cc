// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Benchmarks of known code, for the suite harnesses. Some do not count all that they do.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cstdlib>

#include <benchmark/benchmark.h>
#include <vpmc-benchmark.hpp>

#include "known.h"

static const char *list()
{
	const char *named = std::getenv("TEST_EVENTS");

	return named ? named : "instructions,branches";
}

static void plain(benchmark::State &state)
{
	for (auto _ : vpmcpp::Counted(state, list()))
		known(50);
}
BENCHMARK(plain)->Iterations(1000);
BENCHMARK(plain)->Iterations(2000);
BENCHMARK(plain)->Iterations(1000)->Threads(2);
BENCHMARK(plain)->Iterations(2000)->Threads(2);

/* The argument is what is done while nothing counts. */
static void paused(benchmark::State &state)
{
	vpmcpp::Counted counted(state, list());

	for (auto _ : counted) {
		counted.PauseTiming();
		for (auto i = state.range(0); i; i--)
			known(70);
		counted.ResumeTiming();
		known(50);
	}
}
BENCHMARK(paused)->Arg(0)->Iterations(1000);
BENCHMARK(paused)->Arg(9)->Iterations(1000);

/* another list in the same thread */
static void other_list(benchmark::State &state)
{
	for (auto _ : vpmcpp::Counted(state, "branches"))
		known(50);
}
BENCHMARK(other_list)->Iterations(1000);

/* one that needs all programmable counters that perf does not keep */
static void full_list(benchmark::State &state)
{
	for (auto _ : vpmcpp::Counted(state, "r09f0,r0af0,r0bf0"))
		known(50);
}
BENCHMARK(full_list)->Iterations(1000);

static void ends_early(benchmark::State &state)
{
	for (auto _ : vpmcpp::Counted(state, list())) {
		known(50);
		state.SkipWithError("it ends early");
		break;
	}
}
BENCHMARK(ends_early)->Iterations(1000);

/* Somebody stops the set meanwhile. */
static void stopped(benchmark::State &state)
{
	struct vpmc *v;

	for (auto _ : vpmcpp::Counted(state, "branches,instructions")) {
		known(50);
		if (!vpmc_open(&v, 0, nullptr))
			vpmc_stop(v);
		vpmc_close(v);
	}
}
BENCHMARK(stopped)->Iterations(10);
BENCHMARK(plain)->Name("after")->Iterations(1000);

BENCHMARK_MAIN();
