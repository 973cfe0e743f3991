// SPDX-License-Identifier: GPL-2.0
/*
 * What counters take is charged to the memory cgroup of who asks for them. For a
 * kernel with CONFIG_MEMCG.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include "vpmc_test.h"

#define CGROUPS	"/sys/fs/cgroup"
#define GROUP	CGROUPS "/vpmc-memory"
#define THREADS	200

static pid_t tid[THREADS];
static pthread_barrier_t started;
static int sleep_pipe[2];

static void *sleeper(void *arg)
{
	char byte;

	*(pid_t *)arg = gettid();
	pthread_barrier_wait(&started);
	return (void *)(long)read(sleep_pipe[0], &byte, 1);
}

/* Bytes of the kernel's objects that are charged to the group */
static long long charged(void)
{
	FILE *file = fopen(GROUP "/memory.stat", "r");
	long long bytes = -1;
	char line[128];

	if (!file)
		return -1;
	while (bytes < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "slab %lld", &bytes);
	fclose(file);
	return bytes;
}

static int open_of(pid_t thread, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/perfctr", thread);
	return open(path, flags, 0666);
}

/* What it takes to open the files of all threads */
static long long open_all(int *fd, int flags)
{
	long long before = charged();
	int i;

	for (i = 0; i < THREADS; i++) {
		fd[i] = open_of(tid[i], flags);
		if (fd[i] < 0)
			return -1;
	}
	return charged() - before;
}

TEST(sets_are_charged)
{
	int fd[3][THREADS], i, k;
	pthread_t thread[THREADS];
	long long files, sets;

	if (mount("cgroup", CGROUPS, "cgroup2", 0, NULL))
		ASSERT_EQ(EBUSY, errno);
	ASSERT_EQ(0, write_file(CGROUPS "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, mkdir(GROUP, 0755));
	ASSERT_EQ(0, write_file(GROUP "/cgroup.procs", "0"));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pipe(sleep_pipe));
	ASSERT_EQ(0, pthread_barrier_init(&started, NULL, THREADS + 1));
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, sleeper, &tid[i]));
	pthread_barrier_wait(&started);

	/* The first open() of each file also makes entries of /proc. */
	ASSERT_LE(0, open_all(fd[0], O_RDONLY));
	files = open_all(fd[1], O_RDONLY);
	ASSERT_LE(0, files);
	sets = open_all(fd[2], O_RDWR | O_CREAT) - files;
	TH_LOG("%d files: %lld bytes; their sets: %lld bytes", THREADS, files,
	       sets);
	EXPECT_LE(THREADS * (long long)sizeof(struct vpmc_page), sets);

	close(sleep_pipe[1]);
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		for (k = 0; k < 3; k++)
			close(fd[k][i]);
	}
}

NEEDS(
	{ "*", STEADY | DISTURBS | ROOT, "CONFIG_MEMCG=y", "/sys/fs/cgroup" },
);

TEST_HARNESS_MAIN
