// SPDX-License-Identifier: GPL-2.0
/*
 * Reads files with groups of metrics. vpmc-group.schema.json describes them. Anybody writes
 * them, so everything is checked.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/json-read.h"
#include "stat/metric-group.h"

#define FORMAT_VERSION	1
#define MOST_BYTES	65536
#define MOST_EVENTS	64

static const char *const own_name[NR_OWN_NAMES] = {
	[NAME_TIME] = "time", [NAME_ELAPSED] = "elapsed",
};

/* A file that is being read. @why is the first thing that is wrong, or NULL. */
struct reader {
	const char *path;
	char *why;
};

/* Keeps what is wrong. Returns false. */
__attribute__((__format__(__printf__, 2, 3)))
static bool wrong(struct reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!reader->why && vasprintf(&reader->why, format, args) < 0)
		reader->why = NULL;
	va_end(args);
	if (!reader->why)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	return false;
}

/* Checks that @object has the members of @names, which end with NULL, and no others. */
static bool has_only(struct reader *reader, struct json_object *object, const char *where,
		     const char *const *names)
{
	json_object_object_foreach(object, key, value) {
		const char *const *name = names;

		(void)value;
		while (*name && strcmp(*name, key))
			name++;
		if (!*name)
			return wrong(reader, "%s has a member \"%.40s\", which vpmc-group(5) does not know; leave it out",
				     where, key);
	}
	return true;
}

static struct json_object *get(struct reader *reader, struct json_object *object,
			       const char *where, const char *key, enum json_type type,
			       const char *what)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value) && json_object_is_type(value, type))
		return value;
	wrong(reader, "%s has no \"%s\" that is %s; add it, see vpmc-group(5)", where, key, what);
	return NULL;
}

