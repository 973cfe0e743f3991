// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance: which threads inherit, from which instruction on they count, and
 * where their sums are added.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/sysinfo.h>
#include "inherit.h"
#include "disturb.h"

/* Each is longer than the tolerance of what happens in a test. */
#define TURNS	4000
#define SOME	2000

/* clone() */
#define FORK	SIGCHLD
#define VFORK	(CLONE_VM | CLONE_VFORK | SIGCHLD)
#define SHARED	(CLONE_VM | SIGCHLD)
#define THREAD	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | \
		 CLONE_THREAD)

FIXTURE(child)
{
	struct set set;
};

FIXTURE_VARIANT(child)
{
	unsigned int inherit;
	long clone;
	bool counts;
};

FIXTURE_VARIANT_ADD(child, fork) {
	.inherit = PROCESSES, .clone = FORK, .counts = true,
};

FIXTURE_VARIANT_ADD(child, vfork) {
	.inherit = PROCESSES, .clone = VFORK, .counts = true,
};

FIXTURE_VARIANT_ADD(child, process_in_one_address_space) {
	.inherit = PROCESSES, .clone = SHARED, .counts = true,
};

FIXTURE_VARIANT_ADD(child, thread) {
	.inherit = THREADS, .clone = THREAD, .counts = true,
};

FIXTURE_VARIANT_ADD(child, fork_of_both) {
	.inherit = THREADS | PROCESSES, .clone = FORK, .counts = true,
};

FIXTURE_VARIANT_ADD(child, thread_of_both) {
	.inherit = THREADS | PROCESSES, .clone = THREAD, .counts = true,
};

FIXTURE_VARIANT_ADD(child, fork_if_threads_inherit) {
	.inherit = THREADS, .clone = FORK,
};

FIXTURE_VARIANT_ADD(child, vfork_if_threads_inherit) {
	.inherit = THREADS, .clone = VFORK,
};

FIXTURE_VARIANT_ADD(child, thread_if_processes_inherit) {
	.inherit = PROCESSES, .clone = THREAD,
};

FIXTURE_VARIANT_ADD(child, fork_if_none_inherits) {
	.clone = FORK,
};

FIXTURE_SETUP(child)
{
	ASSERT_EQ(0, root_open(&self->set, variant->inherit));
}

FIXTURE_TEARDOWN(child)
{
	set_close(&self->set);
}

/* A process is reaped; a thread's directory vanishes after its exit hook. */
static int wait_for(long clone, pid_t tid)
{
	char path[64];

	if (!(clone & CLONE_THREAD))
		return child_status(tid);
	sprintf(path, "/proc/self/task/%d", tid);
	while (!access(path, F_OK))
		sched_yield();
	return 0;
}

TEST_F(child, counts_from_its_first_instruction_to_its_last)
{
	struct code_count own = code_add(measured(TURNS),
					 code_add(CODE_MEASURE, CODE_CLONE));
	struct code_count all = code_add(own, CODE_CLONE_CHILD(TURNS));
	struct vpmc_control control;
	int fd = self->set.fd;
	long tid;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	tid = set_measure(&self->set, code_clone, variant->clone, TURNS);
	ASSERT_LT(0, tid);
	ASSERT_EQ(0, wait_for(variant->clone, tid));
	ASSERT_EQ(0, vpmc_read_control(fd, &control));
	EXPECT_EQ(variant->inherit, control.flags);
	EXPECT_EQ(0, family_wrong(fd, 0, 0, 0, own));
	EXPECT_EQ(0, family_wrong(fd, LIVING, 0, 0, own));
	if (variant->counts) {
		EXPECT_EQ(0, family_wrong(fd, FINISHED, 0, 1, all));
		EXPECT_EQ(0, family_wrong(fd, FINISHED | LIVING, 0, 1, all));
	} else {
		EXPECT_EQ(0, family_wrong(fd, FINISHED | LIVING, 0, 0, own));
	}
}

/* The parent's set is stopped. So is the child's, until the child starts it. */
TEST_F(child, starts_as_its_parent_stands)
{
	long tid = code_clone(variant->clone, TURNS);

	ASSERT_LT(0, tid);
	ASSERT_EQ(0, wait_for(variant->clone, tid));
	EXPECT_EQ(0, family_wrong(self->set.fd, FINISHED, 0, variant->counts,
				  CODE_COUNT(0, 0)));
}

#define MOVES	10

FIXTURE(family)
{
	struct set set;
};

FIXTURE_SETUP(family)
{
	ASSERT_EQ(0, root_open(&self->set, THREADS | PROCESSES));
}

