/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this user can have of the PMU now. The kernel is asked, by a CONTROL, because
 * others may hold the PMU, sysctls may keep counters from sets, and not all users may
 * count.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator.h"
#include "kind.h"

#define THREAD_FILE	"/proc/thread-self/perfctr"

/* Two users who change the PMU at the same time may get in each other's way. */
#define BUSY_TRIES	20

enum lack {
	OF_VPMC,	/* counters can be attached to a thread */
	OF_A_COUNTER,	/* one counter, which the kernel chooses */
	OF_EVENTS,	/* all counters that INFO names, at once */
	NR_LACKS
};

/* Not a reason of the kernel's: open() has failed. */
enum {
	LACKS_RIGHTS	= 200,
	LACKS_VPMC,
};

/* Returns the first line of a file, or an empty one. */
static inline const char *line_of(const char *path)
{
	static char text[32];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

static inline bool has_watchdog(void)
{
	return line_of("/proc/sys/kernel/nmi_watchdog")[0] == '1';
}

/* Does perf keep some of the counters that tests name? */
static inline bool perf_keeps_counters(void)
{
	const char *text = line_of("/proc/sys/kernel/vpmc_counters");

	return *text && strncmp(text, "all", 3);
}

static inline const char *all_counters(void)
{
	if (has_watchdog())
		return "all counters: sysctl kernel.nmi_watchdog=0 kernel.vpmc_counters=all";
	return "all counters: sysctl kernel.vpmc_counters=all";
}

/* What is missing and what helps, or NULL: it is not for this to judge. */
static inline const char *mend(unsigned int reason)
{
	switch (reason) {
	case LACKS_RIGHTS:
		return "the right to attach counters: root, or sysctl kernel.vpmc_paranoid=1";
	case LACKS_VPMC:
		return "a kernel without vpmc=off on its command line";
	case VPMC_REASON_NO_PMU:
		return "a PMU that the kernel knows (dmesg says 'vpmc:' and why)";
	case VPMC_REASON_PMU_BUSY:
		return "the PMU, which a driver or a hypervisor has";
	case VPMC_REASON_PMU_PERF:
		return "the PMU, which perf or a KVM guest has: end these programs";
	case VPMC_REASON_PMU_WATCHDOG:
		return "the PMU: sysctl kernel.nmi_watchdog=0";
	case VPMC_REASON_PMU_TRACE:
		return "the PMU, which Intel PT has: end that session";
	case VPMC_REASON_REVOKED:
		return "the PMU: sysctl kernel.vpmc_revoke=0";
	case VPMC_REASON_PARANOID:
		return "the right to count events: root, or sysctl kernel.vpmc_paranoid=0";
	case VPMC_REASON_SECURITY:
		return "the right to count events, which a security module denies";
	case VPMC_REASON_LEFT_TO_PERF:
		return all_counters();
	case VPMC_REASON_PMU_GLOBAL:
		return "the PMU, which counts for CPUs: end that program, such as vpmc cpus";
	case VPMC_REASON_PMU_GUEST:
		return "the PMU, which KVM gives to a virtual machine: end it";
	}
	return NULL;
}

static inline void name_counter(struct vpmc_control *control, uint64_t evtsel,
				uint32_t index)
{
	struct vpmc_counter *counter = &control->counter[control->nr_counters++];

	counter->evtsel = evtsel;
	counter->index = index;
}

static inline void name_counters(struct vpmc_control *control, enum lack what)
{
	unsigned int i;

	control->size = sizeof(*control);
	control->flags = VPMC_CONTROL_STOPPED;
	if (what == OF_A_COUNTER)
		name_counter(control, event_here(EV_INSNS), VPMC_ANY);
	if (what != OF_EVENTS)
		return;
	for (i = 0; i < 16; i++)
		if (machine.gp_mask & 1ULL << i)
			name_counter(control, event_here(EV_INSNS), i);
	/* Event 0 with unit mask n + 1 is the event of fixed counter n. */
	for (i = 0; i < 3; i++)
		if (machine.fixed_mask & 1ULL << i)
			name_counter(control, 0x10000 | (i + 1) << 8, FIXED(i));
}

/*
 * Returns why CONTROL or open() refuses that. In a process that ends afterwards, so
 * that nothing of it is left.
 */
static inline unsigned int refused_because(enum lack what)
{
	struct vpmc_control control = {};
	int fd = open(THREAD_FILE, O_RDWR | O_CREAT, 0), i;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? LACKS_RIGHTS :
		       errno == ENODEV ? LACKS_VPMC : 0;
	name_counters(&control, what);
	for (i = 0; i < BUSY_TRIES; i++) {
		if (!control.nr_counters ||
		    !ioctl(fd, VPMC_IOC_CONTROL, &control))
			return 0;
		if (control.reason != VPMC_REASON_PMU_BUSY)
			break;
		usleep(10000);
	}
	return control.reason;
}

static inline unsigned int reason_of_lack(enum lack what)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(refused_because(what));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return WEXITSTATUS(status);
}

static const char *lacks[NR_LACKS];
static bool lacks_known;

/*
 * Finds out for the whole program, before its tests change users and sysctls. In the
 * exact emulator tests have all that INFO names: they occupy the PMU on purpose, and
 * a refusal is what they are to notice.
 */
static inline void find_lacks(void)
{
	bool none = !machine.nr_gp;

	lacks_known = true;
	memset(lacks, 0, sizeof(lacks));
	/* The init of kexec_test's second kernel has no /proc. */
	if (getpid() == 1 || access(THREAD_FILE, F_OK))
		return;
	if (!exact_machine())
		lacks[OF_VPMC] = mend(reason_of_lack(OF_VPMC));
	if (none || exact_machine()) {
		lacks[OF_A_COUNTER] = none ? mend(VPMC_REASON_NO_PMU) : NULL;
		lacks[OF_EVENTS] = lacks[OF_A_COUNTER];
		return;
	}
	lacks[OF_A_COUNTER] = mend(reason_of_lack(OF_A_COUNTER));
	lacks[OF_EVENTS] = lacks[OF_A_COUNTER];
	if (lacks[OF_EVENTS])
		return;
	/* INFO does not name what is perf's. */
	lacks[OF_EVENTS] = perf_keeps_counters() ? all_counters() :
			   mend(reason_of_lack(OF_EVENTS));
}

/* The test that runs now has sets without counters, whatever this machine has. */
static bool sets_are_empty;

/* Returns what is missing, and how to get it, or NULL. */
static inline const char *lack(enum lack what)
{
	if (sets_are_empty && what != OF_VPMC)
		return "counts";
	if (!lacks_known)
		find_lacks();
	return lacks[what];
}

#endif /* EVENTS_H */
