// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Writes the report about regions as text, with a table for each thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdio.h>
#include <string.h>

#include "region.h"
#include "report.h"
#include "write.h"

/* The run time comes first, then the events. */
#define for_each_event(event, regions)					\
	for (event = VPMC_RUN_TIME; event < (int)(regions)->nr_events; event++)

static const char *value_name(const struct vpmc_regions *regions, int event,
			      char buffer[VPMC_NAME_SIZE])
{
	uint64_t select;

	return event == VPMC_RUN_TIME ? "run time/ticks" :
	       vpmc_regions_event(regions, event, buffer, &select);
}

static int widest(const struct vpmc_regions *regions)
{
	char buffer[VPMC_NAME_SIZE];
	size_t width = 0, length;
	int event;

	for_each_event(event, regions) {
		length = strlen(value_name(regions, event, buffer));
		width = length > width ? length : width;
	}
	return width;
}

/* The sum is of all samples, the rest of the clean ones. */
static void write_line(struct writer *w, const struct vpmc_stats *stats,
		       uint64_t dirty)
{
	vpmc_put(w, "%16llu", (unsigned long long)(stats->sum + dirty));
	if (!stats->n) {
		vpmc_put(w, " %14s\n", "-");
		return;
	}
	vpmc_put(w, " %14llu %14llu %16.2f %14llu %12.2f\n",
		 (unsigned long long)stats->min,
		 (unsigned long long)vpmc_stats_quantile(stats, 0.5),
		 vpmc_stats_mean(stats), (unsigned long long)stats->max,
		 vpmc_stats_deviation(stats));
}

/* Writes a number that is not 0. @format has one conversion. */
static void write_number(struct writer *w, const char *format, uint64_t number)
{
	char text[128];

	if (!number)
		return;
	snprintf(text, sizeof(text), format, (unsigned long long)number);
	vpmc_put(w, "%s", text);
}

static void write_region(struct writer *w, const struct region *region, int width)
{
	const struct vpmc_regions *regions = region->regions;
	char buffer[VPMC_NAME_SIZE];
	int event;

	vpmc_put_name(w, region->name);
	vpmc_put(w, ": %llu calls", (unsigned long long)vpmc_region_ended(region));
	write_number(w, ", %llu of them dirty", region->dirty);
	write_number(w, ", %llu in none of the sums, because another set was programmed",
		     region->replaced);
	write_number(w, ", %llu unfinished", region->unfinished);
	write_number(w, ", %llu refused in signal handlers",
		     __atomic_load_n(&region->refused, __ATOMIC_RELAXED));
	vpmc_put(w, "\n");
	for_each_event(event, regions) {
		unsigned int i = vpmc_regions_value(regions, event);
		const struct vpmc_stats *stats = &region->stats[2 * i];

		vpmc_put(w, "  %-*s inclusive ", width,
			 value_name(regions, event, buffer));
		write_line(w, &stats[VPMC_INCLUSIVE],
			   region->dirty_sum[VPMC_INCLUSIVE][i]);
		if (stats[VPMC_INCLUSIVE].sum != stats[VPMC_EXCLUSIVE].sum) {
			vpmc_put(w, "  %-*s exclusive ", width, "");
			write_line(w, &stats[VPMC_EXCLUSIVE],
				   region->dirty_sum[VPMC_EXCLUSIVE][i]);
		}
		if (region->dirty)
			vpmc_put(w, "  %-*s dirty     %16llu\n", width, "",
				 (unsigned long long)
				 region->dirty_sum[VPMC_INCLUSIVE][i]);
	}
}

static void write_thread(struct writer *w, const struct vpmc_regions *regions)
{
	int width = widest(regions);
	const struct region *region;
	char buffer[VPMC_NAME_SIZE];
	int event;

	vpmc_put(w, "thread %u (", regions->tid);
	vpmc_put_name(w, regions->comm);
	vpmc_put(w, ")");
	write_number(w, " and %llu more that have ended", regions->merged);
	vpmc_put(w, ": begin and end count");
	for_each_event(event, regions) {
		unsigned int i = vpmc_regions_value(regions, event);

		vpmc_put(w, "%s %llu+%llu %s", event == VPMC_RUN_TIME ? "" : ",",
			 (unsigned long long)regions->inside[i],
			 (unsigned long long)(regions->around[i] - regions->inside[i]),
			 value_name(regions, event, buffer));
	}
	vpmc_put(w, "; it is taken out\n  %-*s           %16s %14s %14s %16s %14s %12s\n",
		 width, "", "sum", "min", "median", "mean", "max", "deviation");
	for (region = regions->first; region; region = region->next)
		write_region(w, region, width);
}

void vpmc_report_text(struct writer *w, struct vpmc_regions *all)
{
	for (; all; all = all->next) {
		enum hold hold = vpmc_regions_hold(all);

		if (hold != NOT_HELD)
			write_thread(w, all);
		vpmc_regions_release(all, hold);
	}
}
