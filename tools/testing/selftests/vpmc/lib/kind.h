/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kinds of PMU: tests name events and counters as on Intel's; here they become
 * those of the machine.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef KIND_H
#define KIND_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/vpmc.h>

/* Event selects for user mode. */
#define EV_INSNS	0x100c0ULL
#define EV_BRANCHES	0x100c4ULL
#define EV_CYCLES	0x1003cULL
#define EV_REF		0x10300ULL	/* only on a fixed counter */
/* User and kernel mode. */
#define EV_KERNEL_INSNS	0x300c0ULL
#define FIXED(n)	(VPMC_RDPMC_FIXED + (n))

#define EVENT_MASK	0xffffULL

/* The machine's PMU. All zeros without vpmc. */
static struct vpmc_info machine;

static void __attribute__((constructor)) machine_init(void)
{
	int fd = open("/proc/thread-self/perfctr", O_RDONLY);

	machine.size = sizeof(machine);
	if (fd < 0 || ioctl(fd, VPMC_IOC_INFO, &machine))
		memset(&machine, 0, sizeof(machine));
	close(fd);
}

static inline bool machine_is_amd(void)
{
	return machine.kind == VPMC_KIND_AMD;
}

/* Two counters, and no fixed ones. */
static inline bool machine_is_p6(void)
{
	return machine.kind == VPMC_KIND_P6;
}

static inline bool machine_is_zhaoxin(void)
{
	return !strncmp((const char *)machine.name, "Zhaoxin", 7);
}

/*
 * AMD and P6 count only cycles, which have no fixed rate. One instruction is one
 * cycle.
 */
static inline uint64_t event_here(uint64_t evtsel)
{
	static const uint16_t amd[][2] = {
		{ EV_BRANCHES & EVENT_MASK, 0xc2 },
		{ EV_CYCLES & EVENT_MASK, 0x76 },
		{ EV_REF & EVENT_MASK, 0x76 },
		{}
	}, p6[][2] = {
		{ EV_REF & EVENT_MASK, EV_CYCLES & EVENT_MASK },
		{}
	}, zhaoxin[][2] = {
		{ EV_CYCLES & EVENT_MASK, 0x82 },
		{}
	}, none[][2] = { {} };
	const uint16_t (*event)[2] = machine_is_amd() ? amd :
				     machine_is_p6() ? p6 :
				     machine_is_zhaoxin() ? zhaoxin : none;

	for (; (*event)[0]; event++)
		if ((evtsel & EVENT_MASK) == (*event)[0])
			return (evtsel & ~EVENT_MASK) | (*event)[1];
	return evtsel;
}

/*
 * Returns the counter to use in place of one that Intel has. @taken has the
 * counters in use. Without fixed counters, the last free counter replaces a
 * fixed one or one that is in use.
 */
static inline uint32_t index_here(uint32_t index, uint64_t taken)
{
	uint32_t i;

	if (!(machine_is_amd() || machine_is_p6()) || index == VPMC_ANY)
		return index;
	if (index < machine.nr_gp && !(taken & 1ULL << index))
		return index;
	for (i = machine.nr_gp; i--;)
		if (!(taken & 1ULL << i))
			return i;
	return index;
}

#endif /* KIND_H */
