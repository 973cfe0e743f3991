// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests vpmc's component beside perf_event's: what it offers, whether it counts
 * a known loop exactly, and how both share the PMU. The last word is PASSED or
 * FAILED, as in PAPI's own test programs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <papi.h>

#define LONG		3000000L
#define SHORT		1000000L
#define COUNTERS	"/proc/sys/kernel/vpmc_counters"
#define WATCHDOG	"/proc/sys/kernel/nmi_watchdog"
#define OURS		"vpmc:::INST_RETIRED:ANY_P", "vpmc:::BR_INST_RETIRED:ALL_BRANCHES"

static int failed;

static void check(int fine, const char *what)
{
	printf("%s: %s\n", fine ? "ok" : "not ok", what);
	failed += !fine;
}

/* Executes two instructions for each round, one of them a branch. */
static void loop(long rounds)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (rounds) : : "cc");
}

/* PAPI sets it to PAPI_NULL. */
static void end_set(int *set)
{
	PAPI_cleanup_eventset(*set);
	PAPI_destroy_eventset(set);
}

static int new_set(const char *const *names, int nr)
{
	int set = PAPI_NULL, err = PAPI_create_eventset(&set);

	for (int i = 0; !err && i < nr; i++)
		err = PAPI_add_named_event(set, names[i]);
	if (err) {
		printf("%s: %s\n", names[0], PAPI_strerror(err));
		end_set(&set);
	}
	return set;
}

/* Stores the counts of the rounds by which the loops differ. */
static int count_loops(int set, long long *more)
{
	long long first[2] = { 0 }, second[2] = { 0 }, third[2] = { 0 };

	if (PAPI_start(set) || PAPI_read(set, first))
		return 0;
	loop(SHORT);
	if (PAPI_read(set, second))
		return 0;
	loop(LONG);
	if (PAPI_read(set, third) || PAPI_stop(set, NULL))
		return 0;
	for (int i = 0; i < 2; i++)
		more[i] = (third[i] - second[i]) - (second[i] - first[i]);
	return 1;
}

static int exact(int set)
{
	long long more[2];

	if (!count_loops(set, more))
		return 0;
	printf("%lld instructions, %lld branches more\n", more[0], more[1]);
	return more[0] == 2 * (LONG - SHORT) && more[1] == LONG - SHORT;
}

/*
 * Returns true if a preset can be counted. PAPI 7.2 finds a first one
 * everywhere.
 */
static int has_presets(int component)
{
	int event = PAPI_PRESET_MASK;

	return PAPI_enum_cmp_event(&event, PAPI_ENUM_FIRST, component) == PAPI_OK &&
	       PAPI_enum_cmp_event(&event, PAPI_PRESET_ENUM_AVAIL, component) == PAPI_OK;
}

static void check_components(void)
{
	int ours = PAPI_get_component_index("vpmc");
	const PAPI_component_info_t *info = PAPI_get_component_info(ours);
	int native = PAPI_NATIVE_MASK, set;
	const char *const unknown[] = { "vpmc:::NO_SUCH_EVENT" };

	check(PAPI_get_component_index("perf_event") == 0, "perf_event's component is the first one");
	check(ours > 0 && info && !info->disabled, "vpmc's component is there");
	if (!info)
		return;
	check(has_presets(0), "perf_event's has presets");
	check(info->num_preset_events == 0 && !has_presets(ours), "it has none");
	printf("%d native events\n", info->num_native_events);
	check(info->num_native_events > 1 &&
	      PAPI_enum_cmp_event(&native, PAPI_ENUM_FIRST, ours) == PAPI_OK, "it has native events");
	set = new_set(unknown, 1);
	check(set == PAPI_NULL, "an event that does not exist is refused");
}

/*
 * Makes a set of PAPI_TOT_INS and PAPI_BR_INS, which are perf_event's presets.
 */
static int perf_set(void)
{
	const char *const presets[] = { "PAPI_TOT_INS", "PAPI_BR_INS" };

	return new_set(presets, 2);
}

static int our_set(void)
{
	const char *const names[] = { OURS };

	return new_set(names, 2);
}

static void check_in_turn(void)
{
	const char *const mixed[] = { "PAPI_TOT_INS", "vpmc:::INST_RETIRED:ANY_P" };
	int set = perf_set();

	check(exact(set), "perf_event's presets count a known loop exactly");
	end_set(&set);
	set = our_set();
	check(exact(set), "vpmc's native events do so");
	end_set(&set);
	set = perf_set();
	check(exact(set), "perf_event's do so again, once vpmc's set is destroyed");
	end_set(&set);
	check(new_set(mixed, 2) == PAPI_NULL, "a set of events of both is refused");
}

static int set_sysctl(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY), done = -1;

	if (fd >= 0) {
		done = write(fd, text, strlen(text));
		close(fd);
	}
	return done == (int)strlen(text);
}

/* In the default setting vpmc borrows counters, and perf has the others. */
static void check_at_once(void)
{
	long long before[2], after[2];
	int ours = our_set(), perf = perf_set();

	check(PAPI_start(perf) == PAPI_OK, "perf_event's set starts");
	check(exact(ours), "vpmc's set counts exactly while perf_event's counts");
	check(PAPI_read(perf, before) == PAPI_OK, "perf_event's is read");
	loop(LONG);
	check(PAPI_read(perf, after) == PAPI_OK && after[1] - before[1] >= LONG &&
	      after[1] - before[1] < LONG + 1000, "and counts");
	check(PAPI_stop(perf, NULL) == PAPI_OK, "perf_event's set stops");
	end_set(&ours);
	end_set(&perf);
}

/*
 * The administrator gives vpmc all counters. While its set exists, perf gets none, and
 * must not seem to count. The watchdog is one of perf's users.
 */
static void check_held(void)
{
	int ours, perf;

	check(set_sysctl(WATCHDOG, "0"), "the watchdog is off");
	check(set_sysctl(COUNTERS, "all"), "vpmc may have all counters");
	ours = our_set();
	perf = perf_set();
	check(ours != PAPI_NULL && PAPI_start(ours) == PAPI_OK, "vpmc's set starts");
	check(perf == PAPI_NULL || PAPI_start(perf) != PAPI_OK,
	      "perf_event's set is refused while vpmc has all counters");
	check(PAPI_stop(ours, NULL) == PAPI_OK, "vpmc's set stops");
	end_set(&ours);
	if (perf != PAPI_NULL)
		end_set(&perf);
	check(set_sysctl(COUNTERS, "shared"), "vpmc borrows counters again");
	check(set_sysctl(WATCHDOG, "1"), "the watchdog is on");
}

int main(void)
{
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
		puts("PAPI_library_init() failed: FAILED");
		return 1;
	}
	check_components();
	check_in_turn();
	check_at_once();
	check_held();
	PAPI_shutdown();
	puts(failed ? "FAILED" : "PASSED");
	return failed != 0;
}
