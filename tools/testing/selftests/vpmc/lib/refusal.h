/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why CONTROL refuses an event.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef REFUSAL_H
#define REFUSAL_H

#include "vpmc_test.h"

/* CONTROL of one event: 0, or the reason; with another error than @err 1000. */
static inline uint32_t refused(int fd, uint64_t evtsel, uint32_t index, int err)
{
	struct vpmc_control control;

	control_init(&control, VPMC_CONTROL_STOPPED);
	control_add(&control, evtsel, index);
	if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) != err)
		return 1000;
	return err ? control.reason : 0;
}

#endif /* REFUSAL_H */
