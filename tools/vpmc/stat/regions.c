// SPDX-License-Identifier: GPL-2.0
/*
 * -m and --rank: collects the reports about regions that libvpmc writes in COMMAND's processes.
 *
 * They append lines to a file of this process, which needs no name in a directory and is gone with
 * it. libvpmc opens it by its path in /proc, so that a program may close all its descriptors. A
 * process writes a line when it opens its first regions, and its report at exit, maybe several
 * times: the last one counts.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/json-write.h"
#include "common/options.h"
#include "common/output.h"
#include "common/rank.h"
#include "stat/plan.h"
#include "stat/regions.h"

#define FILE_VARIABLE	"VPMC_STAT_REGIONS"
#define EVENTS_VARIABLE	"VPMC_EVENTS"

static int reports = -1;	/* the file for the next run, or of the last one that has begun */
static int earlier = -1;	/* the file of the run before */

static void set_variable(const char *name, const char *value)
{
	if (value ? setenv(name, value, 1) : unsetenv(name))
		fail(STATUS_OURS, "regions: %s cannot be set: %s; end other programs", name,
		     strerror(errno));
}

/*
 * Makes a file for the reports of the next COMMAND. Processes of an earlier run that live on
 * write to that run's name, so this one gets a higher number, while there are some.
 */
static void new_file(void)
{
	int fd = memfd_create("vpmc-regions", MFD_CLOEXEC), higher;
	char *name;

	if (fd < 0)
		fail(STATUS_OURS, "regions: there is no file for them: %s; end other programs",
		     strerror(errno));
	higher = fcntl(fd, F_DUPFD_CLOEXEC, reports + 1);
	if (higher >= 0)
		close(fd);
	reports = higher >= 0 ? higher : fd;
	name = get_text("/proc/%d/fd/%d", getpid(), reports);
	set_variable(FILE_VARIABLE, name);
	free(name);
}

void regions_begin(struct group *group)
{
	char *list = NULL;
	unsigned int i;

	new_file();
	if (!group)
		return;
	/*
	 * COMMAND's set lacks the events that are left out. Its regions would ask the kernel to
	 * add them, which it refuses if no counter is left.
	 */
	plan_ask(group);
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			list = options_list(list, get_text("%s%s", group->events[i].name,
							   group->events[i].flags & VPMC_EVENT_OPTIONAL ? "?" : ""));
	set_variable(EVENTS_VARIABLE, list);
}

void regions_restart(void)
{
	if (reports < 0)
		return;
	if (earlier >= 0)
		close(earlier);
	earlier = reports;
	new_file();
}

/* A process, and its last report */
struct process {
	uint64_t pid, begun;
	struct json_object *report;
};

struct processes {
	struct process *process;
	unsigned int nr;
};

static uint64_t number_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ?
	       json_object_get_uint64(value) : 0;
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) &&
	       json_object_is_type(value, json_type_string) ?
	       json_object_get_string(value) : "?";
}

/* Returns an element of a member that is an array, or NULL. */
static struct json_object *element_of(struct json_object *object, const char *key, size_t i)
{
	struct json_object *array;

	if (!json_object_object_get_ex(object, key, &array) ||
	    !json_object_is_type(array, json_type_array) ||
	    i >= json_object_array_length(array))
		return NULL;
	return json_object_array_get_idx(array, i);
}

/* Takes a line. One that was cut off is not JSON, and its process has no report. */
static void take_line(struct processes *all, const char *line)
{
	struct json_object *object = json_tokener_parse(line);
	struct process process = {
		.pid = number_of(object, "pid"), .begun = number_of(object, "begun"),
	};
	unsigned int i;

	if (!object)
		return;
	for (i = 0; i < all->nr; i++)
		if (all->process[i].pid == process.pid && all->process[i].begun == process.begun)
			break;
	if (i == all->nr) {
		all->process = get_memory(all->process, all->nr + 1, sizeof(process));
		all->process[all->nr++] = process;
	}
	if (!element_of(object, "threads", 0)) {
		json_object_put(object);
		return;
	}
	json_object_put(all->process[i].report);
	all->process[i].report = object;
}

static struct stat_region *find_region(struct stat_regions *regions, const char *name)
{
	unsigned int i;

	for (i = 0; i < regions->nr; i++)
		if (!strcmp(regions->region[i].name, name))
			return &regions->region[i];
	regions->region = get_memory(regions->region, regions->nr + 1, sizeof(*regions->region));
	regions->region[regions->nr] = (struct stat_region){ .name = get_text("%s", name) };
	return &regions->region[regions->nr++];
}