/* Returns the text, or NULL if it is empty, or has what disturbs terminals. */
static char *text_of(struct reader *reader, struct json_object *value, const char *where,
		     const char *key)
{
	const char *text = json_object_get_string(value);
	int i, length = json_object_get_string_len(value);

	for (i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			break;
	if (length && i == length)
		return get_text("%s", text);
	wrong(reader, "%s has a \"%s\" that is empty or has control characters; write a plain text",
	      where, key);
	return NULL;
}

static char *get_string(struct reader *reader, struct json_object *object, const char *where,
			const char *key)
{
	struct json_object *value = get(reader, object, where, key, json_type_string, "a text");

	return value ? text_of(reader, value, where, key) : NULL;
}

/* Returns an array with at least one element, or NULL. */
static struct json_object *get_array(struct reader *reader, struct json_object *object,
				     const char *where, const char *key)
{
	struct json_object *array = get(reader, object, where, key, json_type_array, "an array");

	if (array && !json_object_array_length(array)) {
		wrong(reader, "%s has an empty array \"%s\"; write at least one element", where, key);
		return NULL;
	}
	return array;
}

static bool read_processors(struct reader *reader, struct json_object *object,
			    const char *where, struct alternative *alternative)
{
	struct json_object *array, *value;
	size_t i;

	if (!json_object_object_get_ex(object, "processors", NULL))
		return true;
	array = get_array(reader, object, where, "processors");
	if (!array)
		return false;
	alternative->nr_processors = json_object_array_length(array);
	alternative->processor = get_memory(NULL, alternative->nr_processors,
					    sizeof(*alternative->processor));
	for (i = 0; i < alternative->nr_processors; i++) {
		value = json_object_array_get_idx(array, i);
		if (!json_object_is_type(value, json_type_string))
			return wrong(reader, "%s has \"processors\" that are no texts; write names as vpmc info prints them",
				     where);
		alternative->processor[i] = text_of(reader, value, where, "processors");
		if (!alternative->processor[i])
			return false;
	}
	return true;
}

/* Returns true for what a formula takes as a name, and has no other meaning there. */
static bool is_name(const char *name)
{
	size_t i;

	if (isdigit((unsigned char)*name) || !strcmp(name, "min") || !strcmp(name, "max"))
		return false;
	for (i = 0; i < NR_OWN_NAMES; i++)
		if (!strcmp(name, own_name[i]))
			return false;
	for (i = 0; isalnum((unsigned char)name[i]) || name[i] == '_'; i++)
		;
	return i && !name[i];
}

static bool read_events(struct reader *reader, struct json_object *object, const char *where,
			struct alternative *alternative)
{
	struct json_object *events = get(reader, object, where, "events", json_type_object,
					 "an object");

	if (!events)
		return false;
	if (json_object_object_length(events) > MOST_EVENTS)
		return wrong(reader, "%s has more than %d events; make two groups of it", where,
			     MOST_EVENTS);
	json_object_object_foreach(events, key, value) {
		struct named_event event = { .name = get_text("%s", key) };

		if (!is_name(key))
			return wrong(reader, "%s has an event \"%.40s\", which is no name for formulas; use letters, digits and _, and none of min, max, time and elapsed",
				     where, key);
		if (!json_object_is_type(value, json_type_string))
			return wrong(reader, "%s has an event \"%s\" that is no text; write a name as for -e",
				     where, key);
		event.text = text_of(reader, value, where, key);
		if (!event.text)
			return false;
		alternative->event = get_memory(alternative->event, alternative->nr_events + 1,
						sizeof(event));
		alternative->event[alternative->nr_events++] = event;
	}
	return true;
}

/* Names of formulas: first those of events, then ours */
static int find_name(const void *names, const char *name, size_t length)
{
	const struct alternative *alternative = names;
	unsigned int i;

	for (i = 0; i < alternative->nr_events + NR_OWN_NAMES; i++) {
		const char *known = i < alternative->nr_events ? alternative->event[i].name :
				    own_name[i - alternative->nr_events];

		if (strlen(known) == length && !memcmp(known, name, length))
			return i;
	}
	return -1;
}

static bool read_metric(struct reader *reader, struct json_object *object, const char *where,
			struct alternative *alternative)
{
	static const char *const members[] = { "name", "unit", "formula", NULL };
	struct group_metric metric = {};
	char *formula, *why;
	unsigned int i;

	if (!json_object_is_type(object, json_type_object))
		return wrong(reader, "%s has \"metrics\" that are no objects; write {\"name\": ..., \"unit\": ..., \"formula\": ...}",
			     where);
	if (!has_only(reader, object, "a metric", members))
		return false;
	metric.name = get_string(reader, object, "a metric", "name");
	metric.unit = metric.name ? get_string(reader, object, metric.name, "unit") : NULL;
	formula = metric.unit ? get_string(reader, object, metric.name, "formula") : NULL;
	if (!formula)
		return false;
	for (i = 0; i < alternative->nr_metrics; i++)
		if (!strcmp(alternative->metric[i].name, metric.name))
			return wrong(reader, "two metrics are called \"%.40s\"; give them different names",
				     metric.name);
	metric.formula = formula_parse(formula, find_name, alternative, &why);
	if (!metric.formula)
		return wrong(reader, "the formula of \"%.40s\": %s", metric.name, why);
	alternative->metric = get_memory(alternative->metric, alternative->nr_metrics + 1,
					 sizeof(metric));
	alternative->metric[alternative->nr_metrics++] = metric;
	free(formula);
	return true;
}

static bool is_used(const struct alternative *alternative, int name)
{
	unsigned int i;

	for (i = 0; i < alternative->nr_metrics; i++)
		if (formula_uses(alternative->metric[i].formula, name))
			return true;
	return false;
}

static bool read_alternative(struct reader *reader, struct json_object *object,
			     struct alternative *alternative)
{
	static const char *const members[] = { "processors", "events", "metrics", NULL };
	static const char where[] = "an alternative";
	struct json_object *metrics;
	unsigned int i;

	if (!json_object_is_type(object, json_type_object))
		return wrong(reader, "an alternative is no object; write {\"events\": ..., \"metrics\": ...}");
	if (!has_only(reader, object, where, members) ||
	    !read_processors(reader, object, where, alternative) ||
	    !read_events(reader, object, where, alternative))
		return false;
	metrics = get_array(reader, object, where, "metrics");
	if (!metrics)
		return false;
	for (i = 0; i < json_object_array_length(metrics); i++)
		if (!read_metric(reader, json_object_array_get_idx(metrics, i), where, alternative))
			return false;
	for (i = 0; i < alternative->nr_events; i++)
		if (!is_used(alternative, i))
			return wrong(reader, "no formula uses the event \"%s\"; leave it out",
				     alternative->event[i].name);
	return true;
}

/* Sets all of @group but @here. */
static bool read_group(struct reader *reader, struct json_object *object, const char *name,
		       struct metric_group *group)
{
	static const char *const members[] = { "$schema", "$comment", "version", "name", "description",
					       "alternatives", NULL };
	static const char where[] = "the file";
	struct json_object *version, *array;
	unsigned int i;

	if (!json_object_is_type(object, json_type_object))
		return wrong(reader, "is no JSON object; see vpmc-group(5)");
	version = get(reader, object, where, "version", json_type_int, "a number");
	if (!version)
		return false;
	if (json_object_get_int64(version) != FORMAT_VERSION)
		return wrong(reader, "has version %lld of the format, and this vpmc knows version %d; use a newer vpmc, or write that version",
			     (long long)json_object_get_int64(version), FORMAT_VERSION);
	if (!has_only(reader, object, where, members))
		return false;
	group->name = get_string(reader, object, where, "name");
	group->description = group->name ? get_string(reader, object, where, "description") : NULL;
	array = group->description ? get_array(reader, object, where, "alternatives") : NULL;
	if (!array)
		return false;
	if (strcmp(group->name, name))
		return wrong(reader, "has the name \"%.40s\", and the file another one; rename one of them",
			     group->name);
	for (i = 0; i < json_object_array_length(array); i++) {
		group->alternative = get_memory(group->alternative, i + 1,
						sizeof(*group->alternative));
		group->alternative[i] = (struct alternative){};
		group->nr_alternatives = i + 1;
		if (!read_alternative(reader, json_object_array_get_idx(array, i),
				      &group->alternative[i]))
			return false;
	}
	return true;
}

/* Opens nothing that could block, as a FIFO, or that has no end. */
static bool is_readable(struct reader *reader)
{
	struct stat stat_;

	if (stat(reader->path, &stat_))
		return wrong(reader, "%s; vpmc list --groups names those that there are",
			     strerror(errno));
	if (!S_ISREG(stat_.st_mode))
		return wrong(reader, "is no file, but a directory or a device; name a file");
	if (stat_.st_size > MOST_BYTES)
		return wrong(reader, "is too large: a file of a group has at most %d bytes; name another one",
			     MOST_BYTES);
	if (access(reader->path, R_OK))
		return wrong(reader, "cannot be read: %s; ask its owner, or name another one",
			     strerror(errno));
	return true;
}

struct metric_group *metric_group_read(const char *path, const char *name, char **why)
{
	struct reader reader = { .path = path };
	struct metric_group *group = get_memory(NULL, 1, sizeof(*group));
	struct json_object *object = NULL;
	char *twice;
	bool more;

	*group = (struct metric_group){};
	if (is_readable(&reader)) {
		object = json_read(path, &more);
		twice = object ? json_equal_names(path) : NULL;
		if (twice)
			wrong(&reader, "an object has two members \"%.40s\"; give them different names, or leave one out",
			      twice);
		else if (!object && more)
			wrong(&reader, "has something behind the object of the group; leave that out");
		else if (!object)
			wrong(&reader, "is not JSON, or is cut off; write it as vpmc-group(5) says");
		free(twice);
	}
	if (!reader.why && read_group(&reader, object, name, group)) {
		json_object_put(object);
		return group;
	}
	/* What was read is left to the end of the process. */
	json_object_put(object);
	*why = reader.why;
	return NULL;
}
