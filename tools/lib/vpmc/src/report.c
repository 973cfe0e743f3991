// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reports the regions of all threads, as text or JSON, also at exit.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "region.h"
#include "report.h"
#include "write.h"

/*
 * Finds the first of these variables that is a number. Returns false if none
 * is.
 */
static bool number_of(const char *const *names, unsigned long long *value)
{
	const char *text;
	char *end;

	for (; *names; names++) {
		text = getenv(*names);
		if (!text || *text < '0' || *text > '9')
			continue;
		*value = strtoull(text, &end, 10);
		if (!*end)
			return true;
	}
	return false;
}

static bool rank_of(unsigned long long *rank)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
		NULL
	};

	return number_of(names, rank);
}

static bool ranks_of(unsigned long long *ranks)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_SIZE", "PMIX_SIZE", "PMI_SIZE", "SLURM_NTASKS",
		NULL
	};

	return number_of(names, ranks);
}

static void write_command(struct writer *w)
{
	char text[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1), at;

	if (fd >= 0)
		close(fd);
	vpmc_json_open(w, "command", '[');
	for (at = 0; at < length; at += strlen(text + at) + 1) {
		text[length] = '\0';
		vpmc_json_string(w, NULL, text + at);
	}
	vpmc_json_close(w, ']');
}

static void write_statistics(struct writer *w, const char *key,
			     const struct vpmc_stats *stats)
{
	unsigned int i;

	vpmc_json_open(w, key, '{');
	vpmc_json_number(w, "n", stats->n);
	vpmc_json_number(w, "sum", stats->sum);
	if (stats->n) {
		vpmc_json_number(w, "min", stats->min);
		vpmc_json_number(w, "median", vpmc_stats_quantile(stats, 0.5));
		vpmc_json_real(w, "mean", vpmc_stats_mean(stats));
		vpmc_json_number(w, "max", stats->max);
		vpmc_json_real(w, "deviation", vpmc_stats_deviation(stats));
		vpmc_json_open(w, "histogram", '[');
		for (i = 0; i < VPMC_STATS_BUCKETS; i++) {
			if (!stats->bucket[i])
				continue;
			vpmc_json_open(w, NULL, '[');
			vpmc_json_number(w, NULL, vpmc_stats_low(i));
			vpmc_json_number(w, NULL, stats->bucket[i]);
			vpmc_json_close(w, ']');
		}
		vpmc_json_close(w, ']');
	}
	vpmc_json_close(w, '}');
}

static void write_value(struct writer *w, const struct region *region,
			int event, const char *key)
{
	unsigned int i = vpmc_regions_value(region->regions, event);
	char buffer[VPMC_NAME_SIZE];
	uint64_t select;

	vpmc_json_open(w, key, '{');
	if (event != VPMC_RUN_TIME)
		vpmc_json_string(w, "event", vpmc_regions_event(region->regions,
								event, buffer, &select));
	write_statistics(w, "inclusive", &region->stats[2 * i]);
	write_statistics(w, "exclusive", &region->stats[2 * i + 1]);
	vpmc_json_number(w, "dirty_inclusive", region->dirty_sum[VPMC_INCLUSIVE][i]);
	vpmc_json_number(w, "dirty_exclusive", region->dirty_sum[VPMC_EXCLUSIVE][i]);
	vpmc_json_close(w, '}');
}

static uint64_t run_time_ns(const struct region *region, unsigned int which)
{
	uint64_t ticks = region->stats[which].sum + region->dirty_sum[which][0];
	uint64_t khz = region->regions->info.tsc_khz;

	/* in two parts, because one product would overflow 64 bits */
	return ticks / khz * 1000000 + ticks % khz * 1000000 / khz;
}

