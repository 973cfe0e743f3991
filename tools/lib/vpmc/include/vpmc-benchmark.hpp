/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Google Benchmark with libvpmc: exact counts of each iteration, as user counters.
 *
 * Copyright (C) 2026 vpmc developers
 *
 *	static void work(benchmark::State &state)
 *	{
 *		for (auto _ : vpmcpp::Counted(state, "instructions,branches"))
 *			...
 *	}
 *
 * Needs Google Benchmark 1.7 or later. If the events cannot be counted the benchmark runs
 * without counts, and one line on standard error says why.
 */
#ifndef VPMC_BENCHMARK_HPP
#define VPMC_BENCHMARK_HPP

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include <benchmark/benchmark.h>
#include <vpmc-counters.hpp>

namespace vpmcpp {

/*
 * The lists of events that cannot be counted. A benchmark with several threads has no counts
 * if one of its threads has none, because Google Benchmark adds up those of all.
 */
class Uncounted {
public:
	static bool has(const std::string &list)
	{
		std::lock_guard<std::mutex> guard(lock());

		return lists().count(list);
	}

	/* Prints why, once for each list. */
	static void add(const std::string &list, const char *why)
	{
		std::lock_guard<std::mutex> guard(lock());

		if (lists().insert(list).second)
			std::fprintf(stderr, "vpmc: %s; benchmarks run without these counts\n", why);
	}

private:
	static std::mutex &lock()
	{
		static std::mutex it;

		return it;
	}
	static std::set<std::string> &lists()
	{
		static std::set<std::string> it;

		return it;
	}
};

/**
 * class Counted - The loop of a benchmark, counted
 *
 * Its loop is that of benchmark::State. The counts do not contain what Google Benchmark does
 * before and after the loop. The loop itself executes two instructions for each iteration,
 * as Google Benchmark's does, and a few at its beginning and end.
 */
class Counted {
public:
	class Iterator {
	public:
		struct __attribute__((__unused__)) Value {};

		Iterator(Counted *whole, benchmark::IterationCount n) : whole(whole), left(n) {}
		Value operator*() const { return Value(); }
		Iterator &operator++()
		{
			--left;
			return *this;
		}
		bool operator!=(const Iterator &) const
		{
			if (__builtin_expect(left != 0, 1))
				return true;
			whole->counters->stop();
			whole->finish();
			return false;
		}

	private:
		Counted *whole;
		benchmark::IterationCount left;
	};

	/* @list: the events, as vpmc(7) describes them. */
	Counted(benchmark::State &state, const char *list) : state(state), list(list),
		  counters(of_thread(this->list))
	{
		if (counters->is_open())
			counters->clear();
	}
	Counted(const Counted &) = delete;
	Counted &operator=(const Counted &) = delete;

	/* Takes all iterations at once, so that Google Benchmark does not count them, too. */
	Iterator begin()
	{
		return Iterator(this, state.KeepRunningBatch(state.max_iterations) ?
				      state.max_iterations : 0);
	}

	/* A loop calls begin() first. */
	Iterator end()
	{
		counters->start();
		return Iterator(this, 0);
	}

	/* In place of those of State. What lies between them is neither timed nor counted. */
	void PauseTiming()
	{
		counters->stop();
		state.PauseTiming();
	}
	void ResumeTiming()
	{
		state.ResumeTiming();
		counters->start();
	}

private:
	/* A thread keeps the counters of its last list. They are closed if it has none. */
	static Counters *of_thread(const std::string &list)
	{
		static thread_local Counters counters;
		static thread_local std::string counted;
		struct vpmc_error error;

		if (counters.is_open() && counted == list && !counters.lost())
			return &counters;
		counters.close();
		counted = list;
		if (!Uncounted::has(list) && counters.open(list.c_str(), &error))
			Uncounted::add(list, error.text);
		return &counters;
	}

	/* All threads wait for each other when State begins and ends. */
	__attribute__((__noinline__)) void finish()
	{
		if (counters->is_open() && counters->lost())
			Uncounted::add(list, counters->lost());
		state.KeepRunningBatch(1);
		if (Uncounted::has(list))
			return;
		for (std::size_t i = 0; i < counters->size(); i++)
			state.counters[counters->name(i)] = benchmark::Counter(
				static_cast<double>(counters->sum(i)),
				benchmark::Counter::kAvgIterations);
	}

	benchmark::State &state;
	std::string list;
	Counters *counters;
};

} // namespace vpmcpp

#endif /* VPMC_BENCHMARK_HPP */
