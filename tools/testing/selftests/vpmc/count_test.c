// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of code of known length, whatever happens to the thread meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"

FIXTURE(count)
{
	struct set set;
};

FIXTURE_VARIANT(count)
{
	struct choice choice[9];
};

FIXTURE_VARIANT_ADD(count, programmable)
{
	.choice = { { EV_INSNS, 0 }, { EV_BRANCHES, 1 } },
};

FIXTURE_VARIANT_ADD(count, fixed)
{
	.choice = { { EV_INSNS, FIXED(0) }, { EV_CYCLES, FIXED(1) } },
};

/* Out of order, with gaps. */
FIXTURE_VARIANT_ADD(count, mixed)
{
	.choice = { { EV_BRANCHES, 3 }, { EV_INSNS, FIXED(0) },
		    { EV_CYCLES, 1 } },
};

FIXTURE_VARIANT_ADD(count, any)
{
	.choice = { { EV_BRANCHES, VPMC_ANY }, { EV_INSNS, VPMC_ANY },
		    { EV_CYCLES, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY } },
};

FIXTURE_VARIANT_ADD(count, one_event)
{
	.choice = { { EV_INSNS, VPMC_ANY }, { EV_INSNS, VPMC_ANY },
		    { EV_INSNS, VPMC_ANY }, { EV_INSNS, VPMC_ANY },
		    { EV_INSNS, VPMC_ANY } },
};

FIXTURE_VARIANT_ADD(count, all)
{
	.choice = { { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, { EV_INSNS, 2 },
		    { EV_BRANCHES, 3 }, { EV_INSNS, FIXED(0) },
		    { EV_CYCLES, FIXED(1) } },
};

FIXTURE_SETUP(count)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&self->set, variant->choice));
}

FIXTURE_TEARDOWN(count)
{
	set_close(&self->set);
}

TEST_F(count, alone)
{
	/* A shorter count is less than its tolerance. */
	uint64_t n = counts_are_exact() ? 1 : 1000;

	if (counts_are_exact()) {
		ASSERT_EQ(0, set_measure(&self->set, code_nothing, 0, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_NOTHING));
	}
	for (; n <= 10000000; n *= 10) {
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, n, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(n)));
	}
}

/* START and STOP continue from the present sums. */
TEST_F(count, in_parts)
{
	struct code_count sum = CODE_COUNT(0, 0);
	/* Each part has more than what all starts may add. */
	const int part = counts_are_exact() ? 1 : 10000;
	struct vpmc_read read;
	int i;

	for (i = 1; i <= 100; i++) {
		ASSERT_EQ(0, set_measure(&self->set, code_loop, i * part, 0));
		/* not counted */
		ASSERT_EQ(0, code_loop(1000 * part, 0));
		sum = code_add(sum, code_add(CODE_MEASURE, CODE_LOOP(i * part)));
	}
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, wrong_sums(&self->set, &read, sum));
}

TEST_F(count, system_calls)
{
	ASSERT_EQ(0, set_measure(&self->set, code_syscalls, 10000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_SYSCALLS(10000)));
}

TEST_F(count, sleeps)
{
	const struct timespec ts = short_sleep(50000);

	ASSERT_EQ(0, set_measure(&self->set, code_sleep_loop, (long)&ts, 100));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_SLEEP_LOOP(100)));
	EXPECT_LE(test_often(100), page_switches(&self->set));
}

TEST_F(count, page_faults)
{
	const long pages = 2000;
	struct rusage before, after;
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	getrusage(RUSAGE_THREAD, &before);
	ASSERT_EQ(0, set_measure(&self->set, code_touch, (long)p, pages));
	getrusage(RUSAGE_THREAD, &after);
	EXPECT_EQ(0, wrong_after(&self->set, CODE_TOUCH(pages)));
	EXPECT_LE(pages, after.ru_minflt - before.ru_minflt);
}

TEST_F(count, preemptions)
{
	pid_t pid = start_preempter(0, 50000);
	uint64_t switches = 0;
	int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < test_tries(20) && switches < test_often(100); i++) {
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 10000000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(10000000)));
		switches += page_switches(&self->set);
	}
	EXPECT_LE(test_often(100), switches);
	EXPECT_EQ(0, stop_disturber(pid));
}

/*
 * While the owner sleeps, the CPU is switched from the idle thread to others,
 * too. The page is not mapped, because with RDPMC the kernel would handle the
 * switch in any case.
 */
