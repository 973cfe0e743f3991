// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/perfctr: who may use it, who has the PMU, and requests that are refused.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include <sys/stat.h>

#include "beside.h"
#include "caps.h"
#include "global_fixture.h"
#include "perf.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define REVOKE		"/proc/sys/kernel/vpmc_revoke"

FIXTURE_TEARDOWN(cpus)
{
	close(self->fd);
	EXPECT_EQ(0, choose_counters("all"));
}

static const struct choice no_events[] = { {} };

/* One use of the PMU at a time; run time alone is counted beside it. */
TEST_F(cpus, threads_and_cpus)
{
	struct vpmc_global_control control;
	struct set set, time;
	struct vpmc_read read;

	ASSERT_EQ(0, set_open(&set, two));
	global_init(&control, VPMC_ALL_CPUS, two);
	ASSERT_EQ(-EBUSY, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_THREADS, control.reason);
	EXPECT_EQ(2, control.bad_counter);
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(self->fd));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));

	/* The sums stay. Until the end, no thread gets a counter. */
	control.flags = VPMC_GLOBAL_REVOKE;
	ASSERT_EQ(0, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_HOLDER_GLOBAL, pmu_holder(self->fd));
	EXPECT_EQ(0, read_number(REVOKE));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	EXPECT_EQ(-EBUSY, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control));
	EXPECT_EQ(VPMC_REASON_PMU_GLOBAL, set.control.reason);
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(-EBUSY, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control));

	/* Run time needs no counters. */
	ASSERT_EQ(0, set_open(&time, no_events));
	ASSERT_EQ(0, vpmc_ioctl(time.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(global_sum_of_loop(self->fd, 0, 1) + 2 * 4999,
		  global_sum_of_loop(self->fd, 0, 5000));
	usleep(1000);
	ASSERT_EQ(0, vpmc_read(time.fd, &read));
	EXPECT_EQ(VPMC_STATE_RUNNING, read.state);
	EXPECT_LT(0, read.ticks);
	EXPECT_LT(0, read.switches);

	close(self->fd);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	ASSERT_EQ(0, set_program(&set, two));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(1000)));
	set_close(&time);
	set_close(&set);
	self->fd = global_open();
}

/* Nobody may use RDPMC by vpmc meanwhile. */
TEST_F(cpus, no_rdpmc)
{
	struct vpmc_global_control control;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, set_open(&set, two));
	global_init(&control, VPMC_ALL_CPUS, two);
	control.flags = VPMC_GLOBAL_REVOKE;
	ASSERT_EQ(0, global_control(self->fd, &control));
	ASSERT_EQ(0, global_start(self->fd));
	pid = fork();
	if (!pid) {
		vpmc_rdpmc(0);
		_exit(0);
	}
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(pid));
	/* A thread with a revoked set reads zero. */
	EXPECT_EQ(0, vpmc_rdpmc(0));
	set_close(&set);
}

/*
 * A pinned event of perf makes way for fixed counter 1, and needs a programmable
 * one then. CPUs cannot have all of these while a thread has the fixed counter, or
 * another CPU, but as soon as the thread has left it.
 */
TEST_F(cpus, borrow)
{
	static const struct choice fixed[] = { { EV_CYCLES, FIXED(1) }, {} };
	static const struct choice all_gp[] = {
		{ EV_BRANCHES, 0 }, { EV_BRANCHES, 1 }, { EV_BRANCHES, 2 },
		{ EV_BRANCHES, 3 }, {}
	};
	struct vpmc_global_control control;
	int perf = perf_open_pinned_cycles(1);
	uint64_t constant;
	struct set set;
	__u64 count;

	ASSERT_LE(0, perf);
	ASSERT_EQ(0, choose_counters("shared 4,3"));
	ASSERT_EQ(0, set_open(&set, fixed));
	EXPECT_EQ(8, read(perf, &count, 8));
	set_close(&set);
	ASSERT_EQ(0, global_program(self->fd, 0, all_gp));
	EXPECT_EQ(8, read(perf, &count, 8));
	close(self->fd);
	self->fd = global_open();
	ASSERT_EQ(0, global_program(self->fd, 0, fixed));
	global_init(&control, 1, all_gp);
	EXPECT_EQ(-EBUSY, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, control.reason);
	ASSERT_EQ(0, global_start(self->fd));
	constant = global_sum_of_loop(self->fd, 0, 1);
	EXPECT_LT(constant, global_sum_of_loop(self->fd, 0, 10000));
	EXPECT_EQ(8, read(perf, &count, 8));
	close(perf);
}

