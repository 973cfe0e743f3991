// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests each point of perfctr 2.6's interface in libperfctr.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * PERFCTR_TYPE in the environment is the cpu_type that this processor must
 * have. With 0 there are no counters, and tests that need some are skipped.
 */
#define LIBPERFCTR_OLD_NAMES
#include <libperfctr.h>

#include "../../vpmc/tests/lib_test.h"

#include <sys/mman.h>
#include <sys/socket.h>

#define USR	(1 << 16)
#define EN	(1 << 22)
#define INT	(1 << 20)
#define INSTRUCTIONS	(0xc0 | USR | EN)
#define FIXED	0x40000000U
#define TURNS	100000

static int expected_type(void)
{
	const char *type = getenv("PERFCTR_TYPE");

	return type ? atoi(type) : -1;
}

static bool is_intel(void)
{
	return expected_type() == PERFCTR_X86_INTEL_ATOM ||
	       expected_type() == PERFCTR_X86_INTEL_CORE2;
}

/* One instruction counter on PMC 0, and run time. */
static void one_counter(struct vperfctr_control *control)
{
	memset(control, 0, sizeof(*control));
	control->cpu_control.tsc_on = 1;
	control->cpu_control.nractrs = 1;
	control->cpu_control.evntsel[0] = INSTRUCTIONS;
}

/* The same counter on PMC 0 and on PMC 1. */
static void two_counters(struct vperfctr_control *control)
{
	one_counter(control);
	control->cpu_control.nractrs = 2;
	control->cpu_control.pmc_map[1] = 1;
	control->cpu_control.evntsel[1] = INSTRUCTIONS;
}

static __attribute__((__noinline__)) unsigned long long
counted_turns(const struct vperfctr *self, uint64_t turns)
{
	struct perfctr_sum_ctrs before, after;

	vperfctr_read_ctrs(self, &before);
	work(turns);
	vperfctr_read_ctrs(self, &after);
	return after.pmc[0] - before.pmc[0];
}

FIXTURE(self)
{
	struct vperfctr *self;
	struct vperfctr_control control;
};

FIXTURE_SETUP(self)
{
	if (!expected_type())
		SKIP(return, "no counters");
	self->self = vperfctr_open();
	ASSERT_NE(NULL, self->self);
	one_counter(&self->control);
}

FIXTURE_TEARDOWN(self)
{
	if (!self->self)
		return;
	EXPECT_EQ(0, vperfctr_unlink(self->self));
	vperfctr_close(self->self);
}

TEST(open_is_exclusive)
{
	struct vperfctr *first = vperfctr_open(), *again;

	ASSERT_NE(NULL, first);
	EXPECT_EQ(NULL, vperfctr_open());
	EXPECT_EQ(EEXIST, errno);
	EXPECT_EQ(-1, _vperfctr_open(1));
	EXPECT_EQ(EEXIST, errno);
	again = vperfctr_open_mode(0);
	ASSERT_NE(NULL, again);
	vperfctr_close(again);
	EXPECT_EQ(NULL, vperfctr_open_mode(1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, vperfctr_unlink(first));
	EXPECT_EQ(0, vperfctr_unlink(first));
	vperfctr_close(first);
	EXPECT_EQ(NULL, vperfctr_open_mode(0));
	EXPECT_EQ(ENOENT, errno);
	first = vperfctr_open_mode(VPERFCTR_OPEN_CREAT_EXCL);
	ASSERT_NE(NULL, first);
	vperfctr_unlink(first);
	vperfctr_close(first);
}

TEST_F(self, counts_exactly)
{
	unsigned long long few, many;

	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	few = counted_turns(self->self, 1);
	many = counted_turns(self->self, TURNS + 1);
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS), many - few);
	few = vperfctr_read_pmc(self->self, 0);
	EXPECT_LT(0, few);
	EXPECT_EQ(0, vperfctr_read_pmc(self->self, 1));
	EXPECT_EQ(0, vperfctr_read_pmc(self->self, 100));
	EXPECT_LT(few, vperfctr_read_tsc(self->self));
}

/*
 * A preserved counter differs from another one by what it had counted before.
 */
