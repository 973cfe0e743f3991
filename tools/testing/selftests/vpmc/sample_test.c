// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of a whole family: each overflow of each member is there once, also
 * after the member's end, and says exactly where it was.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/resource.h>
#include "disturb.h"
#include "sample.h"
#include "target.h"

#define PERIOD	10001
#define TURNS	1000000
#define RECORDS	4096
#define FAMILY	(THREADS | PROCESSES)
#define USER	1000

FIXTURE(sample)
{
	struct set set;
	struct samples got;
};

FIXTURE_SETUP(sample)
{
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	ASSERT_EQ(0, samples_alloc(&self->got));
	ASSERT_EQ(0, open_sampled(&self->set, PERIOD, FAMILY, RECORDS));
}

FIXTURE_TEARDOWN(sample)
{
	EXPECT_EQ(0, write_file(RATE, "100000"));
	samples_free(&self->got);
	set_close(&self->set);
}

static int samples_in(uint64_t turns)
{
	return measured(turns).insns / PERIOD;
}

TEST_F(sample, of_the_root)
{
	const struct vpmc_sample_map *map;
	struct samples *got = &self->got;
	char path[256] = "";

	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(samples_in(TURNS), samples_of(got, my_tid()));
	EXPECT_EQ(samples_in(TURNS) + 1, got->nr);
	EXPECT_EQ(0, samples_wrong(got, getpid(), my_tid(), PERIOD));
	EXPECT_EQ(0, got->lost);

	map = samples_map(got, (void *)got->record[0]);
	ASSERT_NE(NULL, map);
	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	EXPECT_STREQ(path, map_path(map));
	EXPECT_STREQ(program_invocation_short_name, map->comm);
	EXPECT_EQ(my_tid(), map->head.tid);

	/* Each one once. */
	samples_forget(got);
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(0, got->nr);
}

/* Switches, migrations and CPUs are those of the moment. */
TEST_F(sample, that_moves)
{
	struct samples *got = &self->got;
	uint64_t migrations = 0, switches = 0;
	const struct vpmc_sample *sample;
	uint32_t cpu = 0;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (int i = 0; i < 10; i++) {
		code_loop(TURNS / 10, 0);
		ASSERT_EQ(0, pin((i + 1) % 2));
	}
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_LE(samples_in(TURNS), samples_of(got, 0));
	for (int i = 0; i < got->nr; i++) {
		sample = (void *)got->record[i];
		if (sample->head.type != VPMC_SAMPLE_PERIOD)
			continue;
		EXPECT_EQ(sample->migrations & 1, sample->head.cpu);
		EXPECT_EQ(sample->head.cpu != cpu, sample->migrations - migrations);
		EXPECT_LE(switches, sample->switches);
		cpu = sample->head.cpu;
		migrations = sample->migrations;
		switches = sample->switches;
	}
	EXPECT_EQ(9, migrations);
}

static void *measure_heir(void *tid)
{
	struct set set;

	*(pid_t *)tid = my_tid();
	return (void *)(long)(heir_open(&set) ?:
			      set_measure(&set, code_loop, TURNS, 0));
}

/* They have ended when their samples are read. */
TEST_F(sample, of_heirs)
{
	struct samples *got = &self->got;
	pid_t *tid = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0), pid;
	pthread_t thread;
	void *err;

	ASSERT_NE(MAP_FAILED, tid);
	pid = fork();
	if (!pid) {
		if (pthread_create(&thread, NULL, measure_heir, &tid[1]) ||
		    pthread_join(thread, &err) || err)
			_exit(1);
		_exit(measure_heir(&tid[0]) != NULL);
	}
	ASSERT_EQ(0, child_status(pid));
	ASSERT_EQ(0, pthread_create(&thread, NULL, measure_heir, &tid[2]));
	ASSERT_EQ(0, pthread_join(thread, &err));
	ASSERT_EQ(NULL, err);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));

	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(pid, tid[0]);
	EXPECT_EQ(4 * samples_in(TURNS), samples_of(got, 0));
	EXPECT_EQ(samples_in(TURNS), samples_of(got, my_tid()));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(samples_in(TURNS), samples_of(got, tid[i]));
		EXPECT_EQ(0, samples_wrong(got, i == 2 ? getpid() : pid, tid[i],
					   PERIOD));
	}
	EXPECT_EQ(0, samples_wrong(got, getpid(), my_tid(), PERIOD));
	EXPECT_EQ(0, got->lost);
}

