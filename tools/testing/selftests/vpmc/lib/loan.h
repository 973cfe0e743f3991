/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets that borrow counters, and perf's events on these counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LOAN_H
#define LOAN_H

#include "beside.h"

static const struct choice branches[] = { { EV_BRANCHES, VPMC_ANY }, {} };
static const struct choice both[] = {
	{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
};
static const struct choice seven[] = {
	{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
	{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
	{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY },
	{ EV_BRANCHES, VPMC_ANY }, {}
};

static const struct choice two_branches[] = {
	{ EV_BRANCHES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
};

/* The programmable counters of the machine, 4 to 8, and all of them but one. */
#define ALL_GP		((int)machine.nr_gp)
#define all_but_one	(seven + MAX_GP - ALL_GP)

/* The programmable counters of the machine, also those that sets cannot have. */
static inline int every_gp(void)
{
	return __builtin_popcount((uint32_t)(machine.perf_mask | machine.own_mask |
					     machine.borrowed_mask));
}

/* For NEEDS(): the sets above have as many counters. */
#define ROOM_FOR_SETS	"four to eight programmable counters", NULL, has_room_for_sets

static inline bool has_room_for_sets(void)
{
	return ALL_GP >= 4 && ALL_GP <= MAX_GP;
}

static inline uint32_t index_of(const struct set *set, int i)
{
	return set->page->slot[i].index;
}

/* Events that need a programmable counter. In a group, or pinned to CPU 1. */
static inline int open_branches(int *fd, int n, int pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS |
			  perf_pmu_here(),
		.read_format = PERF_FORMAT_GROUP,
		.pinned = pinned,
		.exclude_kernel = 1,
	};
	int i;

	for (i = 0; i < n; i++) {
		fd[i] = syscall(SYS_perf_event_open, &attr, pinned ? -1 : 0,
				pinned ? 1 : -1, i && !pinned ? fd[0] : -1, 0);
		if (fd[i] < 0)
			return -errno;
	}
	return 0;
}

/*
 * What each event of the group counts of a loop: 0 if it stands, -1 if wrong. Where
 * counts are not exact, each counter may have counted interrupts.
 */
static inline long group_counts(const int *fd, int n)
{
	uint64_t happened = disturbances(), more;
	__u64 before[MAX_GP], after[MAX_GP];
	int i;

	if (perf_read(fd[0], n, before))
		return -1;
	code_loop(10000, 0);
	if (perf_read(fd[0], n, after))
		return -1;
	happened = disturbances() - happened;
	more = tolerated(happened, happened);
	for (i = 0; i < n; i++)
		after[i] -= before[i];
	for (i = 1; i < n; i++)
		if (!after[i] != !after[0] ||
		    (after[0] && !count_fits(after[i] + more, after[0], 2 * more,
					     10000 / (1 + happened))))
			return -1;
	return after[0] && after[0] < 10000 ? -1 : after[0];
}

static inline int alive(const int *fd, int n)
{
	__u64 count[2];

	while (n--)
		if (read(fd[n], count, sizeof(count)) != sizeof(count))
			return 0;
	return 1;
}

static inline void perf_close_all(int *fd)
{
	int i;

	for (i = MAX_GP; i--; fd[i] = -1)
		close(fd[i]);
}

/* perf has the counters of a group of @n events back soon after the last set. */
static inline int returned_to(const int *fd, int n)
{
	int i;

	for (i = 0; i < 50; i++) {
		if (group_counts(fd, n) > 0)
			return 1;
		usleep(20000);
	}
	return 0;
}

static inline int returned(const int *fd)
{
	return returned_to(fd, ALL_GP);
}

#endif /* LOAN_H */
