// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Handles a thread's first event: maps the thread's page and makes its tree.
 * The child of a fork() has a first event again, because the kernel has wiped
 * struct hot.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hooks.h"

#define PAGE	4096UL
#define OWN	256		/* most threads with a file of their own */
/*
 * Most threads with a tree at once. Each has several mappings, and the program needs most of
 * those that a process may have (vm.max_map_count) for itself.
 */
#define MOST_THREADS	4096

enum { UNKNOWN, BEGINNING, ON, OFF };

static __thread struct thread *mine;	/* remains valid in a child of fork(), unlike @hot */
static __thread bool beginning;
static __thread bool has_other_set;	/* from before the thread's first event */

static int state;
static struct thread *threads[OWN];
static unsigned int nr_threads;

/* Maps the thread's page. Executes the same instructions each time. */
static const struct vpmc_page *attach(void)
{
	long fd = graph_call(SYS_openat, AT_FDCWD,
			     (long)"/proc/thread-self/perfctr",
			     O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long at;

	if (graph_failed(fd))
		return NULL;
	at = graph_call(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return graph_failed(at) ? NULL : (const struct vpmc_page *)at;
}

static void unmap(const void *at, size_t size)
{
	graph_call(SYS_munmap, (long)at, size, 0, 0, 0, 0);
}

/*
 * Records why there is no tree. The command prints this if no thread has a
 * tree.
 */
static void give_up(const char *why)
{
	long fd;

	if (graph_lost_why(why))
		return;
	fd = graph_open("why", O_WRONLY | O_CREAT | O_EXCL);
	if (graph_failed(fd))
		return;
	graph_call(SYS_write, fd, (long)why, strlen(why), 0, 0, 0);
	graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/*
 * Returns when the process began, or 0. With its number that tells it from others: a number is
 * there again in another pid namespace, or later.
 */
static uint32_t find_birth(void)
{
	char text[1024], *at;
	unsigned int field;
	long fd, n;

	fd = graph_call(SYS_openat, AT_FDCWD, (long)"/proc/self/stat",
			O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (graph_failed(fd))
		return 0;
	n = graph_call(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
	graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (graph_failed(n))
		return 0;
	text[n] = 0;
	/* It is the 22nd field. The second one is the name, which may have blanks. */
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/*
 * Finds the number of this program. A process gets a new number at each
 * execve().
 */
static bool find_image(void)
{
	char name[48];
	long fd;

	process.born = find_birth();
	for (process.image = 0; process.image < 10000; process.image++) {
		snprintf(name, sizeof(name), "%u.%u", process.pid, process.image);
		fd = graph_open(name, O_RDWR | O_CREAT | O_EXCL);
		if (!graph_failed(fd)) {
			bool made = graph_lost_make(fd);

			graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
			return made;
		}
		if (fd != -EEXIST)
			break;
	}
	return false;
}

static bool process_begin(const struct vpmc_page *page)
{
	const char *directory = getenv(RECORD_DIRECTORY);

	if (!directory || strlen(directory) >= sizeof(process.directory))
		return false;
	strcpy(process.directory, directory);
	process.pid = graph_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	process.nr_values = page->nr_counters + 1;
	process.node_size = sizeof(struct record_node) +
			    process.nr_values * sizeof(uint64_t);
	if (process.nr_values > 1 && !(page->caps & VPMC_CAP_RDPMC)) {
		give_up("counters may not be read in user mode; see vpmc info about rdpmc");
		return false;
	}
	if (!find_image()) {
		give_up("no file can be made there; free some space, or set TMPDIR");
		return false;
	}
	graph_find_jumps();
	graph_calibrate(page);
	return true;
}

/*
 * Initializes the process: in its first thread, or after fork() in the child's
 * only thread.
 */
static bool process_is_on(const struct vpmc_page *page, bool forked)
{
	int is = __atomic_load_n(&state, __ATOMIC_ACQUIRE);

	if (forked && is == ON) {
		process.parent = process.pid;
		process.pid = graph_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
		nr_threads = 0;
		graph_forget_maps();
		memset(threads, 0, sizeof(threads));
		return find_image();
	}
	is = UNKNOWN;
	if (__atomic_compare_exchange_n(&state, &is, BEGINNING, false,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		is = process_begin(page) ? ON : OFF;
		__atomic_store_n(&state, is, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == BEGINNING)
		graph_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ON;
}

/*
 * Returns the tree of a thread that has ended, if there are many trees already.
 */
static struct thread *take_over(void)
{
	unsigned int i;

	if (__atomic_load_n(&nr_threads, __ATOMIC_ACQUIRE) < OWN)
		return NULL;
	for (i = 0; i < OWN; i++) {
		struct thread *thread = __atomic_load_n(&threads[i], __ATOMIC_ACQUIRE);

		if (!thread || thread->page->state != VPMC_STATE_EXITED)
			continue;
		if (__atomic_compare_exchange_n(&threads[i], &thread, NULL, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			unmap(thread->page, PAGE);
			thread->nr_frames = 0;
			thread->current = 0;
			thread->no_frame = 0;
			__atomic_fetch_sub(&nr_threads, 1, __ATOMIC_ACQ_REL);
			return thread;
		}
	}
	return NULL;
}

static void remember(struct thread *thread)
{
	unsigned int i;

	if (__atomic_fetch_add(&nr_threads, 1, __ATOMIC_ACQ_REL) >= OWN)
		return;
	for (i = 0; i < OWN; i++) {
		struct thread *none = NULL;

		if (__atomic_compare_exchange_n(&threads[i], &none, thread, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return;
	}
}

static bool make_file(struct thread *thread)
{
	unsigned int tid = graph_tid(), n;
	long fd;

	/* Thread numbers are reused after a thread has ended. */
	for (n = 0; n < 1000000; n++) {
		snprintf(thread->name, sizeof(thread->name), "%u.%u.%u.%u",
			 process.pid, process.image, tid, n);
		fd = graph_open(thread->name, O_RDWR | O_CREAT | O_EXCL);
		if (fd != -EEXIST)
			break;
	}
	if (graph_failed(fd))
		return false;
	graph_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (!graph_tree_make(thread))
		return false;
	thread->head->nr_values = process.nr_values;
	thread->head->node_size = process.node_size;
	thread->head->pid = process.pid;
	thread->head->parent = process.parent;
	thread->head->born = process.born;
	thread->head->tid = tid;
	__atomic_store_n(&thread->head->magic, RECORD_MAGIC, __ATOMIC_RELEASE);
	return true;
}

static struct thread *new_thread(void)
{
	struct thread *thread = graph_memory(sizeof(*thread));
	struct hot *own = graph_memory(PAGE);

	if (!thread || !own || !make_file(thread) ||
	    graph_failed(graph_call(SYS_madvise, (long)own, PAGE, MADV_WIPEONFORK,
				    0, 0, 0)))
		return NULL;
	thread->hot = own;
	own->thread = thread;
	return thread;
}

/*
 * Copies the parent's open functions, because they are open in the child, too.
 */
static void take_frames(struct thread *thread, const struct thread *parent)
{
	uint32_t i;

	for (i = 0; i < parent->nr_frames; i++) {
		struct frame *frame;

		if (i == thread->max_frames && !graph_more_frames(thread))
			break;
		frame = &thread->frames[i];
		*frame = parent->frames[i];
		frame->node = graph_child(thread, thread->current, frame->function);
		thread->current = frame->node;
		thread->nr_frames++;
	}
	thread->no_frame = parent->no_frame + parent->nr_frames - i;
}

/*
 * Assigns what the thread has counted before its first event. After fork() this
 * belongs to the current function. Otherwise it may belong to an earlier
 * program.
 */
static void set_first(struct thread *thread, const uint64_t *now, bool forked)
{
	struct record_node *node = graph_node(thread, thread->current);
	unsigned int i;

	for (i = 0; i < process.nr_values; i++) {
		uint64_t value = now[i] - process.open[KIND_BEGIN][i];

		thread->now[i] = now[i];
		if (forked)
			node->value[i] += value;
		else
			thread->head->first[i] += value;
	}
}

static struct thread *begin(const struct vpmc_page *page, const uint64_t *now)
{
	struct thread *parent = mine, *thread;

	if (!process_is_on(page, parent))
		return NULL;
	thread = parent ? NULL : take_over();
	if (!thread && __atomic_load_n(&nr_threads, __ATOMIC_ACQUIRE) < MOST_THREADS)
		thread = new_thread();
	if (!thread) {
		give_up("no file can be made there; free some space, or set TMPDIR");
		graph_lost_thread();
		return NULL;
	}
	thread->page = page;
	thread->head->threads++;
	thread->head->time_mult = page->time_mult;
	thread->head->time_shift = page->time_shift;
	if (parent)
		take_frames(thread, parent);
	set_first(thread, now, parent);
	graph_found_thread();
	remember(thread);
	mine = thread;
	thread->busy = true;
	thread->hot->live = 1;
	hot = thread->hot;
	return thread;
}

struct thread *graph_begin(void)
{
	const struct vpmc_page *page;
	uint64_t now[RECORD_VALUES];
	struct thread *thread;

	if (state == OFF || has_other_set)
		return NULL;
	if (graph_is_confined()) {
		graph_lost_thread();
		return NULL;
	}
	page = attach();
	if (page && page->set_number != GRAPH_SET) {
		has_other_set = true;
		unmap(page, PAGE);
		give_up("it has programmed counters of its own before its first function with hooks");
		return NULL;
	}
	if (!page) {
		if (state == UNKNOWN)
			state = OFF;
		else
			graph_lost_thread();
		return NULL;
	}
	graph_read(page, page->nr_counters + 1, now, 0);
	/* The time is counted from here on. */
	thread = graph_trial;
	if (thread) {
		memcpy(thread->now, now, sizeof(now));
	} else if (!beginning) {
		beginning = true;
		thread = begin(page, now);
		beginning = false;
	}
	if (!thread || graph_trial)
		unmap(page, PAGE);
	return thread;
}

/*
 * Replaces vfork() by fork(). The child of vfork() shares its parent's memory,
 * so its functions would be added to the parent's tree, with the parent's
 * counters.
 */
__attribute__((__visibility__("default")))
pid_t vfork(void)
{
	return fork();
}
