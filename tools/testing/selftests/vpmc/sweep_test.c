// SPDX-License-Identifier: GPL-2.0
/*
 * Each of vpmc's instructions in the kernel is disturbed: in the context
 * switch, in commands, in mapping the page, at the end of a thread. Sums stay
 * exact.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"

FIXTURE(sweep)
{
	struct sweep *s;
};

FIXTURE_SETUP(sweep)
{
	self->s = sweep_start_kernel();
	ASSERT_NE(NULL, self->s);
}

FIXTURE_TEARDOWN(sweep)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

/*
 * Runs something once, disturbed at the k-th instruction, after which the set
 * does not count. Returns the number of errors, apart from the sums.
 */
typedef int (*scenario_fn)(struct sweep *s, unsigned long k);

struct scenario {
	scenario_fn run;
	struct code_count count;	/* what the sums say then */
	struct code_count at[2];	/* counts up to the places of system calls */
	bool any;			/* READ comes anywhere */
	bool locks;			/* others wait until it is elsewhere; */
					/* in the switch for the run queue */
	unsigned int without;		/* mask of disturbances */
	struct sweep *s;
};

static bool sums_are(const struct vpmc_read *sums, struct code_count count)
{
	return third_agrees(sums) && sums->sum[0] == count.insns &&
	       sums->sum[1] == count.branches;
}

static struct code_count code_minus(struct code_count a, struct code_count b)
{
	return CODE_COUNT(a.insns - b.insns, a.branches - b.branches);
}

/*
 * READ and STOP, by another thread, come at the place where the thread is. If
 * they have to wait for it they come after all. START is the reverse of STOP.
 */
static bool sums_are_right(const struct scenario *scenario,
			   const struct vpmc_read *sums, bool disturbed,
			   bool reverse)
{
	struct code_count count = scenario->count;
	int i;

	for (i = 0; i < 2 && disturbed; i++)
		if (sums_are(sums, reverse ? code_minus(count, scenario->at[i]) :
					     scenario->at[i]))
			return true;
	if (sums_are(sums, reverse ? CODE_COUNT(0, 0) : count))
		return true;
	if (disturbed && scenario->locks && third_agrees(sums)) {
		struct code_count low = scenario->at[0];
		struct code_count place = CODE_COUNT(sums->sum[0], sums->sum[1]);

		place = reverse ? code_minus(count, place) : place;
		if (place.insns > low.insns && place.insns < count.insns &&
		    place.branches >= low.branches &&
		    place.branches <= count.branches)
			return true;
	}
	fprintf(stderr, "# sums are %llu, %llu, %llu\n", sums->sum[0],
		sums->sum[1], sums->sum[2]);
	return false;
}

/* Of one moment, whichever it is. */
static bool sums_fit(const struct vpmc_read *sums)
{
	if (third_agrees(sums) && sums->sum[1] <= sums->sum[0])
		return true;
	fprintf(stderr, "# READ: %u sums, %llu, %llu, %llu\n",
		sums->nr_counters, sums->sum[0], sums->sum[1], sums->sum[2]);
	return false;
}

static int wrong_sums_of(const struct scenario *scenario)
{
	struct sweep *s = scenario->s;
	bool commanded = s->disturbed && (s->what == STOP || s->what == START ||
				      s->what == REVOKE);
	struct vpmc_read now;
	int wrong = 0;

	if (vpmc_read(s->set.fd, &now))
		return 1;
	if (s->disturbed && s->what == REVOKE)
		wrong += now.state != VPMC_STATE_REVOKED;
	wrong += !sums_are_right(scenario, &now, commanded, s->what == START);
	if (s->disturbed && s->what == READ)
		wrong += scenario->any ? !sums_fit(&s->read) :
			 !sums_are_right(scenario, &s->read, true, false);
	return wrong;
}

/*
 * START that waits for a lock may come when the scenario has stopped the set:
 * then nothing of the scenario was counted.
 */
