// SPDX-License-Identifier: GPL-2.0
/*
 * VPMC_CONTROL_ADD: counters that are added to a set. Who programmed the set sees no
 * difference, and nothing remains of what was added.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "inherit.h"
#include "remote.h"
#include "revoke.h"
#include "ring.h"
#include "sample.h"

#define ADD	VPMC_CONTROL_ADD
#define TURNS	3000
#define MORE	2000
#define PERIOD	100003
#define USER	1000

static const struct choice one[] = { { EV_INSNS, FIXED(0) }, {} };
static const struct choice branches[] = { { EV_BRANCHES, VPMC_ANY }, {} };
static const struct choice again[] = { { EV_INSNS, VPMC_ANY }, {} };
static const struct choice two[] = {
	{ EV_BRANCHES, VPMC_ANY }, { EV_INSNS, VPMC_ANY }, {}
};
static const struct choice insns_and_branches[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, VPMC_ANY }, {}
};
static const struct choice kernel_mode[] = { { EV_KERNEL_INSNS, 1 }, {} };

static struct code_count two_of(uint64_t a, uint64_t b)
{
	return code_add(measured(a), measured(b));
}

/* Adds counters. 0 or -errno. */
static int add(int fd, const struct choice *choice)
{
	struct vpmc_control control;

	control_of(&control, choice, ADD);
	return vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
}

/* As add(), if that is refused. Returns the reason, or -1 if @err is not the error. */
static int refused(int fd, const struct vpmc_control *control, int err)
{
	struct vpmc_control in = *control;

	return vpmc_ioctl(fd, VPMC_IOC_CONTROL, &in) == err ? in.reason : -1;
}

static unsigned int size_of(int fd)
{
	struct vpmc_control control;

	return vpmc_read_control(fd, &control) ? ~0U : control.nr_counters;
}

static uint64_t number_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0ULL : read.set_number;
}

FIXTURE(grow)
{
	struct set set;
	int fd;		/* of the same counters */
};

FIXTURE_SETUP(grow)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, one));
	self->fd = vpmc_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(grow)
{
	set_close(&self->set);
	close(self->fd);
}

/* The sums of the set go on, and those that are added begin. */
TEST_F(grow, sums)
{
	uint64_t number = number_of(self->fd);
	struct vpmc_read read;

	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, add(self->fd, two));
	EXPECT_EQ(3, size_of(self->set.fd));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, MORE, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	EXPECT_EQ(3, read.nr_counters);
	EXPECT_TRUE(fits_since(read.sum[0], two_of(TURNS, MORE).insns, 2));
	EXPECT_TRUE(fits_since(read.sum[1], measured(MORE).branches, 2));
	EXPECT_TRUE(fits_since(read.sum[2], measured(MORE).insns, 2));
	EXPECT_EQ(number, read.set_number);
	EXPECT_EQ(number, self->set.page->set_number);
}

/* Added to a set that runs, all count from one moment on. */
TEST_F(grow, running)
{
	const volatile struct vpmc_page *page = self->set.page;
	struct vpmc_read first, last;
	uint64_t sum[VPMC_MAX_COUNTERS];

	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
	code_loop(TURNS, 0);
	ASSERT_EQ(0, vpmc_read(self->fd, &first));
	ASSERT_EQ(0, add(self->fd, two));
	EXPECT_EQ(VPMC_STATE_RUNNING, page->state);
	EXPECT_EQ(3, page->nr_counters);
	ASSERT_EQ(0, vpmc_read(self->fd, &last));
	EXPECT_LE(first.sum[0], last.sum[0] - last.sum[2]);
	first = last;
	for (int i = 0; i < 10; i++) {
		code_loop(TURNS, 0);
		sched_yield();
		ASSERT_EQ(0, vpmc_read(self->fd, &last));
		EXPECT_EQ(first.sum[0] - first.sum[2],
			  last.sum[0] - last.sum[2]);
	}
	/* Without a system call, too: it reads the last one first. */
	vpmc_read_page(self->set.page, sum, NULL);
	EXPECT_LT(last.sum[0], sum[0]);
	EXPECT_LE(last.sum[0] - last.sum[2], sum[0] - sum[2]);
	EXPECT_GT(last.sum[0] - last.sum[2] + TURNS, sum[0] - sum[2]);
}

