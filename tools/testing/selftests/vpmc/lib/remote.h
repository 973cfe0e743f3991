/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events for the tests of other processes' counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef REMOTE_H
#define REMOTE_H

#include "target.h"

/* Two counters that must be equal, at any time, and a third. */
static const struct choice events[] = {
	{ EV_INSNS, FIXED(0) }, { EV_INSNS, 2 }, { EV_BRANCHES, 1 }, {}
};

static inline int program(int fd, unsigned int flags, const struct choice *choice)
{
	struct vpmc_control control;

	control_init(&control, flags);
	for (; choice->evtsel; choice++)
		control_choose(&control, choice->evtsel, choice->index);
	tolerance_begin();
	return vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
}

#endif /* REMOTE_H */
