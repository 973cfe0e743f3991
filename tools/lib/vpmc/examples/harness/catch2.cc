// SPDX-License-Identifier: MIT
/* Catch2: counts an iteration, and checks the count in a test. */
#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#else
#include <catch2/catch_all.hpp>		/* version 3; link libCatch2Main */
#endif
#include <vpmc-catch2.hpp>

/* Two instructions and one branch for each turn. */
static void turn(int turns)
{
	__asm__ __volatile__("1:\tdec %0\n\tjnz 1b" : "+c" (turns) : : "cc");
}

TEST_CASE("a hundred turns")
{
	vpmcpp::CountedCase counted("a hundred turns", "instructions,branches");

	counted.run(1000, [] { turn(100); });
	counted.report();
	if (counted.is_counted())
		CHECK(counted.each("branches:u") < 102);
}

TEST_CASE("timed and counted", "[!benchmark]")
{
	vpmcpp::CountedCase counted("timed and counted", "instructions");

	BENCHMARK_ADVANCED("a hundred turns")(Catch::Benchmark::Chronometer meter)
	{
		counted.measure(meter, [] { turn(100); });
	};
	counted.report();
}