TEST_F(self, preserve)
{
	struct perfctr_sum_ctrs before, after;

	two_counters(&self->control);
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	work(TURNS);
	ASSERT_EQ(0, vperfctr_stop(self->self));
	vperfctr_read_ctrs(self->self, &before);
	EXPECT_EQ(before.pmc[0], before.pmc[1]);
	EXPECT_LT(INSTRUCTIONS_OF(TURNS), before.pmc[0]);

	self->control.preserve = 1;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	ASSERT_EQ(0, vperfctr_stop(self->self));
	vperfctr_read_ctrs(self->self, &after);
	EXPECT_LT(0, after.pmc[1]);
	EXPECT_GT(1000, after.pmc[1]);
	EXPECT_EQ(before.pmc[0], after.pmc[0] - after.pmc[1]);
	EXPECT_LT(before.tsc, after.tsc);
}

/* Run time continues after a new control, unless tsc_on is off. */
TEST_F(self, run_time)
{
	unsigned long long first;
	struct perfctr_sum_ctrs sum;

	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	work(TURNS);
	first = vperfctr_read_tsc(self->self);
	EXPECT_LT(TURNS, first);
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	EXPECT_LT(first, vperfctr_read_tsc(self->self));

	self->control.cpu_control.tsc_on = 0;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	work(TURNS);
	ASSERT_EQ(0, vperfctr_read_ctrs(self->self, &sum));
	EXPECT_EQ(0, sum.tsc);
	EXPECT_LT(TURNS, sum.pmc[0]);
	ASSERT_EQ(0, vperfctr_read_state(self->self, &sum, NULL));
	EXPECT_EQ(0, sum.tsc);
	self->control.cpu_control.tsc_on = 1;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	EXPECT_GT(first, vperfctr_read_tsc(self->self));
}

TEST_F(self, stop)
{
	struct perfctr_sum_ctrs one, two;
	struct vperfctr_control control;

	EXPECT_EQ(0, vperfctr_stop(self->self));
	EXPECT_EQ(0, vperfctr_is_running(self->self));
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	EXPECT_EQ(1, vperfctr_is_running(self->self));
	work(TURNS);
	/* an empty control stops the counters */
	memset(&control, 0, sizeof(control));
	ASSERT_EQ(0, vperfctr_control(self->self, &control));
	EXPECT_EQ(0, vperfctr_is_running(self->self));
	vperfctr_read_ctrs(self->self, &one);
	work(TURNS);
	ASSERT_EQ(0, vperfctr_read_state(self->self, &two, &control));
	EXPECT_LT(INSTRUCTIONS_OF(TURNS), one.pmc[0]);
	EXPECT_EQ(0, memcmp(&one, &two, sizeof(one)));
	EXPECT_EQ(0, control.cpu_control.nractrs);
	EXPECT_EQ(0, control.cpu_control.tsc_on);
}

TEST_F(self, read_state)
{
	struct vperfctr_control control;
	struct perfctr_sum_ctrs sum;

	two_counters(&self->control);
	self->control.flags = VPERFCTR_CONTROL_CLOEXEC;
	self->control.preserve = 3;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	ASSERT_EQ(0, vperfctr_read_state(self->self, &sum, &control));
	self->control.preserve = 0;
	EXPECT_EQ(0, memcmp(&control, &self->control, sizeof(control)));
}

