/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perf events, the other user of the PMU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERF_H
#define PERF_H

#include <cpuid.h>
#include <linux/perf_event.h>
#include "vpmc_test.h"

/* Modes for perf_open(). */
#define PERF_USER	1
#define PERF_KERNEL	2

/*
 * On a hybrid processor perf has a PMU for each type of core, and an event
 * counts on only one of them. Returns that of the current CPU. Returns 0 on
 * other processors.
 */
static inline uint64_t perf_pmu_here(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	if (!(machine.features & VPMC_FEATURE_HYBRID))
		return 0;
	__get_cpuid_count(0x1a, 0, &eax, &ebx, &ecx, &edx);
	return (uint64_t)read_number(eax >> 24 == 0x20 ?
		"/sys/bus/event_source/devices/cpu_atom/type" :
		"/sys/bus/event_source/devices/cpu_core/type")
		<< PERF_PMU_TYPE_SHIFT;
}

/*
 * Opens an event of a thread, or of the caller if @tid is 0. It joins @leader's
 * group, or leads one if that is -1. Returns the descriptor or -errno.
 */
static inline int perf_open_of(pid_t tid, uint32_t type, uint64_t config,
			       unsigned int modes, int leader)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = type == PERF_TYPE_HARDWARE ?
			  config | perf_pmu_here() : config,
		.read_format = PERF_FORMAT_GROUP,
		.disabled = leader < 0,
		.exclude_user = !(modes & PERF_USER),
		.exclude_kernel = !(modes & PERF_KERNEL),
	};
	int fd = syscall(SYS_perf_event_open, &attr, tid, -1, leader, 0);

	return fd < 0 ? -errno : fd;
}

static inline int perf_open(uint32_t type, uint64_t config, unsigned int modes,
			    int leader)
{
	return perf_open_of(0, type, config, modes, leader);
}

/* Opens instructions in user mode, stopped, as a leader. */
static inline int perf_open_insns(void)
{
	return perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
			 PERF_USER, -1);
}

/* Opens an event of a CPU, in both modes, which perf keeps on one counter. */
static inline int perf_open_pinned(int cpu, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.pinned = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

/*
 * Opens cycles of a CPU, as the hard-lockup watchdog does. They are counted on fixed
 * counter 1, or on any programmable one.
 */
static inline int perf_open_pinned_cycles(int cpu)
{
	return perf_open_pinned(cpu, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

/*
 * Opens a software event that perf keeps with those of the PMU, because the
 * leader of its group is closed. Returns the descriptor, or -errno.
 */
static inline int perf_open_leftover(void)
{
	int leader = perf_open_insns(), fd;

	if (leader < 0)
		return leader;
	fd = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, PERF_USER,
		       leader);
	close(leader);
	return fd;
}

/* With another choice a set does not refuse perf, or leaves counters to it. */
static inline bool sets_have_all(void)
{
	return !strncmp(line_of("/proc/sys/kernel/vpmc_counters"), "all", 3);
}

/* The counts of a group of @n events: 0 or -1. */
static inline int perf_read(int leader, unsigned int n, __u64 *count)
{
	struct {
		uint64_t nr;
		__u64 value[VPMC_MAX_COUNTERS];
	} group;
	ssize_t size = (n + 1) * sizeof(group.nr);

	if (read(leader, &group, sizeof(group)) != size || group.nr != n)
		return -1;
	memcpy(count, group.value, n * sizeof(*count));
	return 0;
}

/*
 * Turns of a loop. Where counts are not exact, it counts much more than what its
 * interrupts add.
 */
static inline long turns_here(long n)
{
	return counts_are_exact() ? n : n + 10000;
}

/*
 * ENABLE, body(a, b), DISABLE. @perf is the set that perf's event would be: it has what
 * may be counted too much since memset().
 */
static inline long perf_measure(struct set *perf, code_fn body, long a, long b)
{
	return set_measure_by(perf, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
			      body, a, b);
}

/* An interrupt may make perf stop its counters and start them. */
static inline uint64_t perf_tolerated(const struct set *perf)
{
	return tolerated(perf->disturbances, perf->starts + perf->disturbances);
}

/* Then it ends a piece, too. */
static inline uint64_t perf_piece(const struct set *perf, uint64_t truth)
{
	return truth / (perf->pieces + perf->disturbances ?: 1);
}

/* Is this what perf_measure() has counted? */
static inline bool perf_fits(const struct set *perf, uint64_t got, uint64_t truth)
{
	return count_fits(got, truth, perf_tolerated(perf),
			  perf_piece(perf, truth));
}

/* Are these instructions, branches and cycles what perf_measure() has counted? */
static inline bool perf_three_fit(const struct set *perf, const __u64 *count,
				  struct code_count truth)
{
	return perf_fits(perf, count[0], truth.insns) &&
	       perf_fits(perf, count[1], truth.branches) &&
	       cycles_fit(count[2], truth.insns, perf_tolerated(perf));
}

/*
 * Counts a loop of @n iterations. Returns 0 if perf's count is right, or its error, or
 * ~0.
 */
static inline uint64_t perf_error(long n)
{
	const struct code_count want = measured(turns_here(n));
	struct set perf = { .fd = perf_open_insns() };
	__u64 count;

	if (perf.fd < 0)
		return ~0ULL;
	if (perf_measure(&perf, code_loop, turns_here(n), 0) ||
	    perf_read(perf.fd, 1, &count))
		count = want.insns - 1;
	close(perf.fd);
	return perf_fits(&perf, count, want.insns) ? 0 : count - want.insns;
}

#endif /* PERF_H */
