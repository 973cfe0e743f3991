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

#include "stats.h"

/* words of a record; "values" are the ticks and the counts */
enum { WORD_REGION, WORD_MARK, WORD_VALUES, WORD_COUNTS };

#define MAX_VALUES	(1 + VPMC_MAX_COUNTERS)

/* No page has this generation. */
#define NEVER_SEEN	(~0ULL)

/*
 * A mark is the generation of the page. This bit is added if the values were
 * read by a system call. Equal marks at begin and end mean that nothing came
 * between.
 */
#define MARK_BY_CALL	(1ULL << 63)

/* Bit of the mark of an end: another set has been programmed, so the values are not ours. */
#define MARK_REPLACED	(1ULL << 62)

/*
 * A region with its statistics, two for each value. It has a mapping of its own, because a
 * signal handler may make one. The name follows the statistics.
 */
struct region {
	struct vpmc_region public;
	struct vpmc_regions *regions;
	struct region *next;
	char *name;
	size_t size;			/* of the mapping */
	bool by_markers;		/* they end it, whether or not it has begun */
	uint64_t dirty, unfinished, replaced;
	uint64_t refused;		/* handlers may add to it at any moment */
	unsigned int skipped;		/* ends to come of markers that could not begin */
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
 * Regions of a thread. The members that begin and end need come first.
 *
 * @owner is @thread, or NULL while the thread itself changes the log, the statistics or
 * the list of regions. A signal handler that comes then finds another owner, and is
 * refused. This is no lock against other threads.
 */
struct vpmc_regions {
	const struct vpmc_page *page;
	const void *owner;
	uint64_t seen;			/* generation at which the set was ours and ran, or NEVER_SEEN */
	uint64_t *head;			/* where the next record goes */
	uint64_t *limit;		/* no region may begin at or above this */
	struct region **top;		/* above the region that began last */
	struct region **deepest;
	size_t record_size;		/* in bytes */
	uintptr_t bytes;		/* of the counts in a record */

