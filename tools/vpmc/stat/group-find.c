// SPDX-License-Identifier: GPL-2.0
/*
 * Finds groups of metrics, and chooses what they have for this processor.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/portable.h"
#include "stat/metric-group.h"

#ifndef GROUP_DIRECTORY
#define GROUP_DIRECTORY	"/usr/share/vpmc/groups"
#endif
#define ENDING	".json"

/* Returns the directory of our own files: relative to the command, or the default one. */
static char *own_directory(void)
{
	char self[PATH_MAX], *directory;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = 0;
		directory = get_text("%.*s/../share/vpmc/groups", (int)(strrchr(self, '/') - self),
				     self);
		if (!access(directory, R_OK | X_OK))
			return directory;
		free(directory);
	}
	return get_text("%s", GROUP_DIRECTORY);
}

/* Returns the next directory in which groups are searched, or NULL. @at is NULL at first. */
static char *next_directory(const char **at)
{
	const char *list = getenv("VPMC_GROUPS");
	char *directory;
	size_t length;

	if (!*at)
		*at = list ?: "";
	*at += strspn(*at, ":");
	length = strcspn(*at, ":");
	directory = get_text("%.*s", (int)length, *at);
	*at += length;
	return directory;
}

/* Returns the directories, the first one first, and NULL. */
static char **directories(void)
{
	char **list = NULL, *directory;
	const char *at = NULL;
	unsigned int nr = 0;

	do {
		directory = next_directory(&at);
		list = get_memory(list, nr + 2, sizeof(*list));
		list[nr++] = *directory ? directory : own_directory();
	} while (*directory);
	list[nr] = NULL;
	return list;
}

static bool is_this_processor(const char *name)
{
	static const char *const kinds[] = {
		[VPMC_KIND_INTEL] = "intel", [VPMC_KIND_AMD] = "amd",
		[VPMC_KIND_P6] = "p6", [VPMC_KIND_P4] = "p4",
	};
	const char *table = vpmc_table(NULL);
	enum vpmc_kind kind = events_kind();

	if (table && !strcmp(table, name))
		return true;
	return kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind] &&
	       !strcmp(kinds[kind], name);
}

static bool is_for_this_processor(const struct alternative *alternative)
{
	unsigned int i;

	for (i = 0; i < alternative->nr_processors; i++)
		if (is_this_processor(alternative->processor[i]))
			return true;
	return !alternative->nr_processors;
}

/* Each event is parsed by itself: in a list, two names of one event are an error. */
static bool parse_event(struct named_event *named, char **why)
{
	struct vpmc_error error;
	struct vpmc_event *event;
	unsigned int nr;

	if (vpmc_parse_events(named->text, &event, &nr, &error)) {
		*why = get_text("%s", error.text);
		return false;
	}
	named->event = event[0];
	if (nr == 1)
		return true;
	*why = get_text("the event \"%s\" is a list of %u; write one event", named->name, nr);
	return false;
}

bool metric_group_choose(struct metric_group *group, char **why)
{
	struct alternative *alternative;
	const char *table = vpmc_table(NULL);
	unsigned int i;

	for (i = 0; i < group->nr_alternatives; i++)
		if (is_for_this_processor(&group->alternative[i]))
			break;
	if (i == group->nr_alternatives) {
		*why = get_text("has no events for this processor%s%s; write an alternative for it, see vpmc-group(5)",
				table ? ", " : "", table ?: "");
		return false;
	}
	alternative = &group->alternative[i];
	for (i = 0; i < alternative->nr_events; i++)
		if (!parse_event(&alternative->event[i], why))
			return false;
	group->here = alternative;
	return true;
}

/* Returns the path of the first file of that name. */
static char *find_file(const char *name)
{
	char **directory, *path;

	for (directory = directories(); *directory; directory++) {
		path = get_text("%s/%s" ENDING, *directory, name);
		if (!access(path, F_OK))
			return path;
		free(path);
	}
	fail(STATUS_OURS, "-M %s: there is no such group; vpmc list --groups names them, or write a path with a slash",
	     name);
}

/* Returns the name of the group in that file: the file's, without the directory and the ending. */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strlen(base), ending = strlen(ENDING);

	if (length > ending && !strcmp(base + length - ending, ENDING))
		length -= ending;
	return get_text("%.*s", (int)length, base);
}

struct metric_group *metric_group_find(const char *name)
{
	char *path = strchr(name, '/') ? get_text("%s", name) : find_file(name), *why;
	struct metric_group *group = metric_group_read(path, name_of(path), &why);

	if (!group || !metric_group_choose(group, &why))
		fail(STATUS_OURS, "%s: %s", path, why);
	free(path);
	return group;
}

static int is_group(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name), ending = strlen(ENDING);

	return length > ending && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + length - ending, ENDING);
}

/* Paths of groups, one of each name */
struct paths {
	char **path;
	unsigned int nr;
};

static void add_path(struct paths *paths, char *path)
{
	char *name = name_of(path);
	unsigned int i;

	for (i = 0; i < paths->nr; i++)
		if (!strcmp(name_of(paths->path[i]), name))
			return;
	paths->path = get_memory(paths->path, paths->nr + 1, sizeof(*paths->path));
	paths->path[paths->nr++] = path;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(name_of(*(char *const *)one), name_of(*(char *const *)other));
}

void metric_groups_list(void (*tell)(void *arg, const char *name, const char *description,
				     const char *why), void *arg)
{
	struct paths paths = {};
	char **directory;
	unsigned int i;
	int n;

	for (directory = directories(); *directory; directory++) {
		struct dirent **entry;

		n = scandir(*directory, &entry, is_group, alphasort);
		while (n-- > 0)
			add_path(&paths, get_text("%s/%s", *directory, entry[n]->d_name));
	}
	if (paths.nr)
		qsort(paths.path, paths.nr, sizeof(*paths.path), compare_names);
	for (i = 0; i < paths.nr; i++) {
		char *why = NULL;
		struct metric_group *group = metric_group_read(paths.path[i], name_of(paths.path[i]),
							       &why);

		if (group)
			metric_group_choose(group, &why);
		tell(arg, name_of(paths.path[i]), group ? group->description : "", why);
	}
}
