/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters with periods: programming them, and what their signals must say.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OVERFLOW_H
#define OVERFLOW_H

#include <poll.h>
#include <sys/ucontext.h>
#include "vpmc_test.h"

#define OVERFLOW_SIGNAL	SIGIO

#define RATE	"/proc/sys/kernel/vpmc_overflow_rate"

/*
 * Sets how many overflows the administrator allows in a second. Returns 0 or
 * -errno.
 */
static inline int set_rate(int rate)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", rate);
	return write_file(RATE, text);
}

/* The page of a set. The kernel changes it at any time. */
static inline const volatile struct vpmc_page *page_of(const struct set *set)
{
	return set->page;
}

/* A delay is at most so many events, and a period. */
#define SLOW_EVENTS	(1ULL << 20)

/* Time in whole ticks, by which the rate is accounted for. */
static inline uint64_t coarse_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline uint64_t tick_length(void)
{
	struct timespec ts;

	clock_getres(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_nsec;
}

/*
 * The most interrupts of a set in a tick after @events events of the tick: each delay
 * is as long as what has passed, up to SLOW_EVENTS. The emulator executes one
 * instruction in a nanosecond.
 */
static inline uint64_t delayed_in_a_tick(uint64_t events)
{
	uint64_t n = 1 + tick_length() / SLOW_EVENTS;

	for (; events < SLOW_EVENTS; events *= 2)
		n++;
	return n;
}

/*
 * Period of a set that counts the kernel. It must be longer than what an
 * interrupt and its signal execute themselves. KERNEL_SYSCALLS system calls
 * contain some periods.
 */
#define KERNEL_PERIOD		(100003 * test_slowness())
#define KERNEL_SYSCALLS		100000

/*
 * Sets a rate of at most 40 in a tick, so that even a slow kernel reports more.
 */
static inline int set_low_rate(void)
{
	return set_rate(10000 / test_slowness());
}

/* Add a counter that has a period, or 0. */
static inline void control_add_period(struct vpmc_control *control,
				      uint64_t evtsel, uint32_t index,
				      uint64_t period)
{
	control_choose(control, evtsel, index);
	control->counter[control->nr_counters - 1].period = period;
}

static inline int set_control(struct set *set)
{
	return vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control);
}

/*
 * Attach, map and program @period instructions, and branches without a period.
 * The set is stopped.
 */
static inline int open_with_period(struct set *set, uint64_t period, int sig)
{
	struct vpmc_control *control = &set->control;

	set->fd = vpmc_open();
	if (set->fd < 0)
		return set->fd;
	set->page = vpmc_map(set->fd);
	control_init(control, VPMC_CONTROL_STOPPED);
	control_add_period(control, EV_INSNS, FIXED(0), period);
	control_choose(control, EV_BRANCHES, VPMC_ANY);
	control->signal = sig;
	return set->page == MAP_FAILED ? -ENOMEM : set_control(set);
}

/* Installs code.S's handler, which logs. Returns 0 or -errno. */
static inline int take_overflows(struct set *set, int sig)
{
	struct {
		void (*handler)(int sig);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} act = { code_overflow, SA_SIGINFO | 0x04000000, code_restorer, 0 };

	code_overflow_fd = set->fd;
	code_overflow_error = 0;
	code_overflows = 0;
	return syscall(SYS_rt_sigaction, sig, &act, NULL, 8) ? -errno : 0;
}

static inline int ignore_overflows(int sig)
{
	return signal(sig, SIG_DFL) == SIG_ERR ? -errno : 0;
}

/*
 * Returns how many overflows a counter with this period has while the program
 * counts @total, and @extra after each overflow.
 */
static inline uint64_t overflows_in(uint64_t total, uint64_t extra,
				    uint64_t period)
{
	return total < period ? 0 : (total - extra) / (period - extra);
}

/* Returns the program's own count at the j-th overflow, from 1. */
static inline uint64_t overflow_at(uint64_t j, uint64_t extra, uint64_t period)
{
	return j * (period - extra) + extra;
}

/*
 * Returns the address of the next instruction of code_loop() after so many
 * instructions of code_measure(), or branches.
 */
static inline uint64_t loop_ip(uint64_t insns)
{
	uint64_t in_loop = insns - CODE_MEASURE_HEAD.insns;

	return (uint64_t)code_loop + (in_loop & 1 ? CODE_DEC_LENGTH : 0);
}

/*
 * Does an overflow after so many instructions come at this address? One that is late comes
 * somewhere in the loop.
 */
static inline bool at_loop_ip(uint64_t ip, uint64_t insns)
{
	if (counts_are_exact())
		return ip == loop_ip(insns);
	return ip - (uint64_t)code_loop < CODE_LOOP_LENGTH;
}

/* Branches among the first so many instructions of code_measure(code_loop). */
static inline uint64_t branches_at(uint64_t insns)
{
	return CODE_MEASURE_HEAD.branches +
	       (insns - CODE_MEASURE_HEAD.insns) / 2;
}

/*
 * Returns a period that is longer than what the interrupts of all periods may add to the
 * count.
 */
static inline uint64_t period_here(uint64_t period)
{
	return counts_are_exact() || period >= 100000 ? period :
							 100000 + period % 1000;
}

/*
 * Compares a set's sums with all that it should have counted. Each of its overflows has
 * started the counters again.
 */
static inline int wrong_sums_of_overflows(const struct set *set,
					  const struct vpmc_read *read,
					  struct code_count count)
{
	uint64_t n = set->page->overflows;

	return wrong_sums_within(set, read, count,
				 tolerated(set->disturbances, set->starts + n),
				 set->pieces + n);
}

/* A test starts a set so often at most. */
#define OVERFLOW_STARTS	5

/*
 * What the calling thread has counted since tolerance_begin() when a period has ended, of
 * a counter with this period or of another one. Where counts are not exact, the end comes
 * late. Instructions that are counted too much end the period early. Then the counter
 * without a period has fewer branches.
 */
static inline bool overflow_fits(uint64_t got, uint64_t truth, uint64_t period,
				 bool has_period)
{
	uint64_t more, less, overflows;

	if (tolerance_none || !truth)
		return got == truth;
	overflows = truth * (has_period ? 1 : 2) / period;
	more = own_tolerated_since(OVERFLOW_STARTS + overflows);
	less = has_period ? 0 : more;
	return count_fits(got + less, truth, less + more + TOLERANCE_SKID,
			  has_period ? period : period / 2);
}

/* Returns those of @events that poll() reports within @ms milliseconds. */
static inline int polled_for(const struct set *set, int events, int ms)
{
	struct pollfd fd = { .fd = set->fd, .events = events };

	return poll(&fd, 1, ms) < 0 ? -errno : fd.revents;
}

static inline int polled(const struct set *set, int ms)
{
	return polled_for(set, POLLIN, ms);
}

/*
 * Returns what the handler still had to execute when it overflowed itself after
 * RESUME. The set is stopped until the next signal, and does not count that.
 */
static inline uint64_t overflow_rest(uint64_t ip)
{
	switch (ip - (uint64_t)code_overflow_resumed) {
	case 7:
		return 3;
	case 11:
		return 2;
	case 16:
		return 1;
	}
	return 0;
}

#endif /* OVERFLOW_H */
