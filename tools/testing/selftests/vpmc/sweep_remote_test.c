// SPDX-License-Identifier: GPL-2.0
/*
 * Commands for the counters of another thread, disturbed at each of vpmc's
 * instructions: the other thread, which sleeps on CPU 1, runs a piece of code
 * and sleeps again. It is counted as a whole or not at all.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "proc.h"

#define TURNS	40

#define PERIOD_MIN	"/proc/sys/kernel/vpmc_period_min"

/* From START to the first read() in code_serve(). */
#define ASLEEP	code_add(CODE_MEASURE_HEAD, CODE_COUNT(7, 0))
/* From START to the second read() in code_serve(). */
#define SERVED	code_add(ASLEEP, CODE_SERVE(TURNS))

/* The other thread: new each time. */
struct sleeper {
	pthread_t thread;
	struct set set;
	uint64_t period;	/* of its first counter */
	int pipe[2];
	volatile int error;	/* -1: it has not begun */
};

FIXTURE(remote)
{
	struct sweep *s;
	struct sleeper *sleeper;
};

FIXTURE_SETUP(remote)
{
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_LT(0, sweep_kernel_ranges());
	self->s->what = RUN;
	self->sleeper = calloc(1, sizeof(*self->sleeper));
	ASSERT_NE(NULL, self->sleeper);
}

FIXTURE_TEARDOWN(remote)
{
	EXPECT_EQ(0, sweep_stop(self->s));
	free(self->sleeper);
}

static void *sleeper_thread(void *arg)
{
	struct sleeper *sleeper = arg;
	struct set *set = &sleeper->set;
	int err = pin(1) || set_fifo(20) || set_open(set, mine);

	if (!err && sleeper->period) {
		set->control.counter[0].period = sleeper->period;
		err = vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control);
	}
	sleeper->error = err;
	if (!err)
		set_measure(set, code_serve, sleeper->pipe[0], TURNS);
	munmap(set->page, PAGE);
	return NULL;
}

/* As @mine would order them if the set is of @others. */
static void reorder(struct vpmc_read *sums)
{
	__u64 branches = sums->sum[0];

	sums->sum[0] = sums->sum[1];
	sums->sum[1] = branches;
}

static bool sums_are(const struct vpmc_read *sums, struct code_count count)
{
	return sums->nr_counters == 3 && sums->sum[0] == count.insns &&
	       sums->sum[1] == count.branches && sums->sum[2] == count.insns;
}

/* Returns when it sleeps, with counters running. */
static int sleeper_start(struct sleeper *sleeper)
{
	struct vpmc_read read;

	sleeper->error = -1;
	if (pipe(sleeper->pipe) ||
	    pthread_create(&sleeper->thread, NULL, sleeper_thread, sleeper))
		return 1;
	while (sleeper->error < 0)
		usleep(10);
	if (sleeper->error)
		return 1;
	do {
		usleep(10);
		if (vpmc_read(sleeper->set.fd, &read))
			return 1;
	} while (!sums_are(&read, ASLEEP));
	return 0;
}

/* The period ends before it sleeps again. */
static int sleeper_overflow(struct sleeper *sleeper)
{
	struct vpmc_read read;

	if (write(sleeper->pipe[1], "", 1) != 1)
		return 1;
	do {
		usleep(10);
		if (vpmc_read(sleeper->set.fd, &read))
			return 1;
	} while (read.state != VPMC_STATE_OVERFLOWED ||
		 task_state(read.tid) != 'S');
	return 0;
}

static int sleeper_stop(struct sleeper *sleeper)
{
	int err;

	close(sleeper->pipe[1]);
	err = pthread_join(sleeper->thread, NULL);
	close(sleeper->pipe[0]);
	close(sleeper->set.fd);
	return err;
}

/*
 * What the sums may be after the command: the count with the piece of code and
 * without it.
 */
struct command {
	unsigned int nr;
	bool stopped;		/* The set is stopped and cleared before it. */
	uint64_t period;	/* Or stands at the end of this one. */
	struct code_count without, with;
	struct sweep *s;
	struct sleeper *sleeper;
	unsigned long nr_without, nr_with;	/* of those that were disturbed */
};