/* kernel.vpmc_counters is "all", so perf has no counter. */
static bool vpmc_has_all(void)
{
	char text[8] = "";
	int fd = open("/proc/sys/kernel/vpmc_counters", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		perror("vpmc_counters");
	close(fd);
	return !strncmp(text, "all", 3);
}

/* Another counter counts in place of one that perf has, under the same number. */
TEST_F(self, counter_of_perf)
{
	struct vperfctr_control read;
	struct perfctr_sum_ctrs sum;
	int fd = _vperfctr_open(0);

	two_counters(&self->control);
	for (int preserve = 0; preserve < 2; preserve++) {
		self->control.preserve = preserve ? 3 : 0;
		ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
		work(TURNS);
		ASSERT_EQ(0, vperfctr_read_state(self->self, &sum, &read));
		EXPECT_EQ(0, read.cpu_control.pmc_map[0]);
		EXPECT_EQ(1, read.cpu_control.pmc_map[1]);
		EXPECT_EQ(INSTRUCTIONS, read.cpu_control.evntsel[0]);
		EXPECT_EQ(sum.pmc[0], sum.pmc[1]);
		EXPECT_LT((1 + preserve) * INSTRUCTIONS_OF(TURNS), sum.pmc[0]);
	}
	/* a descriptor does not know what was asked for */
	ASSERT_EQ(0, _vperfctr_read_control(fd, &read));
	EXPECT_EQ(vpmc_has_all(), read.cpu_control.pmc_map[0] == 0);
	EXPECT_EQ(1, read.cpu_control.pmc_map[1]);
	ASSERT_EQ(0, _vperfctr_control(fd, &self->control));
	close(fd);
}

/* All counters are too many while perf keeps one. */
TEST_F(self, too_many_for_perf)
{
	struct perfctr_cpu_control *cpu = &self->control.cpu_control;
	unsigned int i, nr = is_intel() ? 0 : 4;
	struct vpmc_info info = { .size = sizeof(info) };
	int fd = _vperfctr_open(0);

	ASSERT_EQ(0, ioctl(fd, VPMC_IOC_INFO, &info));
	close(fd);
	if (is_intel())
		nr = info.nr_gp + !vpmc_has_all();
	for (i = 0; i < nr; i++) {
		cpu->pmc_map[i] = i;
		cpu->evntsel[i] = INSTRUCTIONS;
	}
	if (is_intel()) {
		cpu->pmc_map[i] = FIXED;
		cpu->evntsel[i++] = INSTRUCTIONS;
	}
	cpu->nractrs = i;
	if (vpmc_has_all()) {
		EXPECT_EQ(0, vperfctr_control(self->self, &self->control));
		return;
	}
	EXPECT_EQ(-1, vperfctr_control(self->self, &self->control));
	EXPECT_EQ(EBUSY, errno);
	/* without the last one they fit */
	cpu->nractrs--;
	EXPECT_EQ(0, vperfctr_control(self->self, &self->control));
}

/* Only mode and enable bits of a fixed counter's select have a meaning. */
TEST_F(self, fixed_counters)
{
	struct perfctr_cpu_control *cpu = &self->control.cpu_control;
	const unsigned int selects[] = { 0x410000, 0x4100c0, 0x4100c4 };
	struct perfctr_sum_ctrs before, after;
	struct vperfctr_control read;
	int fd = _vperfctr_open(0);

	if (!is_intel())
		SKIP(return, "no fixed counters");
	two_counters(&self->control);
	cpu->pmc_map[1] = FIXED;
	for (int i = 0; i < 3; i++) {
		cpu->evntsel[1] = selects[i];
		ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
		vperfctr_read_ctrs(self->self, &before);
		work(TURNS);
		vperfctr_read_state(self->self, &after, &read);
		EXPECT_EQ(after.pmc[0], after.pmc[1]);
		EXPECT_LT(INSTRUCTIONS_OF(TURNS), after.pmc[1] - before.pmc[1]);
		EXPECT_EQ(selects[i], read.cpu_control.evntsel[1]);
		EXPECT_EQ(FIXED, read.cpu_control.pmc_map[1]);
		/*
		 * through a descriptor, an event without a meaning reads as
		 * none
		 */
		ASSERT_EQ(0, _vperfctr_read_control(fd, &read));
		EXPECT_EQ(i == 1 ? selects[1] : selects[0], read.cpu_control.evntsel[1]);
	}
	close(fd);
	/* cycles, and cycles of the reference clock */
	cpu->pmc_map[0] = FIXED + 1;
	cpu->evntsel[0] = 0x410000;
	cpu->pmc_map[1] = FIXED + 2;
	cpu->evntsel[1] = 0x410000;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	work(TURNS);
	vperfctr_read_state(self->self, &after, &read);
	EXPECT_LT(0, after.pmc[0]);
	EXPECT_LT(0, after.pmc[1]);
	EXPECT_EQ(0x410000, read.cpu_control.evntsel[0]);
	EXPECT_EQ(0x410000, read.cpu_control.evntsel[1]);
}

static void expect_refused(struct __test_metadata *_metadata,
			   const struct vperfctr *self,
			   struct vperfctr_control *bad, int error)
{
	struct vperfctr_control good;
	struct perfctr_sum_ctrs one, two;

	one_counter(&good);
	ASSERT_EQ(0, vperfctr_control(self, &good));
	errno = 0;
	EXPECT_EQ(-1, vperfctr_control(self, bad));
	EXPECT_EQ(error, errno);
	/* the old set is stopped and keeps its sums */
	EXPECT_EQ(0, vperfctr_is_running(self));
	vperfctr_read_ctrs(self, &one);
	work(TURNS);
	vperfctr_read_ctrs(self, &two);
	EXPECT_LT(0, one.pmc[0]);
	EXPECT_EQ(0, memcmp(&one, &two, sizeof(one)));
	one_counter(bad);
}

TEST_F(self, refused_control_leaves_the_counters_stopped)
{
	struct vperfctr_control *bad = &self->control;
	struct perfctr_cpu_control *cpu = &bad->cpu_control;

	cpu->evntsel[0] &= ~EN;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->evntsel[0] |= INT;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->evntsel[0] &= ~USR;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->nractrs = 19;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->nractrs = 2;
	cpu->nrictrs = -1;
	expect_refused(_metadata, self->self, bad, EINVAL);
	two_counters(bad);
	cpu->pmc_map[1] = 0;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->pmc_map[0] = 17;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->pmc_map[0] = -1;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->nractrs = 0;
	cpu->nrictrs = 1;
	cpu->ireset[0] = -1000000;
	expect_refused(_metadata, self->self, bad, EINVAL);	/* no INT */
	cpu->nractrs = 0;
	cpu->nrictrs = 1;
	cpu->evntsel[0] |= INT;
	expect_refused(_metadata, self->self, bad, EINVAL);	/* no ireset */
	bad->flags = 2;
	expect_refused(_metadata, self->self, bad, EINVAL);
	cpu->p4.pebs_enable = 1;
	expect_refused(_metadata, self->self, bad, EOPNOTSUPP);
	cpu->nhlm.offcore_rsp[1] = 1;
	expect_refused(_metadata, self->self, bad, EOPNOTSUPP);
	if (is_intel()) {
		cpu->evntsel_aux[0] = 1;
		expect_refused(_metadata, self->self, bad, EOPNOTSUPP);
	}
}

static const struct vperfctr *signalled;
static volatile unsigned int signals, mask, wrong;

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (sig != SIGIO || si->si_code != SI_PMC_OVF ||
	    !vperfctr_is_running(signalled))
		wrong++;
	mask |= si->si_pmc_ovf_mask;
	signals++;
	if (vperfctr_iresume(signalled) < 0)
		wrong++;
}

