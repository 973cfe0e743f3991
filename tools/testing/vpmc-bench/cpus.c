// SPDX-License-Identifier: GPL-2.0
/*
 * usage: cpus
 *
 * Measures the costs of /dev/perfctr: what a call executes on this CPU, and how many
 * interrupts and MSR writes it takes on all CPUs together. Reading the totals of
 * other CPUs interrupts them, so the same is measured without a call.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "cost.h"
#include "who.h"

#define MAX_CPUS	8
#define NR_COUNTERS	4
/* The interval is longer than this program runs, so no timer takes a sample. */
#define INTERVAL_MS	60000
/* A round reads MSRs of all other CPUs. */
#define CPU_ROUNDS	30

/* What all other CPUs together have done. */
struct others {
	uint64_t interrupts;
	uint64_t wrmsr;
};

static struct cost cost;
static struct others least;
static unsigned int nr_cpus;
static int msr[MAX_CPUS];
static int device;

/*
 * Sums the totals of kernel mode. The other CPUs are idle, so they have none of
 * user mode.
 */
static uint64_t total_of_others(int event)
{
	uint64_t sum = 0, value;
	unsigned int cpu;

	for (cpu = 1; cpu < nr_cpus; cpu++) {
		if (pread(msr[cpu], &value, sizeof(value),
			  PMU_TEST_MSR(event)) != sizeof(value))
			err(1, "totals of CPU %u", cpu);
		sum += value;
	}
	return sum;
}

/*
 * Reading the total of a CPU that has not halted yet needs no interrupt. So wait
 * until all have halted.
 */
static void let_them_halt(void)
{
	usleep(2000);
}

/* Each total of interrupts contains the interrupt that reads it. */
static void others_begin(struct others *o)
{
	let_them_halt();
	o->wrmsr = total_of_others(PMU_TEST_WRMSR);
	let_them_halt();
	o->interrupts = total_of_others(PMU_TEST_INTERRUPTS);
	let_them_halt();
}

/*
 * Takes the least of all rounds, because the other CPUs' own timers interrupt
 * in few of them.
 */
static void others_end(const struct others *begin, bool first)
{
	uint64_t n;

	let_them_halt();
	n = total_of_others(PMU_TEST_INTERRUPTS) - begin->interrupts;
	if (first || n < least.interrupts)
		least.interrupts = n;
	let_them_halt();
	n = total_of_others(PMU_TEST_WRMSR) - begin->wrmsr;
	if (first || n < least.wrmsr)
		least.wrmsr = n;
}

static void call(unsigned int nr, unsigned long arg)
{
	if (ioctl(device, nr, arg))
		err(1, "ioctl %#x", nr);
}

static void program(unsigned int interval_ms)
{
	struct vpmc_global_control control = {
		.size = sizeof(control), .cpu = VPMC_ALL_CPUS,
		.nr_counters = NR_COUNTERS, .interval_ms = interval_ms,
	};
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++) {
		control.counter[i].evtsel = events[i].event | MODE_USER;
		control.counter[i].index = events[i].index;
	}
	call(VPMC_IOC_G_CONTROL, (unsigned long)&control);
}

static void read_all(void)
{
	static struct vpmc_global_cpu element[MAX_CPUS];
	struct vpmc_global_read sums = {
		.size = sizeof(sums), .nr_cpus = MAX_CPUS,
		.element_size = sizeof(element[0]),
		.elements = (uintptr_t)element,
	};

	call(VPMC_IOC_G_READ, (unsigned long)&sums);
}

static void print(const char *name)
{
	cost.least.event[PMU_TEST_INTERRUPTS][KERNEL_MODE] += least.interrupts;
	cost.least.event[PMU_TEST_WRMSR][KERNEL_MODE] += least.wrmsr;
	cost_print(&cost, name, nr_cpus, "vpmc");
}

#define MEASURE(name, prepare, code) do {				\
	struct others begin_;						\
	int i_;								\
									\
	cost.rounds = 0;						\
	for (i_ = 0; i_ < CPU_ROUNDS; i_++) {				\
		prepare;						\
		others_begin(&begin_);					\
		COST_OF(&cost, code);					\
		others_end(&begin_, !i_);				\
	}								\
	print(name);							\
} while (0)

static void prepare(void)
{
	char path[32];

	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus > MAX_CPUS)
		errx(1, "more than %d CPUs", MAX_CPUS);
	for (unsigned int cpu = 1; cpu < nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "/dev/cpu/%u/msr", cpu);
		msr[cpu] = open(path, O_RDONLY);
		if (msr[cpu] < 0)
			err(1, "%s", path);
	}
	device = open("/dev/perfctr", O_RDWR);
	if (device < 0)
		err(1, "/dev/perfctr");
}

int main(void)
{
	be_alone(0);
	who_init();
	prepare();
	MEASURE("cpus-nothing", , );
	program(0);
	MEASURE("cpus-start", call(VPMC_IOC_G_STOP, 0),
		call(VPMC_IOC_G_START, 0));
	MEASURE("cpus-start-again", , call(VPMC_IOC_G_START, 0));
	MEASURE("cpus-clear", , call(VPMC_IOC_G_CLEAR, 0));
	MEASURE("cpus-read", , read_all());
	MEASURE("cpus-stop", call(VPMC_IOC_G_START, 0),
		call(VPMC_IOC_G_STOP, 0));
	program(INTERVAL_MS);
	call(VPMC_IOC_G_START, 0);
	MEASURE("cpus-read-interval", , read_all());
	return 0;
}
