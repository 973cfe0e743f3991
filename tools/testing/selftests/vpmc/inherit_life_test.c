// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance over the life of a family: the order in which its members end,
 * what they do with their sets, and how long the PMU is held.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/stat.h>
#include "inherit.h"
#include "memory.h"

/* Each is longer than the tolerance of what happens in a test. */
#define TURNS	4000
#define SOME	2000
#define MORE	3000
#define MANY	10000
#define USER	1000
#define REVOKE	"/proc/sys/kernel/vpmc_revoke"

FIXTURE(family)
{
	struct set set;
	int fd;
};

FIXTURE_SETUP(family)
{
	ASSERT_EQ(0, root_open(&self->set, THREADS | PROCESSES));
	self->fd = self->set.fd;
}

FIXTURE_TEARDOWN(family)
{
	set_close(&self->set);
}

static int heir_measure(struct set *set, long turns)
{
	return heir_open(set) ?: set_measure(set, code_loop, turns, 0);
}

/*
 * The root's owner forks, the child forks and ends, then the root's owner ends;
 * the grandchild continues alone. The descriptor still reads all sums, and the
 * PMU is held as long as a member counts.
 */
TEST(orphan)
{
	volatile int *root = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct vpmc_read sums;
	int fd, up[2], down[2];
	char byte;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, root);
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	tolerance_begin();
	pid = fork_with_files();
	if (!pid) {
		struct set set;

		if (root_open(&set, PROCESSES))
			_exit(1);
		*root = set.fd;
		pid = fork();
		if (pid)
			_exit(set_measure(&set, code_loop, SOME, 0) ||
			      child_status(pid));
		if (fork())
			_exit(heir_measure(&set, MORE));
		close(down[1]);
		if (write(up[1], "", 1) != 1 || read(down[0], &byte, 1) != 1)
			_exit(3);
		_exit(heir_measure(&set, TURNS));
	}
	EXPECT_EQ(0, child_status(pid));
	close(up[1]);
	ASSERT_EQ(1, read(up[0], &byte, 1));
	fd = *root;
	EXPECT_EQ(0, family_read(fd, LIVING, &sums));
	EXPECT_EQ(VPMC_STATE_EXITED, sums.state);
	EXPECT_EQ(0, family_wrong(fd, LIVING, 1, 0, measured(SOME)));
	EXPECT_EQ(0, family_wrong(fd, LIVING | FINISHED, 1, 1,
				  code_add(measured(SOME), measured(MORE))));
	EXPECT_EQ(holder_with_sets(), pmu_holder(fd));

	/* Its pipe is closed after its sums were handed over. */
	ASSERT_EQ(1, write(down[1], "", 1));
	ASSERT_EQ(0, read(up[0], &byte, 1));
	EXPECT_EQ(0, family_wrong(fd, LIVING | FINISHED, 0, 2,
				  code_add(measured(SOME),
					   code_add(measured(MORE),
						    measured(TURNS)))));
	EXPECT_EQ(holder_without_sets(), pmu_holder(fd));
	close(fd);
}

/*
 * Short children, one after the other, in their parent's memory. The sums are
 * exact, and no memory is lost.
 */
TEST_F_TIMEOUT(family, ten_thousand_children, 120)
{
	const long vfork = CLONE_VM | CLONE_VFORK | SIGCHLD;
	struct code_count each = CODE_CLONE_CHILD(CODE_CLONES_TURNS);
	const int many = test_times(MANY);
	struct code_count own = code_add(CODE_MEASURE, CODE_CLONES(many));
	/* Each had a page, and a structure. */
	const long limit = many / 2;
	long before, lost = limit;
	int i;

	ASSERT_EQ(0, code_clones(vfork, many / 10));
	for (i = 0; i < LOSSES && lost >= limit; i++) {
		before = settled_kb();
		ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CLEAR, NULL));
		ASSERT_EQ(0, set_measure(&self->set, code_clones, vfork, many));
		EXPECT_EQ(0, large_family_wrong(self->fd, 0, 0, own));
		EXPECT_EQ(0, large_family_wrong(self->fd, LIVING | FINISHED, many,
						code_add(own, code_times(each,
									 many))));
		lost = lost_kb(before, limit);
	}
	EXPECT_GT(limit, lost);
	TH_LOG("%d times", i);
}

