// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * usage: c_test
 *	  c_test LIST
 *
 * Prints what libvpmc counts of the code of known.h, in instructions and branches: as a
 * region, and from one inline read to the next. With LIST it prints names and selects of
 * events, and counts nothing.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <vpmc.h>

#include "known.h"

static struct vpmc_error error;

static void region_of(struct vpmc_regions *regions, const char *name, unsigned int turns)
{
	struct vpmc_region *region;

	if (vpmc_region_get(regions, name, &region))
		errx(1, "no region");
	vpmc_begin(region);
	known(turns);
	vpmc_end(region);
	printf("%s %" PRIu64 " %" PRIu64 "\n", name,
	       vpmc_region_total(region, 0, VPMC_INCLUSIVE, NULL),
	       vpmc_region_total(region, 1, VPMC_INCLUSIVE, NULL));
}

static __attribute__((__noinline__)) void read_around(unsigned int turns)
{
	uint64_t begin[2], end[2];
	struct vpmc *v;

	if (vpmc_open(&v, 0, &error))
		errx(1, "%s", error.text);
	vpmc_read_2(vpmc_page(v), begin, NULL);
	known(turns);
	vpmc_read_2(vpmc_page(v), end, NULL);
	printf("reads %u %" PRIu64 " %" PRIu64 "\n", turns, end[0] - begin[0],
	       end[1] - begin[1]);
	vpmc_close(v);
}

static int list(const char *text)
{
	struct vpmc_event *events;
	unsigned int nr, i;

	if (vpmc_parse_events(text, &events, &nr, &error))
		errx(1, "%s", error.text);
	for (i = 0; i < nr; i++)
		printf("event %s %#" PRIx64 "\n", events[i].name, events[i].select);
	vpmc_free_events(events);
	return 0;
}

int main(int argc, char **argv)
{
	struct vpmc_regions *regions;

	if (argc > 1)
		return list(argv[1]);
	if (vpmc_regions_open(&regions, "instructions,branches", 0, &error))
		errx(1, "%s", error.text);
	region_of(regions, "measure 1000", 1000);
	region_of(regions, "measure 2000", 2000);
	read_around(1000);
	read_around(2000);
	return vpmc_regions_close(regions);
}
