/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes with some capabilities and no others.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CAPS_H
#define CAPS_H

#include <linux/capability.h>
#include "target.h"

/* Sets exactly these capabilities. */
static inline int set_capabilities(uint64_t caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = caps, .permitted = caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	return syscall(SYS_capset, &header, data);
}

/* Changes to user @uid, and keeps these capabilities. */
static inline int become_with(uid_t uid, uint64_t caps)
{
	if (!uid)
		return 0;
	return prctl(PR_SET_KEEPCAPS, 1) || become(uid) ||
	       set_capabilities(caps) ? -1 : 0;
}

#endif /* CAPS_H */