static int give(const struct command *command, struct vpmc_read *read)
{
	struct set *set = &command->sleeper->set;
	struct vpmc_control control;
	void *arg = NULL;

	if (command->nr == VPMC_IOC_READ)
		arg = read;
	if (command->nr == VPMC_IOC_CONTROL) {
		control_of(&control, others, 0);
		arg = &control;
	}
	return vpmc_ioctl(set->fd, command->nr, arg);
}

static int wrong_command(void *arg, unsigned long k)
{
	struct vpmc_read own = { .size = sizeof(own) }, *sums = &own, now;
	struct command *command = arg;
	struct sleeper *sleeper = command->sleeper;
	struct sweep *s = command->s;
	int err;

	sleeper->period = command->period;
	if (sleeper_start(sleeper) ||
	    (command->period && sleeper_overflow(sleeper)))
		return 1;
	s->wake = sleeper->pipe[1];
	err = command->stopped &&
	      (vpmc_ioctl(sleeper->set.fd, VPMC_IOC_STOP, NULL) ||
	       vpmc_ioctl(sleeper->set.fd, VPMC_IOC_CLEAR, NULL));
	err = err ?: sweep_arm(s, k);
	err = err ?: give(command, &own);
	sweep_disarm(s);
	if (!s->disturbed) {
		/* It was not disturbed: now the thread runs. */
		s->error = sweep_disturb(s);
		usleep(1000);
	}
	err = err ?: vpmc_read(sleeper->set.fd, &now);
	if (command->nr != VPMC_IOC_READ)
		sums = &now;
	if (command->nr == VPMC_IOC_CONTROL)
		reorder(sums);
	if (sums_are(sums, command->without)) {
		command->nr_without += s->disturbed;
	} else if (sums_are(sums, command->with)) {
		command->nr_with += s->disturbed;
	} else {
		fprintf(stderr, "# at %lu, %#lx: %llu, %llu, %llu\n", k,
			s->at.pc, sums->sum[0], sums->sum[1], sums->sum[2]);
		err = 1;
	}
	return err || sleeper_stop(sleeper);
}

static void sweep_command(struct __test_metadata *_metadata,
			  FIXTURE_DATA(remote) *self, struct command command)
{
	command.s = self->s;
	command.sleeper = self->sleeper;
	sweep_all(_metadata, self->s, sweep_step(), wrong_command, &command);
	TH_LOG("%lu times without it, %lu times with it", command.nr_without,
	       command.nr_with);
	EXPECT_LT(0, command.nr_without);
	EXPECT_LT(0, command.nr_with);
}

#define SWEEP(...) \
	sweep_command(_metadata, self, (struct command){ __VA_ARGS__ })

TEST_F(remote, read)
{
	SWEEP(.nr = VPMC_IOC_READ, .without = ASLEEP, .with = SERVED);
}

TEST_F(remote, stop)
{
	SWEEP(.nr = VPMC_IOC_STOP, .without = ASLEEP, .with = SERVED);
}

TEST_F(remote, start)
{
	SWEEP(.nr = VPMC_IOC_START, .stopped = true,
	      .with = CODE_SERVE(TURNS));
}

TEST_F(remote, clear)
{
	SWEEP(.nr = VPMC_IOC_CLEAR, .with = CODE_SERVE(TURNS));
}

/* After an overflow that came just before it slept again. */
TEST_F(remote, resume)
{
	struct code_count stood = CODE_COUNT(SERVED.insns - 1, SERVED.branches);

	ASSERT_EQ(0, write_file(PERIOD_MIN, "1"));
	SWEEP(.nr = VPMC_IOC_RESUME, .period = stood.insns, .without = stood,
	      .with = code_add(stood, CODE_SERVE(TURNS)));
	EXPECT_EQ(0, write_file(PERIOD_MIN, "1000"));
}

/* To another selection, which counts at once. */
TEST_F(remote, control)
{
	SWEEP(.nr = VPMC_IOC_CONTROL, .with = CODE_SERVE(TURNS));
}

TEST_F(remote, unlink)
{
	SWEEP(.nr = VPMC_IOC_UNLINK, .without = ASLEEP, .with = SERVED);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
