// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests that PAPI counts together with whoever counts the thread already. Each case
 * runs by itself and under vpmc stat with several lists of events. It must print the
 * same counts. What the command prints must be the sums that the case reads as its last
 * action, and what the end of a program takes, which is always the same.
 *
 * usage: share [CASE]. The last word is PASSED or FAILED, as in PAPI's own test programs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share.h"

#define SAID		"/tmp/share.said"	/* standard output of a case */
#define ERRORS		"/tmp/share.errors"
#define COUNTED		"/tmp/share.csv"
#define MOST		16384

static int failed;

static void check(int fine, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf(fine ? "ok: " : "not ok: ");
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	failed += !fine;
}

/*
 * @kin: loops of other threads than the main one. @replaces: it programs a set. @said:
 * what it must print, and @why: what PAPI must say if somebody else counts it.
 */
static const struct {
	const char *name;
	int kin, replaces;
	const char *said, *why;
} cases[] = {
	{ "turns", 0, 0, "both: 2000000 1000000 fine\none: 1000000 fine\n", NULL },
	{ "heirs", 4, 0, "thread: 2000000 1000000 fine\nchild: 2000000 1000000 fine\n",
	  NULL },
	{ "attach", 2, 0, "attached: 20", NULL },
	{ "overflow", 0, 0, "? overflow: conflict",
	  "an overflow needs a set of its own" },
	{ "inherit", 0, 0,
	  "? inherit: conflict\nboth: 2000000 1000000 fine\n"
	  "? adding: conflict\nboth: 2000000 1000000 fine\n", "PAPI_INHERIT needs a set of its own" },
	{ "many", 0, 0, "too many: conflict\nin turn: 24\n",
	  "the thread is counted already, and has no counter left" },
	{ "regions", 0, 0, "region: 2", NULL },
	{ "lost", 0, 1,
	  "read: lost\nstop: lost\nreset: fine\nstop: fine 2 1\nboth: 2000000 1000000 fine\n",
	  "somebody else has programmed" },
	{ "revoked", 0, 1, "read: lost\n? adding: conflict",
	  "until the administrator took the counters" },
	{ "cleared", 0, 1, "? cleared: lost lost\nreset: 0 fine\nboth: 2000000 1000000 fine\n"
	  "? one: lost\n? one: lost\n", "has cleared or stopped" },
	{ "overtaken", 0, 1, "? overtaken: lost", "has cleared or stopped" },
	{ "at-once", 0, 1, "? at once: lost lost fine", "has cleared or stopped" },
	{ "comes", 0, 0,
	  "one: 2000000 fine\nkept: 1\none: 2000000 fine\nkept: 1\nshared: 1", NULL },
	{ "goes", 0, 1, "? stopped: conflict 1\n? another: fine\none: 2000000 fine\none: 2000000 fine\n"
	  "? revoked: conflict 1\n? shared: 1\n", "they are stopped" },
	{ "attached", 0, 1, "shared: fine 2 0, 2 counters\nstart: fine\nown: fine 2 0, 1 counters\n"
	  "adding: fine\nshared: fine 2 1, 3 counters\nown: fine 2 1, 2 counters\n"
	  "read: fine lost fine fine\nremoved: 1\nagain: fine 2 0, 1 counters\nended: 1\n", NULL },
	{ "options", 0, 0, "domain: 0\nheld: 0\nheld: 0\nheld: 0\nattach: 0\nheld: 0\n", NULL },
	{ "release", 0, 0, "added: 1\nheld: 0\n", NULL },
	{ "pageless", 0, 0, "without a page: A System/C library call failed\none: 2000000 fine\n",
	  NULL },
};

static void read_file(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, size - 1, file) : 0;

	memset(text + n, 0, size - n);
	if (file)
		fclose(file);
}