static int undo_late_start(struct sweep *s)
{
	struct vpmc_read now;

	if (vpmc_read(s->set.fd, &now))
		return 1;
	return now.state == VPMC_STATE_RUNNING &&
	       (vpmc_ioctl(s->set.fd, VPMC_IOC_STOP, 0) ||
		vpmc_ioctl(s->set.fd, VPMC_IOC_CLEAR, 0));
}

static int wrong_scenario(void *arg, unsigned long k)
{
	const struct scenario *scenario = arg;
	struct sweep *s = scenario->s;
	int errors = scenario->run(s, k);

	if (s->disturbed && s->what == START && scenario->locks)
		errors += undo_late_start(s);
	errors += wrong_sums_of(scenario);
	errors += pin(0) != 0;
	if (s->what == REVOKE) {
		errors += write_file(REVOKE_FILE, "0") != 0;
		errors += set_program(&s->set, mine) != 0;
	}
	return errors + (s->partner && partner_wrong(s->partner));
}

static void sweep_one(struct __test_metadata *_metadata, struct sweep *s,
		      struct scenario scenario)
{
	scenario.s = s;
	sweep_all(_metadata, s, sweep_step(), wrong_scenario, &scenario);
}

static void sweep_scenario(struct __test_metadata *_metadata, struct sweep *s,
			   struct scenario scenario)
{
	for (s->what = 0; s->what < NR_DISTURBANCES; s->what++)
		if (!(scenario.without & 1 << s->what))
			sweep_one(_metadata, s, scenario);
}

/* To the body in code_measure() with code_armed(). */
#define HEAD(i, b)	code_add(code_add(CODE_MEASURE_HEAD, CODE_ARMED_HEAD), \
				 CODE_COUNT((i), (b)))
#define BODY(count)	code_add(code_add(CODE_MEASURE, CODE_ARMED), (count))

static int run_body(struct sweep *s, unsigned long k, code_fn body, long a,
		    long b)
{
	int err = vpmc_ioctl(s->set.fd, VPMC_IOC_CLEAR, 0);

	err = err || sweep_body(s, &s->set, k, body, a, b);
	/* If the set was revoked, STOP fails: there is nothing to stop. */
	return err && !(s->what == REVOKE && s->disturbed);
}

/*
 * Away and back, by a sleep: idle in between. So long that it is not over before
 * it has begun, even if the timer is set late.
 */
static int run_sleep(struct sweep *s, unsigned long k)
{
	const struct timespec ts = { .tv_nsec = 100000 * test_slowness() };

	return run_body(s, k, code_sleep, (long)&ts, 1);
}

TEST_F(sweep, sleep)
{
	const struct scenario scenario = {
		.run = run_sleep,
		.locks = true,
		.without = 1 << START,
		.count = BODY(CODE_SLEEP(1)),
		.at = { HEAD(7, 0), HEAD(7, 0) },
	};

	sweep_scenario(_metadata, self->s, scenario);
}

/* Away and back, by a yield: another thread of the same urgency in between. */
static int run_yield(struct sweep *s, unsigned long k)
{
	return run_body(s, k, code_yield, 1, 1);
}

FIXTURE(sweep_yield)
{
	struct sweep *s;
};

PARTNERS(sweep_yield);

FIXTURE_SETUP(sweep_yield)
{
	self->s = sweep_start_kernel();
	ASSERT_NE(NULL, self->s);
	self->s->partner = start_partner(variant->process, variant->choice);
	ASSERT_NE(NULL, self->s->partner);
}

FIXTURE_TEARDOWN(sweep_yield)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

TEST_F(sweep_yield, away_and_back)
{
	const struct scenario scenario = {
		.run = run_yield,
		.locks = true,
		.count = BODY(CODE_YIELD(1, 1)),
		.at = { HEAD(5, 1), HEAD(5, 1) },
		/* without another set there is nothing to disturb */
		.without = variant->choice ? 0 : 1 << START,
	};

	sweep_scenario(_metadata, self->s, scenario);
}