static struct region_value *find_value(struct stat_region *region, const char *event)
{
	unsigned int i;

	for (i = 0; i < region->nr_values; i++)
		if (!strcmp(region->value[i].event, event))
			return &region->value[i];
	region->value = get_memory(region->value, region->nr_values + 1, sizeof(*region->value));
	region->value[region->nr_values] = (struct region_value){ .event = get_text("%s", event) };
	return &region->value[region->nr_values++];
}

/* Returns the sum of all samples, clean and dirty. */
static uint64_t sum_of(struct json_object *value, const char *which, const char *dirty)
{
	struct json_object *stats;

	return (json_object_object_get_ex(value, which, &stats) ? number_of(stats, "sum") : 0) +
	       number_of(value, dirty);
}

static void add_region(struct stat_regions *regions, struct json_object *object, uint64_t threads)
{
	struct stat_region *region = find_region(regions, text_of(object, "name"));
	struct json_object *value;
	size_t i;

	region->threads += threads;
	region->calls += number_of(object, "calls");
	region->dirty += number_of(object, "dirty");
	region->unfinished += number_of(object, "unfinished");
	region->replaced += number_of(object, "replaced");
	region->refused += number_of(object, "refused");
	if (json_object_object_get_ex(object, "run_time_ns", &value)) {
		region->inclusive_ns += number_of(value, "inclusive");
		region->exclusive_ns += number_of(value, "exclusive");
	}
	for (i = 0; (value = element_of(object, "values", i)); i++) {
		struct region_value *sum = find_value(region, text_of(value, "event"));

		sum->inclusive += sum_of(value, "inclusive", "dirty_inclusive");
		sum->exclusive += sum_of(value, "exclusive", "dirty_exclusive");
	}
}

static void add_report(struct stat_regions *regions, struct json_object *report)
{
	struct json_object *thread, *region;
	size_t t, r;

	for (t = 0; (thread = element_of(report, "threads", t)); t++)
		for (r = 0; (region = element_of(thread, "regions", r)); r++)
			add_region(regions, region, 1 + number_of(thread, "merged"));
}

/*
 * Joins the report of a process with those of others: the threads of all are in the first
 * one. Threads of several processes need the number of theirs.
 */
static void join(struct stat_regions *regions, struct json_object *report)
{
	struct json_object *threads = json_object_object_get(report, "threads"), *thread;
	uint64_t pid = number_of(report, "pid");
	size_t t;

	for (t = 0; (thread = element_of(report, "threads", t)); t++) {
		if (json_object_is_type(thread, json_type_object))
			member_number(thread, "pid", pid);
		if (regions->reports)
			json_object_array_add(json_object_object_get(regions->reports, "threads"),
					      json_object_get(thread));
	}
	if (!regions->reports && threads)
		regions->reports = json_object_get(report);
}

void regions_write(const struct stat_regions *regions, const struct rank *rank,
		   const char *name)
{
	struct json_object *object = regions->reports;
	FILE *file;

	if (!object)
		return;
	/* This is of one process. */
	json_object_object_del(object, "begun");
	member_number(object, "processes", regions->processes);
	/* The program may have lost the launcher's variables, or see other ones. */
	member_number(object, "rank", rank->number);
	json_object_object_del(object, "ranks");
	if (rank->ranks)
		member_number(object, "ranks", rank->ranks);
	file = output_open(name, OUTFILE_REPLACE);
	print_object(file, json_object_get(object));
	putc('\n', file);
	output_close(file);
}

static void read_file(struct stat_regions *regions, int fd)
{
	struct processes all = {};
	char *line = NULL;
	size_t room = 0;
	unsigned int i;
	FILE *file;

	*regions = (struct stat_regions){};
	if (lseek(fd, 0, SEEK_SET) < 0 || !(file = fdopen(fd, "r")))
		fail(STATUS_OURS, "regions: they cannot be read: %s; end other programs",
		     strerror(errno));
	while (getline(&line, &room, file) > 0)
		take_line(&all, line);
	free(line);
	fclose(file);
	for (i = 0; i < all.nr; i++) {
		if (!all.process[i].report) {
			regions->lost++;
			continue;
		}
		regions->processes++;
		add_report(regions, all.process[i].report);
		join(regions, all.process[i].report);
		json_object_put(all.process[i].report);
	}
	free(all.process);
}

void regions_read(struct stat_regions *regions)
{
	read_file(regions, reports);
}

void regions_read_earlier(struct stat_regions *regions)
{
	if (earlier >= 0)
		read_file(regions, earlier);
}
