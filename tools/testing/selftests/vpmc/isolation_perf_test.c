// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: what a set or perf leaves in the counters when
 * the other one gets the PMU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "isolation.h"
#include "perf.h"

#define REVOKE	"/proc/sys/kernel/vpmc_revoke"

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
	if (await_watcher(p))
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

/* perf enables the PMU for a victim that has no event on it any more. */
static int victim_left_by_perf(struct player *p)
{
	if (perf_open_leftover() < 0 || await_watcher(p))
		return 51;
	run_loop(p);
	return tell_watcher(p);
}

SCENE(perf_left_an_event, .watched = SAME, .victim_body = victim_left_by_perf);
SCENE(perf_left_an_event_watcher_stands, .watched = SAME,
	.victim_body = victim_left_by_perf, .stands = true, .still = true);

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
	.back = attach, .still = true, .untaken = true);
SCENE(counting_set_after_perf, .late = true, .victim_body = perf_victim,
	.back = attach_and_start);
SCENE(set_after_set, .late = true, .victim = SAME, .leave = leave_by_exit,
	.back = attach, .still = true, .untaken = true);
SCENE(counting_set_after_set, .late = true, .victim = OTHER,
	.leave = leave_by_exit, .back = attach_and_start);

/* A watcher with a perf event that it maps. */

static int event;

static int map_event(struct player *p)
{
	/* perf's raw numbers of NetBurst's events are its own. */
	event = machine_is_p4() ?
		perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, PERF_USER, -1) :
		perf_open(PERF_TYPE_RAW, 0xc5, PERF_USER, -1);
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

/* The administrator takes the PMU back. */

static int take_back(struct player *p)
{
	return write_file(REVOKE, "1");
}

static int revoke_and_map_event(struct player *p)
{
	return take_back(p) ?: map_event(p);
}

static int revoke_and_attach(struct player *p)
{
	return write_file(REVOKE, "1") ?: write_file(REVOKE, "0") ?:
	       attach(p);
}

SCENE(perf_after_revoked_set, .late = true, .victim = SAME,
	.back = revoke_and_map_event);
SCENE(set_after_revoked_set, .late = true, .victim = OTHER,
	.back = revoke_and_attach);
SCENE(revoked_watcher, .watched = SAME, .victim = SAME, .back = take_back);
SCENE(revoked_asleep, .watched = SAME, .victim = OTHER, .asleep = take_back);

/* The watcher's set keeps perf away until it is revoked. */
static int perf_victim_later(struct player *p)
{
	int fd[6];

	if (await_watcher(p) || count_by_perf(p, fd, 6))
		return 52;
	return tell_watcher(p);
}

static int revoke_and_meet(struct player *p)
{
	if (take_back(p) || wake(p->go))
		return -1;
	/* RDPMC reads zero from now on. */
	read_raw(p->stage, p->view->before);
	return meet_victim(p);
}

SCENE(revoked_watcher_beside_perf, .watched = SAME,
	.victim_body = perf_victim_later, .meet = revoke_and_meet,
	.still = true);

FIXTURE_SETUP(isolation_perf)
{
	self->stage = open_stage(-1);
	ASSERT_NE(NULL, self->stage);
}

FIXTURE_TEARDOWN(isolation_perf)
{
	EXPECT_EQ(0, write_file(REVOKE, "0"));
}

TEST_F(isolation_perf, same_view)
{
	play_alike(_metadata, &variant->scene, self->stage, REVOKE, "0");
	compare_views(_metadata, &variant->scene, self->stage);
}

static void *rdpmc_thread(void *arg)
{
	return (void *)(long)may_rdpmc(*(uint32_t *)arg);
}

static bool other_thread_may_rdpmc(uint32_t index)
{
	pthread_t thread;
	void *allowed = (void *)1;

	if (!pthread_create(&thread, NULL, rdpmc_thread, &index))
		pthread_join(thread, &allowed);
	return allowed;
}

/*
 * A process that had a set and still maps the page sees none of perf's
 * counters: the owner reads zero, so that its loop ends, and its other threads
 * fault.
 */
TEST(revoked_set_and_perf)
{
	static const struct choice same[4] = SAME;
	struct stage *stage = open_stage(-1);
	unsigned int i, cpu;
	struct set set;

	ASSERT_NE(NULL, stage);
	ASSERT_EQ(0, set_open(&set, available(stage, same)));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, write_file(REVOKE, "1"));
	EXPECT_EQ(VPMC_STATE_REVOKED, set.page->state);
	event = perf_open_insns();
	ASSERT_LE(0, event);
	ASSERT_EQ(0, ioctl(event, PERF_EVENT_IOC_ENABLE, 0));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		code_loop(LONG_LOOP, 0);
		for (i = 0; i < stage->n; i++) {
			EXPECT_EQ(0, vpmc_rdpmc(stage->index[i]));
			EXPECT_FALSE(other_thread_may_rdpmc(stage->index[i]));
		}
	}
	/* Without the page there is nothing to be read. */
	ASSERT_EQ(0, munmap(set.page, PAGE));
	for (i = 0; i < stage->n; i++)
		EXPECT_FALSE(may_rdpmc(stage->index[i]));
	close(event);
	ASSERT_EQ(0, write_file(REVOKE, "0"));
	/* Only CONTROL restarts a set that was revoked. */
	set.page = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, set.page);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, vpmc_rdpmc(stage->index[0]));
	ASSERT_EQ(0, set_program(&set, available(stage, same)));
	for (i = 0; i < stage->n; i++)
		EXPECT_TRUE(other_thread_may_rdpmc(stage->index[i]));
}

NEEDS(
	/* What the kernel does differs by more than a victim shows. */
	{ "*counts_the_kernel*", TRUE_COUNTS | DISTURBS | ROOT },
	{ "*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
);

TEST_HARNESS_MAIN
