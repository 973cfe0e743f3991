// SPDX-License-Identifier: GPL-2.0
/*
 * No memory: each allocation of a call fails in turn
 * (/proc/thread-self/fail-nth), until there are none left. A call that fails
 * returns ENOMEM, changes nothing and leaves nothing behind. For a kernel with
 * CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAULT_INJECTION_DEBUG_FS.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/rseq.h>
#include <sys/uio.h>

#include "inherit.h"
#include "ring.h"

#define DEBUG	"/sys/kernel/debug/"

#define FAIL_NTH	"/proc/thread-self/fail-nth"

#define PERIOD	1000000
#define RECORDS	256
#define TURNS	1000

FIXTURE(enomem)
{
	struct set set;
	int nth;	/* this thread's FAIL_NTH */
	int failed;	/* calls so far that had no memory */
};

/* Allocations that may sleep and single pages fail, too. Nothing is reported. */
static const char * const settings[][2] = {
	{ DEBUG "failslab/ignore-gfp-wait", "N" },
	{ DEBUG "failslab/verbose", "0" },
	{ DEBUG "fail_page_alloc/ignore-gfp-wait", "N" },
	{ DEBUG "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ DEBUG "fail_page_alloc/min-order", "0" },
	{ DEBUG "fail_page_alloc/verbose", "0" },
};

FIXTURE_SETUP(enomem)
{
	int i;

	/* Done by the first test. */
	if (access(DEBUG "failslab", F_OK))
		ASSERT_EQ(0, mount("debugfs", DEBUG, "debugfs", 0, NULL));
	for (i = 0; i < ARRAY_SIZE(settings); i++)
		ASSERT_EQ(0, write_file(settings[i][0], settings[i][1]));
	self->set.fd = -1;
	self->set.page = NULL;
	self->nth = open(FAIL_NTH, O_RDWR);
	ASSERT_LE(0, self->nth);
}

FIXTURE_TEARDOWN(enomem)
{
	set_close(&self->set);
	close(self->nth);
}

/* The thread's n-th allocation from now on fails; with 0 none does. */
static int fail_nth(int file, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(file, text, len, 0) == len ? 0 : -errno;
}

/* It has. */
static bool has_failed(int file)
{
	char text[16] = "";

	return pread(file, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
}

/* Lets its @n-th allocation fail. False if it has fewer. */
static bool call_without(int file, int n, long (*call)(struct set *set),
			 struct set *set, long *result)
{
	bool failed;

	if (fail_nth(file, n))
		return false;
	*result = call(set);
	failed = has_failed(file);
	return !fail_nth(file, 0) && failed;
}

/*
 * For each allocation of call(set): what comes of it without. Then, after the
 * loop, with all of them.
 */
#define for_each_without(n, call, set, result)				\
	for_each_from(1, n, call, set, result)

#define for_each_from(first, n, call, set, result)			\
	for (n = first; call_without(self->nth, n, call, set, &result); n++)

static long call_open(struct set *set)
{
	set->fd = vpmc_open();
	return set->fd;
}

static bool has_counters(void)
{
	int fd = open(THREAD_FILE, O_RDWR);
	struct vpmc_read read;
	int err = vpmc_read(fd, &read);

	close(fd);
	return err != -ENOENT;
}

TEST_F(enomem, open)
{
	long result = 0;
	int n;

	for_each_without(n, call_open, &self->set, result) {
		if (result >= 0) {
			set_close(&self->set);
			continue;
		}
		EXPECT_EQ(-ENOMEM, result);
		EXPECT_FALSE(has_counters());
		self->failed++;
	}
	ASSERT_LE(0, result);
	EXPECT_TRUE(has_counters());
	/* The counters and the file. */
	EXPECT_LE(2, self->failed);
}

static long call_control(struct set *set)
{
	return set_control(set);
}

/* All that a set can have. */
static void control_everything(struct vpmc_control *control)
{
	control_init(control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM |
		     VPMC_CONTROL_INHERIT_THREADS);
	control_add_period(control, EV_INSNS, FIXED(0), PERIOD);
	control_choose(control, EV_BRANCHES, VPMC_ANY);
	control->ring_records = RECORDS;
	control->ring_watermark = 1;
	control->members = RECORDS;
}

/* The first set: until then no user has the PMU. */
TEST_F(enomem, control)
{
	struct set *set = &self->set;
	struct vpmc_control programmed;
	long result = 0;
	int n;

	set->fd = vpmc_open();
	ASSERT_LE(0, set->fd);
	control_everything(&set->control);
	for_each_without(n, call_control, set, result) {
		/* This allocation is optional. */
		if (!result) {
			set_close(set);
			set->fd = vpmc_open();
			ASSERT_LE(0, set->fd);
			continue;
		}
		ASSERT_EQ(-ENOMEM, result);
		EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
		ASSERT_EQ(0, vpmc_read_control(set->fd, &programmed));
		EXPECT_EQ(0, programmed.nr_counters);
		self->failed++;
	}
	ASSERT_EQ(0, result);
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set->fd));
	/*
	 * Of what it is asked with; selection, periods, ring, its pages, family, records
	 * of members, their pages.
	 */
	EXPECT_LE(8, self->failed);
	ASSERT_EQ(0, set_measure(set, code_loop, TURNS, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(TURNS)));
}

