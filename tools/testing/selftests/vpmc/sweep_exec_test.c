// SPDX-License-Identifier: GPL-2.0
/*
 * execve() with counters running, disturbed at the instructions of ours from
 * there to the end of the new program, which is short. The environment's
 * SWEEP_STEP: at every so many of them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"

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

/* Counts, and becomes the image. */
static void become_image(struct sweep *s, unsigned long k, int out)
{
	char *argv[] = { "image", "few", "turns", NULL };
	struct code_armed armed = {
		.body = code_exec,
		.a = (long)exec_image_path(), .b = (long)argv,
		.skip = k, .action = sweep_action(s),
	};
	struct set set;

	if (dup2(out, 1) != 1 || set_open(&set, mine) ||
	    dup2(set.fd, EXEC_FD) != EXEC_FD)
		_exit(100);
	s->tid = my_tid();
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_armed,
		     (long)&armed, 0);
	_exit(101);
}

/* The image's sums, by itself; an error if it does not end well. */
static int run_image(struct sweep *s, unsigned long k, struct vpmc_read *read_out)
{
	int out[2], err;
	pid_t pid;

	if (pipe(out))
		return 1;
	sweep_begin(s);
	pid = fork();
	if (!pid)
		become_image(s, k, out[1]);
	close(out[1]);
	err = child_status(pid);
	sweep_disarm(s);
	err = err || read(out[0], read_out, sizeof(*read_out)) !=
		     sizeof(*read_out);
	close(out[0]);
	return err;
}

static int wrong_image(void *arg, unsigned long k)
{
	const struct code_count count =
		code_add(code_add(CODE_MEASURE_HEAD, CODE_ARMED_HEAD),
			 code_add(CODE_EXEC, CODE_EXEC_FEW));
	struct sweep *s = arg;
	struct vpmc_read read;

	if (run_image(s, k, &read))
		return 1;
	if (read.nr_counters == 3 && read.sum[0] == count.insns &&
	    read.sum[1] == count.branches && read.sum[2] == count.insns)
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

TEST_HARNESS_MAIN
