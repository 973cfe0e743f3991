// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The list of all threads' regions in this process.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "region.h"

/* regions of all threads of this process */
static struct vpmc_regions *all, **last = &all;
/*
 * Regions of the parent, in a child of fork(). Without this pointer, leak
 * checkers would report them.
 */
static struct vpmc_regions *inherited;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Each thread's value is its regions. */
static pthread_key_t key;
static bool has_key;

/* Ended threads that the report has one by one; further ones are added to the last of them. */
#define KEPT	64

static void fork_prepare(void)
{
	pthread_mutex_lock(&all_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

/* The thread that has called fork() opens those of its markers again. */
static void tell_markers(void)
{
	struct vpmc_regions *regions;

	vpmc_marker_in_child();
	for (regions = all; regions; regions = regions->next)
		if (regions->is_marked && regions->thread == thread_pointer())
			vpmc_marker_forked(regions);
}

/* Moves the parent's regions to another list: only the parent reports them. */
static void fork_child(void)
{
	tell_markers();
	*last = inherited;
	inherited = all;
	all = NULL;
	last = &all;
	pthread_mutex_unlock(&all_lock);
}

/*
 * A thread ends. Destructors of other libraries may still use its regions, so this waits
 * for the last round of them but one. In the last one the state of sanitizers ends, too. In
 * a child of fork() the regions are the parent's.
 */
static void thread_ends(void *arg)
{
	struct vpmc_regions *regions = arg;

	if (regions->tid != (uint32_t)gettid())
		return;
	if (++regions->rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
		pthread_setspecific(key, regions);
	else
		regions->ends(regions);
}

/* After dlclose(), threads that end must not call thread_ends(). */
static __attribute__((__destructor__)) void forget_key(void)
{
	if (has_key)
		pthread_key_delete(key);
	has_key = false;
}

static void watch_process(void)
{
	has_key = !pthread_key_create(&key, thread_ends);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

struct vpmc_regions *vpmc_regions_lock(void)
{
	pthread_mutex_lock(&all_lock);
	return all;
}

void vpmc_regions_unlock(void)
{
	pthread_mutex_unlock(&all_lock);
}

struct vpmc_regions *vpmc_regions_of_thread(void)
{
	struct vpmc_regions *regions = has_key ? pthread_getspecific(key) : NULL;

	return regions && regions->tid == (uint32_t)gettid() ? regions : NULL;
}

struct vpmc_regions *vpmc_regions_inherited(void)
{
	struct vpmc_regions *regions = has_key ? pthread_getspecific(key) : NULL;

	if (!regions || !regions->is_marked || regions->tid == (uint32_t)gettid())
		return NULL;
	vpmc_regions_remove(regions);
	regions->next = NULL;
	return regions;
}

void vpmc_regions_give_back(struct vpmc_regions *regions)
{
	vpmc_regions_forget(regions);
	vpmc_regions_remove(regions);
	vpmc_regions_lock();
	regions->next = inherited;
	inherited = regions;
	vpmc_regions_unlock();
}

int vpmc_regions_add(struct vpmc_regions *regions,
		     void (*ends)(struct vpmc_regions *regions))
{
	pthread_once(&once, watch_process);
	regions->ends = ends;
	if (!has_key || pthread_setspecific(key, regions))
		return -1;
	vpmc_regions_lock();
	*last = regions;
	last = &regions->next;
	vpmc_regions_unlock();
	return 0;
}

void vpmc_regions_forget(const struct vpmc_regions *regions)
{
	if (has_key && pthread_getspecific(key) == regions)
		pthread_setspecific(key, NULL);
}

/* Have both counted the same events, in the same way? */
static bool are_alike(const struct vpmc_regions *a, const struct vpmc_regions *b)
{
	unsigned int i;

	if (a->flags != b->flags || a->nr != b->nr || a->nr_events != b->nr_events ||
	    !a->events != !b->events ||
	    memcmp(a->element, b->element, sizeof(a->element)))
		return false;
	for (i = 0; i < a->nr; i++)
		if (a->control.counter[i].evtsel != b->control.counter[i].evtsel)
			return false;
	return true;
}

/* Takes them out of a list. Returns where they were, or where the list ends. */
static struct vpmc_regions **take_from(struct vpmc_regions **list, struct vpmc_regions *regions)
{
	while (*list && *list != regions)
		list = &(*list)->next;
	if (*list)
		*list = regions->next;
	return list;
}

/* The caller holds the lock. In a child of fork() they may be the parent's. */
static void remove_locked(struct vpmc_regions *regions)
{
	struct vpmc_regions **link = take_from(&all, regions);

	if (last == &regions->next)
		last = link;
	take_from(&inherited, regions);
}

bool vpmc_regions_keep(struct vpmc_regions *regions)
{
	struct vpmc_regions *other, *like = NULL;
	bool is_listed = false, is_kept;
	unsigned int alike = 0;

	vpmc_regions_lock();
	for (other = all; other; other = other->next) {
		is_listed |= other == regions;
		if (other->is_retired && are_alike(other, regions)) {
			like = other;
			alike++;
		}
	}
	regions->is_retired = true;
	/* In a child of fork() they may be the parent's, which reports them. */
	is_kept = is_listed && alike < KEPT;
	/* From here on, a report has their values in the other ones. */
	if (is_listed && !is_kept) {
		vpmc_regions_merge(like, regions);
		remove_locked(regions);
	}
	vpmc_regions_unlock();
	return is_kept;
}

void vpmc_regions_remove(struct vpmc_regions *regions)
{
	vpmc_regions_lock();
	remove_locked(regions);
	vpmc_regions_unlock();
}