FIXTURE_TEARDOWN(family)
{
	set_close(&self->set);
}

/* How many instructions one's own page says that a loop has, and some more. */
static __attribute__((noinline)) uint64_t page_loop(struct vpmc_page *page,
						    long turns)
{
	uint64_t before[2], after[2];

	vpmc_read_page(page, before, NULL);
	code_loop(turns, 0);
	vpmc_read_page(page, after, NULL);
	return after[0] - before[0];
}

/* How often a switch may come between. */
#define PAGE_TRIES	100

/*
 * Repeated without a switch. A read that a switch interrupts begins again, and counts
 * the instructions of both.
 */
static int page_wrong(struct set *set)
{
	uint64_t before, some, more, may, switches;
	int err, i;

	for (i = 0, switches = 1; switches && i < PAGE_TRIES; i++) {
		before = disturbances();
		err = vpmc_ioctl(set->fd, VPMC_IOC_START, NULL);
		if (err || set->page->state != VPMC_STATE_RUNNING)
			return 1;
		switches = page_switches(set);
		some = page_loop(set->page, 100);
		more = page_loop(set->page, 1100);
		switches = page_switches(set) - switches;
		err = vpmc_ioctl(set->fd, VPMC_IOC_STOP, NULL);
		may = tolerated(disturbances() - before, 1);
	}
	if (may >= 2000)
		say_doubt(may, 2000);
	if (!err && !switches && more + may - some >= 2000 &&
	    more - some <= 2000 + may)
		return 0;
	fprintf(stderr, "# page: %llu, %llu, %llu switches, tolerance %llu\n",
		(unsigned long long)some, (unsigned long long)more,
		(unsigned long long)switches,
		(unsigned long long)may);
	return 1;
}

/* START to STOP of n turns, cleared before. */
static int measure_anew(struct set *set, long turns)
{
	return set_clear(set) ?:
	       set_measure(set, code_loop, turns, 0);
}

/* Both read their own counters by RDPMC while the other's count, too. */
TEST_F(family, parent_and_child_read_their_pages)
{
	struct child c = {};
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	if (!child_fork(&c)) {
		struct set set;

		if (pin(1) || heir_open(&set) || set.control.nr_counters != 2 ||
		    set.page->tid != getpid() || child_send(&c))
			_exit(1);
		for (i = 0; i < 100; i++)
			if (page_wrong(&set))
				_exit(2);
		if (child_send(&c) || child_wait(&c) ||
		    measure_anew(&set, TURNS) || child_send(&c))
			_exit(3);
		_exit(child_wait(&c) ? 0 : 4);
	}
	ASSERT_EQ(0, child_wait(&c));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, page_wrong(&self->set));
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, set_clear(&self->set));
	ASSERT_EQ(0, child_send(&c));
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, family_wrong(self->set.fd, LIVING, 1, 0, measured(TURNS)));
	EXPECT_EQ(0, child_end(&c));
}

/*
 * A counter that nobody else's user code has moved since it was written is no
 * farther from the start value than its own count: the base is not negative.
 */
TEST_F(family, child_does_not_see_what_its_parent_moved)
{
	struct set set;
	pid_t pid;
	int i;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, NULL));
	code_loop(1000000, 0);
	pid = fork();
	if (!pid) {
		if (heir_open(&set))
			_exit(100);
		for (i = 0; i < 2; i++)
			if (set.page->state != VPMC_STATE_RUNNING ||
			    (int64_t)set.page->slot[i].base < 0)
				_exit(1 + i);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(family, living_becomes_finished)
{
	int fd = self->set.fd;
	struct child c = {};

	ASSERT_EQ(0, set_measure(&self->set, code_loop, SOME, 0));
	if (!child_fork(&c)) {
		struct set set;

		if (heir_open(&set) || set_measure(&set, code_loop, TURNS, 0) ||
		    child_send(&c))
			_exit(1);
		_exit(child_wait(&c) ? 0 : 2);
	}
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, family_wrong(fd, LIVING, 1, 0,
				  code_add(measured(SOME), measured(TURNS))));
	EXPECT_EQ(0, family_wrong(fd, FINISHED, 0, 0, measured(SOME)));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(fd, LIVING, 0, 0, measured(SOME)));
	EXPECT_EQ(0, family_wrong(fd, FINISHED, 0, 1,
				  code_add(measured(SOME), measured(TURNS))));
}

