// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records where the program's files are mapped, to find names later. A file
 * that is loaded later is recorded when one of its functions is called.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "hooks.h"

#define RANGES	1024	/* of one process */

static struct { uint64_t begin, end; } range[RANGES];
static unsigned int nr_ranges, nr_files;
static uint32_t locked;
static uint32_t version;	/* of the ranges; odd while they change */

void graph_forget_maps(void)
{
	nr_ranges = nr_files = 0;
	locked = version = 0;
}

/* Another thread may change the ranges meanwhile: then the answer is no. */
static bool is_known(uint64_t function)
{
	uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
	bool known = false;
	unsigned int i;

	for (i = 0; !known && i < __atomic_load_n(&nr_ranges, __ATOMIC_RELAXED); i++)
		known = function >= __atomic_load_n(&range[i].begin, __ATOMIC_RELAXED) &&
			function < __atomic_load_n(&range[i].end, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return known && !(before & 1) &&
	       __atomic_load_n(&version, __ATOMIC_RELAXED) == before;
}

/* With the lock. */
static void change_ranges(void)
{
	__atomic_store_n(&version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&nr_ranges, 0, __ATOMIC_RELAXED);
}

static void end_change(void)
{
	__atomic_store_n(&version, version + 1, __ATOMIC_RELEASE);
}

static void add_range(uint64_t begin, uint64_t end)
{
	if (nr_ranges == RANGES)
		return;
	__atomic_store_n(&range[nr_ranges].begin, begin, __ATOMIC_RELAXED);
	__atomic_store_n(&range[nr_ranges].end, end, __ATOMIC_RELAXED);
	__atomic_store_n(&nr_ranges, nr_ranges + 1, __ATOMIC_RELAXED);
}

/* state of parsing a line up to the permissions, character by character */
struct line {
	uint64_t number[2];
	unsigned int field, column;
	bool executable;
};

static void take(struct line *line, char c)
{
	if (c == '\n') {
		if (line->executable)
			add_range(line->number[0], line->number[1]);
		*line = (struct line){};
	} else if (c == '-' && line->field == 0) {
		line->field = 1;
	} else if (c == ' ' && line->field < 3) {
		line->field++;
		line->column = 0;
	} else if (line->field < 2) {
		line->number[line->field] = line->number[line->field] << 4 |
					    (c >= 'a' ? c - 'a' + 10 : c - '0');
	} else if (line->field == 2 && line->column++ == 2) {
		line->executable = c == 'x';
	}
}

static void copy(long from, long to)
{
	struct line line = {};
	char buffer[1024];
	long n, i;

	while (!graph_failed(n = graph_call(SYS_read, from, (long)buffer,
					    sizeof(buffer), 0, 0, 0)) && n) {
		for (i = 0; i < n; i++)
			take(&line, buffer[i]);
		graph_call(SYS_write, to, (long)buffer, n, 0, 0, 0);
	}
}

void graph_note_maps(uint64_t function)
{
	char name[48];
	long from, to;

	if (likely(is_known(function)) || nr_files >= RECORD_MAPS)
		return;
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		graph_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	if (!is_known(function)) {
		snprintf(name, sizeof(name), "%u.%u.maps.%u", process.pid,
			 process.image, nr_files++);
		from = graph_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
				  O_RDONLY | O_CLOEXEC, 0, 0, 0);
		to = graph_open(name, O_WRONLY | O_CREAT | O_EXCL);
		change_ranges();
		if (!graph_failed(from) && !graph_failed(to))
			copy(from, to);
		end_change();
		if (!graph_failed(from))
			graph_call(SYS_close, from, 0, 0, 0, 0, 0);
		if (!graph_failed(to))
			graph_call(SYS_close, to, 0, 0, 0, 0, 0);
	}
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}
