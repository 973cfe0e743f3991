/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Catch2 with libvpmc: exact counts of each iteration, to be shown and to be checked.
 *
 * Copyright (C) 2026 vpmc developers
 *
 *	TEST_CASE("work") {
 *		vpmcpp::CountedCase counted("work", "instructions,branches");
 *
 *		counted.run(1000, [] { work(); });
 *		counted.report();
 *		if (counted.is_counted())
 *			CHECK(counted.each("branches:u") <= 100);
 *	}
 *
 * Include Catch2's header, of version 2 or 3, before this one. If the events cannot be counted
 * the code runs without counts, and report() says why.
 */
#ifndef VPMC_CATCH2_HPP
#define VPMC_CATCH2_HPP

#include <cstdint>
#include <string>
#include <type_traits>

#include <vpmc-counters.hpp>

#ifndef WARN
#error "vpmc-catch2.hpp: include Catch2's header before"
#endif

namespace vpmcpp {

/**
 * class CountedCase - What a piece of code counts in a test case
 *
 * All calls must come from the thread that has made the object. The loop executes two
 * instructions for each iteration, and a few at its beginning and end.
 */
class CountedCase {
public:
	/* @name is for report(). @list has the events, as vpmc(7) describes them. */
	CountedCase(const char *name, const char *list) : name(name)
	{
		struct vpmc_error error;

		if (counters.open(list, &error))
			why = error.text;
	}

	/* Calls @code @n times, and adds what that counts. */
	template <typename Code>
	void run(std::uint64_t n, Code &&code)
	{
		counters.start();
		for (std::uint64_t left = n; left; left--)
			call(code, std::is_void<decltype(code())>());
		counters.stop();
		iterations += n;
		if (counters.is_open() && counters.lost())
			why = counters.lost();
	}

	/*
	 * For BENCHMARK_ADVANCED(): counts as many iterations as @meter wants to time, and
	 * then lets it time them. So the time does not contain the cost of counting.
	 */
	template <typename Meter, typename Code>
	void measure(Meter &meter, Code &&code)
	{
		run(static_cast<std::uint64_t>(meter.runs()), code);
		meter.measure(code);
	}

	/* Is each iteration counted so far? */
	bool is_counted() const { return why.empty() && iterations; }

	/*
	 * Returns what one iteration counts; 0 if it is not counted. @event is as report()
	 * shows it, or as the list has it. The test fails if the list has no such event, because
	 * a limit would pass.
	 */
	double each(const std::string &event) const
	{
		return iterations ? static_cast<double>(total(event)) /
				    static_cast<double>(iterations) : 0;
	}

	/* The sum of all iterations; 0 if they are not counted. */
	std::uint64_t total(const std::string &event) const
	{
		if (!is_counted())
			return 0;
		if (!counters.has(event))
			FAIL_CHECK(unknown(event));
		return counters.sum(counters.find(event));
	}

	/* Shows the counts of an iteration, or why there are none, whether the test passes or not. */
	void report() const
	{
		std::string text = name + ":";

		for (std::size_t i = 0; is_counted() && i < counters.size(); i++)
			text += " " + quotient(counters.sum(i)) + " " + counters.name(i) + ",";
		if (is_counted())
			text += " each of " + std::to_string(iterations) + " times";
		else
			text += " not counted: " + (why.empty() ? "nothing has run" : why);
		WARN(text);
	}

private:
	std::string unknown(const std::string &event) const
	{
		std::string text = name + ": " + event + ": is no event of the list; name one of";

		for (std::size_t i = 0; i < counters.size(); i++)
			text += std::string(i ? ", " : " ") + counters.name(i);
		return text;
	}

	/* An iteration's part of @sum, with all digits before the point, in any locale. */
	std::string quotient(std::uint64_t sum) const
	{
		std::uint64_t whole = sum / iterations, rest = sum % iterations;
		double part = static_cast<double>(rest) / static_cast<double>(iterations);
		std::uint64_t millionths = static_cast<std::uint64_t>(1e6 * part + 0.5);
		std::string text = std::to_string(whole + millionths / 1000000);

		if (millionths % 1000000 == 0)
			return text;
		text += "." + std::to_string(1000000 + millionths).substr(1);
		return text.substr(0, text.find_last_not_of('0') + 1);
	}

	/* The compiler must not drop a result that nobody uses. */
	template <typename Code>
	static void call(Code &code, std::false_type)
	{
		auto &&result = code();

		__asm__ __volatile__("" : : "g" (&result) : "memory");
	}
	template <typename Code>
	static void call(Code &code, std::true_type)
	{
		code();
	}

	Counters counters;
	std::string name, why;
	std::uint64_t iterations = 0;
};

} // namespace vpmcpp

#endif /* VPMC_CATCH2_HPP */