static void write_region(struct writer *w, const struct region *region)
{
	unsigned int i;

	vpmc_json_open(w, NULL, '{');
	vpmc_json_string(w, "name", region->name);
	vpmc_json_number(w, "calls", vpmc_region_ended(region));
	vpmc_json_number(w, "dirty", region->dirty);
	vpmc_json_number(w, "unfinished", region->unfinished);
	vpmc_json_number(w, "replaced", region->replaced);
	vpmc_json_number(w, "refused",
			 __atomic_load_n(&region->refused, __ATOMIC_RELAXED));
	if (region->regions->info.tsc_khz) {
		vpmc_json_open(w, "run_time_ns", '{');
		vpmc_json_number(w, "inclusive", run_time_ns(region, VPMC_INCLUSIVE));
		vpmc_json_number(w, "exclusive", run_time_ns(region, VPMC_EXCLUSIVE));
		vpmc_json_close(w, '}');
	}
	write_value(w, region, VPMC_RUN_TIME, "run_time_ticks");
	vpmc_json_open(w, "values", '[');
	for (i = 0; i < region->regions->nr_events; i++)
		write_value(w, region, i, NULL);
	vpmc_json_close(w, ']');
	vpmc_json_close(w, '}');
}

static void write_cost(struct writer *w, const char *key,
		       const struct vpmc_regions *regions, int event)
{
	unsigned int i = vpmc_regions_value(regions, event);

	vpmc_json_open(w, key, '{');
	vpmc_json_number(w, "inside", regions->inside[i]);
	vpmc_json_number(w, "around", regions->around[i]);
	vpmc_json_close(w, '}');
}

static const char *serialise(const struct vpmc_regions *regions)
{
	if (regions->flags & VPMC_REGIONS_LFENCE)
		return "lfence";
	return regions->flags & VPMC_REGIONS_TWICE ? "twice" : "none";
}

static void write_thread(struct writer *w, const struct vpmc_regions *regions)
{
	const struct region *region;
	char buffer[VPMC_NAME_SIZE];
	uint64_t select;
	unsigned int i;

	vpmc_json_open(w, NULL, '{');
	vpmc_json_number(w, "tid", regions->tid);
	vpmc_json_string(w, "name", regions->comm);
	vpmc_json_number(w, "tsc_khz", regions->info.tsc_khz);
	if (regions->merged)
		vpmc_json_number(w, "merged", regions->merged);
	vpmc_json_open(w, "events", '[');
	for (i = 0; i < regions->nr_events; i++) {
		vpmc_json_open(w, NULL, '{');
		vpmc_json_string(w, "event",
				 vpmc_regions_event(regions, i, buffer, &select));
		vpmc_json_number(w, "select", select);
		vpmc_json_close(w, '}');
	}
	vpmc_json_close(w, ']');
	vpmc_json_string(w, "serialise", serialise(regions));
	vpmc_json_open(w, "cost", '{');
	write_cost(w, "run_time_ticks", regions, VPMC_RUN_TIME);
	vpmc_json_open(w, "events", '[');
	for (i = 0; i < regions->nr_events; i++)
		write_cost(w, NULL, regions, i);
	vpmc_json_close(w, ']');
	vpmc_json_close(w, '}');
	vpmc_json_open(w, "regions", '[');
	for (region = regions->first; region; region = region->next)
		write_region(w, region);
	vpmc_json_close(w, ']');
	vpmc_json_close(w, '}');
}

void vpmc_report_json(struct writer *w, struct vpmc_regions *all, unsigned long long begun)
{
	unsigned long long number;

	vpmc_json_open(w, NULL, '{');
	vpmc_json_number(w, "version", 1);
	vpmc_json_string(w, "kind", "regions");
	write_command(w);
	vpmc_json_number(w, "pid", getpid());
	if (begun)
		vpmc_json_number(w, "begun", begun);
	if (rank_of(&number))
		vpmc_json_number(w, "rank", number);
	if (ranks_of(&number))
		vpmc_json_number(w, "ranks", number);
	vpmc_json_real(w, "median_error", 1.0 / (2 * VPMC_STATS_SUB));
	vpmc_json_open(w, "threads", '[');
	for (; all; all = all->next) {
		enum hold hold = vpmc_regions_hold(all);

		if (hold != NOT_HELD)
			write_thread(w, all);
		vpmc_regions_release(all, hold);
	}
	vpmc_json_close(w, ']');
	vpmc_json_close(w, '}');
	vpmc_put(w, "\n");
}

