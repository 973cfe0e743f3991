/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of a program need. Each program has one table, NEEDS(), and a
 * test that needs what this machine lacks is skipped with the reason. The plan and
 * the number of tests are the same on every machine.
 *
 *	NEEDS(
 *		{ "open.*", VPMC },
 *		{ "*", EXACT, "counters of 24 bits", NULL, has_width_24 },
 *	);
 *
 * The first line whose pattern fits the test's name, as it is printed, counts. A
 * program without the table does not link; a test without a line is an error.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef NEEDS_H
#define NEEDS_H

#include <fnmatch.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../kselftest_harness.h"
#include "events.h"
#include "guard.h"

enum {
	NOTHING		= 0,		/* not even vpmc */
	VPMC		= 1 << 0,	/* CONFIG_VPMC and nothing else */
	/* One counter, whichever it is. */
	COUNTER		= 1 << 8 | VPMC,
	/* A PMU that counts, on any machine: counts within lib/tolerance.h. */
	PMU		= 1 << 1 | COUNTER,
	/* A clock that counts instructions, and no other load. */
	STEADY		= 1 << 2 | VPMC,
	/* Counts are equal to the truth; the clock does as it likes. */
	TRUE_COUNTS	= 1 << 6 | PMU,
	/* The emulator's PMU: equality, sweeps, triggers, totals. */
	EXACT		= STEADY | TRUE_COUNTS,
	/* Hotplug, revoke, sysctls, mounts; suspend and kexec are EXACT, too. */
	DISTURBS	= 1 << 3,
	ROOT		= 1 << 4,
	TWO_CPUS	= 1 << 5,
	FIFO		= 1 << 7,	/* SCHED_FIFO */
	/*
	 * Where that PMU is missing, the test's sets have no counters, and it tests
	 * everything but the sums.
	 */
	OR_EMPTY	= 1 << 9,
};

struct need {
	const char *tests;
	unsigned int what;
	/*
	 * text for other needs, and a file or function that shows whether they
	 * are met
	 */
	const char *also;
	const char *file;
	bool (*has)(void);
};

extern const struct need test_needs[];

/* A line may end after its second field. */
#define NEEDS(...) \
	_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
	const struct need test_needs[] = { __VA_ARGS__ {} }

/* What the environment says: 1 for yes, 0 for no, -1 for nothing. */
static inline int asked_to_disturb(void)
{
	const char *allowed = getenv("VPMC_TEST_DISRUPTIVE");

	return allowed ? !strcmp(allowed, "1") : -1;
}

/* If the environment says nothing, only the emulator may be disturbed. */
static inline bool may_disturb(void)
{
	int asked = asked_to_disturb();

	return asked < 0 ? emulator() : asked;
}

static inline bool has_root(void)
{
	return !geteuid() && !getenv("VPMC_TEST_UID");
}

/* lib/disturb.h and the players of lib/isolation.h need no higher priority. */
static inline bool may_use_fifo(void)
{
	struct rlimit limit;

	return !geteuid() || (!getrlimit(RLIMIT_RTPRIO, &limit) &&
			      limit.rlim_cur >= 50);
}

/* Tests name CPUs by number. An offline CPU, or a cpuset, does not allow that. */
static inline bool may_run_on(int cpu)
{
	cpu_set_t before, one;
	bool may;

	/* There are more CPUs than a cpu_set_t has. */
	if (sched_getaffinity(0, sizeof(before), &before))
		return true;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	may = !sched_setaffinity(0, sizeof(one), &one);
	return !sched_setaffinity(0, sizeof(before), &before) && may;
}

static inline const char *pmu_lacks(unsigned int what)
{
	if ((what & TRUE_COUNTS & ~PMU) && !counts_are_exact())
		return "a PMU that counts exactly";
	if ((what & COUNTER & ~VPMC) && lack(OF_A_COUNTER))
		return lack(OF_A_COUNTER);
	if ((what & PMU & ~COUNTER) && lack(OF_EVENTS))
		return lack(OF_EVENTS);
	return NULL;
}

/*
 * Returns the first thing that the machine lacks, or NULL. What nobody can change
 * comes first.
 */
static inline const char *machine_lacks(const struct need *need)
{
	if ((need->what & VPMC) && access(THREAD_FILE, F_OK))
		return "CONFIG_VPMC=y";
	if ((need->what & STEADY & ~VPMC) && !exact_machine())
		return "the exact machine of tools/testing/pmu-emulator";
	if (!(need->what & OR_EMPTY) && pmu_lacks(need->what))
		return pmu_lacks(need->what);
	if ((need->what & VPMC) && lack(OF_VPMC))
		return lack(OF_VPMC);
	if ((need->what & DISTURBS) && !may_disturb())
		return "a machine that may be disturbed (VPMC_TEST_DISRUPTIVE=1)";
	if ((need->what & ROOT) && !has_root())
		return "root";
	if ((need->what & FIFO) && !may_use_fifo())
		return "real-time priorities (root, or ulimit -r 99)";
	if ((need->what & VPMC) && !may_run_on(0))
		return "CPU 0, which a cpuset forbids";
	if ((need->what & TWO_CPUS) && !may_run_on(1))
		return "CPU 1, which is offline, or a cpuset forbids it";
	if ((need->file && access(need->file, F_OK)) ||
	    (need->has && !need->has()))
		return need->also;
	return NULL;
}