static void overflow_control(struct vperfctr_control *control)
{
	two_counters(control);
	control->si_signo = SIGIO;
	control->cpu_control.nractrs = 1;
	control->cpu_control.nrictrs = 1;
	control->cpu_control.evntsel[1] |= INT;
	control->cpu_control.ireset[1] = -10000;
}

TEST_F(self, overflow)
{
	struct sigaction action = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO };
	struct vperfctr_control read;
	struct perfctr_sum_ctrs sum;
	unsigned int runs[3];

	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_period_min", "100"));
	ASSERT_EQ(0, sigaction(SIGIO, &action, NULL));
	signalled = self->self;
	overflow_control(&self->control);
	EXPECT_EQ(-1, vperfctr_iresume(self->self));
	EXPECT_EQ(EPERM, errno);
	/* in the first run the handler's calls are bound to the library, too */
	for (int i = 0; i < 3; i++) {
		signals = 0;
		ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
		work(TURNS);
		ASSERT_EQ(0, vperfctr_read_state(self->self, &sum, &read));
		EXPECT_EQ(0, memcmp(&read, &self->control, sizeof(read)));
		ASSERT_EQ(0, vperfctr_stop(self->self));
		runs[i] = signals;
	}
	EXPECT_EQ(2, mask);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(runs[1], runs[2]);
	/* what the handler executes after vperfctr_iresume() is counted, too */
	EXPECT_EQ(INSTRUCTIONS_OF(TURNS) / 10000, runs[1]);
}

/* What another library has added to the set comes behind its own counters. */
TEST_F(self, counters_of_others)
{
	struct vpmc_control more = {
		.size = sizeof(more), .flags = VPMC_CONTROL_ADD, .nr_counters = 1,
		.counter[0] = { .evtsel = 0x1003c, .index = VPMC_ANY },
	};
	int fd = _vperfctr_open(0), err;
	struct vperfctr_control read;
	struct perfctr_sum_ctrs sum;

	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_period_min", "100"));
	overflow_control(&self->control);
	self->control.cpu_control.ireset[1] = -100000000;
	self->control.cpu_control.tsc_on = 0;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	err = ioctl(fd, VPMC_IOC_CONTROL, &more);
	if (err && errno == ENOSPC)
		SKIP(return, "there are two counters");
	ASSERT_EQ(0, err);
	EXPECT_EQ(0, vperfctr_read_state(self->self, &sum, &read));
	EXPECT_EQ(0, memcmp(&read, &self->control, sizeof(read)));
	close(fd);
}

