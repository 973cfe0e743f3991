// SPDX-License-Identifier: GPL-2.0
/*
 * usage: units moments|threads|readings|reading|intel|netburst
 *
 * Parts of the command that no run reaches for sure: moments that are due at the same time,
 * and a process that creates threads for ever, so that there are always further readings of
 * its directory, or that one never ends. The clock and the directory are made up here. No
 * kernel with vpmc is needed. The last two are event selects; LIBPFM_FORCE_PMU names a
 * table of that kind.
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

#include "common/portable.h"
#include "common/threads.h"
#include "stat/moments.h"
#include "stat/result.h"

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

static bool is_text(uint64_t select, const char *text)
{
	char buffer[48];

	return !strcmp(select_text(select, buffer), text);
}

static bool is_counter(uint32_t index, const char *text)
{
	char buffer[16];

	return !strcmp(counter_name(index, buffer), text);
}

static void test_intel(void)
{
	CHECK(portable_of(0x300c4) == BRANCHES);
	CHECK(portable_of(0x41c4) == -1);
	CHECK(modes_of(0x300c4) == 0x30000 && without_modes(0x300c4) == 0xc4);
	CHECK(is_text(0x2003c, "cycles:k") && is_text(0x300c0, "instructions:uk"));
	CHECK(is_text(0x101b7, "0x101b7"));
	CHECK(is_counter(3, "3") && is_counter(0x40000001, "fixed1"));
}

static void test_netburst(void)
{
	const uint64_t branches = 0x0c001e000000a000;

	CHECK(portable_of(branches | 3ULL << 34) == BRANCHES);
	/* These bits are the modes of others. Here they are the kernel's. */
	CHECK(portable_of(branches | 1 << 16) == -1);
	CHECK(modes_of(~0ULL) == 3ULL << 34);
	CHECK(without_modes(branches | 1ULL << 34) == branches);
	CHECK(is_text(0x260002080000c000, "cycles:k"));
	CHECK(is_text(0x0400060400008000, "instructions:u"));
	CHECK(is_text(0x0400060c00008000, "instructions:uk"));
	CHECK(is_text(0x0400020400008000, "0x400020400008000"));
	CHECK(is_counter(0x8000000c, "12") && is_counter(VPMC_ANY, ""));
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
	} else if (!strcmp(name, "intel")) {
		test_intel();
	} else if (!strcmp(name, "netburst")) {
		test_netburst();
	} else if (!strcmp(name, "readings") || is_endless) {
		test_threads(true);
	} else {
		errx(2, "usage: units moments|threads|readings|reading|intel|netburst");
	}
	return 0;
}
