/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens counters of vpmc or of perf_event, with the same events.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef WHO_H
#define WHO_H

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
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

/*
 * What is counted, and how.
 * @modes:	User mode, kernel mode or both.
 * @shift:	Takes other events, for another selection.
 * @period:	Period of every counter; 0: none.
 * @sample:	What perf records after each period.
 * @inherit:	New threads and processes inherit the counters.
 */
struct what {
	uint64_t modes;
	unsigned int shift;
	uint64_t period;
	uint64_t sample;
	bool inherit;
};

static const struct what what_user = { .modes = MODE_USER };

struct event {
	uint32_t event;
	uint32_t index;
};

/* Four programmable counters, then three fixed ones. */
static const struct event intel_events[MAX_N] = {
	{ 0x00c4, 0 }, { 0x09f0, 1 }, { 0x0af0, 2 }, { 0x0bf0, 3 },
	{ 0x00c0, VPMC_RDPMC_FIXED }, { 0x003c, VPMC_RDPMC_FIXED + 1 },
	{ 0x0300, VPMC_RDPMC_FIXED + 2 },
};

/* Six counters that count any event. */
static const struct event amd_events[MAX_N] = {
	{ 0x00c2, 0 }, { 0x00c0, 1 }, { 0x0076, 2 }, { 0x00c3, 3 },
	{ 0x00c4, 4 }, { 0x00c5, 5 },
};

/*
 * For hybrid processors: an event that all types of core have and all counters
 * count, with different counter masks.
 */
static const struct event common_events[MAX_N] = {
	{ 0x00c4, 0 }, { 0x10000c4, 1 }, { 0x20000c4, 2 }, { 0x30000c4, 3 },
	{ 0x00c0, VPMC_RDPMC_FIXED }, { 0x003c, VPMC_RDPMC_FIXED + 1 },
	{ 0x0300, VPMC_RDPMC_FIXED + 2 },
};

/* Zhaoxin's fixed counters have other events than Intel's. */
static const struct event zhaoxin_events[MAX_N] = {
	{ 0x00c4, 0 }, { 0x09f0, 1 }, { 0x0af0, 2 }, { 0x0bf0, 3 },
	{ 0x00c0, VPMC_RDPMC_FIXED }, { 0x0082, VPMC_RDPMC_FIXED + 1 },
	{ 0x0083, VPMC_RDPMC_FIXED + 2 },
};

/* For sets that borrow. perf keeps the first programmable counter. */
static const struct event borrowed_events[MAX_N] = {
	{ 0x00c4, 1 }, { 0x09f0, 2 }, { 0x0af0, 3 }, { 0x00c5, 3 },
};

#define MAX_BORROWED	3
#define COUNTERS	"/proc/sys/kernel/vpmc_counters"

static const struct event *events = intel_events;

/*
 * Numbers of counters in the measured sets. The last one is what the PMU has.
 */
static unsigned int sizes[] = { 1, 2, 4, 7 };
#define NR_SIZES	(sizeof(sizes) / sizeof(sizes[0]))

/*
 * A thread's counters.
 * @fd:		One descriptor of vpmc, or those of perf's group, leader first.
 * @map:	The pages of these descriptors.
 */
struct counters {
	enum who who;
	unsigned int n;
	int fd[MAX_N];
	void *map[MAX_N];
};

/*
 * Returns PERF, or VPMC if perf is not measured. The environment may exclude
 * perf. On hybrid processors perf would count a raw event on another type of
 * core than that of the only CPU.
 */
static inline enum who last_who(void)
{
	return getenv("BENCH_NO_PERF") || events == common_events ? VPMC : PERF;
}

static inline int perfctr_open(void)
{
	int fd = open("/proc/self/perfctr", O_RDWR | O_CREAT, 0);

	if (fd < 0)
		err(1, "/proc/self/perfctr");
	return fd;
}

/* Chooses the events of this machine, if it has vpmc. */
static inline void who_init(void)
{
	struct vpmc_info info = { .size = sizeof(info) };
	int fd = open("/proc/thread-self/perfctr", O_RDONLY);

	if (fd < 0)
		return;
	if (ioctl(fd, VPMC_IOC_INFO, &info))
		err(1, "INFO");
	close(fd);
	if (info.kind == VPMC_KIND_AMD)
		events = amd_events;
	if (!strncmp((const char *)info.name, "Zhaoxin", 7))
		events = zhaoxin_events;
	if (info.features & VPMC_FEATURE_HYBRID)
		events = common_events;
	sizes[NR_SIZES - 1] = info.nr_gp + info.nr_fixed;
}

static inline void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

/* From now on sets borrow their counters from perf. */
static inline void borrow_counters(void)
{
	write_text(COUNTERS, "shared");
	events = borrowed_events;
}

static inline uint32_t event_of(unsigned int i, const struct what *what)
{
	return events[i < 4 ? (i + what->shift) % 4 : i].event;
}

static inline void vpmc_control(int fd, unsigned int n, const struct what *what)
{
	struct vpmc_control control = {
		.size = sizeof(control), .nr_counters = n,
		.flags = what->inherit ? VPMC_CONTROL_INHERIT_THREADS |
			 VPMC_CONTROL_INHERIT_PROCESSES : 0,
	};
	unsigned int i;

	for (i = 0; i < n; i++) {
		control.counter[i].evtsel = event_of(i, what) | what->modes;
		control.counter[i].index = events[i].index;
		control.counter[i].period = what->period;
	}
	if (ioctl(fd, VPMC_IOC_CONTROL, &control))
		err(1, "CONTROL of %u counters: counter %u, reason %u", n,
		    control.bad_counter, control.reason);
}

/* An inherited event cannot be read as part of a group. */
static inline int perf_open(unsigned int i, const struct what *what, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr),
		.config = event_of(i, what),
		.exclude_user = !(what->modes & MODE_USER),
		.exclude_kernel = !(what->modes & MODE_KERNEL),
		.exclude_hv = 1, .inherit = what->inherit,
		.sample_period = what->period, .sample_type = what->sample,
		.watermark = what->sample != 0, .wakeup_watermark = 1U << 30,
		.read_format = (what->inherit ? 0 : PERF_FORMAT_GROUP) |
			PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);

	if (fd < 0)
		err(1, "perf_event_open of event %#llx", attr.config);
	return fd;
}

static inline void *map_page(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		err(1, "mmap");
	return page;
}

/* Does all that a program does to read its counters quickly. */
static inline void counters_open(struct counters *c, enum who who,
				 unsigned int n, const struct what *what)
{
	unsigned int i;

	c->who = who;
	c->n = n;
	switch (who) {
	case NOBODY:
		break;
	case VPMC:
		c->fd[0] = perfctr_open();
		vpmc_control(c->fd[0], n, what);
		c->map[0] = map_page(c->fd[0]);
		break;
	case PERF:
		for (i = 0; i < n; i++)
			c->fd[i] = perf_open(i, what, i ? c->fd[0] : -1);
		/* inherited events have no pages */
		for (i = 0; i < n && !what->inherit; i++)
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

/* Keeps other programs from running in between. */
static inline void be_alone(int cpu)
{
	struct sched_param param = { .sched_priority = 50 };

	pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		err(1, "sched_setscheduler");
}

#endif /* WHO_H */
