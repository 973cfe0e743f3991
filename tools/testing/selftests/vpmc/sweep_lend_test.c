// SPDX-License-Identifier: GPL-2.0
/*
 * perf lends counters and gets them back. At each instruction of that another CPU
 * does what a loan depends on.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "beside.h"

#define WORK_CPUS	"/sys/devices/virtual/workqueue/cpumask"

static const struct choice branches[] = { { EV_BRANCHES, VPMC_ANY }, {} };

FIXTURE(sweep_lend)
{
	struct sweep *s;
	int perf[4];	/* a group that needs all programmable counters */
	int pinned[3];	/* pinned events of CPU 1; another one comes and goes */
	unsigned long granted, refused;
};

/*
 * The code of both sides that makes and ends loans. Not the few functions that lie
 * elsewhere: there are not so many ranges.
 */
static bool lends(const char *name, bool before)
{
	static const char * const words[] = {
		"has_events", "pinned", "_leave", "_loan", "_return", "_lend",
		"_unlend", "_lent", "_hand_on", "is_used",
	};
	static const char * const elsewhere[] = { "sysvec_", "asm_", "__SCT__" };
	static const char * const backend[] = {
		"beside_", "globalctl_", "share_", "x86_pinned_",
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (!strncmp(name, elsewhere[i], strlen(elsewhere[i])))
			return false;
	if (strstr(name, ".cold"))
		return false;
	for (i = 0; i < ARRAY_SIZE(backend); i++)
		if (!strncmp(name, backend[i], strlen(backend[i])))
			return true;
	if (!strstr(name, "x86_pmu_"))
		return sweep_is_ours(name, before);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

static int open_event(int tid, int cpu, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.read_format = PERF_FORMAT_GROUP,
		.exclude_kernel = 1,
		.pinned = cpu >= 0,
	};

	return syscall(SYS_perf_event_open, &attr, tid, cpu, leader, 0);
}

FIXTURE_SETUP(sweep_lend)
{
	int i;

	/* Who borrows does so on CPU 0, where it is disturbed. */
	ASSERT_EQ(0, write_file(WORK_CPUS, "1"));
	ASSERT_EQ(0, choose_counters("shared"));
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_ranges(lends) > 0);
	for (i = 0; i < 4; i++) {
		self->perf[i] = open_event(0, -1, i ? self->perf[0] : -1);
		ASSERT_LE(0, self->perf[i]);
	}
	for (i = 0; i < 3; i++) {
		self->pinned[i] = open_event(-1, 1, -1);
		ASSERT_LE(0, self->pinned[i]);
	}
	self->s->what = CALL;
}

FIXTURE_TEARDOWN(sweep_lend)
{
	int i;

	for (i = 4; i--;)
		close(self->perf[i]);
	for (i = 3; i--;)
		close(self->pinned[i]);
	EXPECT_EQ(0, sweep_stop(self->s));
	EXPECT_EQ(0, choose_counters("all"));
	EXPECT_EQ(0, write_file(WORK_CPUS, "3"));
}

/* perf reads nothing from an event that it has given up. */
static bool alive(int fd)
{
	__u64 count[2];

	return read(fd, count, sizeof(count)) == sizeof(count);
}

/* Has perf all counters of this CPU? It tries a group again in its own time. */
static bool perf_has_all(const int *group)
{
	__u64 before[4], after[4];
	int i;

	for (i = 0; i < 50; i++) {
		if (perf_read(group[0], 4, before))
			return false;
		code_loop(100, 0);
		if (perf_read(group[0], 4, after))
			return false;
		if (after[0] > before[0])
			return true;
		usleep(1000);
	}
	return false;
}

/* Does the group stand still on this CPU? Returns -1 if it cannot be read. */
static int group_stands(const int *group)
{
	__u64 before[4], after[4];

	if (perf_read(group[0], 4, before))
		return -1;
	code_loop(100, 0);
	return perf_read(group[0], 4, after) ? -1 : after[0] == before[0];
}

static int pinned_comes(struct sweep *s)
{
	s->perf = open_event(-1, 1, -1);
	return s->perf < 0 ? s->perf : 0;
}

