/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a count may be where the PMU is not exact. Processors count an interrupt,
 * a fault or a switch as up to three instructions, and none counts less than what
 * was executed. So a count lies between the truth and the truth with TOLERANCE_EACH
 * for each of these events, which are counted, and with a constant, which is
 * measured when the program starts. On the exact machine it is the truth.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef TOLERANCE_H
#define TOLERANCE_H

#include "vpmc_test.h"

#define TOLERANCE_EACH	3

/* Interrupts of the machine; faults and switches of this process. */
static inline uint64_t disturbances(void)
{
	char text[256] = "", *intr = NULL;
	FILE *file = fopen("/proc/stat", "r");
	unsigned long long interrupts = 0;
	struct rusage usage;

	while (file && !intr && fgets(text, sizeof(text), file)) {
		if (strncmp(text, "intr ", 5))
			continue;
		intr = text + 5;
		interrupts = strtoull(intr, NULL, 10);
	}
	if (file)
		fclose(file);
	getrusage(RUSAGE_SELF, &usage);
	return interrupts + usage.ru_minflt + usage.ru_majflt +
	       usage.ru_nvcsw + usage.ru_nivcsw;
}

static inline bool counts_are_exact(void)
{
	return emulator() & PMU_MACHINE_EXACT;
}

/*
 * Returns 0 if @got is not below the truth, and above it only within the
 * tolerance. Otherwise prints an error and returns 1.
 */
static inline int count_wrong(uint64_t got, uint64_t truth, uint64_t events,
			      uint64_t constant)
{
	uint64_t most = counts_are_exact() ? 0 :
			events * TOLERANCE_EACH + constant;

	if (got >= truth && got - truth <= most)
		return 0;
	fprintf(stderr, "# count %llu, expected %llu to %llu (%llu events)\n",
		(unsigned long long)got, (unsigned long long)truth,
		(unsigned long long)(truth + most), (unsigned long long)events);
	return 1;
}

#endif /* TOLERANCE_H */
