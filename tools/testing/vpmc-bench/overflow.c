// SPDX-License-Identifier: GPL-2.0
/*
 * usage: overflow
 *
 * Measures what the kernel executes at an overflow. One case is from the interrupted
 * instruction in user mode to the first instruction of the signal handler. The other
 * one is an interrupt after which the counters continue, with and without a record.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <signal.h>

#include "cost.h"
#include "who.h"

#define PERIOD	5000

static struct cost cost;
static struct totals begin, end;
static volatile sig_atomic_t handled;

/*
 * Handles the signal. The handler's instructions are in user mode. Only those
 * in the kernel are of interest.
 */
static void handler(int number)
{
	totals_end(&end);
	handled = number;
}

static void vpmc_program(struct counters *c, unsigned int n,
			 struct vpmc_control control)
{
	unsigned int i;

	control.size = sizeof(control);
	control.nr_counters = n;
	control.flags |= VPMC_CONTROL_STOPPED;

	for (i = 0; i < n; i++) {
		control.counter[i].evtsel = event_of(i, &what_user) | MODE_USER;
		control.counter[i].index = events[i].index;
	}
	control.counter[0].period = PERIOD;
	if (ioctl(c->fd[0], VPMC_IOC_CONTROL, &control))
		err(1, "CONTROL with a period");
}

static void perf_program(struct counters *c, unsigned int n)
{
	struct f_owner_ex owner = { F_OWNER_TID, syscall(SYS_gettid) };
	struct what what = what_user;
	unsigned int i;

	for (i = 0; i < n; i++) {
		what.period = i ? 0 : PERIOD;
		c->fd[i] = perf_open(i, &what, i ? c->fd[0] : -1);
	}
	if (fcntl(c->fd[0], F_SETFL, O_ASYNC) ||
	    fcntl(c->fd[0], F_SETSIG, SIGUSR1) ||
	    fcntl(c->fd[0], F_SETOWN_EX, &owner))
		err(1, "fcntl");
}

/*
 * Measures from the overflow to the handler. The number of interrupts is not
 * checked, because another interrupt may send the signal.
 */
static void measure(enum who who, unsigned int n)
{
	struct counters c = { .who = who, .n = n };
	unsigned int request = who == VPMC ? VPMC_IOC_START :
					     PERF_EVENT_IOC_REFRESH;
	int i;

	if (who == VPMC) {
		c.fd[0] = perfctr_open();
		vpmc_program(&c, n, (struct vpmc_control){ .signal = SIGUSR1 });
	} else {
		perf_program(&c, n);
	}
	cost.rounds = 0;
	for (i = 0; i < ROUNDS / 10; i++) {
		handled = 0;
		if (ioctl(c.fd[0], request, who == PERF))
			err(1, "ioctl %#x", request);
		if (who == VPMC)
			request = VPMC_IOC_RESUME;
		totals_begin(&begin);
		while (!handled)
			;
		begin.event[PMU_TEST_CYCLES][USER_MODE] =
			end.event[PMU_TEST_CYCLES][USER_MODE] - OWN_INSTRUCTIONS;
		begin.event[PMU_TEST_REP_PASSES][USER_MODE] =
			end.event[PMU_TEST_REP_PASSES][USER_MODE];
		cost_add(&cost, &begin, &end,
			 both_modes(&end, PMU_TEST_INTERRUPTS) -
			 both_modes(&begin, PMU_TEST_INTERRUPTS));
	}
	cost_print(&cost, "overflow-to-handler", n, who_name[who]);
	counters_close(&c);
}

#define RECORDS		64
#define PERF_RING	(8 * PAGE)

/* Returns the number of periods for vpmc, or of recorded bytes for perf. */
static uint64_t passed(const struct counters *c)
{
	const volatile struct perf_event_mmap_page *perf = c->map[0];
	const volatile struct vpmc_page *vpmc = c->map[0];

	return c->who == VPMC ? vpmc->overflows : perf->data_head;
}

static void open_recorder(struct counters *c, bool recorded)
{
	struct vpmc_control control = {
		.flags = VPMC_CONTROL_REARM,
		.ring_records = recorded ? RECORDS : 0,
		.ring_watermark = recorded ? RECORDS : 0,
	};
	struct what what = what_user;
	unsigned int i;

	if (c->who == VPMC) {
		c->fd[0] = perfctr_open();
		c->map[0] = map_page(c->fd[0]);
		vpmc_program(c, c->n, control);
		if (ioctl(c->fd[0], VPMC_IOC_START, 0))
			err(1, "START");
		return;
	}
	/* Record the same for perf: address, time and all counts. */
	what.sample = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
	for (i = 0; i < c->n; i++) {
		what.period = i ? 0 : PERIOD;
		c->fd[i] = perf_open(i, &what, i ? c->fd[0] : -1);
	}
	c->map[0] = mmap(NULL, PAGE + PERF_RING, PROT_READ | PROT_WRITE,
			 MAP_SHARED, c->fd[0], 0);
	if (c->map[0] == MAP_FAILED)
		err(1, "mmap of perf's ring");
}

static void consume(const struct counters *c)
{
	struct perf_event_mmap_page *perf = c->map[0];

	if (c->who == PERF)
		perf->data_tail = perf->data_head;
	else if (ioctl(c->fd[0], VPMC_IOC_CONSUME, 1))
		err(1, "CONSUME");
}

/* Measures an interrupt after which the counters continue without a signal. */
static void measure_interrupt(enum who who, unsigned int n, bool recorded)
{
	struct counters c = { .who = who, .n = n };
	uint64_t before;
	int i;

	open_recorder(&c, recorded);
	cost.rounds = 0;
	for (i = 0; i < ROUNDS / 10; i++) {
		before = passed(&c);
		totals_begin(&begin);
		while (passed(&c) == before)
			;
		totals_end(&end);
		begin.event[PMU_TEST_CYCLES][USER_MODE] =
			end.event[PMU_TEST_CYCLES][USER_MODE] - OWN_INSTRUCTIONS;
		begin.event[PMU_TEST_REP_PASSES][USER_MODE] =
			end.event[PMU_TEST_REP_PASSES][USER_MODE];
		/* perf may need two interrupts. */
		cost_add(&cost, &begin, &end, who == VPMC ? 1 :
			 both_modes(&end, PMU_TEST_INTERRUPTS) -
			 both_modes(&begin, PMU_TEST_INTERRUPTS));
		if (recorded)
			consume(&c);
	}
	cost_print(&cost, recorded ? "overflow-recorded" : "overflow-rearmed",
		   n, who_name[who]);
	counters_close(&c);
}

int main(void)
{
	enum who who;
	unsigned int i;

	be_alone(0);
	who_init();
	signal(SIGUSR1, handler);
	for (who = VPMC; who <= last_who(); who++)
		for (i = 0; i < NR_SIZES; i++)
			measure(who, sizes[i]);
	for (i = 0; i < NR_SIZES; i++)
		measure_interrupt(VPMC, sizes[i], false);
	for (who = VPMC; who <= last_who(); who++)
		for (i = 0; i < NR_SIZES; i++)
			measure_interrupt(who, sizes[i], true);
	return 0;
}
