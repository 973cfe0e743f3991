// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: what one owner of the PMU leaves to the next, be
 * it a set or perf.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "isolation.h"
#include "perf.h"

FIXTURE(isolation_perf)
{
	struct stage *stage;
};

FIXTURE_VARIANT(isolation_perf)
{
	struct scene scene;
};

#define SCENE(name, ...) \
	FIXTURE_VARIANT_ADD(isolation_perf, name) { .scene = { __VA_ARGS__ } }

/* A victim that counts with perf, in all counters. */

static const __u64 perf_events[] = {
	PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	PERF_COUNT_HW_CPU_CYCLES,
};

static int count_by_perf(struct player *p, int *fd, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		fd[i] = perf_open(PERF_TYPE_HARDWARE, perf_events[i % 3],
				  PERF_USER, -1);
		if (fd[i] < 0 || ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0))
			return -1;
	}
	if (await(p->go))
		return -1;
	run_loop(p);
	return 0;
}

static int perf_victim(struct player *p)
{
	int fd[6], i;

	if (count_by_perf(p, fd, 6))
		return 50;
	for (i = 0; i < 6; i++)
		close(fd[i]);
	return tell_watcher(p);
}

/* A watcher with a set, after that. */

static int attach(struct player *p)
{
	static const struct choice same[4] = SAME;

	return open_set(p, same);
}

static int attach_and_start(struct player *p)
{
	return attach(p) ?: start_set(p);
}

SCENE(set_after_perf, .late = true, .victim_body = perf_victim,
      .back = attach);
SCENE(counting_set_after_perf, .late = true, .victim_body = perf_victim,
      .back = attach_and_start);
SCENE(set_after_set, .late = true, .victim = SAME, .leave = leave_by_exit,
      .back = attach);
SCENE(counting_set_after_set, .late = true, .victim = OTHER,
      .leave = leave_by_exit, .back = attach_and_start);

/* A watcher with a perf event that it maps. */

static int event;

static int map_event(struct player *p)
{
	event = perf_open(PERF_TYPE_RAW, 0xc5, PERF_USER, -1);
	return event < 0 || mmap(NULL, PAGE, PROT_READ, MAP_SHARED, event,
				 0) == MAP_FAILED;
}

static int map_and_count_event(struct player *p)
{
	return map_event(p) ?: ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

SCENE(perf_after_set_that_exits, .late = true, .victim = SAME,
      .leave = leave_by_exit, .back = map_event);
SCENE(counting_perf_after_set_that_exits, .late = true, .victim = OTHER,
      .leave = leave_by_exit, .back = map_and_count_event);
SCENE(perf_after_set_that_counted_the_kernel, .late = true, .victim = KERNEL,
      .leave = leave_by_exit, .back = map_event);

static int unlink_and_tell(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_UNLINK, 0) ?: tell_watcher(p);
}

static int unselect_and_tell(struct player *p)
{
	return set_program(&p->set, (struct choice[]){ {} }) ?:
	       tell_watcher(p);
}

SCENE(perf_after_set_that_unlinks, .late = true, .victim = SAME,
      .leave = unlink_and_tell, .back = map_event);
SCENE(perf_after_set_without_counters, .late = true, .victim = SAME,
      .leave = unselect_and_tell, .back = map_event);

FIXTURE_SETUP(isolation_perf)
{
	self->stage = open_stage(-1);
	ASSERT_NE(NULL, self->stage);
}

FIXTURE_TEARDOWN(isolation_perf)
{
}

TEST_F(isolation_perf, same_view)
{
	play_twice(_metadata, &variant->scene, self->stage);
}

TEST_HARNESS_MAIN