TEST_F(count, sleeps_while_others_run)
{
	const struct timespec ts = short_sleep(200000);
	pid_t pid = start_preempter(0, 30000);

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, munmap(self->set.page, PAGE));
	self->set.page = MAP_FAILED;
	ASSERT_EQ(0, set_measure(&self->set, code_sleep_loop, (long)&ts, 50));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_SLEEP_LOOP(50)));
	EXPECT_EQ(0, stop_disturber(pid));
}

TEST_F(count, migrations)
{
	static const long mask[2] __attribute__((aligned(16))) = { 1, 2 };
	/* The tolerance of 100 is less than what is counted between two of them. */
	const long n = counts_are_exact() ? 1000 : 100;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(&self->set, code_migrate, (long)mask, n));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_MIGRATE(n)));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(n, read.migrations);
}

TEST_F(count, migrated_by_another)
{
	pid_t pid = start_migrator(my_tid(), 50000);
	uint64_t moved = 0;
	int i;

	ASSERT_LT(0, pid);
	/* The migrator's CPU may stand for a while on a host that has other work. */
	for (i = 0; i < 20 && moved < test_often(100); i++) {
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 20000000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(20000000)));
		moved += page_migrations(&self->set);
	}
	EXPECT_LE(test_often(100), moved);
	EXPECT_EQ(0, stop_disturber(pid));
}

/* sigaction() of the C library has a restorer of its own. */
static int handle(int sig)
{
	struct {
		void (*handler)(int sig);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {
		.handler = code_handler,
		.flags = 0x04000000 /* SA_RESTORER */ | SA_RESTART,
		.restorer = code_restorer,
	};

	return syscall(SYS_rt_sigaction, sig, &action, NULL, 8);
}

TEST_F(count, signals)
{
	struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, never = {};
	const long n = 60000000;
	uint64_t before;
	sigset_t set;
	int i;

	ASSERT_EQ(0, wait_for_fine_timers());
	ASSERT_EQ(0, handle(SIGALRM));
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	ASSERT_EQ(0, sigprocmask(SIG_BLOCK, &set, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &each_ms, NULL));
	/* Signals are blocked between the loops. */
	for (i = 0; i < test_tries(20) && code_signals_taken < test_often(100); i++) {
		before = code_signals_taken;
		ASSERT_EQ(0, set_clear(&self->set));
		ASSERT_EQ(0, set_measure(&self->set, code_signals, (long)&set, n));
		EXPECT_EQ(0, wrong_after(&self->set,
					 code_add(CODE_SIGNALS(n),
						  code_times(CODE_ONE_SIGNAL,
							     code_signals_taken - before))));
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_LE(test_often(100), code_signals_taken);
}

TEST_F(count, fork)
{
	ASSERT_EQ(0, set_measure(&self->set, code_fork, 1000000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_FORK));
}

/*
 * CONTROL without the flag STOPPED starts: what is counted is the rest of
 * code_measure(), whose first system call it is.
 */
TEST_F(count, control_starts)
{
	struct vpmc_control *control = &self->set.control;
	struct code_count turn = CODE_COUNT(2, 1);
	struct vpmc_read one, two;

	control->flags = 0;
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, code_control(self->set.fd, control, 1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &one));
	EXPECT_EQ(VPMC_STATE_STOPPED, one.state);
	EXPECT_EQ(0, wrong_sums(&self->set, &one, CODE_CONTROL(1)));
	ASSERT_EQ(0, code_control(self->set.fd, control, 1000));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &two));
	EXPECT_EQ(0, wrong_sums(&self->set, &two,
				code_add(CODE_CONTROL(1),
					 code_times(turn, 999))));
}

/* What runs in the child that will become exec_image. */
static int exec_child(const struct choice *choice, int out)
{
	char *argv[] = { "exec_image", NULL };
	const char *path = exec_image_path();
	struct set set;

	if (dup2(out, 1) != 1 || set_open(&set, choice) ||
	    dup2(set.fd, EXEC_FD) != EXEC_FD)
		return 101;
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     (long)path, (long)argv);
	return 102;
}

struct exec_thread {
	const struct choice *choice;
	int out;
};

static void *exec_thread(void *arg)
{
	struct exec_thread *thread = arg;

	_exit(exec_child(thread->choice, thread->out));
}

