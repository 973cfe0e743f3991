// SPDX-License-Identifier: GPL-2.0
/*
 * Sets and perf use counters of the same PMU at once. Both count right, exactly or
 * within the tolerance, and each gets its own overflows.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/prctl.h>
#include "shared.h"
#include "single.h"
#include "proc.h"

/* An event on any counter, and an overflow after each period: 0 or -errno. */
static int open_for_each(struct set *set, uint64_t evtsel, uint64_t period)
{
	return open_rearmed(set, evtsel, VPMC_ANY, period) ?: set_control(set);
}

/* perf has no event, and still handles the interrupt. */
TEST_F(shared, overflows_without_perf)
{
	const uint64_t period = period_beside(1000);

	ASSERT_EQ(0, open_for_each(&self->set, EV_INSNS, period));
	expect_overflows(_metadata, &self->set, period);
}

/* Both interrupt, often together. Neither loses one or gets the other's. */
TEST_F(shared, overflows)
{
	const uint64_t period = period_beside(1000), other = period_beside(1009);
	struct perf_samples perf;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, other));
	ASSERT_EQ(0, open_for_each(&self->set, EV_INSNS, period));
	expect_overflows_of_both(_metadata, &self->set, period, &perf, other);
	samples_close(&perf);
}

/*
 * The set counts the kernel, so most of its overflows come while perf's NMI is
 * handled, after perf has read the status, too. None is lost.
 */
TEST_F(shared, overflows_in_the_handler)
{
	const uint64_t other = period_beside(1009);
	/* Longer than perf's handler takes, also on a slow kernel. */
	const uint64_t period = 20011 * test_slowness();
	struct perf_samples perf;
	struct vpmc_read read;
	struct set as = {};

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, other));
	ASSERT_EQ(0, open_for_each(&self->set, EV_KERNEL_INSNS, period));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	as.fd = perf.fd;
	ASSERT_EQ(0, perf_measure(&as, code_loop, TURNS_BESIDE, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT((counts_are_exact() ? 2 : 1) * measured(TURNS_BESIDE).insns,
		  read.sum[0]);
	EXPECT_EQ(read.sum[0] / period, self->set.page->overflows);
	EXPECT_EQ(0, self->set.page->merged);
	expect_samples_of(_metadata, &as, &perf, TURNS_BESIDE, other);
	samples_close(&perf);
}

/* A CPU becomes the set's while perf's event runs there, and interrupts. */
TEST_F(shared, overflows_before_and_after)
{
	const uint64_t period = period_beside(1009);
	struct perf_samples perf;
	__u64 count;

	ASSERT_EQ(0, allow_all_samples());
	ASSERT_EQ(0, samples_open(&perf, period));
	ASSERT_EQ(0, set_open(&self->set, branches));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_ENABLE, 0));
	code_loop(10000, 0);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 50000, 0));
	ASSERT_EQ(0, ioctl(perf.fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(50000)));
	ASSERT_EQ(8, read(perf.fd, &count, 8));
	EXPECT_LT(CODE_LOOP(60000).insns, count);
	EXPECT_TRUE(samples_fit(&perf, count, period))
		TH_LOG("%llu samples of %llu",
		       (unsigned long long)samples_taken(&perf), count);
	samples_close(&perf);
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
	uint64_t happened = disturbances(), more;
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
	happened = disturbances() - happened;
	more = tolerated(happened, 1 + happened);
	for (i = 0; i < ALL_GP - 1; i++)
		if (!count_fits(read.sum[i] + more, read.sum[0], 2 * more, 1000) ||
		    read.sum[i] < 2000 || read.sum[i] > 100000)
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

#define MULTIPLEXED	8

/*
 * What all of them count of a loop together, and constantly more; or -1. They would count
 * the reading of what disturbs, so that is read outside.
 */
static long multiplexed_counts(const int *fd, struct set *set, long n)
{
	uint64_t before_all = disturbances(), switches = own_switches();
	struct single before, after;
	__u64 sum = 0;
	int i;

	for (i = 0; i < MULTIPLEXED; i++) {
		if (read(fd[i], &before, sizeof(before)) != sizeof(before))
			return -1;
		sum -= before.count;
	}
	if (set_clear(set) || prctl(PR_TASK_PERF_EVENTS_ENABLE) ||
	    code_measure(set->fd, VPMC_IOC_START, VPMC_IOC_STOP, code_loop,
			 n, 0) ||
	    prctl(PR_TASK_PERF_EVENTS_DISABLE))
		return -1;
	for (i = 0; i < MULTIPLEXED; i++) {
		if (read(fd[i], &after, sizeof(after)) != sizeof(after))
			return -1;
		sum += after.count;
	}
	set->disturbances = disturbances() - before_all;
	set->pieces = 1 + own_switches() - switches;
	set->starts = 1;
	return sum;
}

