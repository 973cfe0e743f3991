/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A family with records of members, and heirs that count so much and end when they are
 * told.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef HEIRS_H
#define HEIRS_H

#include "members.h"
#include "poller.h"
#include "target.h"

/* Each is longer than the tolerance of what happens in a test. */
#define TURNS		4000
#define MORE		3000
#define MANY		30	/* in more than a page */
#define USER		1000

static int root_fd;	/* children close it */

FIXTURE(members)
{
	struct set root;
	int fd;
	struct vpmc_member member[2 * MANY];
};

FIXTURE_SETUP(members)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, members_open(&self->root, THREADS | PROCESSES, 2 * MANY));
	self->fd = self->root.fd;
	root_fd = self->fd;
}

FIXTURE_TEARDOWN(members)
{
	set_close(&self->root);
}

/* The same with another number of records. */
static inline int open_again(FIXTURE_DATA(members) *self, unsigned int flags,
			     unsigned int members)
{
	int err;

	set_close(&self->root);
	err = members_open(&self->root, flags, members);
	self->fd = self->root.fd;
	root_fd = self->fd;
	return err;
}

static inline int list(FIXTURE_DATA(members) *self, unsigned int flags)
{
	return members_list(self->fd, flags, self->member, 2 * MANY);
}

static inline const char *name_of(int number)
{
	static char name[16];

	snprintf(name, sizeof(name), "heir %d", number);
	return name;
}

/*
 * A child that counts so much, takes a name, and waits for its parent. It does not keep
 * the root's descriptor open.
 */
static inline int heir_start(struct child *c, int number, long turns)
{
	struct set set;

	if (child_fork(c))
		return child_wait(c);
	close(root_fd);
	if (prctl(PR_SET_NAME, name_of(number)) || heir_open(&set) ||
	    set_measure(&set, code_loop, turns, 0) || child_send(c))
		_exit(1);
	_exit(child_wait(c) ? 2 : 0);
}

/* Others may have inherited its pipe, so it is told. */
static inline int heir_end(struct child *c)
{
	return child_send(c) ?: child_end(c);
}

/* It programs a set of its own, and counts on. */
static inline int heir_controls(struct set *set)
{
	set->control.flags = VPMC_CONTROL_STOPPED;
	return vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control) ?:
	       set_measure(set, code_loop, MORE, 0);
}

/* So many children have ended, one after the other. */
static inline int some_end(int n, long turns)
{
	struct child c = {};
	int i, err = 0;

	for (i = 0; i < n && !err; i++)
		err = heir_start(&c, i, turns) || heir_end(&c);
	return err;
}

#endif /* HEIRS_H */
