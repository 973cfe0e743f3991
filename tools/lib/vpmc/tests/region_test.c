// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests regions: exact counts of nested ones, subtracted costs, what disturbs a
 * sample, and each error. The emulator counts exactly, so the tests compare for
 * equality.
 *
 * Copyright (C) 2026 vpmc developers
 */
#define VPMC

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <pmu-trigger.h>
#include <vpmc-marker.h>

#include "lib_test.h"

#define RDPMC_FILE	"/sys/bus/event_source/devices/cpu/rdpmc"
#define EVENTS		"instructions,branches"

/* Three loops, so that the address tells in which one the trigger fired. */
void loop_outside(uint64_t turns);
void loop_outer(uint64_t turns);
void loop_inner(uint64_t turns);
extern const char loops_end[];

#define LOOP(name) #name ":\n1:\tdec %rdi\n\tjnz 1b\n\tret\n"
__asm__(".text\n.globl loop_outside, loop_outer, loop_inner, loops_end\n"
	LOOP(loop_outside) LOOP(loop_outer) LOOP(loop_inner) "loops_end:\n");

/* The loop, a constant, a call and a return. */
#define INSTRUCTIONS(turns)	(2 * (uint64_t)(turns) + 3)
#define BRANCHES(turns)		((uint64_t)(turns) + 2)

FIXTURE(region) {
	struct vpmc_regions *regions;
	struct vpmc_region *outer, *inner;
	struct vpmc_error error;
};

FIXTURE_VARIANT(region) {
	unsigned int flags;
	bool forbidden;
	const char *others;	/* the set that the thread has before */
};

/* As vpmc stat does it, for instance. Returns 0 or a negative error number. */
static int program_before(const char *list, struct vpmc_error *error)
{
	struct vpmc_event *events;
	unsigned int nr;
	struct vpmc *v;
	int err = vpmc_open(&v, 0, error) ?:
		  vpmc_parse_events(list, &events, &nr, error);

	if (err)
		return err;
	err = vpmc_program(v, events, nr, 0, error);
	vpmc_free_events(events);
	vpmc_close(v);
	return err < 0 ? err : 0;
}

FIXTURE_VARIANT_ADD(region, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(region, lfence) { .flags = VPMC_REGIONS_LFENCE };
FIXTURE_VARIANT_ADD(region, twice) { .flags = VPMC_REGIONS_TWICE };
FIXTURE_VARIANT_ADD(region, without_rdpmc) { .forbidden = true };
FIXTURE_VARIANT_ADD(region, set_of_others) { .others = "cycles,branches,instructions" };

FIXTURE_SETUP(region)
{
	write_file(RDPMC_FILE, variant->forbidden ? "0" : "1");
	if (variant->others)
		ASSERT_EQ(0, program_before(variant->others, &self->error));
	ASSERT_EQ(0, vpmc_regions_open(&self->regions, EVENTS, variant->flags,
				       &self->error)) {
		TH_LOG("%s", self->error.text);
	}
	ASSERT_EQ(0, vpmc_region_get(self->regions, "outer", &self->outer));
	ASSERT_EQ(0, vpmc_region_get(self->regions, "inner", &self->inner));
}

FIXTURE_TEARDOWN(region)
{
	vpmc_regions_close(self->regions);
	write_file(RDPMC_FILE, "1");
}

static __attribute__((__noinline__)) void
nested(struct vpmc_region *outer, struct vpmc_region *inner)
{
	vpmc_begin(outer);
	loop_outer(500);
	vpmc_begin(inner);
	loop_inner(100);
	vpmc_end(inner);
	vpmc_begin(inner);
	loop_inner(100);
	vpmc_end(inner);
	loop_outer(20);
	vpmc_end(outer);
}

#define EXPECT_VALUE(n_, value_, stats_) do {				\
	const struct vpmc_stats *s_ = (stats_);				\
									\
	ASSERT_NE(NULL, s_);						\
	EXPECT_EQ(n_, vpmc_stats_n(s_));						\
	if (vpmc_stats_n(s_)) {							\
		EXPECT_EQ(value_, vpmc_stats_min(s_));				\
		EXPECT_EQ(value_, vpmc_stats_max(s_));				\
		EXPECT_EQ(value_, vpmc_stats_quantile(s_, 0.5));	\
		EXPECT_EQ((value_) * vpmc_stats_n(s_), vpmc_stats_sum(s_));			\
		EXPECT_EQ(0, vpmc_stats_deviation(s_));			\
		EXPECT_EQ((double)(value_), vpmc_stats_mean(s_));	\
	}								\
} while (0)

#define EXPECT_NESTED(self, clean_outer, clean_inner) do {		\
	struct vpmc_region *o_ = (self)->outer, *i_ = (self)->inner;	\
									\
	EXPECT_VALUE(clean_inner, INSTRUCTIONS(100),			\
		     vpmc_region_stats(i_, 0, VPMC_INCLUSIVE));		\
	EXPECT_VALUE(clean_inner, INSTRUCTIONS(100),			\
		     vpmc_region_stats(i_, 0, VPMC_EXCLUSIVE));		\
	EXPECT_VALUE(clean_inner, BRANCHES(100),			\
		     vpmc_region_stats(i_, 1, VPMC_INCLUSIVE));		\
	EXPECT_VALUE(clean_outer, INSTRUCTIONS(500) + INSTRUCTIONS(20) +	\
		     2 * INSTRUCTIONS(100),				\
		     vpmc_region_stats(o_, 0, VPMC_INCLUSIVE));		\
	EXPECT_VALUE(clean_outer, INSTRUCTIONS(500) + INSTRUCTIONS(20),	\
		     vpmc_region_stats(o_, 0, VPMC_EXCLUSIVE));		\
	EXPECT_VALUE(clean_outer, BRANCHES(500) + BRANCHES(20) +		\
		     2 * BRANCHES(100),					\
		     vpmc_region_stats(o_, 1, VPMC_INCLUSIVE));		\
	EXPECT_VALUE(clean_outer, BRANCHES(500) + BRANCHES(20),		\
		     vpmc_region_stats(o_, 1, VPMC_EXCLUSIVE));		\
} while (0)

