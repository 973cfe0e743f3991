// SPDX-License-Identifier: GPL-2.0
/*
 * Merges the results of several ranks. The files come from vpmc stat --rank and
 * from the library's region reports.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/json-read.h"
#include "common/rank.h"
#include "stat/merge.h"

#define FORMAT_VERSION	1	/* version of the files that are read */

/* file of one rank */
struct part {
	char *name;
	bool regions;
	uint32_t rank;
	struct json_object *object;
};

struct parts {
	struct part *part;
	unsigned int nr;
};

static bool is_name(const char *name, const char *begin, uint32_t *number)
{
	char end[8];
	int length = 0;

	if (strncmp(name, begin, strlen(begin)))
		return false;
	name += strlen(begin);
	return sscanf(name, "%9u%n", number, &length) == 1 && length &&
	       sscanf(name + length, "%7s", end) == 1 && !strcmp(end, ".json");
}

static struct json_object *get(const struct part *part, struct json_object *object,
			       const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, type))
		fail(STATUS_OURS, "%s: has no \"%s\" as vpmc writes it; remove the file",
		     part->name, key);
	return value;
}

static uint64_t get_number(const struct part *part, struct json_object *object,
			   const char *key)
{
	return json_object_get_uint64(get(part, object, key, json_type_int));
}

static uint32_t get_rank(const struct part *part, const char *key, uint32_t most)
{
	uint64_t number = get_number(part, part->object, key);

	if (number > most)
		fail(STATUS_OURS, "%s: has no \"%s\" as vpmc writes it; remove the file",
		     part->name, key);
	return number;
}

/* Returns a number, or 0 if there is none: an earlier vpmc did not know it. */
static uint64_t number_if_any(const struct part *part, const char *key)
{
	return json_object_object_get_ex(part->object, key, NULL) ?
	       get_number(part, part->object, key) : 0;
}

static bool is_true(const struct part *part, const char *key)
{
	return json_object_object_get_ex(part->object, key, NULL) &&
	       json_object_get_boolean(get(part, part->object, key, json_type_boolean));
}

static const char *get_text_of(const struct part *part, struct json_object *object,
			       const char *key)
{
	return json_object_get_string(get(part, object, key, json_type_string));
}

static void read_part(struct parts *parts, const char *directory, const char *name)
{
	struct part part = {};
	uint32_t number;
	bool more;

	part.regions = is_name(name, "regions-", &number);
	if (!part.regions && !is_name(name, "rank-", &number))
		return;
	part.name = get_text("%s/%s", directory, name);
	part.object = json_read(part.name, &more);
	if (!json_object_is_type(part.object, json_type_object))
		fail(STATUS_OURS, "%s: cannot be read: %s; remove the file, and run that rank again",
		     part.name, part.object ? "it is not an object" :
		     more ? "it has more than one object, or something else behind it" :
			    "it is cut off, or not JSON");
	number = get_number(&part, part.object, "version");
	if (number != FORMAT_VERSION)
		fail(STATUS_OURS, "%s: has the version %u, and this vpmc reads version %u; use the vpmc that wrote it",
		     part.name, number, FORMAT_VERSION);
	part.rank = get_rank(&part, "rank", MOST_RANKS);
	parts->part = get_memory(parts->part, parts->nr + 1, sizeof(part));
	parts->part[parts->nr++] = part;
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->regions != y->regions)
		return x->regions ? 1 : -1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void read_parts(struct parts *parts, const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	if (!dir)
		fail(STATUS_OURS, "%s: cannot be read: %s; name the directory that vpmc stat --rank has written",
		     directory, strerror(errno));
	while ((entry = readdir(dir)))
		read_part(parts, directory, entry->d_name);
	closedir(dir);
	if (!parts->nr)
		fail(STATUS_OURS, "%s: has no rank-N.json; name the directory that vpmc stat --rank has written",
		     directory);
	qsort(parts->part, parts->nr, sizeof(*parts->part), compare_parts);
}

/* Returns a member as text, or "" if there is none. */
static const char *text_of(const struct part *part, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(part->object, key, &value) ?
	       json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE) : "";
}

/* Returns the names of the events, which must be equal in all ranks. */
static char *events_of(const struct part *part)
{
	struct json_object *events = get(part, part->object, "events", json_type_array);
	char *list = get_text("%s", ""), *longer;
	size_t i;

	for (i = 0; i < json_object_array_length(events); i++) {
		longer = get_text("%s %s", list,
				  get_text_of(part, json_object_array_get_idx(events, i),
					      "event"));
		free(list);
		list = longer;
	}
	return list;
}

