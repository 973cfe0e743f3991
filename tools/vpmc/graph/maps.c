// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records which files the program's code is mapped from, to find names later. A file
 * that is loaded later is recorded when one of its functions is called.
 *
 * A library that is unloaded makes room for another one at the same addresses. So the
 * mappings are read again after each dlclose(), as soon as a function is called.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "hooks.h"

#define RANGES	1024	/* of one process */
#define LINE	4352	/* a line of /proc/PID/maps with the longest path */
#define NEVER	(~0U)	/* no epoch */

/* code that is mapped */
struct range {
	uint64_t begin, end, offset, inode;
	unsigned int major, minor;
	uint32_t list;	/* number of the first list that has it */
};

/* Two of them: one is read by all threads while the other one is made. */
static struct table {
	struct range range[RANGES];
	uint32_t nr;
	uint32_t epoch;	/* when it was made */
} table[2] = { { .epoch = NEVER }, { .epoch = NEVER } };

static uint32_t version;	/* table[version & 1] is read */
static uint32_t nr_lists;
static uint32_t locked;
static char line[LINE];		/* with the lock */

uint32_t graph_epoch;

void graph_forget_maps(void)
{
	table[0].epoch = table[1].epoch = NEVER;
	table[0].nr = table[1].nr = 0;
	nr_lists = locked = 0;
}

/*
 * Returns the number of the list that has @function, or RECORD_MAPS if it is in none. A
 * table that is not of this epoch, or that another thread replaces meanwhile, has
 * nothing.
 */
static uint32_t list_of(uint64_t function)
{
	uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
	const struct table *now = &table[before & 1];
	uint32_t list = RECORD_MAPS, i;

	if (__atomic_load_n(&now->epoch, __ATOMIC_RELAXED) !=
	    __atomic_load_n(&graph_epoch, __ATOMIC_RELAXED))
		return RECORD_MAPS;
	for (i = 0; i < __atomic_load_n(&now->nr, __ATOMIC_RELAXED); i++) {
		const struct range *range = &now->range[i];

		if (function >= __atomic_load_n(&range->begin, __ATOMIC_RELAXED) &&
		    function < __atomic_load_n(&range->end, __ATOMIC_RELAXED)) {
			list = __atomic_load_n(&range->list, __ATOMIC_RELAXED);
			break;
		}
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&version, __ATOMIC_RELAXED) == before ? list : RECORD_MAPS;
}

/* The range as it was in the table before, or NULL. */
static const struct range *find_old(const struct table *old, const struct range *range)
{
	uint32_t i;

	for (i = 0; i < old->nr; i++)
		if (old->range[i].begin == range->begin && old->range[i].end == range->end &&
		    old->range[i].offset == range->offset &&
		    old->range[i].inode == range->inode &&
		    old->range[i].major == range->major &&
		    old->range[i].minor == range->minor)
			return &old->range[i];
	return NULL;
}

/* Writes what a range was mapped from, as graph-maps.c reads it. */
static void put_range(long to, const struct range *range, const char *path)
{
	struct stat status = {};
	char head[160];
	int size;

	/* Another file may have the path by now. Then neither time nor size are known. */
	if (graph_failed(graph_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status,
				    0, 0, 0)) ||
	    status.st_ino != range->inode)
		memset(&status, 0, sizeof(status));
	size = snprintf(head, sizeof(head), "%llx %llx %llx %u %u %llu %llu %llu ",
			(unsigned long long)range->begin, (unsigned long long)range->end,
			(unsigned long long)range->offset, major(status.st_dev),
			minor(status.st_dev), (unsigned long long)range->inode,
			status.st_mtim.tv_sec * 1000000000ULL + status.st_mtim.tv_nsec,
			(unsigned long long)status.st_size);
	graph_call(SYS_write, to, (long)head, size, 0, 0, 0);
	graph_call(SYS_write, to, (long)path, strlen(path), 0, 0, 0);
	graph_call(SYS_write, to, (long)"\n", 1, 0, 0, 0);
}

/* Reads the hexadecimal number at *@at, and skips it and one character. */
static uint64_t number(char **at)
{
	uint64_t value = strtoull(*at, at, 16);

	*at += **at != 0;
	return value;
}

/* Takes the line. @to: a new list. Returns true if it was in no list before. */
static bool take_line(struct table *new, const struct table *old, long to)
{
	struct range range = {};
	const struct range *before;
	char *at = line;

	range.begin = number(&at);
	range.end = number(&at);
	if (strlen(at) < 5 || at[2] != 'x')
		return false;
	at += 5;
	range.offset = number(&at);
	range.major = number(&at);
	range.minor = number(&at);
	range.inode = strtoull(at, &at, 10);
	at += strspn(at, " ");
	if (new->nr == RANGES)
		return false;
	before = find_old(old, &range);
	range.list = before ? before->list : nr_lists;
	new->range[new->nr++] = range;
	put_range(to, &range, at);
	return !before;
}

/* Reads the maps into a table. Returns true if there is something new. */
static bool read_maps(struct table *new, const struct table *old, long from, long to)
{
	unsigned int length = 0;
	bool is_new = false;
	char buffer[1024];
	long n, i;

	new->nr = 0;
	while (!graph_failed(n = graph_call(SYS_read, from, (long)buffer,
					    sizeof(buffer), 0, 0, 0)) && n) {
		for (i = 0; i < n; i++) {
			if (buffer[i] != '\n') {
				if (length < LINE - 1)
					line[length++] = buffer[i];
				continue;
			}
			line[length] = 0;
			length = 0;
			is_new |= take_line(new, old, to);
		}
	}
	return is_new;
}

/* With the lock. */
static void read_again(void)
{
	struct table *old = &table[version & 1], *new = &table[~version & 1];
	uint32_t epoch = __atomic_load_n(&graph_epoch, __ATOMIC_ACQUIRE);
	char name[48];
	long from, to;

	snprintf(name, sizeof(name), "%u.%u.maps.%u", process.pid, process.image, nr_lists);
	from = graph_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
			  O_RDONLY | O_CLOEXEC, 0, 0, 0);
	/* A list in which nothing was new is overwritten by the next one. */
	to = graph_open(name, O_WRONLY | O_CREAT | O_TRUNC);
	if (!graph_failed(from) && !graph_failed(to)) {
		nr_lists += read_maps(new, old, from, to);
		new->epoch = epoch;
		__atomic_store_n(&version, version + 1, __ATOMIC_RELEASE);
	}
	if (!graph_failed(from))
		graph_call(SYS_close, from, 0, 0, 0, 0, 0);
	if (!graph_failed(to))
		graph_call(SYS_close, to, 0, 0, 0, 0, 0);
}

uint32_t graph_maps(uint64_t function)
{
	uint32_t list = list_of(function);

	if (likely(list != RECORD_MAPS) || nr_lists >= RECORD_MAPS)
		return list;
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		graph_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	list = list_of(function);
	if (list == RECORD_MAPS) {
		read_again();
		list = list_of(function);
	}
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
	return list;
}

/*
 * Replaces dlclose(): the code of libraries that it has unloaded may be replaced by
 * other code.
 */
__attribute__((__visibility__("default")))
int dlclose(void *library)
{
	static int (*real)(void *library);
	int result, error = errno;

	if (!real)
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	errno = error;
	result = real(library);
	/* The last number is for what was replaced. */
	if (__atomic_add_fetch(&graph_epoch, 1, __ATOMIC_RELEASE) >= RECORD_EPOCHS - 1)
		__atomic_store_n(&graph_epoch, 0, __ATOMIC_RELEASE);
	return result;
}