/* Another CONTROL: the old set stays and continues to count. */
TEST_F(enomem, control_again)
{
	struct code_count all = CODE_COUNT(0, 0);
	struct set *set = &self->set, other;
	struct vpmc_control programmed;
	long result = 0;
	int n;

	ASSERT_EQ(0, set_open(set, inherited));
	other.fd = set->fd;
	control_everything(&other.control);
	for_each_without(n, call_control, &other, result) {
		if (!result) {
			ASSERT_EQ(0, set_program(set, inherited));
			all = CODE_COUNT(0, 0);
			continue;
		}
		ASSERT_EQ(-ENOMEM, result);
		ASSERT_EQ(0, vpmc_read_control(set->fd, &programmed));
		EXPECT_EQ(0, programmed.flags & VPMC_CONTROL_REARM);
		EXPECT_EQ(0, programmed.ring_records);
		ASSERT_EQ(0, set_measure(set, code_loop, TURNS, 0));
		EXPECT_EQ(0, wrong_after(set, code_add(all, CODE_LOOP(TURNS))));
		all = code_add(all, measured(TURNS));
		self->failed++;
	}
	ASSERT_EQ(0, result);
	EXPECT_LE(6, self->failed);
	ASSERT_EQ(0, vpmc_read_control(set->fd, &programmed));
	EXPECT_EQ(RECORDS, programmed.ring_records);
}

/*
 * Reads allocate from slabs alone. A page that is refused to the slab allocator, or to
 * the page fault of a buffer, is asked for again, and the read succeeds.
 */
static int let_pages_be(void)
{
	return write_file(DEBUG "fail_page_alloc/min-order", "20");
}

static long call_read_control(struct set *set)
{
	return vpmc_read_control(set->fd, &set->control);
}

/* As text. */
static long call_read(struct set *set)
{
	char text[PAGE];
	ssize_t n = pread(set->fd, text, sizeof(text), 0);

	return n < 0 ? -errno : n;
}

TEST_F(enomem, reading)
{
	struct set *set = &self->set;
	long result = 0, length;
	int n;

	ASSERT_EQ(0, set_open(set, inherited));
	ASSERT_EQ(0, let_pages_be());
	for_each_without(n, call_read_control, set, result) {
		EXPECT_EQ(-ENOMEM, result);
		self->failed++;
	}
	ASSERT_EQ(0, result);
	EXPECT_LE(1, self->failed);
	EXPECT_EQ(2, set->control.nr_counters);

	length = call_read(set);
	ASSERT_LT(0, length);
	for_each_without(n, call_read, set, result) {
		EXPECT_EQ(-ENOMEM, result);
		self->failed++;
	}
	EXPECT_EQ(length, result);
	EXPECT_LE(4, self->failed);
}

