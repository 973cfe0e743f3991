// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A program with markers, in C and in C++. check-marked knows what each region counts. An argument
 * names what the program does besides.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vpmc-marker.h>
#ifdef VPMC
#include <vpmc.h>
#endif

#define TURNS	100	/* of everything that is counted */
#define NOINLINE	static __attribute__((__noinline__))

/* A constant, and two instructions for each iteration, of which one is a branch */
static inline __attribute__((__always_inline__)) void work(unsigned long turns)
{
	__asm__ __volatile__("1:\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

/* Each of these has only the markers and the work in its region. */
NOINLINE void empty_region(void)
{
	VPMC_REGION("empty region") {
	}
}

NOINLINE void empty_pair(void)
{
	VPMC_BEGIN("empty pair");
	VPMC_END("empty pair");
}

NOINLINE void empty_scope(void)
{
	VPMC_SCOPE("empty scope");
}

NOINLINE void region(void)
{
	VPMC_REGION("region") {
		work(50);
	}
}

NOINLINE void pair_begins(void)
{
	VPMC_BEGIN("pair");
	__asm__ __volatile__("");
}

/* In another function: a call and a return are counted, too. */
NOINLINE void pair(void)
{
	pair_begins();
	work(20);
	VPMC_END("pair");
}

/* The costs of the inner ones are taken out of the outer ones. */
NOINLINE void nested(void)
{
	VPMC_REGION("outer region") {
		work(30);
		VPMC_REGION("inner region") {
			work(40);
		}
	}
	VPMC_BEGIN("outer pair");
	work(30);
	VPMC_BEGIN("inner pair");
	work(40);
	VPMC_END("inner pair");
	VPMC_END("outer pair");
}

NOINLINE int returns(int how)
{
	VPMC_REGION("returns") {
		if (how)
			return how;
	}
	return 0;
}

NOINLINE int jumps(int how)
{
	VPMC_REGION("jumps") {
		if (how)
			goto out;
	}
	return 0;
out:
	return how;
}

/* break and continue are those of the loop. */
NOINLINE int breaks(void)
{
	int turns = 0, i;

	for (i = 0; i < 10; i++) {
		VPMC_SCOPE("breaks");
		if (i < 3)
			continue;
		turns++;
		if (i == 7)
			break;
	}
#ifdef __cplusplus
	for (i = 0; i < 10; i++) {
		VPMC_REGION("breaks") {
			if (i < 3)
				continue;
			if (i == 7)
				break;
		}
		turns++;
	}
	turns -= 4;
#endif
	return turns;
}

/* The macro is one statement. */
NOINLINE int chooses(int what)
{
	if (what)
		VPMC_REGION("chooses") {
			what++;
		}
	else
		what = 7;
	return what;
}

NOINLINE void recurses(int depth)
{
	VPMC_REGION("recurses") {
		if (depth)
			recurses(depth - 1);
	}
}

static __thread jmp_buf back;

NOINLINE void leaves(void)
{
	VPMC_REGION("around a jump") {
		if (!setjmp(back)) {
			VPMC_BEGIN("left by a jump");
			longjmp(back, 1);
		}
	}
}

static void fail(const char *what)
{
	fprintf(stderr, "marked: %s\n", what);
	exit(1);
}

static void all(void)
{
	int i;

	for (i = 0; i < TURNS; i++) {
		empty_region();
		empty_pair();
		empty_scope();
		region();
		pair();
		nested();
		if (returns(0) != 0 || returns(5) != 5)
			fail("return");
		if (jumps(0) != 0 || jumps(6) != 6)
			fail("goto");
		if (breaks() != 5)
			fail("break");
		if (chooses(0) != 7 || chooses(1) != 2)
			fail("else");
		recurses(3);
		leaves();
	}
}

static void *run(void *arg)
{
	all();
	return arg;
}

static void threads(void)
{
	pthread_t thread[3];
	int i;

	for (i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			fail("a thread");
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

/* The child's regions begin at zero. It may end one that its parent has begun. */
static void forks(int grandchild, int writes)
{
	pid_t pid;

	VPMC_BEGIN("across fork");
	pid = fork();
	if (!pid) {
		region();
		empty_pair();
		VPMC_END("across fork");
		if (grandchild)
			forks(0, 0);
		if (writes) {
			VPMC_WRITE();
			_exit(0);
		}
		exit(0);
	}
	VPMC_END("across fork");
	if (waitpid(pid, NULL, 0) != pid)
		fail("a child");
}

/* The child counts more events than its parent, which is refused, and goes on. */
static void more_events(void)
{
	int status, i;
	pid_t pid;

	region();
	pid = fork();
	if (!pid) {
		setenv("VPMC" "_EVENTS", "instructions,branches,cycles", 1);
		/* Two strings, because the suite looks for names of macros. First a new mark. */
		empty_pair();
		/* more than the log holds */
		for (i = 0; i < 20 * TURNS; i++)
			region();
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("a child that counts more events");
}

/* As a daemon does it */
static void closes(void)
{
	int fd;

	for (fd = 3; fd < 1024; fd++)
		close(fd);
	all();
}

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	VPMC_REGION("handler") {
		handled++;
	}
}

static void signals(void)
{
	int i;

	VPMC_OPEN();
	signal(SIGUSR1, handler);
	for (i = 0; i < TURNS; i++)
		VPMC_REGION("around a handler") {
			raise(SIGUSR1);
		}
	if (handled != TURNS)
		fail("a signal");
}

static void wrong(void)
{
	VPMC_END("never begun");
	VPMC_END("never begun, too");
	recurses(70);
	recurses(3);
}

NOINLINE void around(int depth);

NOINLINE void within(int depth)
{
	VPMC_REGION("within") {
		if (depth)
			within(depth - 1);
		else
			around(0);
	}
}

/* With 70 regions within, this begins again where no more can begin. */
NOINLINE void around(int depth)
{
	VPMC_REGION("around") {
		if (depth) {
			within(depth);
			work(5000);
		}
	}
}

/* Marks use the regions that the thread has opened itself. */
static void opened_itself(void)
{
#ifdef VPMC
	struct vpmc_regions *regions;

	if (vpmc_regions_open(&regions, NULL, 0, NULL))
		fail("regions");
#endif
	around(70);
	around(3);
}

/* The thread has counters, which nobody has programmed. */
static void attached(void)
{
#ifdef VPMC
	struct vpmc *v;

	if (vpmc_open(&v, 0, NULL))
		fail("counters");
#endif
	region();
}

static void executes(char **argv, int writes)
{
	char *again[] = { argv[0], NULL };

	region();
	if (writes)
		VPMC_WRITE();
	execv("/proc/self/exe", again);
	fail("execv");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "forks"))
		forks(1, 0);
	else if (!strcmp(what, "writes"))
		forks(0, 1);
	else if (!strcmp(what, "more events"))
		more_events();
	else if (!strcmp(what, "closes"))
		closes();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "attached"))
		attached();
	else if (!strcmp(what, "opened itself"))
		opened_itself();
	else if (!strcmp(what, "wrong"))
		wrong();
	else if (!strncmp(what, "exec", 4))
		executes(argv, !strcmp(what, "exec writes"));
	else
		all();
	return 0;
}
