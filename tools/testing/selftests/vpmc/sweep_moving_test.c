// SPDX-License-Identifier: GPL-2.0
/*
 * A command for a running thread, which moves to another CPU at each of vpmc's
 * instructions. An interrupt on the CPU that it has left must not change its
 * set.
 *
 * CPU 0 gives the command, CPU 1 disturbs, and the thread is on CPU 2 or 3.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"

/* Counts all the time. */
struct mover {
	pthread_t thread;
	struct set set;
	int cpu;
	volatile uint32_t go;
	volatile uint64_t turns;
	volatile int error;	/* -1: it has not begun */
};

FIXTURE(moving)
{
	struct sweep *s;
	struct mover *mover;
	unsigned int cmd;
};

static struct mover *mover;

static void *mover_thread(void *arg)
{
	struct mover *m = arg;
	int err = pin(m->cpu) || set_open(&m->set, mine);

	m->error = err;
	if (!err)
		code_until((long)&m->go, (long)&m->turns);
	munmap(m->set.page, PAGE);
	return NULL;
}

FIXTURE_SETUP(moving)
{
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	self->s->what = CALL;
	mover = self->mover = calloc(1, sizeof(*mover));
	ASSERT_NE(NULL, mover);
	mover->cpu = 2;
	mover->go = VPMC_STATE_RUNNING;
	mover->error = -1;
	ASSERT_EQ(0, pthread_create(&mover->thread, NULL, mover_thread, mover));
	while (mover->error < 0 || (!mover->error && !mover->turns))
		usleep(10);
	ASSERT_EQ(0, mover->error);
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
	self->s->tid = mover->set.page->tid;
}

FIXTURE_TEARDOWN(moving)
{
	mover->go = 0;
	EXPECT_EQ(0, pthread_join(mover->thread, NULL));
	close(mover->set.fd);
	free(mover);
	EXPECT_EQ(0, sweep_stop(self->s));
}

/* It runs there when this is done. */
static int move(struct sweep *s)
{
	uint64_t turns;
	cpu_set_t mask;

	mover->cpu = 5 - mover->cpu;
	CPU_ZERO(&mask);
	CPU_SET(mover->cpu, &mask);
	if (sched_setaffinity(s->tid, sizeof(mask), &mask))
		return -errno;
	turns = mover->turns;
	while (mover->turns == turns)
		;
	return 0;
}

/* What has stopped stands, and both of its counters of instructions agree. */
static int wrong_command(void *arg, unsigned long k)
{
	FIXTURE_DATA(moving) *self = arg;
	int fd = mover->set.fd, wrong;
	struct vpmc_read read, again;

	wrong = vpmc_ioctl(fd, VPMC_IOC_STOP, 0) ||
		vpmc_ioctl(fd, VPMC_IOC_CLEAR, 0) ||
		vpmc_ioctl(fd, VPMC_IOC_START, 0) || sweep_arm(self->s, k);
	wrong += vpmc_ioctl(fd, self->cmd, 0) != 0;
	sweep_disarm(self->s);
	wrong += vpmc_ioctl(fd, VPMC_IOC_STOP, 0) != 0;
	wrong += vpmc_read(fd, &read) != 0;
	usleep(20);
	wrong += vpmc_read(fd, &again) || memcmp(&read, &again, sizeof(read));
	wrong += read.state != VPMC_STATE_STOPPED || read.sum[0] != read.sum[2] ||
		 read.sum[0] > 1ULL << 40 || read.sum[1] > read.sum[0];
	if (wrong)
		fprintf(stderr, "# %llu %llu %llu, then %llu %llu %llu\n",
			read.sum[0], read.sum[1], read.sum[2], again.sum[0],
			again.sum[1], again.sum[2]);
	return wrong;
}

TEST_F(moving, stop)
{
	self->s->call = move;
	self->cmd = VPMC_IOC_STOP;
	sweep_all(_metadata, self->s, sweep_step(), wrong_command, self);
}

TEST_F(moving, clear)
{
	self->s->call = move;
	self->cmd = VPMC_IOC_CLEAR;
	sweep_all(_metadata, self->s, sweep_step(), wrong_command, self);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