/* As text, without waiting. */
static long call_read_now(struct set *set)
{
	char text[PAGE];
	struct iovec all = { text, sizeof(text) };
	ssize_t n = preadv2(set->fd, &all, 1, 0, RWF_NOWAIT);

	return n < 0 ? -errno : n;
}

/* Only allocations that do not wait for memory fail here: all those of such a read. */
TEST_F(enomem, reading_now)
{
	struct set *set = &self->set;
	long result = 0;
	int n;

	ASSERT_EQ(0, set_open(set, inherited));
	ASSERT_EQ(0, let_pages_be());
	ASSERT_EQ(0, write_file(DEBUG "failslab/ignore-gfp-wait", "Y"));
	for_each_without(n, call_read_now, set, result) {
		EXPECT_EQ(-ENOMEM, result);
		self->failed++;
	}
	EXPECT_EQ(call_read(set), result);
	EXPECT_LE(3, self->failed);
	for_each_without(n, call_read, set, result)
		EXPECT_LT(0, result);
	EXPECT_EQ(1, n);
	ASSERT_EQ(0, set_measure(set, code_loop, TURNS, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(TURNS)));
}

static long call_map(struct set *set)
{
	set->page = vpmc_map(set->fd);
	return set->page == MAP_FAILED ? -errno : 0;
}

static long call_map_ring(struct set *set)
{
	const struct vpmc_ring *ring = ring_map(set);

	if (ring == MAP_FAILED)
		return -errno;
	return ring_unmap(set, ring);
}

TEST_F(enomem, mapping)
{
	struct set *set = &self->set;
	long result = 0;
	int n;

	set->fd = vpmc_open();
	ASSERT_LE(0, set->fd);
	control_everything(&set->control);
	ASSERT_EQ(0, set_control(set));
	for_each_without(n, call_map, set, result) {
		if (result) {
			EXPECT_EQ(-ENOMEM, result);
			self->failed++;
		} else {
			ASSERT_EQ(0, munmap(set->page, PAGE));
		}
	}
	ASSERT_EQ(0, result);
	/* The area, the mapping and its page. */
	EXPECT_LE(3, self->failed);
	EXPECT_EQ(VPMC_STATE_STOPPED, set->page->state);
	for_each_without(n, call_map_ring, set, result) {
		if (result)
			EXPECT_EQ(-ENOMEM, result);
	}
	EXPECT_EQ(0, result);
}

/*
 * The first allocations of fork() are for the child's stack. The kernel reports
 * it if one of these fails.
 */
#define STACK_ALLOCATIONS	40

/* The child does nothing. */
static long call_fork(struct set *set)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return pid < 0 ? -errno : pid;
}

/*
 * Linux writes the CPU's number into glibc's area for restartable sequences when a thread
 * that lost the CPU returns to user mode. After fork() that needs a page, and a thread for
 * which there is none is killed.
 */
static int leave_rseq(void)
{
	/* glibc registers at least this much. */
	unsigned int size = __rseq_size < 32 ? 32 : __rseq_size;

	if (!__rseq_size)
		return 0;
	return syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, size,
		       RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}

TEST_F(enomem, fork)
{
	struct set *set = &self->set;
	struct vpmc_read read;
	int n, children = 0;
	long result = 0;

	ASSERT_EQ(0, leave_rseq());
	ASSERT_EQ(0, root_open(set, PROCESSES));
	for_each_from(STACK_ALLOCATIONS, n, call_fork, set, result) {
		if (result > 0) {
			ASSERT_EQ(0, child_status(result));
			children++;
		} else {
			ASSERT_EQ(-ENOMEM, result);
			self->failed++;
		}
		ASSERT_EQ(0, family_read(set->fd, FINISHED | LIVING, &read));
		EXPECT_EQ(0, read.living);
		EXPECT_EQ(children, read.finished);
	}
	ASSERT_LT(0, result);
	EXPECT_EQ(0, child_status(result));
	/* The counters. */
	EXPECT_LE(1, self->failed);
	TH_LOG("%d allocations", n - 1);
	ASSERT_EQ(0, family_read(set->fd, FINISHED | LIVING, &read));
	EXPECT_EQ(children + 1, read.finished);
	/* A child that was not created does not hold the PMU. */
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
}

