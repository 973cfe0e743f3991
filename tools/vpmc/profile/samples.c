// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a file of vpmc record, and finds the names of its addresses.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "profile/identity.h"
#include "profile/samples.h"
#include "profile/symbols.h"

/* records of a file, sorted by time */
struct records {
	struct samples *samples;
	const struct vpmc_sample **sample;
	size_t nr_samples, room_samples;
	const struct vpmc_sample_map **map;
	size_t nr_maps, room_maps;
	const struct vpmc_sample_map **gap;	/* those with samples before that are unsure */
	size_t nr_gaps, room_gaps;
	void *places, *functions, *lines;	/* trees of struct place and struct key */
	unsigned int nameless, changed;
};

/* place in a file, with its function and line */
struct place {
	const char *path;
	struct identity identity;
	unsigned int pid;	/* a process that has mapped it */
	uint64_t offset;
	unsigned int function, line;
};

#define NO_LINE		(~0U)
#define MOST_TEXT	(1U << 24)	/* of the head */

/* key of a function or line */
struct key {
	const char *first, *second;
	int line;
	unsigned int number;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	order = order ? order : memcmp(&x->identity, &y->identity, sizeof(x->identity));
	return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = strcmp(x->first, y->first);

	order = order ? order : strcmp(x->second, y->second);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int compare_samples(const void *a, const void *b)
{
	const struct vpmc_sample *x = *(const struct vpmc_sample *const *)a;
	const struct vpmc_sample *y = *(const struct vpmc_sample *const *)b;

	if (x->head.ns != y->head.ns)
		return x->head.ns < y->head.ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Returns the order of process, thread and program. */
static int compare_threads(const struct vpmc_sample_head *x,
			   const struct vpmc_sample_head *y)
{
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->execs < y->execs ? -1 : x->execs > y->execs;
}

/* Sorts by process, thread and program, and then by time. */
static int compare_maps(const void *a, const void *b)
{
	const struct vpmc_sample_map *x = *(const struct vpmc_sample_map *const *)a;
	const struct vpmc_sample_map *y = *(const struct vpmc_sample_map *const *)b;

	int order = compare_threads(&x->head, &y->head);

	return order ? order : x->since < y->since ? -1 : x->since > y->since;
}

static void *search(const void *key, void **root,
		    int (*compare)(const void *, const void *))
{
	void *found = tsearch(key, root, compare);

	if (!found)
		fail(STATUS_OURS, "memory: there is none; end other programs");
	return *(void **)found;
}

/*
 * Searches a name in a tree. Adds it with @number if it is new. Returns true if
 * it was new.
 */
static bool search_key(void **root, const char *first, const char *second, int line,
		       unsigned int *number)
{
	struct key *new = get_memory(NULL, 1, sizeof(*new)), *key;

	*new = (struct key){ first, second, line, *number };
	key = search(new, root, compare_keys);
	*number = key->number;
	if (key == new)
		return true;
	free(new);
	return false;
}

/* Could the kernel not report what was mapped then? */
static bool is_unsure(const struct records *records, const struct vpmc_sample *sample)
{
	size_t i;

	for (i = 0; i < records->nr_gaps; i++) {
		const struct vpmc_sample_map *map = records->gap[i];

		if (map->head.pid == sample->head.pid && map->head.tid == sample->head.tid &&
		    sample->head.ns >= map->unsure && sample->head.ns < map->since)
			return true;
	}
	return false;
}

/*
 * Finds the mapping of a sample: the last one of its address that the kernel reported
 * for its thread and program. Returns NULL if it is not known.
 */
static const struct vpmc_sample_map *find_map(const struct records *records,
					      const struct vpmc_sample *sample)
{
	size_t low = 0, high = records->nr_maps;

	if (is_unsure(records, sample))
		return NULL;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct vpmc_sample_map *map = records->map[middle];
		int order = compare_threads(&map->head, &sample->head);

		if (order < 0 || (!order && map->since <= sample->head.ns))
			low = middle + 1;
		else
			high = middle;
	}
	while (low--) {
		const struct vpmc_sample_map *map = records->map[low];

		if (compare_threads(&map->head, &sample->head))
			break;
		if (sample->ip >= map->start && sample->ip < map->end)
			return map->flags & VPMC_MAP_UNKNOWN ? NULL : map;
	}
	return NULL;
}

static unsigned int find_function(struct records *records, const struct name *name)
{
	struct samples *samples = records->samples;
	unsigned int number = samples->nr_functions;

	if (!search_key(&records->functions, name->module, name->function, 0, &number))
		return number;
	samples->function = get_memory(samples->function, number + 1,
				       sizeof(*samples->function));
	samples->function[number] = (struct sampled_function){
		.name = name->function, .module = name->module,
	};
	samples->nr_functions++;
	records->nameless += name->nameless;
	records->changed += name->changed;
	return number;
}

static unsigned int find_line(struct records *records, const struct name *name,
			      unsigned int function)
{
	struct samples *samples = records->samples;
	unsigned int number = samples->nr_lines;

	if (!name->file)
		return NO_LINE;
	if (!search_key(&records->lines, name->file, name->function, name->line, &number))
		return number;
	samples->line = get_memory(samples->line, number + 1, sizeof(*samples->line));
	samples->line[number] = (struct sampled_line){
		.file = name->file, .line = name->line, .function = function,
	};
	samples->nr_lines++;
	return number;
}

/* Returns the file's name without directories, which the caller owns. */
static char *base_of(const char *path)
{
	const char *base = strrchr(path, '/');

	return get_text("%s", base ? base + 1 : *path ? path : "[anonymous]");
}

static struct name name_of(const struct place *place)
{
	struct names *names = NULL;
	struct name name = {};
	char *base;