static inline const struct need *
need_of(const struct __test_metadata *test,
	const struct __fixture_variant_metadata *variant)
{
	const struct need *need;
	char name[256];

	snprintf(name, sizeof(name), "%s%s%s.%s", test->fixture->name,
		 *variant->name ? "." : "", variant->name, test->name);
	for (need = test_needs; need->tests; need++)
		if (!fnmatch(need->tests, name, 0))
			return need;
	fprintf(stderr, "# %s: no line in NEEDS()\n", name);
	exit(KSFT_FAIL);
}

/*
 * A count was in its interval. The interval is so wide that a wrong count would be in
 * it, too. All processes of a test share this.
 */
static struct doubt {
	volatile uint64_t width;	/* of the interval */
	volatile uint64_t piece;	/* the part of the count that it should show */
} *doubt;

static inline void doubt_begin(void)
{
	doubt = mmap(NULL, sizeof(*doubt), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (doubt == MAP_FAILED)
		exit(KSFT_FAIL);
}

/* The program of an execve() shares nothing with the test. */
static inline void say_doubt(uint64_t width, uint64_t piece)
{
	if (!doubt)
		return;
	doubt->piece = piece;
	doubt->width = width;
}

typedef void test_fn(struct __test_metadata *test,
		     struct __fixture_variant_metadata *variant);

/* The tests' own functions. run_or_skip() is called in their place. */
static struct {
	struct __test_metadata *test;
	test_fn *fn;
} test_functions[64];

static void run_or_skip(struct __test_metadata *_metadata,
			struct __fixture_variant_metadata *variant)
{
	const char *lacks = machine_lacks(need_of(_metadata, variant));
	unsigned int i = 0;

	if (lacks)
		SKIP(return, "needs %s", lacks);
	lacks = pmu_lacks(need_of(_metadata, variant)->what);
	if (lacks)
		TH_LOG("sets have no counters, because that needs %s", lacks);
	sets_are_empty = lacks;
	guard_test();
	/* mounts of a test on a user's machine end with the test */
	if ((need_of(_metadata, variant)->what & DISTURBS) && !emulator() &&
	    (unshare(CLONE_NEWNS) ||
	     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		SKIP(return, "needs a mount namespace of its own");
	while (test_functions[i].test != _metadata)
		i++;
	doubt_begin();
	test_functions[i].fn(_metadata, variant);
	if (doubt->width && _metadata->exit_code == KSFT_PASS)
		SKIP(return, "needs a quieter machine: a count of %llu may be %llu too high",
		     (unsigned long long)doubt->piece,
		     (unsigned long long)doubt->width);
}

/* Constructors with higher priority have registered the tests. */
static void __attribute__((constructor)) check_needs(void)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;
	unsigned int n = 0;

	/*
	 * kexec_test's second kernel runs this as init. Nothing is mounted yet.
	 */
	if (getpid() == 1)
		return;
	for (fixture = __fixture_list; fixture; fixture = fixture->next)
		for (test = fixture->tests; test; test = test->next) {
			test_functions[n].test = test;
			test_functions[n++].fn = test->fn;
			test->fn = run_or_skip;
		}
}

/* What the tests take for granted, on a machine whose administrator may differ. */
static inline void put_defaults(void)
{
	static const char *const defaults[][2] = {
		{ "/proc/sys/kernel/vpmc_paranoid", "-1" },
		{ "/proc/sys/kernel/vpmc_isolation", "1" },
		/* Debian's is 3: no user may count. */
		{ "/proc/sys/kernel/perf_event_paranoid", "2" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(defaults); i++)
		putback_write(defaults[i][0], defaults[i][1]);
}

/*
 * What sysctls keep from sets. A write that fails changes nothing, and then the tests
 * say what they need.
 */
static inline void take_counters(void)
{
	putback_write("/proc/sys/kernel/nmi_watchdog", "0");
	putback_write("/proc/sys/kernel/vpmc_counters", "all");
	machine_init();
	find_lacks();
}

/* A program that disturbs the machine restores it at its end. */
static void __attribute__((constructor)) put_back_at_the_end(void)
{
	unsigned int what = 0;
	const struct need *need;
	bool disturbs, takes;

	if (getpid() == 1)
		return;
	for (need = test_needs; !geteuid() && need->tests; need++)
		what |= need->what;
	disturbs = what & DISTURBS && may_disturb();
	takes = (what & PMU & ~COUNTER) && asked_to_disturb() == 1 &&
		!exact_machine() && machine.nr_gp && lack(OF_EVENTS);
	if (disturbs || takes)
		putback_begin();
	/* It restores what is changed from here on. */
	guard_begin();
	if (disturbs && !exact_machine())
		put_defaults();
	if (takes)
		take_counters();
}

#endif /* NEEDS_H */
