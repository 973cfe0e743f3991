/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A root, its descendants, and what READ says about them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef INHERIT_H
#define INHERIT_H

#include "vpmc_test.h"

#define THREADS		VPMC_CONTROL_INHERIT_THREADS
#define PROCESSES	VPMC_CONTROL_INHERIT_PROCESSES
#define LIVING		VPMC_READ_LIVING
#define FINISHED	VPMC_READ_FINISHED

static const struct choice inherited[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 1 }, {}
};

/* As set_open(), with more flags. The set is stopped. */
static inline int root_open(struct set *set, unsigned int flags)
{
	int err = set_open(set, inherited);

	if (err)
		return err;
	set->control.flags |= flags;
	tolerance_begin();
	return vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control);
}

/* What the calling thread inherited. */
static inline int heir_open(struct set *set)
{
	struct vpmc_control control;
	int err;

	set->page = MAP_FAILED;
	set->fd = open(THREAD_FILE, O_RDWR);
	err = set->fd < 0 ? -errno : vpmc_read_control(set->fd, &control);
	if (err)
		return err;
	set->control = control;
	set->disturbances = 0;
	set->pieces = 0;
	set->starts = 0;
	set->page = vpmc_map(set->fd);
	return set->page == MAP_FAILED ? -errno : 0;
}

static inline int family_read(int fd, unsigned int flags,
			      struct vpmc_read *read)
{
	memset(read, 0, sizeof(*read));
	read->size = sizeof(*read);
	read->flags = flags;
	return vpmc_ioctl(fd, VPMC_IOC_READ, read);
}

/*
 * Returns 0 if READ returns exactly this. Prints each difference. Where counts are
 * not exact, sums may be higher by the tolerance since root_open(), with one start
 * for each member.
 */
static inline int family_wrong(int fd, unsigned int flags, unsigned int living,
			       unsigned int finished, struct code_count count)
{
	struct vpmc_read read;
	int err = family_read(fd, flags, &read);
	unsigned int starts = 1 + living + finished;

	count = counted_here(count);
	if (!err && read.flags == flags && read.living == living &&
	    read.finished == finished &&
	    fits_since(read.sum[0], count.insns, starts) &&
	    fits_since(read.sum[1], count.branches, starts))
		return 0;
	fprintf(stderr,
		"# READ %u: error %d, %u living, %llu finished, %llu, %llu; expected %u, %u, %llu, %llu, tolerance %llu\n",
		flags, err, read.living, (unsigned long long)read.finished,
		(unsigned long long)read.sum[0],
		(unsigned long long)read.sum[1], living, finished,
		(unsigned long long)count.insns,
		(unsigned long long)count.branches,
		(unsigned long long)tolerated_since(starts));
	return 1;
}

/*
 * The same for thousands of members that have ended. Where counts are not exact, the
 * tolerance of all is more than the count of one, so one that is lost or there twice is
 * not noticed.
 */
static inline int large_family_wrong(int fd, unsigned int flags,
				     unsigned int finished,
				     struct code_count count)
{
	struct vpmc_read read;
	uint64_t more;
	int err;

	if (counts_are_exact())
		return family_wrong(fd, flags, 0, finished, count);
	count = counted_here(count);
	err = family_read(fd, flags, &read);
	more = tolerated_since(1 + finished);
	if (!err && read.flags == flags && !read.living &&
	    read.finished == finished &&
	    read.sum[0] - count.insns <= more &&
	    read.sum[1] - count.branches <= more)
		return 0;
	fprintf(stderr, "# READ %u: error %d, %llu finished, %llu, %llu; expected %u, %llu, %llu, tolerance %llu\n",
		flags, err, (unsigned long long)read.finished,
		(unsigned long long)read.sum[0],
		(unsigned long long)read.sum[1], finished,
		(unsigned long long)count.insns,
		(unsigned long long)count.branches, (unsigned long long)more);
	return 1;
}

/* fork() with a shared table of files. */
static inline pid_t fork_with_files(void)
{
	return syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
}

/* fork(); the child serves its parent through a pair of pipes. */
struct child {
	pid_t pid;
	int to;
	int from;
};

static inline pid_t child_fork(struct child *c)
{
	int down[2], up[2];

	/* Without a child, what the caller does next with it fails. */
	*c = (struct child){ .pid = -1, .to = -1, .from = -1 };
	if (pipe(down) || pipe(up))
		return -1;
	c->pid = fork();
	if (!c->pid) {
		c->to = up[1];
		c->from = down[0];
		close(up[0]);
		close(down[1]);
	} else {
		c->to = down[1];
		c->from = up[0];
		close(up[1]);
		close(down[0]);
	}
	return c->pid;
}

/* The other process has come to the same point. */
static inline int child_send(struct child *c)
{
	return write(c->to, "", 1) == 1 ? 0 : -1;
}

static inline int child_wait(struct child *c)
{
	char byte;

	return read(c->from, &byte, 1) == 1 ? 0 : -1;
}

/* Ends the child and waits for it. Returns 0 if all its checks passed. */
static inline int child_end(struct child *c)
{
	close(c->to);
	close(c->from);
	return child_status(c->pid);
}

/* On CPU 1, until it is killed. A parent that was not visited yet has children. */
static inline void fork_all_the_time(void)
{
	if (pin(1))
		_exit(1);
	for (;;)
		if (!fork())
			_exit(0);
		else
			wait(NULL);
}

#endif /* INHERIT_H */
