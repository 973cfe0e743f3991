// SPDX-License-Identifier: GPL-2.0
/*
 * Sets and perf use counters of the same PMU at once. Both count exactly, and each
 * gets its own overflows.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/prctl.h>
#include "shared.h"
#include "proc.h"

/* An event on any counter, and an overflow after each period: 0 or -errno. */
static int open_for_each(struct set *set, uint64_t evtsel, uint64_t period)
{
	return open_rearmed(set, evtsel, VPMC_ANY, period) ?: set_control(set);
}

static int open_each_1000(struct set *set)
{
	return open_for_each(set, EV_INSNS, 1000);
}

/* perf has no event, and still handles the interrupt. */
TEST_F(shared, overflows_without_perf)
{
	ASSERT_EQ(0, open_each_1000(&self->set));
	expect_overflows(_metadata, &self->set, 1000);
}

/* Both interrupt, often together. Neither loses one or gets the other's. */
TEST_F(shared, overflows)
{
	struct perf_samples perf;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, 1009));
	ASSERT_EQ(0, open_each_1000(&self->set));
	expect_overflows_of_both(_metadata, &self->set, 1000, &perf, 1009);
	samples_close(&perf);
}

/*
 * The set counts the kernel, so most of its overflows come while perf's NMI is
 * handled, after perf has read the status, too. None is lost.
 */
TEST_F(shared, overflows_in_the_handler)
{
	const struct code_count more = code_add(CODE_MEASURE, CODE_LOOP(100000));
	/* Longer than perf's handler takes, also on a slow kernel. */
	const uint64_t period = 20011 * test_slowness();
	struct perf_samples perf;
	struct vpmc_read read;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, 1009));
	ASSERT_EQ(0, open_for_each(&self->set, EV_KERNEL_INSNS, period));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, code_measure(perf.fd, PERF_EVENT_IOC_ENABLE,
				  PERF_EVENT_IOC_DISABLE, code_loop, 100000, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(2 * more.insns, read.sum[0]);
	EXPECT_EQ(read.sum[0] / period, self->set.page->overflows);
	EXPECT_EQ(0, self->set.page->merged);
	EXPECT_EQ(more.insns / 1009, samples_taken(&perf));
	samples_close(&perf);
}

/* A CPU becomes the set's while perf's event runs there, and interrupts. */
TEST_F(shared, overflows_before_and_after)
{
	struct perf_samples perf;
	__u64 count;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, 1009));
	ASSERT_EQ(0, set_open(&self->set, branches));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_ENABLE, 0));
	code_loop(10000, 0);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 50000, 0));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(50000)));
	ASSERT_EQ(8, read(perf.fd, &count, 8));
	EXPECT_LT(CODE_LOOP(60000).insns, count);
	EXPECT_EQ(count / 1009, samples_taken(&perf));
	samples_close(&perf);
}

/* Opens one event of this thread, stopped; with @inherit of its children, too. */
static int open_single_of(uint64_t config, bool inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config | perf_pmu_here(),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.inherit = inherit,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static int open_single(bool inherit)
{
	return open_single_of(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, inherit);
}

/* perf counts on so many counters of this CPU, and leaves them dirty: 0 or -1. */
static int leave_dirty(int *fd, int n)
{
	int good = !open_branches(fd, n, 0) && group_counts(fd, n) > 0;

	perf_close_all(fd);
	return good ? 0 : -1;
}

/* Maps an event. So perf lets the process use RDPMC, and zeroes dirty counters. */
static int let_perf_zero(void)
{
	int fd = open_single(false);
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	return page == MAP_FAILED ? -1 : munmap(page, PAGE);
}

/* perf zeroes dirty counters meanwhile: 0, or what is wrong. */
static int wrong_while_zeroed(const struct set *set)
{
	struct vpmc_read read;
	int i;

	if (vpmc_ioctl(set->fd, VPMC_IOC_START, 0))
		return 1;
	code_loop(1000, 0);
	if (let_perf_zero())
		return 2;
	code_loop(1000, 0);
	if (vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ||
	    vpmc_read(set->fd, &read))
		return 3;
	for (i = 0; i < ALL_GP - 1; i++)
		if (read.sum[i] != read.sum[0] || read.sum[i] < 2000 ||
		    read.sum[i] > 100000)
			return 10 + i;
	return 0;
}

/*
 * perf had events on the counters that it lends. It does not zero these counters
 * after a set has begun to use them. The set has no page, which would have made
 * perf do it before.
 */
TEST_F(shared, not_zeroed)
{
	int cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		ASSERT_EQ(0, leave_dirty(self->perf, ALL_GP));
		self->set.fd = vpmc_open();
		ASSERT_LE(0, self->set.fd);
		ASSERT_EQ(0, set_program(&self->set, all_but_one));
		EXPECT_EQ(0, wrong_while_zeroed(&self->set));
		set_close(&self->set);
		usleep(300000);
	}
}

