// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of overflows at each of vpmc's instructions: another CPU reads it,
 * the owner calls execve() while it is allocated, and its user asks for another one
 * while it is refused.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/resource.h>
#include "sweep.h"
#include "caps.h"
#include "poller.h"
#include "ring.h"
#include "target.h"

#define PERIOD	5000
#define RECORDS	8
/* A bit less than one period, with START and STOP. */
#define TURNS	2300

FIXTURE(sweep_ring)
{
	struct sweep *s;
	struct set set;
	const struct vpmc_ring *ring;
	uint64_t consumed;
	unsigned long seen;	/* records on another CPU */
	pid_t competitor;	/* an idle CPU 1 lets CPU 0 go */
	pid_t pid;		/* who calls execve() */
	int go, done;		/* its pipes */
	unsigned long mapped, ended;
};

static FIXTURE_DATA(sweep_ring) *scene;

FIXTURE_SETUP(sweep_ring)
{
	scene = self;
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	self->competitor = start_competitor(1);
	ASSERT_LT(0, self->competitor);
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	self->s->what = CALL;
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
	ASSERT_EQ(0, open_with_ring(&self->set, PERIOD, RECORDS,
				    VPMC_CONTROL_REARM));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
}

FIXTURE_TEARDOWN(sweep_ring)
{
	set_close(&self->set);
	EXPECT_EQ(0, sweep_stop(self->s));
	EXPECT_EQ(0, stop_disturber(self->competitor));
	EXPECT_EQ(0, write_file(RATE, "100000"));
}

/* On CPU 1: what is there is complete, and is not of an earlier turn. */
static int look_at_records(struct sweep *s)
{
	uint32_t i, n = vpmc_ring_unread(scene->ring);

	for (i = 0; i < n; i++) {
		const struct vpmc_record *r = vpmc_ring_record(scene->ring, i);

		if (r->mask != 1 || r->periods != 1 || !r->ip ||
		    r->sum[0] != (scene->consumed + i + 1) * PERIOD)
			return -EIO;
	}
	scene->seen += n;
	return 0;
}

static int wrong_records(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_ring) *self = arg;
	int wrong = sweep_body(self->s, &self->set, k, code_loop, TURNS, 0) != 0;
	uint32_t n = vpmc_ring_unread(self->ring);

	wrong += look_at_records(self->s) != 0;
	wrong += ring_consume(&self->set, n) != 0;
	self->consumed += n;
	return wrong;
}

TEST_F_TIMEOUT(sweep_ring, read_on_another_cpu, 120)
{
	self->s->call = look_at_records;
	sweep_all(_metadata, self->s, sweep_step(), wrong_records, self);
	TH_LOG("%llu records, %lu seen", (unsigned long long)self->consumed,
	       self->seen);
	EXPECT_LT(10, self->consumed);
	EXPECT_LT(self->consumed, self->seen);
}

#define GO	3
#define DONE	4

/*
 * This program is the new program, too. Its exit status is 11 if its set has a ring,
 * which it can map and which records what it counts, and 10 if execve() has ended the
 * ring.
 */
static void __attribute__((constructor)) new_program(int argc, char **argv)
{
	const volatile struct vpmc_ring *ring;
	struct set set;
	char byte;

	if (argc != 2 || strcmp(argv[1], "new-program"))
		return;
	if (write(DONE, "", 1) != 1 || read(GO, &byte, 1) != 1)
		_exit(1);
	set.fd = open(THREAD_FILE, O_RDWR);
	if (set.fd < 0 || vpmc_read_control(set.fd, &set.control))
		_exit(2);
	ring = ring_map(&set);
	if (!set.control.ring_records)
		_exit(ring == MAP_FAILED ? 10 : 12);
	if (ring == MAP_FAILED)
		_exit(13);
	if (code_measure(set.fd, VPMC_IOC_START, VPMC_IOC_STOP, code_loop,
			 2 * TURNS, 0))
		_exit(14);
	_exit(ring->head == 1 ? 11 : 15);
}

