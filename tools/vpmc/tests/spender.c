// SPDX-License-Identifier: GPL-2.0
/*
 * usage: spender pages N	touches N new pages of 4096 bytes, and keeps them
 *	  spender time MS	uses MS milliseconds of user and system time, as the kernel
 *				counts them, and prints how many microseconds it has used
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE	4096

static void touch(long pages)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "%ld pages", pages);
	/* fails where there are no huge pages */
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	while (pages--)
		*(volatile char *)(memory + pages * PAGE) = 1;
}

static long used(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		err(1, "getrusage");
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: spender pages N | time MS");
	if (!strcmp(argv[1], "pages")) {
		touch(atol(argv[2]));
		return 0;
	}
	while (used() < atol(argv[2]) * 1000)
		;
	printf("%ld\n", used());
	return 0;
}