/* Another library programs a set that begins with the same counter. It is not the handle's. */
TEST_F(self, set_of_others)
{
	struct vpmc_control set = {
		.size = sizeof(set), .nr_counters = 2,
		.counter[1] = { .evtsel = 0x1003c, .index = VPMC_ANY },
	};
	int fd = _vperfctr_open(0);
	struct vperfctr_control read;
	struct perfctr_sum_ctrs sum;

	two_counters(&self->control);
	self->control.cpu_control.nractrs = 1;
	self->control.cpu_control.tsc_on = 0;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	EXPECT_EQ(0, vperfctr_read_state(self->self, &sum, &read));
	EXPECT_EQ(0, memcmp(&read, &self->control, sizeof(read)));
	set.counter[0].evtsel = self->control.cpu_control.evntsel[0];
	set.counter[0].index = VPMC_ANY;
	ASSERT_EQ(0, ioctl(fd, VPMC_IOC_CONTROL, &set));
	EXPECT_EQ(0, vperfctr_read_state(self->self, &sum, &read));
	EXPECT_EQ(2, read.cpu_control.nractrs);
	close(fd);
}

/* If run time is not counted, an overflow leaves nothing running. */
static volatile int seen_running = -1;

static void look(int sig)
{
	(void)sig;
	seen_running = vperfctr_is_running(signalled);
}

TEST_F(self, overflow_without_run_time)
{
	struct vperfctr_control read;
	int fd;

	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_period_min", "100"));
	signal(SIGIO, look);
	signalled = self->self;
	overflow_control(&self->control);
	self->control.cpu_control.tsc_on = 0;
	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	work(TURNS);
	EXPECT_EQ(0, seen_running);
	/* the overflow still stops it, and a descriptor reads the control */
	fd = _vperfctr_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, _vperfctr_read_control(fd, &read));
	EXPECT_EQ(1, read.cpu_control.nractrs);
	EXPECT_EQ(1, read.cpu_control.nrictrs);
	EXPECT_EQ(-10000, read.cpu_control.ireset[1]);
	EXPECT_EQ(self->control.cpu_control.evntsel[1], read.cpu_control.evntsel[1]);
	EXPECT_EQ(SIGIO, read.si_signo);
	close(fd);
}

TEST_F(self, child_of_fork_has_no_counters)
{
	struct perfctr_sum_ctrs sum;
	int status;
	pid_t pid;

	ASSERT_EQ(0, vperfctr_control(self->self, &self->control));
	pid = fork();
	if (!pid) {
		bool good = vperfctr_read_ctrs(self->self, &sum) == -1 && errno == ESRCH &&
			    vperfctr_control(self->self, &self->control) == -1 &&
			    errno == ESRCH && !vperfctr_is_running(self->self);

		_exit(!good);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

static int send_fd(int sock, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = "", byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = space, .msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -1;
}

static int receive_fd(int sock)
{
	char space[CMSG_SPACE(sizeof(int))] = "", byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = space, .msg_controllen = sizeof(space) };
	int fd = -1;

	if (recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void count_and_exec(int sock, const struct vperfctr_control *control)
{
	int fd = _vperfctr_open(1);

	if (fd < 0 || _vperfctr_control(fd, control) || send_fd(sock, fd))
		_exit(99);
	execl("/bin/busybox", "busybox", "true", NULL);
	_exit(99);
}

/* Returns what an executed program counts, measured in the way of perfex. */
static unsigned long long count_program(struct __test_metadata *_metadata,
					unsigned int flags)
{
	struct vperfctr_control control, read;
	struct perfctr_sum_ctrs sum = { .tsc = 0 };
	int sv[2], fd, status;
	pid_t pid;

	one_counter(&control);
	control.flags = flags;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, sv));
	pid = fork();
	if (!pid)
		count_and_exec(sv[1], &control);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	fd = receive_fd(sv[0]);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, _vperfctr_read_sum(fd, &sum));
	EXPECT_EQ(0, _vperfctr_read_control(fd, &read));
	EXPECT_EQ(1, read.cpu_control.nractrs);
	EXPECT_EQ(INSTRUCTIONS, read.cpu_control.evntsel[0]);
	/* the thread has ended, so it cannot be programmed */
	EXPECT_EQ(-1, _vperfctr_control(fd, &control));
	EXPECT_EQ(ESRCH, errno);
	EXPECT_EQ(0, perfctr_abi_check_fd(fd));
	close(fd);
	close(sv[0]);
	close(sv[1]);
	return sum.pmc[0];
}

