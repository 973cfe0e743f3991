// SPDX-License-Identifier: GPL-2.0
/*
 * What is done thousands of times loses no memory, no address space and no namespace.
 * life_test and inherit_life_test do the same with threads and with sets that are
 * programmed again.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "global.h"
#include "inherit.h"
#include "memory.h"
#include "revoke.h"
#include "ring.h"
#include "sample.h"

#define MAX_PID_NS	"/proc/sys/user/max_pid_namespaces"
#define CONTAINERS	20
#define MANY_PAGES	7500

/* Programs what a CPU counts. */
static int control_cpu(int fd)
{
	return global_program(fd, 1, two);
}

/* A child of a root of a family, whose counters have been revoked */
static int renounce(int fd)
{
	struct set root = { .fd = -1 };
	pid_t pid;
	int err;

	err = root_open(&root, PROCESSES) ?: set_revoked("1");
	pid = err ? -1 : fork();
	if (!pid)
		_exit(0);
	err = err ?: child_status(pid);
	set_close(&root);
	return err ?: set_revoked("0");
}

/* A process with 30 MB and a ring. It does not unmap the ring. */
static int end_with_ring(int fd)
{
	struct set set = { .fd = -1 };
	pid_t pid = fork();
	char *memory;
	long i;

	if (pid)
		return child_status(pid);
	memory = mmap(NULL, MANY_PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || open_with_ring(&set, 1000, 16, 0) ||
	    ring_map(&set) == MAP_FAILED)
		_exit(1);
	for (i = 0; i < MANY_PAGES; i++)
		memory[i * PAGE] = 1;
	_exit(0);
}

FIXTURE(leak)
{
	int fd;
};

/* @limit: so many kB may be lost by @times. A leak loses more. */
FIXTURE_VARIANT(leak)
{
	int (*once)(int fd);
	int times;
	long limit;
	bool cpus;
};

FIXTURE_VARIANT_ADD(leak, sets_of_cpus) {
	.once = control_cpu, .times = 100000, .limit = 1000, .cpus = true,
};

FIXTURE_VARIANT_ADD(leak, families_renounced) {
	.once = renounce, .times = 3000, .limit = 800,
};

FIXTURE_VARIANT_ADD(leak, rings) {
	.once = end_with_ring, .times = 6, .limit = 4 * MANY_PAGES,
};

FIXTURE_SETUP(leak)
{
	ASSERT_EQ(0, pin(0));
	self->fd = variant->cpus ? global_open() : -1;
	ASSERT_LE(variant->cpus ? 0 : -1, self->fd);
}

FIXTURE_TEARDOWN(leak)
{
	close(self->fd);
	EXPECT_EQ(0, set_revoked("0"));
}

TEST_F_TIMEOUT(leak, memory, 120)
{
	const int times = variant->times;
	long before, lost = variant->limit;
	int i, k;

	for (k = 0; k < (times + 3) / 4; k++)
		ASSERT_EQ(0, variant->once(self->fd));
	for (i = 0; i < LOSSES && lost >= variant->limit; i++) {
		before = settled_kb();
		ASSERT_LT(0, before);
		for (k = 0; k < times; k++)
			ASSERT_EQ(0, variant->once(self->fd));
		lost = lost_kb(before, variant->limit);
	}
	EXPECT_GT(variant->limit, lost) {
		TH_LOG("%ld kB less", lost);
	}
}

/* The first process of a pid namespace, which samples itself */
static int contained(void)
{
	struct set set = { .fd = -1 };
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return errno;
	pid = fork();
	if (!pid)
		_exit(open_sampled(&set, 1000, 0, 64) ? 100 : 0);
	return child_status(pid);
}

/* How many of CONTAINERS are refused, one after the other. */
static int refused_containers(void)
{
	int i, refused = 0;
	pid_t pid;

	for (i = 0; i < CONTAINERS; i++) {
		pid = fork();
		if (!pid)
			_exit(contained());
		refused += child_status(pid) != 0;
	}
	return refused;
}

/*
 * A user may have few pid namespaces. Those that have ended do not count, when a
 * grace period is over.
 */
TEST(containers)
{
	char before[16];

	snprintf(before, sizeof(before), "%d", read_number(MAX_PID_NS));
	ASSERT_EQ(0, write_file(MAX_PID_NS, "30"));
	EXPECT_EQ(0, refused_containers());
	ASSERT_LT(0, settled_kb());
	EXPECT_EQ(0, refused_containers());
	EXPECT_EQ(0, write_file(MAX_PID_NS, before));
}

NEEDS({ "*", PMU | EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