/* In another process, which sleeps. */
TEST_F(grow, of_another_process)
{
	struct vpmc_read read;
	struct target t = {};
	int fd;

	ASSERT_EQ(0, target_start(&t));
	fd = target_open(&t, O_RDWR | O_CREAT);
	ASSERT_EQ(0, program(fd, 0, one));
	ASSERT_EQ(0, target_serve(&t, 1));
	ASSERT_EQ(0, add(fd, branches));
	ASSERT_EQ(0, target_serve(&t, 2));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_TRUE(fits_since(read.sum[0],
			       code_times(TARGET_SERVE, 3).insns, 2));
	EXPECT_TRUE(fits_since(read.sum[1],
			       code_times(TARGET_SERVE, 2).branches, 2));
	close(fd);
	EXPECT_EQ(0, target_end(&t));
}

/* In another process, which runs on another CPU. */
TEST_F(grow, of_a_running_process)
{
	struct target t = { .runs = true };
	struct vpmc_read first, last;
	int fd;

	ASSERT_EQ(0, target_start(&t));
	fd = target_open(&t, O_RDWR | O_CREAT);
	ASSERT_EQ(0, program(fd, 0, one));
	for (int i = 0; i < 100; i++) {
		int adder = target_open(&t, O_RDWR);

		ASSERT_EQ(0, add(adder, again));
		ASSERT_EQ(0, vpmc_read(fd, &first));
		ASSERT_EQ(2, first.nr_counters);
		ASSERT_EQ(0, vpmc_read(fd, &last));
		ASSERT_EQ(first.sum[0] - first.sum[1], last.sum[0] - last.sum[1]);
		close(adder);
		ASSERT_EQ(0, vpmc_read(fd, &last));
		ASSERT_EQ(1, last.nr_counters);
		ASSERT_LE(first.sum[0], last.sum[0]);
	}
	close(fd);
	EXPECT_EQ(0, target_end(&t));
}

/* What was added ends with the last descriptor that added some. */
TEST_F(grow, ends_with_descriptors)
{
	int first = vpmc_open(), last = vpmc_open();
	struct vpmc_read read;

	/* A descriptor that has added twice is closed once. */
	ASSERT_EQ(0, add(first, branches));
	ASSERT_EQ(0, add(first, again));
	EXPECT_EQ(3, size_of(self->fd));
	close(first);
	EXPECT_EQ(1, size_of(self->fd));
	first = vpmc_open();
	ASSERT_EQ(0, add(first, branches));
	ASSERT_EQ(0, add(last, again));
	EXPECT_EQ(3, size_of(self->fd));
	close(self->fd);
	self->fd = vpmc_open();
	close(first);
	EXPECT_EQ(3, size_of(self->fd));
	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	close(last);
	EXPECT_EQ(1, size_of(self->fd));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, MORE, 0));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_EQ(1, read.nr_counters);
	EXPECT_TRUE(fits_since(read.sum[0], two_of(TURNS, MORE).insns, 2));
	EXPECT_EQ(0, read.sum[1]);
	EXPECT_EQ(0, self->set.page->slot[1].base);
	EXPECT_EQ(1, self->set.page->nr_counters);
}

/* A descriptor keeps what others have added, and will add. */
TEST_F(grow, kept_by_another)
{
	static const struct choice none[] = { {} };
	int first = vpmc_open(), keeper = vpmc_open();

	ASSERT_EQ(0, add(keeper, none));
	EXPECT_EQ(1, size_of(self->fd));
	ASSERT_EQ(0, add(first, branches));
	close(first);
	EXPECT_EQ(2, size_of(self->fd));
	close(keeper);
	EXPECT_EQ(1, size_of(self->fd));
	/* It has nothing to end, and the next one nothing to keep. */
	keeper = vpmc_open();
	ASSERT_EQ(0, add(keeper, none));
	close(keeper);
	EXPECT_EQ(1, size_of(self->fd));
	first = vpmc_open();
	ASSERT_EQ(0, add(first, branches));
	close(first);
	EXPECT_EQ(1, size_of(self->fd));
}

