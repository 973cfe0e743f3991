// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The program may forbid itself what this library needs. A filter of seccomp can kill a
 * process at a system call, and strict mode and PR_SET_TSC kill it at RDTSC. So the calls
 * that do this are taken from the C library. Afterwards the library makes no system call,
 * and a thread that may not read the TSC reads nothing. What is then not recorded is
 * counted in the program's file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "hooks.h"
#include "lost.h"

#define PAGE		4096UL
#define LEAST_FILE	(1UL << 20)	/* all but the trees of large threads */

static struct graph_lost nowhere;
static struct graph_lost *lost = &nowhere;
static bool no_tsc;		/* new threads may not read it */
/* Which thread of this one and its parents lost->threads has: its number, -1 or 0 */
static __thread long counted;

bool graph_lost_make(long fd)
{
	long at = graph_call(SYS_fallocate, fd, 0, 0, PAGE, 0, 0);

	if (!graph_failed(at))
		at = graph_call(SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				fd, 0);
	if (graph_failed(at))
		return false;
	lost = (struct graph_lost *)at;
	lost->magic = LOST_MAGIC;
	return true;
}

bool graph_lost_why(const char *why)
{
	if (lost == &nowhere)
		return false;
	strncpy(lost->why, why, sizeof(lost->why) - 1);
	return true;
}

void graph_lost_thread(void)
{
	long tid = graph_tid();	/* -1 if the program has restricted itself */

	if (counted == tid || (tid < 0 && counted))
		return;
	__atomic_fetch_add(&lost->threads, 1, __ATOMIC_RELAXED);
	counted = tid;
}

void graph_found_thread(void)
{
	if (counted <= 0 || counted != graph_tid())
		return;
	__atomic_fetch_sub(&lost->threads, 1, __ATOMIC_RELAXED);
	counted = 0;
}

bool graph_is_confined(void)
{
	return process.confined || __atomic_load_n(&no_tsc, __ATOMIC_RELAXED);
}

bool graph_may_write(size_t size)
{
	struct rlimit limit;

	return graph_failed(graph_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit,
				       0, 0)) ||
	       limit.rlim_cur >= size;
}

long graph_open(const char *name, long flags)
{
	char path[256];

	if (!graph_may_write(LEAST_FILE))
		return -EFBIG;
	snprintf(path, sizeof(path), "%s/%s", process.directory, name);
	return graph_call(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0600,
			  0, 0);
}

/* The calling thread reads nothing from now on. */
static void stop(void)
{
	if (!hot->live || hot->thread->left)
		return;
	hot->thread->busy = true;
	hot->thread->left = true;
	__atomic_fetch_add(&lost->stopped, 1, __ATOMIC_RELAXED);
}

enum { NO_CALLS = 1, NO_TSC = 2 };

/* What a call of prctl() or seccomp() forbids. */
static int forbids(long number, long option, long argument)
{
	if (number == SYS_seccomp && option == SECCOMP_SET_MODE_STRICT)
		return NO_CALLS | NO_TSC;
	if (number == SYS_seccomp && option == SECCOMP_SET_MODE_FILTER)
		return NO_CALLS;
	if (number != SYS_prctl)
		return 0;
	if (option == PR_SET_SECCOMP)
		return argument == SECCOMP_MODE_STRICT ? NO_CALLS | NO_TSC : NO_CALLS;
	return option == PR_SET_TSC && argument == PR_TSC_SIGSEGV ? NO_TSC : 0;
}

/* Other threads of the process may be restricted by the same call. */
static long call(long number, const long argument[6])
{
	int forbidden = forbids(number, argument[0], argument[1]);
	bool confined = process.confined;
	long result;

	if (forbidden & NO_CALLS)
		__atomic_store_n(&process.confined, true, __ATOMIC_SEQ_CST);
	result = graph_system_call(number, argument[0], argument[1], argument[2],
				   argument[3], argument[4], argument[5]);
	if (graph_failed(result)) {
		__atomic_store_n(&process.confined, confined, __ATOMIC_SEQ_CST);
		errno = -result;
		return -1;
	}
	if (forbidden & NO_TSC) {
		__atomic_store_n(&no_tsc, true, __ATOMIC_RELAXED);
		stop();
	}
	return result;
}

/* The C library declares these with "...", which passes arguments in the same way. */
long graph_c_syscall(long number, long a, long b, long c, long d, long e, long f)
	__asm__("syscall") __attribute__((__visibility__("default")));
int graph_c_prctl(int option, long a, long b, long c, long d)
	__asm__("prctl") __attribute__((__visibility__("default")));

long graph_c_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const long argument[6] = { a, b, c, d, e, f };
	long result;

	if (number == SYS_prctl || number == SYS_seccomp)
		return call(number, argument);
	/* Of clone() and vfork() there are two returns: nothing is kept on the stack. */
	result = graph_system_call(number, a, b, c, d, e, f);
	if (likely(!graph_failed(result)))
		return result;
	errno = -result;
	return -1;
}

int graph_c_prctl(int option, long a, long b, long c, long d)
{
	const long argument[6] = { option, a, b, c, d };

	return call(SYS_prctl, argument);
}
