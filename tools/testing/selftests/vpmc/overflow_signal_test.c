// SPDX-License-Identifier: GPL-2.0
/*
 * The signal of a counter with a period: its contents, where it comes, and when
 * it is not sent.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "overflow.h"
#include "printed_read.h"

#define PERIOD	10001
#define TURNS	100000
#define KERNEL_INSNS	0x200c0
#define BYTES	(16 << 20)	/* to write them takes many periods */

FIXTURE(overflow_signal)
{
	struct set set;
};

FIXTURE_SETUP(overflow_signal)
{
	tolerance_begin();
	ASSERT_EQ(0, open_with_period(&self->set, PERIOD, SIGIO));
}

FIXTURE_TEARDOWN(overflow_signal)
{
	set_close(&self->set);
}

/* A thread in write(), until all its bytes are read. */
struct writer {
	int fd;
	int pipe[2];
	int err;
};

/* What a handler saw, the set being its thread's. */
static struct {
	struct set *set;
	volatile int taken;
	siginfo_t info;
	uint64_t ip, sp;
	uint32_t state, overflowed;
	uint64_t count[2], again[2];
	struct vpmc_read read;
	unsigned int resume;
} seen;

static void handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *user = context;
	uint64_t ticks;

	seen.taken++;
	seen.info = *info;
	seen.ip = user->uc_mcontext.gregs[REG_RIP];
	seen.sp = (uint64_t)&ticks;
	seen.state = seen.set->page->state;
	seen.overflowed = seen.set->page->overflowed;
	read_printed(seen.set->page, seen.count, &ticks);
	vpmc_read(seen.set->fd, &seen.read);
	read_printed(seen.set->page, seen.again, &ticks);
	if (seen.resume)
		vpmc_ioctl(seen.set->fd, VPMC_IOC_RESUME, 0);
}

static int handle(struct set *set, int sig, int flags)
{
	struct sigaction act = {
		.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags,
	};

	memset(&seen, 0, sizeof(seen));
	seen.set = set;
	return sigaction(sig, &act, NULL) ? -errno : 0;
}

static int block(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return sigprocmask(how, &set, NULL) ? -errno : 0;
}

static void is_right(struct __test_metadata *_metadata, int sig)
{
	EXPECT_EQ(1, seen.taken);
	EXPECT_EQ(sig, seen.info.si_signo);
	EXPECT_EQ(POLL_MSG, seen.info.si_code);
	EXPECT_EQ(0, seen.info.si_errno);
	EXPECT_EQ(1, seen.info.si_fd);
	EXPECT_TRUE(at_loop_ip(seen.info.si_band, PERIOD));
	EXPECT_TRUE(overflow_fits(seen.count[0], PERIOD, PERIOD, true));
	EXPECT_TRUE(overflow_fits(seen.count[1], branches_at(PERIOD),
				  PERIOD, false));
}

