// SPDX-License-Identifier: GPL-2.0
/*
 * The permission to use RDPMC that a mapped perf event gives belongs to the
 * address space that mapped it: a forked child has no mapping (VM_DONTCOPY) and
 * must not have the permission. Needs perf_event_open() alone.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <setjmp.h>
#include <linux/perf_event.h>
#include "vpmc_test.h"
#include "rdpmc.h"

static void *map_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		return MAP_FAILED;
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
}

TEST(child_of_a_mapper)
{
	void *page;

	EXPECT_FALSE(may_rdpmc(0));
	page = map_event();
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_TRUE(may_rdpmc(0));
	EXPECT_EQ(0, child_may_rdpmc(0));
	/* What the child did takes nothing away from the parent. */
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
}

/* A count that came from the parent would never be dropped. */
TEST(grandchild_after_the_parent_unmapped)
{
	void *page = map_event();
	pid_t pid;

	ASSERT_NE(MAP_FAILED, page);
	pid = fork();
	if (!pid) {
		page = map_event();
		if (page == MAP_FAILED || !may_rdpmc(0))
			_exit(1);
		munmap(page, PAGE);
		if (may_rdpmc(0))
			_exit(2);
		_exit(child_may_rdpmc(0) ? 3 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

static bool perf_counts(void)
{
	void *page = map_event();

	return page != MAP_FAILED && !munmap(page, PAGE);
}

NEEDS(
	{ "*", NOTHING, "a PMU that perf knows", NULL, perf_counts },
);

TEST_HARNESS_MAIN
