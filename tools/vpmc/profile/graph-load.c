// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the files of the preloaded library. Each thread has a file named
 * PID.IMAGE.TID.N. The files PID.IMAGE.maps.N list what was mapped.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vpmc.h>

#include "common/fail.h"
#include "graph/record.h"
#include "profile/graph-maps.h"
#include "profile/graph.h"
#include "profile/symbols.h"

/* file of one thread */
struct source {
	char *name;
	unsigned int pid, image, tid, n;
	const struct record_head *head;
	size_t size;
};

/* what was mapped in one program, by number of the list */
struct image {
	unsigned int pid, image;
	struct maps maps[RECORD_MAPS];
	unsigned int nr;
};

/* place in a file, or an address if it is not known what is there, and its function */
struct place {
	struct names *names;
	char *path;		/* of a file that is not there any more, or "" */
	uint64_t offset;
	unsigned int function;
};

struct loader {
	struct graph *graph;
	const char *directory;
	const struct group *group;
	struct source *source;
	unsigned int nr;
	struct image image;
	void *places;		/* tree of struct place */
	void *functions;	/* tree of struct key */
};

/* A function by its name. Several processes may have the same function. */
struct key {
	const char *module, *name;
	unsigned int function;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = strcmp(x->module, y->module);

	return order ? order : strcmp(x->name, y->name);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->names != y->names)
		return (uintptr_t)x->names < (uintptr_t)y->names ? -1 : 1;
	if (strcmp(x->path, y->path))
		return strcmp(x->path, y->path);
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_sources(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->head->born != y->head->born)
		return x->head->born < y->head->born ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

static void *search(const void *key, void **root,
		    int (*compare)(const void *, const void *))
{
	void *found = tsearch(key, root, compare);

	if (!found)
		fail(STATUS_OURS, "memory: there is none; end other programs");
	return *(void **)found;
}

static bool is_whole(const struct source *source, const struct graph *graph)
{
	const struct record_head *head = source->head;
	size_t node_size = sizeof(struct record_node) +
			   graph->nr_values * sizeof(uint64_t);

	return head->magic == RECORD_MAGIC && head->nr_values == graph->nr_values &&
	       head->node_size == node_size && head->nr_nodes &&
	       head->nr_nodes <= (source->size - RECORD_HEAD_SIZE) / node_size;
}

