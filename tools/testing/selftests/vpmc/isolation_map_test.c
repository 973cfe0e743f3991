// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: the permission is given, taken and given again,
 * by mapping and by the administrator.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "isolation.h"

#define SYSFS	"/sys/bus/event_source/devices/cpu/rdpmc"

FIXTURE(isolation_map)
{
	struct stage *stage;
};

FIXTURE_VARIANT(isolation_map)
{
	struct scene scene;
	const char *rdpmc;		/* what sysfs says at first */
};

#define SCENE(name, ...) \
	FIXTURE_VARIANT_ADD(isolation_map, name) { .scene = { __VA_ARGS__ } }

#define SYSFS_SCENE(name, value, ...) \
	FIXTURE_VARIANT_ADD(isolation_map, name) \
		{ .rdpmc = value, .scene = { __VA_ARGS__ } }

static int unmap(struct player *p)
{
	return munmap(p->set.page, PAGE);
}

static int map(struct player *p)
{
	p->set.page = vpmc_map(p->set.fd);
	return p->set.page == MAP_FAILED;
}

/* The counters have become the watcher's own before it may see them. */
static int count_and_map(struct player *p)
{
	code_loop(1000, 0);
	return map(p);
}

/* While its owner sleeps; its CPU is idle, or will be in a moment. */
static int map_asleep(struct player *p)
{
	usleep(10000);
	return map(p);
}

SCENE(maps_late, .watched = SAME, .victim = SAME, .late = true,
	.prepare = unmap, .back = map);
SCENE(maps_late_other_selection, .watched = OTHER, .victim = SAME,
	.late = true, .prepare = unmap, .back = map);
SCENE(maps_late_and_stands, .watched = SAME, .victim = SAME, .late = true,
	.stands = true, .prepare = unmap, .back = map);
SCENE(maps_late_having_counted, .watched = SAME, .victim = SAME, .late = true,
	.prepare = unmap, .back = count_and_map);
SCENE(mapped_asleep, .watched = SAME, .victim = SAME, .late = true,
	.prepare = unmap, .asleep = map_asleep);
SCENE(mapped_asleep_stands, .watched = SAME, .victim = SAME, .late = true,
	.stands = true, .prepare = unmap, .asleep = map_asleep);

static int unmap_with_period(struct player *p)
{
	return watch_with_period(p) ?: unmap(p);
}

SCENE(maps_late_with_a_period, .watched = SAME, .victim = SAME, .late = true,
	.prepare = unmap_with_period, .back = map);
SCENE(maps_late_with_a_period_other_selection, .watched = OTHER, .victim = SAME,
	.late = true, .prepare = unmap_with_period, .back = map);
SCENE(mapped_asleep_with_a_period, .watched = SAME, .victim = SAME,
	.late = true, .prepare = unmap_with_period, .asleep = map_asleep);

/*
 * The watcher sleeps once more, after it counted: now its CPU's counters are its
 * own set's, with what the victim left in them.
 */
static int sleep_until_mapped(struct player *p)
{
	code_loop(1000, 0);
	return wake(p->go) ?: await(p->woken);
}

static int map_when_told(struct player *p)
{
	char byte;

	/* In the victim's place: it does not read this any more. */
	if (wake(p->woken) || read(p->go[0], &byte, 1) != 1)
		return -1;
	return map_asleep(p);
}

SCENE(mapped_asleep_having_counted, .watched = SAME, .victim = SAME,
	.late = true, .prepare = unmap, .asleep = map_when_told,
	.back = sleep_until_mapped);

static volatile int mapped;

/* Returns when the watcher, which is awake again, waits in user mode. */
static int map_running(struct player *p)
{
	if (wake(p->woken))
		return -1;
	while (mapped != 1)
		;
	if (map(p))
		return -1;
	mapped = 2;
	return 0;
}

static int wait_for_map(struct player *p)
{
	mapped = 1;
	while (mapped != 2)
		;
	return 0;
}

SCENE(mapped_running, .watched = SAME, .victim = SAME, .late = true,
	.stands = true, .prepare = unmap, .asleep = map_running,
	.back = wait_for_map);

/* There and back. */

