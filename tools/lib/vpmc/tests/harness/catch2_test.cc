// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What vpmc-catch2.hpp counts of known code, for the suite harnesses.
 *
 * Copyright (C) 2026 vpmc developers
 */
#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#else
#include <catch2/catch_all.hpp>
#endif
#include <locale>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vpmc-catch2.hpp>

#include "known.h"

/* one function, so that the loop is the same for all numbers */
static __attribute__((__noinline__)) void run(vpmcpp::CountedCase &counted, unsigned int n)
{
	counted.run(n, [] { known(50); });
}

TEST_CASE("exact")
{
	vpmcpp::CountedCase once("once", "instructions,branches");
	vpmcpp::CountedCase twice("twice", "branches,instructions");

	CHECK_FALSE(once.is_counted());
	run(once, 1000);
	run(twice, 2000);
	REQUIRE(once.is_counted());
	CHECK(twice.total("instructions:u") - once.total("instructions:u") == 1000 * (2 * 50 + 3));
	CHECK(twice.total("branches:u") - once.total("branches:u") == 1000 * (50 + 1));
	CHECK(once.total("branches:u") - 1000 * (50 + 1) <= 8);
	CHECK(once.total("instructions:u") - 1000 * (2 * 50 + 3) <= 16);
	CHECK(once.each("branches:u") == once.total("branches:u") / 1000.0);
	/* a second run adds to the first one */
	run(once, 1000);
	CHECK(once.total("branches:u") >= 2000 * (50 + 1));
	CHECK(once.total("branches:u") <= 2000 * (50 + 1) + 16);
}

/* A program may have chosen a locale with other points, and with marks between thousands. */
class Marks : public std::numpunct<char> {
	char do_decimal_point() const override { return ','; }
	char do_thousands_sep() const override { return '.'; }
	std::string do_grouping() const override { return "\3"; }
};

TEST_CASE("many digits")
{
	vpmcpp::CountedCase counted("many digits", "branches");
	std::locale before = std::locale::global(std::locale(std::locale(), new Marks));

	counted.run(1000, [] { known(1234567); });
	counted.report();
	std::locale::global(before);
	CHECK(counted.each("branches:u") > 1234567);
}

TEST_CASE("results are not dropped")
{
	vpmcpp::CountedCase counted("results", "branches");
	unsigned int turns = 0;

	counted.run(10, [&turns] { known(10); return ++turns; });
	CHECK(turns == 10);
	CHECK(counted.total("branches:u") >= 10 * 10);
}

TEST_CASE("measured")
{
	vpmcpp::CountedCase counted("measured", "branches");
	std::uint64_t runs = 0;

	BENCHMARK_ADVANCED("fifty turns")(Catch::Benchmark::Chronometer meter)
	{
		runs += meter.runs();
		counted.measure(meter, [] { known(50); });
	};
	REQUIRE(counted.is_counted());
	CHECK(counted.total("branches:u") - runs * (50 + 1) < runs);
}

/* The object tells that it is closed, before it was open and after. */
static void is_closed(vpmcpp::Counters &counters)
{
	CHECK_FALSE(counters.is_open());
	CHECK(counters.size() == 0);
	counters.start();
	counters.stop();
	counters.clear();
	counters.close();
	REQUIRE(counters.lost() != nullptr);
	CHECK(std::string(counters.lost()) == "the counters are not open");
	CHECK(counters.sum(0) == 0);
	CHECK(std::string(counters.name(0)).empty());
}

TEST_CASE("closed counters")
{
	vpmcpp::Counters counters;
	struct vpmc_error error;

	is_closed(counters);
	CHECK(counters.open("instructionz", &error));
	is_closed(counters);
	REQUIRE(counters.open("instructions,branches", &error) == 0);
	counters.start();
	known(50);
	counters.stop();
	CHECK(counters.lost() == nullptr);
	CHECK(counters.sum(1) >= 50);
	CHECK(counters.sum(2) == 0);
	CHECK(std::string(counters.name(2)).empty());
	counters.close();
	is_closed(counters);
	REQUIRE(counters.open("branches", &error) == 0);
	counters.start();
	known(50);
	counters.stop();
	CHECK(counters.lost() == nullptr);
	CHECK(counters.sum(0) >= 50);
}

TEST_CASE("an event by its names")
{
	vpmcpp::CountedCase counted("names", "branches?,instructions@fixed0,cpu/event=0xc4,umask=0x20/,branches:k");
	double branches;

	counted.run(1000, [] { known(50); });
	counted.report();
	REQUIRE(counted.is_counted());
	branches = counted.each("branches:u");
	CHECK(branches > 50);
	CHECK(counted.each("branches") == branches);
	CHECK(counted.each("branches?") == branches);
	CHECK(counted.total("branches") == counted.total("branches:u"));
	CHECK(counted.each("branches:k") < 1);
	CHECK(counted.each("instructions") > 100);
	CHECK(counted.each("instructions@fixed0") == counted.each("instructions:u"));
	CHECK(counted.total("cpu/event=0xc4,umask=0x20/") == counted.total("cpu/event=0xc4,umask=0x20/u"));
}

TEST_CASE("an event that was left out")
{
	vpmcpp::CountedCase counted("left out", "branches,nonsense?");

	counted.run(1000, [] { known(50); });
	REQUIRE(counted.is_counted());
	CHECK(counted.each("nonsense") == 0);
	CHECK(counted.total("nonsense?") == 0);
}

/* These fail: a limit that nothing is compared with must not pass. */
TEST_CASE("an event that the list has not", "[.]")
{
	vpmcpp::CountedCase counted("unknown", "instructions,branches:k");

	counted.run(1000, [] { known(50); });
	REQUIRE(counted.is_counted());
	CHECK(counted.each("cycles:u") == 0);
	CHECK(counted.total("branches") == 0);
}

TEST_CASE("nothing to count")
{
	vpmcpp::CountedCase counted("wrong", "instructionz");
	bool ran = false;

	counted.run(1, [&ran] { ran = true; });
	counted.report();
	CHECK(ran);
	CHECK_FALSE(counted.is_counted());
	CHECK(counted.total("instructions:u") == 0);
	CHECK(counted.each("cycles") == 0);
}

TEST_CASE("a set that is cleared")
{
	vpmcpp::CountedCase counted("cleared", "instructions");

	counted.run(1, [] { known(50); });
	CHECK(counted.is_counted());
	counted.run(1, [] {
		struct vpmc *v;

		if (!vpmc_open(&v, 0, nullptr))
			vpmc_clear(v, 0);
		vpmc_close(v);
	});
	counted.report();
	CHECK_FALSE(counted.is_counted());
}

TEST_CASE("a set that is stopped")
{
	vpmcpp::CountedCase counted("stopped", "instructions");

	counted.run(1, [] {
		struct vpmc *v;

		if (!vpmc_open(&v, 0, nullptr))
			vpmc_stop(v);
		vpmc_close(v);
	});
	counted.report();
	CHECK_FALSE(counted.is_counted());
}

/* Another process detaches the counters before their page is mapped. It takes the library's place. */
static bool detached;

extern "C" void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept
{
	if (!detached || fd < 0)
		return reinterpret_cast<void *>(syscall(SYS_mmap, at, size, protection, flags, fd, offset));
	errno = ESRCH;
	return MAP_FAILED;
}

TEST_CASE("counters without a page")
{
	detached = true;
	vpmcpp::CountedCase counted("without a page", "instructions");
	detached = false;

	counted.run(1, [] { known(50); });
	counted.report();
	CHECK_FALSE(counted.is_counted());
}
