/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose counters: vpmc's or perf_event's, the same events for both.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef WHO_H
#define WHO_H

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <linux/vpmc.h>

#define PAGE		4096
#define MAX_N		7
#define MODE_USER	0x10000ULL
#define MODE_KERNEL	0x20000ULL

enum who { NOBODY, VPMC, PERF };

static const char *const who_name[] = { "none", "vpmc", "perf" };

/* Four programmable counters, then three fixed ones. */
static const struct {
	uint32_t event;
	uint32_t index;
} events[MAX_N] = {
	{ 0x00c4, 0 }, { 0x09f0, 1 }, { 0x0af0, 2 }, { 0x0bf0, 3 },
	{ 0x00c0, VPMC_RDPMC_FIXED }, { 0x003c, VPMC_RDPMC_FIXED + 1 },
	{ 0x0300, VPMC_RDPMC_FIXED + 2 },
};

/*
 * A thread's counters.
 * @fd:		vpmc: one; perf: the group's, leader first.
 * @map:	The same of pages.
 */
struct counters {
	enum who who;
	unsigned int n;
	int fd[MAX_N];
	void *map[MAX_N];
};

/* After ours perf's, unless the environment says that nobody wants to know */
static inline enum who last_who(void)
{
	return getenv("BENCH_NO_PERF") ? VPMC : PERF;
}

static inline int vpmc_open(void)
{
	int fd = open("/proc/thread-self/perfctr", O_RDWR | O_CREAT, 0);

	if (fd < 0)
		err(1, "/proc/thread-self/perfctr");
	return fd;
}

/* @shift: other events, for another selection. */
static inline void vpmc_control(int fd, unsigned int n, uint64_t modes,
				unsigned int shift, unsigned int flags)
{
	struct vpmc_control control = {
		.size = sizeof(control), .flags = flags, .nr_counters = n,
	};
	unsigned int i;

	for (i = 0; i < n; i++) {
		control.counter[i].evtsel = events[i].event | modes;
		control.counter[i].index = events[i].index;
		if (i < 4)
			control.counter[i].evtsel =
				events[(i + shift) % 4].event | modes;
	}
	if (ioctl(fd, VPMC_IOC_CONTROL, &control))
		err(1, "CONTROL of %u counters: counter %u, reason %u", n,
		    control.bad_counter, control.reason);
}

static inline int perf_open(unsigned int i, uint64_t modes, unsigned int shift,
			    int leader, bool disabled)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr),
		.config = events[i < 4 ? (i + shift) % 4 : i].event,
		.disabled = disabled && leader < 0,
		.exclude_user = !(modes & MODE_USER),
		.exclude_kernel = !(modes & MODE_KERNEL),
		.exclude_hv = 1, .read_format = PERF_FORMAT_GROUP |
			PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);

	if (fd < 0)
		err(1, "perf_event_open of event %#x", events[i].event);
	return fd;
}

static inline void *map_page(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		err(1, "mmap");
	return page;
}

static inline void perf_open_group(struct counters *c, uint64_t modes,
				   unsigned int shift, bool disabled)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		c->fd[i] = perf_open(i, modes, shift, i ? c->fd[0] : -1,
				     disabled);
}

/* Everything as a program does it that wants fast reads of its counters. */
static inline void counters_open(struct counters *c, enum who who,
				 unsigned int n, uint64_t modes,
				 unsigned int shift)
{
	unsigned int i;

	c->who = who;
	c->n = n;
	switch (who) {
	case NOBODY:
		break;
	case VPMC:
		c->fd[0] = vpmc_open();
		vpmc_control(c->fd[0], n, modes, shift, 0);
		c->map[0] = map_page(c->fd[0]);
		break;
	case PERF:
		perf_open_group(c, modes, shift, false);
		for (i = 0; i < n; i++)
			c->map[i] = map_page(c->fd[i]);
		break;
	}
}

static inline void counters_close(struct counters *c)
{
	unsigned int i, fds = c->who == PERF ? c->n : c->who == VPMC;

	if (c->who == VPMC)
		ioctl(c->fd[0], VPMC_IOC_UNLINK, 0);
	for (i = 0; i < fds; i++) {
		if (c->map[i])
			munmap(c->map[i], PAGE);
		close(c->fd[i]);
	}
	memset(c, 0, sizeof(*c));
}

static inline void pin(int cpu)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(cpu, &mask);
	if (sched_setaffinity(0, sizeof(mask), &mask))
		err(1, "sched_setaffinity");
}

/* Nobody else in between. */
static inline void be_alone(int cpu)
{
	struct sched_param param = { .sched_priority = 50 };

	pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		err(1, "sched_setscheduler");
}

#endif /* WHO_H */