/* The same with counters that are borrowed while another set counts there. */
TEST_F(shared, more_not_zeroed)
{
	struct set more = { .page = MAP_FAILED };
	pid_t pid;

	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	ASSERT_EQ(0, set_program(&self->set, branches));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, leave_dirty(self->perf, ALL_GP - 1));
	pid = fork();
	if (!pid) {
		more.fd = vpmc_open();
		if (more.fd < 0 || set_program(&more, all_but_one))
			_exit(100);
		_exit(wrong_while_zeroed(&more));
	}
	EXPECT_EQ(0, child_status(pid));
}

/*
 * A process with one event of perf, @counting or stopped, reads all other counters of
 * CPU 1: 0, or 1 and the number of a counter with a count, or 100 for an error.
 */
static int reads_on_cpu_1(bool counting)
{
	struct perf_event_mmap_page *page;
	int i, fd;

	if (pin(1))
		return 100;
	fd = open_single(false);
	if (counting && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return 100;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || !page->index != !counting)
		return 100;
	for (i = 0; i < ALL_GP; i++)
		if (i + 1 != (int)page->index && __builtin_ia32_rdpmc(i))
			return 1 + i;
	return 0;
}

/* Where no set runs, perf zeroes lent counters, too: nobody reads its counts. */
static void expect_zeroed(struct __test_metadata *_metadata, int *perf,
			  struct set *set, bool counting)
{
	pid_t pid;

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, leave_dirty(perf, ALL_GP));
	ASSERT_EQ(0, pin(0));
	set->fd = vpmc_open();
	ASSERT_LE(0, set->fd);
	ASSERT_EQ(0, set_program(set, all_but_one));
	pid = fork();
	if (!pid)
		_exit(reads_on_cpu_1(counting));
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(shared, zeroed_for_readers)
{
	expect_zeroed(_metadata, self->perf, &self->set, false);
}

TEST_F(shared, zeroed_for_readers_that_count)
{
	expect_zeroed(_metadata, self->perf, &self->set, true);
}

struct single {
	__u64 count, enabled, running;
};

#define MULTIPLEXED	8

/* What all of them count of a loop together, and constantly more; or -1. */
static long multiplexed_counts(const int *fd, struct set *set, long n)
{
	struct single before, after;
	__u64 sum = 0;
	int i;

	for (i = 0; i < MULTIPLEXED; i++) {
		if (read(fd[i], &before, sizeof(before)) != sizeof(before))
			return -1;
		sum -= before.count;
	}
	if (prctl(PR_TASK_PERF_EVENTS_ENABLE) ||
	    set_measure(set, code_loop, n, 0) ||
	    prctl(PR_TASK_PERF_EVENTS_DISABLE))
		return -1;
	for (i = 0; i < MULTIPLEXED; i++) {
		if (read(fd[i], &after, sizeof(after)) != sizeof(after) ||
		    (n > 1000000 && (!after.running ||
				     after.running >= after.enabled / 2)))
			return -1;
		sum += after.count;
	}
	return sum;
}

/*
 * perf has one counter left, and eight events take turns on it: each has it for
 * some time, and nothing is counted twice or by none.
 */
TEST_F(shared, multiplexed)
{
	int fd[MULTIPLEXED], i;
	long few, many;

	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	for (i = 0; i < MULTIPLEXED; i++) {
		fd[i] = open_single(false);
		ASSERT_LE(0, fd[i]);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		few = multiplexed_counts(fd, &self->set, 1000);
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		many = multiplexed_counts(fd, &self->set, 50000000);
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(50000000)));
		EXPECT_LT(0, few);
		EXPECT_EQ(50000000 - 1000, many - few);
	}
	for (i = 0; i < MULTIPLEXED; i++)
		close(fd[i]);
}

