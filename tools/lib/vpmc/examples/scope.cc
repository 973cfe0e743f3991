// SPDX-License-Identifier: MIT
/* C++: counts a scope as a region, however the scope is left. */
#include <cstdio>
#include <stdexcept>
#include <vpmc.hpp>

/* Not inlined: what the compiler makes of this loop does not depend on its caller. */
__attribute__((noinline)) static void turn(int turns)
{
	for (; turns; turns--)
		__asm__ __volatile__("" : "+r" (turns));
}

static void turn_and_throw(struct vpmc_region *region)
{
	const vpmcpp::Scope scope(region);

	turn(1000000);
	throw std::runtime_error("thrown");
}

int main()
{
	try {
		vpmcpp::Regions regions("instructions");
		struct vpmc_region *turns = regions.region("a million turns");

		try {
			turn_and_throw(turns);
		} catch (const std::runtime_error &) {
		}
		std::printf("a million turns: %llu instructions\n",
			    static_cast<unsigned long long>(
				vpmc_region_total(turns, 0, VPMC_INCLUSIVE, nullptr)));
	} catch (const std::exception &e) {
		std::fprintf(stderr, "scope: %s\n", e.what());
		return 1;
	}
}
