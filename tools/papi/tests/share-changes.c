// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Cases of share.c in which others change the thread's set while PAPI counts with it, or
 * between PAPI's look at it and what PAPI does then.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <papi.h>
#include <vpmc.h>

#include "share.h"

#define TRIES	100

/*
 * What happens after the next look, after the next set is programmed, or after somebody
 * has looked at what a set counts.
 */
static void (*after_look)(void), (*after_control)(void), (*after_list)(void);
static int without_page;
static struct vpmc *meddler;

static void happens(void (**what)(void))
{
	void (*now)(void) = *what;

	*what = NULL;
	if (now)
		now();
}

/* These take the place of the C library's functions. */
int ioctl(int fd, unsigned long request, ...)
{
	struct vpmc_control *control;
	va_list args;
	int err;

	va_start(args, request);
	control = va_arg(args, void *);
	va_end(args);
	err = syscall(SYS_ioctl, fd, request, control);
	if (request == VPMC_IOC_READ)
		happens(&after_look);
	if (request == VPMC_IOC_READ_CONTROL)
		happens(&after_list);
	if (request == VPMC_IOC_CONTROL && !(control->flags & VPMC_CONTROL_ADD))
		happens(&after_control);
	return err;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (!without_page || fd < 0)
		return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
	errno = ESRCH;
	return MAP_FAILED;
}

/* libvpmc calls it by this name, because it is built for files of any size. */
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mmap(at, size, protection, flags, fd, offset);
}

static int state_of(struct vpmc *v)
{
	struct vpmc_read sums;

	return vpmc_read_sums(v, 0, &sums) ? -1 : (int)sums.state;
}

/* Somebody clears the set, and the counts become larger than they were at the start. */
void case_cleared(void)
{
	int set = two_events();
	long long counted[2];
	struct vpmc *v;

	vpmc_open(&v, 0, NULL);
	printf("start: %d\n", PAPI_start(set));
	loop(40 * ROUNDS);
	printf("read: %s\n", word(PAPI_read(set, counted)));
	vpmc_clear(v, 0);
	loop(20 * ROUNDS);
	printf("? cleared: %s", word(PAPI_read(set, counted)));
	loop(40 * ROUNDS);
	printf(" %s\n", word(PAPI_read(set, counted)));
	/* A reset or another start begins anew. */
	printf("reset: %d", PAPI_reset(set));
	loop(ROUNDS);
	printf(" %s\n", word(PAPI_read(set, counted)));
	PAPI_stop(set, NULL);
	count("both", set, 2);
	/* one counter after the other */
	for (int i = 0; i < 2; i++) {
		PAPI_start(set);
		loop(40 * ROUNDS);
		PAPI_read(set, counted);
		vpmc_clear(v, 1U << element_of(v, i ? BRANCHES_SELECT : INSTRUCTIONS_SELECT));
		loop(20 * ROUNDS);
		printf("? one: %s\n", word(PAPI_read(set, counted)));
		PAPI_reset(set);
		PAPI_stop(set, NULL);
	}
	end_set(set);
	vpmc_close(v);
}

/* The counts are larger than at the last read, but the run time is not. */
void case_overtaken(void)
{
	int set = new_set();
	long long counted[2];
	struct vpmc *v;

	add(set, BRANCHES);
	vpmc_open(&v, 0, NULL);
	vpmc_clear(v, 0);
	printf("start: %d\n", PAPI_start(set));
	for (int i = 0; i < 1000; i++)
		__asm__ __volatile__(".rept 50000\n\tnop\n\t.endr");
	printf("read: %s\n", word(PAPI_read(set, counted)));
	vpmc_clear(v, 0);
	loop(ROUNDS);
	printf("? overtaken: %s\n", word(PAPI_read(set, counted)));
	PAPI_reset(set);
	PAPI_stop(set, NULL);
	end_set(set);
	vpmc_close(v);
}

static void clear(struct vpmc *v)
{
	vpmc_clear(v, 0);
}

static void pause_counting(struct vpmc *v)
{
	vpmc_stop(v);
	vpmc_start(v);
}

static void add_and_end(struct vpmc *v)
{
	struct vpmc_event *events;
	unsigned int nr;

	(void)v;
	vpmc_open(&v, 0, NULL);
	if (!vpmc_parse_events("cycles:u", &events, &nr, NULL))
		vpmc_join(v, events, nr, NULL);
	vpmc_free_events(events);
	vpmc_close(v);
}

/*
 * What PAPI reads after @meddle if the thread is not switched out between two reads. The
 * second one finds more of everything.
 */
static const char *after(int set, struct vpmc *v, void (*meddle)(struct vpmc *v))
{
	const struct vpmc_page *page = vpmc_page(v);
	long long counted[2];
	const char *said;
	uint64_t switches;

	for (int i = 0; i < TRIES; i++) {
		vpmc_clear(v, 0);
		PAPI_start(set);
		PAPI_read(set, counted);
		meddle(v);
		loop(10000);
		said = word(PAPI_read(set, counted));
		switches = page->switches;
		PAPI_reset(set);
		PAPI_stop(set, NULL);
		if (!switches)
			return said;
	}
	return "switched out each time";
}