/* An heir cannot read them, nor does it pay. */
TEST_F(sample, heir_reads_nothing)
{
	struct vpmc_control control;
	struct samples *got = &self->got;
	struct set set;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (heir_open(&set))
			_exit(1);
		if (vpmc_read_control(set.fd, &control) ||
		    control.counter[0].period != PERIOD ||
		    control.counter[1].period ||
		    !(control.flags & VPMC_CONTROL_SAMPLE))
			_exit(2);
		_exit(samples_read(set.fd, got) != -ENODATA);
	}
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, &control));
	EXPECT_EQ(RECORDS, control.ring_records);
	EXPECT_EQ(RECORDS / 2, control.ring_watermark);
	EXPECT_EQ(FAMILY | VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE,
		  control.flags);
}

/* What has no room is counted, and what comes later has room again. */
TEST_F(sample, lost)
{
	struct samples *got = &self->got;
	int all = samples_in(10 * TURNS);

	self->set.control.ring_records = 16;
	self->set.control.ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 10 * TURNS, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_LT(0, got->lost);
	EXPECT_LE(16, samples_of(got, 0));
	EXPECT_EQ(all, samples_of(got, 0) + got->lost);
	EXPECT_EQ(0, samples_wrong(got, getpid(), my_tid(), PERIOD));

	all = got->lost;
	samples_forget(got);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS / 10, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(all, got->lost);
	EXPECT_EQ(samples_in(TURNS / 10), samples_of(got, 0));
}

/* Read in time, a small buffer takes any number, also round its end. */
TEST_F(sample, goes_round)
{
	struct samples *got = &self->got;
	int total = 0;

	self->set.control.ring_records = 16;
	self->set.control.ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	/* After this one it is known what is mapped. */
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	for (int i = 0; i < 100; i++) {
		samples_forget(got);
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS / 10, 0));
		/* Two pieces, the first one with room for two of them. */
		ASSERT_EQ(0, samples_read_some(self->set.fd, got, 200));
		ASSERT_EQ(2 * 88, got->bytes);
		ASSERT_EQ(0, samples_read(self->set.fd, got));
		total += samples_of(got, my_tid());
		for (int j = 0; j < got->nr; j++) {
			const struct vpmc_sample *s = (void *)got->record[j];

			ASSERT_EQ(VPMC_SAMPLE_PERIOD, s->head.type);
			ASSERT_EQ(s->ip, loop_ip(s->sum[0]));
		}
	}
	EXPECT_EQ(100 * samples_in(TURNS / 10), total);
	EXPECT_EQ(0, got->lost);
}

/* Code in a mapping without a file, and then in many. */
TEST_F(sample, other_mappings)
{
	struct samples *got = &self->got;
	const struct vpmc_sample_map *map;
	const struct vpmc_sample *s;
	char *code[20];

	for (int i = 0; i < ARRAY_SIZE(code); i++) {
		/* With a hole on each side, so that they stay apart. */
		code[i] = mmap(NULL, 3 * PAGE, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, code[i]);
		code[i] += PAGE;
		ASSERT_EQ(0, mprotect(code[i], PAGE,
				      PROT_READ | PROT_WRITE | PROT_EXEC));
		memcpy(code[i], code_loop, 64);
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, (code_fn)code[i],
					 TURNS / 10, 0));
	}
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(ARRAY_SIZE(code) * samples_in(TURNS / 10),
		  samples_of(got, my_tid()));
	EXPECT_EQ(ARRAY_SIZE(code) * (samples_in(TURNS / 10) + 1), got->nr);
	for (int i = 0; i < got->nr; i++) {
		s = (void *)got->record[i];
		if (s->head.type != VPMC_SAMPLE_PERIOD)
			continue;
		map = samples_map(got, s);
		ASSERT_NE(NULL, map);
		EXPECT_STREQ("", map_path(map));
		EXPECT_EQ(map->start + PAGE, map->end);
	}
}

TEST_F(sample, poll)
{
	struct pollfd p = { .fd = self->set.fd, .events = POLLIN };
	struct samples *got = &self->got;
	pid_t pid;

	/* More than one sample and the record of its mapping. */
	self->set.control.ring_watermark = 5;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD / 2, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	pid = fork();
	if (!pid) {
		struct set set;

		_exit(heir_open(&set) ||
		      set_measure(&set, code_loop, 2 * PERIOD, 0));
	}
	/* It wakes, although the root's owner does nothing. */
	EXPECT_EQ(1, poll(&p, 1, 60000));
	EXPECT_EQ(POLLIN, p.revents);
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(1 + 4, samples_of(got, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));

	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD / 2, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLIN | POLLHUP, p.revents);
	samples_forget(got);
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(1, samples_of(got, 0));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLHUP, p.revents);
}

