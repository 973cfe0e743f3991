/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bits of an event select, for each kind of PMU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_SELECT_H
#define VPMC_SELECT_H

#include <stdint.h>
#include <string.h>

#include <linux/vpmc.h>

#define SELECT_BIT(n)	(1ULL << (n))

/* On NetBurst this bit is set in the index of each counter: RDPMC returns 32 bits. */
#define RDPMC_FAST	0x80000000U

/*
 * @user, @kernel: the modes. @owned: bits that the kernel sets itself. CONTROL ignores
 * them, and READ_CONTROL does not return them. @enable and @interrupt are two of them.
 * @event: all other bits that CONTROL takes.
 */
struct select_form {
	uint64_t user, kernel, owned, enable, interrupt, event;
};

/*
 * NetBurst's ESCR is in bits 32 to 63, and its CCCR in bits 0 to 31. The others have their
 * event select.
 */
static inline struct select_form select_form(unsigned int kind)
{
	struct select_form form = {
		.user = SELECT_BIT(16),
		.kernel = SELECT_BIT(17),
		.owned = SELECT_BIT(20) | SELECT_BIT(22),
		.enable = SELECT_BIT(22),
		.interrupt = SELECT_BIT(20),
		/* event, unit mask, edge, invert, counter mask */
		.event = 0xffff | SELECT_BIT(18) | SELECT_BIT(23) | 0xffULL << 24,
	};

	if (kind == VPMC_KIND_AMD)
		form.event |= 0xfULL << 32;	/* high bits of the event */
	if (kind == VPMC_KIND_P4)
		form = (struct select_form){
			.user = SELECT_BIT(34),
			.kernel = SELECT_BIT(35),
			/* and in bits 16 and 17: while which threads are active */
			.owned = SELECT_BIT(12) | 3ULL << 16 | SELECT_BIT(26),
			.enable = SELECT_BIT(12),
			.interrupt = SELECT_BIT(26),
			/* ESCR select, compare to edge; tag, event mask, event */
			.event = 7ULL << 13 | 0x7fULL << 18 | 0x7ffffff0ULL << 32,
		};
	return form;
}

static inline uint64_t select_modes(unsigned int kind)
{
	return select_form(kind).user | select_form(kind).kernel;
}

/* Returns the kind that has the events of this table of libpfm4. */
static inline enum vpmc_kind select_kind_of_table(const char *table)
{
	static const char *const p6[] = { "p6", "ppro", "pii", "pm" };
	unsigned int i;

	if (!strncmp(table, "amd64", 5))
		return VPMC_KIND_AMD;
	if (!strncmp(table, "netburst", 8))
		return VPMC_KIND_P4;
	for (i = 0; i < sizeof(p6) / sizeof(p6[0]); i++)
		if (!strcmp(table, p6[i]))
			return VPMC_KIND_P6;
	return VPMC_KIND_INTEL;
}

/*
 * Returns the kind whose events this processor has. P6's PMU with an architectural version
 * is that of Core Duo and of one stepping of Core 2. These have Intel's architectural events.
 */
static inline enum vpmc_kind select_kind_of_events(const struct vpmc_info *info)
{
	return info->kind == VPMC_KIND_P6 && info->pmu_version ? VPMC_KIND_INTEL : info->kind;
}

#endif /* VPMC_SELECT_H */
