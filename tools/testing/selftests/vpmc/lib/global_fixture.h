/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/perfctr, opened by a test that runs on CPU 0.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GLOBAL_FIXTURE_H
#define GLOBAL_FIXTURE_H

#include "disturb.h"
#include "global.h"

FIXTURE(cpus)
{
	int fd;
	struct vpmc_global_cpu cpu[GLOBAL_CPUS];
};

FIXTURE_SETUP(cpus)
{
	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, pin(0));
	self->fd = global_open();
	ASSERT_LE(0, self->fd);
}

#endif /* GLOBAL_FIXTURE_H */
