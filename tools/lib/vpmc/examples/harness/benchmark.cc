// SPDX-License-Identifier: MIT
/* Google Benchmark: counts each iteration of a benchmark. */
#include <benchmark/benchmark.h>
#include <vpmc-benchmark.hpp>

/* Two instructions and one branch for each turn. */
static void turn(int turns)
{
	__asm__ __volatile__("1:\tdec %0\n\tjnz 1b" : "+c" (turns) : : "cc");
}

static void hundred(benchmark::State &state)
{
	for (auto _ : vpmcpp::Counted(state, "instructions,branches"))
		turn(100);
}
BENCHMARK(hundred);

/* What lies between PauseTiming() and ResumeTiming() is not counted. */
static void prepared(benchmark::State &state)
{
	vpmcpp::Counted counted(state, "instructions,branches");

	for (auto _ : counted) {
		counted.PauseTiming();
		turn(1000);
		counted.ResumeTiming();
		turn(100);
	}
}
BENCHMARK(prepared)->Iterations(1000);

BENCHMARK_MAIN();