/* A thread that was on its CPU all the time has counted all the time. */
void case_at_once(void)
{
	int set = two_events();
	struct vpmc *v;

	vpmc_open(&v, 0, NULL);
	printf("? at once: %s", after(set, v, clear));
	printf(" %s", after(set, v, pause_counting));
	printf(" %s\n", after(set, v, add_and_end));
	end_set(set);
	vpmc_close(v);
}

static void stop_set(void)
{
	vpmc_stop(meddler);
}

static void take_counters(void)
{
	set_revoke("1");
	set_revoke("0");
}

static void program_new(void)
{
	vpmc_program(meddler, NULL, 0, VPMC_CONTROL_NEW, NULL);
}

static void program_list(const char *list)
{
	struct vpmc_event *events;
	unsigned int nr;

	if (!vpmc_parse_events(list, &events, &nr, NULL))
		vpmc_program(meddler, events, nr, 0, NULL);
	vpmc_free_events(events);
}

static void program_another(void)
{
	program_list("branches");
}

/* Ends what this program has programmed. @there: it was counted before. */
static void end_meddler(int there)
{
	if (!there)
		vpmc_unlink(meddler);
	vpmc_close(meddler);
}

/*
 * Somebody programs a set where PAPI has seen none, or just after PAPI has programmed one.
 * PAPI counts with it, and leaves it there. So does the library.
 */
void case_comes(void)
{
	int set = new_set(), there = nr_counters();
	struct vpmc_event *events;
	unsigned int nr;

	vpmc_open(&meddler, 0, NULL);
	after_look = program_new;
	add(set, INSTRUCTIONS);
	count("one", set, 1);
	end_set(set);
	printf("kept: %d\n", state_of(meddler) == VPMC_STATE_RUNNING);
	end_meddler(there);

	vpmc_open(&meddler, 0, NULL);
	after_control = program_another;
	set = new_set();
	add(set, INSTRUCTIONS);
	count("one", set, 1);
	end_set(set);
	printf("kept: %d\n", state_of(meddler) == VPMC_STATE_RUNNING);
	after_control = NULL;
	end_meddler(there);

	vpmc_parse_events("instructions", &events, &nr, NULL);
	vpmc_open(&meddler, 0, NULL);
	after_look = program_new;
	printf("shared: %d\n", vpmc_share(meddler, events, nr, NULL) > 0);
	vpmc_free_events(events);
	end_meddler(there);
}

/* The set changes after the look. PAPI neither starts it nor takes its place. */
void case_goes(void)
{
	struct vpmc_event *events;
	unsigned int nr;
	int set;

	vpmc_open(&meddler, 0, NULL);
	set = new_set();
	after_look = stop_set;
	printf("? stopped: %s", word(PAPI_add_named_event(set, name_of(BRANCHES))));
	printf(" %d\n", state_of(meddler) == VPMC_STATE_STOPPED);
	vpmc_start(meddler);
	end_set(set);
	set = new_set();
	after_look = program_another;
	printf("? another: %s\n", word(PAPI_add_named_event(set, name_of(INSTRUCTIONS))));
	count("one", set, 1);
	end_set(set);
	/* What is found in a set is not what another one counts. */
	program_list("instructions");
	set = new_set();
	after_list = program_another;
	add(set, INSTRUCTIONS);
	after_list = NULL;
	count("one", set, 1);
	end_set(set);
	set = new_set();
	after_look = take_counters;
	printf("? revoked: %s", word(PAPI_add_named_event(set, name_of(BRANCHES))));
	printf(" %d\n", state_of(meddler) == VPMC_STATE_REVOKED);
	/* The library programs one if there is none. */
	vpmc_parse_events("instructions", &events, &nr, NULL);
	vpmc_program(meddler, NULL, 0, 0, NULL);
	after_look = take_counters;
	printf("? shared: %d\n", vpmc_share(meddler, events, nr, NULL));
	vpmc_free_events(events);
	vpmc_close(meddler);
}