TEST_F(sample, refused)
{
	struct vpmc_control *control = &self->set.control, good = *control;

	control->flags &= ~VPMC_CONTROL_REARM;
	EXPECT_EQ(-EINVAL, set_control(&self->set));
	EXPECT_EQ(VPMC_REASON_NONE, control->reason);
	*control = good;
	control->signal = OVERFLOW_SIGNAL;
	EXPECT_EQ(-EINVAL, set_control(&self->set));
	*control = good;
	control->ring_records = 0;
	control->ring_watermark = 0;
	EXPECT_EQ(-EINVAL, set_control(&self->set));
	EXPECT_EQ(VPMC_REASON_RING, control->reason);
	*control = good;
	control->ring_watermark = RECORDS + 1;
	EXPECT_EQ(-EINVAL, set_control(&self->set));
	EXPECT_EQ(VPMC_REASON_RING, control->reason);
	*control = good;
	control->counter[0].period = 0;
	EXPECT_EQ(-EINVAL, set_control(&self->set));
	EXPECT_EQ(VPMC_REASON_NO_PERIOD, control->reason);
	EXPECT_EQ(2, control->bad_counter);
	/* Nothing of this has changed the set. */
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, &self->got));
	EXPECT_EQ(samples_in(TURNS), samples_of(&self->got, 0));
}

/*
 * A loop and a system call that blocks, in turn, and a rate that delays most periods of
 * the loop until the system call. Only these may have another address than the loop.
 */
TEST_F(sample, delayed)
{
	struct samples *got = &self->got;
	uint64_t periods = 0, unknown = 0;
	int delayed = 0, others = 0, elsewhere = 0;

	self->set.control.counter[0].period = 1000;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_low_rate());
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (int i = 0; i < 20; i++) {
		code_loop(TURNS / 5, 0);
		usleep(20000);
	}
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(0, got->lost);
	for (int i = 0; i < got->nr; i++) {
		const struct vpmc_sample *s = (void *)got->record[i];

		if (s->head.type != VPMC_SAMPLE_PERIOD &&
		    s->head.type != VPMC_SAMPLE_DELAYED)
			continue;
		periods += s->periods;
		if (s->head.type == VPMC_SAMPLE_DELAYED) {
			delayed++;
			unknown += s->periods;
		} else {
			others++;
			elsewhere += s->ip - (uint64_t)code_loop >= CODE_LOOP_LENGTH;
		}
	}
	TH_LOG("%llu periods, %llu of them in %d delayed samples; %d of %d others not in the loop",
	       (unsigned long long)periods, (unsigned long long)unknown, delayed,
	       elsewhere, others);
	EXPECT_EQ(self->set.page->overflows, periods);
	EXPECT_LT(10, delayed);
	EXPECT_LT(periods / 4, unknown);
	EXPECT_GT(5, elsewhere);
	/* Each pause ends the delay. */
	EXPECT_LT(3 * read_number(RATE) * tick_length() / 1000000000, others);
}

TEST_F(sample, bad_reads)
{
	struct vpmc_read_samples read = {
		.size = sizeof(read), .buffer = 8, .bytes = PAGE,
	};
	struct samples *got = &self->got;
	int fd = self->set.fd, rd = open(THREAD_FILE, O_RDONLY);

	EXPECT_EQ(0, samples_read(fd, got));
	EXPECT_EQ(0, got->nr);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(-EBADF, samples_read(rd, got));
	EXPECT_EQ(-EFAULT, vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, &read));
	EXPECT_EQ(-EFAULT, vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, NULL));
	EXPECT_EQ(-ENOSPC, samples_read_some(fd, got, 87));
	read.flags = 1;
	EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, &read));
	read.flags = 0;
	read.size--;
	EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, &read));
	/* None of these has taken one. */
	EXPECT_EQ(0, samples_read_some(fd, got, 88));
	EXPECT_EQ(1, got->nr);
	/* More room than 32 bits can tell. */
	EXPECT_EQ(0, samples_read_some(fd, got, 1ULL << 32));
	EXPECT_EQ(samples_in(TURNS), samples_of(got, 0));
	/* Another set ends the buffers, and leaves the heirs theirs. */
	self->set.control.flags &= ~VPMC_CONTROL_SAMPLE;
	self->set.control.ring_records = 0;
	self->set.control.ring_watermark = 0;
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(-ENODATA, samples_read(fd, got));
	close(rd);
}

