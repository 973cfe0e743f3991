/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/perfctr, which counts all threads that run on a CPU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GLOBAL_H
#define GLOBAL_H

#include <pmu-test-msr.h>

#include "vpmc_test.h"

#define GLOBAL_FILE	"/dev/perfctr"
#define GLOBAL_CPUS	16

static const struct choice two[] = {
	{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {}
};

static inline int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_CONF);
}

static inline bool has_few_cpus(void)
{
	return nr_cpus() <= GLOBAL_CPUS;
}

/* For the lines of NEEDS() of tests that look at all CPUs. */
#define AT_MOST_16_CPUS	"at most 16 CPUs", NULL, has_few_cpus

/* Returns a descriptor or -errno. */
static inline int global_open(void)
{
	int fd = open(GLOBAL_FILE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static inline void global_init(struct vpmc_global_control *control,
			       uint32_t cpu, const struct choice *choice)
{
	struct vpmc_control set;

	control_of(&set, choice, 0);
	memset(control, 0, sizeof(*control));
	control->size = sizeof(*control);
	control->cpu = cpu;
	control->nr_counters = set.nr_counters;
	memcpy(control->counter, set.counter, sizeof(set.counter));
}

static inline int global_control(int fd, struct vpmc_global_control *control)
{
	return vpmc_ioctl(fd, VPMC_IOC_G_CONTROL, control);
}

static inline int global_program(int fd, uint32_t cpu,
				 const struct choice *choice)
{
	struct vpmc_global_control control;

	global_init(&control, cpu, choice);
	return global_control(fd, &control);
}

/* Takes the PMU from sets, and counters from users' pinned events. */
static inline int global_program_revoking(int fd, uint32_t cpu,
					  const struct choice *choice)
{
	struct vpmc_global_control control;

	global_init(&control, cpu, choice);
	control.flags = VPMC_GLOBAL_REVOKE;
	return global_control(fd, &control);
}

static inline int global_start(int fd)
{
	return vpmc_ioctl(fd, VPMC_IOC_G_START, NULL);
}

static inline int global_stop(int fd)
{
	return vpmc_ioctl(fd, VPMC_IOC_G_STOP, NULL);
}

static inline int global_clear(int fd)
{
	return vpmc_ioctl(fd, VPMC_IOC_G_CLEAR, NULL);
}

/* READ of @n CPUs from @first. Returns the number of CPUs, or -errno. */
static inline int global_read_some(int fd, uint32_t first, uint32_t n,
				   struct vpmc_global_cpu *cpu)
{
	struct vpmc_global_read read = {
		.size = sizeof(read),
		.first_cpu = first,
		.nr_cpus = n,
		.element_size = sizeof(*cpu),
		.elements = (uintptr_t)cpu,
	};
	int err = vpmc_ioctl(fd, VPMC_IOC_G_READ, &read);

	return err ?: (int)read.nr_cpus;
}

/* READ of all CPUs. @cpu has GLOBAL_CPUS elements. */
static inline int global_read(int fd, struct vpmc_global_cpu *cpu)
{
	return global_read_some(fd, 0, GLOBAL_CPUS, cpu);
}

/* Returns the present sum of one counter of one CPU, or ~0. */
static inline uint64_t global_sum(int fd, uint32_t cpu, uint32_t i)
{
	struct vpmc_global_cpu one;

	return global_read_some(fd, cpu, 1, &one) == 1 ? one.sum[i] : ~0ULL;
}

static inline uint32_t global_state(int fd, uint32_t cpu)
{
	struct vpmc_global_cpu one;

	return global_read_some(fd, cpu, 1, &one) == 1 ? one.state : ~0U;
}

/*
 * Returns how much a loop of @n iterations adds to this CPU's instructions,
 * with those of both reads. It is not inlined, so that the latter are constant.
 */
static __attribute__((noinline, unused)) uint64_t
global_sum_of_loop(int fd, uint32_t cpu, long n)
{
	uint64_t before = global_sum(fd, cpu, 0);

	code_loop(n, 0);
	return global_sum(fd, cpu, 0) - before;
}

/* Returns how many sums of a CPU differ from @want. */
static inline int wrong_cpu(const struct vpmc_global_cpu *cpu, struct code_count want)
{
	if (cpu->sum[0] == want.insns && cpu->sum[1] == want.branches)
		return 0;
	fprintf(stderr, "# CPU %u: %llu and %llu, not %llu and %llu\n", cpu->cpu,
		(unsigned long long)cpu->sum[0],
		(unsigned long long)cpu->sum[1],
		(unsigned long long)want.insns,
		(unsigned long long)want.branches);
	return 1;
}

/* Starts a process that runs a loop on a CPU and ends. */
static inline pid_t start_loop(int cpu, long n)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(pin(cpu) || code_loop(n, 0));
}

static inline int loops_on_others(int cpus, long n)
{
	pid_t pid[GLOBAL_CPUS];
	int cpu, wrong = 0;

	for (cpu = 1; cpu < cpus; cpu++)
		pid[cpu] = start_loop(cpu, n * cpu);
	for (cpu = 1; cpu < cpus; cpu++)
		wrong += child_status(pid[cpu]) != 0;
	return wrong;
}

/*
 * Returns the emulator's own total of a CPU's instructions in user mode, or ~0.
 */
static inline uint64_t user_total(int cpu)
{
	uint64_t cycles, passes, n = ~0ULL;
	char path[64];
	int fd;

	sprintf(path, "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	if (pread64(fd, &cycles, sizeof(cycles), PMU_TEST_MSR_USER +
		    PMU_TEST_MSR(PMU_TEST_CYCLES)) == sizeof(cycles) &&
	    pread64(fd, &passes, sizeof(passes), PMU_TEST_MSR_USER +
		    PMU_TEST_MSR(PMU_TEST_REP_PASSES)) == sizeof(passes))
		n = cycles - passes;
	close(fd);
	return n;
}

/*
 * Waits until no other CPU executes user code. After a line was printed, the
 * process that passes on the output still does. Returns 0 or -1.
 */
static inline int wait_for_silence(void)
{
	uint64_t before[GLOBAL_CPUS] = {}, now;
	int i, cpu, changed;

	for (i = 0; i < 1000; i++) {
		changed = 0;
		for (cpu = 1; cpu < nr_cpus(); cpu++) {
			now = user_total(cpu);
			changed |= now != before[cpu];
			before[cpu] = now;
		}
		if (!changed)
			return 0;
		usleep(10000);
	}
	return -1;
}

#endif /* GLOBAL_H */