/*
 * Ten thousand more, by fork(), several at a time, and somebody who reads all the
 * time. They need the memory of those that live.
 */
#define FORKERS	4

static void start_forkers(int many)
{
	struct set set;
	int i;

	for (i = 0; i < FORKERS; i++) {
		if (fork())
			continue;
		_exit(heir_open(&set) ||
		      set_measure(&set, code_clones, SIGCHLD, many));
	}
}

/* Each of them makes so many. Returns how many kB less there were. */
static long drop_bomb(struct __test_metadata *_metadata, int fd, int many)
{
	struct code_count each = CODE_CLONE_CHILD(CODE_CLONES_TURNS);
	struct code_count one = code_add(code_add(CODE_MEASURE,
						  CODE_CLONES(many)),
					 code_times(each, many));
	unsigned long long last = 0;
	long before = settled_kb(), most = 0, kb;
	struct vpmc_read read;
	int status, i;

	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR, NULL));
	start_forkers(many);
	do {
		ASSERT_EQ(0, family_read(fd, LIVING | FINISHED, &read));
		/* None is missed while it is handed over. */
		EXPECT_LE(last, read.sum[0]);
		EXPECT_LE(FORKERS, read.living + read.finished);
		EXPECT_GE(2 * FORKERS, read.living);
		last = read.sum[0];
		kb = before - free_kb();
		most = kb > most ? kb : most;
	} while (read.living);
	EXPECT_EQ(0, large_family_wrong(fd, LIVING | FINISHED,
					FORKERS * (many + 1),
					code_times(one, FORKERS)));
	for (i = 0; i < FORKERS; i++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	return most;
}

TEST_F_TIMEOUT(family, bomb, 120)
{
	const int many = test_times(MANY) / FORKERS;
	/* What is freed comes back late, but all of it were ten times more. */
	const long limit = 5 * FORKERS * many;
	long most = limit;
	int i;

	for (i = 0; i < LOSSES && most >= limit; i++) {
		most = drop_bomb(_metadata, self->fd, many);
		TH_LOG("%ld kB at most", most);
	}
	EXPECT_GT(limit, most);
}

/* Is this what READ says of descendants that left? */
static int wrong_left(int fd, unsigned int flags, uint64_t control, uint64_t unlink)
{
	struct vpmc_read read;
	int err = family_read(fd, flags, &read);

	return err ?: read.left_control != control || read.left_unlink != unlink ||
		      read.left_exec;
}

/* What a descendant clears is counted with the finished ones. */
TEST_F(family, child_clears)
{
	struct child c = {};

	if (!child_fork(&c)) {
		struct set set;

		if (heir_measure(&set, TURNS) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, NULL) ||
		    set_measure(&set, code_loop, SOME, 0) ||
		    ioctl(set.fd, VPMC_IOC_CLEAR, 1) || child_send(&c))
			_exit(1);
		_exit(child_wait(&c) ? 0 : 2);
	}
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING, 1, 0,
				  CODE_COUNT(0, measured(SOME).branches)));
	EXPECT_EQ(0, family_wrong(self->fd, FINISHED, 0, 0,
				  CODE_COUNT(measured(TURNS).insns +
					     measured(SOME).insns,
					     measured(TURNS).branches)));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(self->fd, FINISHED, 0, 1,
				  code_add(measured(TURNS), measured(SOME))));
}

/* The root clears itself and what was left to it, not those that live. */
TEST_F(family, root_clears)
{
	struct child c = {};
	struct set set;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(heir_measure(&set, MORE));
	ASSERT_EQ(0, child_status(pid));
	if (!child_fork(&c)) {
		if (heir_measure(&set, TURNS) || child_send(&c))
			_exit(1);
		_exit(child_wait(&c) ? 0 : 2);
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, SOME, 0));
	ASSERT_EQ(0, ioctl(self->fd, VPMC_IOC_CLEAR, 1));
	EXPECT_EQ(0, family_wrong(self->fd, FINISHED, 0, 1,
				  CODE_COUNT(0, code_add(measured(SOME),
							 measured(MORE)).branches)));
	ASSERT_EQ(0, ioctl(self->fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(0, family_wrong(self->fd, FINISHED, 0, 0,
				  CODE_COUNT(0, 0)));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING, 1, 0, measured(TURNS)));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  measured(TURNS)));
}

/*
 * CONTROL in a descendant: a set of its own, and a family if flags ask for it.
 */
