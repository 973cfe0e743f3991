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

#include <cpuid.h>
#include <fnmatch.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <pmu-test-msr.h>

#include "../../kselftest_harness.h"
#include "guard.h"
#include "kind.h"

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
	/* Suspend, hotplug, kexec, revoke, sysctls. */
	DISTURBS	= 1 << 3,
	ROOT		= 1 << 4,
	TWO_CPUS	= 1 << 5,
	FIFO		= 1 << 7,	/* SCHED_FIFO */
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

#define IS_EMULATOR	(1u << 31)

/*
 * Returns IS_EMULATOR and PMU_MACHINE_* in this project's emulator, and 0 on any
 * other machine. QEMU without its patches calls itself TCG, too, but has no
 * signature.
 */
static inline unsigned int emulator(void)
{
	unsigned int a, b, c, d, name[3];

	__cpuid(0x40000000, a, name[0], name[1], name[2]);
	if (memcmp(name, "TCGTCGTCGTCG", sizeof(name)))
		return 0;
	__cpuid(PMU_TEST_MACHINE, a, b, c, d);
	return a == PMU_MACHINE_ID ? b | IS_EMULATOR : 0;
}

/* Where tests of the exact machine are to fail, the environment asks for them. */
static inline bool exact_machine(void)
{
	const char *asked = getenv("VPMC_TEST_EXACT");

	return emulator() & PMU_MACHINE_EXACT || (asked && !strcmp(asked, "1"));
}

/* With parallel CPUs each one counts its own instructions, exactly. */
static inline bool counts_are_exact(void)
{
	return exact_machine() || (emulator() & PMU_MACHINE_PARALLEL &&
				   !(emulator() & PMU_MACHINE_SILICON));
}

static inline bool may_disturb(void)
{
	const char *allowed = getenv("VPMC_TEST_DISRUPTIVE");

	return emulator() || (allowed && !strcmp(allowed, "1"));
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

/* Returns who has the PMU, or NULL. */
static inline const char *pmu_held(void)
{
	static const char *const holders[] = {
		[VPMC_HOLDER_OTHER] = "the PMU, which a driver or a hypervisor has",
		[VPMC_HOLDER_PERF] = "the PMU, which perf has",
		[VPMC_HOLDER_WATCHDOG] = "the PMU: sysctl kernel.nmi_watchdog=0",
		[VPMC_HOLDER_TRACE] = "the PMU, which Intel PT has",
		[VPMC_HOLDER_REVOKED] = "the PMU: sysctl kernel.vpmc_revoke=0",
		[VPMC_HOLDER_GLOBAL] = "the PMU, which counts for CPUs",
	};

	return machine.holder < sizeof(holders) / sizeof(*holders) ?
	       holders[machine.holder] : "the PMU, which another user has";
}

/*
 * Returns what keeps the PMU from the tests, or NULL. In the exact emulator it
 * returns NULL, because tests there occupy the PMU on purpose.
 */
static inline const char *pmu_lacks(void)
{
	if (!machine.nr_gp)
		return "a PMU that the kernel knows (dmesg says 'vpmc:' and why)";
	return emulator() & PMU_MACHINE_EXACT ? NULL : pmu_held();
}

/* Does perf keep some of the counters that tests name? */
static inline bool perf_keeps_counters(void)
{
	char text[32] = "";
	int fd = open("/proc/sys/kernel/vpmc_counters", O_RDONLY);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strncmp(text, "all", 3) && strncmp(text, "yield", 5);
}

/* Returns the first thing that the machine lacks, or NULL. */
static inline const char *machine_lacks(const struct need *need)
{
	if ((need->what & VPMC) && access("/proc/self/perfctr", F_OK))
		return "CONFIG_VPMC=y";
	if ((need->what & COUNTER & ~VPMC) && pmu_lacks())
		return pmu_lacks();
	if ((need->what & PMU & ~COUNTER) && !exact_machine() &&
	    perf_keeps_counters())
		return "all counters: sysctl kernel.vpmc_counters=all";
	if ((need->what & STEADY & ~VPMC) && !exact_machine())
		return "the exact machine of tools/testing/pmu-emulator";
	if ((need->what & TRUE_COUNTS & ~PMU) && !counts_are_exact())
		return "a PMU that counts exactly";
	if ((need->what & DISTURBS) && !may_disturb())
		return "a machine that may be disturbed (VPMC_TEST_DISRUPTIVE=1)";
	if ((need->what & ROOT) && !has_root())
		return "root";
	if ((need->what & FIFO) && !may_use_fifo())
		return "real-time priorities (root, or ulimit -r 99)";
	if ((need->what & TWO_CPUS) && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "two CPUs online";
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
	guard_test();
	/* mounts of a test on a user's machine end with the test */
	if ((need_of(_metadata, variant)->what & DISTURBS) && !emulator() &&
	    (unshare(CLONE_NEWNS) ||
	     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		SKIP(return, "needs a mount namespace of its own");
	while (test_functions[i].test != _metadata)
		i++;
	test_functions[i].fn(_metadata, variant);
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

/* A program that disturbs the machine restores it at its end. */
static void __attribute__((constructor)) put_back_at_the_end(void)
{
	const struct need *need;

	if (getpid() == 1)
		return;
	for (need = test_needs; need->tests; need++)
		if ((need->what & DISTURBS) && may_disturb() && !geteuid()) {
			putback_begin();
			break;
		}
	guard_begin();
}

#endif /* NEEDS_H */
