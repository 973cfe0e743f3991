// SPDX-License-Identifier: GPL-2.0
/*
 * usage: beside [perf]
 *
 * Costs of counting beside perf, which lends counters: a switch between processes
 * with perf's events while nothing is lent and while something is; the same with
 * sets that have the whole PMU, and with sets that borrow; CONTROL that borrows; and
 * an overflow that perf's interrupt hands on. With "perf" only the first of them,
 * for a kernel without vpmc.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "cost.h"
#include "partner.h"
#include "who.h"

#define WORK_CPUS	"/sys/devices/virtual/workqueue/cpumask"
#define PERIOD		5000
#define BORROWINGS	20

/* The cheapest round of all processes that measure a case is what counts. */
#define PROCESSES		12
#define ROUNDS_OF_PROCESS	(ROUNDS / PROCESSES + 10)

/* Shared with the processes that measure. */
static struct cost *cost;

/* Switches between two processes that count different events. */
static void measure_switch(enum who who, const char *name, const char *situation)
{
	struct partner partner = {
		.process = true, .who = who, .n = 1, .what = what_user,
	};
	struct counters counters = {};
	int i;

	partner.what.shift = 1;
	memset(cost, 0, sizeof(*cost));
	for (i = 0; i < PROCESSES; i++) {
		pid_t pid = fresh_process();

		if (!pid) {
			counters_open(&counters, who, 1, &what_user);
			partner_rounds(&partner, ROUNDS_OF_PROCESS, cost);
			counters_close(&counters);
			_exit(0);
		}
		wait_for(pid);
	}
	cost_print(cost, name, 1, situation);
}

/* Functions that CPU 1 was interrupted for. */
static long calls(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[1024];
	long n = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " CAL: %*d %ld", &n) == 1)
			break;
	if (n < 0)
		errx(1, "/proc/interrupts: no calls of functions on CPU 1");
	fclose(file);
	return n;
}

/*
 * CONTROL of a set that needs a counter of perf's, or has it already. A set is
 * unlinked each time, and its counter is perf's again after a moment.
 */
static void measure_control(const char *situation, bool again)
{
	struct totals begin, end;
	int fd, i;
	long before;

	memset(cost, 0, sizeof(*cost));
	for (i = 0; i < BORROWINGS; i++) {
		borrow_counters();
		usleep(10000);
		fd = perfctr_open();
		if (again)
			vpmc_control(fd, 1, &what_user);
		before = calls();
		totals_begin(&begin);
		vpmc_control(fd, 1, &what_user);
		totals_end(&end);
		before = calls() - before;
		/* Those of the other CPU are shown, and none of this one's. */
		begin.event[PMU_TEST_INTERRUPTS][KERNEL_MODE] = 0;
		begin.event[PMU_TEST_INTERRUPTS][USER_MODE] = 0;
		end.event[PMU_TEST_INTERRUPTS][KERNEL_MODE] = before;
		end.event[PMU_TEST_INTERRUPTS][USER_MODE] = 0;
		cost_add(cost, &begin, &end, before);
		ioctl(fd, VPMC_IOC_UNLINK, 0);
		close(fd);
	}
	cost_print(cost, "beside-control", 1, situation);
}

/* An interrupt after which the counters continue. */
static void measure_overflow(const char *situation)
{
	struct vpmc_control control = {
		.size = sizeof(control), .nr_counters = 1,
		.flags = VPMC_CONTROL_REARM,
		.counter = { {
			.evtsel = events[0].event | MODE_USER,
			.index = events[0].index, .period = PERIOD,
		} },
	};
	const volatile struct vpmc_page *page;
	struct totals begin, end;
	int fd = perfctr_open(), i;
	uint64_t before;

	page = map_page(fd);
	if (ioctl(fd, VPMC_IOC_CONTROL, &control))
		err(1, "CONTROL with a period: reason %u", control.reason);
	memset(cost, 0, sizeof(*cost));
	for (i = 0; i < ROUNDS / 10; i++) {
		before = page->overflows;
		totals_begin(&begin);
		while (page->overflows == before)
			;
		totals_end(&end);
		/* The loop is not of interest. */
		begin.event[PMU_TEST_CYCLES][USER_MODE] =
			end.event[PMU_TEST_CYCLES][USER_MODE] - OWN_INSTRUCTIONS;
		begin.event[PMU_TEST_REP_PASSES][USER_MODE] =
			end.event[PMU_TEST_REP_PASSES][USER_MODE];
		cost_add(cost, &begin, &end, both_modes(&end, PMU_TEST_INTERRUPTS) -
					     both_modes(&begin, PMU_TEST_INTERRUPTS));
	}
	cost_print(cost, "beside-overflow", 1, situation);
	ioctl(fd, VPMC_IOC_UNLINK, 0);
	munmap((void *)page, PAGE);
	close(fd);
}

/* perf's event on CPU 1, of whoever runs there. */
static int use_cpu_1(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0xc4,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);

	if (fd < 0)
		err(1, "perf_event_open on CPU 1");
	return fd;
}

static void beside(void)
{
	int fd;

	borrow_counters();
	/* perf's side: someone has borrowed counters, and does not run. */
	fd = perfctr_open();
	vpmc_control(fd, 3, &what_user);
	measure_switch(PERF, "beside-perf-switch", "lent");
	ioctl(fd, VPMC_IOC_UNLINK, 0);
	close(fd);

	/* Who borrows does so here. */
	write_text(WORK_CPUS, "1");
	measure_control("unused", false);
	measure_control("again", true);
	fd = use_cpu_1();
	measure_control("used", false);
	close(fd);
	measure_overflow("shared");
	measure_switch(VPMC, "beside-switch", "shared");
	write_text(COUNTERS, "all");
	measure_overflow("all");
	measure_switch(VPMC, "beside-switch", "all");
}

int main(int argc, char **argv)
{
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "perf")))
		errx(2, "usage: beside [perf]");
	cost = mmap(NULL, sizeof(*cost), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cost == MAP_FAILED)
		err(1, "mmap");
	who_init();
	be_alone(0);
	measure_switch(PERF, "beside-perf-switch", "alone");
	if (argc == 1)
		beside();
	return 0;
}
