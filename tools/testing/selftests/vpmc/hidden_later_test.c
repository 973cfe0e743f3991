// SPDX-License-Identifier: GPL-2.0
/*
 * What a process that may use RDPMC reads after something has ended: the isolation of
 * address spaces, and its own set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "caps.h"
#include "global.h"
#include "isolation.h"
#include "perf_page.h"

#define USER		1000
#define ISOLATION	"/proc/sys/kernel/vpmc_isolation"
#define FEW		10
#define MANY		1000
#define TURNS		2000

static const struct choice kernel_mode[] = {
	{ EV_KERNEL_INSNS, VPMC_ANY }, { 0x200c4, VPMC_ANY }, {}
};

/* In shared memory. */
struct left {
	uint64_t mask;		/* vpmc's counters */
	uint64_t value[64];	/* what the watcher reads in them */
	long syscalls;		/* of the victim */
	int to_victim[2], to_watcher[2], to_root[2];
};

static const struct perf_event_mmap_page *map_event(void)
{
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
			   PERF_USER, -1);
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return page == MAP_FAILED || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? NULL : page;
}

/* May not see what root counts of the kernel for it, and may not use RDPMC. */
static int be_victim(struct left *l)
{
	if (pin(0) || become_with(USER, 0) || wake(l->to_root) || await(l->to_victim))
		return 1;
	code_syscalls(l->syscalls, 0);
	return wake(l->to_root) || await(l->to_victim);
}

static int be_watcher(struct left *l)
{
	unsigned int i;

	if (pin(0) || become_with(USER, 0) || !map_event() || wake(l->to_root) ||
	    await(l->to_watcher))
		return 1;
	for (i = 0; i < 64; i++)
		if (l->mask & 1ULL << i)
			l->value[i] = vpmc_rdpmc(i < 32 ? i : FIXED(i - 32));
	return 0;
}

FIXTURE(left)
{
	struct left *l;
};

FIXTURE_SETUP(left)
{
	self->l = mmap(NULL, 2 * sizeof(*self->l), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->l);
	ASSERT_EQ(0, pin(1));
}

FIXTURE_TEARDOWN(left)
{
	EXPECT_EQ(0, write_file(ISOLATION, "1"));
}

static void play_scene(struct __test_metadata *_metadata, struct left *l)
{
	struct vpmc_control control;
	pid_t victim, watcher;
	struct vpmc_read read;
	int fd;

	ASSERT_EQ(0, pipe(l->to_root));
	ASSERT_EQ(0, pipe(l->to_victim));
	ASSERT_EQ(0, pipe(l->to_watcher));
	watcher = fork();
	if (!watcher)
		_exit(be_watcher(l));
	ASSERT_EQ(0, await(l->to_root));
	victim = fork();
	if (!victim)
		_exit(be_victim(l));
	ASSERT_EQ(0, await(l->to_root));
	fd = open_of(victim, O_RDWR | O_CREAT);
	control_of(&control, kernel_mode, 0);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	l->mask = vpmc_counters();
	ASSERT_EQ(0, wake(l->to_victim));
	ASSERT_EQ(0, await(l->to_root));
	/* It has left its CPU. */
	while (task_state(victim) != 'S')
		usleep(100);
	usleep(1000);
	ASSERT_EQ(0, write_file(ISOLATION, "0"));
	ASSERT_EQ(0, wake(l->to_watcher));
	EXPECT_EQ(0, child_status(watcher));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_LT(10 * l->syscalls, read.sum[0]);
	ASSERT_EQ(0, wake(l->to_victim));
	EXPECT_EQ(0, child_status(victim));
	close(fd);
	ASSERT_EQ(0, write_file(ISOLATION, "1"));
}

/*
 * Kernel counts are in the counters when kernel.vpmc_isolation becomes 0. The process
 * that runs next must not see them.
 */
TEST_F(left, when_isolation_ends)
{
	struct left *l = self->l;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		l[i].syscalls = i ? MANY : FEW;
		play_scene(_metadata, &l[i]);
	}
	EXPECT_NE(0, l[0].mask);
	EXPECT_EQ(l[0].mask, l[1].mask);
	for (i = 0; i < 64; i++)
		EXPECT_EQ(l[0].value[i], l[1].value[i]);
}

/* An event of perf is right although the reader's set was revoked, for counters of CPUs. */
TEST(event_of_a_revoked_reader)
{
	static const struct choice branches[] = { { EV_BRANCHES, VPMC_ANY }, {} };
	const struct perf_event_mmap_page *event = map_event();
	struct vpmc_read read;
	struct set set;
	int fd = global_open();

	ASSERT_NE(NULL, event);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_open(&set, branches));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(TURNS, perf_page_of_loop(event, TURNS));
	ASSERT_EQ(0, global_program_revoking(fd, VPMC_ALL_CPUS, branches));
	ASSERT_EQ(0, global_start(fd));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(TURNS, perf_page_of_loop(event, TURNS));
	/* What the set had does not show what CPUs count. */
	EXPECT_EQ(0, vpmc_rdpmc(set.page->slot[0].index));
	close(fd);
	EXPECT_EQ(TURNS, perf_page_of_loop(event, TURNS));
	set_close(&set);
}

NEEDS(
	{ "*", PMU | TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
);

TEST_HARNESS_MAIN