/* Fails if the files are not of one run. */
static void check_parts(const struct parts *parts)
{
	static const char *const common[] = { "job", "ranks" };
	const struct part *first = &parts->part[0];
	unsigned int i;
	size_t key;

	for (i = 1; i < parts->nr; i++) {
		const struct part *part = &parts->part[i];

		if (part->rank == part[-1].rank && part->regions == part[-1].regions)
			fail(STATUS_OURS, "%s: is of rank %u, as %s; remove the one that does not belong to the run",
			     part->name, part->rank, part[-1].name);
		/* A report of regions has no job. */
		for (key = part->regions; key < 2; key++)
			if (strcmp(text_of(first, common[key]), text_of(part, common[key])))
				fail(STATUS_OURS, "%s: is of another run than %s; name another directory by -o for each run",
				     part->name, first->name);
		if (!part->regions && strcmp(events_of(first), events_of(part)))
			fail(STATUS_OURS, "%s: counts other events than %s; name another directory by -o for each run",
			     part->name, first->name);
	}
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct spread *find_spread(struct merge *merge, const char *region,
				  const char *name, enum unit unit)
{
	struct spread *spread;
	unsigned int i;

	for (i = 0; i < merge->nr; i++)
		if (same(merge->spread[i].region, region) &&
		    !strcmp(merge->spread[i].name, name))
			return &merge->spread[i];
	merge->spread = get_memory(merge->spread, merge->nr + 1, sizeof(*spread));
	spread = &merge->spread[merge->nr++];
	*spread = (struct spread){
		.region = region ? get_text("%s", region) : NULL,
		.name = get_text("%s", name), .unit = unit,
	};
	return spread;
}

/* Adds the sum of a rank's threads to the numbers of all ranks. */
static void end_rank(struct spread *spread)
{
	uint64_t value = spread->last;

	if (spread->ranks == 1 || value < spread->min) {
		spread->min = value;
		spread->min_rank = spread->last_rank;
	}
	if (spread->ranks == 1 || value > spread->max) {
		spread->max = value;
		spread->max_rank = spread->last_rank;
	}
	spread->sum += value;
}

static void add(struct merge *merge, const struct part *part, const char *region,
		const char *name, enum unit unit, uint64_t value)
{
	struct spread *spread = find_spread(merge, region, name, unit);

	if (spread->ranks && spread->last_rank == part->rank) {
		spread->last += value;
		return;
	}
	if (spread->ranks)
		end_rank(spread);
	spread->ranks++;
	spread->last_rank = part->rank;
	spread->last = value;
}

static void add_stat(struct merge *merge, const struct part *part)
{
	static const struct {
		const char *key, *name;
		enum unit unit;
		bool always;	/* files of all versions have it */
	} fact[] = {
		{ "run_time_ns", "run-time", UNIT_NS, true },
		{ "switches", "switches", UNIT_EVENTS, true },
		{ "migrations", "migrations", UNIT_EVENTS, true },
		{ "elapsed_ns", "elapsed", UNIT_NS, true },
		{ "threads", "threads", UNIT_EVENTS, true },
		{ "user_time_ns", "user-time", UNIT_NS, false },
		{ "system_time_ns", "system-time", UNIT_NS, false },
		{ "minor_faults", "minor-faults", UNIT_EVENTS, false },
		{ "major_faults", "major-faults", UNIT_EVENTS, false },
		{ "max_rss_bytes", "max-rss", UNIT_BYTES, false },
	};
	struct json_object *events = get(part, part->object, "events", json_type_array);
	size_t i;

	for (i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);

		if (json_object_object_get_ex(event, "value", NULL))
			add(merge, part, NULL, get_text_of(part, event, "event"), UNIT_EVENTS,
			    get_number(part, event, "value"));
	}
	for (i = 0; i < sizeof(fact) / sizeof(fact[0]); i++)
		if (fact[i].always || json_object_object_get_ex(part->object, fact[i].key, NULL))
			add(merge, part, NULL, fact[i].name, fact[i].unit,
			    get_number(part, part->object, fact[i].key));
}

/* Adds clean and dirty samples, because both kinds of work were done. */
static void add_region(struct merge *merge, const struct part *part,
		       struct json_object *region)
{
	struct json_object *values = get(part, region, "values", json_type_array);
	const char *name = get_text_of(part, region, "name");
	struct json_object *time;
	size_t i;

	add(merge, part, name, "calls", UNIT_EVENTS, get_number(part, region, "calls"));
	for (i = 0; i < json_object_array_length(values); i++) {
		struct json_object *value = json_object_array_get_idx(values, i);

		add(merge, part, name, get_text_of(part, value, "event"), UNIT_EVENTS,
		    get_number(part, get(part, value, "inclusive", json_type_object),
			       "sum") + get_number(part, value, "dirty_inclusive"));
	}
	if (json_object_object_get_ex(region, "run_time_ns", &time))
		add(merge, part, name, "run-time", UNIT_NS,
		    get_number(part, time, "inclusive"));
}