/*
 * The pinned event is first, and the loan is refused, also if a part of it was made.
 * Or the loan is first, and the set is revoked. The event has a counter each time. In
 * the end perf has all counters.
 */
static int wrong_if_pinned_comes(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_lend) *self = arg;
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int err, wrong = set.fd < 0;
	bool came;

	s->perf = -1;
	wrong += sweep_arm(s, k) != 0;
	err = set_program(&set, branches);
	sweep_disarm(s);
	came = s->perf >= 0;
	wrong += came && !alive(s->perf);
	if (err) {
		self->refused++;
		wrong += !came || err != -EBUSY;
		if (set.control.reason == VPMC_REASON_PMU_PERF)
			wrong += !perf_has_all(self->perf);
		else
			wrong += set.control.reason != VPMC_REASON_PMU_BUSY;
	} else {
		self->granted++;
		if (came)
			wrong += set_clear(&set) != -ENODATA;
		else
			wrong += set_measure(&set, code_loop, 100, 0) ||
				 wrong_after(&set, CODE_LOOP(100));
	}
	wrong += !alive(self->pinned[0]) || !alive(self->pinned[1]) ||
		 !alive(self->pinned[2]);
	close(s->perf);
	set_close(&set);
	wrong += choose_counters("shared") != 0 || !perf_has_all(self->perf);
	return wrong;
}

TEST_F_TIMEOUT(sweep_lend, pinned_event_comes, 1200)
{
	self->s->call = pinned_comes;
	sweep_all(_metadata, self->s, sweep_step(), wrong_if_pinned_comes, self);
	TH_LOG("granted %lu times, refused %lu times", self->granted,
	       self->refused);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
}

/* An event of the other CPU counts exactly, whenever it comes. */
static int perf_counts(struct sweep *s)
{
	return perf_error(100) ? -EIO : 0;
}

/*
 * Borrow, and count. This thread's group of perf has no room meanwhile, and perf
 * tries no other event of the thread before its next turn.
 */
static int wrong_borrowing(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_lend) *self = arg;
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int wrong = set.fd < 0;

	wrong += sweep_arm(s, k) != 0;
	wrong += set_program(&set, branches) != 0;
	sweep_disarm(s);
	wrong += set_measure(&set, code_loop, 100, 0) ||
		 wrong_after(&set, CODE_LOOP(100));
	set_close(&set);
	wrong += choose_counters("shared") != 0 || !perf_has_all(self->perf);
	return wrong;
}

TEST_F_TIMEOUT(sweep_lend, perf_counts_while_lent, 1200)
{
	self->s->call = perf_counts;
	sweep_all(_metadata, self->s, sweep_step(), wrong_borrowing, self);
}

/* Give back what the last set had. */
static int wrong_return(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_lend) *self = arg;
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int wrong = set.fd < 0 || set_program(&set, branches);

	set_close(&set);
	wrong += sweep_arm(s, k) != 0;
	wrong += choose_counters("shared") != 0;
	sweep_disarm(s);
	wrong += perf_error(100) != 0 || !perf_has_all(self->perf);
	return wrong;
}

TEST_F_TIMEOUT(sweep_lend, perf_counts_while_returned, 1200)
{
	self->s->call = perf_counts;
	sweep_all(_metadata, self->s, sweep_step(), wrong_return, self);
}

static int revoke_and_allow(struct sweep *s)
{
	return write_file(REVOKE_FILE, "1") ?: write_file(REVOKE_FILE, "0");
}

/* A CONTROL was refused during a revocation, or because of one that had ended. */
static bool was_revoked(const struct set *set)
{
	return set->control.reason == VPMC_REASON_REVOKED ||
	       set->control.reason == VPMC_REASON_PMU_BUSY;
}

/* Whatever was borrowed when the revocation came is perf's again. */
static int wrong_if_revoked(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_lend) *self = arg;
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int err, wrong = set.fd < 0;
	struct vpmc_read read;

	wrong += sweep_arm(s, k) != 0;
	err = set_program(&set, branches);
	sweep_disarm(s);
	*(err ? &self->refused : &self->granted) += 1;
	wrong += err && (err != -EBUSY || !s->disturbed || !was_revoked(&set));
	if (!err && s->disturbed)
		wrong += vpmc_read(set.fd, &read) ||
			 (read.state != VPMC_STATE_REVOKED &&
			  read.state != VPMC_STATE_STOPPED);
	set_close(&set);
	/* Without another choice: in a tenth of a second, if not at once. */
	usleep(150000);
	wrong += !perf_has_all(self->perf);
	return wrong;
}

