/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc from C++: a thread's regions as an object, and a guard for a scope.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_HPP
#define VPMC_HPP

#include <stdexcept>
#include <string>

#include <vpmc.h>

namespace vpmcpp {

/**
 * class Regions - The regions of the thread that makes it
 *
 * The constructor takes the arguments of vpmc_regions_open(). It and region() throw
 * std::runtime_error. The thread that has made it destroys it.
 */
class Regions {
public:
	explicit Regions(const char *list = nullptr, unsigned int flags = 0)
	{
		struct vpmc_error error;

		if (vpmc_regions_open(&regions, list, flags, &error))
			throw std::runtime_error(error.text);
	}
	~Regions() { vpmc_regions_close(regions); }
	Regions(const Regions &) = delete;
	Regions &operator=(const Regions &) = delete;

	struct vpmc_region *region(const char *name)
	{
		struct vpmc_region *found;

		if (vpmc_region_get(regions, name, &found))
			throw std::runtime_error(std::string(name) +
						 ": there is no such region, and none can be added");
		return found;
	}
	struct vpmc_regions *get() const noexcept { return regions; }

private:
	struct vpmc_regions *regions = nullptr;
};

/**
 * class Scope - Counts a scope as a region
 *
 * The region ends however the scope is left, also by an exception. A region that cannot
 * begin is not counted, see vpmc_begin().
 */
class Scope {
public:
	explicit Scope(struct vpmc_region *wanted) noexcept
		: region(vpmc_begin(wanted) ? nullptr : wanted) {}
	~Scope()
	{
		if (region)
			vpmc_end(region);
	}
	Scope(const Scope &) = delete;
	Scope &operator=(const Scope &) = delete;

private:
	struct vpmc_region *region;
};

} // namespace vpmcpp

#endif /* VPMC_HPP */