/* Each event has had a counter for some time, and none for half of it. */
static bool each_had_its_turn(const int *fd)
{
	struct single now;
	int i;

	for (i = 0; i < MULTIPLEXED; i++)
		if (read(fd[i], &now, sizeof(now)) != sizeof(now) ||
		    !now.running || now.running >= now.enabled / 2)
			return false;
	return true;
}

/* The start and the stop of each event starts the one that counts, too. */
static uint64_t multiplexed_tolerated(const struct set *set)
{
	return perf_tolerated(set) + tolerated(0, 2 * MULTIPLEXED);
}

/* So long that each event has its turn. A processor may be faster than the emulator. */
#define MULTIPLEXED_TURNS	(emulator() ? 50000000L : 1000000000L)

/*
 * perf has one counter left, and eight events take turns on it: each has it for
 * some time, and nothing is counted twice or by none.
 */
TEST_F(shared, multiplexed)
{
	const int rounds = test_tries(20);
	const long n = MULTIPLEXED_TURNS;
	int fd[MULTIPLEXED], i;
	uint64_t less, more;
	long few, many;

	ASSERT_EQ(0, set_open(&self->set, all_but_one));
	for (i = 0; i < MULTIPLEXED; i++) {
		fd[i] = open_single(false);
		ASSERT_LE(0, fd[i]);
	}
	for (i = 0; i < 2 || (i < rounds && !each_had_its_turn(fd)); i++) {
		few = multiplexed_counts(fd, &self->set, 1000);
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
		less = multiplexed_tolerated(&self->set);
		many = multiplexed_counts(fd, &self->set, n);
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(n)));
		EXPECT_TRUE(!exact_machine() || each_had_its_turn(fd));
		EXPECT_LT(0, few);
		more = less + multiplexed_tolerated(&self->set);
		EXPECT_TRUE(count_fits(many - few + less, n - 1000, more,
				       perf_piece(&self->set, n)))
			TH_LOG("%ld, tolerance -%llu +%llu", many - few,
			       (unsigned long long)less,
			       (unsigned long long)(more - less));
	}
	EXPECT_TRUE(each_had_its_turn(fd));
	for (i = 0; i < MULTIPLEXED; i++)
		close(fd[i]);
}

/* What an inherited event and a set count of a child, and how much more it may be. */
struct of_a_child {
	long perf;
	uint64_t set;
	uint64_t more;
	uint64_t piece;
};

/* A child's loop, and constantly more: 0 or -1. */
static int inherited_counts(int fd, struct set *set, long n,
			    struct of_a_child *counts)
{
	struct vpmc_read finished = {
		.size = sizeof(finished), .flags = VPMC_READ_FINISHED,
	};
	struct single before, after;
	uint64_t happened;
	pid_t pid;

	tolerance_begin();
	if (set_clear(set) || read(fd, &before, sizeof(before)) != sizeof(before))
		return -1;
	pid = fork();
	if (!pid) {
		code_loop(n, 0);
		_exit(0);
	}
	if (child_status(pid) ||
	    read(fd, &after, sizeof(after)) != sizeof(after) ||
	    vpmc_ioctl(set->fd, VPMC_IOC_READ, &finished))
		return -1;
	counts->perf = after.count - before.count;
	counts->set = finished.sum[0];
	/* Each interrupt may start perf's counters again, and end a piece. */
	happened = all_disturbances_since();
	counts->more = tolerated(happened, 1 + happened);
	counts->piece = n / (1 + happened);
	return 0;
}

/* perf's event and a set are inherited at once. */
TEST_F(shared, inherited)
{
	struct of_a_child first, few, many;
	const long n = counts_are_exact() ? 1000000 : 10000000;

	self->perf[0] = open_single(true);
	ASSERT_LE(0, self->perf[0]);
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	control_init(&self->set.control, VPMC_CONTROL_INHERIT_PROCESSES);
	control_choose(&self->set.control, EV_BRANCHES, VPMC_ANY);
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, ioctl(self->perf[0], PERF_EVENT_IOC_ENABLE, 0));
	/* The first child finds what later ones need not look for. */
	ASSERT_EQ(0, inherited_counts(self->perf[0], &self->set, 1, &first));
	ASSERT_LT(0, first.perf);
	ASSERT_EQ(0, inherited_counts(self->perf[0], &self->set, 1000, &few));
	ASSERT_EQ(0, inherited_counts(self->perf[0], &self->set, n, &many));
	EXPECT_TRUE(count_fits(many.perf - few.perf + few.more, n - 1000,
			       few.more + many.more, many.piece))
		TH_LOG("perf counts %ld", many.perf - few.perf);
	EXPECT_TRUE(count_fits(many.set - few.set + few.more, n - 1000,
			       few.more + many.more, many.piece))
		TH_LOG("the set counts %llu",
		       (unsigned long long)(many.set - few.set));
}