/* The signal comes at the address that it has, and the sums can be read. */
TEST_F(overflow_signal, reads_in_the_handler)
{
	ASSERT_EQ(0, handle(&self->set, SIGIO, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	is_right(_metadata, SIGIO);
	EXPECT_EQ(seen.info.si_band, seen.ip);
	EXPECT_EQ(VPMC_STATE_OVERFLOWED, seen.state);
	EXPECT_EQ(1, seen.overflowed);
	EXPECT_EQ(VPMC_STATE_OVERFLOWED, seen.read.state);
	EXPECT_EQ(seen.count[0], seen.read.sum[0]);
	EXPECT_EQ(seen.count[1], seen.read.sum[1]);
	EXPECT_EQ(seen.count[0], seen.again[0]);
	EXPECT_EQ(seen.count[1], seen.again[1]);
}

TEST_F(overflow_signal, real_time_signal)
{
	self->set.control.signal = SIGRTMIN;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, handle(&self->set, SIGRTMIN, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	is_right(_metadata, SIGRTMIN);
	EXPECT_EQ(seen.info.si_band, seen.ip);
}

TEST_F(overflow_signal, alternate_stack)
{
	static char stack[65536] __attribute__((aligned(16)));
	const stack_t alternate = {
		.ss_sp = stack, .ss_size = sizeof(stack),
	};

	ASSERT_EQ(0, sigaltstack(&alternate, NULL));
	ASSERT_EQ(0, handle(&self->set, SIGIO, SA_ONSTACK));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	is_right(_metadata, SIGIO);
	EXPECT_LT((uint64_t)stack, seen.sp);
	EXPECT_GT((uint64_t)stack + sizeof(stack), seen.sp);
}

/* The set stays stopped at that place. */
TEST_F(overflow_signal, blocked)
{
	ASSERT_EQ(0, handle(&self->set, SIGIO, 0));
	ASSERT_EQ(0, block(SIG_BLOCK, SIGIO));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(0, seen.taken);
	ASSERT_EQ(0, block(SIG_UNBLOCK, SIGIO));
	is_right(_metadata, SIGIO);
	EXPECT_NE(seen.info.si_band, seen.ip);
}

/*
 * The set continues while its signal is pending. The first overflow is
 * reported.
 */
TEST_F(overflow_signal, blocked_and_rearmed)
{
	struct vpmc_read read;

	self->set.control.flags |= VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, handle(&self->set, SIGIO, 0));
	ASSERT_EQ(0, block(SIG_BLOCK, SIGIO));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, block(SIG_UNBLOCK, SIGIO));
	EXPECT_EQ(1, seen.taken);
	EXPECT_TRUE(at_loop_ip(seen.info.si_band, PERIOD));
	EXPECT_EQ(VPMC_STATE_STOPPED, seen.state);
	EXPECT_EQ(0, seen.overflowed);
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(read.sum[0] / PERIOD, self->set.page->overflows);
	EXPECT_EQ(0, wrong_sums_of_overflows(&self->set, &read, measured(TURNS)));
}

/* Real-time signals are queued, each with its own address. */
TEST_F(overflow_signal, blocked_real_time_signals)
{
	struct vpmc_read read;
	uint64_t n, i;

	self->set.control.flags |= VPMC_CONTROL_REARM;
	self->set.control.signal = SIGRTMIN;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, take_overflows(&self->set, SIGRTMIN));
	ASSERT_EQ(0, block(SIG_BLOCK, SIGRTMIN));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(0, code_overflows);
	ASSERT_EQ(0, block(SIG_UNBLOCK, SIGRTMIN));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, wrong_sums_of_overflows(&self->set, &read, measured(TURNS)));
	n = read.sum[0] / PERIOD;
	ASSERT_EQ(n, code_overflows);
	/* One more may come after the loop, if too much is counted. */
	n = measured(TURNS).insns / PERIOD;
	for (i = 0; i < n; i++)
		EXPECT_TRUE(at_loop_ip(code_overflow_log[i].ip,
				       (i + 1) * PERIOD));
	EXPECT_EQ(code_overflows, self->set.page->overflows);
}

/* A handler that is interrupted by the next one. */
static volatile int depth, deepest;

static void nested(int sig)
{
	if (++depth > deepest)
		deepest = depth;
	if (depth < 4)
		code_loop(PERIOD, 0);
	depth--;
}

TEST_F(overflow_signal, nested)
{
	struct sigaction act = { .sa_handler = nested, .sa_flags = SA_NODEFER };
	struct vpmc_read read;

	self->set.control.flags |= VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, sigaction(SIGIO, &act, NULL));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD, 0));
	EXPECT_EQ(4, deepest);
	EXPECT_EQ(0, depth);
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(4 * PERIOD, read.sum[0]);
	EXPECT_EQ(read.sum[0] / PERIOD, self->set.page->overflows);
}

/* A pending signal arrives, and no other one. */
TEST_F(overflow_signal, after_unlink_and_close)
{
	ASSERT_EQ(0, handle(&self->set, SIGIO, 0));
	ASSERT_EQ(0, block(SIG_BLOCK, SIGIO));
	ASSERT_EQ(0, code_measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_UNLINK,
				  code_loop, TURNS, 0));
	close(self->set.fd);
	ASSERT_EQ(0, block(SIG_UNBLOCK, SIGIO));
	is_right(_metadata, SIGIO);
	code_loop(TURNS, 0);
	EXPECT_EQ(1, seen.taken);
	self->set.fd = -1;
}

static int read_some(int fd)
{
	static char some[1 << 16];
	ssize_t n = read(fd, some, sizeof(some));

	return n > 0 ? n : BYTES;
}

