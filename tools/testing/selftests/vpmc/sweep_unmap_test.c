// SPDX-License-Identifier: GPL-2.0
/*
 * Root counts the kernel in a process of a user that removes the mapping of its page,
 * disturbed at each instruction of munmap() that has to do with the page. The page never
 * shows the new set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <setjmp.h>
#include <signal.h>
#include "sweep.h"
#include "caps.h"
#include "inherit.h"
#include "target.h"

#define USER	1000

/* What the user's process and root share. */
struct seen {
	int ask[2];		/* pipe that wakes the reader */
	volatile unsigned long shown;	/* the page was there */
	volatile unsigned long wrong;	/* and was of another set */
	struct code_armed armed;
};

FIXTURE(sweep_unmap)
{
	struct sweep *s;
	struct set claim;
};

static bool is_ours_or_unmap(const char *name, bool before)
{
	return sweep_is_ours(name, before) || !strcmp(name, "__vm_munmap") ||
	       !strcmp(name, "unmap_vmas") ||
	       !strcmp(name, "vms_complete_munmap_vmas");
}

static struct seen *seen;
static unsigned long refused, granted, shown;

FIXTURE_SETUP(sweep_unmap)
{
	seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, seen);
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/perf_event_paranoid", "2"));
	/* The first claim and the last one would interrupt CPU 0. */
	ASSERT_EQ(0, set_open(&self->claim, mine));
	ASSERT_LT(0, sweep_ranges(is_ours_or_unmap));
}

FIXTURE_TEARDOWN(sweep_unmap)
{
	set_close(&self->claim);
	EXPECT_EQ(0, sweep_stop(self->s));
}

static sigjmp_buf gone;

static void page_is_gone(int sig)
{
	siglongjmp(gone, 1);
}

/* A set without counters: RDPMC is not permitted, so CPU 0 need not learn of a change. */
static const struct choice none[] = { {} };
static struct set user_set;
static volatile pid_t reader;

/* The owner of the set. It sleeps on CPU 1, and looks at its page when it is asked to. */
static void *read_page(void *arg)
{
	uint64_t number;
	char byte;

	if (pin(1) || set_open(&user_set, none))
		return NULL;
	number = user_set.page->set_number;
	reader = my_tid();
	while (read(seen->ask[0], &byte, 1) == 1) {
		if (sigsetjmp(gone, 1))
			continue;
		seen->wrong += user_set.page->set_number != number;
		seen->shown++;
	}
	return NULL;
}

static int ask_reader(void)
{
	static const struct timespec moment = { .tv_nsec = 100000 };

	return write(seen->ask[1], "", 1) == 1 && !nanosleep(&moment, NULL) ? 0 : -errno;
}

/* The reader has a lower priority than the caller, which sleeps. */
static int count_kernel(struct sweep *s)
{
	static const struct choice kernel_mode[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };
	unsigned long before = seen->shown;
	struct vpmc_control control;
	int err;

	control_of(&control, kernel_mode, 0);
	err = vpmc_ioctl(s->fd, VPMC_IOC_CONTROL, &control);
	if (err == -EBUSY && control.reason == VPMC_REASON_MAPPED) {
		refused++;
		return 0;
	}
	err = err ?: ask_reader();
	granted += !err;
	shown += seen->shown != before;
	return err;
}

static long unmap_page(long page, long unused)
{
	return munmap((void *)page, PAGE);
}

/* The user's process: its first thread removes the mapping. */
static int unmapper(struct sweep *s, unsigned long k, struct child *c)
{
	struct code_armed *armed = &seen->armed;
	pthread_t thread;
	long err;

	*armed = (struct code_armed){
		.body = unmap_page, .skip = k, .action = sweep_action(s),
	};
	signal(SIGSEGV, page_is_gone);
	if (become_with(USER, 0) || prctl(PR_SET_DUMPABLE, 1) ||
	    pthread_create(&thread, NULL, read_page, NULL))
		return 1;
	/* What the reader writes is its own after the first time. */
	while (!reader)
		usleep(10);
	while (!seen->shown)
		if (ask_reader())
			return 2;
	s->tid = reader;
	armed->a = (long)user_set.page;
	if (child_send(c) || child_wait(c))
		return 3;
	err = code_armed((long)armed, 0);
	/* The reader can end only if CPU 1 waits for the trigger no more. */
	s->over = true;
	pmu_trigger_disarm();
	return err ? 4 : 0;
}

static int wrong_page(void *arg, unsigned long k)
{
	struct sweep *s = arg;
	struct child c = {};
	const unsigned long *at;
	int status = -1, err;

	seen->shown = seen->wrong = 0;
	if (pipe2(seen->ask, O_CLOEXEC))
		return 1;
	if (!child_fork(&c))
		_exit(unmapper(s, k, &c));
	if (!child_wait(&c)) {
		s->fd = open_of(s->tid, O_RDWR);
		sweep_begin(s);
		err = child_send(&c);
		status = child_end(&c) ?: err;
		at = seen->armed.status;
		sweep_end(s, (struct pmu_trigger){ at[0], at[1], at[2], at[3] });
	}
	close(s->fd);
	close(seen->ask[0]);
	close(seen->ask[1]);
	if (status || seen->wrong)
		fprintf(stderr, "# status %d, %lu times another set\n", status, seen->wrong);
	return status || seen->wrong;
}

TEST_F_TIMEOUT(sweep_unmap, page_that_goes, 120)
{
	self->s->what = CALL;
	self->s->call = count_kernel;
	/* CONTROL may wait until the process has ended. */
	self->s->ends = true;
	sweep_all(_metadata, self->s, test_slowness(), wrong_page, self->s);
	TH_LOG("refused %lu times, granted %lu times, %lu of them while the page was there",
	       refused, granted, shown);
	EXPECT_LT(0, refused);
	EXPECT_LT(0, granted);
	EXPECT_LT(0, shown);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
