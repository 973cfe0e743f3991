// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The list of all threads' regions in this process.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <unistd.h>

#include "region.h"
#include "report.h"

/* regions of all threads of this process */
static struct vpmc_regions *all, **last = &all;
/*
 * Regions of the parent, in a child of fork(). Without this pointer, leak
 * checkers would report them.
 */
static struct vpmc_regions *inherited;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
	pthread_mutex_lock(&all_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

/* Moves the parent's regions to another list: only the parent reports them. */
static void fork_child(void)
{
	*last = inherited;
	inherited = all;
	all = NULL;
	last = &all;
	pthread_mutex_unlock(&all_lock);
}

static void watch_process(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	atexit(vpmc_report_at_exit);
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

bool vpmc_regions_of_thread(void)
{
	struct vpmc_regions *regions;
	bool found = false;

	for (regions = vpmc_regions_lock(); regions; regions = regions->next)
		found |= regions->v && regions->tid == (uint32_t)gettid();
	vpmc_regions_unlock();
	return found;
}

void vpmc_regions_add(struct vpmc_regions *regions)
{
	pthread_once(&once, watch_process);
	vpmc_regions_lock();
	*last = regions;
	last = &regions->next;
	vpmc_regions_unlock();
}

void vpmc_regions_remove(struct vpmc_regions *regions)
{
	struct vpmc_regions **link;

	vpmc_regions_lock();
	for (link = &all; *link && *link != regions; link = &(*link)->next)
		;
	if (*link)
		*link = regions->next;
	if (last == &regions->next)
		last = link;
	vpmc_regions_unlock();
}
