// SPDX-License-Identifier: GPL-2.0
/*
 * usage: units moments|threads|readings|reading
 *
 * Parts of the command that no run reaches for sure: moments that are due at the same time,
 * and a process that creates threads for ever, so that there are always further readings of
 * its directory, or that one never ends. The clock and the directory are made up here. No
 * kernel with vpmc is needed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/threads.h"
#include "stat/moments.h"

#define MS	1000000ULL
#define CHECK(true_)	do { if (!(true_)) errx(1, "line %d: %s", __LINE__, #true_); } while (0)

static uint64_t clock_ns = 5;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	time->tv_sec = clock_ns / (1000 * MS);
	time->tv_nsec = clock_ns % (1000 * MS);
	return 0;
}

static void test_intervals(void)
{
	const struct stat_options options = { .series_ms = 10, .timeout_ms = 25 };
	struct moments moments;
	struct interval interval;

	moments_begin(&moments, &options);
	CHECK(moments_due(&moments) == MOMENT_NONE);
	CHECK(moments_wait(&moments) == 11);
	clock_ns += 12 * MS;
	CHECK(!moments_wait(&moments));
	CHECK(moments_due(&moments) == MOMENT_INTERVAL);
	interval = moments_interval(&moments);
	CHECK(interval.time == 12 * MS && interval.length == 12 * MS);
	CHECK(moments_due(&moments) == MOMENT_NONE);
	clock_ns += 18 * MS;
	/* Whoever prints for longer than an interval still comes to the end. */
	CHECK(moments_due(&moments) == MOMENT_TIMEOUT);
	CHECK(moments_due(&moments) == MOMENT_INTERVAL);
	CHECK(!moments_wait(&moments));
	interval = moments_interval(&moments);
	CHECK(interval.time == 30 * MS && interval.length == 18 * MS);
	/* COMMAND still runs, and intervals go on. */
	clock_ns += 1999 * MS;
	CHECK(moments_due(&moments) == MOMENT_INTERVAL);
	CHECK(moments_interval(&moments).length == 1999 * MS);
	CHECK(moments_due(&moments) == MOMENT_NONE);
	clock_ns += MS;
	CHECK(moments_due(&moments) == MOMENT_IMPATIENT);
	CHECK(moments_due(&moments) == MOMENT_INTERVAL);
	moments_interval(&moments);
	CHECK(moments_due(&moments) == MOMENT_NONE && moments_wait(&moments) == 11);
	clock_ns += MS;
	CHECK(moments_end(&moments) == 2031 * MS);
	clock_ns += MS;
	CHECK(moments_interval(&moments).time == 2031 * MS);
}

static void test_delay(void)
{
	const struct stat_options options = { .series_ms = 1, .delay_ms = 5, .timeout_ms = 7 };
	struct moments moments;

	moments_begin(&moments, &options);
	clock_ns += 4 * MS;
	CHECK(moments_due(&moments) == MOMENT_NONE && moments_wait(&moments) == 2);
	CHECK(!moments_end(&moments));
	moments_begin(&moments, &options);
	clock_ns += 6 * MS;
	CHECK(moments_due(&moments) == MOMENT_BEGIN);
	CHECK(moments_due(&moments) == MOMENT_NONE && moments_wait(&moments) == 2);
	clock_ns += 7 * MS;
	CHECK(moments_due(&moments) == MOMENT_TIMEOUT);
	CHECK(moments_end(&moments) == 7 * MS);
}

/* A directory with one more thread in each reading, or without an end */
static bool is_endless;
static unsigned int born, read_now;

DIR *opendir(const char *name)
{
	(void)name;
	read_now = 0;
	return (DIR *)&born;
}

struct dirent *readdir(DIR *dir)
{
	static struct dirent entry;

	(void)dir;
	if (!is_endless && read_now++)
		return NULL;
	snprintf(entry.d_name, sizeof(entry.d_name), "%u", ++born);
	return &entry;
}

int closedir(DIR *dir)
{
	(void)dir;
	return 0;
}

/* The number of readings has a limit of its own. */
static void check_readings(void)
{
	if (!is_endless && born > 1000)
		_exit(1);
}

/* @again: each thread may have created others. */
static void test_threads(bool again)
{
	struct threads threads = { .pid = 1234 };

	while (threads_next(&threads))
		threads.again = again;
	CHECK(threads.nr == 1 && threads.readings == 1);
}

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";

	is_endless = !strcmp(name, "reading");
	atexit(check_readings);
	if (!strcmp(name, "moments")) {
		test_intervals();
		test_delay();
	} else if (!strcmp(name, "threads")) {
		test_threads(false);
	} else if (!strcmp(name, "readings") || is_endless) {
		test_threads(true);
	} else {
		errx(2, "usage: units moments|threads|readings|reading");
	}
	return 0;
}