/*
 * All counters are taken away. Others than this thread's have no part in it,
 * for they would lose theirs.
 */
TEST_F(sweep, revoked_in_sleep)
{
	const struct scenario scenario = {
		.run = run_sleep,
		.locks = true,
		.count = BODY(CODE_SLEEP(1)),
		.at = { HEAD(7, 0), HEAD(7, 0) },
	};

	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
	self->s->what = REVOKE;
	sweep_one(_metadata, self->s, scenario);
}

TEST_F(sweep, revoked_in_yield)
{
	const struct scenario scenario = {
		.run = run_yield,
		.locks = true,
		.count = BODY(CODE_YIELD(1, 1)),
		.at = { HEAD(5, 1), HEAD(5, 1) },
	};

	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
	self->s->partner = start_partner(true, NULL);
	ASSERT_NE(NULL, self->s->partner);
	self->s->what = REVOKE;
	sweep_one(_metadata, self->s, scenario);
}

/* READ of its own. */
static int run_read(struct sweep *s, unsigned long k)
{
	struct vpmc_read read = { .size = sizeof(read) };
	int err = run_body(s, k, code_read, s->set.fd, (long)&read);

	/* Stopped at the same place at which it is read. */
	return err || !sums_are(&read, s->what == START ? CODE_COUNT(0, 0) :
						       HEAD(4, 0));
}

TEST_F(sweep, read)
{
	const struct scenario scenario = {
		.run = run_read,
		.count = BODY(CODE_READ),
		.locks = true,
		.at = { HEAD(4, 0), HEAD(4, 0) },
	};

	sweep_scenario(_metadata, self->s, scenario);
}

/* The page is mapped and unmapped, which gives and takes RDPMC. */
static int run_map(struct sweep *s, unsigned long k)
{
	return run_body(s, k, code_map, s->set.fd, 0);
}

TEST_F(sweep, map)
{
	const struct scenario scenario = {
		.run = run_map,
		.locks = true,
		.count = BODY(CODE_MAP),
		.at = { HEAD(8, 0), HEAD(13, 0) },
	};

	ASSERT_EQ(0, munmap(self->s->set.page, PAGE));
	self->s->set.page = NULL;
	sweep_scenario(_metadata, self->s, scenario);
}

/*
 * Commands by the thread itself. What another thread's READ says is what it was
 * before, or, if it had to wait for the command's end, what it is later.
 */
static int run_start_stop(struct sweep *s, unsigned long k)
{
	int err = vpmc_ioctl(s->set.fd, VPMC_IOC_CLEAR, 0);

	err = err ?: sweep_arm(s, k);
	err = err ?: set_measure(&s->set, code_nothing, 0, 0);
	sweep_disarm(s);
	return err != 0;
}

TEST_F(sweep, start_stop)
{
	const struct scenario scenario = {
		.run = run_start_stop,
		.locks = true,
		.count = code_add(CODE_MEASURE, CODE_NOTHING),
		.at = { { 0, 0 }, code_add(CODE_MEASURE, CODE_NOTHING) },
		.without = 1 << START,
	};

	sweep_scenario(_metadata, self->s, scenario);
}

static int run_clear(struct sweep *s, unsigned long k)
{
	int err = vpmc_ioctl(s->set.fd, VPMC_IOC_START, 0);

	err = err ?: sweep_arm(s, k);
	err = err ?: code_measure(s->set.fd, VPMC_IOC_CLEAR, VPMC_IOC_STOP,
				  code_nothing, 0, 0);
	sweep_disarm(s);
	return err != 0;
}

TEST_F(sweep, clear)
{
	const struct scenario scenario = {
		.run = run_clear,
		.locks = true,
		.count = code_add(CODE_MEASURE, CODE_NOTHING),
		.at = { { 0, 0 }, { 0, 0 } },
		.any = true,
		.without = 1 << START,
	};

	sweep_scenario(_metadata, self->s, scenario);
}

