// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU is revoked, the set is programmed again, or its page is mapped, at each of
 * vpmc's instructions that a thread executes.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "rdpmc.h"
#include "target.h"

FIXTURE(sweep_revoke)
{
	struct sweep *s;
	unsigned long zeros, counts;	/* what RDPMC returned */
	unsigned long granted, refused;	/* how often CONTROL or RDPMC was */
	unsigned long waited;	/* RDPMC was repeated until it was permitted */
	unsigned long regained;	/* it was granted, and refused one instruction earlier */
	bool refused_before;
	struct set other;	/* of the thread on CPU 1; its page is not mapped */
	pid_t tid;		/* the thread on CPU 1 */
	pid_t counter;		/* the process that counts its kernel mode, or 0 */
	bool done;		/* the thread on CPU 1 has executed its RDPMC */
	bool may;		/* that RDPMC was permitted */
	int wrong;
};

FIXTURE_SETUP(sweep_revoke)
{
	self->s = sweep_start_kernel();
	ASSERT_NE(NULL, self->s);
	/* A revocation would take the counters of the urgent thread. */
	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
}

FIXTURE_TEARDOWN(sweep_revoke)
{
	EXPECT_EQ(0, sweep_stop(self->s));
	EXPECT_EQ(0, write_file(REVOKE_FILE, "0"));
}

/* A reader that saw its set run is stopped before its RDPMC, and revoked. */
static int wrong_fault(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	struct vpmc_read read;
	uint64_t value;
	int wrong;

	wrong = set_program(&s->set, mine) ||
		vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0) ||
		write_file(REVOKE_FILE, "1") || write_file(REVOKE_FILE, "0");
	wrong += sweep_arm(s, k) != 0;
	value = vpmc_rdpmc(s->set.page->slot[0].index);
	sweep_disarm(s);
	*(value ? &self->counts : &self->zeros) += 1;
	wrong += vpmc_read(s->set.fd, &read) != 0;
	wrong += read.state != (s->disturbed ? VPMC_STATE_RUNNING :
					       VPMC_STATE_REVOKED);
	return wrong;
}

TEST_F(sweep_revoke, programmed_again_in_the_fault)
{
	self->s->what = PROGRAM;
	sweep_all(_metadata, self->s, sweep_step(), wrong_fault, self);
	TH_LOG("RDPMC returned zero %lu times, a count %lu times",
	       self->zeros, self->counts);
	EXPECT_LT(0, self->zeros);
	EXPECT_LT(0, self->counts);
}

static void *rdpmc_thread(void *arg)
{
	struct set *set = arg;

	return (void *)(long)may_rdpmc(set->control.counter[0].index);
}

/* By a thread without a set: it gets what the address space has. */
static bool other_thread_may_rdpmc(struct set *set)
{
	pthread_t thread;
	void *allowed = (void *)1;

	if (!pthread_create(&thread, NULL, rdpmc_thread, set))
		pthread_join(thread, &allowed);
	return allowed;
}

/* A CONTROL was revoked, or refused: nothing of it remains. */
static int wrong_remains(struct sweep *s, const struct vpmc_read *read)
{
	uint32_t holder = s->what == REVOKE ? VPMC_HOLDER_REVOKED :
					      VPMC_HOLDER_NONE;

	return (read->state != VPMC_STATE_REVOKED) +
	       (s->set.page->state != VPMC_STATE_REVOKED) +
	       (read->sum[0] != read->sum[2]) +
	       (pmu_holder(s->set.fd) != holder) +
	       other_thread_may_rdpmc(&s->set) + (perf_error(10) != 0);
}

/*
 * Why a CONTROL was refused. It goes on while the revocation waits for its CPU, so it
 * may find that counting is forbidden, or is allowed again.
 */
static int wrong_reason(const struct sweep *s)
{
	uint32_t reason = s->set.control.reason;

	return !s->disturbed ||
	       (reason != VPMC_REASON_REVOKED &&
		(s->what != REVOKE_AND_ALLOW || reason != VPMC_REASON_PMU_BUSY));
}

/* The results of CONTROL, START, a loop and STOP. */
static int wrong_control(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	struct set *set = &s->set;
	struct vpmc_read read;
	int err, wrong;

	wrong = sweep_arm(s, k) != 0;
	err = set_program(set, mine);
	if (!err && set_measure(set, code_loop, 100, 0) && !s->disturbed)
		wrong++;
	sweep_disarm(s);
	wrong += err && (err != -EBUSY || wrong_reason(s));
	*(err ? &self->refused : &self->granted) += 1;
	wrong += vpmc_read(set->fd, &read) != 0;
	/* It had not begun when all was over, or it was not disturbed at all. */
	if (!err && read.state == VPMC_STATE_STOPPED &&
	    (!s->disturbed || s->what == REVOKE_AND_ALLOW))
		wrong += wrong_after(set, CODE_LOOP(100));
	else
		wrong += wrong_remains(s, &read);
	return wrong + (write_file(REVOKE_FILE, "0") != 0);
}