static void add_regions(struct merge *merge, const struct part *part)
{
	struct json_object *threads = get(part, part->object, "threads", json_type_array);
	size_t t, r;

	for (t = 0; t < json_object_array_length(threads); t++) {
		struct json_object *regions =
			get(part, json_object_array_get_idx(threads, t), "regions",
			    json_type_array);

		for (r = 0; r < json_object_array_length(regions); r++)
			add_region(merge, part, json_object_array_get_idx(regions, r));
	}
}

static void add_remarks(struct merge *merge, const struct part *part)
{
	struct remarked new = {
		.rank = part->rank, .runs = number_if_any(part, "runs"),
		.early_runs = number_if_any(part, "early_runs"),
		.wanted = number_if_any(part, "runs_wanted"),
		.signal = number_if_any(part, "interrupted_by"),
		.timed_out = number_if_any(part, "timed_out"),
		.regions_lost = number_if_any(part, "region_processes_lost"),
		.not_started = is_true(part, "not_started"),
		.early = is_true(part, "early"), .revoked = is_true(part, "revoked"),
		.detached = is_true(part, "detached"),
		.input_was_read = is_true(part, "input_was_read"),
	};

	if (!new.wanted && !new.early_runs && !new.timed_out && !new.regions_lost && !new.not_started &&
	    !new.early && !new.revoked && !new.detached && !new.input_was_read)
		return;
	merge->remarked = get_memory(merge->remarked, merge->nr_remarked + 1, sizeof(new));
	merge->remarked[merge->nr_remarked++] = new;
}

/* Notes how the rank's program ended, and which of its threads were not counted to the end. */
static void add_end(struct merge *merge, const struct part *part)
{
	struct ended ended = {
		.rank = part->rank, .signal = number_if_any(part, "signal"),
		.status = number_if_any(part, "exit_status"),
	};
	unsigned int way;

	merge->living += number_if_any(part, "living");
	merge->replaced += number_if_any(part, "replaced");
	for (way = 0; way < DEPARTURES; way++)
		merge->left.number[way] += number_if_any(part, departure_member(way));
	/* As for vpmc stat, it is no failure that --timeout has ended it. */
	if (ended.signal == SIGTERM && number_if_any(part, "timed_out"))
		return;
	if (!ended.signal && !ended.status)
		return;
	merge->ended = get_memory(merge->ended, merge->nr_ended + 1, sizeof(ended));
	merge->ended[merge->nr_ended++] = ended;
}

static void find_missing(struct merge *merge, const struct part *first)
{
	uint32_t all = merge->rank[merge->nr_ranks - 1] + 1, n, i = 0;

	if (json_object_object_get_ex(first->object, "ranks", NULL))
		all = get_rank(first, "ranks", MOST_RANKS + 1);
	for (n = 0; n < all; n++) {
		if (i < merge->nr_ranks && merge->rank[i] == n) {
			i++;
			continue;
		}
		merge->missing = get_memory(merge->missing, merge->nr_missing + 1,
					    sizeof(*merge->missing));
		merge->missing[merge->nr_missing++] = n;
	}
}

void merge_read(struct merge *merge, const char *directory)
{
	struct parts parts = {};
	unsigned int i;

	*merge = (struct merge){ .directory = directory };
	read_parts(&parts, directory);
	check_parts(&parts);
	for (i = 0; i < parts.nr; i++) {
		const struct part *part = &parts.part[i];

		if (part->regions) {
			add_regions(merge, part);
		} else {
			add_stat(merge, part);
			add_end(merge, part);
			add_remarks(merge, part);
		}
		/*
		 * stat's files come first. Ranks are taken from regions' files
		 * only if there are no others.
		 */
		if (part->regions && !parts.part[0].regions)
			continue;
		merge->rank = get_memory(merge->rank, merge->nr_ranks + 1,
					 sizeof(*merge->rank));
		merge->rank[merge->nr_ranks++] = part->rank;
	}
	for (i = 0; i < merge->nr; i++)
		end_rank(&merge->spread[i]);
	find_missing(merge, &parts.part[0]);
	merge->command = get_text("%s", text_of(&parts.part[0], "command"));
	for (i = 0; i < parts.nr; i++) {
		json_object_put(parts.part[i].object);
		free(parts.part[i].name);
	}
	free(parts.part);
}

double spread_mean(const struct spread *spread)
{
	return (double)((long double)spread->sum / spread->ranks);
}

double spread_imbalance(const struct spread *spread)
{
	return spread->sum ? (double)((long double)spread->max * spread->ranks /
				      (long double)spread->sum) : 1;
}
