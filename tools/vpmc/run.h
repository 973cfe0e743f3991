/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One measurement: a run of COMMAND, or a while of another process.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <vpmc.h>

#include "plan.h"
#include "stat.h"

/* What was counted of a thread, or of a family. */
struct counts {
	uint64_t sum[VPMC_MAX_COUNTERS];	/* by struct vpmc_event.element */
	uint64_t ns;				/* run time */
	uint64_t switches;
	uint64_t migrations;
};

/* A row of --per-thread. */
struct thread {
	pid_t tid;
	char name[16];
	struct counts counts;
};

struct run {
	unsigned int group;	/* of struct plan */
	struct counts counts;
	uint64_t elapsed;	/* nanoseconds */
	uint64_t threads;	/* that were counted */
	uint64_t living;	/* of these, how many live on */
	uint64_t lost;		/* descendants that were revoked */
	bool revoked;		/* the counts are those up to then */
	bool detached;		/* COMMAND has got other privileges, or who knows what */
	bool has_status;
	int status;		/* COMMAND's, as wait() has it */
	struct thread *thread;	/* with --per-thread */
	unsigned int nr_threads;
};

/* Adds what @v and its family counted to @run, and to a row for it. */
void run_add(struct run *run, const struct vpmc *v, pid_t tid,
	     const char *name, bool per_thread);

struct thread *run_new_thread(struct run *run, pid_t tid, const char *name);

/* The name of a thread; "?" if it has gone. */
void thread_name(pid_t tid, char name[16]);

/* CLOCK_MONOTONIC in nanoseconds */
uint64_t now(void);

/* Flags of CONTROL that the options stand for, but for what starts the set. */
unsigned int control_flags(const struct stat_options *options);

/* Runs COMMAND with the events of @group. */
void command_run(const struct stat_options *options, struct group *group,
		 struct run *run);

/* Counts -p or -t for a while. */
void target_run(const struct stat_options *options, struct group *group,
		struct run *run);

#endif /* RUN_H */