static void sweep_control(struct __test_metadata *_metadata,
			  FIXTURE_DATA(sweep_revoke) *self)
{
	sweep_all(_metadata, self->s, sweep_step(), wrong_control, self);
	TH_LOG("granted %lu times, refused %lu times", self->granted,
	       self->refused);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
}

TEST_F(sweep_revoke, at_each_instruction_of_control)
{
	self->s->what = REVOKE;
	sweep_control(_metadata, self);
}

/*
 * A thread that still has RDPMC would read perf's counts. The set is not used.
 */
static int wrong_permission(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	bool allowed;
	int err, wrong;

	wrong = sweep_arm(s, k) != 0;
	err = set_program(&s->set, mine);
	sweep_disarm(s);
	allowed = other_thread_may_rdpmc(&s->set);
	*(err ? &self->refused : &self->granted) += 1;
	wrong += allowed != (!err && !s->disturbed);
	return wrong + (write_file(REVOKE_FILE, "0") != 0);
}

TEST_F(sweep_revoke, no_rdpmc_after_control)
{
	self->s->what = REVOKE;
	sweep_all(_metadata, self->s, sweep_step(), wrong_permission, self);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
}

TEST_F(sweep_revoke, and_allowed_at_each_instruction_of_control)
{
	self->s->what = REVOKE_AND_ALLOW;
	sweep_control(_metadata, self);
}

static bool hides_by_select(void)
{
	return machine.features & VPMC_FEATURE_HIDE;
}

#define READ_TWICE	3	/* instructions from one RDPMC to the other */

struct twice {
	uint64_t first, second;
};

/* Two RDPMCs in a row. False if one of them is refused. */
static __attribute__((__noinline__)) bool read_twice(uint32_t index, struct twice *twice)
{
	uint32_t low, high, a, d;

	memset(twice, 0, sizeof(*twice));
	if (sigsetjmp(rdpmc_env, 1))
		return false;
	__asm__ __volatile__("rdpmc\n\t"
			     "mov	%%eax, %0\n\t"
			     "mov	%%edx, %1\n\t"
			     "rdpmc"
			     : "=&r" (low), "=&r" (high), "=&a" (a), "=&d" (d)
			     : "c" (index));
	twice->first = (uint64_t)high << 32 | low;
	twice->second = (uint64_t)d << 32 | a;
	return true;
}

/*
 * Where selects cannot hide counters, the kernel may execute the first RDPMC for the
 * thread.
 */
static bool is_exact(const struct twice *twice)
{
	uint64_t distance = twice->second - twice->first;

	return distance == READ_TWICE ||
	       (!hides_by_select() && distance == READ_TWICE - 1);
}

static void catch_refusals(void)
{
	struct sigaction action = { .sa_handler = rdpmc_refused };

	sigaction(SIGSEGV, &action, NULL);
}

static void unmap(struct set *set)
{
	if (set->page != MAP_FAILED)
		munmap(set->page, PAGE);
	set->page = MAP_FAILED;
}

/* By the thread on CPU 1. That one has no mapping of its own. */
static int map_page(struct sweep *s)
{
	s->set.page = vpmc_map(s->set.fd);
	return s->set.page == MAP_FAILED ? -errno : 0;
}

/*
 * The thread reads and has not mapped its page. Another one maps it before the kernel has
 * looked at the permission, or too late.
 */
static int wrong_mapped(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	uint32_t index = s->set.control.counter[0].index;
	struct twice twice;
	int wrong;
	bool may;

	wrong = sweep_arm(s, k) != 0;
	may = read_twice(index, &twice);
	sweep_disarm(s);
	wrong += may && !is_exact(&twice);
	*(may ? &self->granted : &self->refused) += 1;
	wrong += may && !s->disturbed;
	self->regained += may && self->refused_before;
	self->refused_before = !may;
	/* A later read has the permission, as long as the page is mapped. */
	wrong += read_twice(index, &twice) != s->disturbed;
	wrong += s->disturbed && !is_exact(&twice);
	unmap(&s->set);
	return wrong + read_twice(index, &twice);
}