static struct vpmc_region_calls calls_of(struct vpmc_region *region)
{
	struct vpmc_region_calls calls;

	vpmc_region_count(region, &calls);
	return calls;
}

TEST_F(region, nested)
{
	uint64_t inside, around;
	unsigned int i;

	for (i = 0; i < 1000; i++)
		nested(self->outer, self->inner);
	EXPECT_EQ(1000, calls_of(self->outer).calls);
	EXPECT_EQ(2000, calls_of(self->inner).calls);
	EXPECT_NESTED(self, 1000 - calls_of(self->outer).dirty,
		      2000 - calls_of(self->inner).dirty);
	EXPECT_GT(10, calls_of(self->outer).dirty);
	EXPECT_EQ(0, vpmc_regions_cost(self->regions, 0, &inside, &around));
	EXPECT_LT(5, inside);
	EXPECT_LT(inside, around);
	EXPECT_EQ(-EINVAL, vpmc_regions_cost(self->regions, 2, &inside, &around));
	EXPECT_EQ(0, around);
}

/* The log fills up and is emptied many times within the outer region. */
static __attribute__((__noinline__)) void
many(struct vpmc_region *outer, struct vpmc_region *inner)
{
	register unsigned int i;

	vpmc_begin(outer);
	for (i = 20000; i; i--) {
		vpmc_begin(inner);
		loop_inner(3);
		vpmc_end(inner);
	}
	vpmc_end(outer);
}

TEST_F(region, more_than_the_log_holds)
{
	const struct vpmc_stats *stats;
	unsigned int tries = 20;

	do
		many(self->outer, self->inner);
	while (!vpmc_stats_n(stats = vpmc_region_stats(self->outer, 0, VPMC_EXCLUSIVE)) &&
	       --tries);
	/* a constant, and two instructions for each iteration */
	EXPECT_VALUE(1, 1 + 2 * 20000, stats);
	EXPECT_VALUE(1, 1 + 20000 * (2 + INSTRUCTIONS(3)),
		     vpmc_region_stats(self->outer, 0, VPMC_INCLUSIVE));
	EXPECT_VALUE(calls_of(self->inner).calls - calls_of(self->inner).dirty,
		     INSTRUCTIONS(3),
		     vpmc_region_stats(self->inner, 0, VPMC_INCLUSIVE));
}

static __attribute__((__noinline__)) void
recursion(struct vpmc_region *region, unsigned int depth)
{
	vpmc_begin(region);
	loop_inner(10);
	if (depth)
		recursion(region, depth - 1);
	vpmc_end(region);
}

TEST_F(region, recursion)
{
	const struct vpmc_stats *stats;

	recursion(self->inner, 0);
	stats = vpmc_region_stats(self->inner, 0, VPMC_EXCLUSIVE);
	recursion(self->inner, 40);
	stats = vpmc_region_stats(self->inner, 0, VPMC_EXCLUSIVE);
	EXPECT_EQ(42, calls_of(self->inner).calls);
	EXPECT_LE(INSTRUCTIONS(10), vpmc_stats_min(stats));
	/* the call, and the instructions that save registers around it */
	EXPECT_GE(INSTRUCTIONS(10) + 30, vpmc_stats_max(stats));
}

TEST_F(region, errors)
{
	struct vpmc_region *more, *region;
	struct vpmc_regions *again;
	char name[300];
	unsigned int i;

	EXPECT_EQ(-ENOENT, vpmc_end(self->outer));
	EXPECT_EQ(0, vpmc_begin(self->outer));
	EXPECT_EQ(0, vpmc_begin(self->inner));
	EXPECT_EQ(0, vpmc_end(self->inner));
	EXPECT_EQ(-ENOENT, vpmc_end(self->inner));
	EXPECT_EQ(0, vpmc_end(self->outer));
	EXPECT_EQ(-ENOENT, vpmc_end(self->outer));
	for (i = 0; i < VPMC_REGIONS_DEPTH; i++)
		EXPECT_EQ(0, vpmc_begin(i % 2 ? self->outer : self->inner));
	EXPECT_EQ(-ENOSPC, vpmc_begin(self->outer));
	EXPECT_EQ(VPMC_REGIONS_DEPTH / 2, calls_of(self->outer).unfinished);
	while (i--)
		EXPECT_EQ(0, vpmc_end(i % 2 ? self->outer : self->inner));
	EXPECT_EQ(0, calls_of(self->outer).unfinished);
	EXPECT_EQ(1 + VPMC_REGIONS_DEPTH / 2, calls_of(self->outer).calls);

	EXPECT_EQ(0, vpmc_region_get(self->regions, "inner", &more));
	EXPECT_EQ(self->inner, more);
	EXPECT_EQ(-EINVAL, vpmc_region_get(self->regions, "", &more));
	EXPECT_EQ(NULL, more);
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	EXPECT_EQ(-EINVAL, vpmc_region_get(self->regions, name, &more));
	name[255] = '\0';
	EXPECT_EQ(0, vpmc_region_get(self->regions, name, &more));
	for (i = 3; i < VPMC_REGIONS_MAX; i++) {
		snprintf(name, sizeof(name), "number %u", i);
		EXPECT_EQ(0, vpmc_region_get(self->regions, name, &region));
	}
	EXPECT_EQ(-ENOSPC, vpmc_region_get(self->regions, "one more", &more));

	EXPECT_EQ(NULL, vpmc_region_stats(self->outer, 2, VPMC_INCLUSIVE));
	EXPECT_EQ(NULL, vpmc_region_stats(self->outer, 0, 2));
	EXPECT_EQ(0, vpmc_region_dirty(self->outer, -2, 0));
	EXPECT_EQ(-EEXIST, vpmc_regions_open(&again, EVENTS, 0, &self->error));
	EXPECT_EQ(NULL, again);
	EXPECT_EQ(-EINVAL, vpmc_regions_open(&again, EVENTS, 3, &self->error));
	EXPECT_EQ(-EINVAL, vpmc_regions_open(&again, EVENTS, 8, &self->error));
	EXPECT_EQ(-EINVAL, vpmc_report(1, 2));
	/* the failed calls counted nothing */
	nested(self->outer, self->inner);
	EXPECT_EQ(2 + VPMC_REGIONS_DEPTH / 2, calls_of(self->outer).calls);
	EXPECT_EQ(0, vpmc_begin(self->outer));
	EXPECT_EQ(-EBUSY, vpmc_regions_close(self->regions));
	self->regions = NULL;
}