/* From one selection to another. */
static int run_control(struct sweep *s, unsigned long k)
{
	struct set *set = &s->set;
	int err = set_program(set, others);

	control_of(&set->control, mine, 0);
	err = err ?: sweep_arm(s, k);
	err = err ?: code_control(s->set.fd, &set->control, 10);
	sweep_disarm(s);
	return err != 0;
}

TEST_F(sweep, control)
{
	const struct scenario scenario = {
		.run = run_control,
		.locks = true,
		.count = CODE_CONTROL(10),
		.at = { { 0, 0 }, { 0, 0 } },
		.without = 1 << START,
	};

	sweep_scenario(_metadata, self->s, scenario);
}

/* The last set goes, and with it the PMU. */
static int run_unlink(struct sweep *s, unsigned long k)
{
	struct set *set = &s->set;
	int err;

	set_close(set);
	err = set_open(set, mine);
	s->fd = s->set.fd;
	s->ends = true;
	err = err ?: sweep_arm(s, k);
	err = err ?: code_measure(s->set.fd, VPMC_IOC_START, VPMC_IOC_UNLINK,
				  code_nothing, 0, 0);
	sweep_disarm(s);
	return err != 0;
}

TEST_F(sweep, unlink)
{
	const struct scenario scenario = {
		.run = run_unlink,
		.locks = true,
		.count = code_add(CODE_MEASURE, CODE_NOTHING),
		.at = { { 0, 0 }, { 0, 0 } },
		.without = 1 << START,
	};

	sweep_scenario(_metadata, self->s, scenario);
}

/* The first set comes: the PMU is tried, reserved, and taken over on all CPUs. */
static int run_attach(struct sweep *s, unsigned long k)
{
	struct set *set = &s->set;
	int err;

	set_close(set);
	err = sweep_arm(s, k);
	err = err ?: set_open(set, mine);
	sweep_disarm(s);
	s->fd = set->fd;
	if (err)
		fprintf(stderr, "# attach: %d\n", err);
	return err || set_measure(set, code_nothing, 0, 0);
}

TEST_F(sweep, attach)
{
	const struct scenario scenario = {
		.run = run_attach,
		.count = code_add(CODE_MEASURE, CODE_NOTHING),
	};
	struct sweep *s = self->s;

	ASSERT_EQ(0, stop_urgent(&s->urgent));
	s->what = INTERRUPT;
	sweep_one(_metadata, s, scenario);
	s->what = MIGRATE;
	sweep_one(_metadata, s, scenario);
}

/* The end of a thread. Its last sums are read when it is gone. */
struct exiting {
	struct sweep *s;
	unsigned long k;
	int error;
};

static void *exiting_thread(void *arg)
{
	struct exiting *e = arg;
	struct sweep *s = e->s;
	struct code_armed armed = {
		.body = code_exit, .a = 10,
		.skip = e->k, .action = sweep_action(s),
	};

	e->error = set_open(&s->set, mine);
	s->tid = my_tid();
	s->fd = s->set.fd;
	sweep_begin(s);
	if (!e->error)
		set_measure(&s->set, code_armed, (long)&armed, 0);
	return NULL;
}

static int run_exit(struct sweep *s, unsigned long k)
{
	struct exiting e = { .s = s, .k = k };
	pthread_t thread;

	set_close(&s->set);
	s->ends = true;
	if (pthread_create(&thread, NULL, exiting_thread, &e))
		return 1;
	pthread_join(thread, NULL);
	sweep_disarm(s);
	return e.error != 0;
}

TEST_F(sweep, exit)
{
	const struct scenario scenario = {
		.run = run_exit,
		.count = code_add(HEAD(0, 0), CODE_EXIT(10)),
		.at = { HEAD(22, 10), HEAD(22, 10) },
		.without = 1 << START,
	};

	sweep_scenario(_metadata, self->s, scenario);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
