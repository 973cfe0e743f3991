/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measures the costs of a piece of code. Reads the emulator's totals of this
 * CPU before and after the code, with an instruction that executes nothing in
 * the kernel.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef COST_H
#define COST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pmu-test-msr.h"

#define ROUNDS	1000

/* totals in the emulator's order, for kernel mode and user mode */
struct totals {
	uint64_t event[PMU_TEST_NR_EVENTS][2];
};

enum { KERNEL_MODE, USER_MODE };

#define totals_of(t, number)						\
	__asm__ __volatile__("mov %[leaf], %%eax\n\t"			\
		"mov %[first], %%ecx\n\t"				\
		"cpuid\n\t"						\
		"mov %%rax, %[kernel]\n\t"				\
		"mov %%rbx, %[user]\n\t"				\
		"mov %%rcx, %[kernel_next]\n\t"				\
		"mov %%rdx, %[user_next]"				\
		: [kernel] "=m" ((t)->event[number][KERNEL_MODE]),	\
		  [user] "=m" ((t)->event[number][USER_MODE]),		\
		  [kernel_next] "=m" ((t)->event[(number) + 1][KERNEL_MODE]), \
		  [user_next] "=m" ((t)->event[(number) + 1][USER_MODE])	\
		: [leaf] "i" (PMU_TEST_TOTALS), [first] "i" (number)	\
		: "rax", "rbx", "rcx", "rdx", "memory")

/*
 * Instructions from one such CPUID to the next: the CPUID, four stores and two
 * constants. This does not depend on the code that the compiler makes around
 * it.
 */
#define OWN_INSTRUCTIONS	7

/*
 * Reads instructions last, so that the CPUIDs of the other totals are not
 * counted.
 */
static inline __attribute__((__always_inline__)) void
totals_begin(struct totals *t)
{
	totals_of(t, 10);
	totals_of(t, 8);
	totals_of(t, 6);
	totals_of(t, 4);
	totals_of(t, 2);
	totals_of(t, 0);
}

/*
 * Reads instructions first, so that the CPUIDs of the other totals are not
 * counted.
 */
static inline __attribute__((__always_inline__)) void
totals_end(struct totals *t)
{
	totals_of(t, 0);
	totals_of(t, 2);
	totals_of(t, 4);
	totals_of(t, 6);
	totals_of(t, 8);
	totals_of(t, 10);
}

/* cheapest round, and the number of rounds */
struct cost {
	struct totals least;
	unsigned int rounds;
};

static inline uint64_t instructions(const struct totals *t, int mode)
{
	return t->event[PMU_TEST_CYCLES][mode] -
	       t->event[PMU_TEST_REP_PASSES][mode];
}

static inline uint64_t all_instructions(const struct totals *t)
{
	return instructions(t, KERNEL_MODE) + instructions(t, USER_MODE);
}

static inline uint64_t both_modes(const struct totals *t, int event)
{
	return t->event[event][KERNEL_MODE] + t->event[event][USER_MODE];
}

/*
 * Adds a round. Ignores rounds whose number of interrupts differs from
 * @interrupts.
 */
static inline void cost_add(struct cost *cost, const struct totals *begin,
			    const struct totals *end, unsigned int interrupts)
{
	struct totals t;
	int event, mode;

	for (event = 0; event < PMU_TEST_NR_EVENTS; event++)
		for (mode = 0; mode < 2; mode++)
			t.event[event][mode] = end->event[event][mode] -
					       begin->event[event][mode];
	t.event[PMU_TEST_CYCLES][USER_MODE] -= OWN_INSTRUCTIONS;
	if (both_modes(&t, PMU_TEST_INTERRUPTS) != interrupts)
		return;
	if (!cost->rounds++ ||
	    all_instructions(&t) < all_instructions(&cost->least))
		cost->least = t;
}

/* Prints one line of raw figures for scripts/bench. */
static inline void cost_print(const struct cost *cost, const char *name,
			      unsigned int n, const char *who)
{
	const struct totals *t = &cost->least;

	printf("raw case=%s n=%u who=%s rounds=%u user=%llu kernel=%llu rdpmc=%llu rdtsc=%llu wrmsr=%llu rdmsr=%llu cr4=%llu faults=%llu syscalls=%llu interrupts=%llu\n",
	       name, n, who, cost->rounds,
	       (unsigned long long)instructions(t, USER_MODE),
	       (unsigned long long)instructions(t, KERNEL_MODE),
	       (unsigned long long)both_modes(t, PMU_TEST_RDPMC),
	       (unsigned long long)both_modes(t, PMU_TEST_RDTSC),
	       (unsigned long long)both_modes(t, PMU_TEST_WRMSR),
	       (unsigned long long)both_modes(t, PMU_TEST_RDMSR),
	       (unsigned long long)both_modes(t, PMU_TEST_CR4_WRITES),
	       (unsigned long long)both_modes(t, PMU_TEST_PAGE_FAULTS),
	       (unsigned long long)both_modes(t, PMU_TEST_SYSCALLS),
	       (unsigned long long)both_modes(t, PMU_TEST_INTERRUPTS));
	fflush(stdout);
}

/* Measures one round of @code. Rounds with an interrupt are ignored. */
#define COST_OF(cost, code) do {					\
	struct totals begin_, end_;					\
									\
	totals_begin(&begin_);						\
	code;								\
	totals_end(&end_);						\
	cost_add(cost, &begin_, &end_, 0);				\
} while (0)

#endif /* COST_H */