	if (*place->path == '/') {
		names = names_open_file(place->path, &place->identity, place->pid);
		if (names && names_find_offset(names, place->offset, &name))
			return name;
	}
	base = base_of(place->path);
	name.module = base;
	if (*place->path == '/' && !names) {
		name.changed = true;
		name.function = get_text("[%s, has changed]", base);
	} else {
		name.nameless = *place->path == '/';
		name.function = get_text(*base == '[' ? "%s" : "[%s]", base);
	}
	return name;
}

/* @map: NULL if it is not known. */
static struct place place_of(const struct vpmc_sample_map *map, uint64_t ip)
{
	struct place place = { .path = map ? (const char *)map + map->path_offset : "[unknown]" };

	if (*place.path != '/')
		return place;
	place.pid = map->head.pid;
	place.offset = ip - map->start + map->offset;
	place.identity = (struct identity){
		.inode = map->inode, .mtime = map->mtime, .size = map->file_size,
		.major = map->dev_major, .minor = map->dev_minor,
		.build_id_size = map->build_id_size,
	};
	memcpy(place.identity.build_id, map->build_id, sizeof(map->build_id));
	return place;
}

static const struct place *find_place(struct records *records,
				      const struct vpmc_sample_map *map, uint64_t ip)
{
	struct place *new = get_memory(NULL, 1, sizeof(*new)), *place;
	struct name name;

	*new = place_of(map, ip);
	place = search(new, &records->places, compare_places);
	if (place != new) {
		free(new);
		return place;
	}
	name = name_of(place);
	place->function = find_function(records, &name);
	place->line = find_line(records, &name, place->function);
	return place;
}

/* Returns the function of samples without an address. It gets no weight. */
static unsigned int no_function(struct records *records)
{
	static const struct name name = { .module = "[delayed]", .function = "[delayed]" };

	return find_function(records, &name);
}

static struct sampled_thread *find_thread(struct samples *samples,
					  const struct vpmc_sample_head *head)
{
	struct sampled_thread *thread = samples->thread;
	unsigned int i;

	for (i = samples->nr_threads; i--;)
		if (thread[i].tid == head->tid && thread[i].pid == head->pid)
			return &thread[i];
	samples->thread = get_memory(samples->thread, samples->nr_threads + 1,
				     sizeof(*samples->thread));
	thread = &samples->thread[samples->nr_threads++];
	*thread = (struct sampled_thread){ .pid = head->pid, .tid = head->tid };
	strcpy(thread->name, "?");
	return thread;
}

static void add(struct weight *weight, const struct vpmc_sample *sample)
{
	weight->samples++;
	weight->periods += sample->periods;
}

/* Adds a sample to the function and line of its address. Returns the function. */
static unsigned int take_address(struct records *records, const struct vpmc_sample *sample)
{
	struct samples *samples = records->samples;
	const struct place *place = find_place(records, find_map(records, sample),
					       sample->ip);

	add(&samples->weight, sample);
	add(&samples->function[place->function].weight, sample);
	if (place->line != NO_LINE)
		add(&samples->line[place->line].weight, sample);
	return place->function;
}

static void take_sample(struct records *records, const struct vpmc_sample *sample)
{
	struct samples *samples = records->samples;
	struct sampled_thread *thread = find_thread(samples, &sample->head);
	bool delayed = sample->head.type == VPMC_SAMPLE_DELAYED;
	unsigned int function;

	if (delayed) {
		function = no_function(records);
		add(&samples->delayed, sample);
	} else {
		function = take_address(records, sample);
	}
	add(&thread->weight, sample);
	/* The array grows to the next power of two. */
	if (!(thread->nr_moments & (thread->nr_moments - 1)))
		thread->moment = get_memory(thread->moment,
					    thread->nr_moments ? 2 * thread->nr_moments : 1,
					    sizeof(*thread->moment));
	thread->moment[thread->nr_moments++] = (struct moment){
		.ns = sample->head.ns, .switches = sample->switches,
		.migrations = sample->migrations, .cpu = sample->head.cpu,
		.function = function, .periods = sample->periods,
		.delayed = delayed,
	};
}

/*
 * Gives each thread its last name. A thread without a name gets that of its
 * process.
 */
static void name_threads(struct records *records)
{
	struct samples *samples = records->samples;
	unsigned int i;
	size_t m;

	for (i = 0; i < samples->nr_threads; i++) {
		struct sampled_thread *thread = &samples->thread[i];
		bool own = false;

		for (m = 0; m < records->nr_maps; m++) {
			const struct vpmc_sample_map *map = records->map[m];

			if (map->head.pid != thread->pid ||
			    (own && map->head.tid != thread->tid))
				continue;
			own |= map->head.tid == thread->tid;
			memcpy(thread->name, map->comm, sizeof(map->comm));
		}
	}
}

/* Sets each function's line to the line with most of its samples. */
static void place_functions(struct samples *samples)
{
	uint64_t *most = get_memory(NULL, samples->nr_functions, sizeof(*most));
	unsigned int i;

	memset(most, 0, samples->nr_functions * sizeof(*most));
	for (i = 0; i < samples->nr_lines; i++) {
		const struct sampled_line *line = &samples->line[i];

		if (line->weight.periods <= most[line->function])
			continue;
		most[line->function] = line->weight.periods;
		samples->function[line->function].file = line->file;
		samples->function[line->function].line = line->line;
	}
	free(most);
}

static void *more(void *array, size_t nr, size_t *room, size_t size)
{
	if (nr < *room)
		return array;
	*room = *room ? 2 * *room : 1024;
	return get_memory(array, *room, size);
}

static bool take_map(struct records *records, const struct vpmc_sample_map *map)
{
	const char *end = (const char *)map + map->head.size;

	if (map->head.size <= sizeof(*map) || end[-1] ||
	    map->path_offset < sizeof(*map) || map->path_offset >= map->head.size ||
	    map->build_id_size > sizeof(map->build_id))
		return false;
	records->map = more(records->map, records->nr_maps, &records->room_maps,
			    sizeof(*records->map));
	records->map[records->nr_maps++] = map;
	if (!map->unsure)
		return true;
	records->gap = more(records->gap, records->nr_gaps, &records->room_gaps,
			    sizeof(*records->gap));
	records->gap[records->nr_gaps++] = map;
	return true;
}

/* Takes one record. Returns false if its size does not match its type. */
static bool take(struct records *records, const struct vpmc_sample_head *head)
{
	struct samples *samples = records->samples;
	size_t sums = samples->nr_events * sizeof(uint64_t);

	switch (head->type) {
	case VPMC_SAMPLE_PERIOD:
	case VPMC_SAMPLE_DELAYED:
		if (head->size != sizeof(struct vpmc_sample) + sums)
			return false;
		records->sample = more(records->sample, records->nr_samples,
				       &records->room_samples, sizeof(*records->sample));
		records->sample[records->nr_samples++] = (const void *)head;
		return true;
	case VPMC_SAMPLE_MAP:
		return take_map(records, (const void *)head);
	case RECORD_LOST:
		if (head->size != sizeof(struct record_lost))
			return false;
		samples->lost = ((const struct record_lost *)head)->lost;
		return true;
	case RECORD_END:
		if (head->size != sizeof(struct record_end) + sums)
			return false;
		samples->end = (const void *)head;
		samples->lost = samples->end->lost;
		return true;
	default:
		return true;	/* Skip types of later versions. */
	}
}

/* Takes all records up to the end or to a damaged record. */
static void take_all(struct records *records, const char *data, size_t size)
{
	struct samples *samples = records->samples;
	size_t at = 0;

	while (!samples->end && size - at >= sizeof(struct vpmc_sample_head)) {
		const struct vpmc_sample_head *head = (const void *)(data + at);

		if (head->size < sizeof(*head) || head->size % 8 ||
		    head->size > size - at || !take(records, head))
			break;
		at += head->size;
	}
	if (!samples->end)
		note("%s: is cut off: vpmc record was ended, or its disk was full; the first %zu samples are there",
		     samples->file, records->nr_samples);
}

/*
 * Follows the records from @at. Returns false at one that cannot be one: what comes after
 * it is of no use.
 */
static bool is_sound(const char *data, size_t size, size_t *at)
{
	const struct record_file *file = (const void *)data;

	if (!*at && size >= sizeof(*file)) {
		if (file->version != RECORD_FILE_VERSION || file->text_size % 8 ||
		    file->text_size > MOST_TEXT)
			return false;
		*at = sizeof(*file) + file->text_size;
	}
	while (*at && *at + sizeof(struct vpmc_sample_head) <= size) {
		const struct vpmc_sample_head *head = (const void *)(data + *at);

		if (head->size < sizeof(*head) || head->size % 8)
			return false;
		*at += head->size;
	}
	return true;
}

/* Reads the file up to a damaged record, so that no wrong file is too large. */
static char *read_file(const char *name, size_t *size)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	size_t room = 1 << 20, at = 0;
	char *data;
	ssize_t n;