/* Starts the set of a thread that is in write(), and unlinks it there. */
static void *unlink_overflowed(void *arg)
{
	struct writer *writer = arg;
	int size = fcntl(writer->pipe[0], F_GETPIPE_SZ), full = 0, left = BYTES;
	struct vpmc_read read = {};

	do {
		sched_yield();
		writer->err = ioctl(writer->pipe[0], FIONREAD, &full);
	} while (!writer->err && full < size);
	writer->err = writer->err ?:
		      vpmc_ioctl(writer->fd, VPMC_IOC_START, 0);
	/* It cannot return before the last bytes are read. */
	while (!writer->err && left > size &&
	       read.state != VPMC_STATE_OVERFLOWED) {
		left -= read_some(writer->pipe[0]);
		sched_yield();
		writer->err = vpmc_read(writer->fd, &read);
	}
	writer->err = writer->err ?:
		      vpmc_ioctl(writer->fd, VPMC_IOC_UNLINK, 0);
	while (left > 0)
		left -= read_some(writer->pipe[0]);
	return NULL;
}

/*
 * The period ends in the kernel, and the set is unlinked before its owner
 * returns to user mode: no signal is sent.
 */
TEST_F(overflow_signal, unlinked_in_a_system_call)
{
	struct writer writer = { .fd = self->set.fd };
	static char bytes[BYTES];
	pthread_t thread;

	ASSERT_EQ(0, handle(&self->set, SIGIO, 0));
	ASSERT_EQ(0, pipe(writer.pipe));
	control_init(&self->set.control, VPMC_CONTROL_STOPPED);
	control_add_period(&self->set.control, KERNEL_INSNS, VPMC_ANY, PERIOD);
	self->set.control.signal = SIGIO;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, pthread_create(&thread, NULL, unlink_overflowed, &writer));
	EXPECT_EQ(BYTES, write(writer.pipe[1], bytes, BYTES));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, writer.err);
	EXPECT_LT(0, self->set.page->overflows);
	EXPECT_EQ(VPMC_STATE_UNLINKED, self->set.page->state);
	EXPECT_EQ(0, seen.taken);
}

/* Without UNLINK a set continues, whichever descriptors are closed. */
TEST_F(overflow_signal, after_close)
{
	int fd = self->set.fd;

	ASSERT_EQ(0, handle(&self->set, SIGIO, 0));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START, 0));
	close(fd);
	code_loop(TURNS, 0);
	EXPECT_EQ(1, seen.taken);
	EXPECT_EQ(1, seen.info.si_fd);
	self->set.fd = vpmc_open();
	EXPECT_EQ(VPMC_STATE_OVERFLOWED, self->set.page->state);
	EXPECT_TRUE(overflow_fits(self->set.page->slot[0].base, PERIOD, PERIOD, true));
}

/* The signal behaves like any other one. */
TEST_F(overflow_signal, default_action)
{
	pid_t pid = fork();

	if (!pid) {
		struct set set;

		set.fd = vpmc_open();
		set.control = self->set.control;
		if (set_control(&set))
			_exit(1);
		set_measure(&set, code_loop, TURNS, 0);
		_exit(2);
	}
	EXPECT_EQ(KILLED_BY(SIGIO), child_status(pid));
}

/* Only its own thread gets the signal. Another thread resumes the set. */
struct other {
	pthread_t thread;
	struct set set;
	volatile pid_t tid;
	struct vpmc_control control;
	long err;
	pid_t told;
};

static volatile pid_t told;

static void tell(int sig)
{
	told = my_tid();
}

static void *other_thread(void *arg)
{
	struct other *o = arg;

	o->set.fd = vpmc_open();
	o->set.page = vpmc_map(o->set.fd);
	o->set.control = o->control;
	o->tid = my_tid();
	o->err = set_control(&o->set);
	o->err |= set_measure(&o->set, code_loop, TURNS, 0);
	o->told = told;
	return NULL;
}

TEST_F(overflow_signal, owner_alone)
{
	struct other o = { .control = self->set.control };

	ASSERT_NE(SIG_ERR, signal(SIGIO, tell));
	ASSERT_EQ(0, pthread_create(&o.thread, NULL, other_thread, &o));
	pthread_join(o.thread, NULL);
	EXPECT_EQ(0, o.err);
	EXPECT_EQ(o.tid, o.told);
	EXPECT_NE(my_tid(), o.told);
	set_close(&o.set);
}

/*
 * Kernel mode overflows too; the address is the one in user mode. The interrupt has
 * to wait there, and what is counted meanwhile is part of the next period.
 */
