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
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <papi.h>
#include <vpmc.h>

#define ROUNDS		1000000L
#define INSTRUCTIONS	"INST_RETIRED:ANY_P"
#define BRANCHES	"BR_INST_RETIRED:ALL_BRANCHES"
#define SAID		"/tmp/share.said"	/* standard output of a case */
#define ERRORS		"/tmp/share.errors"
#define COUNTED		"/tmp/share.csv"
#define SUMS		"/tmp/share.sums"
#define MOST		16384
#define EVENTS		2
#define OWNED		(5ULL << 20)		/* INT and EN */

/* what a case leaves in SUMS: the sums of its thread's set, shortly before its end */
struct sums {
	uint64_t select[VPMC_MAX_COUNTERS], sum[VPMC_MAX_COUNTERS], nr;
};

static int failed, component;

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

/* Executes two instructions for each round, one of them a branch. */
static void loop(long n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n) : : "cc");
}

static const char *word(int err)
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

static const char *name_of(const char *event)
{
	static _Thread_local char name[PAPI_MAX_STR_LEN];

	snprintf(name, sizeof(name), "%s%s", component ? "vpmc:::" : "", event);
	return name;
}

static void init(void)
{
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
		puts("PAPI_library_init() failed: FAILED");
		exit(1);
	}
	component = PAPI_get_component_index("vpmc");
	if (component < 0)
		component = 0;
}

static void add(int set, const char *event)
{
	int err = PAPI_add_named_event(set, name_of(event));

	if (err)
		printf("adding %s: %s\n", event, word(err));
}

static int new_set(void)
{
	int set = PAPI_NULL;

	PAPI_create_eventset(&set);
	PAPI_assign_eventset_component(set, component);
	return set;
}

static void end_set(int set)
{
	PAPI_cleanup_eventset(set);
	PAPI_destroy_eventset(&set);
}

/* Prints what the loop counts, without what two reads take. */
static void count(const char *what, int set, int nr)
{
	long long first[EVENTS] = { 0 }, second[EVENTS] = { 0 }, third[EVENTS] = { 0 };
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

static int two_events(void)
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

static void on_overflow(int set, void *at, long long which, void *context)
{
	(void)set, (void)at, (void)which, (void)context;
}

/* An overflow needs a set of its own. The event set counts without one. */
static void case_overflow(void)
{
	int set = two_events(), event;

	PAPI_event_name_to_code(name_of(INSTRUCTIONS), &event);
	printf("? overflow: %s\n", word(PAPI_overflow(set, event, 100000, 0, on_overflow)));
	end_set(set);
	set = two_events();
	count("both", set, 2);
	end_set(set);
}

/* So does PAPI_INHERIT. It is refused before and after events are added. */
static void case_inherit(void)
{
	PAPI_option_t option = { .inherit.inherit = PAPI_INHERIT_ALL };
	int set = two_events();

	option.inherit.eventset = set;
	printf("? inherit: %s\n", word(PAPI_set_opt(PAPI_INHERIT, &option)));
	end_set(set);
	option.inherit.eventset = set = new_set();
	PAPI_set_opt(PAPI_INHERIT, &option);
	printf("? adding: %s\n", word(PAPI_add_named_event(set, name_of(BRANCHES))));
	end_set(set);
	set = two_events();
	count("both", set, 2);
	end_set(set);
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
}

static void set_revoke(const char *text)
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

/*
 * @kin: loops of other threads than the main one. @replaces: it programs a set. @said:
 * what it must print, and @why: what PAPI must say if somebody else counts it.
 */
static const struct {
	const char *name;
	void (*run)(void);
	int kin, replaces;
	const char *said, *why;
} cases[] = {
	{ "turns", case_turns, 0, 0, "both: 2000000 1000000 fine\none: 1000000 fine\n", NULL },
	{ "heirs", case_heirs, 4, 0, "thread: 2000000 1000000 fine\nchild: 2000000 1000000 fine\n",
	  NULL },
	{ "attach", case_attach, 2, 0, "attached: 20", NULL },
	{ "overflow", case_overflow, 0, 0, "? overflow: conflict",
	  "an overflow needs a set of its own" },
	{ "inherit", case_inherit, 0, 0,
	  "? inherit: conflict\n"
	  "? adding: conflict", "PAPI_INHERIT needs a set of its own" },
	{ "many", case_many, 0, 0, "too many: conflict",
	  "the thread is counted already, and has no counter left" },
	{ "regions", case_regions, 0, 0, "region: 2", NULL },
	{ "lost", case_lost, 0, 1, "read: lost",
	  "somebody else has programmed" },
	{ "revoked", case_revoked, 0, 1, "read: lost\n? adding: conflict",
	  "until the administrator took the counters" },
};

/* Runs a case. Behind the read of its sums always the same is executed. */
static int run_case(const char *name)
{
	int fd = open(SUMS, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct vpmc_control control;
	static struct sums sums;
	struct vpmc_read read;
	struct vpmc *v;
	size_t i;

	init();
	for (i = 0; i < sizeof(cases) / sizeof(*cases) && strcmp(cases[i].name, name); i++)
		;
	cases[i].run();
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
		next = strchr(from, '\n');
		next = next ? next + 1 : from + strlen(from);
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
	if (total < 0 || i == sums.nr) {
		check(0, "%s: the command counts %s", name, event);
		return;
	}
	total -= sums.sum[i];
	if (kin) {
		check(total >= kin * per_round * ROUNDS,
		      "%s: the command counts %s of all its threads: %lld more than of the first",
		      name, event, (long long)total);
		return;
	}
	*end = *end ? *end : total;
	check(total == *end && total > 0 && total < 10000,
	      "%s: the command's %s are those of the whole program: %lld behind the last read",
	      name, event, (long long)total);
}

/* @alone: what the case has printed by itself. */
static void compare(size_t i, const char *alone, const char *list, const char *option)
{
	char shared[MOST], errors[MOST], what[128];

	snprintf(what, sizeof(what), "%s, with %s of %s", cases[i].name, list, option);
	check(run(cases[i].name, list, option), "%s: ends well", what);
	read_file(SAID, shared, sizeof(shared));
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
	if (strstr(list, "instructions"))
		check_total(what, "instructions", 0x100c0, cases[i].kin, 2);
	if (strstr(list, "branches"))
		check_total(what, "branches", 0x100c4, cases[i].kin, 1);
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
	if (!strstr(errors, why))
		printf("# %s", errors);
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
	check(counted(0x100c0) == 0, "instructions of --stopped: the command counts nothing");
	check_refused("none", "--repeat=1", "a set of counters already");
	puts(failed ? "FAILED" : "PASSED");
	return failed != 0;
}
