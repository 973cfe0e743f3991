/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of vpmc stat.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef STAT_OPTIONS_H
#define STAT_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/rank.h"

struct stat_options {
	char *events;		/* NULL for the default events */
	unsigned int repeat;	/* -r, 1 if not given */
	unsigned int warmup;	/* --warmup, 0 if not given */
	bool inherit;
	bool per_thread;
	bool metrics;
	char *metric_groups;	/* -M, NULL if not given */
	unsigned int detailed;	/* how often -d was given */
	bool marked;		/* -m */
	bool split;
	bool stopped;
	const char *format;	/* --format, NULL if not given */
	bool json;
	bool markdown;		/* of a comparison */
	bool openmetrics;
	unsigned int interval_ms;	/* --interval, 0 if not given */
	struct rank rank;
	char separator;		/* -x, 0 if not given */
	const char *output;	/* -o */
	unsigned int series_ms;	/* -I, 0 if not given */
	unsigned int delay_ms;	/* -D, 0 if not given */
	unsigned int timeout_ms;	/* --timeout, 0 if not given */
	pid_t *target;		/* numbers of -p or -t */
	unsigned int nr_targets;	/* 0 if there are none */
	bool threads;		/* they are of -t */
	bool all_cpus;		/* -a, also with -C */
	char *cpus;		/* -C, NULL if not given */
	bool software;		/* -e may have names that take no counter */
	bool both_modes;	/* events without modes count user and kernel */
	bool revoke;
	const char *base;	/* --compare */
	const char *other;	/* --vs */
	char *limits;		/* --limit */
	bool other_cpu;		/* with --compare, another processor is no error */
	char **command;		/* NULL if there is none */
};

#endif /* STAT_OPTIONS_H */
