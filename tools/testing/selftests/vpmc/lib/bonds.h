/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of others that are bound to CPUs. When all CPUs of such a thread go
 * offline, the kernel lets it run anywhere. It does not bind it again when they
 * come back.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef BONDS_H
#define BONDS_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct bond {
	pid_t tid;
	unsigned long long started;
	cpu_set_t cpus;
};

static struct bond *bonds;
static size_t bonds_number;

static inline void bond_read(const char *task, const char *name, char *text,
			     size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.64s/%s", task, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, size - 1);
	text[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
}

/*
 * Finds when the thread in this directory started. Its number may become another
 * one's. Returns false if there is no such thread, or if nobody may bind it.
 */
static inline bool bond_started(const char *task, unsigned long long *started)
{
	const unsigned int no_setaffinity = 0x04000000;	/* PF_NO_SETAFFINITY */
	char text[1024], *p;
	unsigned int flags;

	bond_read(task, "stat", text, sizeof(text));
	p = strrchr(text, ')');
	return p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			   &flags, started) == 2 && !(flags & no_setaffinity);
}

/* All its CPUs; sched_getaffinity() leaves out those that are offline. */
static inline bool bond_cpus(const char *task, cpu_set_t *cpus)
{
	static const char name[] = "\nCpus_allowed:\t";
	char text[4096], *p, digit[2] = "";
	size_t cpu = 0, i, bit;

	bond_read(task, "status", text, sizeof(text));
	p = strstr(text, name);
	if (!p)
		return false;
	p += strlen(name);
	CPU_ZERO(cpus);
	/* a hexadecimal number, with commas */
	for (i = strcspn(p, "\n"); i--;) {
		if (p[i] == ',')
			continue;
		digit[0] = p[i];
		for (bit = 0; bit < 4; bit++, cpu++)
			if (strtoul(digit, NULL, 16) >> bit & 1)
				CPU_SET(cpu, cpus);
	}
	return true;
}

static inline void bonds_note(void)
{
	const int all = sysconf(_SC_NPROCESSORS_CONF);
	struct bond *bond;
	glob_t found;
	size_t i;

	if (glob("/proc/[0-9]*/task/[0-9]*", GLOB_NOSORT, NULL, &found))
		return;
	bonds = calloc(found.gl_pathc, sizeof(*bonds));
	for (i = 0; bonds && i < found.gl_pathc; i++) {
		const char *task = found.gl_pathv[i];

		bond = &bonds[bonds_number];
		bond->tid = atoi(strrchr(task, '/') + 1);
		bonds_number += bond_started(task, &bond->started) &&
				bond_cpus(task, &bond->cpus) &&
				CPU_COUNT(&bond->cpus) < all;
	}
	globfree(&found);
}

/* Only what the kernel has done: then a thread may use more CPUs than before. */
static inline void bonds_put_back(void)
{
	unsigned long long started;
	const struct bond *bond;
	cpu_set_t now, both;
	char task[32];

	for (bond = bonds; bond < bonds + bonds_number; bond++) {
		snprintf(task, sizeof(task), "/proc/%d", bond->tid);
		if (!bond_started(task, &started) || started != bond->started ||
		    !bond_cpus(task, &now) || CPU_EQUAL(&now, &bond->cpus))
			continue;
		CPU_AND(&both, &now, &bond->cpus);
		if (CPU_EQUAL(&both, &bond->cpus) &&
		    sched_setaffinity(bond->tid, sizeof(bond->cpus), &bond->cpus) &&
		    errno != ESRCH)	/* it has just ended */
			fprintf(stderr, "# thread %d: its CPUs cannot be put back\n",
				bond->tid);
	}
}

#endif /* BONDS_H */