TEST_F(family, child_controls)
{
	struct child c = {};
	struct set set;

	if (!child_fork(&c)) {
		struct set grandchild;
		pid_t pid;

		if (heir_measure(&set, TURNS))
			_exit(1);
		set.control.flags = VPMC_CONTROL_STOPPED | PROCESSES;
		if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control) ||
		    family_wrong(set.fd, LIVING | FINISHED, 0, 0,
				 CODE_COUNT(0, 0)))
			_exit(2);
		pid = fork();
		if (!pid)
			_exit(heir_measure(&grandchild, MORE));
		if (child_status(pid) ||
		    family_wrong(set.fd, FINISHED, 0, 1, measured(MORE)) ||
		    child_send(&c))
			_exit(3);
		_exit(child_wait(&c) ? 0 : 4);
	}
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  measured(TURNS)));
	EXPECT_EQ(0, wrong_left(self->fd, LIVING, 1, 0));
	EXPECT_EQ(0, wrong_left(self->fd, FINISHED, 1, 0));
	EXPECT_EQ(0, wrong_left(self->fd, 0, 0, 0));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  measured(TURNS)));
	EXPECT_EQ(0, wrong_left(self->fd, LIVING | FINISHED, 1, 0));
	/* Sums alone are cleared, where there are some, and then all. */
	if (counters_here(1))
		ASSERT_EQ(0, ioctl(self->fd, VPMC_IOC_CLEAR, 1));
	EXPECT_EQ(0, wrong_left(self->fd, LIVING | FINISHED, 1, 0));
	ASSERT_EQ(0, ioctl(self->fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(0, wrong_left(self->fd, LIVING | FINISHED, 0, 0));
}

static bool is_numbered(const struct set *set, uint64_t number)
{
	struct vpmc_read read;

	return !vpmc_read(set->fd, &read) && read.set_number == number &&
	       set->page->set_number == number;
}

/* The set that a child inherits is its first one, whichever one the parent has. */
TEST_F(family, child_numbers_its_sets)
{
	struct set set;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (heir_open(&set) || !is_numbered(&set, 1))
			_exit(1);
		if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control) ||
		    !is_numbered(&set, 2))
			_exit(2);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	/* root_open() has programmed it twice. */
	EXPECT_TRUE(is_numbered(&self->set, 2));
}

/* A descendant collects nothing, and UNLINK hands over what it has. */
TEST_F(family, child_unlinks)
{
	struct set set;
	pid_t pid;

	pid = fork();
	if (!pid) {
		pid = fork();
		if (!pid)
			_exit(heir_measure(&set, MORE));
		if (child_status(pid) || heir_measure(&set, TURNS) ||
		    family_wrong(set.fd, LIVING | FINISHED, 0, 0,
				 measured(TURNS)) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, NULL) ||
		    family_wrong(set.fd, LIVING | FINISHED, 0, 0,
				 measured(TURNS)))
			_exit(1);
		_exit(family_wrong(self->fd, FINISHED | LIVING, 0, 2,
				   code_add(measured(MORE), measured(TURNS))));
	}
	EXPECT_EQ(0, child_status(pid));
	/* Its child ended, and has not left. */
	EXPECT_EQ(0, wrong_left(self->fd, LIVING | FINISHED, 0, 1));
}

/* Old descendants count for themselves. New ones belong to the new family. */
TEST_F(family, root_controls_anew)
{
	struct child c = {};
	struct set set;
	pid_t pid;

	if (!child_fork(&c)) {
		if (heir_measure(&set, MORE) || child_send(&c) || child_wait(&c) ||
		    set_measure(&set, code_loop, TURNS, 0) ||
		    family_wrong(set.fd, 0, 0, 0,
				 code_add(measured(MORE), measured(TURNS))))
			_exit(1);
		_exit(0);
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->set.control));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 0,
				  CODE_COUNT(0, 0)));
	pid = fork();
	if (!pid)
		_exit(heir_measure(&set, SOME));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, child_send(&c));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  measured(SOME)));

	/* Without the flags there is no family any more. */
	self->set.control.flags = VPMC_CONTROL_STOPPED;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->set.control));
	pid = fork();
	if (!pid)
		_exit(heir_open(&set) == -ENOENT ? 0 : 1);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 0,
				  CODE_COUNT(0, 0)));
}

