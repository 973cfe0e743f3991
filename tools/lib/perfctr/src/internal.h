/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the library's files share. None of them is exported.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERFCTR_INTERNAL_H
#define PERFCTR_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include <libperfctr.h>
#include <vpmc.h>

#include "../../vpmc/src/select.h"

#define EXPORT		__attribute__((__visibility__("default")))

#define SELECT_EVENT(select)	((select) & 0xff)
#define SELECT_UMASK(select)	((select) >> 8 & 0xff)

/*
 * A handle. If @known is set, @last is what the handle programmed last, as the set with
 * @set_number. It is needed because the kernel does not keep tsc_on, nor the unused bits of
 * an event select, nor the number of a counter that was not free.
 */
struct vperfctr {
	struct vpmc *v;
	struct vperfctr_control last;
	uint64_t set_number;
	bool known;
};

struct rvperfctr {
	struct vperfctr counters;
	int pid;
};

/* Returns 0 or a negative error number. */
static inline int perfctr_request(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

/* control.c: all return 0 or a negative error number */

/* Returns true if the control stops the counters, as an empty one does. */
bool perfctr_is_stop(const struct vperfctr_control *control);

/*
 * Translates perfctr's structure to the kernel's. @fd is asked for the kind of
 * processor, if it is not known yet.
 */
int perfctr_to_vpmc(int fd, const struct vperfctr_control *control,
		    struct vpmc_control *set);

/* Translates back. The kernel does not know everything that was passed. */
int perfctr_from_vpmc(int fd, const struct vpmc_control *set,
		      struct vperfctr_control *control);

/*
 * Calls @program with the set. If that is refused because perf has a counter, the kernel
 * chooses another one. If there are too few others, the result is -EBUSY.
 */
int perfctr_place(int (*program)(void *to, struct vpmc_control *set), void *to,
		  struct vpmc_control *set);

/* raw.c: takes a descriptor; all return 0 or a negative error number */

int perfctr_stop_fd(int fd);
int perfctr_read_fd(int fd, struct vpmc_read *sums);
int perfctr_get_set(int fd, struct vpmc_control *set);

/*
 * Turns a negative error number into -1 and errno, as perfctr's calls return
 * it.
 */
static inline int perfctr_result(int err)
{
	if (err >= 0)
		return 0;
	errno = -err;
	return -1;
}

/* info.c */

/* Returns enum vpmc_kind, or a negative error number. Asks @fd once. */
int perfctr_kind(int fd);

/*
 * Returns true if the type is that of a processor that is newer than perfctr.
 */
bool perfctr_is_later(unsigned int cpu_type);

#endif /* PERFCTR_INTERNAL_H */
