/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a set has before a request that must change nothing.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef BEFORE_H
#define BEFORE_H

#include "vpmc_test.h"

struct before {
	struct vpmc_read read;
	struct vpmc_control control;
	struct vpmc_page page;
};

static inline int before_read(struct before *before, const struct set *set)
{
	int err = vpmc_read(set->fd, &before->read) ?:
		  vpmc_read_control(set->fd, &before->control);

	before->page = *set->page;
	return err;
}

/* Returns the name of what differs now, or "nothing". */
static inline const char *before_differs(const struct before *before,
					 const struct set *set)
{
	struct before now;

	if (before_read(&now, set))
		return "that it can be read";
	if (memcmp(&before->read, &now.read, sizeof(now.read)))
		return "sums";
	if (memcmp(&before->control, &now.control, sizeof(now.control)))
		return "selection";
	if (memcmp(&before->page, &now.page, sizeof(now.page)))
		return "page";
	return "nothing";
}

#endif
