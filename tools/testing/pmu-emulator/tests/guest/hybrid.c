// SPDX-License-Identifier: GPL-2.0
/*
 * usage: hybrid SMALL BIG
 * Mainline's perf driver on a hybrid processor: on CPU 0, a small core, as many
 * events as SMALL says count a loop together on programmable counters, and one more
 * does not fit; on CPU 1, a big one, as many as BIG says.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"

#define BRANCHES	0x00c4
#define PASSES		1000001
#define MAX_EVENTS	8

static uint32_t type_of(const char *pmu)
{
	char path[80];
	uint32_t type;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%u", &type) != 1)
		die(path);
	fclose(f);
	return type;
}

/* An event is refused if its group has no counter left for it. */
static bool fits(uint32_t type, int group)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = BRANCHES,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static __attribute__((noinline)) void measure(const int *fd, int n, uint64_t passes,
					      uint64_t *counted)
{
	perf_start(fd[0]);
	loop(passes);
	perf_stop(fd[0]);
	for (int i = 0; i < n; i++)
		counted[i] = perf_read(fd[i]);
}

static void test_core(const char *pmu, int cpu, int n)
{
	uint64_t empty[MAX_EVENTS], counted[MAX_EVENTS];
	uint32_t type = type_of(pmu);
	int fd[MAX_EVENTS];

	run_on_cpu(cpu);
	for (int i = 0; i < n; i++)
		fd[i] = perf_open_type(type, BRANCHES, USER, 0, i ? fd[0] : -1, 0);
	check(!fits(type, fd[0]), "%s: %d events fit, and no more", pmu, n);
	measure(fd, n, 1, empty);
	measure(fd, n, PASSES, counted);
	for (int i = 0; i < n; i++)
		if (!check(counted[i] - empty[i] == PASSES - 1,
			   "%s: event %d counts branches", pmu, i))
			printf("# got %llu\n",
			       (unsigned long long)(counted[i] - empty[i]));
	for (int i = n; i--;)
		close(fd[i]);
}

int main(int argc, char **argv)
{
	if (argc != 3 || atoi(argv[1]) > MAX_EVENTS || atoi(argv[2]) > MAX_EVENTS) {
		fprintf(stderr, "usage: hybrid SMALL BIG\n");
		return 2;
	}
	test_core("cpu_atom", 0, atoi(argv[1]));
	test_core("cpu_core", 1, atoi(argv[2]));
	return done_testing();
}
