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

/*
 * NetBurst: the ESCR with event, mask and modes is in the upper half of a select, the
 * CCCR with the choice of the ESCR in the lower half.
 */
#define P4_EVENT(choice, event, mask) \
	((uint64_t)((event) << 25 | (mask) << 9) << 32 | (choice) << 13)
#define P4_RDPMC_FAST	(1U << 31)
#define P4_USR		(1ULL << 34)
#define P4_OS		(1ULL << 35)
#define P4_INSNS	P4_EVENT(4, 0x02, 1)	/* instr_retired, not tagged */
#define P4_BRANCHES	P4_EVENT(5, 0x06, 0xf)	/* branch_retired */
#define P4_CYCLES	P4_EVENT(6, 0x13, 1)	/* global_power_events */

static inline bool machine_is_p4(void)
{
	return machine.kind == VPMC_KIND_P4;
}

/* Other selects than those of tests in general are NetBurst's already. */
static inline uint64_t event_on_p4(uint64_t evtsel)
{
	uint64_t modes = (evtsel & 0x10000 ? P4_USR : 0) |
			 (evtsel & 0x20000 ? P4_OS : 0);

	switch (evtsel & EVENT_MASK) {
	case EV_INSNS & EVENT_MASK:
		return P4_INSNS | modes;
	case EV_BRANCHES & EVENT_MASK:
		return P4_BRANCHES | modes;
	case EV_CYCLES & EVENT_MASK:
	case EV_REF & EVENT_MASK:
		return P4_CYCLES | modes;
	default:
		return evtsel;
	}
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
		{ EV_CYCLES & EVENT_MASK, 0x79 },
		{ EV_REF & EVENT_MASK, 0x79 },
		{}
	}, core[][2] = {
		{ EV_REF & EVENT_MASK, EV_CYCLES & EVENT_MASK },
		{}
	}, zhaoxin[][2] = {
		{ EV_CYCLES & EVENT_MASK, 0x82 },
		{}
	}, none[][2] = { {} };
	const uint16_t (*event)[2] = machine_is_amd() ? amd :
				     machine_is_p6() && !machine.pmu_version ? p6 :
				     machine_is_p6() ? core :
				     machine_is_zhaoxin() ? zhaoxin : none;

	if (machine_is_p4())
		return event_on_p4(evtsel);
	for (; (*event)[0]; event++)
		if ((evtsel & EVENT_MASK) == (*event)[0])
			return (evtsel & ~EVENT_MASK) | (*event)[1];
	return evtsel;
}

/* Is this event, whatever its modes are, the one that tests in general name so? */
static inline bool is_event(uint64_t evtsel, uint64_t general)
{
	uint64_t mask = machine_is_p4() ? ~(P4_USR | P4_OS) : EVENT_MASK;

	return !((evtsel ^ event_here(general)) & mask);
}

/*
 * Returns the counter to use in place of one that Intel has. @taken has the
 * counters in use. Without fixed counters, the last free counter replaces a
 * fixed one or one that is in use. On NetBurst the event decides which counters can
 * count it, so the kernel chooses, unless the counter is one of NetBurst's.
 */
static inline uint32_t index_here(uint32_t index, uint64_t taken)
{
	uint32_t i;

	if (machine_is_p4())
		return index & P4_RDPMC_FAST ? index : VPMC_ANY;
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
