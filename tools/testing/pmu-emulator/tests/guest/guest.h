/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs in a Linux guest, which compare the emulated PMU with the
 * program text through mainline's perf driver: TAP, perf events, known code.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GUEST_H
#define GUEST_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static int tests, failures;

__attribute__((format(printf, 2, 3)))
static inline bool check(bool ok, const char *format, ...)
{
	va_list args;

	printf("%sok %d - ", ok ? "" : "not ", ++tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	failures += !ok;
	return ok;
}

static inline void check_eq(const char *name, uint64_t got, uint64_t want)
{
	if (!check(got == want, "%s", name))
		printf("# got %llu, expected %llu\n", (unsigned long long)got,
		       (unsigned long long)want);
}

static inline int done_testing(void)
{
	printf("1..%d\n", tests);
	return failures != 0;
}

__attribute__((noreturn))
static inline void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(2);
}

enum modes { USER = 1, KERNEL = 2 };

static inline int perf_open_type(uint32_t type, uint64_t config, enum modes modes,
				 uint64_t period, int group, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.wakeup_events = 1,
		.disabled = group < 0,
		.exclude_user = !(modes & USER),
		.exclude_kernel = !(modes & KERNEL),
		.exclude_hv = 1,
		.enable_on_exec = pid != 0,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, -1, group, 0);

	if (fd < 0)
		die("perf_event_open");
	return fd;
}

/*
 * Opens an event of this thread, disabled; or of another one, enabled by exec
 */
static inline int perf_open(uint64_t config, enum modes modes, uint64_t period,
			    int group, pid_t pid)
{
	return perf_open_type(PERF_TYPE_HARDWARE, config, modes, period, group, pid);
}

/* Opens an event select and unit mask of this thread, disabled */
static inline int perf_open_raw(uint64_t config, enum modes modes, int group)
{
	return perf_open_type(PERF_TYPE_RAW, config, modes, 0, group, 0);
}

/*
 * Events of all CPUs, which count until the program ends and come before those of
 * threads. So perf gives them the fixed counter of that select, and other events with
 * the same select get general-purpose ones.
 */
static inline void take_fixed_counter(uint64_t select)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = select,
		.pinned = 1,
	};

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) < 0)
			die("perf_event_open of a CPU");
}

/*
 * Program options that name events of processors where perf has no name for them, or
 * one that the emulator does not know: -i SELECT for instructions, -b for branches, -g
 * for reference cycles. -f: take_fixed_counter(SELECT). True if OPTION is one of these.
 */
struct event {
	const char *name;
	uint64_t config;
	char option;
	uint64_t select;	/* instead of config, unless 0 */
};

static inline bool event_option(struct event *events, size_t n, int option,
				const char *arg)
{
	uint64_t select = arg ? strtoull(arg, NULL, 0) : 0;

	if (option == 'f')
		take_fixed_counter(select);
	for (size_t i = 0; i < n; i++)
		if (events[i].option == option)
			events[i].select = select;
	return option == 'f' || option == 'i' || option == 'b' || option == 'g';
}

/* Opens an event in user mode of this thread, disabled */
static inline int event_open(const struct event *e, uint64_t period, int group)
{
	if (e->select)
		return perf_open_type(PERF_TYPE_RAW, e->select, USER, period, group, 0);
	return perf_open(e->config, USER, period, group, 0);
}

static inline uint64_t perf_read(int fd)
{
	uint64_t val;

	if (read(fd, &val, sizeof(val)) != sizeof(val))
		die("read of a perf event");
	return val;
}

static inline void perf_start(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static inline void perf_stop(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

static inline void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static inline uint64_t rdpmc(uint32_t index)
{
	uint32_t low, high;

	asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

/* A pass is 8 instructions with a load, a store and a branch */
#define LOOP_INSNS	8

static inline void loop(uint64_t n)
{
	static __thread volatile uint64_t memory;
	uint64_t tmp;

	asm volatile("1:	mov	%2, %1\n"
		     "	add	$3, %1\n"
		     "	mov	%1, %2\n"
		     "	nop\n"
		     "	nop\n"
		     "	lea	1(%1), %1\n"
		     "	dec	%0\n"
		     "	jnz	1b"
		     : "+r"(n), "=&r"(tmp), "+m"(memory) : : "cc");
}

#endif
