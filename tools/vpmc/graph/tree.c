// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Builds a thread's tree of calls in its file, and finds nodes in it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "hooks.h"

#define FIRST_NODES	64
#define FIRST_FRAMES	256
#define MOST_NODES	(1U << 20)	/* of a thread */
#define MOST_FRAMES	(1U << 20)

void *graph_memory(size_t size)
{
	long at = graph_call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return graph_failed(at) ? NULL : (void *)at;
}

struct record_node *graph_node(const struct thread *thread, uint32_t node)
{
	return (struct record_node *)(thread->nodes +
				      (size_t)node * process.node_size);
}

bool graph_more_frames(struct thread *thread)
{
	uint32_t wanted = thread->max_frames * 2;
	long at;

	if (wanted > MOST_FRAMES)
		return false;
	at = graph_call(SYS_mremap, (long)thread->frames,
			thread->max_frames * sizeof(*thread->frames),
			wanted * sizeof(*thread->frames), MREMAP_MAYMOVE, 0, 0);
	if (graph_failed(at))
		return false;
	thread->frames = (struct frame *)at;
	thread->max_frames = wanted;
	return true;
}

static uint32_t set_maps(uint32_t list, uint32_t epoch)
{
	return list | epoch << 10;
}

/* What was replaced is never current again. */
#define REPLACED	(RECORD_EPOCHS - 1)

/* A library was unloaded: is the node's function still in the same one? */
__attribute__((__noinline__, __cold__))
static bool is_there(struct record_node *node, uint32_t epoch)
{
	uint32_t list = RECORD_LIST(node->maps);

	if (RECORD_EPOCH(node->maps) == REPLACED)
		return false;
	if (graph_maps(node->function) != list) {
		node->maps = set_maps(list, REPLACED);
		return false;
	}
	node->maps = set_maps(list, epoch);
	return true;
}

static uint32_t first_slot(const struct thread *thread, uint32_t parent,
			   uint64_t function)
{
	uint64_t key = (function ^ ((uint64_t)parent << 40)) * 0x9e3779b97f4a7c15ULL;

	return key >> 32 & (thread->max_hash - 1);
}

/* Returns the slot of a node, or the one where it is to be. */
static uint32_t *find(const struct thread *thread, uint32_t parent,
		      uint64_t function)
{
	uint32_t at = first_slot(thread, parent, function), mask = thread->max_hash - 1;
	uint32_t epoch = __atomic_load_n(&graph_epoch, __ATOMIC_RELAXED);

	for (; thread->hash[at]; at = (at + 1) & mask) {
		struct record_node *node = graph_node(thread, thread->hash[at]);

		if (node->function == function && node->parent == parent &&
		    (likely(RECORD_EPOCH(node->maps) == epoch) || is_there(node, epoch)))
			break;
	}
	return &thread->hash[at];
}

/* Puts a node into an empty slot. */
static void put(const struct thread *thread, uint32_t number)
{
	const struct record_node *node = graph_node(thread, number);
	uint32_t at = first_slot(thread, node->parent, node->function);

	while (thread->hash[at])
		at = (at + 1) & (thread->max_hash - 1);
	thread->hash[at] = number;
}

static size_t file_size(uint32_t nodes)
{
	return (RECORD_HEAD_SIZE + (size_t)nodes * process.node_size + 4095) & ~4095UL;
}

/*
 * Allocates space in the file. On a full disk this call fails, rather than a
 * later write to the mapping.
 */
static bool make_room(const struct thread *thread, uint32_t nodes)
{
	long fd = graph_open(thread->name, O_RDWR), result;

	if (graph_failed(fd))
		return false;
	result = graph_call(SYS_fallocate, fd, 0, 0, file_size(nodes), 0, 0);
	graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return !graph_failed(result);
}

static bool more_nodes(struct thread *thread)
{
	uint32_t wanted = thread->max_nodes * 2, i;
	uint32_t *hash, *old = thread->hash;
	long at;

	if (wanted > MOST_NODES || !graph_may_write(file_size(wanted)) ||
	    !make_room(thread, wanted))
		return false;
	hash = graph_memory((size_t)thread->max_hash * 2 * sizeof(*hash));
	if (!hash)
		return false;
	at = graph_call(SYS_mremap, (long)thread->head, file_size(thread->max_nodes),
			file_size(wanted), MREMAP_MAYMOVE, 0, 0);
	if (graph_failed(at)) {
		graph_call(SYS_munmap, (long)hash,
			   (size_t)thread->max_hash * 2 * sizeof(*hash), 0, 0, 0, 0);
		return false;
	}
	thread->head = (struct record_head *)at;
	thread->nodes = (char *)at + RECORD_HEAD_SIZE;
	thread->max_nodes = wanted;
	graph_call(SYS_munmap, (long)old, thread->max_hash * sizeof(*hash), 0, 0, 0, 0);
	thread->hash = hash;
	thread->max_hash *= 2;
	for (i = 1; i < thread->nr_nodes; i++)
		put(thread, i);
	return true;
}

uint32_t graph_child(struct thread *thread, uint32_t parent, uint64_t function)
{
	uint32_t *slot = find(thread, parent, function), new, list, epoch;
	struct record_node *node;

	if (likely(*slot))
		return *slot;
	if (thread->nr_nodes == thread->max_nodes) {
		if (!more_nodes(thread))
			return parent;
		slot = find(thread, parent, function);
	}
	epoch = __atomic_load_n(&graph_epoch, __ATOMIC_RELAXED);
	list = graph_trial ? 0 : graph_maps(function);
	new = thread->nr_nodes++;
	*slot = new;
	node = graph_node(thread, new);
	node->function = function;
	node->parent = parent;
	node->maps = set_maps(list, epoch);
	/* The node is valid from here on, even if the thread is killed. */
	__atomic_store_n(&thread->head->nr_nodes, thread->nr_nodes, __ATOMIC_RELEASE);
	return new;
}

bool graph_tree_make(struct thread *thread)
{
	long fd = graph_open(thread->name, O_RDWR), at;

	if (graph_failed(fd))
		return false;
	thread->max_nodes = FIRST_NODES;
	thread->max_hash = 2 * FIRST_NODES;
	thread->max_frames = FIRST_FRAMES;
	at = graph_call(SYS_fallocate, fd, 0, 0, file_size(FIRST_NODES), 0, 0);
	if (!graph_failed(at))
		at = graph_call(SYS_mmap, 0, file_size(FIRST_NODES),
				PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (graph_failed(at))
		return false;
	thread->head = (struct record_head *)at;
	thread->nodes = (char *)at + RECORD_HEAD_SIZE;
	thread->frames = graph_memory(FIRST_FRAMES * sizeof(*thread->frames));
	thread->hash = graph_memory(thread->max_hash * sizeof(*thread->hash));
	thread->nr_nodes = 1;
	thread->head->nr_nodes = 1;
	return thread->frames && thread->hash;
}
