/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupts of a CPU by other CPUs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "vpmc_test.h"

/* Function call interrupts that @cpu has had, or -1. */
static inline long function_calls(int cpu)
{
	char line[512], *p;
	long n = -1;
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && n < 0 && fgets(line, sizeof(line), f)) {
		p = strstr(line, "CAL:");
		if (!p)
			continue;
		for (p += 4; cpu >= 0; cpu--)
			n = strtol(p, &p, 10);
	}
	if (f)
		fclose(f);
	return n;
}

/* Waits until the kernel has had no other work for @cpu for a second. */
static inline int wait_until_left_alone(int cpu)
{
	long before;
	int i;

	for (i = 0; i < 20; i++) {
		before = function_calls(cpu);
		sleep(1);
		if (before >= 0 && function_calls(cpu) == before)
			return 0;
	}
	return -1;
}

#endif /* INTERRUPTS_H */
