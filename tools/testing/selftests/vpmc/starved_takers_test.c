// SPDX-License-Identifier: GPL-2.0
/*
 * Two who take the same samples, or the same records of members: one that gets no CPU
 * time does not keep the other one waiting, and each record is taken once.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "disturb.h"
#include "members.h"
#include "sample.h"
#include "starve.h"

#define PERIOD		50021
#define RECORDS		4096
#define MEMBERS		512
#define TURNS		80	/* of the other thread on CPU 1, for each kind */
#define BUSY_MS		20

/* What the processes share. */
struct takers {
	volatile uint64_t taken, takes;	/* by the starved process */
	volatile unsigned long turns;	/* of the thread that takes its time */
	volatile int stop;
	volatile uint8_t seen[1 << 16];	/* how often each record was taken */
};

static struct takers *takers;

/* Copying to memory that is not there yet takes long: so the CPU is often lost then. */
static void forget(void *memory, size_t bytes)
{
	madvise(memory, bytes, MADV_DONTNEED);
}

static void see(uint64_t record)
{
	takers->seen[record % sizeof(takers->seen)]++;
}

/* How many records were taken twice? */
static unsigned int seen_twice(void)
{
	unsigned int i, twice = 0;

	for (i = 0; i < sizeof(takers->seen); i++)
		twice += takers->seen[i] > 1;
	return twice;
}

/* Adds the periods of the samples that it takes. Returns 0 or -errno. */
static int take_samples(int fd, volatile uint64_t *taken)
{
	static char buffer[1 << 20] __attribute__((__aligned__(4096)));
	struct vpmc_read_samples read = {
		.size = sizeof(read), .buffer = (uintptr_t)buffer, .bytes = sizeof(buffer),
	};
	const struct vpmc_sample *s;
	uint64_t at;
	int err;

	forget(buffer, sizeof(buffer));
	err = vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, &read);
	for (at = 0; !err && at < read.bytes; at += s->head.size) {
		s = (void *)(buffer + at);
		if (s->head.type != VPMC_SAMPLE_PERIOD &&
		    s->head.type != VPMC_SAMPLE_DELAYED)
			continue;
		see(s->sum[0] / PERIOD);
		*taken += s->periods;
	}
	return err ?: read.lost ? -ENOBUFS : 0;
}

/* The same with records of members that have ended. */
static int take_members(int fd, volatile uint64_t *taken)
{
	static struct vpmc_member member[MEMBERS] __attribute__((__aligned__(4096)));
	struct vpmc_read_members read = {};
	unsigned int i;
	int err;

	forget(member, sizeof(member));
	err = members_read(fd, FINISHED, member, MEMBERS, &read);
	for (i = 0; !err && i < read.nr; i++) {
		see(member[i].number);
		++*taken;
	}
	return err ?: read.missed ? -ENOBUFS : 0;
}

typedef int (*take_fn)(int fd, volatile uint64_t *taken);

/* A process that takes all the time, with as little of CPU 1 as a user can arrange for. */
static void starve(struct takers *shared, int fd, take_fn take)
{
	int err = be_starved();

	while (!err && !shared->stop) {
		err = take(fd, &shared->taken);
		shared->takes++;
	}
	_exit(err != 0);
}

FIXTURE(takers)
{
	struct takers *shared;
	struct set set;
	pid_t starved, busy;
	uint64_t taken;
	double worst;
};

FIXTURE_SETUP(takers)
{
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	takers = self->shared;
	ASSERT_EQ(0, pin(0));
}

FIXTURE_TEARDOWN(takers)
{
	set_close(&self->set);
	munmap(self->shared, sizeof(*self->shared));
}

/*
 * This process makes records and takes them beside the starved one. @make: makes some.
 * Returns 0 or an error.
 */
static int take_beside(FIXTURE_DATA(takers) *self, take_fn take, int (*make)(void))
{
	struct takers *shared = self->shared;
	double begin, ms;
	int err = 0;

	self->starved = disturber();
	if (!self->starved)
		starve(shared, self->set.fd, take);
	while (!shared->takes)
		usleep(1000);
	self->busy = disturber();
	if (!self->busy)
		be_busy(&shared->turns, BUSY_MS, 40);
	while (!err && (shared->turns < TURNS || !shared->taken)) {
		err = make();
		begin = ms_now();
		err = err ?: take(self->set.fd, &self->taken);
		ms = ms_now() - begin;
		if (ms > self->worst)
			self->worst = ms;
	}
	kill(self->busy, SIGKILL);
	err = err ?: child_status(self->busy) != KILLED_BY(SIGKILL);
	err = err ?: vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0);
	shared->stop = 1;
	err = err ?: child_status(self->starved);
	/* The rest */
	return err ?: take(self->set.fd, &self->taken);
}

static int run_for_samples(void)
{
	code_loop(1000000, 0);
	return 0;
}

TEST_F_TIMEOUT(takers, samples, 120)
{
	struct vpmc_read read;

	self->set.page = MAP_FAILED;
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	control_init(&self->set.control, VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE);
	control_add_period(&self->set.control, EV_INSNS, FIXED(0), PERIOD);
	self->set.control.ring_records = RECORDS;
	self->set.control.ring_watermark = RECORDS;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, take_beside(self, take_samples, run_for_samples));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	TH_LOG("a READ_SAMPLES took %.3f ms at most", self->worst);
	EXPECT_GT(BOUND_MS * test_slowness(), self->worst);
	EXPECT_EQ(read.sum[0] / PERIOD, self->taken + self->shared->taken);
	EXPECT_LT(0, self->shared->taken);
	EXPECT_EQ(0, seen_twice());
}

static unsigned int ended;

/* Some members, which end */
static int run_members(void)
{
	pid_t pid;
	int i;

	for (i = 0; i < 20; i++) {
		pid = vfork();
		if (!pid)
			_exit(0);
		if (child_status(pid))
			return -1;
		ended++;
	}
	return 0;
}

TEST_F_TIMEOUT(takers, members, 120)
{
	ASSERT_EQ(0, members_open(&self->set, PROCESSES, MEMBERS));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ended = 0;
	ASSERT_EQ(0, take_beside(self, take_members, run_members));
	TH_LOG("a READ_MEMBERS took %.3f ms at most", self->worst);
	EXPECT_GT(BOUND_MS * test_slowness(), self->worst);
	/* The two disturbers have ended, too. */
	EXPECT_EQ(ended + 2, self->taken + self->shared->taken);
	EXPECT_LT(0, self->shared->taken);
	EXPECT_EQ(0, seen_twice());
}

NEEDS(
	{ "*", EXACT | TWO_CPUS },
);

TEST_HARNESS_MAIN