/* What an inherited event counts of a child's loop, and constantly more; or -1. */
static long inherited_counts(int fd, long n)
{
	struct single before, after;
	pid_t pid;

	if (read(fd, &before, sizeof(before)) != sizeof(before))
		return -1;
	pid = fork();
	if (!pid) {
		code_loop(n, 0);
		_exit(0);
	}
	if (child_status(pid) ||
	    read(fd, &after, sizeof(after)) != sizeof(after))
		return -1;
	return after.count - before.count;
}

/* perf's event and a set are inherited at once. */
TEST_F(shared, inherited)
{
	struct vpmc_read few, many;
	long perf_few, perf_many;

	self->perf[0] = open_single(true);
	ASSERT_LE(0, self->perf[0]);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	control_init(&self->set.control, VPMC_CONTROL_INHERIT_PROCESSES);
	control_choose(&self->set.control, EV_BRANCHES, VPMC_ANY);
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	/* The first child finds what later ones need not look for. */
	ASSERT_LT(0, inherited_counts(self->perf[0], 1));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	perf_few = inherited_counts(self->perf[0], 1000);
	few = (struct vpmc_read){
		.size = sizeof(few), .flags = VPMC_READ_FINISHED,
	};
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, &few));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	perf_many = inherited_counts(self->perf[0], 1000000);
	many = (struct vpmc_read){
		.size = sizeof(many), .flags = VPMC_READ_FINISHED,
	};
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, &many));
	EXPECT_EQ(1000000 - 1000, perf_many - perf_few);
	EXPECT_EQ(1000000 - 1000, many.sum[0] - few.sum[0]);
}

/* perf's group starts and stops 1,000 times while a set counts. */
TEST_F(shared, enabled_and_disabled)
{
	static const struct choice twice[] = {
		{ EV_INSNS, VPMC_ANY }, { EV_INSNS, 3 }, {}
	};
	const struct code_count want =
		code_times(code_add(CODE_MEASURE, CODE_LOOP(10)), 1000);
	/* perf's three have to fit beside the set. */
	const bool fits = machine.nr_gp + machine.nr_fixed >= 3 + 2;
	struct vpmc_read read;
	__u64 count[3];
	int i;

	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, set_open(&self->set, fits ? twice : twice + 1));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, code_measure(self->perf[0], PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  10, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, perf_read(self->perf[0], 3, count));
	EXPECT_EQ(want.insns, count[0]);
	EXPECT_EQ(want.branches, count[1]);
	EXPECT_EQ(want.insns, count[2]);
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(want.insns, read.sum[0]);
	EXPECT_EQ(fits ? read.sum[0] : 0, read.sum[1]);
}

/* As "perf stat" with six events, which do not always fit beside sets. */
#define SIX	6
#define SIX_TURNS	100000

static const uint64_t six_configs[SIX] = {
	PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
};

/* What @n events count of a loop, and what their times say: 0 or -1. */
static int count_loop(const int *fd, int n, struct single *more)
{
	struct single before[SIX], after;
	int i;

	for (i = 0; i < n; i++)
		if (read(fd[i], &before[i], sizeof(after)) != sizeof(after))
			return -1;
	if (prctl(PR_TASK_PERF_EVENTS_ENABLE))
		return -1;
	code_loop(SIX_TURNS, 0);
	if (prctl(PR_TASK_PERF_EVENTS_DISABLE))
		return -1;
	for (i = 0; i < n; i++) {
		if (read(fd[i], &after, sizeof(after)) != sizeof(after))
			return -1;
		more[i].count = after.count - before[i].count;
		more[i].enabled = after.enabled - before[i].enabled;
		more[i].running = after.running - before[i].running;
	}
	return 0;
}

/* Opens the events, and sees what each counts while it is alone: 0 or -1. */
static int open_six(int *fd, struct single *alone)
{
	int i, one, bad = 0;

	for (i = 0; i < SIX; i++) {
		one = open_single_of(six_configs[i], false);
		bad |= count_loop(&one, 1, &alone[i]) ||
		       alone[i].running != alone[i].enabled ||
		       alone[i].count < SIX_TURNS;
		close(one);
	}
	for (i = 0; i < SIX; i++) {
		fd[i] = open_single_of(six_configs[i], false);
		bad |= fd[i] < 0;
	}
	return -bad;
}

/*
 * An event that ran all the time has counted all. No event has more. Returns
 * the number of errors, and adds to @partly how many had a counter at times.
 */