/* What an exception leaves is ended with the region around it. */
TEST_F(region, left_without_end)
{
	uint64_t total, dirty;
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, vpmc_begin(self->outer));
		ASSERT_EQ(0, vpmc_begin(self->inner));
		ASSERT_EQ(0, vpmc_begin(self->inner));
		loop_inner(100);
		ASSERT_EQ(0, vpmc_end(self->outer));
		ASSERT_EQ(-ENOENT, vpmc_end(self->inner));
	}
	EXPECT_EQ(100, calls_of(self->outer).calls);
	EXPECT_EQ(200, calls_of(self->inner).calls);
	EXPECT_EQ(0, calls_of(self->inner).unfinished);
	total = vpmc_region_total(self->outer, 1, VPMC_INCLUSIVE, &dirty);
	EXPECT_LE(100 * BRANCHES(100), total);
	EXPECT_EQ(dirty, vpmc_region_dirty(self->outer, 1, VPMC_INCLUSIVE));
	EXPECT_EQ(total - dirty,
		  vpmc_stats_sum(vpmc_region_stats(self->outer, 1, VPMC_INCLUSIVE)));
	EXPECT_EQ(0, vpmc_region_total(self->outer, 2, VPMC_INCLUSIVE, NULL));
}

static void *others_regions(void *arg)
{
	FIXTURE_DATA(region) *self = arg;
	struct vpmc_region *region;
	struct vpmc_regions *own;

	if (vpmc_begin(self->outer) != -EPERM || vpmc_end(self->inner) != -EPERM ||
	    vpmc_region_get(self->regions, "new", &region) != -EPERM ||
	    vpmc_regions_close(self->regions) != -EPERM)
		return "another thread's regions";
	if (vpmc_regions_open(&own, NULL, 0, &self->error) != -ENOENT)
		return "it has no set";
	if (vpmc_regions_open(&own, "nonsense", 0, &self->error) != -ENOENT)
		return "no such event";
	/* a name of libpfm4 */
	if (vpmc_regions_open(&own, "BR_INST_RETIRED:ALL_BRANCHES", 0, &self->error) ||
	    vpmc_region_get(own, "outer", &region) || vpmc_begin(region) ||
	    vpmc_end(region))
		return "its own regions";
	/* and with the set that is there */
	if (vpmc_regions_close(own) ||
	    vpmc_regions_open(&own, "branches,BR_INST_RETIRED:CONDITIONAL", 0, &self->error))
		return "its own regions again";
	return NULL;
}

TEST_F(region, another_thread)
{
	pthread_t thread;
	void *wrong;

	ASSERT_EQ(0, vpmc_begin(self->inner));
	ASSERT_EQ(0, pthread_create(&thread, NULL, others_regions, self));
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	EXPECT_EQ(NULL, wrong) {
		TH_LOG("%s: %s", (char *)wrong, self->error.text);
	}
	EXPECT_EQ(0, vpmc_end(self->inner));
	EXPECT_EQ(1, calls_of(self->inner).calls);
	EXPECT_EQ(0, calls_of(self->outer).calls);
}

TEST_F(region, fork)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, vpmc_begin(self->inner));
	pid = fork();
	if (!pid) {
		struct vpmc_regions *own;
		struct vpmc_region *region;

		if (vpmc_begin(self->outer) != -ESRCH ||
		    vpmc_end(self->inner) != -ESRCH)
			_exit(1);
		if (vpmc_regions_open(&own, "branches", 0, NULL) ||
		    vpmc_region_get(own, "inner", &region) || vpmc_begin(region) ||
		    vpmc_end(region) || vpmc_regions_close(own))
			_exit(2);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, vpmc_end(self->inner));
	EXPECT_EQ(1, calls_of(self->inner).calls);
}

