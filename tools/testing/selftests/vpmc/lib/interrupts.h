/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often CPUs were interrupted, as /proc/interrupts counts it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "vpmc_test.h"

/*
 * Stores the first @cpus numbers of the line @name. The file has no column for a CPU
 * that is offline. Returns 0 or -1.
 */
static inline int interrupts_of_cpus(const char *name, int cpus, uint64_t *n)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[1024], *p;
	int found = -1, cpu;

	while (file && found && fgets(line, sizeof(line), file)) {
		p = line + strspn(line, " ");
		if (strncmp(p, name, strlen(name)) || p[strlen(name)] != ':')
			continue;
		p += strlen(name) + 1;
		for (cpu = 0; cpu < cpus; cpu++)
			n[cpu] = strtoull(p, &p, 10);
		found = 0;
	}
	if (file)
		fclose(file);
	return found;
}

/* The number of interrupts of a CPU, by their name in the file, or -1. */
static inline long interrupts(const char *name, int cpu)
{
	uint64_t n[cpu + 1];

	return interrupts_of_cpus(name, cpu + 1, n) ? -1 : (long)n[cpu];
}

/* Function call interrupts that @cpu has had, or -1. */
static inline long function_calls(int cpu)
{
	return interrupts("CAL", cpu);
}

/* The number of vpmc's interrupts on a CPU, or -1. */
static inline long vpmc_interrupts(int cpu)
{
	return interrupts("VPC", cpu);
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