static int remap(struct player *p)
{
	void *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (to == MAP_FAILED)
		return -1;
	to = mremap(p->set.page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (to == MAP_FAILED)
		return -1;
	p->set.page = to;
	return 0;
}

static int drop_page(struct player *p)
{
	return madvise(p->set.page, PAGE, MADV_DONTNEED);
}

static int drop_and_touch(struct player *p)
{
	return drop_page(p) ?: p->set.page->version != VPMC_ABI_VERSION;
}

static int unmap_and_map(struct player *p)
{
	return unmap(p) ?: map(p);
}

/* A mapping of another set keeps the permission. */
static int map_twice(struct player *p)
{
	void *second = vpmc_map(p->set.fd);

	return second == MAP_FAILED || unmap(p);
}

SCENE(unmapped_meanwhile, .watched = SAME, .victim = SAME,
	.away = unmap, .back = map);
SCENE(unmapped_meanwhile_stands, .watched = SAME, .victim = SAME,
	.stands = true, .away = unmap, .back = map);
SCENE(unmaps_and_maps, .watched = SAME, .victim = SAME, .stands = true,
	.back = unmap_and_map, .still = true);
SCENE(unmapped_and_mapped_asleep, .watched = SAME, .victim = OTHER,
	.stands = true, .asleep = unmap_and_map, .still = true);
SCENE(second_mapping_stays, .watched = SAME, .victim = SAME,
	.prepare = map_twice);
SCENE(moves_the_mapping, .watched = SAME, .victim = SAME, .stands = true,
	.back = remap, .still = true);
SCENE(mapping_moved_asleep, .watched = SAME, .victim = SAME,
	.stands = true, .asleep = remap, .still = true);
SCENE(drops_the_page, .watched = SAME, .victim = SAME, .stands = true,
	.back = drop_and_touch, .still = true);
SCENE(page_dropped_asleep, .watched = SAME, .victim = SAME,
	.stands = true, .asleep = drop_page, .still = true);

/* The administrator: 0 nobody, 1 who maps, 2 everybody */

static int set_sysfs(const char *value)
{
	return write_file(SYSFS, value);
}

static int set_0(struct player *p)
{
	return set_sysfs("0");
}

static int set_1(struct player *p)
{
	return set_sysfs("1");
}

static int set_2(struct player *p)
{
	return set_sysfs("2");
}

static int set_all(struct player *p)
{
	return set_0(p) || set_2(p) || set_1(p);
}

static int set_2_running(struct player *p)
{
	if (wake(p->woken))
		return -1;
	while (mapped != 1)
		;
	if (set_2(p))
		return -1;
	mapped = 2;
	return 0;
}

static int set_2_asleep(struct player *p)
{
	usleep(10000);
	return set_2(p);
}

SYSFS_SCENE(everybody, "2", .victim = SAME, .still = true);
SYSFS_SCENE(everybody_victim_counts_the_kernel, "2", .victim = KERNEL,
		.still = true);
/* With the victim's set goes the PMU: all is zero, not the start value. */
SYSFS_SCENE(everybody_victim_exits, "2", .victim = SAME,
		.leave = leave_by_exit);
SYSFS_SCENE(everybody_not_mapped, "2", .watched = SAME, .victim = OTHER,
		.prepare = unmap);
SYSFS_SCENE(everybody_mapped, "2", .watched = SAME, .victim = SAME);
SYSFS_SCENE(everybody_from_then_on, "1", .victim = SAME, .late = true,
		.back = set_2);
SYSFS_SCENE(everybody_from_then_on_asleep, "1", .victim = SAME, .late = true,
		.asleep = set_2_asleep);
SYSFS_SCENE(everybody_from_then_on_running, "1", .victim = SAME, .late = true,
		.asleep = set_2_running, .back = wait_for_map);
SYSFS_SCENE(everybody_instead_of_nobody, "0", .watched = SAME, .victim = SAME,
		.late = true, .back = set_2);
SYSFS_SCENE(mapper_instead_of_nobody, "0", .watched = SAME, .victim = SAME,
		.late = true, .back = set_1);
SYSFS_SCENE(mapper_instead_of_nobody_asleep, "0", .watched = SAME,
		.victim = SAME, .late = true, .stands = true, .asleep = set_1);
SYSFS_SCENE(nobody_meanwhile, "1", .watched = SAME, .victim = SAME,
		.away = set_0, .back = set_1);
SYSFS_SCENE(nobody_meanwhile_stands, "1", .watched = SAME, .victim = SAME,
		.stands = true, .away = set_0, .back = set_1,
		.still = true);
SYSFS_SCENE(all_by_turns, "1", .watched = SAME, .victim = OTHER,
		.back = set_all);
SYSFS_SCENE(all_by_turns_asleep, "1", .watched = SAME, .victim = OTHER,
		.stands = true, .asleep = set_all, .still = true);

FIXTURE_SETUP(isolation_map)
{
	self->stage = open_stage(-1);
	ASSERT_NE(NULL, self->stage);
	if (variant->rdpmc)
		ASSERT_EQ(0, set_sysfs(variant->rdpmc));
}

FIXTURE_TEARDOWN(isolation_map)
{
	if (variant->rdpmc)
		EXPECT_EQ(0, set_sysfs("1"));
}

TEST_F(isolation_map, same_view)
{
	const struct scene *scene = &variant->scene;

	play_alike(_metadata, scene, self->stage,
		   variant->rdpmc ? SYSFS : NULL, variant->rdpmc);
	compare_views(_metadata, scene, self->stage);
	/* Without a first look: the start value, or what it counted itself. */
	for (int i = 0; scene->late && !scene->watched[0].evtsel &&
	     i < self->stage->n; i++)
		if (!of_perf(scene, self->stage, self->stage->index[i]))
			EXPECT_EQ(self->stage->start,
				  self->stage->view[1].after[i]);
}

/*
 * 0: RDPMC accepts no index, on any CPU, in any process. The page shows that.
 */
TEST(nobody)
{
	static const struct choice same[4] = SAME;
	struct stage *stage = open_stage(-1);
	unsigned int i, cpu;
	struct set set;

	ASSERT_NE(NULL, stage);
	ASSERT_EQ(0, set_sysfs("0"));
	ASSERT_EQ(0, set_open(&set, available(stage, same)));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_FALSE(set.page->caps & VPMC_CAP_RDPMC);
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		for (i = 0; i < stage->n; i++)
			EXPECT_FALSE(may_rdpmc(stage->index[i]));
	}
	ASSERT_EQ(0, set_sysfs("1"));
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		for (i = 0; i < stage->n; i++)
			EXPECT_TRUE(may_rdpmc(stage->index[i]));
	}
}