/* Samples of a set that stops, that is cleared, and that is replaced. */
TEST_F(region, changed_set)
{
	struct vpmc *v = vpmc_regions_handle(self->regions);

	ASSERT_EQ(0, vpmc_begin(self->outer));
	ASSERT_EQ(0, vpmc_stop(v));
	EXPECT_EQ(-ENODATA, vpmc_begin(self->inner));
	ASSERT_EQ(0, vpmc_end(self->outer));
	EXPECT_EQ(1, calls_of(self->outer).dirty);
	ASSERT_EQ(0, vpmc_start(v));
	ASSERT_EQ(0, vpmc_begin(self->outer));
	ASSERT_EQ(0, vpmc_clear(v, 0));
	ASSERT_EQ(0, vpmc_end(self->outer));
	EXPECT_EQ(2, calls_of(self->outer).dirty);
	/* the cleared part must not appear as a huge number */
	EXPECT_GT(1000000, vpmc_region_dirty(self->outer, 0, VPMC_INCLUSIVE));
	nested(self->outer, self->inner);
	EXPECT_EQ(2, calls_of(self->inner).calls);
	ASSERT_EQ(0, vpmc_program(v, NULL, 0, 0, &self->error));
	EXPECT_EQ(-ENODATA, vpmc_begin(self->inner));
}

static void *open_kept(void *regions)
{
	vpmc_regions_open(regions, EVENTS, VPMC_REGIONS_KEEP, NULL);
	return NULL;
}

/* A child frees what it has of its parent's regions, and goes on with markers. */
TEST(closed_in_child)
{
	struct vpmc_regions *regions[3];
	pthread_t thread;
	int status, i;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		regions[i] = NULL;
		ASSERT_EQ(0, pthread_create(&thread, NULL, open_kept, &regions[i]));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		ASSERT_NE(NULL, regions[i]);
	}
	ASSERT_EQ(0, setenv("VPMC_EVENTS", EVENTS, 1));
	vpmc_name_begin("mark", 4);
	vpmc_name_end("mark", 4);
	/* freed memory is filled */
	mallopt(M_PERTURB, 0x5a);
	pid = fork();
	if (!pid) {
		for (i = 0; i < 3; i++)
			if (vpmc_regions_close(regions[i]))
				_exit(1);
		vpmc_name_begin("mark", 4);
		vpmc_name_end("mark", 4);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, vpmc_regions_close(regions[i]));
}

static void *pass_once(void *regions)
{
	struct vpmc_region *region;

	open_kept(regions);
	if (!vpmc_region_get(*(struct vpmc_regions **)regions, "of the parent", &region) &&
	    !vpmc_begin(region))
		vpmc_end(region);
	return NULL;
}

/* Runs @opener in a thread, and returns the regions that it has opened, or NULL. */
static struct vpmc_regions *opened_by(void *(*opener)(void *regions))
{
	struct vpmc_regions *regions = NULL;
	pthread_t thread;

	if (!pthread_create(&thread, NULL, opener, &regions))
		pthread_join(thread, NULL);
	return regions;
}

/* Returns 0 if the child's report has none of the @parents regions after it has closed them. */
static int close_and_report(struct vpmc_regions *parents)
{
	int i, fd = memfd_create("report", 0);
	char text[100000] = "";

	/* So many that further ones are merged with the last one */
	for (i = 0; i < 70; i++)
		if (vpmc_regions_close(opened_by(open_kept)))
			return 1;
	if (vpmc_regions_close(parents) || vpmc_report(fd, VPMC_REPORT_JSON) ||
	    pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 2;
	return strstr(text, "of the parent") ? 3 : 0;
}

/* The parent reports what its child has closed, and the child does not. */
TEST(closed_in_child_is_reported_once)
{
	struct vpmc_regions *regions;
	int status;
	pid_t pid;

	ASSERT_EQ(0, setenv("VPMC_REPORT", "/dev/null", 1));
	regions = opened_by(pass_once);
	ASSERT_NE(NULL, regions);
	pid = fork();
	if (!pid)
		_exit(close_and_report(regions));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, vpmc_regions_close(regions));
}

/* Regions that name no events use the counters that others have added, which then stay. */
TEST(counters_of_others)
{
	struct vpmc_regions *regions;
	struct vpmc_event *events;
	struct vpmc_region *region;
	struct vpmc_error error;
	uint64_t inside, around;
	unsigned int nr;
	struct vpmc *v;

	ASSERT_EQ(0, program_before("instructions", &error));
	ASSERT_EQ(0, vpmc_open(&v, 0, NULL));
	ASSERT_EQ(0, vpmc_parse_events("branches", &events, &nr, NULL));
	ASSERT_EQ(2, vpmc_share(v, events, nr, &error));
	vpmc_free_events(events);
	ASSERT_EQ(0, vpmc_regions_open(&regions, NULL, 0, &error));
	ASSERT_EQ(0, vpmc_regions_cost(regions, 1, &inside, &around));
	ASSERT_EQ(0, vpmc_region_get(regions, "inner", &region));
	vpmc_close(v);
	EXPECT_EQ(0, vpmc_begin(region));
	loop_inner(100);
	EXPECT_EQ(0, vpmc_end(region));
	EXPECT_EQ(1, calls_of(region).calls);
	EXPECT_LE(BRANCHES(100), vpmc_region_total(region, 1, VPMC_INCLUSIVE, NULL));
	EXPECT_EQ(0, vpmc_regions_close(regions));
}

/* Somebody adds a counter to the set, and takes it away. */
TEST_F(region, grown_set)
{
	struct vpmc_event *events;
	unsigned int nr, i;
	struct vpmc *v;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, vpmc_begin(self->outer));
		nested(self->inner, self->inner);
		ASSERT_EQ(0, vpmc_open(&v, 0, NULL));
		ASSERT_EQ(0, vpmc_parse_events("instructions:k", &events, &nr, NULL));
		ASSERT_LE(3, vpmc_share(v, events, nr, &self->error)) {
			TH_LOG("%s", self->error.text);
		}
		vpmc_free_events(events);
		many(self->outer, self->inner);
		nested(self->outer, self->inner);
		ASSERT_EQ(0, vpmc_end(self->outer));
		vpmc_close(v);
		nested(self->outer, self->inner);
	}
	EXPECT_EQ(5 * 4, calls_of(self->outer).calls);
	EXPECT_EQ(0, calls_of(self->outer).replaced);
	EXPECT_EQ(0, calls_of(self->inner).replaced);
	EXPECT_EQ(0, calls_of(self->outer).refused);
	EXPECT_LE(INSTRUCTIONS(3),
		  vpmc_stats_min(vpmc_region_stats(self->inner, 0, VPMC_INCLUSIVE)));
}

