/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files about regions share. Nothing of this is exported.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Begin and end append a record to the thread's log, and nothing else; from time to
 * time samples.c takes the log into the statistics. A record is the region that
 * begins, or 0 where the last one ends, the mark, the ticks and the counts.
 */
#ifndef VPMC_REGION_PRIVATE_H
#define VPMC_REGION_PRIVATE_H

#include <pthread.h>

#include "internal.h"

/* A record's words; what is counted, values, are the ticks and the counts. */
enum { WORD_REGION, WORD_MARK, WORD_VALUES, WORD_COUNTS };

#define MAX_VALUES	(1 + VPMC_MAX_COUNTERS)

/*
 * A mark is the generation of the page, with this bit of a read by system call. Equal
 * marks at begin and end say that nothing came between.
 */
#define MARK_BY_CALL	(1ULL << 63)

/* A region, and its statistics: two for each value. */
struct region {
	struct vpmc_region public;
	struct vpmc_regions *regions;
	struct region *next;
	char *name;
	uint64_t dirty, unfinished;
	uint64_t dirty_sum[2][MAX_VALUES];
	struct vpmc_stats stats[];
};

/* A region that has begun, as the log tells it. */
struct frame {
	struct region *region;
	uint64_t mark;
	uint64_t pairs;			/* regions that began and ended within */
	uint64_t begin[MAX_VALUES];
	uint64_t children[MAX_VALUES];	/* values of those directly within */
	uint64_t flushed[MAX_VALUES];	/* of the thread, when it began */
};

/*
 * What begin and end need comes first. @running is what the page has for a set that
 * runs with as many counters as there were, or NOT_RUNNING: then each read is a
 * system call.
 */
struct vpmc_regions {
	const struct vpmc_page *page;
	const void *owner;
	uint64_t running;
	uint64_t *head;			/* where the next record comes */
	uint64_t *limit;		/* from here on nothing may begin */
	struct region **top;		/* behind the region that has begun last */
	struct region **deepest;
	size_t record_size;		/* in bytes */

	unsigned int nr;		/* of counters */
	unsigned int nr_values;
	unsigned int flags;
	uint32_t tid;
	struct vpmc *v;
	struct vpmc_event *events;	/* those of the set; NULL: it was there */
	struct vpmc_control control;	/* of a set that was there */
	struct vpmc_regions *next;	/* in the order in which they were opened */
	struct region *first, **last;
	unsigned int nr_regions;
	char comm[17];
	struct vpmc_info info;

	pthread_mutex_t lock;		/* of all that follows, and of the statistics */
	uint64_t *log, *done;		/* up to there it is in the statistics */
	unsigned int depth;
	unsigned int tries;
	uint64_t *tried_at;
	uint64_t inside[MAX_VALUES], around[MAX_VALUES];
	uint64_t full[MAX_VALUES];	/* of a begin that finds no room */
	uint64_t flushed[MAX_VALUES];	/* what emptying the log has counted */
	uint64_t sample[MAX_VALUES];	/* the one that has ended last */
	bool sample_is_clean;
	struct frame frame[VPMC_REGIONS_DEPTH];
	struct region *stack[1 + VPMC_REGIONS_DEPTH];
};

/* samples.c */

/* Takes all records that are there into the statistics. With the lock. */
void vpmc_samples_take(struct vpmc_regions *regions);

/*
 * In the owner: the log is empty after that. What this counted is taken out of all
 * regions that have begun; @full: with what begin counts when it finds no room.
 */
void vpmc_samples_flush(struct vpmc_regions *regions, bool full);

/* In any thread: the statistics have all samples that have ended. */
void vpmc_samples_settle(struct vpmc_regions *regions);

/* cost.c: what begin and end count. 0, or -EAGAIN, or what begin has answered. */
int vpmc_regions_measure(struct vpmc_regions *regions);

/* mark.c: the functions of a region for these flags. */
void vpmc_region_functions(struct vpmc_region *region, unsigned int flags);

/* region.c */

/* All regions of the process, under their lock. */
struct vpmc_regions *vpmc_regions_lock(void);
void vpmc_regions_unlock(void);

struct region *vpmc_region_new(struct vpmc_regions *regions, const char *name);
void vpmc_region_free(struct region *region);

/* The event's name as it can be written in a list. */
const char *vpmc_regions_event(const struct vpmc_regions *regions,
			       unsigned int element, char buffer[VPMC_NAME_SIZE],
			       uint64_t *select);

#endif /* VPMC_REGION_PRIVATE_H */