/* A descriptor that added to an earlier set has nothing to end in this one. */
TEST_F(grow, not_of_the_next_set)
{
	int first = vpmc_open(), last = vpmc_open();

	ASSERT_EQ(0, add(first, branches));
	ASSERT_EQ(0, set_program(&self->set, one));
	EXPECT_EQ(1, size_of(self->fd));
	ASSERT_EQ(0, add(last, again));
	close(first);
	EXPECT_EQ(2, size_of(self->fd));
	close(last);
	EXPECT_EQ(1, size_of(self->fd));
	/* Nor has it after the end of the set. */
	first = vpmc_open();
	ASSERT_EQ(0, add(first, branches));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(2, size_of(self->fd));
	close(first);
	EXPECT_EQ(2, size_of(self->fd));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->fd));
}

/* A CONTROL that preserves sums takes over none of those that were added. */
TEST_F(grow, not_preserved)
{
	struct vpmc_control *control = &self->set.control;
	struct vpmc_read read;
	int fd = vpmc_open();

	ASSERT_EQ(0, add(fd, branches));
	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	control_of(control, insns_and_branches, VPMC_CONTROL_STOPPED);
	control->counter[0].flags = VPMC_COUNTER_PRESERVE;
	control->counter[1].flags = VPMC_COUNTER_PRESERVE;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, MORE, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_TRUE(fits_since(read.sum[0], two_of(TURNS, MORE).insns, 2));
	EXPECT_TRUE(fits_since(read.sum[1], measured(MORE).branches, 2));
	close(fd);
	EXPECT_EQ(2, size_of(self->fd));
}

/* What was added ends with its descriptor also if the set was revoked before. */
TEST_F(grow, revoked)
{
	struct vpmc_read read;
	int fd = vpmc_open();

	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, add(fd, branches));
	ASSERT_EQ(0, set_revoked("1"));
	ASSERT_EQ(0, set_revoked("0"));
	EXPECT_EQ(-ENODATA, add(self->fd, again));
	EXPECT_EQ(2, size_of(self->fd));
	close(fd);
	EXPECT_EQ(1, size_of(self->fd));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(1, read.nr_counters);
	EXPECT_TRUE(fits_since(read.sum[0], measured(TURNS).insns, 1));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->fd));
}

/* A set without counters gets them, and holds the PMU so long. */
TEST_F(grow, from_nothing)
{
	static const struct choice none[] = { {} };
	int fd = vpmc_open();
	struct vpmc_read read;

	ASSERT_EQ(0, set_program(&self->set, none));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->fd));
	ASSERT_EQ(0, add(fd, two));
	EXPECT_EQ(holder_with_sets(), pmu_holder(self->fd));
	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_TRUE(fits_since(read.sum[0], measured(TURNS).branches, 2));
	EXPECT_TRUE(fits_since(read.sum[1], measured(TURNS).insns, 2));
	close(fd);
	EXPECT_EQ(0, size_of(self->fd));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->fd));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
}

/* The period goes on, and each record has the sums that it had before. */
TEST_F(grow, period_and_ring)
{
	const uint64_t turns = 5 * PERIOD;
	struct vpmc_control *control = &self->set.control;
	const struct vpmc_ring *ring;
	uint64_t n, i;

	control_of(control, inherited, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	control->counter[0].period = PERIOD;
	control->ring_records = 64;
	control->ring_watermark = 64;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, ring);
	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD / 4, 0));
	ASSERT_EQ(0, add(self->fd, again));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, turns, 0));
	n = two_of(PERIOD / 4, turns).insns / PERIOD;
	EXPECT_EQ(n, vpmc_ring_unread(ring));
	for (i = 0; i < n; i++)
		EXPECT_TRUE(overflow_fits(vpmc_ring_record(ring, i)->sum[0],
					  (i + 1) * PERIOD, PERIOD, true));
	/* No record is longer. */
	EXPECT_EQ(0, vpmc_ring_record(ring, n)->mask);
	EXPECT_EQ(0, vpmc_ring_record(ring, n)->periods);
	EXPECT_EQ(n, self->set.page->overflows);
	EXPECT_EQ(sizeof(struct vpmc_record) + 2 * 8, ring->record_size);
	EXPECT_EQ(0, ring_unmap(&self->set, ring));
}

