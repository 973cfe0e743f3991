/* SPDX-License-Identifier: GPL-2.0 */
/*
 * -m and --rank: what the regions of COMMAND have counted, in all its threads and processes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef STAT_REGIONS_H
#define STAT_REGIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_object;
struct group;
struct rank;
struct result;

/* An event of a region, in the order in which libvpmc has reported it. */
struct region_value {
	char *event;
	uint64_t inclusive, exclusive;
};

/* A region: the sums of all threads that have one of this name. */
struct stat_region {
	char *name;
	uint64_t threads, calls, dirty, unfinished, replaced, refused;
	uint64_t inclusive_ns, exclusive_ns;
	struct region_value *value;
	unsigned int nr_values;
};

struct stat_regions {
	struct stat_region *region;	/* in the order in which they were passed first */
	unsigned int nr;
	uint64_t processes;		/* that have reported regions */
	uint64_t lost;			/* that had regions, and ended without a report */
	struct json_object *reports;	/* the reports of all processes as one, or NULL */
};

/*
 * Asks libvpmc in the next COMMAND for its regions. The environment of this process says so.
 * They count the events of @group, or what they did anyway if that is NULL.
 */
void regions_begin(struct group *group);

/*
 * A run begins, and its processes report apart from those of earlier ones. Only the reports of
 * the run before are kept. Does nothing before regions_begin().
 */
void regions_restart(void);

/* Reads what the processes of the last run have reported. */
void regions_read(struct stat_regions *regions);

/* Reads the same of the run before it, because the last one could not begin. */
void regions_read_earlier(struct stat_regions *regions);

/*
 * Writes what libvpmc has reported in all processes of a rank to @file, as
 * vpmc-region.schema.json describes it. Without a report there is no file.
 */
void regions_write(const struct stat_regions *regions, const struct rank *rank,
		   const char *file);

/* The three formats */
void regions_text(FILE *file, const struct result *result, const struct stat_regions *regions,
		  bool colour);
void regions_json(struct json_object *object, const struct result *result,
		  const struct stat_regions *regions);
/* Adds how many processes have reported regions, and how many have not. */
void regions_processes(struct json_object *object, const struct stat_regions *regions);
void regions_csv(FILE *file, const struct result *result, const struct stat_regions *regions,
		 char separator);

#endif /* STAT_REGIONS_H */
