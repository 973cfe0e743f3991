/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Combines the results of all runs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RESULT_H
#define RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/quantiles.h"
#include "stat/plan.h"
#include "stat/regions.h"
#include "stat/run.h"

struct result {
	const struct stat_options *options;
	const struct plan *plan;
	struct run *run;
	unsigned int nr;	/* number of finished runs */
	unsigned int early;	/* number of further runs, which ended before -D was over */
	bool input_was_read;	/* by the first of several runs, also of --warmup */
	int other_status;	/* of the first run that failed and is in no number */
	struct stat_regions regions;	/* of -m */
};

/* statistics of a number over all runs that have it */
struct value {
	unsigned int runs;	/* number of runs; 0 if the value is unknown */
	uint64_t mean;		/* rounded mean; with one run, the exact number */
	double deviation;	/* standard deviation of a sample, 0 with one run */
	struct quantiles order;
};

static inline struct value value_of_one(uint64_t number)
{
	return (struct value){ .runs = 1, .mean = number,
			       .order = quantiles_of_one(number) };
}

/* Returns the value of an event over the runs of its group. */
struct value result_event(const struct result *result, unsigned int group,
			  const struct vpmc_event *event);

/* facts that each run has */
enum fact {
	FACT_RUN_TIME,		/* nanoseconds */
	FACT_SWITCHES,
	FACT_MIGRATIONS,
	FACT_ELAPSED,		/* nanoseconds */
	FACT_THREADS,
	FACT_USER_TIME,		/* nanoseconds; this and the rest: of a COMMAND that has ended */
	FACT_SYSTEM_TIME,	/* nanoseconds */
	FACT_MINOR_FAULTS,
	FACT_MAJOR_FAULTS,
	FACT_MAX_RSS,		/* bytes */
	NR_FACTS,
	FACT_PAGE_FAULTS = NR_FACTS,	/* the sum of both kinds, for software rows alone */
};

/* Returns the value over the runs that know it. */
struct value result_fact(const struct result *result, enum fact fact);

/* The fact of one run, and whether the run knows it */
uint64_t run_fact(const struct run *run, enum fact fact);
bool run_has_fact(const struct run *run, enum fact fact);

/* Has COMMAND failed? SIGTERM is no failure if --timeout has sent it. */
bool run_failed(const struct run *run);

/* Returns false if a fact has no value here. The first ones always have one. */
bool fact_is_known(enum fact fact, const struct value *value);

/* Returns true if -e names a fact as CSV does. Then it is printed once, where -e's names are. */
bool fact_is_row(const struct result *result, enum fact fact);

/* names in CSV; JSON replaces "-" by "_" and appends "_ns" or "_bytes" */
extern const char *const fact_name[NR_FACTS];

/* "ns" or "bytes", or "" for numbers */
const char *fact_unit(enum fact fact);
bool fact_is_time(enum fact fact);

/* ratio of two events */
struct metric {
	char *name;		/* "branch-misses per branch" */
	const char *per;	/* "per branch" */
	double value;
};

/*
 * Finds the ratio that is printed beside an event. Returns false if there is
 * none.
 */
bool result_metric(const struct result *result, unsigned int group,
		   const struct vpmc_event *event, struct metric *metric);

/* Returns all ratios of --metrics. */
struct metric *result_metrics(const struct result *result, unsigned int *nr);

/* remarks on all runs together */
struct remarks {
	uint64_t living;
	struct departures left;
	uint64_t replaced;
	unsigned int wanted;	/* number of runs that were to be made */
	unsigned int made;	/* number of runs that were made */
	int signal;		/* what ended them before, or 0 if the next one could not begin */
	unsigned int timed_out;	/* number of runs that --timeout has ended */
	bool early;		/* all runs of a group ended before -D was over */
	bool not_started;	/* --stopped, and nobody has started the counters */
	bool revoked;
	bool detached;
	bool input_was_read;	/* the later runs had another input than the first one */
	bool has_status;
	int status;		/* first status that is not 0, from wait() */
	bool failed;		/* it is one of a failure, and not of --timeout's SIGTERM */
};

struct remarks result_remarks(const struct result *result);

/*
 * Returns why counts are not what they seem: "revoked", "replaced", "detached",
 * "left", "early": -D was not over, "not-started": --stopped, or "input": later runs had
 * another input. "" if nothing is the matter.
 */
const char *remarks_mark(const struct remarks *remarks);

/*
 * Calls @print for each number of @remarks, with the name that it has in JSON. CSV has
 * "-" for "_".
 */
void remarks_numbers(const struct remarks *remarks,
		     void (*print)(void *to, const char *name, uint64_t number),
		     void *to);

/*
 * Returns a name for a column: as it was written, with its modes, without the table of
 * libpfm4 and attributes that nobody wrote. It may be in @buffer.
 */
const char *event_label(const struct vpmc_event *event, char buffer[VPMC_NAME_SIZE]);

/*
 * Writes a counter's name, such as "fixed0" or "2", to @buffer, or "" if it is not
 * known.
 */
const char *counter_name(uint32_t index, char buffer[16]);

/* words for them in text */
extern const char *const fact_words[NR_FACTS];

/* output formats */
void print_text(FILE *file, const struct result *result, bool colour);
void print_json(FILE *file, const struct result *result);
void print_csv(FILE *file, const struct result *result);

/* Says how COMMAND has ended, from wait(), unless it has succeeded. */
void print_status(FILE *file, int status);

/* Prints a table of least, median and greatest values, and of outliers. */
void print_order(FILE *file, const struct result *result, bool colour);

struct json_object;

/* Returns the object that print_json() prints. */
struct json_object *result_object(const struct result *result);

/* Adds what was counted, and how it ended. */
void json_subject(struct json_object *object,
		  const struct stat_options *options,
		  const struct remarks *remarks);

/*
 * Prints the whole object and gives it back. With -I it is the last of objects that have a
 * line each.
 */
void print_json_object(FILE *file, struct json_object *object,
		       const struct stat_options *options);

/* Number of columns of the CSV of a COMMAND or thread. Each line has all of them. */
#define STAT_COLUMNS	17

/* Prints fields with separators between them. NULL is an empty one. */
void csv_line(FILE *file, const char *const *fields, size_t nr, char separator);

#endif /* RESULT_H */