/* So does each sample. */
TEST_F(grow, samples)
{
	struct vpmc_control *control = &self->set.control;
	struct samples samples;
	uint64_t periods = 0;

	control_of(control, inherited, VPMC_CONTROL_STOPPED |
		   VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE);
	control->counter[0].period = PERIOD;
	control->ring_records = 64;
	control->ring_watermark = 64;
	ASSERT_EQ(0, samples_alloc(&samples));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	tolerance_begin();
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD / 4, 0));
	ASSERT_EQ(0, add(self->fd, again));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 5 * PERIOD, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, &samples));
	for (int i = 0; i < samples.nr; i++) {
		const struct vpmc_sample *sample = (void *)samples.record[i];

		if (sample->head.type != VPMC_SAMPLE_PERIOD)
			continue;
		periods += sample->periods;
		EXPECT_EQ(sizeof(*sample) + 2 * 8, sample->head.size);
		EXPECT_TRUE(overflow_fits(sample->sum[0], periods * PERIOD,
					  PERIOD, true));
	}
	EXPECT_EQ(two_of(PERIOD / 4, 5 * PERIOD).insns / PERIOD, periods);
	samples_free(&samples);
}

FIXTURE(family)
{
	struct set root;
	int fd;
};

FIXTURE_SETUP(family)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&self->root, THREADS | PROCESSES));
	self->fd = self->root.fd;
}

FIXTURE_TEARDOWN(family)
{
	set_close(&self->root);
}

/* As a program that counts for itself, while somebody counts its family. */
static int heir_adds(long turns)
{
	struct vpmc_read read;
	struct set set;
	int fd, wrong;

	if (heir_open(&set))
		return 10;
	fd = vpmc_open();
	if (add(fd, again) || size_of(set.fd) != 3 || set.page->set_number != 1)
		return 11;
	wrong = set_measure(&set, code_loop, turns, 0) ||
		vpmc_read(set.fd, &read);
	wrong += !fits_since(read.sum[0], measured(turns).insns, 1) ||
		 !fits_since(read.sum[2], measured(turns).insns, 1);
	return wrong;
}

TEST_F(family, member)
{
	pid_t pid = fork();

	if (!pid)
		_exit(heir_adds(TURNS));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  measured(TURNS)));
}

/* While the member lives, and after CLEAR_ALL, which leaves what was added. */
TEST_F(family, living_member)
{
	struct vpmc_read read;
	struct child c = {};

	if (!child_fork(&c)) {
		int wrong = heir_adds(TURNS);

		child_send(&c);
		child_wait(&c);
		wrong += vpmc_read(open(THREAD_FILE, O_RDONLY), &read) ||
			 read.sum[0] || read.sum[1] ||
			 !fits_since(read.sum[2], measured(TURNS).insns, 1);
		_exit(wrong);
	}
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 1, 0,
				  measured(TURNS)));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CLEAR_ALL, 0));
	tolerance_begin();
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 1, 0,
				  CODE_COUNT(0, 0)));
	child_send(&c);
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  CODE_COUNT(0, 0)));
}

/* What the root's thread adds is its own, and heirs do not have it. */
TEST_F(family, root)
{
	int fd = vpmc_open();
	struct vpmc_read read;
	pid_t pid;

	ASSERT_EQ(0, add(fd, again));
	pid = fork();
	if (!pid) {
		struct set set;

		close(fd);
		_exit(heir_open(&set) || set.control.nr_counters != 2 ||
		      set.page->nr_counters != 2 ||
		      set_measure(&set, code_loop, TURNS, 0));
	}
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, set_measure(&self->root, code_loop, MORE, 0));
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  two_of(TURNS, MORE)));
	ASSERT_EQ(0, family_read(self->fd, LIVING | FINISHED, &read));
	EXPECT_EQ(3, read.nr_counters);
	EXPECT_TRUE(fits_since(read.sum[2], measured(MORE).insns, 2));
	close(fd);
	EXPECT_EQ(0, family_wrong(self->fd, LIVING | FINISHED, 0, 1,
				  two_of(TURNS, MORE)));
}