/* Another process, which loops each time that it is told to */
static pid_t start_child(int *go, int *done)
{
	int to[2], from[2];
	char byte;
	pid_t pid;

	if (pipe(to) || pipe(from))
		return -1;
	pid = fork();
	if (!pid) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1) {
			loop(ROUNDS);
			if (write(from[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(to[0]);
	*go = to[1];
	*done = from[0];
	return pid;
}

/* Prints how many loops are counted, and how many counters the child has then. */
static void count_child(const char *what, int set, struct vpmc *v, int go, int done)
{
	long long counted[2] = { 0 };
	struct vpmc_read sums = { .nr_counters = 0 };
	char byte = 0;
	int err = PAPI_start(set);

	if (write(go, &byte, 1) != 1 || read(done, &byte, 1) != 1)
		return;
	err = err ?: PAPI_stop(set, counted);
	vpmc_read_sums(v, 0, &sums);
	printf("%s: %s %lld %lld, %u counters\n", what, word(err), counted[0] / ROUNDS,
	       counted[1] / ROUNDS, sums.nr_counters);
}

/*
 * A set of somebody else on another thread ends, and what somebody has added to PAPI's.
 * Then the event set has one of its own.
 */
void case_attached(void)
{
	struct vpmc_event *events;
	struct vpmc *v, *look;
	long long counted[2];
	int set, go = -1, done = -1;
	unsigned int nr;
	pid_t pid = start_child(&go, &done);

	vpmc_open_thread(&v, pid, 0, NULL);
	vpmc_parse_events("cycles:uk", &events, &nr, NULL);
	vpmc_program(v, events, nr, VPMC_CONTROL_UNLINK_ON_CLOSE, NULL);
	set = new_set();
	add(set, INSTRUCTIONS);
	printf("attach: %d\n", PAPI_attach(set, pid));
	count_child("shared", set, v, go, done);
	vpmc_close(v);
	printf("start: %s\n", word(PAPI_start(set)));
	PAPI_stop(set, NULL);
	vpmc_open_thread(&look, pid, 0, NULL);
	count_child("own", set, look, go, done);
	/* Somebody shares it, so that PAPI adds to its own set. */
	vpmc_open_thread(&v, pid, 0, NULL);
	vpmc_join(v, events, nr, NULL);
	printf("adding: %s\n", word(PAPI_add_named_event(set, name_of(BRANCHES))));
	count_child("shared", set, look, go, done);
	vpmc_close(v);
	count_child("own", set, look, go, done);
	PAPI_start(set);
	if (write(go, "", 1) != 1 || read(done, counted, 1) != 1)
		return;
	printf("read: %s", word(PAPI_read(set, counted)));
	vpmc_clear(look, 0);
	printf(" %s", word(PAPI_read(set, counted)));
	printf(" %s", word(PAPI_reset(set)));
	printf(" %s\n", word(PAPI_stop(set, NULL)));
	/* Without events it needs no counters. */
	PAPI_remove_named_event(set, name_of(BRANCHES));
	PAPI_remove_named_event(set, name_of(INSTRUCTIONS));
	printf("removed: %d\n", state_of(look) == VPMC_STATE_UNLINKED);
	vpmc_close(look);
	add(set, INSTRUCTIONS);
	vpmc_open_thread(&look, pid, 0, NULL);
	count_child("again", set, look, go, done);
	end_set(set);
	printf("ended: %d\n", state_of(look) == VPMC_STATE_UNLINKED);
	vpmc_close(look);
	close(go);
	waitpid(pid, NULL, 0);
	printf("? gone: %d\n", nr_counters());
	vpmc_free_events(events);
}

/* An event set gives back what it has, though it has changed since. */
void case_options(void)
{
	PAPI_option_t option = { .domain.domain = PAPI_DOM_ALL };
	int before = nr_counters(), set = two_events(), event;

	option.domain.eventset = set;
	printf("domain: %d\n", PAPI_set_opt(PAPI_DOMAIN, &option));
	end_set(set);
	printf("held: %d\n", nr_counters() - before);
	option.inherit.eventset = set = two_events();
	option.inherit.inherit = PAPI_INHERIT_ALL;
	PAPI_set_opt(PAPI_INHERIT, &option);
	end_set(set);
	printf("held: %d\n", nr_counters() - before);
	set = two_events();
	PAPI_event_name_to_code(name_of(INSTRUCTIONS), &event);
	PAPI_overflow(set, event, -1, 0, on_overflow);
	end_set(set);
	printf("held: %d\n", nr_counters() - before);
	/* Another thread needs them then. */
	option.domain.eventset = set = two_events();
	option.domain.domain = PAPI_DOM_ALL;
	PAPI_set_opt(PAPI_DOMAIN, &option);
	printf("attach: %d\n", PAPI_attach(set, getpid()));
	PAPI_detach(set);
	end_set(set);
	printf("held: %d\n", nr_counters() - before);
}

/* What was added to PAPI's own set goes, and then the set. */
void case_release(void)
{
	int before = nr_counters(), set = new_set(), other = new_set();
	struct vpmc_event *events;
	unsigned int nr;
	struct vpmc *v;

	add(set, INSTRUCTIONS);
	vpmc_open(&v, 0, NULL);
	vpmc_parse_events("cycles:uk", &events, &nr, NULL);
	vpmc_join(v, events, nr, NULL);
	add(other, BRANCHES);
	vpmc_free_events(events);
	vpmc_close(v);
	printf("added: %d\n", nr_counters() > before);
	PAPI_shutdown();
	printf("held: %d\n", nr_counters() - before);
	init();
}

/* Somebody detaches the counters before the page is mapped. */
void case_pageless(void)
{
	int set = new_set(), err;

	without_page = 1;
	err = PAPI_add_named_event(set, name_of(INSTRUCTIONS));
	without_page = 0;
	printf("without a page: %s\n", word(err));
	add(set, INSTRUCTIONS);
	count("one", set, 1);
	end_set(set);
}
