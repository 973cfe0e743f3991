// SPDX-License-Identifier: GPL-2.0
/*
 * 32-bit programs: the same structures, page and read loop on a 64-bit kernel,
 * and all there is on a 32-bit one. Built on request, see the Makefile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <poll.h>
#include <vpmc-ring.h>

#include "disturb.h"
#include "global.h"
#include "inherit.h"
#include "perf.h"
#include "refusal.h"

#ifndef __i386__
#error "to be compiled with -m32"
#endif

#define TURNS		100000L
#define LONG_TURNS	20000000L

/* What measure() executes between the two system calls. */
static uint64_t insns(long turns)
{
	return 2 * turns + 6;
}

static uint64_t branches(long turns)
{
	return turns;
}

/* ioctl(fd, start), a loop, ioctl(fd, stop), with nothing uncounted between */
static long measure(int fd, unsigned long start, unsigned long stop, long turns)
{
	long ret = SYS_ioctl, err;

	__asm__ __volatile__(
		"int	$0x80\n\t"
		"mov	%%eax, %%esi\n\t"	/* 1: the first that is counted */
		"1:\n\t"
		"dec	%[turns]\n\t"
		"jnz	1b\n\t"
		"mov	%[stop], %%ecx\n\t"	/* 2 */
		"mov	%[nr], %%eax\n\t"	/* 3 */
		"xor	%%edx, %%edx\n\t"	/* 4 */
		"nop\n\t"			/* 5 */
		"int	$0x80"			/* 6: the last */
		: "+a" (ret), "+c" (start), [turns] "+D" (turns), "=&S" (err)
		: [nr] "i" (SYS_ioctl), "b" (fd), [stop] "m" (stop), "d" (0)
		: "memory", "cc");
	return ret | err;
}

FIXTURE(compat) {
	struct set set;
};

FIXTURE_SETUP(compat)
{
	static const struct choice choice[] = {
		{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, { EV_CYCLES, FIXED(1) }, { }
	};

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, choice));
}

FIXTURE_TEARDOWN(compat)
{
	set_close(&self->set);
}

/* The third counter, which P6 does not have, counts cycles, of which each is one instruction. */
static void expect_three(struct __test_metadata *_metadata, const struct set *set,
			 const uint64_t *sum, uint64_t insns, uint64_t branches)
{
	EXPECT_EQ(insns, sum[0]);
	EXPECT_EQ(branches, sum[1]);
	if (set->control.nr_counters > 2)
		EXPECT_EQ(insns, sum[2]);
}

static void expect_sums(struct __test_metadata *_metadata, struct set *set,
			long turns)
{
	uint64_t count[3], ticks;
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	expect_three(_metadata, set, (const uint64_t *)read.sum, insns(turns), branches(turns));
	vpmc_read_page(set->page, count, &ticks);
	expect_three(_metadata, set, count, read.sum[0], read.sum[1]);
	EXPECT_EQ(read.ticks, ticks);
}

TEST_F(compat, info)
{
	struct vpmc_info info;

	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	EXPECT_EQ(sizeof(info), info.size);
	EXPECT_EQ(info.nr_fixed ? VPMC_KIND_INTEL : VPMC_KIND_P6, info.kind);
	EXPECT_EQ(VPMC_HOLDER_VPMC, info.holder);
	EXPECT_EQ(PAGE, info.map_size);
}

TEST_F(compat, structures)
{
	struct vpmc_control control;

	ASSERT_EQ(0, vpmc_read_control(self->set.fd, &control));
	ASSERT_EQ(machine_is_p6() ? 2 : 3, control.nr_counters);
	EXPECT_EQ(EV_BRANCHES & 0xffff, control.counter[1].evtsel & 0xffff);
	EXPECT_EQ(machine_is_p6() ? 0 : FIXED(1), control.counter[2].index);
	EXPECT_EQ(sizeof(struct vpmc_page), self->set.page->size);
	EXPECT_EQ(my_tid(), self->set.page->tid);
}

TEST_F(compat, counts)
{
	ASSERT_EQ(0, measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_STOP, TURNS));
	expect_sums(_metadata, &self->set, TURNS);
}

/* code_32.S executes what code.h says. */
TEST_F(compat, code)
{
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(TURNS)));
}

static int poll_hup(int fd)
{
	struct pollfd poll_fd = { .fd = fd };

	return poll(&poll_fd, 1, 0) == 1 ? poll_fd.revents : 0;
}

/*
 * Two reads by RDPMC, and what stands between them and in the second. One copy of the
 * code, so that two calls differ in the loop alone.
 */
static __attribute__((__noinline__, __noclone__)) uint64_t between(struct set *set, long turns)
{
	uint64_t before = vpmc_read_1(set->page);

	__asm__ __volatile__("1: dec %0; jnz 1b" : "+r" (turns) : : "cc");
	return vpmc_read_1(set->page) - before;
}

TEST_F(compat, reads)
{
	uint64_t one, many;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	one = between(&self->set, 1);
	many = between(&self->set, TURNS);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(2 * (TURNS - 1), many - one);
}

