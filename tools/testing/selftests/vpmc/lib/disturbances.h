/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What makes a processor count too much: interrupts, page faults and switches. Where
 * counts are not exact, tests run on CPUs 0 and 1. So only the interrupts of these matter.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef DISTURBANCES_H
#define DISTURBANCES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline pid_t my_tid(void)
{
	return syscall(SYS_gettid);
}

/* The CPUs on which tests run. If it is empty, they run on any CPU. */
static cpu_set_t test_cpus;
/* Interrupts of CPUs before they were added to test_cpus. */
static uint64_t interrupts_before;

/* Returns the number after @word at the beginning of a line of @path, or 0. */
static inline uint64_t proc_number(const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	size_t length = strlen(word);
	uint64_t number = 0;
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0)
		if (!strncmp(line, word, length)) {
			number = strtoull(line + length, NULL, 10);
			break;
		}
	free(line);
	if (file)
		fclose(file);
	return number;
}

/* Returns the sum of a line of /proc/interrupts over the columns that @wanted marks. */
static inline uint64_t interrupts_of_line(const char *line, const bool *wanted,
					  unsigned int columns)
{
	const char *p = strchr(line, ':');
	uint64_t sum = 0, number;
	unsigned int i;
	char *end;

	for (i = 0; p && i < columns; i++) {
		number = strtoull(++p, &end, 10);
		if (end == p)
			break;
		if (wanted[i])
			sum += number;
		p = end;
	}
	return sum;
}

/*
 * Marks the columns of /proc/interrupts that @cpus have. Offline CPUs have none. Returns
 * the number of columns up to the last one that is marked.
 */
static inline unsigned int interrupt_columns(const char *line, const cpu_set_t *cpus,
					     bool *wanted)
{
	unsigned int i, last = 0;

	for (i = 0; i < CPU_SETSIZE && (line = strstr(line, "CPU")); i++) {
		line += 3;
		wanted[i] = CPU_ISSET(atoi(line), cpus);
		if (wanted[i])
			last = i + 1;
	}
	return last;
}

static inline uint64_t interrupts_on(const cpu_set_t *cpus)
{
	bool wanted[CPU_SETSIZE] = {};
	unsigned int columns = 0;
	uint64_t sum = 0;
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	file = fopen("/proc/interrupts", "r");
	if (file && getline(&line, &size, file) > 0)
		columns = interrupt_columns(line, cpus, wanted);
	while (file && getline(&line, &size, file) > 0)
		sum += interrupts_of_line(line, wanted, columns);
	free(line);
	if (file)
		fclose(file);
	return sum;
}

/*
 * Interrupts of the CPUs on which tests run. The number has no meaning of its own. Its
 * growth is what happened meanwhile.
 */
static inline uint64_t interrupts_here(void)
{
	if (!CPU_COUNT(&test_cpus))
		return proc_number("/proc/stat", "intr ");
	return interrupts_on(&test_cpus) - interrupts_before;
}

/* The caller will run on @cpu, too. */
static inline void count_interrupts_of(int cpu)
{
	cpu_set_t one;

	if (!CPU_COUNT(&test_cpus) || CPU_ISSET(cpu, &test_cpus))
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	interrupts_before += interrupts_on(&one);
	CPU_SET(cpu, &test_cpus);
}

/*
 * From here on the program, and what it starts, runs on CPUs 0 and 1. If that is not
 * allowed, it runs on any CPU.
 */
static inline void stay_on_two_cpus(void)
{
	CPU_ZERO(&test_cpus);
	CPU_SET(0, &test_cpus);
	CPU_SET(1, &test_cpus);
	if (sched_setaffinity(0, sizeof(test_cpus), &test_cpus))
		CPU_ZERO(&test_cpus);
}

/* An offline CPU has no column. A test that takes CPUs away counts all interrupts. */
static inline void count_all_interrupts(void)
{
	CPU_ZERO(&test_cpus);
}

/* Context switches of the calling thread, by the scheduler's own count. */
static inline uint64_t my_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Faults and switches of the calling thread. A child starts from zero. */
static inline uint64_t own_disturbances(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt + usage.ru_nvcsw +
	       usage.ru_nivcsw;
}

/* Interrupts, and faults and switches of the calling thread. */
static inline uint64_t thread_disturbances(void)
{
	return interrupts_here() + own_disturbances();
}

/* A kernel without CONFIG_VM_EVENT_COUNTERS knows them by process. */
static inline uint64_t faults_of_all(void)
{
	struct rusage mine, children;

	getrusage(RUSAGE_SELF, &mine);
	getrusage(RUSAGE_CHILDREN, &children);
	return mine.ru_minflt + mine.ru_majflt + children.ru_minflt +
	       children.ru_majflt;
}

/* Interrupts, and faults and switches of the whole machine. */
static inline uint64_t machine_disturbances(void)
{
	return interrupts_here() + proc_number("/proc/stat", "ctxt ") +
	       (proc_number("/proc/vmstat", "pgfault ") ?: faults_of_all());
}

/* The part of machine_disturbances() that starts from zero in a child. */
static inline uint64_t process_disturbances(void)
{
	return proc_number("/proc/vmstat", "pgfault ") ? 0 : faults_of_all();
}

#endif /* DISTURBANCES_H */