static int read_all(int fd, void *buf, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = read(fd, (char *)buf + done, size - done);
		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

/* Returns what is wrong with the counts of the image. */
static int check_exec(const struct set *set, const struct choice *choice,
		      bool by_thread, struct vpmc_page *page, pid_t *pid)
{
	struct exec_thread thread = { .choice = choice };
	uint64_t before = all_disturbances();
	struct vpmc_read read = {};
	pthread_t pthread;
	int pipe_fd[2];

	if (pipe(pipe_fd))
		return -1;
	*pid = fork();
	if (!*pid) {
		close(pipe_fd[0]);
		thread.out = pipe_fd[1];
		if (!by_thread)
			_exit(exec_child(choice, pipe_fd[1]));
		pthread_create(&pthread, NULL, exec_thread, &thread);
		pthread_join(pthread, NULL);
		_exit(103);
	}
	close(pipe_fd[1]);
	if (read_all(pipe_fd[0], &read, sizeof(read)) ||
	    read_all(pipe_fd[0], page, sizeof(*page)))
		fprintf(stderr, "# the image wrote too little\n");
	close(pipe_fd[0]);
	if (child_status(*pid))
		return -2;
	return wrong_sums_within(set, &read,
				 code_add(CODE_EXEC_IMAGE,
					  code_add(CODE_MEASURE_HEAD, CODE_EXEC)),
				 tolerated(all_disturbances() - before, 2), 1);
}

TEST_F(count, exec)
{
	static struct vpmc_page page;
	pid_t pid;

	EXPECT_EQ(0, check_exec(&self->set, variant->choice, false, &page,
				&pid));
	EXPECT_EQ(pid, page.tid);
	EXPECT_EQ(VPMC_STATE_STOPPED, page.state);
	EXPECT_EQ(self->set.control.nr_counters, page.nr_counters);
}

/* The thread that calls execve() becomes the leader. */
TEST_F(count, exec_by_thread)
{
	static struct vpmc_page page;
	pid_t pid;

	EXPECT_EQ(0, check_exec(&self->set, variant->choice, true, &page,
				&pid));
	EXPECT_EQ(pid, page.tid);
}

/*
 * A CPU still counts for a thread if no other one ran there since. The ticket
 * of its load shows that. It differs from all tickets of the other CPU, even if
 * that CPU had as many loads.
 */
TEST(as_many_loads_on_two_cpus)
{
	static const struct choice other[] = {
		{ EV_BRANCHES, 0 }, { EV_INSNS, 1 }, {}
	};
	static const struct choice two[] = {
		{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {}
	};
	/* From the first one to the second, and vice versa. */
	static const long mask[2][2] __attribute__((aligned(16))) = {
		{ 1, 2 }, { 2, 1 },
	};
	int wrong = 0, way, i;
	struct set set;

	ASSERT_EQ(0, set_open(&set, two));
	for (way = 0; way < 2; way++) {
		for (i = 0; i < 1000; i++) {
			/* One load here, and two there */
			ASSERT_EQ(0, pin(mask[way][1] - 1));
			ASSERT_EQ(0, set_program(&set, other));
			ASSERT_EQ(0, set_measure(&set, code_nothing, 0, 0));
			ASSERT_EQ(0, pin(mask[way][0] - 1));
			ASSERT_EQ(0, set_program(&set, two));
			ASSERT_EQ(0, set_measure(&set, code_migrate,
						 (long)mask[way], 1));
			wrong += !!wrong_after(&set, CODE_MIGRATE(1));
		}
	}
	EXPECT_EQ(0, wrong);
	set_close(&set);
}

NEEDS(
	/* It starts a thousand times. */
	{ "count.*.control_starts", TRUE_COUNTS },
	/* What happens to a set happens to one without counters, too. */
	{ "count.any.migrated_by_another", PMU | OR_EMPTY | FIFO | TWO_CPUS },
	{ "count.any.migrations", PMU | OR_EMPTY | TWO_CPUS },
	{ "count.any.preemptions", PMU | OR_EMPTY | FIFO },
	{ "count.any.sleeps_while_others_run", PMU | OR_EMPTY | FIFO },
	{ "count.any.*", PMU | OR_EMPTY },
	{ "count.*.migrated_by_another", PMU | FIFO | TWO_CPUS },
	{ "count.*.migrations", PMU | TWO_CPUS },
	{ "count.*.preemptions", PMU | FIFO },
	{ "count.*.sleeps_while_others_run", PMU | FIFO },
	{ "global.as_many_loads_on_two_cpus", PMU | TWO_CPUS },
	{ "*", PMU },
);

TEST_HARNESS_MAIN
