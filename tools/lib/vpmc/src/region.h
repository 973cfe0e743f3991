/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files about regions share. None of them is exported.
 *
 * Begin and end only append a record to the thread's log. samples.c regularly
 * adds the log to the statistics. A record has the region that begins, or 0 if
 * the last one ends, then the mark, the ticks and the counts.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_REGION_PRIVATE_H
#define VPMC_REGION_PRIVATE_H

#include <pthread.h>

#include "internal.h"

/* words of a record; "values" are the ticks and the counts */
enum { WORD_REGION, WORD_MARK, WORD_VALUES, WORD_COUNTS };

#define MAX_VALUES	(1 + VPMC_MAX_COUNTERS)

/*
 * A mark is the generation of the page. This bit is added if the values were
 * read by a system call. Equal marks at begin and end mean that nothing came
 * between.
 */
#define MARK_BY_CALL	(1ULL << 63)

/* a region with its statistics, two for each value */
struct region {
	struct vpmc_region public;
	struct vpmc_regions *regions;
	struct region *next;
	char *name;
	uint64_t dirty, unfinished;
	uint64_t dirty_sum[2][MAX_VALUES];
	struct vpmc_stats stats[];
};

/* open region, as found in the log */
struct frame {
	struct region *region;
	uint64_t mark;
	uint64_t pairs;			/* number of regions that began and ended within */
	uint64_t begin[MAX_VALUES];
	uint64_t children[MAX_VALUES];	/* values of the regions directly within */
	uint64_t flushed[MAX_VALUES];	/* thread's @flushed when the region began */
};

/*
 * Regions of a thread. The members that begin and end need come first. @running
 * is the page's state and nr_counters while the set runs. If it is NOT_RUNNING,
 * each read is a system call.
 */
struct vpmc_regions {
	const struct vpmc_page *page;
	const void *owner;
	uint64_t running;
	uint64_t *head;			/* where the next record goes */
	uint64_t *limit;		/* no region may begin at or above this */
	struct region **top;		/* above the region that began last */
	struct region **deepest;
	size_t record_size;		/* in bytes */

	unsigned int nr;		/* number of counters of the set */
	unsigned int nr_values;
	/*
	 * events that the caller has named, and their elements of the set; all, if it has
	 * named none
	 */
	unsigned int nr_events;
	unsigned int element[VPMC_MAX_COUNTERS];
	unsigned int flags;
	uint32_t tid;
	struct vpmc *v;
	struct vpmc_event *events;	/* events that the caller has named, or NULL */
	struct vpmc_control control;	/* the set's */
	struct vpmc_regions *next;	/* next in order of opening */
	struct region *first, **last;
	unsigned int nr_regions;
	char comm[17];
	struct vpmc_info info;

	pthread_mutex_t lock;		/* protects all later members and the statistics */
	/*
	 * start of the log, and end of the records that are in the statistics
	 */
	uint64_t *log, *done;
	unsigned int depth;
	unsigned int tries;
	uint64_t *tried_at;
	uint64_t inside[MAX_VALUES], around[MAX_VALUES];
	uint64_t full[MAX_VALUES];	/* costs of a begin that finds the log full */
	uint64_t flushed[MAX_VALUES];	/* counts while the log was emptied */
	uint64_t sample[MAX_VALUES];	/* values of the sample that ended last */
	bool sample_is_clean;
	struct frame frame[VPMC_REGIONS_DEPTH];
	struct region *stack[1 + VPMC_REGIONS_DEPTH];
};

/* samples.c */

/* Adds all records of the log to the statistics. The caller holds the lock. */
void vpmc_samples_take(struct vpmc_regions *regions);

/*
 * Empties the log. Only the owner may call this. What this function counts is
 * subtracted from all open regions. With @full, so are the costs of a begin
 * that finds the log full.
 */
void vpmc_samples_flush(struct vpmc_regions *regions, bool full);

/* Adds all ended samples to the statistics. Any thread may call this. */
void vpmc_samples_settle(struct vpmc_regions *regions);

/*
 * cost.c: measures the costs of begin and end. Returns 0, -EAGAIN or the error
 * of begin.
 */
int vpmc_regions_measure(struct vpmc_regions *regions);

/* mark.c: sets the functions of a region for these flags. */
void vpmc_region_functions(struct vpmc_region *region, unsigned int flags);

/* registry.c */

/* Returns the list of all regions of the process, and locks it. */
struct vpmc_regions *vpmc_regions_lock(void);
void vpmc_regions_unlock(void);

/* Returns true if the calling thread has its regions open. */
bool vpmc_regions_of_thread(void);

void vpmc_regions_add(struct vpmc_regions *regions);
void vpmc_regions_remove(struct vpmc_regions *regions);

/* region.c */

struct region *vpmc_region_new(struct vpmc_regions *regions, const char *name);
void vpmc_region_free(struct region *region);

/*
 * Returns the index of an event's value: of the caller's @event-th one, or VPMC_RUN_TIME.
 * Returns -1 if there is none.
 */
int vpmc_regions_value(const struct vpmc_regions *regions, int event);

/* Returns the @event-th event's name as it can be written in a list of events. */
const char *vpmc_regions_event(const struct vpmc_regions *regions,
			       unsigned int event, char buffer[VPMC_NAME_SIZE],
			       uint64_t *select);

#endif /* VPMC_REGION_PRIVATE_H */
