// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What share.c runs by itself and under vpmc stat. Each case prints what it counts of known
 * loops, and how PAPI answers. Lines with '?' may differ if somebody else counts.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <papi.h>
#include <vpmc.h>

#include "share.h"

#define IN_TURN		12	/* event sets, more than there are counters */

static int component;

/* Executes two instructions for each round, one of them a branch. */
void loop(long n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n) : : "cc");
}

const char *word(int err)
{
	switch (err) {
	case PAPI_OK:
		return "fine";
	case PAPI_ECNFLCT:
		return "conflict";
	case PAPI_ECLOST:
		return "lost";
	}
	return PAPI_strerror(err);
}

const char *name_of(const char *event)
{
	static _Thread_local char name[PAPI_MAX_STR_LEN];

	snprintf(name, sizeof(name), "%s%s", component ? "vpmc:::" : "", event);
	return name;
}

void init(void)
{
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
		puts("PAPI_library_init() failed: FAILED");
		exit(1);
	}
	component = PAPI_get_component_index("vpmc");
	if (component < 0)
		component = 0;
}

void add(int set, const char *event)
{
	int err = PAPI_add_named_event(set, name_of(event));

	if (err)
		printf("adding %s: %s\n", event, word(err));
}

int new_set(void)
{
	int set = PAPI_NULL;

	PAPI_create_eventset(&set);
	PAPI_assign_eventset_component(set, component);
	return set;
}

void end_set(int set)
{
	PAPI_cleanup_eventset(set);
	PAPI_destroy_eventset(&set);
}

/* Prints what the loop counts, without what two reads take. */
void count(const char *what, int set, int nr)
{
	long long first[2] = { 0 }, second[2] = { 0 }, third[2] = { 0 };
	int err = PAPI_start(set);

	if (!err)
		err = PAPI_read(set, first);
	loop(1);
	if (!err)
		err = PAPI_read(set, second);
	loop(ROUNDS + 1);
	if (!err)
		err = PAPI_read(set, third);
	if (!err)
		err = PAPI_stop(set, NULL);
	printf("%s:", what);
	for (int i = 0; i < nr; i++)
		printf(" %lld", third[i] - second[i] - (second[i] - first[i]));
	printf(" %s\n", word(err));
	fflush(stdout);
}

int two_events(void)
{
	int set = new_set();

	add(set, INSTRUCTIONS);
	add(set, BRANCHES);
	return set;
}

/* Two event sets, which take turns, start, stop and reset */
static void case_turns(void)
{
	int both = two_events(), one = new_set();
	long long before[2], after[2];

	add(one, BRANCHES);
	for (int i = 0; i < 5; i++) {
		count("both", both, 2);
		count("one", one, 1);
	}
	/* A count begins at zero, also after a reset. */
	printf("start: %d", PAPI_start(both));
	printf(" %d", PAPI_read(both, before));
	loop(ROUNDS);
	printf(" %d", PAPI_reset(both));
	printf(" %d\n", PAPI_read(both, after));
	printf("small: %d %d\n", before[0] < 10000, after[0] < 10000);
	printf("stop: %d\n", PAPI_stop(both, NULL));
	end_set(one);
	count("both", both, 2);
	end_set(both);
}

static void *thread(void *arg)
{
	int set;

	(void)arg;
	PAPI_register_thread();
	set = two_events();
	count("thread", set, 2);
	end_set(set);
	PAPI_unregister_thread();
	return NULL;
}

