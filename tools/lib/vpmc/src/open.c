// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opens and closes the regions of a thread.
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
#define USUAL_EVENTS	"instructions?,cycles?"	/* of markers, if nobody has named others */

/* page of a thread whose page could not be mapped; its set does not run */
static const struct vpmc_page no_page;

void vpmc_regions_free(struct vpmc_regions *regions)
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

/* Counts the events of @list. */
static int share(struct vpmc_regions *regions, const char *list,
		   struct vpmc_error *error)
{
	unsigned int nr, i;
	int err = vpmc_parse_events(list, &regions->events, &nr, error);

	if (err)
		return err;
	err = vpmc_share(regions->v, regions->events, nr, error);
	if (err < 0)
		return err;
	for (i = 0; i < nr; i++)
		if (!(regions->events[i].flags & VPMC_EVENT_LEFT_OUT))
			regions->element[regions->nr_events++] =
				regions->events[i].element;
	return 0;
}

/* Does the set have the events that the caller has named? */
static bool is_shared(const struct vpmc_regions *regions)
{
	const struct vpmc_event *event = regions->events;
	enum vpmc_kind kind = vpmc_processor_kind();
	unsigned int i;

	for (i = 0; event && i < regions->nr_events; event++) {
		if (event->flags & VPMC_EVENT_LEFT_OUT)
			continue;
		if (regions->element[i] >= regions->control.nr_counters ||
		    !vpmc_same_select(kind, regions->control.counter[regions->element[i]].evtsel,
				      event->select))
			return false;
		i++;
	}
	return true;
}

/*
 * Without @list, uses the set that the thread has. Markers count the usual events if there is none.
 */
static int open_set(struct vpmc_regions *regions, const char *list,
		    struct vpmc_error *error)
{
	struct vpmc_read sums;
	int err = vpmc_open(&regions->v, list ? 0 : VPMC_OPEN_EXISTING, error);
	bool has_none = err == -ENOENT;

	/*
	 * What others have added stays as long as the regions count it. Without the right to
	 * add, they count all the same.
	 */
	if (!err && !list)
		has_none = vpmc_add_events(regions->v, NULL, 0, NULL) == -ENODATA;
	if (has_none && !list && regions->is_marked) {
		list = USUAL_EVENTS;
		if (err)
			err = vpmc_open(&regions->v, 0, error);
	}
	if (err)
		return err;
	if (list) {
		err = share(regions, list, error);
		if (err)
			return err;
	}
	err = vpmc_read_sums(regions->v, 0, &sums);
	if (!err)
		err = vpmc_get_control(regions->v, &regions->control);
	if (err)
		return vpmc_error_system(error, err, WHAT);
	/* From here on, begin and end notice if somebody programs another set. */
	regions->set_number = sums.set_number;
	if (!is_shared(regions))
		return vpmc_error_set(error, -EEXIST, VPMC_WHY_EXISTS, WHAT,
				      "another set has just been programmed",
				      "try again");
	regions->nr = regions->control.nr_counters;
	if (!list)
		for (; regions->nr_events < regions->nr; regions->nr_events++)
			regions->element[regions->nr_events] = regions->nr_events;
	return 0;
}

/* Initializes what begin and end need, and allocates the log. */
static int prepare(struct vpmc_regions *regions)
{
	const struct vpmc *v = regions->v;
	size_t reserve;

	regions->nr_values = 1 + regions->nr;
	regions->record_size = (WORD_VALUES + regions->nr_values) * sizeof(uint64_t);
	regions->bytes = regions->nr * sizeof(uint64_t);
	if (!regions->log)
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
	regions->by_rdpmc = v->reader && v->running != NOT_RUNNING;
	regions->seen = NEVER_SEEN;
	regions->thread = regions->owner = thread_pointer();
	regions->tid = gettid();
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
	const unsigned int apart = VPMC_REGIONS_LFENCE | VPMC_REGIONS_TWICE;

	if (flags & ~(apart | VPMC_REGIONS_KEEP) || (flags & apart) == apart)
		return vpmc_error_set(error, -EINVAL, VPMC_WHY_SYSTEM, WHAT,
				      "unknown flags",
				      "use one of VPMC_REGIONS_LFENCE and VPMC_REGIONS_TWICE, or none, and VPMC_REGIONS_KEEP");
	if (vpmc_regions_of_thread())
		return vpmc_error_set(error, -EEXIST, VPMC_WHY_SYSTEM, WHAT,
				      "this thread has its regions open",
				      "use those, or close them before");
	return 0;
}

/* The thread of @regions has ended, or is the caller, which closes them. */
static void close_counters(struct vpmc_regions *regions)
{
	vpmc_samples_settle(regions);
	vpmc_marker_forget(regions);
	vpmc_regions_lock();
	vpmc_close(regions->v);
	regions->v = NULL;
	regions->owner = regions->thread = NULL;
	vpmc_regions_unlock();
}

/* Nobody may use the regions any more, except for the report. */
static void retire(struct vpmc_regions *regions)
{
	if (vpmc_report_is_wanted(regions) && vpmc_regions_keep(regions))
		return;
	vpmc_regions_remove(regions);
	vpmc_regions_free(regions);
}