/* Another set with as many counters, but of other events */
TEST_F(region, replaced_set)
{
	const char *others = variant->others ? "instructions,cycles,branches" :
					       "branches,instructions";
	uint64_t total, dirty, all;

	ASSERT_EQ(0, vpmc_begin(self->outer));
	nested(self->inner, self->inner);
	ASSERT_EQ(0, vpmc_end(self->outer));
	total = vpmc_region_total(self->outer, 1, VPMC_INCLUSIVE, &dirty);
	ASSERT_EQ(0, vpmc_begin(self->outer));
	ASSERT_EQ(0, vpmc_begin(self->inner));
	loop_inner(10000);
	ASSERT_EQ(0, vpmc_end(self->inner));
	all = vpmc_region_total(self->inner, 1, VPMC_INCLUSIVE, NULL);
	ASSERT_EQ(0, vpmc_begin(self->inner));
	ASSERT_EQ(0, program_before(others, &self->error));
	loop_inner(10000);
	ASSERT_EQ(0, vpmc_end(self->inner));
	EXPECT_EQ(-ENODATA, vpmc_begin(self->inner));
	loop_inner(10000);
	/* also if the new set is stopped, and runs again */
	ASSERT_EQ(0, vpmc_stop(vpmc_regions_handle(self->regions)));
	EXPECT_EQ(-ENODATA, vpmc_begin(self->inner));
	ASSERT_EQ(0, vpmc_start(vpmc_regions_handle(self->regions)));
	ASSERT_EQ(0, vpmc_end(self->outer));
	EXPECT_EQ(-ENODATA, vpmc_begin(self->outer));
	EXPECT_EQ(1, calls_of(self->outer).replaced);
	EXPECT_EQ(1, calls_of(self->inner).replaced);
	EXPECT_EQ(2, calls_of(self->outer).calls);
	EXPECT_EQ(5, calls_of(self->inner).calls);
	EXPECT_EQ(0, calls_of(self->outer).unfinished);
	EXPECT_EQ(0, calls_of(self->inner).unfinished);
	/* neither wrong sums, nor lost ones */
	EXPECT_EQ(total, vpmc_region_total(self->outer, 1, VPMC_INCLUSIVE, NULL));
	EXPECT_EQ(dirty, vpmc_region_dirty(self->outer, 1, VPMC_INCLUSIVE));
	EXPECT_EQ(all, vpmc_region_total(self->inner, 1, VPMC_INCLUSIVE, NULL));
	EXPECT_LE(BRANCHES(10000), all);
}

/*
 * Competes with another process for @cpu. This program is moved between the
 * CPUs.
 */
static pid_t compete(unsigned int cpu)
{
	pid_t pid = fork();
	cpu_set_t one;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (;;)
		loop_outside(1000000);
}