TEST_F_TIMEOUT(sweep_lend, revoked, 1200)
{
	self->s->call = revoke_and_allow;
	sweep_all(_metadata, self->s, sweep_step(), wrong_if_revoked, self);
	TH_LOG("granted %lu times, refused %lu times", self->granted,
	       self->refused);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
}

/* What the other CPU borrows: the same counter, and two more. */
static const struct choice all_three[] = {
	{ EV_BRANCHES, 1 }, { EV_BRANCHES, 2 }, { EV_BRANCHES, 3 }, {}
};

/* The other CPU borrows, counts, and ends its set. */
static int another_borrows(struct sweep *s)
{
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int err = set_program(&set, all_three);

	if (!err && (set_measure(&set, code_loop, 100, 0) ||
		     wrong_after(&set, CODE_LOOP(100))))
		err = -EIO;
	set_close(&set);
	return err;
}

/* Two CONTROLs borrow at once, one of them more than the other. Both succeed. */
TEST_F_TIMEOUT(sweep_lend, another_borrows, 1200)
{
	int i;

	for (i = 0; i < 3; i++) {
		close(self->pinned[i]);
		self->pinned[i] = -1;
	}
	self->s->call = another_borrows;
	sweep_all(_metadata, self->s, sweep_step(), wrong_borrowing, self);
}

static int another_cpu_goes(struct sweep *s)
{
	return set_cpu_online(3, "0");
}

static int another_cpu_comes(struct sweep *s)
{
	return set_cpu_online(3, "1");
}

/* CPU 3 comes or goes while @s is armed. Otherwise it is online. */
static int arm_for_cpu(struct sweep *s, unsigned long k)
{
	if (s->call == another_cpu_comes && set_cpu_online(3, "0"))
		return 1;
	return sweep_arm(s, k) != 0;
}

static int disarm_for_cpu(struct sweep *s)
{
	sweep_disarm(s);
	return set_cpu_online(3, "1") != 0;
}

/* Checks that CPU 3 respects what is lent now. */
static int wrong_on_the_other_cpu(struct set *set, const int *group, bool lent)
{
	int wrong = pin(3);

	if (lent)
		wrong += set_clear(set) ||
			 set_measure(set, code_loop, 100, 0) ||
			 wrong_after(set, CODE_LOOP(100)) ||
			 group_stands(group) != 1;
	else
		wrong += !perf_has_all(group);
	return wrong + pin(0);
}

/* Borrow and give back. */
static int wrong_if_cpu_comes(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_lend) *self = arg;
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int wrong = set.fd < 0;

	wrong += arm_for_cpu(s, k);
	wrong += set_program(&set, branches) != 0;
	wrong += disarm_for_cpu(s);
	wrong += wrong_on_the_other_cpu(&set, self->perf, true);
	set_close(&set);
	wrong += choose_counters("shared") != 0;
	wrong += wrong_on_the_other_cpu(&set, self->perf, false);
	return wrong;
}

static int wrong_return_if_cpu_comes(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_lend) *self = arg;
	struct sweep *s = self->s;
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int wrong = set.fd < 0 || set_program(&set, branches);

	set_close(&set);
	wrong += arm_for_cpu(s, k);
	wrong += choose_counters("shared") != 0;
	wrong += disarm_for_cpu(s);
	return wrong + wrong_on_the_other_cpu(&set, self->perf, false);
}

/* A CPU goes or comes while counters are borrowed, and while they are returned. */
TEST_F_TIMEOUT(sweep_lend, cpu_comes, 1200)
{
	int (*calls[])(struct sweep *s) = {
		another_cpu_goes, another_cpu_comes,
	};
	/* A CPU takes long to come, so not at each instruction unless asked for. */
	unsigned long step = getenv("SWEEP_STEP") ? sweep_step() : 7;
	int i;

	for (i = 0; i < 2; i++) {
		self->s->call = calls[i];
		sweep_all(_metadata, self->s, step, wrong_if_cpu_comes, self);
		sweep_all(_metadata, self->s, step, wrong_return_if_cpu_comes,
			  self);
	}
}

