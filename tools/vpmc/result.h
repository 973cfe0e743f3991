/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all measurements together say.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RESULT_H
#define RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plan.h"
#include "run.h"

struct result {
	const struct stat_options *options;
	const struct plan *plan;
	struct run *run;
	unsigned int nr;	/* that were finished */
};

/* A number over all runs that have it. */
struct value {
	unsigned int runs;	/* 0: nothing is known */
	uint64_t mean;		/* rounded; with one run the number itself */
	double deviation;	/* standard deviation of a sample, 0 with one run */
};

/* An event of a group; runs of other groups do not have it. */
struct value result_event(const struct result *result, unsigned int group,
			  const struct vpmc_event *event);

/* Facts that each run has. */
enum fact {
	FACT_RUN_TIME,		/* nanoseconds */
	FACT_SWITCHES,
	FACT_MIGRATIONS,
	FACT_ELAPSED,		/* nanoseconds */
	FACT_THREADS,
	NR_FACTS
};

struct value result_fact(const struct result *result, enum fact fact);

/* Their names in CSV, and in JSON with "_" and "_ns". */
extern const char *const fact_name[NR_FACTS];
extern const bool fact_is_time[NR_FACTS];

/* A ratio. */
struct metric {
	char *name;		/* "branch-misses per branch" */
	const char *per;	/* "per branch" */
	double value;
};

/* The one that is shown beside an event; false: there is none. */
bool result_metric(const struct result *result, unsigned int group,
		   const struct vpmc_event *event, struct metric *metric);

/* All of --metrics. */
struct metric *result_metrics(const struct result *result, unsigned int *nr);

/* What is to be said of all runs together. */
struct remarks {
	uint64_t living;
	uint64_t lost;
	bool revoked;
	bool detached;
	bool has_status;
	int status;		/* the first that is not 0, as wait() has it */
};

struct remarks result_remarks(const struct result *result);

/* "revoked", "detached", or "" */
const char *remarks_mark(const struct remarks *remarks);

/* "fixed0", "2"; in a buffer of the caller's */
const char *counter_name(uint32_t index, char buffer[16]);

/* The three formats. */
void print_text(FILE *file, const struct result *result, bool colour);
void print_json(FILE *file, const struct result *result);
void print_csv(FILE *file, const struct result *result);

struct json_object;

/* Adds what was counted, and how it ended. */
void json_subject(struct json_object *object,
		  const struct stat_options *options,
		  const struct remarks *remarks);

/* Prints the whole object and gives it back. */
void print_json_object(FILE *file, struct json_object *object);

/* Prints fields with separators between them. NULL is an empty one. */
void csv_line(FILE *file, const char *const *fields, size_t nr, char separator);

#endif /* RESULT_H */