	const void *thread;		/* thread pointer; NULL after the thread's end */
	uint64_t set_number;
	unsigned int nr;		/* counters that the set had at first */
	unsigned int nr_values;
	bool by_rdpmc;			/* otherwise each read is a system call */
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
	void (*ends)(struct vpmc_regions *regions);	/* called at the thread's end */
	unsigned int rounds;		/* of the thread's destructors */
	unsigned int merged;		/* number of threads whose values were added */
	bool is_retired;		/* only the report uses them */
	bool is_marked;			/* markers have opened them */
	bool is_again;			/* in a child of fork(): begun regions may be the parent's */
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
	uint64_t late_begin[MAX_VALUES];	/* costs of a marker's first begin */
	uint64_t late_end[MAX_VALUES];		/* costs of a marker's first end, to its region */
	uint64_t late_after[MAX_VALUES];	/* and to the regions around that */
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
 * Empties the log. Only the owner may call this, while it is busy. What is counted from there to
 * vpmc_samples_flushed() is subtracted from all open regions, and so is @more, unless it is NULL.
 */
struct flush {
	uint64_t before[MAX_VALUES];
	bool good;
};

void vpmc_samples_flush(struct vpmc_regions *regions, struct flush *flush);
void vpmc_samples_flushed(struct vpmc_regions *regions, const struct flush *flush,
			  const uint64_t *more);

/* Adds all ended samples to the statistics. Any thread may call this. */
void vpmc_samples_settle(struct vpmc_regions *regions);

/* The calling thread is busy from here on: its signal handlers are refused. */
static inline void vpmc_regions_enter(struct vpmc_regions *regions)
{
	regions->owner = NULL;
	vpmc_barrier();
}

static inline void vpmc_regions_leave(struct vpmc_regions *regions)
{
	vpmc_barrier();
	regions->owner = regions->thread;
}

/* Do the regions belong to the calling thread, and is it alive for the library? */
static inline bool vpmc_regions_are_own(const struct vpmc_regions *regions)
{
	return regions->v && regions->thread == thread_pointer();
}

enum hold { NOT_HELD, HELD, HELD_BY_OWNER };

/*
 * Takes the lock of the statistics and of the list of regions. While a thread holds the
 * lock of its own regions, it is busy. A signal handler that has interrupted it there gets
 * NOT_HELD.
 */
enum hold vpmc_regions_hold(struct vpmc_regions *regions);
void vpmc_regions_release(struct vpmc_regions *regions, enum hold hold);

/*
 * cost.c: measures the costs of begin and end. Returns 0, -EAGAIN or the error
 * of begin.
 */
int vpmc_regions_measure(struct vpmc_regions *regions);

/* mark.c: sets the functions of a region for these flags. */
void vpmc_region_functions(struct vpmc_region *region, unsigned int flags);

/* marker.c */

/*
 * What markers of this thread use, also while these regions are measured. NULL: the thread has to
 * look for its regions.
 */
void vpmc_marker_use(struct vpmc_regions *regions);

/* The thread closes these regions. */
void vpmc_marker_forget(const struct vpmc_regions *regions);

/* The thread goes on in a child of fork(). */
void vpmc_marker_in_child(void);

/*
 * In a child of fork(): the handles of the thread's markers point to its regions, which are the
 * parent's. The next begin opens them again.
 */
void vpmc_marker_forked(struct vpmc_regions *regions);

/* A marker could not begin. Its end must not end another sample of the region. */
void vpmc_marker_skip(struct region *region, int error);

/* Prints a line on standard error, if no line of that kind was printed. */
enum marker_line { LINE_NOT_COUNTED, LINE_NOT_BEGUN, LINE_TOO_MANY, LINE_SKIPPED, LINE_BREAK };

__attribute__((__format__(__printf__, 2, 3)))
void vpmc_marker_say(enum marker_line line, const char *format, ...);

/* registry.c */

/* Returns the list of all regions of the process, and locks it. */
struct vpmc_regions *vpmc_regions_lock(void);
void vpmc_regions_unlock(void);

/* Returns the regions that the calling thread has open, or NULL. */
struct vpmc_regions *vpmc_regions_of_thread(void);

/*
 * Takes the regions of the thread that has called fork() out of the parent's, in the child. Returns
 * them if markers have opened them, or NULL.
 */
struct vpmc_regions *vpmc_regions_inherited(void);

/* Gives them back to the parent's: they cannot be opened in the child. */
void vpmc_regions_give_back(struct vpmc_regions *regions);

/*
 * Calls @ends at the end of the calling thread. Returns 0, or -1 if that would not be
 * noticed.
 */
int vpmc_regions_add(struct vpmc_regions *regions,
		     void (*ends)(struct vpmc_regions *regions));
void vpmc_regions_remove(struct vpmc_regions *regions);

/* The calling thread closes these regions. Its end has nothing to do. */
void vpmc_regions_forget(const struct vpmc_regions *regions);

/*
 * Keeps closed regions for the report. Returns false if they were added to those of
 * another thread, and are not needed any more.
 */
bool vpmc_regions_keep(struct vpmc_regions *regions);

/* open.c */

/*
 * Opens the regions of a thread for its markers. They count VPMC_EVENTS, or what the thread's
 * set counts, or the usual events.
 */
int vpmc_regions_open_marked(struct vpmc_regions **regions, struct vpmc_error *error);

/* Opens them again in a child of fork(), without what the parent has counted. */
int vpmc_regions_open_again(struct vpmc_regions *regions, struct vpmc_error *error);

void vpmc_regions_free(struct vpmc_regions *regions);

/* region.c */

struct region *vpmc_region_new(struct vpmc_regions *regions, const char *name);
void vpmc_region_free(struct region *region);

/* Adds the values of @from, and its regions that @to does not have. Both are retired. */
void vpmc_regions_merge(struct vpmc_regions *to, struct vpmc_regions *from);

/* How many samples of the region have ended */
uint64_t vpmc_region_ended(const struct region *region);

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