TEST_F(region, competing_programs)
{
	uint64_t inclusive;
	pid_t pid[4];
	unsigned int i, rounds = 0;

	for (i = 0; i < 4; i++)
		pid[i] = compete(i % 2);
	while (calls_of(self->outer).dirty < 10 && rounds < 1000000) {
		nested(self->outer, self->inner);
		rounds++;
	}
	for (i = 0; i < 4; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	EXPECT_LE(10, calls_of(self->outer).dirty);
	EXPECT_EQ(rounds, calls_of(self->outer).calls);
	EXPECT_EQ(2 * rounds, calls_of(self->inner).calls);
	EXPECT_NESTED(self, rounds - calls_of(self->outer).dirty,
		      2 * rounds - calls_of(self->inner).dirty);
	/* A sample that was disturbed within a read counts a little more. */
	inclusive = vpmc_region_dirty(self->outer, 0, VPMC_INCLUSIVE);
	EXPECT_LE(INSTRUCTIONS(500) * calls_of(self->outer).dirty, inclusive);
}

/*
 * The sweep: a thread of higher priority takes the CPU right before the k-th
 * instruction, for each k. A thread on CPU 1 wakes it while the emulator holds
 * CPU 0 at that instruction.
 */
struct sweep {
	int urgent[2];
	pthread_t urgent_thread, waker;
	volatile bool listening, over, quit;
	unsigned long held;
};

static int be_urgent(unsigned int cpu, int priority)
{
	const struct sched_param param = { .sched_priority = priority };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ||
	       (priority && sched_setscheduler(0, SCHED_FIFO, &param));
}

static void *urgent(void *arg)
{
	struct sweep *s = arg;
	char byte;

	if (be_urgent(0, 50))
		return "SCHED_FIFO";
	while (read(s->urgent[0], &byte, 1) == 1)
		;
	return NULL;
}

static void *waker(void *arg)
{
	struct sweep *s = arg;
	struct pmu_trigger t;

	if (be_urgent(1, 30))
		return "SCHED_FIFO";
	while (!s->quit) {
		t = pmu_trigger_status();
		s->listening = true;
		if (pmu_trigger_state(&t) == PMU_TRIGGER_HELD) {
			s->held++;
			if (write(s->urgent[1], "", 1) != 1)
				return "write";
			pmu_trigger_go(0);
			continue;
		}
		pmu_trigger_wait(t.events);
	}
	return NULL;
}

/*
 * The trigger counts instructions of this program between arm and disarm. That
 * includes the library. It takes some more when the page has changed since the last begin
 * or end, so there is one of another region first.
 */
static __attribute__((__noinline__)) int
scenario(struct vpmc_region *outer, struct vpmc_region *inner,
	 struct vpmc_region *first, unsigned long k, struct pmu_trigger *at)
{
	vpmc_begin(first);
	vpmc_end(first);
	if (pmu_trigger_arm(0, k, PMU_TRIGGER_HOLD))
		return -1;
	loop_outside(3);
	vpmc_begin(outer);
	loop_outer(3);
	vpmc_begin(inner);
	loop_inner(3);
	vpmc_end(inner);
	loop_outer(3);
	vpmc_end(outer);
	loop_outside(3);
	*at = pmu_trigger_status();
	pmu_trigger_disarm();
	return 0;
}

static bool is_in(const struct pmu_trigger *at, const void *begin, const void *end)
{
	return at->pc >= (unsigned long)begin && at->pc < (unsigned long)end;
}

/* How often another thread took the CPU from this one. */
static uint64_t preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/*
 * Returns true if the last sample is dirty. A region covers one stretch of
 * time, so it must be dirty for one contiguous range of @k.
 */
static bool became_dirty(struct vpmc_region *region, uint64_t *dirty,
			 unsigned int *stretches, bool *before)
{
	bool is = calls_of(region).dirty != *dirty;

	*dirty = calls_of(region).dirty;
	*stretches += is && !*before;
	*before = is;
	return is;
}

extern const char __executable_start[], etext[];

TEST_F(region, switch_at_each_instruction)
{
	unsigned int outer_stretches = 0, inner_stretches = 0, in_loops = 0;
	bool outer = false, inner = false, was_outer = false, was_inner = false;
	uint64_t outer_dirty = 0, inner_dirty = 0, preempted;
	struct vpmc_region *first;
	struct sweep sweep = {};
	struct pmu_trigger at;
	unsigned long k;
	void *wrong;

	/* without RDPMC the kernel makes the reads, which is not tested here */
	if (variant->forbidden)
		return;
	ASSERT_EQ(0, vpmc_region_get(self->regions, "first", &first));
	ASSERT_EQ(0, pipe(sweep.urgent));
	/* A thread of the kernel that takes the CPU would make a sample dirty, too. */
	ASSERT_EQ(0, be_urgent(0, 10));
	ASSERT_EQ(0, pthread_create(&sweep.urgent_thread, NULL, urgent, &sweep));
	ASSERT_EQ(0, pthread_create(&sweep.waker, NULL, waker, &sweep));
	while (!sweep.listening)
		sched_yield();
	ASSERT_EQ(0, pmu_trigger_range(0, (unsigned long)__executable_start,
				       (unsigned long)etext));
	outer_dirty = calls_of(self->outer).dirty;
	preempted = preemptions();
	for (k = 0;; k++) {
		ASSERT_EQ(0, scenario(self->outer, self->inner, first, k, &at));
		if (pmu_trigger_state(&at) != PMU_TRIGGER_FIRED)
			break;
		outer = became_dirty(self->outer, &outer_dirty,
				     &outer_stretches, &was_outer);
		inner = became_dirty(self->inner, &inner_dirty,
				     &inner_stretches, &was_inner);
		if (is_in(&at, loop_outside, loop_outer)) {
			EXPECT_FALSE(outer || inner);
		} else if (is_in(&at, loop_outer, loop_inner)) {
			EXPECT_TRUE(outer && !inner);
		} else if (is_in(&at, loop_inner, loops_end)) {
			EXPECT_TRUE(outer && inner);
		} else {
			continue;
		}
		in_loops++;
	}
	preempted = preemptions() - preempted;
	sweep.quit = true;
	pmu_trigger_disarm();
	close(sweep.urgent[1]);
	pthread_join(sweep.waker, &wrong);
	EXPECT_EQ(NULL, wrong);
	pthread_join(sweep.urgent_thread, &wrong);
	EXPECT_EQ(NULL, wrong);
	/* in the last round it may have fired after the scenario */
	EXPECT_LE(k, sweep.held);
	EXPECT_GE(k + 1, sweep.held);
	EXPECT_EQ(sweep.held, preempted);
	EXPECT_LT(200, k);
	EXPECT_EQ(5 * 7, in_loops);
	EXPECT_EQ(1, outer_stretches);
	EXPECT_EQ(1, inner_stretches);
	EXPECT_LT(inner_dirty, outer_dirty);
	/* all samples that are not dirty have the same value */
	EXPECT_VALUE(k + 1 - outer_dirty, 3 * INSTRUCTIONS(3),
		     vpmc_region_stats(self->outer, 0, VPMC_INCLUSIVE));
	EXPECT_VALUE(k + 1 - inner_dirty, INSTRUCTIONS(3),
		     vpmc_region_stats(self->inner, 0, VPMC_INCLUSIVE));
}

static struct vpmc_stats *empty(struct vpmc_stats *stats)
{
	vpmc_stats_free(stats);
	return vpmc_stats_new();
}

/*
 * What the handler of a signal counts: a region of its own, which it names itself, and one
 * of the thread that it has interrupted.
 */
static struct {
	struct vpmc_regions *regions;
	struct vpmc_region *same, *own;
	unsigned long came, counted, refused, wrong;
} handled;

static __attribute__((__noinline__)) void loop_in(struct vpmc_region *region)
{
	vpmc_begin(region);
	loop_inner(50);
	vpmc_end(region);
}

static void count_in_handler(int signal)
{
	struct vpmc_region *own;
	int begun = vpmc_begin(handled.same);
	int err = vpmc_region_get(handled.regions, "handler", &own);

	(void)signal;
	handled.came++;
	handled.counted += !begun;
	handled.refused += begun == -EBUSY;
	if (!begun) {
		handled.wrong += err;
		handled.own = own;
		loop_in(own);
	} else if (handled.own) {
		handled.wrong += vpmc_begin(handled.own) != -EBUSY;
	}
	handled.wrong += vpmc_end(handled.same) != begun;
}

static void handle(struct vpmc_regions *regions, struct vpmc_region *same)
{
	struct sigaction action = { .sa_handler = count_in_handler };

	/* One handler does not interrupt another one, whose numbers would be greater. */
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaddset(&action.sa_mask, SIGALRM);
	memset(&handled, 0, sizeof(handled));
	handled.regions = regions;
	handled.same = same;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
}

/* Only what the handler has counted was counted in its regions. */
#define EXPECT_HANDLED(self, calls_of_main) do {				\
	struct vpmc_region_calls same_ = calls_of((self)->inner);		\
	struct vpmc_region_calls own_ = calls_of(handled.own);			\
										\
	EXPECT_EQ(0, handled.wrong);						\
	EXPECT_EQ(handled.came, handled.counted + handled.refused);		\
	EXPECT_EQ(handled.counted, own_.calls);					\
	EXPECT_EQ(handled.counted + (calls_of_main), same_.calls);		\
	EXPECT_EQ(handled.refused, same_.refused);				\
	EXPECT_EQ(0, same_.unfinished);						\
	EXPECT_EQ(0, own_.unfinished);						\
	EXPECT_EQ(0, calls_of((self)->outer).unfinished);			\
	EXPECT_VALUE(own_.calls - own_.dirty, INSTRUCTIONS(50),			\
		     vpmc_region_stats(handled.own, 0, VPMC_INCLUSIVE));	\
} while (0)

