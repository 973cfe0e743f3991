/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One measurement: a run of COMMAND, or of another process for some time.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <vpmc.h>

#include "common/departures.h"
#include "stat/plan.h"
#include "stat/stat-options.h"

/* counts of a thread, or of a family of threads */
struct counts {
	uint64_t sum[VPMC_MAX_COUNTERS];	/* indexed by struct vpmc_event.element */
	uint64_t ns;				/* run time in nanoseconds */
	uint64_t switches;
	uint64_t migrations;
};

/* A set that is read, and what it had counted at certain times */
struct tap {
	struct vpmc *v;
	uint64_t number;	/* of our set, among those that the thread has had */
	unsigned int nr;	/* number of its counters; programs may have added others */
	struct counts base;	/* at the end of -D: not in the result */
	uint64_t base_finished;	/* threads that had ended by then */
	struct counts seen;	/* at the end of the latest interval */
	bool revoked;		/* poll() has said so: reads do not when the thread has ended */
};

#define THREAD_STAYED	(-1)

/* A row of --per-thread. */
struct thread {
	pid_t tid;
	char name[16];
	uint64_t number;	/* in the order in which COMMAND's threads were created; 0: the first one */
	bool lives;
	int left;		/* how it left without ending: DEPARTURE_* or THREAD_STAYED */
	struct counts counts;
};

struct run {
	unsigned int group;	/* index in struct plan */
	struct counts counts;
	uint64_t elapsed;	/* nanoseconds */
	uint64_t threads;	/* number of threads that were counted */
	uint64_t living;	/* number of these threads that still run */
	struct departures left;	/* threads that went on without this set */
	uint64_t replaced;	/* number of threads that programmed other counters, so that all their counts are missing */
	bool timed_out;		/* --timeout has ended it */
	bool early;		/* it ended before -D was over: nothing was counted */
	bool revoked;		/* counts end at the revocation */
	bool detached;		/* counts end early; COMMAND may have got other privileges */
	bool has_status;
	int status;		/* status of COMMAND, from wait() */
	bool has_usage;
	struct rusage usage;	/* of COMMAND and those that it has waited for */
	struct thread *thread;	/* rows of --per-thread */
	unsigned int nr_threads;
	uint64_t unlisted;	/* number of threads without a row, because they ended too fast */
};

/*
 * Adds the counts of a thread and its family to @run, without those of -D. With @per_thread,
 * also adds a row. If the thread has programmed another set than ours, nothing is added.
 */
void run_add(struct run *run, const struct tap *tap, pid_t tid, const char *name,
	     bool per_thread);

/* Adds a row for a thread by itself, if it has our set. */
void run_add_row(struct run *run, const struct tap *tap, pid_t tid, const char *name);

/* Adds the counts of all that have inherited from this thread, see child_family(). */
void run_add_family(struct run *run, const struct tap *tap);

/* Notes which set @v has now, with the counters of @group. */
void tap_open(struct tap *tap, struct vpmc *v, const struct group *group);

/* -D is over: what was counted until now is left out. */
void tap_begin(struct tap *tap);

/*
 * Adds to @step what was counted since the last call, or since tap_begin(). Nothing that is
 * printed for an interval is taken back later, whatever the thread programs.
 */
void tap_step(struct tap *tap, struct run *step);

struct thread *run_new_thread(struct run *run, pid_t tid, const char *name);

/*
 * Returns the flags of CONTROL for the options, except those that start the
 * set.
 */
unsigned int control_flags(const struct stat_options *options);

/* Runs COMMAND with the events of @group. */
void command_run(const struct stat_options *options, struct group *group,
		 struct run *run);

/* Counts the processes of -p or the threads of -t. */
void target_run(const struct stat_options *options, struct group *group,
		struct run *run);

#endif /* RUN_H */
