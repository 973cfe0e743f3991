// SPDX-License-Identifier: GPL-2.0
/*
 * execve() with counters running, disturbed at vpmc's instructions from there
 * to the end of the new program, which is short. SWEEP_STEP=N in the
 * environment disturbs at every N-th of them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/stat.h>
#include "sweep.h"
#include "caps.h"
#include "inherit.h"
#include "target.h"

#define USER	1000
#define IMAGE	"/tmp/vpmc_swept"	/* which the user may read */

FIXTURE(sweep_exec)
{
	struct sweep *s;
};

FIXTURE_SETUP(sweep_exec)
{
	self->s = sweep_start(others);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_LT(0, sweep_kernel_ranges());
}

FIXTURE_TEARDOWN(sweep_exec)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

/* Counts, and becomes the image on request. */
static void become_image(struct sweep *s, unsigned long k, int out,
			 struct child *c)
{
	char *argv[] = { "image", "few", "turns", NULL };
	struct code_armed armed = {
		.body = code_exec,
		.a = (long)exec_image_path(), .b = (long)argv,
		.skip = k, .action = sweep_action(s),
	};
	struct set set;

	if (dup2(out, 1) != 1 || set_open(&set, mine) ||
	    dup2(set.fd, EXEC_FD) != EXEC_FD || child_send(c) || child_wait(c))
		_exit(100);
	s->tid = my_tid();
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_armed,
		     (long)&armed, 0);
	_exit(101);
}

/* The image's sums, by itself, and how it ended. -1: it did not begin. */
static int run_image(struct sweep *s, unsigned long k, struct vpmc_read *sums)
{
	struct child c = {};
	int out[2], status = -1, err;

	memset(sums, 0, sizeof(*sums));
	if (pipe(out))
		return -1;
	if (!child_fork(&c))
		become_image(s, k, out[1], &c);
	close(out[1]);
	if (!child_wait(&c)) {
		s->fd = open_of(c.pid, O_RDWR);
		sweep_begin(s);
		err = child_send(&c);
		status = child_end(&c) ?: err;
		sweep_disarm(s);
	}
	if (read(out[0], sums, sizeof(*sums)) < 0)
		status = -1;
	close(out[0]);
	return status;
}

/* From START to execve(); and with the image. */
#define TO_EXEC	code_add(code_add(CODE_MEASURE_HEAD, CODE_ARMED_HEAD), \
			 CODE_EXEC)
#define WHOLE	code_add(TO_EXEC, CODE_EXEC_FEW)

static int wrong_image(void *arg, unsigned long k)
{
	const struct code_count count = WHOLE;
	struct sweep *s = arg;
	struct vpmc_read read;
	int err = run_image(s, k, &read);

	close(s->fd);
	if (err)
		return 1;
	if (third_agrees(&read) && read.sum[0] == count.insns &&
	    read.sum[1] == count.branches)
		return 0;
	fprintf(stderr, "# %llu of %llu instructions\n",
		(unsigned long long)read.sum[0],
		(unsigned long long)count.insns);
	return 1;
}

TEST_F(sweep_exec, exec)
{
	for (self->s->what = INTERRUPT; self->s->what <= MIGRATE; self->s->what++)
		sweep_all(_metadata, self->s, sweep_step(), wrong_image, self->s);
}

/* Another thread takes the counters away: the sums end there. */
static int wrong_unlinked(void *arg, unsigned long k)
{
	struct sweep *s = arg;
	struct vpmc_read read;
	int status = run_image(s, k, &read);
	int err = vpmc_read(s->fd, &read);
	bool unlinked = s->disturbed && !s->error;
	/* The first of our instructions that is disturbed is in execve(). */
	struct code_count low = unlinked ? TO_EXEC : WHOLE;

	close(s->fd);
	if (!err && third_agrees(&read) &&
	    read.sum[0] >= low.insns && read.sum[0] <= WHOLE.insns &&
	    read.sum[1] >= low.branches && read.sum[1] <= WHOLE.branches &&
	    (status == 0 || status == ESRCH) &&
	    read.state == (unlinked ? VPMC_STATE_UNLINKED :
				      VPMC_STATE_EXITED))
		return 0;
	fprintf(stderr, "# status %d, error %d, state %u, %llu, %llu and %llu\n",
		status, err, read.state, (unsigned long long)read.sum[0],
		(unsigned long long)read.sum[1],
		(unsigned long long)read.sum[2]);
	return 1;
}