TEST_F(sweep_revoke, mapped_in_the_fault)
{
	struct sweep *s = self->s;

	catch_refusals();
	s->what = CALL;
	s->call = map_page;
	unmap(&s->set);
	ASSERT_EQ(0, vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0));
	sweep_all(_metadata, s, sweep_step(), wrong_mapped, self);
	TH_LOG("RDPMC was granted %lu times, refused %lu times",
	       self->granted, self->refused);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
	/*
	 * Where the fault holds the set's lock, the mapping waits, and may come too late.
	 * Later it is in time again, until the kernel looks at the permission.
	 */
	if (sweep_step() == 1)
		EXPECT_LE(1, self->regained);
}

/* Instructions of CPU 1 after which CPU 0 goes on: many times those of a fault. */
#define READ_LIMIT	30000

static FIXTURE_DATA(sweep_revoke) *reading;

static uint32_t kernel_total(void)
{
	uint32_t a, b, c, d;

	__cpuid_count(PMU_TEST_TOTALS, PMU_TEST_CYCLES, a, b, c, d);
	return a;
}

/* The thread on CPU 1 gets a set, which runs. */
static int begin_to_count(struct sweep *s)
{
	struct set *set = &reading->other;

	reading->tid = my_tid();
	set->fd = vpmc_open();
	return set->fd < 0 ? set->fd :
	       set_program(set, mine) ?: vpmc_ioctl(set->fd, VPMC_IOC_START, 0);
}

/* The same for its kernel mode, which it may not see: a child asks for that. */
static int be_counted(struct sweep *s)
{
	static const struct choice kernel_mode[] = { { EV_KERNEL_INSNS, FIXED(0) }, {} };
	struct vpmc_control control;
	int go[2];
	char byte;

	reading->tid = my_tid();
	if (pipe(go))
		return -errno;
	reading->counter = disturber();
	if (!reading->counter) {
		int fd = open_of(reading->tid, O_RDWR | O_CREAT);

		control_of(&control, kernel_mode, 0);
		if (fd < 0 || vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) ||
		    write(go[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		return -EIO;
	close(go[0]);
	return 0;
}

static int read_meanwhile(struct sweep *s)
{
	struct twice twice;
	uint32_t kernel;

	if (!sweep_go(READ_LIMIT))
		return -EPROTO;
	kernel = kernel_total();
	reading->may = read_twice(FIXED(0), &twice);
	kernel = kernel_total() - kernel;
	reading->done = true;
	if (reading->counter)
		reading->wrong += twice.first || twice.second;
	else
		reading->wrong += reading->may && !is_exact(&twice);
	reading->waited += reading->may && kernel > READ_LIMIT / 2;
	return 0;
}

/* Another thread reads while this one maps its page. */
static int wrong_mapping(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_revoke) *self = arg;
	struct sweep *s = self->s;
	int wrong, err;

	self->done = false;
	self->wrong = 0;
	wrong = sweep_arm(s, k) != 0;
	err = map_page(s);
	sweep_disarm(s);
	wrong += err != 0;
	if (self->done) {
		/* Never refused after it was permitted. */
		wrong += !self->may && self->granted;
		*(self->may ? &self->granted : &self->refused) += 1;
	}
	unmap(&s->set);
	return wrong + self->wrong;
}

/* @begin: what the thread on CPU 1 does first. */
static void sweep_mapping(struct __test_metadata *_metadata,
			  FIXTURE_DATA(sweep_revoke) *self, int (*begin)(struct sweep *s))
{
	struct sweep *s = self->s;
	struct twice twice;

	catch_refusals();
	reading = self;
	unmap(&s->set);
	s->what = CALL;
	s->call = begin;
	ASSERT_EQ(0, sweep_arm(s, 0));
	ASSERT_EQ(0, map_page(s));
	sweep_disarm(s);
	ASSERT_EQ(0, s->error);
	unmap(&s->set);
	/* Memory that a refusal needs is there from now on. */
	ASSERT_FALSE(read_twice(FIXED(0), &twice));

	s->call = read_meanwhile;
	sweep_all(_metadata, s, sweep_step(), wrong_mapping, self);
	TH_LOG("RDPMC was granted %lu times, %lu after a wait, refused %lu times",
	       self->granted, self->waited, self->refused);
	EXPECT_LT(0, self->granted);
	EXPECT_LT(0, self->refused);
	/* Where counters are hidden by a trap, that needs no permission. */
	EXPECT_EQ(!self->counter || hides_by_select(), self->waited > 0);
}

TEST_F(sweep_revoke, read_while_it_is_mapped)
{
	sweep_mapping(_metadata, self, begin_to_count);
	close(self->other.fd);
}

/* It reads zero, also when it has just got the permission. */
TEST_F(sweep_revoke, hidden_while_it_is_mapped)
{
	sweep_mapping(_metadata, self, be_counted);
	EXPECT_EQ(0, stop_disturber(self->counter));
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