/* perf has the PMU or the CPUs have it. */
TEST_F(cpus, perf)
{
	struct vpmc_global_control control;
	int perf = perf_open_insns();

	ASSERT_LE(0, perf);
	global_init(&control, 0, two);
	EXPECT_EQ(-EBUSY, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, control.reason);
	EXPECT_EQ(-ENODATA, global_start(self->fd));
	close(perf);
	ASSERT_EQ(0, global_control(self->fd, &control));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_GT(0, perf_open_insns());
	close(self->fd);
	EXPECT_EQ(0, perf_error(1000));
	self->fd = global_open();
}

/* The administrator takes the PMU from CPUs, too. */
TEST_F(cpus, revoked)
{
	uint64_t sum;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(0, loops_on_others(2, 1000));
	sum = global_sum(self->fd, 1, 0);
	ASSERT_EQ(0, write_file(REVOKE, "1"));
	EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(self->fd));
	EXPECT_EQ(0, perf_error(1000));
	EXPECT_EQ(VPMC_CPU_STOPPED, global_state(self->fd, 1));
	EXPECT_EQ(sum, global_sum(self->fd, 1, 0));
	EXPECT_EQ(-ENODATA, global_start(self->fd));
	EXPECT_EQ(-EBUSY, global_program(self->fd, 1, two));
	EXPECT_EQ(sum, global_sum(self->fd, 1, 0));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(VPMC_CPU_STOPPED, global_state(self->fd, 1));
	ASSERT_EQ(0, write_file(REVOKE, "0"));
	EXPECT_EQ(0, perf_error(1000));
	EXPECT_EQ(-ENODATA, global_start(self->fd));
	ASSERT_EQ(0, global_program(self->fd, 1, no_events));
	ASSERT_EQ(0, global_program(self->fd, 0, two));
	ASSERT_EQ(0, code_measure(self->fd, VPMC_IOC_G_START, VPMC_IOC_G_STOP,
				  code_loop, 1000, 0));
	ASSERT_LE(2, global_read(self->fd, self->cpu));
	EXPECT_EQ(0, wrong_cpu(&self->cpu[0],
			       code_add(CODE_MEASURE, CODE_LOOP(1000))));
	EXPECT_EQ(VPMC_CPU_ABSENT, self->cpu[1].state);
}

/* What a revocation has left is there until another CONTROL succeeds. */
TEST_F(cpus, refused_after_revocation)
{
	/* A pinned event of cycles has no room beside these. */
	static const struct choice most[] = {
		{ EV_CYCLES, FIXED(1) }, { EV_BRANCHES, 0 }, { EV_BRANCHES, 1 },
		{ EV_BRANCHES, 2 }, { EV_BRANCHES, 3 }, {}
	};
	struct vpmc_global_control control;
	int perf = perf_open_pinned_cycles(1);
	uint64_t sum;

	ASSERT_LE(0, perf);
	ASSERT_EQ(0, choose_counters("shared 4,3"));
	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(self->fd));
	EXPECT_EQ(0, loops_on_others(2, 1000));
	ASSERT_EQ(0, write_file(REVOKE, "1"));
	ASSERT_EQ(0, write_file(REVOKE, "0"));
	sum = global_sum(self->fd, 1, 0);
	EXPECT_LT(CODE_LOOP(1000).insns, sum);
	global_init(&control, 0, most);
	EXPECT_EQ(-EBUSY, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, control.reason);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->fd));
	EXPECT_EQ(sum, global_sum(self->fd, 1, 0));
	ASSERT_EQ(0, global_program(self->fd, 0, two));
	EXPECT_EQ(VPMC_CPU_ABSENT, global_state(self->fd, 1));
	close(perf);
}

