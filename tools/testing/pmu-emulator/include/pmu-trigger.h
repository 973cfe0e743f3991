/* SPDX-License-Identifier: MIT */
/*
 * For guest programs: how to use the trigger of the emulator's test interface,
 * which pmu-test-msr.h describes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PMU_TRIGGER_H
#define PMU_TRIGGER_H

#include "pmu-test-msr.h"

struct pmu_trigger {
	unsigned long state;	/* and more, see below */
	unsigned long pc;
	unsigned long count;
	unsigned long events;
};

static inline struct pmu_trigger pmu_trigger(unsigned long command,
					     unsigned long a, unsigned long b,
					     unsigned long c)
{
	struct pmu_trigger t = { PMU_TEST_TRIGGER, a, command, b };

	__asm__ __volatile__("cpuid"
			     : "+a" (t.state), "+b" (t.pc), "+c" (t.count),
			       "+d" (t.events)
			     : "S" (c) : "memory");
	return t;
}

static inline struct pmu_trigger pmu_trigger_status(void)
{
	return pmu_trigger(PMU_TRIGGER_STATUS, 0, 0, 0);
}

static inline int pmu_trigger_state(const struct pmu_trigger *t)
{
	return t->state & 0xff;
}

static inline int pmu_trigger_cause(const struct pmu_trigger *t)
{
	return t->state >> 8 & 0xff;
}

static inline int pmu_trigger_cpl(const struct pmu_trigger *t)
{
	return t->state >> 16 & 0xff;
}

/* 0, or -1 if the emulator refuses */
static inline int pmu_trigger_result(struct pmu_trigger t)
{
	return t.state & PMU_TRIGGER_REFUSED ? -1 : 0;
}

static inline int pmu_trigger_range(unsigned int i, unsigned long low,
				    unsigned long high)
{
	return pmu_trigger_result(pmu_trigger(PMU_TRIGGER_RANGE, i, low, high));
}

static inline int pmu_trigger_arm(unsigned int cpu, unsigned long skip,
				  unsigned int action)
{
	return pmu_trigger_result(pmu_trigger(PMU_TRIGGER_ARM, cpu, skip, action));
}

static inline void pmu_trigger_disarm(void)
{
	pmu_trigger(PMU_TRIGGER_DISARM, 0, 0, 0);
}

static inline void pmu_trigger_wait(unsigned long events)
{
	pmu_trigger(PMU_TRIGGER_WAIT, events, 0, 0);
}

static inline int pmu_trigger_go(unsigned long instructions)
{
	return pmu_trigger_result(pmu_trigger(PMU_TRIGGER_GO, instructions, 0, 0));
}

#endif