static void *signal_held(void *arg)
{
	struct sweep *s = arg;
	struct pmu_trigger t;

	if (be_urgent(1, 30))
		return "SCHED_FIFO";
	while (!s->quit) {
		t = pmu_trigger_status();
		s->listening = true;
		if (pmu_trigger_state(&t) == PMU_TRIGGER_HELD) {
			s->held++;
			pthread_kill(s->urgent_thread, SIGUSR1);
			pmu_trigger_go(0);
			continue;
		}
		pmu_trigger_wait(t.events);
	}
	return NULL;
}

/* The signal comes right before the k-th instruction, for each k. */
TEST_F(region, signal_at_each_instruction)
{
	unsigned long k, most = 0, came;
	struct sweep sweep = { .urgent_thread = pthread_self() };
	const struct vpmc_stats *stats;
	struct pmu_trigger at;
	struct vpmc_region *first;
	void *wrong;

	if (variant->forbidden)
		return;
	ASSERT_EQ(0, vpmc_region_get(self->regions, "first", &first));
	handle(self->regions, self->inner);
	ASSERT_EQ(0, be_urgent(0, 0));
	ASSERT_EQ(0, pthread_create(&sweep.waker, NULL, signal_held, &sweep));
	while (!sweep.listening)
		sched_yield();
	ASSERT_EQ(0, pmu_trigger_range(0, (unsigned long)__executable_start,
				       (unsigned long)etext));
	for (k = 0;; k++) {
		came = handled.came;
		ASSERT_EQ(0, scenario(self->outer, self->inner, first, k, &at));
		if (pmu_trigger_state(&at) != PMU_TRIGGER_FIRED)
			break;
		/* An interrupt for the signal may come a moment later. */
		while (*(volatile unsigned long *)&handled.came == came)
			;
		most = k;
	}
	sweep.quit = true;
	pmu_trigger_disarm();
	pthread_join(sweep.waker, &wrong);
	EXPECT_EQ(NULL, wrong);
	EXPECT_LT(200, most);
	/* within begin and end, and at all other places */
	EXPECT_LT(50, handled.refused);
	EXPECT_LT(50, handled.counted);
	EXPECT_HANDLED(self, k + 1);
	EXPECT_EQ(k + 1, calls_of(self->outer).calls);
	stats = vpmc_region_stats(self->outer, 0, VPMC_EXCLUSIVE);
	EXPECT_EQ(2 * INSTRUCTIONS(3), vpmc_stats_min(stats));
	/* the handler, what the kernel executes in user mode for it, and no garbage */
	EXPECT_GT(2 * INSTRUCTIONS(3) + 2000, vpmc_stats_max(stats));
	EXPECT_GT(INSTRUCTIONS(50) + 2000,
		  vpmc_stats_max(vpmc_region_stats(self->inner, 0, VPMC_INCLUSIVE)));
}

/* Another thread takes the lock of the statistics, and allocates memory under it or not. */
static void *report_often(void *arg)
{
	struct sweep *s = arg;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (!s->quit) {
		vpmc_report(fd, VPMC_REPORT_JSON);
		free(malloc(100000));
	}
	close(fd);
	return NULL;
}

static void *storm(void *arg)
{
	struct sweep *s = arg;

	while (!s->quit)
		pthread_kill(s->urgent_thread, SIGUSR1);
	return NULL;
}

/*
 * Signals come all the time, from another thread and from a timer, while the log is
 * emptied, regions are named and values are read, and while another thread reports.
 */