/* One descriptor has the counters. They end when it is closed. */
TEST_F(cpus, descriptors)
{
	struct vpmc_global_control control;
	int fd[100], i, copy;

	EXPECT_EQ(-ENODATA, global_start(self->fd));
	EXPECT_EQ(-ENODATA, global_stop(self->fd));
	EXPECT_EQ(-ENODATA, global_clear(self->fd));
	for (i = 0; i < 100; i++) {
		fd[i] = global_open();
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, global_program(fd[50], VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, global_start(fd[50]));
	global_init(&control, 0, two);
	for (i = 0; i < 100; i += 99) {
		EXPECT_EQ(-EBUSY, global_control(fd[i], &control));
		EXPECT_EQ(VPMC_REASON_PMU_GLOBAL, control.reason);
		EXPECT_EQ(-EBUSY, global_start(fd[i]));
		EXPECT_EQ(-EBUSY, global_stop(fd[i]));
		EXPECT_EQ(-EBUSY, global_clear(fd[i]));
		EXPECT_EQ(VPMC_CPU_RUNNING, global_state(fd[i], 0));
		close(fd[i]);
	}
	copy = dup(fd[50]);
	close(fd[50]);
	EXPECT_EQ(VPMC_CPU_RUNNING, global_state(self->fd, 0));
	close(copy);
	EXPECT_EQ(VPMC_CPU_ABSENT, global_state(self->fd, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->fd));
	EXPECT_EQ(0, perf_error(1000));
	for (i = 1; i < 99; i++)
		if (i != 50)
			close(fd[i]);
}

struct reader {
	int fd;
	volatile int go;
};

/* How many values are neither those of a set nor nothing. */
static void *read_all_the_time(void *arg)
{
	struct vpmc_global_cpu cpu[GLOBAL_CPUS];
	struct reader *reader = arg;
	long wrong = pin(1), i;
	int n;

	while (reader->go) {
		n = global_read(reader->fd, cpu);
		for (i = 0; i < n; i++)
			wrong += cpu[i].nr_counters != (cpu[i].state ? 2 : 0);
		wrong += n != nr_cpus();
	}
	return (void *)wrong;
}

/* The counters end while others read them. */
TEST_F(cpus, close_during_read)
{
	struct reader reader = { .fd = self->fd, .go = 1 };
	pthread_t thread;
	void *wrong;
	int i, fd;

	ASSERT_EQ(0, pthread_create(&thread, NULL, read_all_the_time, &reader));
	for (i = 0; i < 100; i++) {
		fd = global_open();
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, global_program(fd, VPMC_ALL_CPUS, two));
		EXPECT_EQ(0, global_start(fd));
		close(fd);
	}
	reader.go = 0;
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	EXPECT_EQ(NULL, wrong);
}

static int control_with(int fd, struct vpmc_global_control control)
{
	return global_control(fd, &control);
}

#define CONTROL_WITH(field, value) ({				\
	struct vpmc_global_control control_;			\
								\
	global_init(&control_, 0, two);				\
	control_.field = (value);				\
	control_with(self->fd, control_);			\
})