TEST_F(compat, switches_and_migrations)
{
	pid_t pid[3];

	pid[0] = start_preempter(0, 200000);
	pid[1] = start_preempter(1, 200000);
	pid[2] = start_migrator(my_tid(), 400000);
	ASSERT_EQ(0, measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_STOP, LONG_TURNS));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, stop_disturber(pid[i]));
	EXPECT_LE(test_often(20), page_switches(&self->set));
	EXPECT_LE(test_often(10), page_migrations(&self->set));
	expect_sums(_metadata, &self->set, LONG_TURNS);
}

TEST_F(compat, child_has_none)
{
	struct vpmc_read read;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(vpmc_read(open(THREAD_FILE, O_RDONLY), &read) != -ENOENT);
	EXPECT_EQ(0, child_status(pid));
}

/* One that inherits counts for its parent, which reads how many did. */
TEST_F(compat, heir)
{
	struct vpmc_control *control = &self->set.control;
	struct vpmc_read read;
	struct set set;
	pid_t pid;

	control->flags |= PROCESSES;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(heir_open(&set) || measure(set.fd, VPMC_IOC_START,
						 VPMC_IOC_STOP, TURNS));
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_STOP, 10));
	ASSERT_EQ(0, family_read(self->set.fd, LIVING | FINISHED, &read));
	EXPECT_EQ(0, read.living);
	EXPECT_EQ(1, read.finished);
	EXPECT_EQ(insns(TURNS) + insns(10), read.sum[0]);
	EXPECT_EQ(branches(TURNS) + branches(10), read.sum[1]);
}

/* Sums that stay over CONTROL, and those that CLEAR leaves. */
TEST_F(compat, preserve_and_clear)
{
	struct vpmc_control *control = &self->set.control;
	struct vpmc_read read;
	int fd = self->set.fd;

	ASSERT_EQ(0, measure(fd, VPMC_IOC_START, VPMC_IOC_STOP, TURNS));
	control->counter[1].flags = VPMC_COUNTER_PRESERVE;
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, control));
	ASSERT_EQ(0, measure(fd, VPMC_IOC_START, VPMC_IOC_STOP, 10));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(insns(10), read.sum[0]);
	EXPECT_EQ(branches(TURNS) + branches(10), read.sum[1]);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR, (void *)2));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(insns(10), read.sum[0]);
	EXPECT_EQ(0, read.sum[1]);
}

/* Another process' counters: opened, started, read and taken away. */
TEST_F(compat, remote)
{
	struct vpmc_read read;
	char path[64];
	pid_t pid;
	int fd;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		pause();
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/%d/perfctr", pid);
	fd = open(path, O_RDWR | O_CREAT, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &self->set.control));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
	EXPECT_EQ(POLLHUP, poll_hup(fd));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	EXPECT_EQ(pid, read.tid);
	EXPECT_EQ(-ESRCH, vpmc_ioctl(fd, VPMC_IOC_STOP, 0));
	close(fd);
}

/* Records of a ring: the same layout, and an address of 32 bits. */
TEST_F(compat, ring)
{
	const uint64_t period = 10001, n = insns(TURNS) / period;
	struct vpmc_control *control = &self->set.control;
	const struct vpmc_record *r;
	const struct vpmc_ring *ring;
	uint64_t at, dec = 0;

	control->flags |= VPMC_CONTROL_REARM;
	control->counter[0].period = period;
	control->ring_records = 32;
	control->ring_watermark = n;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	ring = mmap(NULL, VPMC_RING_SIZE(32, control->nr_counters), PROT_READ,
		    MAP_SHARED, self->set.fd, PAGE);
	ASSERT_TRUE(ring != MAP_FAILED);
	ASSERT_EQ(0, measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_STOP, TURNS));
	expect_sums(_metadata, &self->set, TURNS);
	ASSERT_EQ(n, vpmc_ring_unread(ring));
	EXPECT_EQ(0, vpmc_ring_lost(ring));
	for (uint32_t i = 0; i < n; i++) {
		r = vpmc_ring_record(ring, i);
		at = (i + 1) * period;
		/* The first instruction is before the loop, which has two. */
		dec = dec ?: r->ip - (at - 1) % 2;
		EXPECT_EQ(dec + (at - 1) % 2, r->ip);
		EXPECT_EQ(0, r->ip >> 32);
		EXPECT_EQ(1, r->mask);
		EXPECT_EQ(1, r->periods);
		expect_three(_metadata, &self->set, (const uint64_t *)r->sum, at,
			     (at - 1) / 2);
	}
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONSUME, (void *)(long)n));
	EXPECT_EQ(0, vpmc_ring_unread(ring));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CONSUME, (void *)-1L));
}

/* What the last signal said, and how many there were. */
static siginfo_t told;
static int signals, resume_fd, resume_errors;

