// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/perfctr: how long CPUs have counted, and when their values were read.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "global_fixture.h"

#define MS	1000000ULL

FIXTURE_TEARDOWN(cpus)
{
	close(self->fd);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

/* The time from one request to another one, by the caller's TSC. */
struct span {
	uint64_t least;
	uint64_t most;
};

/* A request, with the times before and after it. */
struct request {
	uint64_t before;
	uint64_t after;
};

static int timed(int fd, unsigned int nr, struct request *request)
{
	int err;

	request->before = vpmc_rdtsc();
	err = vpmc_ioctl(fd, nr, NULL);
	request->after = vpmc_rdtsc();
	return err;
}

static struct span between(const struct request *a, const struct request *b)
{
	return (struct span){ b->before - a->after, b->after - a->before };
}

/* START, a loop, STOP */
static int run(int fd, struct span *span)
{
	struct request start, stop;
	int err = timed(fd, VPMC_IOC_G_START, &start);

	if (err)
		return err;
	code_loop(100000, 0);
	err = timed(fd, VPMC_IOC_G_STOP, &stop);
	*span = between(&start, &stop);
	return err;
}

/* Returns how many CPUs have counted for some time. */
static int with_ticks(int fd, struct vpmc_global_cpu *cpu)
{
	int i, found = 0, n = global_read(fd, cpu);

	if (n != nr_cpus())
		return -1;
	for (i = 0; i < n; i++)
		found += cpu[i].ticks != 0;
	return found;
}

/* CONTROL and CLEAR of what is stopped begin with no time. */
TEST_F(cpus, none_at_first)
{
	struct span span;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
		EXPECT_EQ(0, with_ticks(self->fd, self->cpu));
		ASSERT_EQ(0, run(self->fd, &span));
		EXPECT_EQ(nr_cpus(), with_ticks(self->fd, self->cpu));
		ASSERT_EQ(0, global_clear(self->fd));
		EXPECT_EQ(0, with_ticks(self->fd, self->cpu));
		ASSERT_EQ(0, run(self->fd, &span));
		EXPECT_EQ(nr_cpus(), with_ticks(self->fd, self->cpu));
	}
}

/* From START to STOP, and no longer. What comes between two runs is not counted. */
TEST_F(cpus, from_start_to_stop)
{
	uint64_t least, most;
	struct span span;
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
		for (least = most = i = 0; i < 5; i++) {
			ASSERT_EQ(0, run(self->fd, &span));
			least += span.least;
			most += span.most;
			code_loop(500000, 0);
			ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
			EXPECT_LE(least, self->cpu[cpu].ticks);
			EXPECT_GE(most, self->cpu[cpu].ticks);
		}
	}
}

/* READ tells how long it has been; CLEAR begins anew. */
TEST_F(cpus, while_counting)
{
	struct request start, read, clear, stop;
	struct span span;
	int cpu;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
		ASSERT_EQ(0, timed(self->fd, VPMC_IOC_G_START, &start));
		code_loop(500000, 0);
		read.before = vpmc_rdtsc();
		ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
		read.after = vpmc_rdtsc();
		span = between(&start, &read);
		EXPECT_LE(span.least, self->cpu[cpu].ticks);
		EXPECT_GE(span.most, self->cpu[cpu].ticks);
		ASSERT_EQ(0, timed(self->fd, VPMC_IOC_G_CLEAR, &clear));
		code_loop(100000, 0);
		ASSERT_EQ(0, timed(self->fd, VPMC_IOC_G_STOP, &stop));
		ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
		span = between(&clear, &stop);
		EXPECT_LE(span.least, self->cpu[cpu].ticks);
		EXPECT_GE(span.most, self->cpu[cpu].ticks);
	}
}

/* Returns how many CPUs' values were not read from @from to @to. */
static int not_sampled(const struct vpmc_global_cpu *cpu, uint64_t from, uint64_t to)
{
	int i, wrong = 0;

	for (i = 0; i < nr_cpus(); i++) {
		if (from <= cpu[i].sampled_at && cpu[i].sampled_at <= to)
			continue;
		wrong++;
		fprintf(stderr, "# CPU %d: %llu, not from %llu to %llu\n", i,
			(unsigned long long)cpu[i].sampled_at,
			(unsigned long long)from, (unsigned long long)to);
	}
	return wrong;
}

/* Values are read by READ while a CPU counts, and by STOP for ever after. */
TEST_F(cpus, sampled_at)
{
	uint64_t from, to;
	int i;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
	EXPECT_EQ(0, not_sampled(self->cpu, 0, 0));
	ASSERT_EQ(0, global_start(self->fd));
	for (i = 0; i < 10; i++) {
		code_loop(10000, 0);
		from = now();
		ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
		to = now();
		EXPECT_EQ(0, not_sampled(self->cpu, from, to));
	}
	from = now();
	ASSERT_EQ(0, global_stop(self->fd));
	to = now();
	for (i = 0; i < 2; i++) {
		code_loop(10000, 0);
		ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
		EXPECT_EQ(0, not_sampled(self->cpu, from, to));
	}
}

/* Samples of 100 ms, and the one of START. Elsewhere a timer may be late. */
#define SAMPLES		11

/* READ that finds a sample of a timer takes none. */
TEST_F(cpus, as_often_as_asked)
{
	uint64_t last[GLOBAL_CPUS] = {}, end;
	struct vpmc_global_control control;
	int cpu, found[GLOBAL_CPUS] = {};

	global_init(&control, VPMC_ALL_CPUS, two);
	control.interval_ms = 10;
	ASSERT_EQ(0, global_control(self->fd, &control));
	ASSERT_EQ(0, global_start(self->fd));
	for (end = now() + 105 * MS; now() < end;) {
		ASSERT_EQ(nr_cpus(), global_read(self->fd, self->cpu));
		for (cpu = 0; cpu < nr_cpus(); cpu++) {
			found[cpu] += self->cpu[cpu].sampled_at != last[cpu];
			last[cpu] = self->cpu[cpu].sampled_at;
		}
	}
	ASSERT_EQ(0, global_stop(self->fd));
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		if (exact_machine())
			EXPECT_EQ(SAMPLES, found[cpu]);
		EXPECT_GE(SAMPLES, found[cpu]);
		EXPECT_LE(5, found[cpu]);
	}
}

NEEDS({ "*", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },);

TEST_HARNESS_MAIN