/* The counters of a CPU have what it counted since it has that CPU. */
TEST_F(family, member_runs_on)
{
	struct vpmc_read early, late, last;
	int fd = self->set.fd;
	struct child c = {};

	ASSERT_EQ(0, pin(0));
	if (!child_fork(&c)) {
		struct set set;

		if (pin(1) || heir_open(&set) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_START, 0) || child_send(&c))
			_exit(1);
		for (;;)
			code_loop(TURNS, 0);
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, family_read(fd, LIVING, &early));
	/* If what it counts while it runs is never read, the test's time ends. */
	do {
		ASSERT_EQ(0, family_read(fd, LIVING, &late));
	} while (late.sum[0] == early.sum[0] || late.ticks == early.ticks);
	EXPECT_EQ(0, kill(c.pid, SIGKILL));
	EXPECT_EQ(KILLED_BY(SIGKILL), child_end(&c));
	ASSERT_EQ(0, family_read(fd, FINISHED, &last));
	EXPECT_LT(early.sum[0], late.sum[0]);
	EXPECT_LT(early.ticks, late.ticks);
	EXPECT_LE(late.sum[0], last.sum[0]);
	EXPECT_LE(late.ticks, last.ticks);
}

/* Run time, switches and migrations are added, too. */
TEST_F(family, time_is_added)
{
	struct vpmc_read own, all;
	int fd = self->set.fd;

	ASSERT_LT(0, set_measure(&self->set, code_clone, FORK, 1000000));
	while (wait(NULL) > 0)
		;
	ASSERT_EQ(0, family_read(fd, 0, &own));
	ASSERT_EQ(0, family_read(fd, FINISHED, &all));
	EXPECT_LT(own.switches, all.switches);
	EXPECT_LT(own.ticks, all.ticks);
	EXPECT_LT(own.ns, all.ns);
	EXPECT_EQ(VPMC_STATE_STOPPED, all.state);
	EXPECT_EQ(my_tid(), all.tid);
}

/*
 * A child migrates, and says how often its page told so. The scheduler may move it
 * until it is pinned for the first time.
 */
static int migrate(void)
{
	uint64_t before;
	struct set set;
	int i;

	if (heir_open(&set))
		return 100;
	if (pin(0))
		return 101;
	before = page_migrations(&set);
	for (i = 1; i <= MOVES; i++)
		if (pin(i % 2))
			return 101;
	if (page_migrations(&set) - before != MOVES)
		return 102;
	return page_migrations(&set);
}

/* The root gets what the child's page said at its end. */
TEST_F(family, migrations_are_added)
{
	struct vpmc_read own, all;
	int fd = self->set.fd, status;
	pid_t pid;

	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	pid = fork();
	if (!pid)
		_exit(migrate());
	status = child_status(pid);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_STOP, 0));
	ASSERT_LE(MOVES, status);
	/* It is on the first of the two CPUs at the beginning, perhaps. */
	ASSERT_GE(exact_machine() ? MOVES + 1 : 99, status);
	ASSERT_EQ(0, family_read(fd, 0, &own));
	ASSERT_EQ(0, family_read(fd, FINISHED, &all));
	EXPECT_EQ(own.migrations + status, all.migrations);
}

/* In a thread that was created stopped. */
static void *measure_thread(void *unused)
{
	struct set set;
	long err = heir_open(&set) ?: set_measure(&set, code_loop, TURNS, 0);

	close(set.fd);
	return (void *)err;
}

/* All descendants belong to the root, whichever thread created them. */
TEST_F(family, of_threads_and_processes)
{
	int fd = self->set.fd, status, i;
	pthread_t thread;
	void *err;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		pid = fork();
		if (pid)
			continue;
		pthread_create(&thread, NULL, measure_thread, NULL);
		pid = fork();
		if (!pid)
			_exit(measure_thread(NULL) != NULL);
		pthread_join(thread, &err);
		_exit(err || child_status(pid));
	}
	for (i = 0; i < 3; i++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, family_wrong(fd, FINISHED | LIVING, 0, 9,
				  code_times(measured(TURNS), 6)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, measure_thread, NULL));
	ASSERT_EQ(0, pthread_join(thread, &err));
	EXPECT_EQ(NULL, err);
	EXPECT_EQ(0, family_wrong(fd, FINISHED | LIVING, 0, 10,
				  code_times(measured(TURNS), 7)));
}

NEEDS(
	{ "family.parent_and_child_read_their_pages", PMU | FIFO | TWO_CPUS },
	{ "family.member_runs_on", PMU | TWO_CPUS },
	{ "family.migrations_are_added", PMU | OR_EMPTY | TWO_CPUS },
	{ "*", PMU | OR_EMPTY },
);

TEST_HARNESS_MAIN