/* How execve() can end. The counters need no memory: it never ends without them. */
enum { RUNS, FAILS, DIES, WRONG };

#define FAILED	50	/* the exit status of one that failed, and counts on */

/* execve() without its n-th allocation, counted. */
static void exec_without(int n)
{
	long image = (long)exec_image_path();
	char *argv[] = { "image", NULL };
	int nth = open(FAIL_NTH, O_RDWR);
	struct set set;

	if (set_open(&set, inherited) || dup2(set.fd, EXEC_FD) != EXEC_FD ||
	    fail_nth(nth, n))
		_exit(100);
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     image, (long)argv);
	/* code_exec() returns: an instruction and a branch more */
	if (fail_nth(nth, 0) ||
	    wrong_after(&set, code_add(CODE_EXEC, CODE_COUNT(1, 1))))
		_exit(101);
	close(nth);
	close(set.fd);
	_exit(FAILED);
}

/* What the image does after its STOP may fail as well. */
static int judge(int status, const struct vpmc_read *read)
{
	struct code_count before = code_add(CODE_MEASURE_HEAD, CODE_EXEC);
	struct code_count all = code_add(before, CODE_EXEC_IMAGE);

	if (status == KILLED_BY(SIGSEGV) || status == KILLED_BY(SIGKILL))
		return DIES;
	if (status == FAILED)
		return FAILS;
	if (status != 100 && status != 101 &&
	    read->state == VPMC_STATE_EXITED &&
	    read->sum[0] == all.insns && read->sum[1] == all.branches)
		return RUNS;
	fprintf(stderr, "# exit status %d, state %u, %llu, %llu\n", status,
		read->state, (unsigned long long)read->sum[0],
		(unsigned long long)read->sum[1]);
	return WRONG;
}

/* One of the above. False if there are fewer allocations. */
static int outcome_of_exec(int n, bool *failed)
{
	struct vpmc_read read;
	char path[64];
	siginfo_t info;
	int first = dup(1), nth, err;
	pid_t pid;

	close(first);
	/* EXEC_FD is here, too. */
	pid = fork_with_files();
	if (!pid)
		exec_without(n);
	/* It is a zombie, and what has not failed is known. */
	if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT))
		return WRONG;
	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	nth = open(path, O_RDONLY);
	*failed = has_failed(nth);
	err = vpmc_read(EXEC_FD, &read);
	/* ... and so is what it had open before execve(). */
	close_range(first, ~0U, 0);
	return err ? WRONG : judge(child_status(pid), &read);
}

TEST_F_TIMEOUT(enomem, exec, 120)
{
	int outcomes[WRONG + 1] = {};
	int outcome, n, pass;
	bool failed;

	/* The image's output is not of interest. */
	ASSERT_EQ(1, dup2(open("/dev/null", O_WRONLY), 1));
	/*
	 * Now and then the allocator fetches a page for later, which moves the
	 * numbers of what comes next by one, and one of them is left out.
	 */
	for (pass = 0; pass < 2; pass++) {
		failed = true;
		for (n = 1; failed; n++) {
			outcome = outcome_of_exec(n, &failed);
			if (failed)
				outcomes[outcome]++;
		}
		EXPECT_EQ(RUNS, outcome);
	}
	EXPECT_EQ(0, outcomes[WRONG]);
	EXPECT_LT(0, outcomes[RUNS]);
	EXPECT_LT(0, outcomes[FAILS]);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT, "CONFIG_FAULT_INJECTION_DEBUG_FS=y", "/proc/self/make-it-fail" },
);

TEST_HARNESS_MAIN
