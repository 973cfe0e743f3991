/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library's files share. Nothing of this is exported.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERFCTR_INTERNAL_H
#define PERFCTR_INTERNAL_H

#include <errno.h>
#include <stdbool.h>

#include <libperfctr.h>
#include <vpmc.h>

#define EXPORT		__attribute__((__visibility__("default")))

/* Bits of an event select. */
#define SELECT_USR	(1U << 16)
#define SELECT_OS	(1U << 17)
#define SELECT_INT	(1U << 20)
#define SELECT_EN	(1U << 22)

#define SELECT_EVENT(select)	((select) & 0xff)
#define SELECT_UMASK(select)	((select) >> 8 & 0xff)

/*
 * A handle. @last is what it has programmed, if @known: the kernel keeps neither
 * tsc_on, nor what an event select has beside the event that is counted.
 */
struct vperfctr {
	struct vpmc *v;
	struct vperfctr_control last;
	bool known;
};

struct rvperfctr {
	struct vperfctr counters;
	int pid;
};

/* control.c: all return 0 or a negative error number */

/* Whether it stops the counters, as an empty control does. */
bool perfctr_is_stop(const struct vperfctr_control *control);

/* From perfctr's structure to the kernel's. @fd tells what processor this is. */
int perfctr_to_vpmc(int fd, const struct vperfctr_control *control,
		    struct vpmc_control *set);

/* And back, as far as the kernel knows what was given. */
int perfctr_from_vpmc(const struct vpmc_control *set,
		      struct vperfctr_control *control);

/* Whether both program the same counters. */
bool perfctr_same_set(const struct vpmc_control *a, const struct vpmc_control *b);

/* raw.c: by a descriptor; all return 0 or a negative error number */

int perfctr_request(int fd, unsigned long request, void *arg);
int perfctr_stop_fd(int fd);
int perfctr_read_fd(int fd, struct vpmc_read *sums);
int perfctr_get_set(int fd, struct vpmc_control *set);

/* As a call of perfctr's returns it: -1 with errno for a negative error number. */
static inline int perfctr_result(int err)
{
	if (err >= 0)
		return 0;
	errno = -err;
	return -1;
}

/* info.c */

/* Whether @info is about a processor that perfctr did not know. */
bool perfctr_is_later(unsigned int cpu_type);

#endif /* PERFCTR_INTERNAL_H */