/* The creator's periods are its own: a child counts past them. */
TEST_F(family, no_periods)
{
	struct vpmc_read read;
	struct set set;
	pid_t pid;

	self->set.control.counter[0].period = 1000;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->set.control));
	pid = fork();
	if (!pid)
		_exit(heir_measure(&set, 5000) ||
		      set.control.counter[0].period ||
		      set.page->state != VPMC_STATE_STOPPED ||
		      set.page->overflows);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(self->fd, FINISHED, 0, 1, measured(5000)));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_LE(1000, read.sum[0]);
	EXPECT_GT(1000 + 100, read.sum[0]);
}

/* Asks for the holder by a descriptor without counters. */
/* An overflow has stopped its parent, so a child does not count. */
TEST_F(family, born_by_one_that_overflowed)
{
	struct set set;
	pid_t pid;

	self->set.control.counter[0].period = 1000;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->set.control));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
	code_loop(TURNS, 0);
	ASSERT_EQ(VPMC_STATE_OVERFLOWED,
		  ((volatile struct vpmc_page *)self->set.page)->state);
	pid = fork();
	if (!pid) {
		code_loop(TURNS, 0);
		_exit(heir_open(&set) || set.page->state != VPMC_STATE_STOPPED ||
		      set.page->slot[0].base);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(self->fd, FINISHED, 0, 1,
				  CODE_COUNT(self->set.page->slot[0].base,
					     self->set.page->slot[1].base)));
}

TEST_F(family, revoked)
{
	struct vpmc_read read;
	struct child c = {};
	struct set set;
	pid_t pid;

	if (!child_fork(&c)) {
		if (heir_measure(&set, TURNS) || child_send(&c) ||
		    child_wait(&c) || vpmc_read(set.fd, &read) ||
		    read.state != VPMC_STATE_REVOKED ||
		    vpmc_ioctl(set.fd, VPMC_IOC_START, NULL) != -ENODATA)
			_exit(1);
		/* Nor does a child of its own count. */
		pid = fork();
		if (!pid)
			_exit(heir_open(&set) == -ENOENT ? 0 : 1);
		_exit(child_status(pid));
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, write_file(REVOKE, "1"));
	EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(self->fd));
	EXPECT_EQ(0, write_file(REVOKE, "0"));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->fd));
	EXPECT_EQ(0, family_read(self->fd, LIVING, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(1, read.lost);
	EXPECT_EQ(0, family_wrong(self->fd, LIVING, 1, 0, measured(TURNS)));
	EXPECT_EQ(0, child_send(&c));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  measured(TURNS)));

	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->set.control));
	EXPECT_EQ(0, family_read(self->fd, FINISHED, &read));
	EXPECT_EQ(0, read.lost);
	EXPECT_EQ(0, read.finished);
}

/* The root unlinks: living members hold the PMU until they end. */
TEST_F(family, root_unlinks)
{
	struct child c = {};
	struct set set;
	pid_t pid;

	if (!child_fork(&c)) {
		if (heir_measure(&set, MORE) || child_send(&c) || child_wait(&c))
			_exit(1);
		pid = fork();
		if (!pid)
			_exit(heir_measure(&set, TURNS));
		_exit(child_status(pid));
	}
	ASSERT_EQ(0, child_wait(&c));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, NULL));
	EXPECT_EQ(holder_with_sets(), pmu_holder(self->fd));
	pid = fork();
	if (!pid)
		_exit(heir_open(&set) == -ENOENT ? 0 : 1);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, child_send(&c));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->fd));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 2,
				  code_add(measured(MORE), measured(TURNS))));
}

/* The first process of a pid namespace knows itself by another number. */
TEST_F(family, pid_namespace)
{
	struct vpmc_read read;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid) {
		if (getpid() != 1 || heir_open(&set) || set.page->tid != 1 ||
		    vpmc_read(set.fd, &read) || read.tid != 1)
			_exit(1);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

NEEDS(
	{ "global.orphan", PMU | OR_EMPTY },
	{ "family.revoked", TRUE_COUNTS | DISTURBS | ROOT },
	{ "family.pid_namespace", VPMC | ROOT },
	{ "family.child_clears", PMU },
	{ "family.root_clears", PMU },
	{ "family.no_periods", TRUE_COUNTS },
	{ "family.born_by_one_that_overflowed", PMU },
	{ "family.root_unlinks", PMU | OR_EMPTY },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