TEST(descriptor_of_a_thread_that_has_ended)
{
	unsigned long long whole, again, before_exec;

	if (!expected_type())
		SKIP(return, "no counters");
	whole = count_program(_metadata, 0);
	again = count_program(_metadata, 0);
	before_exec = count_program(_metadata, VPERFCTR_CONTROL_CLOEXEC);
	EXPECT_EQ(whole, again);
	EXPECT_LT(0, before_exec);
	EXPECT_LT(before_exec + 1000, whole);
}

/* Memory that a child and its parent share. */
static volatile struct {
	int end;
	unsigned int turns;
} *shared;

/* Waits until the child has executed one whole loop. */
static void wait_for_child(void)
{
	unsigned int turns = shared->turns;

	while (shared->turns - turns < 2)
		sched_yield();
}

TEST(another_thread)
{
	struct perfctr_sum_ctrs one, two;
	struct vperfctr_control control, read;
	struct rvperfctr *other;
	struct perfctr_info info;
	int status;
	pid_t pid;

	if (!expected_type())
		SKIP(return, "no counters");
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	pid = fork();
	if (!pid) {
		for (; !shared->end; shared->turns++)
			work(TURNS);
		_exit(0);
	}
	other = rvperfctr_open(pid);
	ASSERT_NE(NULL, other);
	EXPECT_EQ(NULL, rvperfctr_open(pid));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_EQ(pid, rvperfctr_pid(other));
	EXPECT_EQ(0, rvperfctr_info(other, &info));
	EXPECT_EQ(expected_type(), (int)info.cpu_type);
	two_counters(&control);
	ASSERT_EQ(0, rvperfctr_control(other, &control));
	wait_for_child();
	ASSERT_EQ(0, rvperfctr_read_ctrs(other, &one));
	wait_for_child();
	ASSERT_EQ(0, rvperfctr_read_state(other, &two, &read));
	EXPECT_EQ(0, memcmp(&read, &control, sizeof(read)));
	EXPECT_EQ(one.pmc[0], one.pmc[1]);
	EXPECT_EQ(two.pmc[0], two.pmc[1]);
	EXPECT_LT(one.pmc[0], two.pmc[0]);
	EXPECT_EQ(-1, rvperfctr_iresume(other));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(0, rvperfctr_stop(other));
	rvperfctr_read_ctrs(other, &one);
	wait_for_child();
	rvperfctr_read_ctrs(other, &two);
	EXPECT_EQ(0, memcmp(&one, &two, sizeof(one)));
	shared->end = 1;
	waitpid(pid, &status, 0);
	rvperfctr_read_ctrs(other, &two);
	EXPECT_EQ(0, memcmp(&one, &two, sizeof(one)));
	EXPECT_EQ(-1, rvperfctr_control(other, &control));
	EXPECT_EQ(ESRCH, errno);
	EXPECT_EQ(0, rvperfctr_unlink(other));
	rvperfctr_close(other);
	EXPECT_EQ(NULL, rvperfctr_open(pid));
	EXPECT_EQ(ESRCH, errno);
}