/* Runs a case, under the command if there is a list. What it prints is in SAID. */
static int run(const char *name, const char *list, const char *option)
{
	const char *stat[] = { "vpmc", "stat", "-x;", "-o", COUNTED, option, "-e", list,
			       "--", "./share", name, NULL };
	const char *alone[] = { "./share", name, NULL };
	const char *const *words = list ? stat : alone;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("PAPI_VERBOSE", "1", 1);
		if (!freopen(SAID, "w", stdout) || !freopen(ERRORS, "w", stderr))
			_exit(1);
		execvp(words[0], (char **)words);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

/* Leaves out the lines that differ if somebody else counts. */
static char *compared(char *text)
{
	char *from = text, *to = text, *next;

	for (; *from; from = next) {
		next = strchrnul(from, '\n');
		next += *next != 0;
		if (*from == '?')
			continue;
		memmove(to, from, next - from);
		to += next - from;
	}
	*to = 0;
	return text;
}

/* Finds the command's count of an event. Fields are event;count;... select is the eighth. */
static int64_t counted(uint64_t select)
{
	char text[MOST], *line, *rest = text;

	read_file(COUNTED, text, sizeof(text));
	while ((line = strsep(&rest, "\n"))) {
		char *field[13] = { NULL };

		for (int i = 0; i < 13; i++)
			field[i] = strsep(&line, ";");
		if (field[7] && *field[7] && (!field[0] || !*field[0]) &&
		    (strtoull(field[7], NULL, 0) & ~OWNED) == select)
			return strtoll(field[3], NULL, 10);
	}
	return -1;
}

/*
 * What the command has counted of @name is what the case has read, and its end, or what
 * the others count of the loop.
 */
static void check_total(const char *name, const char *event, uint64_t select, int kin,
			int per_round)
{
	static int64_t ends[3];
	struct sums sums = { .nr = 0 };
	int64_t total = counted(select), *end = &ends[per_round];
	unsigned int i;
	FILE *file = fopen(SUMS, "r");

	if (!file || fread(&sums, sizeof(sums), 1, file) != 1)
		sums.nr = 0;
	if (file)
		fclose(file);
	for (i = 0; i < sums.nr && sums.select[i] != select; i++)
		;
	check(total >= 0 && i < sums.nr, "%s: the command counts %s", name, event);
	if (total < 0 || i == sums.nr)
		return;
	total -= sums.sum[i];
	if (kin) {
		check(total >= kin * per_round * ROUNDS, "%s: those of all threads: %lld more than of the first",
		      name, (long long)total);
		return;
	}
	*end = *end ? *end : total;
	check(total == *end && total > 0 && total < 10000,
	      "%s: those of the whole program: %lld behind the last read", name, (long long)total);
}

/* @alone: what the case has printed by itself. */
static void compare(size_t i, const char *alone, const char *list, const char *option)
{
	char shared[MOST], whole[MOST], errors[MOST], what[128];

	snprintf(what, sizeof(what), "%s, with %s of %s", cases[i].name, list, option);
	check(run(cases[i].name, list, option), "%s: ends well", what);
	read_file(SAID, shared, sizeof(shared));
	read_file(SAID, whole, sizeof(whole));
	read_file(ERRORS, errors, sizeof(errors));
	if (cases[i].said)
		check(strstr(shared, cases[i].said) != NULL, "%s: prints what it must", what);
	if (cases[i].why)
		check(strstr(errors, cases[i].why) != NULL, "%s: PAPI says '%s'", what, cases[i].why);
	check(!strcmp(alone, compared(shared)), "%s: counts as by itself", what);
	if (strcmp(alone, shared))
		printf("# by itself:\n%s# under the command:\n%s%s", alone, shared, errors);
	if (cases[i].replaces)
		return;
	check(strstr(whole, "? left behind: 0\n") != NULL, "%s: leaves no counters behind", what);
	if (strstr(list, "instructions"))
		check_total(what, "instructions", INSTRUCTIONS_SELECT, cases[i].kin, 2);
	if (strstr(list, "branches"))
		check_total(what, "branches", BRANCHES_SELECT, cases[i].kin, 1);
}

/* The command's set cannot be shared. The program counts nothing, and changes nothing. */
static void check_refused(const char *list, const char *option, const char *why)
{
	char said[MOST], errors[MOST];

	check(run("overflow", list, option), "%s of %s: ends well", list, option);
	read_file(SAID, said, sizeof(said));
	read_file(ERRORS, errors, sizeof(errors));
	check(strstr(said, "adding " INSTRUCTIONS ": conflict") != NULL, "%s of %s: is refused", list, option);
	check(strstr(errors, why) != NULL, "%s of %s: PAPI says '%s'", list, option, why);
	read_file(COUNTED, said, sizeof(said));
	check(strstr(said, ";left-control;0;") && strstr(said, ";replaced;0;"),
	      "%s of %s: nobody programs another set", list, option);
}

int main(int argc, char **argv)
{
	static const char *const lists[] = { "instructions", "branches,instructions", "cycles:uk" };

	char alone[MOST];

	if (argc > 1)
		return run_case(argv[1]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		check(run(cases[i].name, NULL, NULL), "%s: ends well by itself", cases[i].name);
		read_file(SAID, alone, sizeof(alone));
		compared(alone);
		for (int list = 0; list < 3; list++)
			compare(i, alone, lists[list], "--repeat=1");
		if (!cases[i].kin)
			compare(i, alone, lists[1], "--no-inherit");
	}
	check_refused("instructions", "--stopped", "they are stopped");
	check(counted(INSTRUCTIONS_SELECT) == 0, "instructions of --stopped: the command counts nothing");
	check_refused("none", "--repeat=1", "a set of counters already");
	puts(failed ? "FAILED" : "PASSED");
	return failed != 0;
}
