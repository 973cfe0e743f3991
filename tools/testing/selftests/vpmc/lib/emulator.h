/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of this project's machines the tests run on, if on any.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pmu-test-msr.h>

#define IS_EMULATOR	(1u << 31)

/*
 * Returns IS_EMULATOR and PMU_MACHINE_* in this project's emulator, and 0 on any
 * other machine. QEMU without its patches calls itself TCG, too, but has no
 * signature.
 */
static inline unsigned int emulator(void)
{
	unsigned int a, b, c, d, name[3];

	__cpuid(0x40000000, a, name[0], name[1], name[2]);
	if (memcmp(name, "TCGTCGTCGTCG", sizeof(name)))
		return 0;
	__cpuid(PMU_TEST_MACHINE, a, b, c, d);
	return a == PMU_MACHINE_ID ? b | IS_EMULATOR : 0;
}

/* Where tests of the exact machine are to fail, the environment asks for them. */
static inline bool exact_machine(void)
{
	const char *asked = getenv("VPMC_TEST_EXACT");

	return emulator() & PMU_MACHINE_EXACT || (asked && !strcmp(asked, "1"));
}

/* With parallel CPUs each one counts its own instructions, exactly. */
static inline bool counts_are_exact(void)
{
	return exact_machine() || (emulator() & PMU_MACHINE_PARALLEL &&
				   !(emulator() & PMU_MACHINE_SILICON));
}

#endif /* EMULATOR_H */
