// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opens, names, queries and closes the regions of threads.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "region.h"
#include "report.h"

#define WHAT		"counting regions"
#define LOG_SIZE	65536
#define NAME_MAX_LENGTH	255

/* page of a thread whose page could not be mapped; its set does not run */
static const struct vpmc_page no_page;

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

static bool thread_has_regions(void)
{
	struct vpmc_regions *regions;
	bool found = false;

	for (regions = vpmc_regions_lock(); regions; regions = regions->next)
		found |= regions->v && regions->tid == (uint32_t)gettid();
	vpmc_regions_unlock();
	return found;
}

static void add(struct vpmc_regions *regions)
{
	pthread_once(&once, watch_process);
	vpmc_regions_lock();
	*last = regions;
	last = &regions->next;
	vpmc_regions_unlock();
}

static void remove_from_list(struct vpmc_regions *regions)
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

struct region *vpmc_region_new(struct vpmc_regions *regions, const char *name)
{
	size_t size = sizeof(struct region) +
		      2 * regions->nr_values * sizeof(struct vpmc_stats);
	struct region *region = calloc(1, size);

	if (!region)
		return NULL;
	region->name = strdup(name);
	if (!region->name) {
		free(region);
		return NULL;
	}
	region->regions = regions;
	vpmc_region_functions(&region->public, regions->flags);
	return region;
}

void vpmc_region_free(struct region *region)
{
	if (!region)
		return;
	free(region->name);
	free(region);
}

static void free_regions(struct vpmc_regions *regions)
{
	struct region *region, *next;

	for (region = regions->first; region; region = next) {
		next = region->next;
		vpmc_region_free(region);
	}
	vpmc_close(regions->v);
	vpmc_free_events(regions->events);
	pthread_mutex_destroy(&regions->lock);
	free(regions->log);
	free(regions);
}

/*
 * Programs the events of @list. Without @list, uses the set that the thread
 * has.
 */
static int open_set(struct vpmc_regions *regions, const char *list,
		    struct vpmc_error *error)
{
	unsigned int nr;
	int err = vpmc_open(&regions->v, list ? 0 : VPMC_OPEN_EXISTING, error);

	if (err)
		return err;
	if (list) {
		err = vpmc_parse_events(list, &regions->events, &nr, error);
		if (!err)
			err = vpmc_program(regions->v, regions->events, nr, 0,
					   error);
		if (err < 0)
			return err;
	}
	err = vpmc_get_control(regions->v, &regions->control);
	if (err)
		return vpmc_error_system(error, err, WHAT);
	regions->nr = regions->control.nr_counters;
	return 0;
}

/* Initializes what begin and end need, and allocates the log. */
static int prepare(struct vpmc_regions *regions)
{
	const struct vpmc *v = regions->v;
	size_t reserve;

	regions->nr_values = 1 + regions->nr;
	regions->record_size = (WORD_VALUES + regions->nr_values) * sizeof(uint64_t);
	regions->log = malloc(LOG_SIZE);
	if (!regions->log)
		return -ENOMEM;
	/*
	 * Reserve space for the last begin below the limit, and for the ends of
	 * all open regions.
	 */
	reserve = (1 + VPMC_REGIONS_DEPTH) * regions->record_size;
	regions->head = regions->done = regions->log;
	regions->limit = (uint64_t *)((char *)regions->log + LOG_SIZE - reserve);
	regions->top = &regions->stack[1];
	regions->deepest = &regions->stack[1 + VPMC_REGIONS_DEPTH];
	regions->page = v->page ? v->page : &no_page;
	regions->running = v->reader ? v->running : NOT_RUNNING;
	regions->owner = thread_pointer();
	regions->tid = gettid();
	regions->last = &regions->first;
	prctl(PR_GET_NAME, regions->comm);
	vpmc_get_info(&regions->info);
	return 0;
}

static int measure(struct vpmc_regions *regions, struct vpmc_error *error)
{
	int err = vpmc_regions_measure(regions);

	switch (err) {
	case -ENODATA:
		return vpmc_error_set(error, err, VPMC_WHY_SYSTEM, WHAT,
				      "the thread has no set that runs",
				      "name events, or start the set before");
	case -EAGAIN:
		return vpmc_error_set(error, err, VPMC_WHY_SYSTEM, WHAT,
				      "no empty region was left undisturbed",
				      "try again on a less busy machine");
	}
	return err ? vpmc_error_system(error, err, WHAT) : 0;
}

static int check_open(unsigned int flags, struct vpmc_error *error)
{
	if (flags && flags != VPMC_REGIONS_LFENCE && flags != VPMC_REGIONS_TWICE)
		return vpmc_error_set(error, -EINVAL, VPMC_WHY_SYSTEM, WHAT,
				      "unknown flags",
				      "use one of VPMC_REGIONS_LFENCE and VPMC_REGIONS_TWICE, or none");
	if (thread_has_regions())
		return vpmc_error_set(error, -EEXIST, VPMC_WHY_SYSTEM, WHAT,
				      "this thread has its regions open",
				      "use those, or close them before");
	return 0;
}