/* What the watchers of sysfs_by_turns share. */
struct storm {
	volatile int over;
	volatile int counts;	/* so the CPU's counters are ours */
	volatile int refused;
	volatile int looks;
};

static volatile sig_atomic_t faulted;

/* What is forbidden for a moment is left out: RDPMC has two bytes. */
static void skip_rdpmc(int sig, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
	faulted = 1;
}

/* Reads all the time with a stopped set. Returns RAW_MAX if all was well. */
static int watch_storm(const struct stage *stage, struct storm *storm, int cpu)
{
	static const struct choice same[4] = SAME;
	struct sigaction action = {
		.sa_sigaction = skip_rdpmc, .sa_flags = SA_SIGINFO,
	};
	unsigned int i;
	uint64_t raw;
	struct set set;

	if (pin(cpu) || set_open(&set, available(stage, same)) ||
	    sigaction(SIGSEGV, &action, NULL))
		return 201;
	while (!storm->counts)
		sched_yield();
	while (!storm->over) {
		for (i = 0; i < stage->n; i++) {
			faulted = 0;
			raw = vpmc_rdpmc(stage->index[i]) & stage->bits;
			if (faulted)
				storm->refused = 1;
			else if (raw != stage->start &&
				 (!stage->beside || chosen(same, stage->index[i])))
				return i;
		}
		storm->looks++;
		sched_yield();
	}
	return RAW_MAX;
}

static int count_in_storm(const struct stage *stage, struct storm *storm,
			  int cpu)
{
	static const struct choice same[4] = SAME;
	struct set set;

	if (pin(cpu) || set_open(&set, available(stage, same)) ||
	    vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return 1;
	storm->counts = 1;
	while (!storm->over)
		code_yield(100, 1);
	return 0;
}

/* While sets run on both CPUs, and others look. */
TEST(sysfs_by_turns)
{
	static const char *const value[] = { "2", "0", "1", "0" };
	struct stage *stage = open_stage(-1);
	pid_t watcher[2], victim[2];
	struct storm *storm;
	int i;

	ASSERT_NE(NULL, stage);
	storm = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, storm);
	for (i = 0; i < 2; i++) {
		victim[i] = fork();
		if (!victim[i])
			_exit(count_in_storm(stage, &storm[i], i));
		watcher[i] = fork();
		if (!watcher[i])
			_exit(watch_storm(stage, &storm[i], i));
	}
	/* On both CPUs they look before anything changes. */
	for (i = 0; i < 2; i++) {
		while (!storm[i].looks) {
			ASSERT_EQ(0, waitpid(watcher[i], NULL, WNOHANG));
			sched_yield();
		}
	}
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, set_sysfs(value[i % 4]));
		code_yield(5, 100);
	}
	ASSERT_EQ(0, set_sysfs("1"));
	for (i = 0; i < 2; i++) {
		storm[i].over = 1;
		EXPECT_EQ(RAW_MAX, child_status(watcher[i])) {
			TH_LOG("RAW_MAX, or what moved, on CPU %d", i);
		}
		EXPECT_EQ(0, child_status(victim[i]));
		EXPECT_LT(10, storm[i].looks);
		EXPECT_EQ(1, storm[i].refused);
	}
}

/* Without a test's writing it. */
static bool is_isolated(void)
{
	return read_number(SYSFS) == 1 &&
	       read_number("/proc/sys/kernel/vpmc_isolation") == 1;
}

NEEDS(
	/* What the kernel does differs by more than a victim shows. */
	{ "*counts_the_kernel*", TRUE_COUNTS | DISTURBS | ROOT },
	{ "global.*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
	{ "*.everybody*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
	{ "*.mapper_instead_of_nobody*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
	{ "*.nobody_meanwhile*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
	{ "*.all_by_turns*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
	{ "*", PMU | ROOT | FIFO | TWO_CPUS,
	  "sysctl kernel.vpmc_isolation=1, and 1 in " SYSFS, NULL, is_isolated },
);

TEST_HARNESS_MAIN