	if (fd < 0)
		fail(STATUS_OURS, "%s: cannot be read: %s; name a file of vpmc record",
		     name, strerror(errno));
	data = get_memory(NULL, room, 1);
	*size = 0;
	while ((n = read(fd, data + *size, room - *size)) > 0) {
		*size += n;
		if (!is_sound(data, *size, &at))
			break;
		if (*size == room) {
			room *= 2;
			data = get_memory(data, room, 1);
		}
	}
	close(fd);
	return data;
}

bool samples_is_file(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char magic[sizeof(RECORD_FILE_MAGIC) - 1] = "";
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		  !memcmp(magic, RECORD_FILE_MAGIC, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

/* Reads the head and returns its size. */
static size_t read_head(struct samples *samples, const char *data, size_t size)
{
	const struct record_file *head = (const void *)data;
	struct json_object *events, *command, *period;

	if (size >= sizeof(*head) && head->version != RECORD_FILE_VERSION)
		fail(STATUS_OURS, "%s: has the version %u, and this vpmc reads version %d; use the vpmc that wrote it",
		     samples->file, head->version, RECORD_FILE_VERSION);
	if (size < sizeof(*head) || !head->text_size || head->text_size % 8 ||
	    head->text_size > size - sizeof(*head) ||
	    data[sizeof(*head) + head->text_size - 1])
		fail(STATUS_OURS, "%s: is cut off before its first sample; run vpmc record again",
		     samples->file);
	samples->text = json_tokener_parse(data + sizeof(*head));
	if (!json_object_object_get_ex(samples->text, "events", &events) ||
	    !json_object_object_get_ex(samples->text, "command", &command) ||
	    !json_object_object_get_ex(samples->text, "period", &period) ||
	    !json_object_is_type(events, json_type_array) ||
	    !json_object_is_type(command, json_type_array) ||
	    !json_object_array_length(events) ||
	    json_object_array_length(events) > VPMC_MAX_COUNTERS)
		fail(STATUS_OURS, "%s: has a damaged head; run vpmc record again",
		     samples->file);
	samples->nr_events = json_object_array_length(events);
	samples->period = json_object_get_uint64(period);
	return sizeof(*head) + head->text_size;
}

void samples_read(struct samples *samples, const char *file)
{
	struct records records = { .samples = samples };
	size_t size, head, i;
	const char *data;

	*samples = (struct samples){ .file = file };
	data = read_file(file, &size);
	head = read_head(samples, data, size);
	take_all(&records, data + head, size - head);
	if (records.nr_samples)
		qsort(records.sample, records.nr_samples, sizeof(*records.sample),
		      compare_samples);
	if (records.nr_maps)
		qsort(records.map, records.nr_maps, sizeof(*records.map), compare_maps);
	for (i = 0; i < records.nr_samples; i++)
		take_sample(&records, records.sample[i]);
	name_threads(&records);
	place_functions(samples);
	if (samples->delayed.periods)
		note("%llu periods: have no address, because they came faster than kernel.vpmc_overflow_rate permits; shares are of the others; use a longer period",
		     (unsigned long long)samples->delayed.periods);
	if (records.changed)
		note("%u files: have changed since they were sampled, or are gone; name a directory with those that were sampled by --symfs",
		     records.changed);
	if (records.nameless)
		note("%u files: have samples without a function's name, as in stripped programs; do not strip them, or install their debug symbols",
		     records.nameless);
	free(records.sample);
	free(records.map);
	free(records.gap);
}