EXPORT int vpmc_regions_open(struct vpmc_regions **out, const char *list,
			     unsigned int flags, struct vpmc_error *error)
{
	struct vpmc_regions *regions;
	int err;

	*out = NULL;
	vpmc_error_none(error);
	err = check_open(flags, error);
	if (err)
		return err;
	regions = calloc(1, sizeof(*regions));
	if (!regions)
		return vpmc_error_system(error, -ENOMEM, WHAT);
	pthread_mutex_init(&regions->lock, NULL);
	regions->flags = flags;
	err = open_set(regions, list, error);
	if (!err) {
		err = prepare(regions);
		if (err)
			vpmc_error_system(error, err, WHAT);
	}
	if (!err)
		err = measure(regions, error);
	if (err) {
		free_regions(regions);
		return err;
	}
	add(regions);
	*out = regions;
	return 0;
}

EXPORT int vpmc_regions_close(struct vpmc_regions *regions)
{
	bool ended, open;

	if (!regions)
		return 0;
	ended = regions->tid != (uint32_t)gettid();
	if (ended && !access("/proc/self/task", F_OK)) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/task/%u", regions->tid);
		if (!access(path, F_OK))
			return -EPERM;
	}
	vpmc_samples_settle(regions);
	open = regions->depth;
	if (!secure_getenv("VPMC_REPORT")) {
		remove_from_list(regions);
		free_regions(regions);
	} else {
		vpmc_regions_lock();
		vpmc_close(regions->v);
		regions->v = NULL;
		regions->owner = NULL;
		vpmc_regions_unlock();
	}
	return open ? -EBUSY : 0;
}

EXPORT struct vpmc *vpmc_regions_handle(struct vpmc_regions *regions)
{
	return regions->v;
}

/* Returns the number of a value, or -1 if the set does not have it. */
static int value_of(const struct vpmc_regions *regions, int event)
{
	if (event < VPMC_RUN_TIME || event >= (int)regions->nr)
		return -1;
	return 1 + event;
}

EXPORT int vpmc_regions_cost(const struct vpmc_regions *regions, int event,
			     uint64_t *inside, uint64_t *around)
{
	int i = value_of(regions, event);

	*inside = i < 0 ? 0 : regions->inside[i];
	*around = i < 0 ? 0 : regions->around[i];
	return i < 0 ? -EINVAL : 0;
}

EXPORT int vpmc_region_get(struct vpmc_regions *regions, const char *name,
		       struct vpmc_region **out)
{
	struct region *region;

	*out = NULL;
	if (!name || !*name || strlen(name) > NAME_MAX_LENGTH)
		return -EINVAL;
	if (!regions->v || regions->owner != thread_pointer())
		return -EPERM;
	for (region = regions->first; region; region = region->next)
		if (!strcmp(region->name, name))
			break;
	if (!region) {
		if (regions->nr_regions == VPMC_REGIONS_MAX)
			return -ENOSPC;
		region = vpmc_region_new(regions, name);
		if (!region)
			return -ENOMEM;
		/* Another thread's report may walk the list. */
		pthread_mutex_lock(&regions->lock);
		*regions->last = region;
		regions->last = &region->next;
		regions->nr_regions++;
		pthread_mutex_unlock(&regions->lock);
	}
	*out = &region->public;
	return 0;
}

EXPORT const struct vpmc_stats *vpmc_region_stats(struct vpmc_region *public,
						  int event, unsigned int which)
{
	struct region *region = (struct region *)public;
	int i = value_of(region->regions, event);

	if (i < 0 || which > VPMC_EXCLUSIVE)
		return NULL;
	vpmc_samples_settle(region->regions);
	return &region->stats[2 * i + which];
}

EXPORT uint64_t vpmc_region_dirty(struct vpmc_region *public, int event,
				  unsigned int which)
{
	struct region *region = (struct region *)public;
	int i = value_of(region->regions, event);

	if (i < 0 || which > VPMC_EXCLUSIVE)
		return 0;
	vpmc_samples_settle(region->regions);
	return region->dirty_sum[which][i];
}

EXPORT void vpmc_region_count(struct vpmc_region *public,
			      struct vpmc_region_calls *calls)
{
	struct region *region = (struct region *)public;

	vpmc_samples_settle(region->regions);
	calls->dirty = region->dirty;
	calls->calls = region->stats[0].n + region->dirty;
	calls->unfinished = region->unfinished;
}

const char *vpmc_regions_event(const struct vpmc_regions *regions,
			       unsigned int element, char buffer[VPMC_NAME_SIZE],
			       uint64_t *select)
{
	const struct vpmc_event *event = regions->events;
	unsigned long long number = regions->control.counter[element].evtsel;

	*select = number;
	if (event) {
		while (event->element != (int)element)
			event++;
		*select = event->select;
		return event->name;
	}
	snprintf(buffer, VPMC_NAME_SIZE, "%#llx", number);
	return buffer;
}
