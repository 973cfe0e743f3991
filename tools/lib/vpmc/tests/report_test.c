// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Makes regions of two threads for VPMC_REPORT. The numbers of calls and
 * instructions are known. One region does not end, and a child reports nothing. With
 * an argument, which is a file, the child has regions of its own and reports these.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vpmc.h>

static void work(unsigned long turns)
{
	__asm__ __volatile__("1:\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

static __attribute__((__noinline__)) void
nested(struct vpmc_region *outer, struct vpmc_region *inner)
{
	vpmc_begin(outer);
	work(50);
	vpmc_begin(inner);
	work(20);
	vpmc_end(inner);
	vpmc_end(outer);
}

static void *run(void *arg)
{
	struct vpmc_region *outer, *inner, *asleep;
	struct vpmc_regions *regions;
	struct vpmc_error error;
	unsigned int i;

	if (vpmc_regions_open(&regions, "instructions,branches",
			      arg ? VPMC_REGIONS_LFENCE : 0, &error))
		errx(1, "%s", error.text);
	if (vpmc_region_get(regions, "outer", &outer) ||
	    vpmc_region_get(regions, "in\"n\\e\tr \xc3\xa4 \xff", &inner) ||
	    vpmc_region_get(regions, "asleep", &asleep))
		errx(1, "vpmc_region_get");
	for (i = 0; i < 100; i++)
		nested(outer, inner);
	vpmc_begin(asleep);
	usleep(1000);
	vpmc_end(asleep);
	if (arg)
		vpmc_regions_close(regions);
	else
		vpmc_begin(outer);
	return NULL;
}

/* Reports its own region to the file. */
static void be_child(const char *file)
{
	struct vpmc_region *region;
	struct vpmc_regions *regions;

	if (setenv("VPMC_REPORT", file, 1) ||
	    vpmc_regions_open(&regions, "instructions", 0, NULL) ||
	    vpmc_region_get(regions, "of the child", &region))
		errx(1, "a region of the child");
	vpmc_begin(region);
	vpmc_end(region);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t pid;

	run(NULL);
	if (pthread_create(&thread, NULL, run, "") || pthread_join(thread, NULL))
		errx(1, "a thread");
	pid = fork();
	if (!pid && argc > 1)
		be_child(argv[1]);
	if (!pid)
		exit(0);
	waitpid(pid, NULL, 0);
	return 0;
}