static int wrong_six(const int *fd, const struct single *alone, int *partly)
{
	struct single more[SIX];
	int i, wrong = 0;

	if (count_loop(fd, SIX, more))
		return -1;
	for (i = 0; i < SIX; i++) {
		bool all = more[i].running == more[i].enabled;

		wrong += more[i].running > more[i].enabled ||
			 more[i].count > alone[i].count ||
			 (all && more[i].count != alone[i].count);
		*partly += !all;
	}
	return wrong;
}

/* A loan begins with a borrower's first set, and ends after the last set of all. */
struct loans {
	int begun;
	int ended;
	int wanted;	/* borrowers end after so many, and when perf has multiplexed */
	int partly;	/* events that had a counter at times */
};

static bool loans_go_on(struct loans *loans)
{
	volatile struct loans *now = loans;

	return now->ended < now->wanted || !now->partly;
}

/* CONTROL may be refused at the moment of another process's write of the setting. */
static int program_meanwhile(struct set *set, const struct choice *choice)
{
	int i, err;

	for (i = 0; i < 10; i++) {
		err = set_program(set, choice);
		if (err != -EBUSY || (set->control.reason != VPMC_REASON_REVOKED &&
				      set->control.reason != VPMC_REASON_PMU_BUSY))
			break;
	}
	if (err)
		fprintf(stderr, "# CONTROL: %d, reason %u\n", err,
			set->control.reason);
	return err;
}

/*
 * CONTROL and UNLINK of sets of 1, 2, and all but one counters, and of fixed ones,
 * as long as loans_go_on(). A write of the setting ends a loan at once if no set is
 * left.
 */
static void borrow_at_random(unsigned int seed, struct loans *loans)
{
	const struct choice * const choices[] = { branches, both, all_but_one };
	struct set set = { .page = MAP_FAILED, .fd = vpmc_open() };
	long times = 0;

	while (loans_go_on(loans)) {
		const struct choice *choice = choices[rand_r(&seed) % 3];

		if (rand_r(&seed) % 8 == 0 && pin(rand_r(&seed) % 2))
			_exit(1);
		if (program_meanwhile(&set, choice))
			_exit(2);
		loans->begun = 1;
		if (set_measure(&set, code_loop, 100, 0) ||
		    wrong_after(&set, CODE_LOOP(100)))
			_exit(3);
		if (++times > 1000L * loans->wanted + 100000)
			_exit(4);
		if (rand_r(&seed) % 2)
			continue;
		set_close(&set);
		set = (struct set){ .page = MAP_FAILED, .fd = vpmc_open() };
		if (!keep_counters("shared") &&
		    __atomic_exchange_n(&loans->begun, 0, __ATOMIC_SEQ_CST))
			__atomic_add_fetch(&loans->ended, 1, __ATOMIC_SEQ_CST);
		if (rand_r(&seed) % 64 == 0)
			usleep(150000);
	}
	_exit(0);
}

/* Loans of all borrowers: so many, or what the environment says. */
static int many_times(void)
{
	const char *loans = getenv("SHARED_LOANS");

	return loans ? atoi(loans) : test_often(500);
}

/* All are exact: the sets, and perf's counting, sampling and multiplexing. */
TEST_F_TIMEOUT(shared, many_borrowers, 1800)
{
	const uint64_t want = code_add(CODE_MEASURE, CODE_LOOP(100000)).insns;
	int running = 4, status, fd[SIX], i;
	struct single alone[SIX];
	struct perf_samples perf;
	struct loans *loans;

	loans = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, loans);
	loans->wanted = many_times();
	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, open_six(fd, alone));
	for (i = 0; i < running; i++)
		if (!fork())
			borrow_at_random(i + 1, loans);
	while (running) {
		EXPECT_EQ(0, perf_error(100000));
		ASSERT_EQ(0, samples_open(&perf, 1009));
		ASSERT_EQ(0, code_measure(perf.fd, PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  100000, 0));
		EXPECT_EQ(want / 1009, samples_taken(&perf));
		samples_close(&perf);
		EXPECT_EQ(0, wrong_six(fd, alone, &loans->partly));
		while (running && waitpid(-1, &status, WNOHANG) > 0) {
			EXPECT_EQ(0, status);
			running--;
		}
	}
	EXPECT_LE(loans->wanted, loans->ended);
	EXPECT_LT(0, loans->partly);
	for (i = 0; i < SIX; i++)
		close(fd[i]);
	ASSERT_EQ(0, open_branches(self->perf, ALL_GP, 0));
	EXPECT_EQ(1, returned(self->perf));
}

NEEDS({ "*", TRUE_COUNTS | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
