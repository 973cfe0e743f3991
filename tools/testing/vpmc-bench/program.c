// SPDX-License-Identifier: GPL-2.0
/*
 * usage: program
 *
 * Runs a real program, gzip of a source file, with and without counters. Measures its
 * cost from the first to the last instruction, and checks that the count is exact.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/personality.h>
#include <sys/wait.h>

#include "cost.h"
#include "partner.h"
#include "who.h"

#define TINY_INSTRUCTIONS	3

static const char *const tiny[] = { "/add/tiny", "tiny", NULL };
static const char *const gzip[] = {
	"/bin/busybox", "gzip", "-c", "/add/source", NULL
};

static struct cost cost;
static int ready, go;

static void fixed_places(void)
{
	int null = open("/dev/null", O_WRONLY);

	/* The output goes to /dev/null. */
	if (personality(ADDR_NO_RANDOMIZE) < 0 || null < 0 || dup2(null, 1) < 0)
		err(1, "personality, or /dev/null");
}

/* Programs a set whose first counter counts instructions. */
static void set_for_exec(unsigned int n)
{
	struct vpmc_control control = {
		.size = sizeof(control), .nr_counters = n,
		.flags = VPMC_CONTROL_STOPPED | VPMC_CONTROL_ENABLE_ON_EXEC,
	};
	unsigned int i;

	for (i = 0; i < n; i++) {
		control.counter[i].evtsel = (i ? events[i].event : 0xc0) |
					    MODE_USER;
		control.counter[i].index = events[i].index;
	}
	if (ioctl(perfctr_open(), VPMC_IOC_CONTROL, &control))
		err(1, "CONTROL for execve()");
}

/*
 * Runs the program once. Returns the count of its first counter, or 0 without
 * counters.
 */
static uint64_t run(const char *const *program, unsigned int n)
{
	struct vpmc_read sums = { .size = sizeof(sums) };
	char name[64];
	pid_t pid = forked();
	int fd = -1;

	if (!pid) {
		fixed_places();
		if (n)
			set_for_exec(n);
		eventfd_post(ready, GO);
		eventfd_take(go);
		execv(program[0], (char **)program + 1);
		_exit(1);
	}
	eventfd_take(ready);
	snprintf(name, sizeof(name), "/proc/%d/perfctr", pid);
	if (n)
		fd = open(name, O_RDONLY);
	cost.rounds = 0;
	{
		struct totals begin, end;
		int status;

		totals_begin(&begin);
		eventfd_post(go, GO);
		waitpid(pid, &status, 0);
		totals_end(&end);
		if (status)
			errx(1, "%s ended with %#x", program[0], status);
		cost_add(&cost, &begin, &end,
			 both_modes(&end, PMU_TEST_INTERRUPTS) -
			 both_modes(&begin, PMU_TEST_INTERRUPTS));
	}
	if (n && ioctl(fd, VPMC_IOC_READ, &sums))
		err(1, "READ");
	close(fd);
	return sums.sum[0];
}

int main(void)
{
	uint64_t nothing, count;
	unsigned int i;

	be_alone(0);
	who_init();
	ready = eventfd_new();
	go = eventfd_new();
	run(gzip, 0);			/* loads the files into memory; not measured */
	run(tiny, 0);
	nothing = instructions(&cost.least, USER_MODE) - TINY_INSTRUCTIONS;
	run(gzip, 0);
	cost_print(&cost, "program", 0, "none");
	for (i = 0; i < NR_SIZES; i++) {
		count = run(gzip, sizes[i]);
		cost_print(&cost, "program", sizes[i], "vpmc");
		/*
		 * Print the count in place of the program's executed
		 * instructions.
		 */
		cost.least = (struct totals){};
		cost.least.event[PMU_TEST_CYCLES][USER_MODE] = count;
		cost_print(&cost, "program-counted", sizes[i], "vpmc");
	}
	printf("raw case=program-executed n=0 who=none rounds=1 user=-%llu kernel=0\n",
	       (unsigned long long)nothing);
	return 0;
}