TEST(info)
{
	struct perfctr_info info, other;
	int fd = _vperfctr_open(0), null = open("/dev/null", O_RDWR);
	struct perfctr_cpus_info *cpus;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, perfctr_info(fd, &info));
	EXPECT_EQ(expected_type(), (int)info.cpu_type);
	EXPECT_EQ(PERFCTR_ABI_VERSION, info.abi_version);
	EXPECT_EQ(0x05020501, PERFCTR_ABI_VERSION);
	EXPECT_EQ(0, strncmp(info.driver_version, "vpmc ", 5));
	EXPECT_LT(0, info.cpu_khz);
	if (expected_type()) {
		EXPECT_EQ(7, info.cpu_features);
		EXPECT_LE(4, perfctr_cpu_nrctrs(&info));
	} else {
		EXPECT_EQ(PERFCTR_FEATURE_RDTSC, info.cpu_features);
		EXPECT_EQ(0, perfctr_cpu_nrctrs(&info));
	}
	EXPECT_EQ(perfctr_info_cpu_name(&info), perfctr_cpu_name(&info));
	ASSERT_EQ(0, perfctr_get_info(&other));
	EXPECT_EQ(0, memcmp(&info, &other, sizeof(info)));
	info.cpu_type = 23;
	EXPECT_STREQ("?", perfctr_info_cpu_name(&info));
	EXPECT_EQ(0, perfctr_info_nrctrs(&info));
	info.cpu_type = PERFCTR_X86_INTEL_P4M3;
	EXPECT_EQ(18, perfctr_info_nrctrs(&info));
	EXPECT_STREQ("Intel Pentium 4 Model 3", perfctr_info_cpu_name(&info));

	cpus = perfctr_cpus_info(fd);
	ASSERT_NE(NULL, cpus);
	EXPECT_EQ((1U << sysconf(_SC_NPROCESSORS_ONLN)) - 1, cpus->cpus->mask[0]);
	EXPECT_EQ(0, cpus->cpus_forbidden->mask[0]);
	free(cpus);

	EXPECT_EQ(0, perfctr_abi_check_fd(fd));
	EXPECT_EQ(0, _perfctr_abi_check_fd(fd, PERFCTR_ABI_VERSION ^ 0x00010001));
	EXPECT_EQ(-1, _perfctr_abi_check_fd(fd, 0x04020501));
	EXPECT_EQ(EPROTO, errno);
	EXPECT_EQ(-1, perfctr_abi_check_fd(null));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, perfctr_info(-1, &info));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(NULL, perfctr_cpus_info(null));
	close(null);
	close(fd);
}

TEST(without_pmu)
{
	struct vperfctr *self = vperfctr_open();
	struct vperfctr_control control;

	if (expected_type())
		SKIP(goto out, "there is one");
	ASSERT_NE(NULL, self);
	one_counter(&control);
	EXPECT_EQ(-1, vperfctr_control(self, &control));
	EXPECT_EQ(ENODEV, errno);
	control.cpu_control.nractrs = 0;
	EXPECT_EQ(0, vperfctr_control(self, &control));
	EXPECT_EQ(1, vperfctr_is_running(self));
	EXPECT_LT(0, vperfctr_read_tsc(self));
out:
	vperfctr_unlink(self);
	vperfctr_close(self);
}

static void global_control(struct gperfctr_cpu_control *control, unsigned int cpu)
{
	struct vperfctr_control one;

	one_counter(&one);
	memset(control, 0, sizeof(*control));
	control->cpu = cpu;
	control->cpu_control = one.cpu_control;
	control->cpu_control.tsc_on = 1;
}

TEST(global_mode)
{
	struct gperfctr *self = gperfctr_open();
	struct gperfctr_cpu_state state = {};
	struct gperfctr_cpu_control control;
	struct perfctr_info info;

	ASSERT_NE(NULL, self);
	ASSERT_EQ(0, gperfctr_info(self, &info));
	EXPECT_EQ(PERFCTR_ABI_VERSION, info.abi_version);
	if (info.cpu_type == PERFCTR_X86_GENERIC) {
		global_control(&control, 0);
		EXPECT_EQ(-1, gperfctr_control(self, &control));
		EXPECT_EQ(ENODEV, errno);
		gperfctr_close(self);
		return;
	}
	EXPECT_EQ(-1, gperfctr_start(self, 0));
	EXPECT_EQ(EINVAL, errno);
	global_control(&control, 0);
	control.cpu_control.nrictrs = 1;
	EXPECT_EQ(-1, gperfctr_control(self, &control));
	EXPECT_EQ(EPERM, errno);
	global_control(&control, ~0U);
	EXPECT_EQ(-1, gperfctr_control(self, &control));
	EXPECT_EQ(EINVAL, errno);
	global_control(&control, 0);
	ASSERT_EQ(0, gperfctr_control(self, &control));
	EXPECT_EQ(-1, gperfctr_start(self, 9999));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, gperfctr_start(self, 0));
	EXPECT_EQ(-1, gperfctr_control(self, &control));
	EXPECT_EQ(EBUSY, errno);
	/* This reads CPU 0's state from any CPU. */
	ASSERT_EQ(0, gperfctr_read(self, &state));
	EXPECT_EQ(control.cpu_control.evntsel[0], state.cpu_control.evntsel[0]);
	EXPECT_LT(0, state.sum.tsc);
	ASSERT_EQ(0, gperfctr_stop(self));
	ASSERT_EQ(0, gperfctr_start(self, 10000));
	ASSERT_EQ(0, gperfctr_stop(self));
	state.cpu = ~0U;
	EXPECT_EQ(-1, gperfctr_read(self, &state));
	EXPECT_EQ(EINVAL, errno);
	gperfctr_close(self);
}

