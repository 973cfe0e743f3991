// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of tests that a signal ends in the middle of a test, as Ctrl-C does:
 * when they are gone, so is all that they started, and the machine is as before.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "proc.h"

#define SECONDS		10

/* What a program does to the machine in the middle of a test. */
static bool cpu_is_offline(void)
{
	return read_number("/sys/devices/system/cpu/cpu1/online") == 0;
}

static bool policy_differs(void)
{
	return read_number("/proc/sys/kernel/perf_event_paranoid") == -1;
}

static bool pmu_is_taken(void)
{
	int fd = open(THREAD_FILE, O_RDONLY);
	uint32_t holder = pmu_holder(fd);

	close(fd);
	return holder != VPMC_HOLDER_NONE;
}

static const struct victim {
	char *name, *option, *test;
	bool (*is_in_test)(void);
} victims[] = {
	{ "hotplug_test", "-r", "hotplug.threads", cpu_is_offline },
	{ "policy_test", "-f", "follows", policy_differs },
	{ "count_test", "-r", "count.all.in_parts", pmu_is_taken },
};

/* All of these are compared. */
static const char *const kept[] = {
	"/sys/devices/system/cpu/cpu*/online",
	"/sys/devices/virtual/workqueue/cpumask",
	"/proc/sys/kernel/vpmc_*",
	"/proc/sys/kernel/perf_*",
	"/proc/sys/kernel/*watchdog*",
	"/proc/sys/kernel/core_*",
};

static void note_state(char *text, size_t size)
{
	char value[256];
	unsigned int i;
	size_t k, n = 0;
	glob_t found;

	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		if (glob(kept[i], 0, NULL, &found))
			continue;
		for (k = 0; k < found.gl_pathc && n < size; k++) {
			putback_read(found.gl_pathv[k], value, sizeof(value));
			n += snprintf(text + n, size - n, "%s %s",
				      found.gl_pathv[k], value);
		}
		globfree(&found);
	}
}

/* Returns the number of processes with this name, without dead ones. */
static int processes(const char *name)
{
	char path[64], comm[32], state;
	glob_t found;
	int n = 0;
	size_t i;

	if (glob("/proc/[0-9]*", GLOB_NOSORT, NULL, &found))
		return -1;
	for (i = 0; i < found.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%.32s/comm", found.gl_pathv[i]);
		putback_read(path, comm, sizeof(comm));
		comm[strcspn(comm, "\n")] = 0;
		state = task_state(atoi(found.gl_pathv[i] + 6));
		/* 0: init has reaped it in the meantime */
		n += !strncmp(comm, name, 15) && state && !strchr("ZX", state);
	}
	globfree(&found);
	return n;
}

/*
 * The program, in a process group of its own, as a shell starts it. Its output
 * comes from the pipe. In the background of a script or under nohup this process
 * ignores SIGINT or SIGHUP, but the program must not inherit that.
 */
static pid_t start_victim(const struct victim *victim, int *output)
{
	char *argv[] = { victim->name, victim->option, victim->test, NULL };
	pid_t parent = getpid(), pid;
	char path[PATH_MAX];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid) {
		close(fds[1]);
		*output = fds[0];
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	strcpy(path, exec_image_path());
	strcpy(strrchr(path, '/') + 1, victim->name);
	if (getppid() != parent || setpgid(0, 0) || dup2(fds[1], 1) < 0 ||
	    dup2(fds[1], 2) < 0)
		_exit(100);
	execv(path, argv);
	_exit(101);
}

/* Waits until the program has begun a test. It has counted before. */
static bool begins_a_test(int output)
{
	char text[4096];
	ssize_t n;
	int size = 0;

	while (size < sizeof(text) - 1) {
		n = read(output, text + size, sizeof(text) - 1 - size);
		if (n <= 0)
			return false;
		size += n;
		text[size] = 0;
		if (strstr(text, " RUN "))
			return true;
	}
	return false;
}