TEST_F(region, signal_storm)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = {};
	struct sweep sweep = { .urgent_thread = pthread_self() };
	struct vpmc_region *region;
	uint64_t rounds = 0, total;
	pthread_t reporter;
	sigset_t timer;
	char name[20];

	handle(self->regions, self->inner);
	/* The timer's signals are for this thread alone. */
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &timer, NULL);
	ASSERT_EQ(0, pthread_create(&sweep.waker, NULL, storm, &sweep));
	ASSERT_EQ(0, pthread_create(&reporter, NULL, report_often, &sweep));
	pthread_sigmask(SIG_UNBLOCK, &timer, NULL);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	while (rounds < 2000) {
		nested(self->outer, self->inner);
		free(malloc(100000));
		if (rounds++ % 64)
			continue;
		snprintf(name, sizeof(name), "%llu",
			 (unsigned long long)rounds / 64 % 100);
		ASSERT_EQ(0, vpmc_region_get(self->regions, name, &region));
		total = vpmc_region_total(self->inner, 0, VPMC_INCLUSIVE, NULL);
		ASSERT_LE(2 * rounds * INSTRUCTIONS(100), total);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sweep.quit = true;
	pthread_join(sweep.waker, NULL);
	pthread_join(reporter, NULL);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	EXPECT_EQ(rounds, calls_of(self->outer).calls);
	EXPECT_HANDLED(self, 2 * rounds);
}

/* Compares the statistics with values that are computed in another way. */
TEST(statistics)
{
	struct vpmc_stats *stats = vpmc_stats_new();
	uint64_t value, low, next;
	unsigned int i;

	EXPECT_EQ(0, vpmc_stats_mean(stats));
	EXPECT_EQ(0, vpmc_stats_quantile(stats, 0.5));
	for (i = 0; i + 1 < VPMC_STATS_BUCKETS; i++) {
		low = vpmc_stats_low(i);
		next = vpmc_stats_low(i + 1);
		ASSERT_LT(low, next);
		/* the middle of a bucket is at most 1/64 away */
		ASSERT_LE((next - 1 - low) / 2 * 64, low);
		stats = empty(stats);
		vpmc_stats_add(stats, low);
		vpmc_stats_add(stats, next - 1);
		ASSERT_EQ(2, vpmc_stats_bucket(stats, i));
	}
	stats = empty(stats);
	vpmc_stats_add(stats, UINT64_MAX);
	vpmc_stats_add(stats, UINT64_MAX);
	EXPECT_EQ(UINT64_MAX, vpmc_stats_quantile(stats, 0.5));
	EXPECT_EQ(0, vpmc_stats_deviation(stats));
	stats = empty(stats);
	for (value = 0; value < 1001; value++)
		vpmc_stats_add(stats, value);
	EXPECT_EQ(500, vpmc_stats_mean(stats));
	/* the variance of 0 to n - 1 is (n * n - 1) / 12 */
	EXPECT_LE(288.96, vpmc_stats_deviation(stats));
	EXPECT_GE(288.97, vpmc_stats_deviation(stats));
	EXPECT_LE(500 - 500 / 64, vpmc_stats_quantile(stats, 0.5));
	EXPECT_GE(500 + 500 / 64, vpmc_stats_quantile(stats, 0.5));
	EXPECT_EQ(0, vpmc_stats_quantile(stats, 0));
	EXPECT_EQ(1000, vpmc_stats_quantile(stats, 1));
	stats = empty(stats);
	for (value = 4; value; value--)
		vpmc_stats_add(stats, value);
	EXPECT_EQ(2, vpmc_stats_quantile(stats, 0.5));
	EXPECT_EQ(10, vpmc_stats_sum(stats));
	EXPECT_EQ(4, vpmc_stats_n(stats));
	EXPECT_EQ(0, vpmc_stats_bucket(stats, VPMC_STATS_BUCKETS));
	vpmc_stats_free(stats);
}

/* A part of all values that is none: the ends, and the least value for what is no number. */
TEST(stats_of_no_part)
{
	struct vpmc_stats *stats = vpmc_stats_new();
	unsigned int i;

	EXPECT_EQ(0, vpmc_stats_quantile(stats, __builtin_nan("")));
	for (i = 7; i < 100; i++)
		vpmc_stats_add(stats, i);
	EXPECT_EQ(7, vpmc_stats_quantile(stats, __builtin_nan("")));
	EXPECT_EQ(7, vpmc_stats_quantile(stats, -__builtin_nan("")));
	EXPECT_EQ(7, vpmc_stats_quantile(stats, -__builtin_inf()));
	EXPECT_EQ(7, vpmc_stats_quantile(stats, -0.1));
	EXPECT_EQ(99, vpmc_stats_quantile(stats, 1.1));
	EXPECT_EQ(99, vpmc_stats_quantile(stats, __builtin_inf()));
	vpmc_stats_free(stats);
}

/* Of the values 1 to n, k eighths do not exceed the quantile, and not one less. */
TEST(quantiles)
{
	struct vpmc_stats *stats = vpmc_stats_new();
	uint64_t n, quantile;
	unsigned int k;

	for (n = 1; n <= 31; n++) {
		vpmc_stats_add(stats, n);
		for (k = 1; k < 8; k++) {
			quantile = vpmc_stats_quantile(stats, k / 8.0);
			EXPECT_LE(k * n, 8 * quantile);
			EXPECT_GT(k * n, 8 * (quantile - 1));
		}
	}
	stats = empty(stats);
	for (n = 1; n <= 5; n++)
		vpmc_stats_add(stats, n);
	EXPECT_EQ(3, vpmc_stats_quantile(stats, 0.5));
	vpmc_stats_free(stats);
}

TEST_HARNESS_MAIN