TEST_F(cpus, bad_control)
{
	struct vpmc_global_control control;
	int fd;

	EXPECT_EQ(-EINVAL, CONTROL_WITH(flags, 2));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(reserved, 1));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(size, 31));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(size, 32 + 2 * 32 - 1));
	EXPECT_EQ(-E2BIG, CONTROL_WITH(size, 4097));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(cpu, 4096));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(cpu, nr_cpus()));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(nr_counters, 33));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(interval_ms, 9));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(interval_ms, 60001));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(counter[1].period, 100000));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(counter[1].flags,
					VPMC_COUNTER_PRESERVE));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(counter[1].reserved, 1));
	EXPECT_EQ(-EINVAL, CONTROL_WITH(counter[1].index, 31));
	EXPECT_EQ(-ENOTTY, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(-EFAULT, vpmc_ioctl(self->fd, VPMC_IOC_G_CONTROL, NULL));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->fd, VPMC_IOC_G_START, &control));
	global_init(&control, 0, two);
	control.counter[1].period = 1000;
	EXPECT_EQ(-EINVAL, global_control(self->fd, &control));
	EXPECT_EQ(VPMC_REASON_RESERVED_FIELD, control.reason);
	EXPECT_EQ(1, control.bad_counter);
	/* Nothing of that has taken the PMU. */
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->fd));
	EXPECT_EQ(-ENODATA, global_start(self->fd));

	fd = open(GLOBAL_FILE, O_RDONLY);
	global_init(&control, 0, two);
	EXPECT_EQ(-EBADF, global_control(fd, &control));
	EXPECT_EQ(-EBADF, global_start(fd));
	EXPECT_EQ(nr_cpus(), global_read(fd, self->cpu));
	close(fd);
	EXPECT_EQ(0, CONTROL_WITH(interval_ms, 60000));
	EXPECT_EQ(0, CONTROL_WITH(interval_ms, 10));
}

#define READ_WITH(field, value) ({				\
	struct vpmc_global_read read_ = {			\
		.size = sizeof(read_), .nr_cpus = 1,		\
		.element_size = sizeof(*self->cpu),		\
		.elements = (uintptr_t)self->cpu,		\
	};							\
								\
	read_.field = (value);					\
	vpmc_ioctl(self->fd, VPMC_IOC_G_READ, &read_);		\
})

TEST_F(cpus, bad_read)
{
	const uint32_t head = offsetof(struct vpmc_global_cpu, sum);
	char *longer = malloc(4096);
	uint64_t sum;

	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	ASSERT_EQ(0, code_measure(self->fd, VPMC_IOC_G_START, VPMC_IOC_G_STOP,
				  code_loop, 1000, 0));
	sum = global_sum(self->fd, 0, 0);
	EXPECT_EQ(-EINVAL, READ_WITH(size, sizeof(struct vpmc_global_read) - 1));
	EXPECT_EQ(-EINVAL, READ_WITH(flags, 1));
	EXPECT_EQ(-EINVAL, READ_WITH(reserved, 1));
	EXPECT_EQ(-EINVAL, READ_WITH(nr_cpus, 0));
	EXPECT_EQ(-EINVAL, READ_WITH(first_cpu, 4096));
	EXPECT_EQ(-EINVAL, READ_WITH(element_size, head - 1));
	EXPECT_EQ(-EINVAL, READ_WITH(element_size, 4097));
	EXPECT_EQ(-ENOSPC, READ_WITH(element_size, head + 15));
	EXPECT_EQ(-EFAULT, READ_WITH(elements, 0));
	EXPECT_EQ(-EFAULT, vpmc_ioctl(self->fd, VPMC_IOC_G_READ, NULL));
	EXPECT_EQ(sum, global_sum(self->fd, 0, 0));

	memset(self->cpu, 0x5a, sizeof(self->cpu));
	EXPECT_EQ(0, READ_WITH(element_size, head + 16));
	EXPECT_EQ(sum, self->cpu[0].sum[0]);
	EXPECT_EQ(0x5a5a5a5a5a5a5a5a, self->cpu[0].sum[2]);
	memset(longer, 0x5a, 4096);
	{
		struct vpmc_global_read read = {
			.size = sizeof(read), .nr_cpus = 1,
			.element_size = 1000, .elements = (uintptr_t)longer,
		};

		EXPECT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_G_READ, &read));
	}
	EXPECT_EQ(0, longer[sizeof(struct vpmc_global_cpu)]);
	EXPECT_EQ(0, longer[999]);
	EXPECT_EQ(0x5a, longer[1000]);
	free(longer);
	/* From some CPU on, and no further than there are. */
	EXPECT_EQ(nr_cpus() - 1, global_read_some(self->fd, 1, GLOBAL_CPUS,
						  self->cpu));
	EXPECT_EQ(1, self->cpu[0].cpu);
}