FIXTURE(interrupt)
{
	char before[16384], after[16384];
	pid_t bound;		/* somebody else's process on CPU 1 */
	bool taken;		/* the PMU, by somebody else */
};

FIXTURE_VARIANT(interrupt)
{
	int signal;
};

FIXTURE_VARIANT_ADD(interrupt, INT) {
	.signal = SIGINT,
};

FIXTURE_VARIANT_ADD(interrupt, TERM) {
	.signal = SIGTERM,
};

FIXTURE_VARIANT_ADD(interrupt, HUP) {
	.signal = SIGHUP,
};

/* The program itself can then do nothing more. */
FIXTURE_VARIANT_ADD(interrupt, KILL) {
	.signal = SIGKILL,
};

/* It does not sleep all the time: the kernel lets it go when it wakes. */
static pid_t start_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || pin(1))
		_exit(1);
	for (;;)
		usleep(1000);
}

/* Only to CPU 1? */
static bool is_bound(pid_t pid)
{
	cpu_set_t cpus;

	return !sched_getaffinity(pid, sizeof(cpus), &cpus) &&
	       CPU_COUNT(&cpus) == 1 && CPU_ISSET(1, &cpus);
}

FIXTURE_SETUP(interrupt)
{
	ASSERT_FALSE(cpu_is_offline());
	ASSERT_EQ(0, write_file("/proc/sys/kernel/perf_event_paranoid", "2"));
	self->taken = pmu_is_taken();
	self->bound = start_bound();
	ASSERT_LT(0, self->bound);
	while (!is_bound(self->bound))
		ASSERT_NE('Z', task_state(self->bound));
	note_state(self->before, sizeof(self->before));
}

FIXTURE_TEARDOWN(interrupt)
{
	kill(self->bound, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(self->bound));
}

/*
 * Sends the signal while the test runs. Returns how the program ended. It may end
 * too early, if this process is not often on a CPU.
 */
static int interrupt(const struct victim *victim, int sig)
{
	time_t end = time(NULL) + SECONDS * test_slowness();
	int status = 0, output;
	bool gone;
	pid_t pid;

	while (time(NULL) < end) {
		pid = start_victim(victim, &output);
		if (pid < 0)
			return -1;
		gone = !begins_a_test(output);
		while (!gone && !victim->is_in_test() && time(NULL) < end)
			gone = waitpid(pid, &status, WNOHANG);
		if (!gone && !kill(-pid, sig))
			status = child_status(pid);
		close(output);
		if (!gone)
			return status;
	}
	return -1;
}

static void try_victim(struct __test_metadata *_metadata,
		       FIXTURE_DATA(interrupt) *self,
		       const FIXTURE_VARIANT(interrupt) *variant,
		       const struct victim *victim)
{
	time_t end = time(NULL) + SECONDS * test_slowness();

	ASSERT_EQ(0, processes(victim->name));
	ASSERT_EQ(KILLED_BY(variant->signal),
		  interrupt(victim, variant->signal));
	while (variant->signal == SIGKILL && processes(victim->name) &&
	       time(NULL) < end)
		usleep(1000);
	EXPECT_EQ(0, processes(victim->name));
	EXPECT_EQ(self->taken, pmu_is_taken());
	EXPECT_TRUE(is_bound(self->bound));
	note_state(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
}

TEST_F(interrupt, hotplug)
{
	try_victim(_metadata, self, variant, &victims[0]);
}

TEST_F(interrupt, policy)
{
	try_victim(_metadata, self, variant, &victims[1]);
}

TEST_F(interrupt, counting)
{
	try_victim(_metadata, self, variant, &victims[2]);
}

NEEDS(
	{ "interrupt.*.hotplug", VPMC | DISTURBS | ROOT | TWO_CPUS },
	{ "*", PMU | DISTURBS | ROOT | TWO_CPUS },
);

TEST_HARNESS_MAIN