static void on_overflow(int sig, siginfo_t *info, void *context)
{
	told = *info;
	signals++;
	if (resume_fd >= 0 && vpmc_ioctl(resume_fd, VPMC_IOC_RESUME, 0))
		resume_errors++;
}

static int take_signals(int fd)
{
	const struct sigaction act = {
		.sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO,
	};

	signals = 0;
	resume_errors = 0;
	resume_fd = fd;
	return sigaction(SIGIO, &act, NULL);
}

/* At the end of the first period, and then the set stands. */
static void one_signal(struct __test_metadata *_metadata, struct set *set,
		       uint64_t period)
{
	struct vpmc_control *control = &set->control;
	const struct vpmc_record *r;
	const struct vpmc_ring *ring;
	struct vpmc_read read;
	size_t size;

	control->counter[0].period = period;
	control->signal = SIGIO;
	control->ring_records = 1;
	control->ring_watermark = 1;
	size = VPMC_RING_SIZE(1, control->nr_counters);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, control));
	ring = mmap(NULL, size, PROT_READ, MAP_SHARED, set->fd, PAGE);
	ASSERT_TRUE(ring != MAP_FAILED);
	ASSERT_EQ(0, take_signals(-1));
	ASSERT_EQ(0, measure(set->fd, VPMC_IOC_START, VPMC_IOC_STOP, TURNS));
	EXPECT_EQ(1, signals);
	EXPECT_EQ(SIGIO, told.si_signo);
	EXPECT_EQ(POLL_MSG, told.si_code);
	EXPECT_EQ(1, told.si_fd);
	r = vpmc_ring_record(ring, 0);
	EXPECT_NE(0, told.si_band);
	EXPECT_EQ(r->ip, (unsigned long)told.si_band);
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	expect_three(_metadata, set, (const uint64_t *)read.sum, period, (period - 1) / 2);
	ASSERT_EQ(0, munmap((void *)ring, size));
}

TEST_F(compat, signal)
{
	unsigned long dec;

	/* The first instruction is before the loop, which has two. */
	one_signal(_metadata, &self->set, 10001);
	dec = told.si_band;
	one_signal(_metadata, &self->set, 10002);
	EXPECT_EQ(dec + 1, (unsigned long)told.si_band);
}

/* The handler lets the set go on, and is counted from there to its end. */
TEST_F(compat, signals)
{
	struct vpmc_control *control = &self->set.control;

	control->counter[0].period = 10001;
	control->signal = SIGIO;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	ASSERT_EQ(0, take_signals(self->set.fd));
	ASSERT_EQ(0, measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_STOP, TURNS));
	EXPECT_EQ(0, resume_errors);
	EXPECT_LE(insns(TURNS) / 10001, signals);
	EXPECT_EQ(signals, self->set.page->overflows);
	EXPECT_EQ(0, self->set.page->merged);
}

/* Of Pentium II to Core Duo; p6_test has Core 2's. */
TEST(events_of_one_counter)
{
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	ASSERT_TRUE(machine_is_p6());
	EXPECT_EQ(0, refused(fd, 0x10014, 0, 0));
	EXPECT_EQ(VPMC_REASON_WRONG_EVENT, refused(fd, 0x10014, 1, -EINVAL));
	EXPECT_EQ(0, refused(fd, 0x10012, 1, 0));
	EXPECT_EQ(VPMC_REASON_WRONG_EVENT, refused(fd, 0x10012, 0, -EINVAL));
	EXPECT_EQ(VPMC_REASON_WRONG_EVENT, refused(fd, 0x100c1, 1, -EINVAL));
	close(fd);
}

/* Linux's own driver of these processors counts the same. */
TEST(perf_counts)
{
	__u64 count[2];
	int leader, member;

	leader = perf_open_insns();
	ASSERT_LE(0, leader);
	member = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
			   PERF_USER, leader);
	ASSERT_LE(0, member);
	ASSERT_EQ(0, measure(leader, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, TURNS));
	ASSERT_EQ(0, perf_read(leader, 2, count));
	EXPECT_EQ(insns(TURNS), count[0]);
	EXPECT_EQ(branches(TURNS), count[1]);
	close(member);
	close(leader);
}

TEST(counters_of_cpus)
{
	static const struct choice choice[] = {
		{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {}
	};
	struct vpmc_global_cpu cpu[GLOBAL_CPUS];
	int fd = global_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, wait_for_silence());
	ASSERT_EQ(0, global_program(fd, VPMC_ALL_CPUS, choice));
	ASSERT_EQ(0, measure(fd, VPMC_IOC_G_START, VPMC_IOC_G_STOP, TURNS));
	ASSERT_LE(2, global_read(fd, cpu));
	EXPECT_EQ(insns(TURNS), cpu[0].sum[0]);
	EXPECT_EQ(branches(TURNS), cpu[0].sum[1]);
	EXPECT_EQ(0, cpu[1].sum[0]);
	EXPECT_EQ(0, cpu[1].sum[1]);
	close(fd);
}

NEEDS({ "*", EXACT | ROOT },);

TEST_HARNESS_MAIN