/*
 * A borrower that gets no CPU time: a thread on its CPU spins, at most this long.
 * Nobody else waits for that. Workers run on CPUs 2 and 3.
 */
#define SPIN_MS		50
#define BOUND_MS	10

static int spin_pipe[2];
static volatile bool spins, quits;

static double ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static void *spinner(void *unused)
{
	double end;
	char byte;

	if (pin(0) || set_fifo(50))
		return (void *)1;
	while (read(spin_pipe[0], &byte, 1) == 1 && !quits) {
		spins = true;
		for (end = ms_now() + SPIN_MS; spins && ms_now() < end;)
			;
		spins = false;
	}
	return NULL;
}

/* Revoke, allow, and borrow for another set, while CPU 0 spins. */
static int others_go_on(struct sweep *s)
{
	struct set set = { .page = MAP_FAILED };
	double begin, revoked, borrowed;
	int err;

	if (write(spin_pipe[1], "", 1) != 1 || !sweep_go(0))
		return -EPIPE;
	while (!spins)
		;
	begin = ms_now();
	err = write_file(REVOKE_FILE, "1");
	revoked = ms_now();
	err = err ?: write_file(REVOKE_FILE, "0");
	set.fd = vpmc_open();
	err = err ?: set_program(&set, branches);
	borrowed = ms_now();
	if (!spins)
		err = -ETIME;
	spins = false;
	set_close(&set);
	if (revoked - begin < BOUND_MS * test_slowness() &&
	    borrowed - revoked < BOUND_MS * test_slowness())
		return err;
	fprintf(stderr, "# revoked in %.3f ms, borrowed in %.3f ms\n",
		revoked - begin, borrowed - revoked);
	return -ETIME;
}

#define KTHREADD	2	/* its process id */

static int keep_kthreadd_on(unsigned long cpus)
{
	cpu_set_t mask;
	int cpu;

	CPU_ZERO(&mask);
	for (cpu = 0; cpu < 4; cpu++)
		if (cpus & 1UL << cpu)
			CPU_SET(cpu, &mask);
	return sched_setaffinity(KTHREADD, sizeof(mask), &mask);
}

static int borrow_once(void)
{
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	int err = set_program(&set, branches);

	set_close(&set);
	return err ?: choose_counters("shared");
}

static int wrong_if_starved(void *arg, unsigned long k)
{
	struct set set = { .fd = vpmc_open(), .page = MAP_FAILED };
	struct sweep *s = ((FIXTURE_DATA(sweep_lend) *)arg)->s;
	int err, wrong = set.fd < 0;

	wrong += sweep_arm(s, k) != 0;
	err = set_program(&set, branches);
	sweep_disarm(s);
	wrong += err && (err != -EBUSY || !s->disturbed || !was_revoked(&set));
	set_close(&set);
	wrong += choose_counters("shared") != 0;
	return wrong;
}

TEST_F_TIMEOUT(sweep_lend, starved, 1200)
{
	pthread_t thread;
	void *failed;

	ASSERT_EQ(0, write_file(WORK_CPUS, "c"));
	ASSERT_EQ(0, pipe(spin_pipe));
	ASSERT_EQ(0, pthread_create(&thread, NULL, spinner, NULL));
	self->s->call = others_go_on;
	/*
	 * A pool of workers asks kthreadd for one more before it begins to work.
	 * The spinner is more urgent than kthreadd. So kthreadd leaves CPU 0, and
	 * the pool gets its workers now.
	 */
	ASSERT_EQ(0, keep_kthreadd_on(0xc));
	ASSERT_EQ(0, borrow_once());
	sweep_all(_metadata, self->s, sweep_step(), wrong_if_starved, self);
	quits = true;
	ASSERT_EQ(1, write(spin_pipe[1], "", 1));
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
	EXPECT_EQ(0, keep_kthreadd_on(0xf));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