/* Writes the report to @to, and closes that. Returns 0 or -errno. */
static int write_report(struct outfile *to, unsigned int format)
{
	struct vpmc_regions *all, *regions;
	struct writer w;
	int err = vpmc_writer_open(&w);

	if (err) {
		vpmc_outfile_drop(to);
		return err;
	}
	all = vpmc_regions_lock();
	for (regions = all; regions; regions = regions->next)
		vpmc_samples_settle(regions);
	if (format == VPMC_REPORT_JSON)
		vpmc_report_json(&w, all, 0);
	else
		vpmc_report_text(&w, all);
	vpmc_regions_unlock();
	return vpmc_writer_close(&w, to);
}

EXPORT int vpmc_report(int fd, unsigned int format)
{
	struct outfile to = { .fd = -1 };

	if (format > VPMC_REPORT_JSON)
		return -EINVAL;
	to.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return to.fd < 0 ? -errno : write_report(&to, format);
}

/*
 * Returns @of with %p replaced by the process and %r by the rank. The
 * caller frees it.
 */
static char *file_name(const char *of)
{
	unsigned long long rank = 0;
	struct writer w;
	const char *at;
	char *name;

	if (vpmc_writer_open(&w))
		return NULL;
	rank_of(&rank);
	for (at = of; *at; at++)
		if (at[0] == '%' && at[1] == 'p')
			vpmc_put(&w, "%d", getpid()), at++;
		else if (at[0] == '%' && at[1] == 'r')
			vpmc_put(&w, "%llu", rank), at++;
		else
			vpmc_put(&w, "%c", *at);
	name = w.failed ? NULL : strdup(w.text);
	vpmc_writer_drop(&w);
	return name;
}

/* Other programs see the whole report, or what was there before. */
static int write_file(const char *name, unsigned int format)
{
	struct outfile file;
	int err = vpmc_outfile_open(&file, strcmp(name, "-") ? name : "/dev/stderr",
				    OUTFILE_REPLACE);

	return err ? err : write_report(&file, format);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && !strcmp(text + length - of_end, end);
}

/* The file that the environment names, or NULL. */
static const char *pattern(void)
{
	const char *name = secure_getenv("VPMC_REPORT");

	return name && *name ? name : NULL;
}

bool vpmc_report_is_asked(void)
{
	const char *events = secure_getenv("VPMC_EVENTS");

	return (events && *events) || pattern() || vpmc_report_stat_file();
}

bool vpmc_report_is_wanted(const struct vpmc_regions *regions)
{
	return regions->is_marked || pattern() || vpmc_report_stat_file();
}

static void write_named(const char *of)
{
	char *name = file_name(of), buffer[128];
	int err = -ENOMEM;

	if (name)
		err = write_file(name, ends_with(name, ".json") ?
				 VPMC_REPORT_JSON : VPMC_REPORT_TEXT);
	if (err)
		dprintf(STDERR_FILENO,
			"vpmc: VPMC_REPORT=%s: the report about regions cannot be written: %s; name another file\n",
			of, strerror_r(-err, buffer, sizeof(buffer)));
	free(name);
}

/* Prints only if a report fails, or if markers are counted and nobody has named a file. */
void vpmc_report_at_exit(void)
{
	struct vpmc_regions *regions;
	bool any = false, marked = false;
	char buffer[128];
	int err;

	for (regions = vpmc_regions_lock(); regions; regions = regions->next) {
		any = true;
		marked |= regions->is_marked;
	}
	vpmc_regions_unlock();
	if (!any)
		return;
	err = vpmc_report_to_stat();
	if (err)
		dprintf(STDERR_FILENO, "vpmc: the report about regions cannot be handed to vpmc stat: %s\n",
			strerror_r(-err, buffer, sizeof(buffer)));
	if (pattern())
		write_named(pattern());
	else if (marked && !vpmc_report_stat_file())
		write_named("-");
}
