/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each member of a family counted, as READ_MEMBERS tells.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "inherit.h"

/* Any counter will do. */
static const struct choice inherited_anywhere[] = {
	{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
};

/* As root_open(), with room for the records of so many members. */
static inline int members_open(struct set *set, unsigned int flags,
			       unsigned int members)
{
	int err = set_open(set, inherited_anywhere);

	if (err)
		return err;
	set->control.flags |= flags;
	set->control.members = members;
	tolerance_begin();
	return vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control);
}

/* READ_MEMBERS of up to @nr elements, after @read's @after. */
static inline int members_read(int fd, unsigned int flags,
			       struct vpmc_member *member, unsigned int nr,
			       struct vpmc_read_members *read)
{
	read->size = sizeof(*read);
	read->flags = flags;
	read->nr = nr;
	read->member_size = sizeof(*member);
	read->reserved = 0;
	read->members = (uintptr_t)member;
	return vpmc_ioctl(fd, VPMC_IOC_READ_MEMBERS, read);
}

/* From the first one on. Returns how many there are, or -errno. */
static inline int members_list(int fd, unsigned int flags,
			       struct vpmc_member *member, unsigned int nr)
{
	struct vpmc_read_members read = {};
	int err;

	memset(member, 0x5a, nr * sizeof(*member));
	err = members_read(fd, flags, member, nr, &read);
	return err ?: (int)read.nr;
}

/*
 * Returns 0 if a member is this, with its name. Prints what is different. It has
 * started at most once, or its count has that many more pieces.
 */
static inline int member_wrong(const struct vpmc_member *member, pid_t pid,
			       const char *comm, unsigned int state,
			       struct code_count count)
{
	int i, rest = 0;

	count = counted_here(count);
	for (i = counters_here(2); i < VPMC_MAX_COUNTERS; i++)
		rest += member->sum[i] != 0;
	if (member->pid == pid && member->state == state && !rest &&
	    !strcmp(member->comm, comm) &&
	    fits_since(member->sum[0], count.insns, 1) &&
	    fits_since(member->sum[1], count.branches, 1))
		return 0;
	fprintf(stderr, "# %u (%.16s) left by %u with %llu, %llu; expected %d (%s), %u, %llu, %llu\n",
		member->pid, member->comm, member->state,
		(unsigned long long)member->sum[0],
		(unsigned long long)member->sum[1], pid, comm, state,
		(unsigned long long)count.insns,
		(unsigned long long)count.branches);
	return 1;
}

#endif /* MEMBERS_H */