static int start_old_program(void)
{
	char *const argv[] = { "/proc/self/exe", "new-program", NULL };
	int go[2], done[2];
	char byte;

	if (pin(1) || pipe(go) || pipe(done))
		return 1;
	scene->pid = fork();
	if (!scene->pid) {
		if (dup2(go[0], GO) < 0 || dup2(done[1], DONE) < 0 ||
		    close_range(5, ~0U, 0) || write(DONE, "", 1) != 1 ||
		    read(GO, &byte, 1) != 1)
			_exit(3);
		execv(argv[0], argv);
		_exit(4);
	}
	close(go[0]);
	close(done[1]);
	scene->go = go[1];
	scene->done = done[0];
	return scene->pid < 0 || read(scene->done, &byte, 1) != 1 || pin(0);
}

static bool is_done(void)
{
	return poll_now(scene->done) == POLLIN;
}

static int let_it_exec(struct sweep *s)
{
	if (write(scene->go, "", 1) != 1)
		return -errno;
	sweep_wait_for(is_done);
	return 0;
}

static int wrong_program(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_ring) *self = arg;
	struct set set = { .control = self->set.control };
	int wrong = start_old_program(), status;
	char byte;

	set.fd = open_of(self->pid, O_RDWR | O_CREAT);
	wrong += sweep_arm(self->s, k) != 0;
	wrong += set_control(&set) != 0;
	sweep_disarm(self->s);
	if (!self->s->disturbed)
		wrong += let_it_exec(self->s) != 0;
	wrong += read(self->done, &byte, 1) != 1 ||
		 write(self->go, "", 1) != 1;
	status = child_status(self->pid);
	self->ended += status == 10;
	self->mapped += status == 11;
	wrong += status != 10 && status != 11;
	if (wrong)
		fprintf(stderr, "# status %d\n", status);
	close(self->go);
	close(self->done);
	close(set.fd);
	return wrong;
}

TEST_F_TIMEOUT(sweep_ring, owner_execs, 120)
{
	self->s->call = let_it_exec;
	sweep_all(_metadata, self->s, sweep_step(), wrong_program, self);
	TH_LOG("ended %lu times, mapped %lu times", self->ended, self->mapped);
	EXPECT_LT(0, self->ended);
	EXPECT_LT(0, self->mapped);
}

/* This thread can lock a few pages. */
static int lock_little(void)
{
	static const struct rlimit limit = { 16 * PAGE, 16 * PAGE };

	return setrlimit(RLIMIT_MEMLOCK, &limit) ||
	       set_capabilities(~(1ULL << CAP_IPC_LOCK)) ? -errno : 0;
}

/* On CPU 1, the same user. */
static int control_small(struct sweep *s)
{
	static struct set small;

	if (small.fd)
		return set_control(&small);
	return lock_little() ?: open_with_ring(&small, PERIOD, RECORDS, VPMC_CONTROL_REARM);
}

static int wrong_refusal(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_ring) *self = arg;
	struct set large = self->set;
	int wrong, err;

	large.control.ring_records = 32768;
	wrong = sweep_arm(self->s, k) != 0;
	err = set_control(&large);
	sweep_disarm(self->s);
	if (!wrong && err == -ENOMEM && large.control.reason == VPMC_REASON_RING_MEMORY)
		return 0;
	fprintf(stderr, "# error %d, reason %u\n", err, large.control.reason);
	return 1;
}

/* A ring that is refused for its size does not count meanwhile. */
TEST_F_TIMEOUT(sweep_ring, refused, 120)
{
	ASSERT_EQ(0, lock_little());
	self->s->call = control_small;
	/* Each instruction: few are between a charge and the refusal. */
	sweep_all(_metadata, self->s, test_slowness(), wrong_refusal, self);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