/* Threads and processes, which have inherited the command's set or none */
static void case_heirs(void)
{
	int set = two_events();
	pthread_t id;
	pid_t pid;

	PAPI_thread_init((unsigned long (*)(void))pthread_self);
	count("main", set, 2);
	for (int i = 0; i < 3; i++) {
		pthread_create(&id, NULL, thread, NULL);
		pthread_join(id, NULL);
	}
	pid = fork();
	if (!pid) {
		int own = two_events();

		count("child", own, 2);
		end_set(own);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	count("main", set, 2);
	end_set(set);
}

/* Another process, which waits in the same place at start and at stop */
static void case_attach(void)
{
	int set = two_events(), go[2], done[2], err;
	long long counted[2] = { 0 };
	char byte = 0;
	pid_t pid;

	if (pipe(go) || pipe(done))
		return;
	pid = fork();
	if (!pid) {
		while (write(done[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1 && !byte)
			loop(ROUNDS);
		_exit(0);
	}
	err = PAPI_attach(set, pid);
	for (int i = 0; i < 3; i++) {
		err = err || read(done[0], &byte, 1) != 1;
		usleep(100000);		/* until it waits */
		if (i == 1)
			err = err ?: PAPI_start(set);
		if (i == 2)
			err = err ?: PAPI_stop(set, counted);
		byte = i == 2;
		err = err || write(go[1], &byte, 1) != 1;
	}
	waitpid(pid, NULL, 0);
	printf("attached: %lld %lld %d\n", counted[0], counted[1], err);
	end_set(set);
}

void on_overflow(int set, void *at, long long which, void *context)
{
	(void)set, (void)at, (void)which, (void)context;
}

/* An overflow needs a set of its own. The event set counts without one. */
static void case_overflow(void)
{
	int set = two_events(), event, err;

	PAPI_event_name_to_code(name_of(INSTRUCTIONS), &event);
	err = PAPI_overflow(set, event, 100000, 0, on_overflow);
	printf("? overflow: %s\n", word(err));
	if (!err)
		PAPI_overflow(set, event, 0, 0, on_overflow);
	count("both", set, 2);
	end_set(set);
}

/*
 * So does PAPI_INHERIT. It is refused before and after events are added. An event set
 * that was accepted before still counts.
 */
static void case_inherit(void)
{
	PAPI_option_t option = { .inherit.inherit = PAPI_INHERIT_ALL };
	int set = two_events(), both = two_events();

	option.inherit.eventset = set;
	printf("? inherit: %s\n", word(PAPI_set_opt(PAPI_INHERIT, &option)));
	end_set(set);
	count("both", both, 2);
	option.inherit.eventset = set = new_set();
	PAPI_set_opt(PAPI_INHERIT, &option);
	printf("? adding: %s\n", word(PAPI_add_named_event(set, name_of(BRANCHES))));
	count("both", both, 2);
	end_set(set);
	end_set(both);
}

/* Event sets with an event each, of which only one counts */
static int many_in_turn(void)
{
	int event = PAPI_NATIVE_MASK, sets[IN_TURN], nr = 0, fine = 0;

	PAPI_enum_cmp_event(&event, PAPI_ENUM_FIRST, component);
	do {
		sets[nr] = new_set();
		if (PAPI_add_event(sets[nr], event) == PAPI_OK)
			nr++;
		else
			end_set(sets[nr]);
	} while (nr < IN_TURN &&
		 PAPI_enum_cmp_event(&event, PAPI_ENUM_EVENTS, component) == PAPI_OK);
	for (int i = 0; i < 2 * nr; i++)
		fine += !PAPI_start(sets[i % nr]) && !PAPI_stop(sets[i % nr], NULL);
	while (nr)
		end_set(sets[--nr]);
	return fine;
}

/* More and more events, until there is no counter left */
static void case_many(void)
{
	int event = PAPI_NATIVE_MASK, set = two_events(), err = PAPI_OK;

	PAPI_enum_cmp_event(&event, PAPI_ENUM_FIRST, component);
	do {
		err = PAPI_add_event(set, event);
	} while (err != PAPI_ECNFLCT &&
		 PAPI_enum_cmp_event(&event, PAPI_ENUM_EVENTS, component) == PAPI_OK);
	printf("too many: %s\n", word(err));
	end_set(set);
	printf("in turn: %d\n", many_in_turn());
	set = two_events();
	count("both", set, 2);
	end_set(set);
}

/* Regions, or others in the program, that share PAPI's set: it does not end theirs */
static void case_regions(void)
{
	uint64_t before[VPMC_MAX_COUNTERS], after[VPMC_MAX_COUNTERS];
	struct vpmc_event *events;
	int set = new_set(), both;
	unsigned int nr;
	struct vpmc *v;

	add(set, INSTRUCTIONS);
	count("one", set, 1);
	if (vpmc_open(&v, 0, NULL) || vpmc_parse_events("branches,cycles", &events, &nr, NULL) ||
	    vpmc_share(v, events, nr, NULL) < 0)
		return;
	count("one", set, 1);
	both = two_events();
	vpmc_read(v, before, VPMC_MAX_COUNTERS, NULL);
	count("both", both, 2);
	end_set(both);
	end_set(set);
	loop(ROUNDS);
	vpmc_read(v, after, VPMC_MAX_COUNTERS, NULL);
	nr = events[0].element;
	printf("region: %d\n", (int)((after[nr] - before[nr]) / ROUNDS));
	vpmc_free_events(events);
	vpmc_close(v);
}

/* Somebody replaces the set that an event set counts with. */
static void case_lost(void)
{
	int set = two_events();
	long long counted[2];
	struct vpmc *v;

	printf("start: %d\n", PAPI_start(set));
	vpmc_open(&v, 0, NULL);
	vpmc_program(v, NULL, 0, 0, NULL);
	printf("read: %s\n", word(PAPI_read(set, counted)));
	printf("stop: %s\n", word(PAPI_stop(set, counted)));
	printf("reset: %s\n", word(PAPI_reset(set)));
	loop(ROUNDS);
	printf("stop: %s", word(PAPI_stop(set, counted)));
	printf(" %lld %lld\n", counted[0] / ROUNDS, counted[1] / ROUNDS);
	count("both", set, 2);
	end_set(set);
	vpmc_close(v);
}

void set_revoke(const char *text)
{
	int fd = open("/proc/sys/kernel/vpmc_revoke", O_WRONLY);

	if (fd < 0 || write(fd, text, 1) != 1)
		puts("the counters cannot be revoked");
	close(fd);
}

/* The administrator takes the counters and gives them back. Others keep their sums. */
static void case_revoked(void)
{
	int set = two_events();
	long long counted[2];

	printf("start: %d\n", PAPI_start(set));
	set_revoke("1");
	printf("read: %s\n", word(PAPI_read(set, counted)));
	set_revoke("0");
	set = PAPI_NULL;
	PAPI_shutdown();
	init();
	set = new_set();
	printf("? adding: %s\n", word(PAPI_add_named_event(set, name_of(BRANCHES))));
}

/* Returns how many counters the thread has. */
int nr_counters(void)
{
	struct vpmc_read read = { .nr_counters = 0 };
	struct vpmc *v;

	if (vpmc_open(&v, VPMC_OPEN_EXISTING, NULL))
		return 0;
	vpmc_read_sums(v, 0, &read);
	vpmc_close(v);
	return read.nr_counters;
}

int element_of(struct vpmc *v, uint64_t select)
{
	struct vpmc_control control;

	if (vpmc_get_control(v, &control))
		return -1;
	for (unsigned int i = 0; i < control.nr_counters; i++)
		if ((control.counter[i].evtsel & ~OWNED) == select)
			return i;
	return -1;
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "turns", case_turns }, { "heirs", case_heirs }, { "attach", case_attach },
	{ "overflow", case_overflow }, { "inherit", case_inherit }, { "many", case_many },
	{ "regions", case_regions }, { "lost", case_lost }, { "revoked", case_revoked },
	{ "cleared", case_cleared }, { "overtaken", case_overtaken },
	{ "at-once", case_at_once }, { "comes", case_comes }, { "goes", case_goes },
	{ "attached", case_attached }, { "options", case_options },
	{ "release", case_release }, { "pageless", case_pageless },
};

/* Runs a case. Behind the read of its sums always the same is executed. */
int run_case(const char *name)
{
	int fd = open(SUMS, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct vpmc_control control;
	static struct sums sums;
	struct vpmc_read read;
	struct vpmc *v;
	int before;
	size_t i;

	init();
	for (i = 0; i < sizeof(cases) / sizeof(*cases) && strcmp(cases[i].name, name); i++)
		;
	if (i == sizeof(cases) / sizeof(*cases))
		return 2;
	before = nr_counters();
	cases[i].run();
	printf("? left behind: %d\n", nr_counters() - before);
	PAPI_shutdown();
	fflush(stdout);
	if (vpmc_open(&v, VPMC_OPEN_EXISTING, NULL))
		return 0;
	vpmc_get_control(v, &control);
	for (i = 0; i < control.nr_counters; i++)
		sums.select[i] = control.counter[i].evtsel & ~OWNED;
	sums.nr = control.nr_counters;
	vpmc_read_sums(v, 0, &read);
	memcpy(sums.sum, read.sum, sizeof(sums.sum));
	_exit(write(fd, &sums, sizeof(sums)) != sizeof(sums));
}