/*
 * perf's group starts and stops 1,000 times while a set counts. Where counts are not
 * exact, one of these pieces is longer than what all may have too much.
 */
TEST_F(shared, enabled_and_disabled)
{
	static const struct choice twice[] = {
		{ EV_INSNS, VPMC_ANY }, { EV_INSNS, 3 }, {}
	};
	const long n = counts_are_exact() ? 10 : 20000;
	const struct code_count want = code_times(measured(n), 1000);
	/* perf's three have to fit beside the set. */
	const bool fits = machine.nr_gp + machine.nr_fixed >= 3 + 2;
	uint64_t before, more;
	struct vpmc_read read;
	struct set as = {};
	__u64 count[3];
	int i;

	ASSERT_EQ(0, perf_open_three(self->perf));
	ASSERT_EQ(0, set_open(&self->set, fits ? twice : twice + 1));
	before = disturbances();
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	as.pieces = 1000;
	as.starts = 1000;
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, code_measure(self->perf[0], PERF_EVENT_IOC_ENABLE,
					  PERF_EVENT_IOC_DISABLE, code_loop,
					  n, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	as.disturbances = disturbances() - before;
	ASSERT_EQ(0, perf_read(self->perf[0], 3, count));
	EXPECT_TRUE(perf_three_fit(&as, count, want))
		TH_LOG("%llu %llu %llu", count[0], count[1], count[2]);
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_LT(want.insns, read.sum[0]);
	/* So may perf when it starts its own counters. */
	more = perf_tolerated(&as);
	EXPECT_TRUE(!fits ||
		    count_fits(read.sum[0] + more, read.sum[1], 2 * more,
			       measured(n).insns))
		TH_LOG("%llu and %llu", read.sum[0], read.sum[1]);
	EXPECT_TRUE(fits || !read.sum[1]);
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
		usleep(10000);
	}
	if (err)
		fprintf(stderr, "# CONTROL: %d, reason %u\n", err,
			set->control.reason);
	return err;
}

/* A write of the setting ends a loan at once if no set is left. Has one ended? */
static bool loan_ends(int fd)
{
	struct vpmc_info info;

	return !choose_counters("shared") && !vpmc_info(fd, &info) &&
	       !info.borrowed_mask;
}

/*
 * CONTROL and UNLINK of sets of 1, 2, and all but one counters, and of fixed ones,
 * as long as loans_go_on().
 */
static void borrow_at_random(unsigned int seed, struct loans *loans)
{
	const struct choice * const choices[] = { branches, both, all_but_one };
	struct set set = { .page = MAP_FAILED, .fd = vpmc_open() };
	const long turns = turns_here(100);
	long times = 0;

	while (loans_go_on(loans)) {
		const struct choice *choice = choices[rand_r(&seed) % 3];

		if (rand_r(&seed) % 8 == 0 && pin(rand_r(&seed) % 2))
			_exit(1);
		if (program_meanwhile(&set, choice))
			_exit(2);
		loans->begun = 1;
		if (set_measure(&set, code_loop, turns, 0) ||
		    wrong_after(&set, CODE_LOOP(turns)))
			_exit(3);
		if (++times > 1000L * loans->wanted + 100000)
			_exit(4);
		if (rand_r(&seed) % 2)
			continue;
		set_close(&set);
		set = (struct set){ .page = MAP_FAILED, .fd = vpmc_open() };
		if (loan_ends(set.fd) &&
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

	if (loans)
		return atoi(loans);
	return exact_machine() ? test_often(500) : 50;
}

/* All are right: the sets, and perf's counting, sampling and multiplexing. */
TEST_F_TIMEOUT(shared, many_borrowers, 1800)
{
	int running = 4, status, fd[SIX], i;
	struct of_loop alone[SIX];
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
		expect_samples(_metadata, 100000, period_beside(1009));
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

NEEDS(
	{ "shared.overflows*", COUNTER | DISTURBS | ROOT },
	{ "shared.inherited", COUNTER | DISTURBS | ROOT },
	{ "shared.more_not_zeroed", PMU | DISTURBS | ROOT, ROOM_FOR_SETS },
	{ "shared.multiplexed", PMU | DISTURBS | ROOT, ROOM_FOR_SETS },
	{ "shared.enabled_and_disabled", PMU | DISTURBS | ROOT, ROOM_FOR_SETS },
	{ "*", PMU | DISTURBS | ROOT | TWO_CPUS, ROOM_FOR_SETS },
);

TEST_HARNESS_MAIN