static void add_source(struct loader *loader, const char *name)
{
	struct source source = { .name = get_text("%s/%s", loader->directory, name) };
	struct stat status;
	int fd, end = 0;

	if (sscanf(name, "%u.%u.%u.%u%n", &source.pid, &source.image, &source.tid,
		   &source.n, &end) != 4 || name[end])
		return;
	fd = open(source.name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		fail(STATUS_OURS, "%s: cannot be read: %s; leave that directory alone",
		     source.name, strerror(errno));
	source.size = status.st_size;
	if (source.size > RECORD_HEAD_SIZE) {
		source.head = mmap(NULL, source.size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (source.head == MAP_FAILED)
			fail(STATUS_OURS, "%s: cannot be mapped: %s; end other programs",
			     source.name, strerror(errno));
	}
	close(fd);
	/*
	 * The process may have been killed when it had just created the file.
	 */
	if (!source.head || !is_whole(&source, loader->graph))
		return;
	loader->source = get_memory(loader->source, loader->nr + 1, sizeof(source));
	loader->source[loader->nr++] = source;
}

static void find_sources(struct loader *loader)
{
	DIR *directory = opendir(loader->directory);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		add_source(loader, entry->d_name);
	if (directory)
		closedir(directory);
	if (loader->nr)
		qsort(loader->source, loader->nr, sizeof(*loader->source),
		      compare_sources);
}

static void open_image(struct loader *loader, const struct source *source)
{
	struct image *image = &loader->image;

	if (image->nr && image->pid == source->pid && image->image == source->image)
		return;
	while (image->nr)
		maps_free(&image->maps[--image->nr]);
	image->pid = source->pid;
	image->image = source->image;
	while (image->nr < RECORD_MAPS) {
		struct maps *maps = &image->maps[image->nr];
		char *name = get_text("%s/%u.%u.maps.%u", loader->directory,
				      source->pid, source->image, image->nr);

		maps_read(maps, name);
		free(name);
		if (!maps->nr)
			break;
		image->nr++;
	}
}

static unsigned int new_function(struct graph *graph, const struct name *name)
{
	struct function *function;

	graph->function = get_memory(graph->function, graph->nr_functions + 1,
				     sizeof(*function));
	function = &graph->function[graph->nr_functions];
	*function = (struct function){
		.name = name->function, .module = name->module,
		.file = name->file, .line = name->line,
		.nameless = name->nameless, .changed = name->changed,
		.exclusive = graph_values(graph), .inclusive = graph_values(graph),
	};
	return graph->nr_functions++;
}

static unsigned int function_by_name(struct loader *loader, const struct name *name)
{
	struct key *new = get_memory(NULL, 1, sizeof(*new)), *key;

	*new = (struct key){ name->module, name->function,
			     loader->graph->nr_functions };
	key = search(new, &loader->functions, compare_keys);
	if (key == new)
		new_function(loader->graph, name);
	else
		free(new);
	return key->function;
}

/* Names what has no name: a place in a file that is not there any more, or an address. */
static struct name nameless(const struct place *place)
{
	const char *base = strrchr(place->path, '/');

	if (!base)
		return (struct name){
			.nameless = true, .module = get_text("?"),
			.function = get_text("%#llx", (unsigned long long)place->offset),
		};
	return (struct name){
		.changed = true, .module = get_text("%s", base + 1),
		.function = get_text("[%s, has changed]", base + 1),
	};
}

/* Finds the function of a node in the list that was made for it. */
static unsigned int find_function(struct loader *loader, const struct record_node *node)
{
	const struct image *image = &loader->image;
	unsigned int list = RECORD_LIST(node->maps);
	struct place *new = get_memory(NULL, 1, sizeof(*new)), *place;
	const struct mapped *mapped = list < image->nr ?
		maps_find(&image->maps[list], node->function) : NULL;
	struct name name;

	*new = (struct place){ .path = get_text("%s", ""), .offset = node->function };
	if (mapped && *mapped->path == '/') {
		new->names = names_open_file(mapped->path, &mapped->identity, image->pid);
		new->offset -= mapped->begin - mapped->offset;
		if (!new->names) {
			free(new->path);
			new->path = get_text("%s", mapped->path);
			new->offset = 0;
		}
	}
	place = search(new, &loader->places, compare_places);
	if (place != new) {
		free(new->path);
		free(new);
		return place->function;
	}
	if (!place->names || !names_find_start(place->names, place->offset, &name))
		name = nameless(place);
	place->function = function_by_name(loader, &name);
	return place->function;
}

/*
 * Adds values in the library's order, which has ticks first, to values in the
 * order of the graph.
 */
static void take_values(const struct loader *loader, const struct record_head *head,
			const uint64_t *from, uint64_t *to)
{
	struct vpmc_page rate = { .time_mult = head->time_mult,
				  .time_shift = head->time_shift };
	const struct group *group = loader->group;
	unsigned int i, at = 0;

	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			to[at++] += from[1 + group->events[i].element];
	to[at] += vpmc_page_ns(&rate, from[0]);
}

/*
 * Is that the tree of an earlier program of the same thread? Its number tells little: another
 * pid namespace has it, too, and a thread that executes a program gets that of the first one.
 * But the counts of a thread go on.
 */
static bool is_earlier(const struct source *source, const struct source *before)
{
	unsigned int i;

	if (before->pid != source->pid || before->tid != source->tid ||
	    before->head->born != source->head->born || before->image == source->image)
		return false;
	for (i = 0; i < source->head->nr_values; i++)
		if (before->head->last[i] > source->head->first[i])
			return false;
	return true;
}

static void load_tree(struct loader *loader, const struct source *source,
		      const struct source *before)
{
	const struct record_head *head = source->head;
	struct graph *graph = loader->graph;
	uint64_t outside[RECORD_VALUES];
	struct tree *tree;
	unsigned int i;

	graph->tree = get_memory(graph->tree, graph->nr_trees + 1, sizeof(*tree));
	tree = &graph->tree[graph->nr_trees++];
	*tree = (struct tree){
		.pid = source->pid, .tid = source->tid, .image = source->image,
		.threads = head->threads, .missed = head->missed,
		.no_room = head->no_room, .strays = head->strays,
		.unwound = head->unwound,
	};
	take_values(loader, head, head->own, tree->own);
	tree_add(graph, tree, 0, 0);
	/* An earlier program of the same thread has a file of its own. */
	for (i = 0; i < graph->nr_values; i++)
		outside[i] = head->first[i] - (before ? before->head->last[i] : 0);
	take_values(loader, head, outside, tree->node[0].exclusive);
	for (i = 0; i < head->nr_nodes; i++) {
		const struct record_node *node = (const void *)
			((const char *)head + RECORD_HEAD_SIZE +
			 (size_t)i * head->node_size);

		if (i && node->parent >= i)
			break;
		if (i)
			tree_add(graph, tree, node->parent,
				 find_function(loader, node));
		tree->node[i].calls = node->calls;
		take_values(loader, head, node->value, tree->node[i].exclusive);
	}
}

void graph_load(struct graph *graph, const char *directory,
		const struct group *group)
{
	struct loader loader = { .graph = graph, .directory = directory,
				 .group = group };
	unsigned int i;

	find_sources(&loader);
	for (i = 0; i < loader.nr; i++) {
		const struct source *source = &loader.source[i];
		const struct source *before = i && is_earlier(source, source - 1) ?
					      source - 1 : NULL;

		open_image(&loader, source);
		load_tree(&loader, source, before);
	}
	for (i = 0; i < loader.nr; i++)
		munmap((void *)loader.source[i].head, loader.source[i].size);
	free(loader.source);
}
