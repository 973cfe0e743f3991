/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc from C++: sums of the calling thread's events between start and stop. The
 * headers for Google Benchmark and Catch2 use this one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_COUNTERS_HPP
#define VPMC_COUNTERS_HPP

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <vpmc.h>

namespace vpmcpp {

/**
 * class Counters - What the calling thread counts between start() and stop()
 *
 * It throws nothing. open() says what is wrong, and lost() whether the sums are right. All
 * calls may be made of an object that is closed, which has no events. The thread that calls
 * open() must make all other calls. If the thread has a set already, for
 * instance from vpmc stat, that set is used, and gets what it lacks. Otherwise the object has
 * a set of its own. Both end with the object.
 */
class Counters {
public:
	Counters() = default;
	~Counters() { close(); }
	Counters(const Counters &) = delete;
	Counters &operator=(const Counters &) = delete;

	/* Returns 0, or the error number of the call that failed, with @error filled in. */
	int open(const char *list, struct vpmc_error *error)
	{
		int err;

		close();
		err = vpmc_open(&v, 0, error);
		if (!err && !vpmc_page(v))
			err = detached(error);
		if (!err)
			err = program(list, error);
		if (err < 0) {
			close();
			return err;
		}
		page = vpmc_page(v);
		set_number = page->set_number;
		clear();
		return 0;
	}

	void close()
	{
		vpmc_close(v);
		vpmc_free_events(events);
		v = nullptr;
		page = nullptr;
		events = nullptr;
		nr_events = nr = 0;
		counted.clear();
		zero_sums();
	}

	/* A closed object counts nothing. */
	bool is_open() const { return v; }

	/* The events that are counted, without those that were left out ('?'). */
	std::size_t size() const { return counted.size(); }
	/* There is no event from size() on: no name, and 0. */
	const char *name(std::size_t i) const { return i < size() ? counted[i]->name : ""; }
	std::uint64_t sum(std::size_t i) const { return i < size() ? sums[counted[i]->element] : 0; }

	/*
	 * Finds an event by its name, by what the list has, or by what the list has without
	 * counter, '?' and ":u". Returns size() if it is not counted.
	 */
	std::size_t find(const std::string &event) const
	{
		for (std::size_t i = 0; i < size(); i++)
			if (event == counted[i]->name)
				return i;
		for (std::size_t i = 0; i < size(); i++)
			if (is_written(*counted[i], event))
				return i;
		return size();
	}

	/* Has the list this event, even if it was left out ('?')? */
	bool has(const std::string &event) const
	{
		for (unsigned int i = 0; i < nr_events; i++)
			if (event == events[i].name || is_written(events[i], event))
				return true;
		return false;
	}

	/* Sets the sums to zero, and measures what start() and stop() count themselves. */
	void clear()
	{
		std::uint64_t least[VPMC_MAX_COUNTERS];
		unsigned int i, round;

		if (!v)
			return;
		failed = false;
		went_back = 0;
		nr = page->nr_counters;
		for (i = 0; i < VPMC_MAX_COUNTERS; i++) {
			own[i] = 0;
			least[i] = UINT64_MAX;
		}
		for (round = 0; round < 16; round++) {
			zero_sums();
			start();
			stop();
			for (i = 0; i < nr; i++)
				if (sums[i] < least[i])
					least[i] = sums[i];
		}
		zero_sums();
		for (i = 0; i < nr; i++)
			own[i] = least[i];
	}

	/* Reads the counters in its last instructions. stop() reads them in its first ones. */
	__attribute__((__noinline__)) void start() noexcept
	{
		int n = 0;

		if (__builtin_expect(v != nullptr, 1))
			n = vpmc_read(v, begun, nr, nullptr);
		/* Others may have added counters to the set. */
		if (__builtin_expect(n == -ENOSPC, 0))
			n = vpmc_read(v, begun, VPMC_MAX_COUNTERS, nullptr);
		if (__builtin_expect(n < 0, 0))
			failed = true;
	}