/* The calling thread ends. */
static void thread_ends(struct vpmc_regions *regions)
{
	close_counters(regions);
	if (!(regions->flags & VPMC_REGIONS_KEEP))
		retire(regions);
}

static void report_at_exit(void)
{
	atexit(vpmc_report_at_exit);
}

/* The events that the environment names, or NULL. */
static const char *events_asked(void)
{
	const char *list = secure_getenv("VPMC_EVENTS");

	return list && *list ? list : NULL;
}

/* Opens the counters, and measures what regions cost with them. */
static int open_counters(struct vpmc_regions *regions, const char *list,
			 struct vpmc_error *error)
{
	int err = open_set(regions, list ? list : events_asked(), error);

	if (err)
		return err;
	err = prepare(regions);
	if (err)
		return vpmc_error_system(error, err, WHAT);
	err = measure(regions, error);
	if (!err && vpmc_regions_add(regions, thread_ends))
		err = vpmc_error_set(error, -ENOMEM, VPMC_WHY_SYSTEM, WHAT,
				     "the process has no pthread_key_t for its threads' ends",
				     "");
	return err;
}

static int open_regions(struct vpmc_regions **out, const char *list, unsigned int flags,
			bool is_marked, struct vpmc_error *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vpmc_regions *regions = calloc(1, sizeof(*regions));
	int err;

	if (!regions)
		return vpmc_error_system(error, -ENOMEM, WHAT);
	pthread_mutex_init(&regions->lock, NULL);
	regions->flags = flags;
	regions->is_marked = is_marked;
	regions->last = &regions->first;
	err = open_counters(regions, list, error);
	if (err) {
		vpmc_regions_free(regions);
		return err;
	}
	pthread_once(&once, report_at_exit);
	vpmc_report_begins();
	*out = regions;
	return 0;
}

EXPORT int vpmc_regions_open(struct vpmc_regions **out, const char *list,
			     unsigned int flags, struct vpmc_error *error)
{
	int err;

	*out = NULL;
	vpmc_error_none(error);
	err = check_open(flags, error);
	return err ? err : open_regions(out, list, flags, false, error);
}

int vpmc_regions_open_marked(struct vpmc_regions **out, struct vpmc_error *error)
{
	vpmc_error_none(error);
	return open_regions(out, NULL, 0, true, error);
}

/* What the parent has counted is not the child's. */
static void clear(struct vpmc_regions *regions)
{
	struct region *region;

	for (region = regions->first; region; region = region->next) {
		region->dirty = region->unfinished = region->replaced = region->refused = 0;
		region->skipped = 0;
		memset(region->dirty_sum, 0, sizeof(region->dirty_sum));
		memset(region->stats, 0, 2 * regions->nr_values * sizeof(*region->stats));
	}
	regions->depth = 0;
	regions->nr_events = 0;
	memset(regions->flushed, 0, sizeof(regions->flushed));
	memset(regions->inside, 0, sizeof(regions->inside));
	memset(regions->around, 0, sizeof(regions->around));
	memset(regions->full, 0, sizeof(regions->full));
	memset(regions->late_begin, 0, sizeof(regions->late_begin));
	memset(regions->late_end, 0, sizeof(regions->late_end));
	memset(regions->late_after, 0, sizeof(regions->late_after));
}

/* The set may be another one: the regions have room for the values of the parent's. */
int vpmc_regions_open_again(struct vpmc_regions *regions, struct vpmc_error *error)
{
	unsigned int room = regions->nr_values;
	int err;

	vpmc_error_none(error);
	vpmc_close(regions->v);
	vpmc_free_events(regions->events);
	regions->v = NULL;
	regions->events = NULL;
	pthread_mutex_init(&regions->lock, NULL);
	clear(regions);
	regions->is_again = true;
	err = open_counters(regions, NULL, error);
	if (!err && regions->nr_values > room)
		err = vpmc_error_set(error, -ENOSPC, VPMC_WHY_SYSTEM, WHAT,
				     "a child of fork() counts more events than its parent", "");
	if (!err) {
		vpmc_report_begins();
		return 0;
	}
	/* The thread has no regions now, so that a later mark does not find these. */
	vpmc_regions_give_back(regions);
	vpmc_close(regions->v);
	regions->v = NULL;
	regions->owner = regions->thread = NULL;
	return err;
}

/* Does the thread still run? */
static bool is_others(const struct vpmc_regions *regions)
{
	char path[64];

	if (!regions->v || regions->tid == (uint32_t)gettid())
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%u", regions->tid);
	return !access("/proc/self/task", F_OK) && !access(path, F_OK);
}

EXPORT int vpmc_regions_close(struct vpmc_regions *regions)
{
	bool open;

	if (!regions)
		return 0;
	if (is_others(regions))
		return -EPERM;
	vpmc_regions_forget(regions);
	close_counters(regions);
	open = regions->depth;
	retire(regions);
	return open ? -EBUSY : 0;
}