TEST_F(overflow_signal, no_kernel_address)
{
	extern const char __executable_start[], etext[];
	const uint64_t period = KERNEL_PERIOD;
	struct vpmc_read read;
	uint64_t i;

	ASSERT_EQ(0, take_overflows(&self->set, SIGIO));
	control_init(&self->set.control, VPMC_CONTROL_STOPPED);
	self->set.control.signal = SIGIO;
	control_add_period(&self->set.control, 0x200c0, 1, period);
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_syscalls, KERNEL_SYSCALLS, 0));
	EXPECT_LT(20, code_overflows);
	EXPECT_EQ(0, code_overflow_error);
	for (i = 0; i < code_overflows; i++) {
		EXPECT_LE((uint64_t)__executable_start, code_overflow_log[i].ip);
		EXPECT_GE((uint64_t)etext, code_overflow_log[i].ip);
		EXPECT_EQ(1, code_overflow_log[i].mask);
	}
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(read.sum[0] / period, self->set.page->overflows);
}

/* A full queue: the signal comes without its values. */
TEST_F(overflow_signal, full_queue)
{
	const struct rlimit none = {};

	self->set.control.signal = SIGRTMIN + 1;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, handle(&self->set, SIGRTMIN + 1, 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_SIGPENDING, &none));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(1, seen.taken);
	EXPECT_EQ(SI_USER, seen.info.si_code);
	EXPECT_EQ(1, seen.overflowed);
	EXPECT_TRUE(overflow_fits(seen.count[0], PERIOD, PERIOD, true));
}

static size_t read_whole(int fd, void *to, size_t size)
{
	size_t done = 0;
	ssize_t n;

	do {
		n = read(fd, (char *)to + done, size - done);
		done += n > 0 ? n : 0;
	} while (n > 0 && done < size);
	return done;
}

/*
 * Counts in a child: from START to execve(), or until a period has ended before
 * that, which is without a signal then. Says what it read, and becomes exec_image.
 */
static void count_and_exec(struct set *set, int out, bool stands)
{
	char *const argv[] = { "exec_image", NULL };
	struct vpmc_read read;

	set->fd = vpmc_open();
	if (stands)
		set->control.signal = 0;
	if (set_control(set) || dup2(out, 1) < 0 || dup2(set->fd, EXEC_FD) < 0)
		_exit(1);
	if (!stands)
		code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
			     (long)exec_image_path(), (long)argv);
	if (vpmc_ioctl(EXEC_FD, VPMC_IOC_START, 0))
		_exit(2);
	code_loop(100000, 0);
	if (vpmc_read(EXEC_FD, &read) || write(1, &read, sizeof(read)) < 0)
		_exit(3);
	execv(exec_image_path(), argv);
	_exit(4);
}

/* execve() of a program that knows nothing of it: its counts are exact. */
TEST_F(overflow_signal, exec)
{
	const struct code_count want =
		code_add(CODE_EXEC_IMAGE, code_add(CODE_MEASURE_HEAD, CODE_EXEC));
	struct vpmc_read read = {};
	int pipe_fd[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(pipe_fd));
	pid = fork();
	if (!pid)
		count_and_exec(&self->set, pipe_fd[1], false);
	close(pipe_fd[1]);
	EXPECT_EQ(sizeof(read), read_whole(pipe_fd[0], &read, sizeof(read)));
	close(pipe_fd[0]);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	EXPECT_TRUE(fits_since(read.sum[0], want.insns, 1));
	EXPECT_TRUE(fits_since(read.sum[1], want.branches, 1));
}

/* A set that an overflow has stopped goes on with the new program. */
TEST_F(overflow_signal, exec_while_it_stands)
{
	const struct code_count want = CODE_EXEC_IMAGE;
	struct vpmc_read read[2] = {};
	int pipe_fd[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(pipe_fd));
	pid = fork();
	if (!pid)
		count_and_exec(&self->set, pipe_fd[1], true);
	close(pipe_fd[1]);
	EXPECT_EQ(sizeof(read), read_whole(pipe_fd[0], read, sizeof(read)));
	close(pipe_fd[0]);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_STATE_OVERFLOWED, read[0].state);
	EXPECT_EQ(VPMC_STATE_STOPPED, read[1].state);
	EXPECT_TRUE(fits_since(read[1].sum[0] - read[0].sum[0], want.insns, 2));
	EXPECT_TRUE(fits_since(read[1].sum[1] - read[0].sum[1], want.branches, 2));
}

NEEDS(
	/* These count the kernel. */
	{ "overflow_signal.no_kernel_address", PMU | ROOT },
	{ "overflow_signal.unlinked_in_a_system_call", PMU | ROOT },
	{ "*", PMU },
);

TEST_HARNESS_MAIN