	__attribute__((__noinline__)) void stop() noexcept
	{
		std::uint64_t now[VPMC_MAX_COUNTERS], value;
		int n;

		if (__builtin_expect(!v, 0))
			return;
		n = vpmc_read(v, now, nr, nullptr);
		if (__builtin_expect(n == -ENOSPC, 0))
			n = vpmc_read(v, now, VPMC_MAX_COUNTERS, nullptr);
		if (__builtin_expect(n < 0, 0)) {
			failed = true;
			return;
		}
		for (unsigned int i = 0; i < nr; i++) {
			value = now[i] - begun[i];
			sums[i] += value > own[i] ? value - own[i] : 0;
			went_back |= static_cast<std::uint32_t>(now[i] < begun[i]) << i;
		}
	}

	/* Returns why the sums since clear() are not right, or a null pointer if they are. */
	const char *lost() const
	{
		struct vpmc_read now;

		if (!v)
			return "the counters are not open";
		if (failed || vpmc_read_sums(v, 0, &now))
			return "the counters cannot be read any more";
		if (now.set_number != set_number)
			return "somebody has programmed another set meanwhile";
		/* Counters that others have added, and taken away, do not matter. */
		for (const struct vpmc_event *event : counted)
			if (went_back >> event->element & 1)
				return "somebody has cleared the sums meanwhile";
		if (now.state != VPMC_STATE_RUNNING)
			return now.state == VPMC_STATE_REVOKED ?
			       "the administrator has taken the PMU" :
			       "somebody has stopped the set";
		return nullptr;
	}

private:
	/* Did the list have @event for this one? Without modes it counts in user mode. */
	static bool is_written(const struct vpmc_event &it, const std::string &event)
	{
		const std::string text = it.text;
		const std::size_t slash = text.rfind('/');

		return event == text || event + ":u" == it.name ||
		       event == text.substr(0, text.find_first_of("@?", slash == std::string::npos ?
								  0 : slash));
	}

	/* Another process has detached the counters before their page was mapped. */
	static int detached(struct vpmc_error *error)
	{
		if (error) {
			error->errnum = ESRCH;
			std::snprintf(error->text, sizeof(error->text),
				      "this thread's counters: somebody has detached them meanwhile; try again");
		}
		return -ESRCH;
	}

	/* Counts with the set that is there, or with a new one that ends with the handle. */
	int program(const char *list, struct vpmc_error *error)
	{
		unsigned int all, i;
		struct vpmc_read now;
		int err = vpmc_parse_events(list, &events, &all, error);

		if (err)
			return err;
		nr_events = all;
		err = vpmc_join(v, events, all, error);
		if (err == -ENODATA)
			err = vpmc_program(v, events, all, VPMC_CONTROL_NEW |
					   VPMC_CONTROL_UNLINK_ON_CLOSE, error);
		else if (err >= 0 && !vpmc_read_sums(v, 0, &now) &&
			 now.state != VPMC_STATE_RUNNING)
			vpmc_start(v);
		for (i = 0; err >= 0 && i < all; i++)
			if (events[i].element >= 0)
				counted.push_back(&events[i]);
		return err < 0 ? err : 0;
	}

	void zero_sums()
	{
		for (std::uint64_t &sum : sums)
			sum = 0;
	}

	struct vpmc *v = nullptr;
	const struct vpmc_page *page = nullptr;
	struct vpmc_event *events = nullptr;
	unsigned int nr_events = 0;
	std::vector<const struct vpmc_event *> counted;
	std::uint64_t set_number = 0;
	unsigned int nr = 0;
	bool failed = false;
	std::uint32_t went_back = 0;	/* elements whose sums were less at a stop than at its start */
	std::uint64_t begun[VPMC_MAX_COUNTERS], sums[VPMC_MAX_COUNTERS] = {}, own[VPMC_MAX_COUNTERS];
};

} // namespace vpmcpp

#endif /* VPMC_COUNTERS_HPP */