/*
 * Heirs still write samples after their root has ended or was programmed again.
 */
TEST_F(sample, orphan)
{
	struct child c = {};

	if (!child_fork(&c)) {
		struct set set;

		if (heir_open(&set) || child_send(&c) || child_wait(&c))
			_exit(1);
		_exit(set_measure(&set, code_loop, 10 * TURNS, 0) ||
		      wrong_after(&set, CODE_LOOP(10 * TURNS)));
	}
	ASSERT_EQ(0, child_wait(&c));
	self->set.control.ring_records = 16;
	self->set.control.ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, child_send(&c));
	EXPECT_EQ(0, child_status(c.pid));
	ASSERT_EQ(0, samples_read(self->set.fd, &self->got));
	EXPECT_EQ(0, self->got.nr);
}

/* The last number in "0-3", or "0", and one more */
static int possible_cpus(void)
{
	char text[64] = "";

	putback_read("/sys/devices/system/cpu/possible", text, sizeof(text));
	return atoi(text + strcspn(text, "-") + !!strchr(text, '-')) + 1;
}

/* A user's memory for all its samples is limited, and comes back. */
TEST_F(sample, is_charged)
{
	/* Each possible CPU has a ring of 512 KiB. */
	const rlim_t bytes = (rlim_t)possible_cpus() << 19;
	const struct rlimit limit = { bytes, bytes };
	pid_t pid = fork();

	if (!pid) {
		struct set set, other;
		int first, i;

		if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(USER))
			_exit(1);
		for (i = 0; i < 10; i++) {
			first = open_sampled(&set, PERIOD, FAMILY, 4096);
			if (first)
				_exit(2);
			set_close(&set);
		}
		if (open_sampled(&set, PERIOD, FAMILY, 4096))
			_exit(3);
		/* Also in another process, and in another address space. */
		pid = fork();
		if (!pid)
			_exit(open_sampled(&other, PERIOD, FAMILY, 16) != -ENOMEM ||
			      other.control.reason != VPMC_REASON_RING_MEMORY ||
			      other.control.bad_counter != 2);
		_exit(child_status(pid) ? 4 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* Its sums are for those who may count the kernel. */
TEST(kernel_counts)
{
	pid_t pid = fork();

	if (!pid) {
		struct samples got;
		struct set set = { .fd = vpmc_open() };
		int other;

		control_init(&set.control, VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE);
		control_add_period(&set.control, EV_KERNEL_INSNS, VPMC_ANY, KERNEL_PERIOD);
		set.control.ring_records = 16;
		set.control.ring_watermark = 1;
		if (samples_alloc(&got) || set_control(&set) || become(USER))
			_exit(1);
		other = vpmc_open();
		if (other < 0 || samples_read(other, &got) != -EACCES)
			_exit(2);
		_exit(samples_read(set.fd, &got) ? 3 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

/*
 * All of them, while the thread is disturbed. Repeated until it has moved enough, with
 * a new set each time: it reports anew what is mapped.
 */
TEST_F(sample, disturbed)
{
	struct samples *got = &self->got;
	pid_t preempter, migrator;
	uint64_t moved = 0;
	int i;

	preempter = start_preempter(0, 50000);
	migrator = start_migrator(my_tid(), 70000);
	for (i = 0; i < 20 && moved <= 3; i++) {
		samples_forget(got);
		ASSERT_EQ(0, set_control(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 10 * TURNS, 0));
		moved += page_migrations(&self->set);
		ASSERT_EQ(0, samples_read(self->set.fd, got));
		EXPECT_EQ(samples_in(10 * TURNS), samples_of(got, my_tid()));
		EXPECT_EQ(0, samples_wrong(got, getpid(), my_tid(), PERIOD));
		EXPECT_EQ(0, got->lost);
	}
	EXPECT_EQ(0, stop_disturber(migrator));
	EXPECT_EQ(0, stop_disturber(preempter));
	EXPECT_LT(3, moved);
}

NEEDS(
	{ "global.kernel_counts", PMU | DISTURBS | ROOT },
	{ "sample.heir_reads_nothing", PMU | DISTURBS | ROOT },
	{ "sample.is_charged", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "sample.orphan", PMU | DISTURBS | ROOT },
	{ "sample.poll", PMU | DISTURBS | ROOT },
	{ "sample.that_moves", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
