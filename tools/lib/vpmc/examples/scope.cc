// SPDX-License-Identifier: MIT
/* C++: counts a scope, with an object that lives as long as the scope. */
#include <cstdio>
#include <stdexcept>
#include <vpmc.h>

class Counters {
public:
	explicit Counters(const char *list)
	{
		struct vpmc_error error;

		if (vpmc_parse_events(list, &events, &nr, &error))
			throw std::runtime_error(error.text);
		if (vpmc_open(&v, 0, &error) ||
		    vpmc_program(v, events, nr, VPMC_CONTROL_NEW, &error) < 0) {
			vpmc_close(v);
			vpmc_free_events(events);
			throw std::runtime_error(error.text);
		}
	}
	Counters(const Counters &) = delete;
	Counters &operator=(const Counters &) = delete;
	~Counters()
	{
		vpmc_close(v);
		vpmc_free_events(events);
	}
	uint64_t first() const { return vpmc_read_1(vpmc_page(v)); }

private:
	struct vpmc *v = nullptr;
	struct vpmc_event *events = nullptr;
	unsigned int nr = 0;
};

class Scope {
public:
	Scope(const Counters &counters, const char *name)
		: counters(counters), name(name), begin(counters.first()) {}
	~Scope()
	{
		const uint64_t end = counters.first();

		std::printf("%s: %llu instructions\n", name,
			    static_cast<unsigned long long>(end - begin));
	}

private:
	const Counters &counters;
	const char *name;
	uint64_t begin;
};

/* Not inlined: what the compiler makes of this loop does not depend on its caller. */
__attribute__((noinline)) static void turn(int turns)
{
	for (; turns; turns--)
		__asm__ __volatile__("" : "+r" (turns));
}

int main()
{
	try {
		const Counters counters("instructions");
		const Scope scope(counters, "a million turns");

		turn(1000000);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "scope: %s\n", e.what());
		return 1;
	}
}