TEST(global_mode_without_handle)
{
	EXPECT_EQ(-1, gperfctr_control(NULL, NULL));
	EXPECT_EQ(-1, gperfctr_read(NULL, NULL));
	EXPECT_EQ(-1, gperfctr_stop(NULL));
	EXPECT_EQ(-1, gperfctr_start(NULL, 0));
	EXPECT_EQ(-1, gperfctr_info(NULL, NULL));
	EXPECT_EQ(NULL, gperfctr_cpus_info(NULL));
	EXPECT_EQ(ENOSYS, errno);
	gperfctr_close(NULL);
}

TEST(events)
{
	const struct perfctr_event_set *set = perfctr_cpu_event_set(expected_type());
	const char *wanted = is_intel() ? "INSTRUCTION_RETIRED" : "RETIRED_INSTRUCTIONS";
	const struct perfctr_event *event = NULL, *masked = NULL;

	EXPECT_EQ(NULL, perfctr_cpu_event_set(PERFCTR_X86_VIA_C3));
	EXPECT_EQ(NULL, perfctr_cpu_event_set(1000));
	ASSERT_NE(NULL, set);
	EXPECT_EQ(expected_type(), (int)set->cpu_type);
	EXPECT_NE(NULL, set->event_prefix);
	EXPECT_EQ(NULL, set->include);
	if (!expected_type()) {
		EXPECT_EQ(0, set->nevents);
		return;
	}
	for (unsigned int i = 0; i < set->nevents; i++) {
		if (!strcmp(set->events[i].name, wanted))
			event = &set->events[i];
		if (set->events[i].unit_mask && set->events[i].unit_mask->nvalues > 2)
			masked = &set->events[i];
		EXPECT_NE(0, set->events[i].counters_set);
	}
	ASSERT_NE(NULL, event);
	EXPECT_EQ(0xc0, event->evntsel);
	EXPECT_LT(0, strlen(event->description));
	/* a unit mask with several values has a name for each */
	ASSERT_NE(NULL, masked);
	EXPECT_NE(NULL, strchr(masked->unit_mask->values[1].description, ':'));
	EXPECT_NE(masked->unit_mask->values[0].value, masked->unit_mask->values[1].value);
}

TEST(printed_control)
{
	static const char wanted[] =
		"tsc_on\t\t\t1\n" "nractrs\t\t\t1\n" "nrictrs\t\t\t1\n"
		"pmc_map[0]\t\t3\n" "evntsel[0]\t\t0x004100C0\n" "escr[0]\t\t\t0x00000001\n"
		"pmc_map[1]\t\t0x40000000\n" "evntsel[1]\t\t0x00510000\n"
		"ireset[1]\t\t-25\n" "pebs_enable\t\t0x00000002\n"
		"pebs_matrix_vert\t0x00000003\n";
	int memory = memfd_create("printed", 0), saved = dup(1);
	struct perfctr_cpu_control control = { .tsc_on = 1, .nractrs = 1, .nrictrs = 1 };
	char got[sizeof(wanted) + 100] = "";

	control.pmc_map[0] = 3;
	control.evntsel[0] = INSTRUCTIONS;
	control.p4.escr[0] = 1;
	control.pmc_map[1] = FIXED;
	control.evntsel[1] = USR | EN | INT;
	control.ireset[1] = -25;
	control.p4.pebs_enable = 2;
	control.p4.pebs_matrix_vert = 3;
	fflush(stdout);
	dup2(memory, 1);
	perfctr_cpu_control_print(&control);
	fflush(stdout);
	dup2(saved, 1);
	ASSERT_LT(0, pread(memory, got, sizeof(got) - 1, 0));
	EXPECT_STREQ(wanted, got);
}

TEST_HARNESS_MAIN