/* A member of a family without counters has no claim, and gets none. */
TEST_F(family, without_counters)
{
	pid_t pid;

	control_init(&self->root.control, THREADS | PROCESSES);
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->root.control));
	pid = fork();
	if (!pid)
		_exit(add(vpmc_open(), again) != -EEXIST);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, add(self->fd, again));
}

/* execve() closes the descriptor, and so ends what it added. */
TEST_F(family, exec)
{
	int pipes[2], unread;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, pipe(pipes));
	pid = fork();
	if (!pid) {
		char *const argv[] = { "cat", NULL };

		fd = open(THREAD_FILE, O_RDWR | O_CLOEXEC);
		dup2(pipes[0], 0);
		/* What it reads is no line of this test's output. */
		dup2(open("/dev/null", O_WRONLY), 1);
		close(pipes[1]);
		if (add(fd, again) || size_of(fd) != 3)
			_exit(1);
		execvp("cat", argv);
		_exit(2);
	}
	fd = open_of(pid, O_RDONLY);
	ASSERT_LE(0, fd);
	/* It reads the pipe when it is another program. */
	ASSERT_EQ(1, write(pipes[1], "", 1));
	do {
		ASSERT_EQ(0, ioctl(pipes[1], FIONREAD, &unread));
	} while (unread);
	EXPECT_EQ(2, size_of(fd));
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	EXPECT_EQ(0, child_status(pid));
}

/* Each of these is refused, and changes nothing. */
TEST_F(grow, refused)
{
	struct vpmc_control control;
	uint64_t generation;

	generation = self->set.page->generation;
	control_of(&control, branches, ADD | VPMC_CONTROL_STOPPED);
	EXPECT_EQ(0, refused(self->fd, &control, -EINVAL));
	control_of(&control, branches, ADD | VPMC_CONTROL_NEW);
	EXPECT_EQ(0, refused(self->fd, &control, -EINVAL));
	control_of(&control, branches, ADD);
	control.signal = SIGIO;
	EXPECT_EQ(0, refused(self->fd, &control, -EINVAL));
	control_of(&control, branches, ADD);
	control.counter[0].period = PERIOD;
	EXPECT_EQ(VPMC_REASON_RESERVED_FIELD,
		  refused(self->fd, &control, -EINVAL));
	control.counter[0].period = 0;
	control.counter[0].flags = VPMC_COUNTER_PRESERVE;
	EXPECT_EQ(VPMC_REASON_RESERVED_FIELD,
		  refused(self->fd, &control, -EINVAL));
	EXPECT_EQ(1, size_of(self->fd));
	EXPECT_EQ(generation, self->set.page->generation);
}

/* The counter that is refused has the caller's number. */
TEST_F(grow, number_of_the_refused)
{
	struct vpmc_control control;

	control_of(&control, two, ADD);
	control.counter[1].index = 99;
	ASSERT_EQ(-EINVAL, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(1, control.bad_counter);
	EXPECT_EQ(VPMC_REASON_BAD_INDEX, control.reason);

	/* The set has this one. */
	control_of(&control, two, ADD);
	control.counter[0].index = self->set.control.counter[0].index;
	control.counter[0].evtsel = self->set.control.counter[0].evtsel;
	ASSERT_EQ(-EINVAL, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(0, control.bad_counter);
	EXPECT_EQ(VPMC_REASON_INDEX_TAKEN, control.reason);

	control_init(&control, ADD);
	control.nr_counters = VPMC_MAX_COUNTERS;
	for (int i = 0; i < VPMC_MAX_COUNTERS; i++)
		control.counter[i] = (struct vpmc_counter){
			.evtsel = event_here(EV_INSNS), .index = VPMC_ANY,
		};
	ASSERT_EQ(-ENOSPC, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_MAX_COUNTERS, control.bad_counter);
	EXPECT_EQ(VPMC_REASON_TOO_MANY, control.reason);
	EXPECT_EQ(1, size_of(self->fd));
}

/* Without a set there is nothing to add to. */
TEST(no_set)
{
	int fd = vpmc_open();

	EXPECT_EQ(-ENODATA, add(fd, branches));
	ASSERT_EQ(0, program(fd, 0, one));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(-ESRCH, add(fd, branches));
	close(fd);
}

/* A user may not add to what counts the kernel, nor count the kernel so. */
TEST(kernel)
{
	struct vpmc_control control;
	pid_t pid = fork();
	int fd;

	if (!pid) {
		fd = vpmc_open();
		control_of(&control, kernel_mode, 0);
		if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) ||
		    write_file("/proc/sys/kernel/perf_event_paranoid", "2") ||
		    setuid(USER) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		control_of(&control, again, ADD);
		if (refused(vpmc_open(), &control, -EACCES) !=
		    VPMC_REASON_KERNEL_MODE)
			_exit(2);
		control_of(&control, one, 0);
		fd = vpmc_open();
		if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control))
			_exit(3);
		control_of(&control, kernel_mode, ADD);
		if (refused(fd, &control, -EACCES) != VPMC_REASON_KERNEL_MODE)
			_exit(4);
		_exit(size_of(fd) != 1);
	}
	EXPECT_EQ(0, child_status(pid));
}