/* Who may. The device's mode is opened, so that only the kernel's rule refuses. */
FIXTURE(rights)
{
	int fd;
};

FIXTURE_SETUP(rights)
{
	self->fd = global_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(rights)
{
	close(self->fd);
	chmod(GLOBAL_FILE, 0600);
	write_file(PARANOID, "2");
}

FIXTURE_VARIANT(rights)
{
	uid_t uid;
	uint64_t caps;
	bool namespace;
	const char *paranoid;
	int open;		/* the result of open() */
	int control;		/* of CONTROL by a descriptor of root's */
	int revoke;		/* of CONTROL with REVOKE by that */
};

FIXTURE_VARIANT_ADD(rights, user) {
	.uid = 1000, .paranoid = "2",
	.open = -EACCES, .control = -EACCES, .revoke = -EACCES,
};

FIXTURE_VARIANT_ADD(rights, user_where_perf_may) {
	.uid = 1000, .paranoid = "0", .revoke = -EPERM,
};

FIXTURE_VARIANT_ADD(rights, capable) {
	.uid = 1000, .caps = 1ULL << CAP_PERFMON, .paranoid = "2",
};

FIXTURE_VARIANT_ADD(rights, otherwise_capable) {
	.uid = 1000, .caps = 1ULL << CAP_SYS_PTRACE, .paranoid = "1",
	.open = -EACCES, .control = -EACCES, .revoke = -EACCES,
};

FIXTURE_VARIANT_ADD(rights, root_of_a_namespace) {
	.uid = 1000, .namespace = true, .paranoid = "2",
	.open = -EACCES, .control = -EACCES, .revoke = -EACCES,
};

static int wrong_rights(int fd, const FIXTURE_VARIANT(rights) *variant)
{
	static const struct choice kernel[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };
	struct vpmc_global_control control;
	struct vpmc_global_cpu cpu;
	int own;

	if (become_with(variant->uid, variant->caps) ||
	    (variant->namespace && unshare(CLONE_NEWUSER)))
		return 1;
	own = global_open();
	if (own >= 0)
		close(own);
	if ((own < 0 ? own : 0) != variant->open)
		return 2;
	/* What root has programmed goes with the descriptor. */
	if (global_start(fd) || global_read_some(fd, 0, 1, &cpu) != 1 ||
	    global_stop(fd))
		return 3;
	global_init(&control, 0, kernel);
	if (global_control(fd, &control) != variant->control)
		return 4;
	if (variant->control && control.reason != VPMC_REASON_PARANOID)
		return 5;
	control.flags = VPMC_GLOBAL_REVOKE;
	return global_control(fd, &control) != variant->revoke ? 6 : 0;
}

TEST_F(rights, what_is_allowed)
{
	struct stat stat;
	pid_t pid;

	ASSERT_EQ(0, fstat(self->fd, &stat));
	EXPECT_EQ(S_IFCHR | 0600, stat.st_mode);
	EXPECT_EQ(0, stat.st_uid);
	ASSERT_EQ(0, chmod(GLOBAL_FILE, 0666));
	ASSERT_EQ(0, write_file(PARANOID, variant->paranoid));
	ASSERT_EQ(0, global_program(self->fd, VPMC_ALL_CPUS, two));
	pid = fork();
	if (!pid)
		_exit(wrong_rights(self->fd, variant));
	EXPECT_EQ(0, child_status(pid));
}

NEEDS(
	{ "rights.*", PMU | DISTURBS | ROOT },
	{ "cpus.bad_*", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "cpus.borrow", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "cpus.close_during_read", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "cpus.no_rdpmc", PMU | DISTURBS | ROOT | TWO_CPUS, AT_MOST_16_CPUS },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