TEST_F(sweep_exec, unlinked)
{
	self->s->what = UNLINK;
	self->s->ends = true;
	sweep_all(_metadata, self->s, sweep_step(), wrong_unlinked, self->s);
}

/*
 * Root counts the kernel in a process of a user that executes a program, whose page its
 * parent still maps after vfork(). The page never belongs to the new set.
 */
FIXTURE(sweep_control)
{
	struct sweep *s;
};

/* It changes the address space and, later, calls vpmc. */
static bool is_ours_or_exec(const char *name, bool before)
{
	return sweep_is_ours(name, before) || !strcmp(name, "begin_new_exec");
}

FIXTURE_SETUP(sweep_control)
{
	mkdir("/tmp", 0755);
	ASSERT_EQ(0, copy_file(exec_image_path(), IMAGE));
	ASSERT_EQ(0, chmod(IMAGE, 0755));
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/perf_event_paranoid", "2"));
	ASSERT_LT(0, sweep_ranges(is_ours_or_exec));
}

FIXTURE_TEARDOWN(sweep_control)
{
	unlink(IMAGE);
	EXPECT_EQ(0, sweep_stop(self->s));
}

static unsigned long mapped, granted;

static int count_kernel(struct sweep *s)
{
	static const struct choice kernel_mode[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };
	struct vpmc_control control;
	int err;

	control_of(&control, kernel_mode, 0);
	err = vpmc_ioctl(s->fd, VPMC_IOC_CONTROL, &control);
	granted += !err;
	if (err != -EBUSY || control.reason != VPMC_REASON_MAPPED)
		return err;
	mapped++;
	return 0;
}

/* What vfork() shares. */
static struct set shared_set;
static uint64_t shared_number;

static int vfork_image(struct sweep *s, unsigned long k, struct child *c)
{
	static char *argv[] = { "image", "few", "turns", NULL };
	static struct code_armed armed;
	pid_t pid;

	armed = (struct code_armed){
		.body = code_exec,
		.a = (long)IMAGE, .b = (long)argv,
		.skip = k, .action = sweep_action(s),
	};
	if (become_with(USER, 0) || prctl(PR_SET_DUMPABLE, 1))
		return 1;
	pid = vfork();
	if (!pid) {
		/* The image prints its sums. */
		if (dup2(open("/dev/null", O_WRONLY), 1) != 1 ||
		    set_open(&shared_set, mine) ||
		    vpmc_ioctl(shared_set.fd, VPMC_IOC_START, 0))
			_exit(2);
		shared_number = shared_set.page->set_number;
		s->tid = my_tid();
		if (child_send(c) || child_wait(c))
			_exit(3);
		code_armed((long)&armed, 0);
		_exit(4);
	}
	child_status(pid);
	return shared_number && shared_set.page->set_number == shared_number ? 0 : 5;
}

static int wrong_page(void *arg, unsigned long k)
{
	struct sweep *s = arg;
	struct child c = {};
	int status = -1, err;

	if (!child_fork(&c))
		_exit(vfork_image(s, k, &c));
	if (!child_wait(&c)) {
		s->fd = open_of(s->tid, O_RDWR);
		sweep_begin(s);
		err = child_send(&c);
		status = child_end(&c) ?: err;
		sweep_disarm(s);
	}
	close(s->fd);
	if (status)
		fprintf(stderr, "# status %d\n", status);
	return status != 0;
}

TEST_F_TIMEOUT(sweep_control, page_of_the_parent, 120)
{
	self->s->what = CALL;
	self->s->call = count_kernel;
	/* CONTROL may wait until the program has ended. */
	self->s->ends = true;
	sweep_all(_metadata, self->s, test_slowness(), wrong_page, self->s);
	TH_LOG("refused %lu times, granted %lu times", mapped, granted);
	EXPECT_LT(0, mapped);
	EXPECT_LT(0, granted);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