static void *map_own(void *unused)
{
	int fd = open(THREAD_FILE, O_RDWR | O_CREAT | O_CLOEXEC);

	(void)unused;
	return fd < 0 ? NULL : vpmc_map(fd);
}

/*
 * A process that counts the kernel in itself may go on to map pages, although another
 * process has added to its set.
 */
TEST(to_own_kernel_counts)
{
	struct vpmc_control control;
	struct child c = { .pid = -1 };
	pthread_t thread;
	void *page;
	int fd;

	if (!child_fork(&c)) {
		fd = vpmc_open();
		control_of(&control, kernel_mode, 0);
		if (vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) ||
		    write_file("/proc/sys/kernel/perf_event_paranoid", "2") ||
		    setuid(USER) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		child_send(&c);
		child_wait(&c);
		if (pthread_create(&thread, NULL, map_own, NULL) ||
		    pthread_join(thread, &page))
			_exit(2);
		_exit(!page || page == MAP_FAILED ? 3 : 0);
	}
	ASSERT_EQ(0, child_wait(&c));
	fd = open_of(c.pid, O_RDWR);
	EXPECT_EQ(0, add(fd, again));
	EXPECT_EQ(2, size_of(fd));
	close(fd);
	child_send(&c);
	EXPECT_EQ(0, child_end(&c));
}

/* Others program the set and add to it at the same time. */
static void *add_and_close(void *tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/perfctr", (long)tid);
	for (int i = 0; i < test_times(3000); i++) {
		int fd = open(path, O_RDWR | O_CLOEXEC), err;

		err = add(fd, i & 1 ? again : branches);
		/* There may be no room for that of all three. */
		if (err && err != -EBUSY && err != -ENOSPC)
			return (void *)(long)err;
		close(fd);
	}
	return NULL;
}

TEST_F(grow, at_the_same_time)
{
	pthread_t thread[3];
	struct vpmc_read read;
	void *ret;

	for (long i = 0; i < ARRAY_SIZE(thread); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, add_and_close,
					    (void *)(long)my_tid()));
	tolerance_begin();
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
		usleep(100);
	}
	for (int i = 0; i < ARRAY_SIZE(thread); i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		EXPECT_EQ(NULL, ret);
	}
	ASSERT_EQ(0, vpmc_read(self->fd, &read));
	EXPECT_EQ(1, read.nr_counters);
	EXPECT_TRUE(fits_since(read.sum[0],
			       code_times(measured(TURNS), 100).insns, 100));
	/* Each of them has dropped its claim. */
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(holder_without_sets(), pmu_holder(self->fd));
}

NEEDS(
	{ "*kernel*", PMU | ROOT | DISTURBS },
	{ "grow.revoked", PMU | ROOT | DISTURBS },
	{ "grow.of_*", PMU | TWO_CPUS },
	/* Two counters of one event may differ where interrupts add events. */
	{ "grow.running", TRUE_COUNTS },
	{ "*", PMU },
);

TEST_HARNESS_MAIN
