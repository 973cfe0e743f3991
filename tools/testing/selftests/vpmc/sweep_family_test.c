// SPDX-License-Identifier: GPL-2.0
/*
 * While all members of a family are read, or execute a command, a member acts
 * at each of vpmc's instructions: it has a child, ends, or gives up what it
 * counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "inherit.h"
#include "poller.h"
#include "target.h"

#define MEMBERS		2
#define TURNS		1000
/* What a member has counted when it waits. */
#define COUNTED		code_add(CODE_MEASURE, CODE_LOOP(TURNS))

/* A member on CPU 1, which does one thing on request. */
struct member {
	struct child self;
	int fd;			/* its counters, in this process */
	struct {
		pid_t pid;
		int counted;	/* 1: it has counted; negative: it failed */
		char stat[512];	/* of the member */
	} *child;		/* its child, in shared memory */
	int stat;		/* its file in /proc */
};

FIXTURE(sweep_family)
{
	struct sweep *s;
	struct set root;
	struct member member[MEMBERS];
	pid_t competitor;	/* an idle CPU 1 lets CPU 0 go */
	unsigned int cmd;
	uint32_t state;		/* which it gives */
	bool counts;		/* a child starts its counters */
	unsigned long before, after;	/* what was found in that order */
	unsigned long meanwhile;	/* how often it was done while CPU 0 was held */
};

/* For what disturbs, which has no argument of its own. */
static FIXTURE_DATA(sweep_family) *scene;

FIXTURE_SETUP(sweep_family)
{
	int i;

	scene = self;
	self->competitor = start_competitor(1);
	ASSERT_LT(0, self->competitor);
	self->s = sweep_start(NULL);
	ASSERT_NE(NULL, self->s);
	self->s->what = CALL;
	ASSERT_TRUE(!pin(0) && !set_fifo(10) && sweep_kernel_ranges() > 0);
	ASSERT_EQ(0, root_open(&self->root, PROCESSES));
	for (i = 0; i < MEMBERS; i++) {
		self->member[i].child = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, self->member[i].child);
	}
}

FIXTURE_TEARDOWN(sweep_family)
{
	set_close(&self->root);
	EXPECT_EQ(0, sweep_stop(self->s));
	EXPECT_EQ(0, stop_disturber(self->competitor));
}

/* The end of the scene waits for CPU 0 where that has a lock. */
static void expect_meanwhile(struct __test_metadata *_metadata,
			     FIXTURE_DATA(sweep_family) *self)
{
	TH_LOG("found before it %lu times, after it %lu times; done meanwhile %lu times",
	       self->before, self->after, self->meanwhile);
	EXPECT_LT(10, self->meanwhile);
}

static bool is_held(void)
{
	struct pmu_trigger t = pmu_trigger_status();

	return pmu_trigger_state(&t) == PMU_TRIGGER_HELD;
}

static int count_now(void)
{
	int err = vpmc_ioctl(open(THREAD_FILE, O_RDWR), VPMC_IOC_START, 0);

	code_loop(TURNS, 0);
	return err ?: 1;
}

/* Counts, stands, and waits; then it has a child that stays, or ends. */
static void member_main(struct member *m, bool parent)
{
	struct set set;
	pid_t pid;

	if (set_fifo(20) || heir_open(&set) ||
	    set_measure(&set, code_loop, TURNS, 0) || child_send(&m->self) ||
	    child_wait(&m->self))
		_exit(1);
	if (!parent)
		_exit(0);
	pid = fork();
	if (!pid) {
		if (scene->counts)
			__atomic_store_n(&m->child->counted, count_now(),
					 __ATOMIC_SEQ_CST);
		for (;;)
			pause();
	}
	__atomic_store_n(&m->child->pid, pid, __ATOMIC_SEQ_CST);
	if (child_wait(&m->self))
		_exit(2);
	kill(pid, SIGKILL);
	_exit(child_status(pid) != KILLED_BY(SIGKILL));
}

static int start_members(bool parents)
{
	int i;

	/* Where they have been they are waited for when their memory goes. */
	if (pin(1))
		return 1;
	for (i = 0; i < MEMBERS; i++) {
		struct member *m = &scene->member[i];

		memset(m->child, 0, sizeof(*m->child));
		if (!child_fork(&m->self))
			member_main(m, parents);
		m->fd = open_of(m->self.pid, O_RDWR);
		if (m->fd < 0 || child_wait(&m->self))
			return 1;
	}
	return pin(0);
}

static int end_members(void)
{
	int i, wrong = 0;

	for (i = 0; i < MEMBERS; i++) {
		close(scene->member[i].fd);
		wrong += child_end(&scene->member[i].self) != 0;
	}
	return wrong;
}

/*
 * What is found out writes nothing that a fork has made common property: CPU 0
 * would be interrupted for that, and be let go.
 */
static bool have_ended(void)
{
	int i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += poll_now(scene->member[i].fd) == POLLHUP;
	return n == MEMBERS;
}

static int end_all(struct sweep *s)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		if (child_send(&scene->member[i].self))
			return -errno;
	scene->meanwhile += sweep_wait_for(have_ended) && is_held();
	return 0;
}

/* Each member is counted once, no matter when it ends. */
static int wrong_read(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	struct code_count all = code_times(COUNTED, MEMBERS);
	struct vpmc_read read;
	int wrong;

	wrong = start_members(false) || sweep_arm(self->s, k);
	wrong += family_read(self->root.fd, LIVING | FINISHED, &read) != 0;
	sweep_disarm(self->s);
	if (read.sum[0] != all.insns || read.sum[1] != all.branches ||
	    read.living + read.finished != MEMBERS) {
		fprintf(stderr, "# %u living, %llu finished: %llu, %llu\n",
			read.living, (unsigned long long)read.finished,
			(unsigned long long)read.sum[0],
			(unsigned long long)read.sum[1]);
		wrong++;
	}
	*(read.living ? &self->before : &self->after) += 1;
	if (!self->s->disturbed || !have_ended())
		wrong += self->s->disturbed ? 0 : end_all(self->s) != 0;
	wrong += end_members();
	wrong += family_wrong(self->root.fd, LIVING | FINISHED, 0, MEMBERS, all);
	return wrong + (vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR, 0) != 0);
}

TEST_F_TIMEOUT(sweep_family, members_end_in_read, 120)
{
	self->s->call = end_all;
	sweep_all(_metadata, self->s, sweep_step(), wrong_read, self);
	expect_meanwhile(_metadata, self);
	EXPECT_LT(0, self->before);
	EXPECT_LT(0, self->after);
}

/* What they give up goes to the family, and is read exactly once. */
static int clear_all(struct sweep *s)
{
	int i, err = 0;

	for (i = 0; i < MEMBERS && !err; i++)
		err = vpmc_ioctl(scene->member[i].fd, VPMC_IOC_CLEAR, 0);
	return err;
}

static int wrong_read_of_cleared(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	struct code_count all = code_times(COUNTED, MEMBERS);
	struct vpmc_read read;
	int wrong;

	wrong = sweep_arm(self->s, k) != 0;
	wrong += family_read(self->root.fd, LIVING | FINISHED, &read) != 0;
	sweep_disarm(self->s);
	if (read.sum[0] != all.insns || read.sum[1] != all.branches ||
	    read.living != MEMBERS || read.finished) {
		fprintf(stderr, "# %u living: %llu, %llu\n", read.living,
			(unsigned long long)read.sum[0],
			(unsigned long long)read.sum[1]);
		wrong++;
	}
	return wrong + family_wrong(self->root.fd, LIVING | FINISHED, MEMBERS, 0,
				    all);
}

static int wrong_with_new_members(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	int wrong = start_members(false);

	wrong += wrong_read_of_cleared(arg, k) + end_all(self->s) + end_members();
	return wrong + (vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR, 0) != 0);
}

TEST_F_TIMEOUT(sweep_family, members_clear_in_read, 120)
{
	self->s->call = clear_all;
	sweep_all(_metadata, self->s, sweep_step(), wrong_with_new_members, self);
}

/* Counts a loop each time that it is told to. */
static void runner_main(struct member *m)
{
	struct set set;

	if (set_fifo(20) || heir_open(&set) ||
	    vpmc_ioctl(set.fd, VPMC_IOC_START, 0) || child_send(&m->self))
		_exit(1);
	while (!child_wait(&m->self)) {
		code_loop(TURNS, 0);
		__atomic_add_fetch(&m->child->counted, 1, __ATOMIC_SEQ_CST);
	}
	_exit(0);
}

/*
 * The first member has counted its loop and sleeps again. Its stat file is read into
 * shared memory, for the reason that have_ended() has.
 */
static bool has_run(void)
{
	struct member *m = &scene->member[0];
	const char *state;

	if (!__atomic_load_n(&m->child->counted, __ATOMIC_SEQ_CST) ||
	    pread(m->stat, m->child->stat, sizeof(m->child->stat) - 1, 0) < 0)
		return false;
	state = strrchr(m->child->stat, ')');
	return state && state[2] == 'S';
}

static int run_member(struct sweep *s)
{
	struct member *m = &scene->member[0];

	__atomic_store_n(&m->child->counted, 0, __ATOMIC_SEQ_CST);
	if (child_send(&m->self))
		return -errno;
	scene->meanwhile += sweep_wait_for(has_run) && is_held();
	return 0;
}

/* READ finds what the member has counted before it runs, or after it has run. */
static int wrong_read_of_runner(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	struct vpmc_read before, during, after;
	uint64_t insns, branches;
	int wrong;

	wrong = family_read(self->root.fd, LIVING, &before) || sweep_arm(self->s, k);
	wrong += family_read(self->root.fd, LIVING, &during) != 0;
	sweep_disarm(self->s);
	if (!self->s->disturbed)
		return wrong;
	while (!has_run())
		usleep(100);
	wrong += family_read(self->root.fd, LIVING, &after) != 0;
	insns = during.sum[0] - before.sum[0];
	branches = during.sum[1] - before.sum[1];
	*(insns ? &self->after : &self->before) += 1;
	if (insns && (insns != after.sum[0] - before.sum[0] ||
		      branches != after.sum[1] - before.sum[1]))
		wrong++;
	wrong += !insns && branches;
	wrong += after.sum[0] - before.sum[0] < CODE_LOOP(TURNS).insns;
	if (wrong)
		fprintf(stderr, "# %llu and %llu, of %llu and %llu\n",
			(unsigned long long)insns, (unsigned long long)branches,
			(unsigned long long)(after.sum[0] - before.sum[0]),
			(unsigned long long)(after.sum[1] - before.sum[1]));
	return wrong;
}

TEST_F_TIMEOUT(sweep_family, member_runs_in_read, 120)
{
	struct member *m = &self->member[0];
	char path[32];

	ASSERT_EQ(0, pin(1));
	if (!child_fork(&m->self))
		runner_main(m);
	sprintf(path, "/proc/%d/stat", m->self.pid);
	m->stat = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, m->stat);
	ASSERT_EQ(0, child_wait(&m->self));
	ASSERT_EQ(0, pin(0));
	self->s->call = run_member;
	/* Two sums are read within five instructions. */
	sweep_all(_metadata, self->s, (sweep_step() + 9) / 10, wrong_read_of_runner,
		  self);
	expect_meanwhile(_metadata, self);
	EXPECT_LT(0, self->before);
	EXPECT_LT(0, self->after);
	close(m->stat);
	EXPECT_EQ(0, child_end(&m->self));
}

/* Those that end while CLEAR_ALL comes leave nothing from before. */
static int wrong_clear(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	struct vpmc_read read;
	int wrong;

	wrong = start_members(false) || sweep_arm(self->s, k);
	wrong += vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR_ALL, 0) != 0;
	sweep_disarm(self->s);
	wrong += !self->s->disturbed && end_all(self->s);
	wrong += end_members();
	wrong += family_wrong(self->root.fd, LIVING, 0, 0, CODE_COUNT(0, 0));
	wrong += family_read(self->root.fd, FINISHED, &read) != 0;
	wrong += read.sum[0] + read.sum[1] != 0;
	*(read.finished ? &self->after : &self->before) += 1;
	return wrong + (vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR, 0) != 0);
}

TEST_F_TIMEOUT(sweep_family, members_end_in_clear, 120)
{
	self->s->call = end_all;
	sweep_all(_metadata, self->s, sweep_step(), wrong_clear, self);
	expect_meanwhile(_metadata, self);
	EXPECT_LT(0, self->before);
	EXPECT_LT(0, self->after);
}

/* Those that end while STOP_ALL comes are counted, also if CLEAR_ALL came before. */
static int wrong_stop(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	int wrong;

	wrong = vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR_ALL, 0) ||
		start_members(false) || sweep_arm(self->s, k);
	wrong += vpmc_ioctl(self->root.fd, VPMC_IOC_STOP_ALL, 0) != 0;
	sweep_disarm(self->s);
	wrong += !self->s->disturbed && end_all(self->s);
	wrong += end_members();
	wrong += family_wrong(self->root.fd, LIVING | FINISHED, 0, MEMBERS,
			      code_times(COUNTED, MEMBERS));
	return wrong + (vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR, 0) != 0);
}

TEST_F_TIMEOUT(sweep_family, members_end_in_stop, 120)
{
	self->s->call = end_all;
	/* The command has little to do. */
	sweep_all(_metadata, self->s, (sweep_step() + 2) / 3, wrong_stop, self);
	expect_meanwhile(_metadata, self);
}

static uint32_t state_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0U : read.state;
}

/* All members have a child, and it has counted if it is to count. */
static bool have_children(void)
{
	int i, n = 0;

	for (i = 0; i < MEMBERS; i++)
		n += __atomic_load_n(&scene->member[i].child->pid,
				     __ATOMIC_SEQ_CST) > 0 &&
		     (!scene->counts ||
		      __atomic_load_n(&scene->member[i].child->counted,
				      __ATOMIC_SEQ_CST));
	return n == MEMBERS;
}

static int fork_all(struct sweep *s)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		if (child_send(&scene->member[i].self))
			return -errno;
	scene->meanwhile += sweep_wait_for(have_children) && is_held();
	return 0;
}

/* They count, and are not of those that READ tells of. */
static int wrong_read_of_newborns(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	struct vpmc_read read;
	int wrong, i;

	wrong = start_members(true) || sweep_arm(self->s, k);
	wrong += family_read(self->root.fd, LIVING, &read) != 0;
	sweep_disarm(self->s);
	wrong += !self->s->disturbed && fork_all(self->s);
	while (!have_children())
		usleep(100);
	/* A child counts one loop at once. */
	wrong += read.sum[0] < MEMBERS * COUNTED.insns;
	wrong += read.living == MEMBERS &&
		 read.sum[0] != MEMBERS * COUNTED.insns;
	*(read.living == MEMBERS ? &self->before : &self->after) += 1;
	for (i = 0; i < MEMBERS; i++) {
		wrong += self->member[i].child->counted != 1;
		wrong += child_send(&self->member[i].self) != 0;
	}
	return wrong + end_members();
}

TEST_F_TIMEOUT(sweep_family, born_in_read, 120)
{
	self->s->call = fork_all;
	self->counts = true;
	sweep_all(_metadata, self->s, sweep_step(), wrong_read_of_newborns, self);
	expect_meanwhile(_metadata, self);
}

/* All execute the command, also those that are born meanwhile. */
static int wrong_command(void *arg, unsigned long k)
{
	FIXTURE_DATA(sweep_family) *self = arg;
	int wrong, i, fd, opposite;

	opposite = self->cmd == VPMC_IOC_STOP_ALL ? VPMC_IOC_START_ALL :
						    VPMC_IOC_STOP_ALL;
	wrong = start_members(true) ||
		vpmc_ioctl(self->root.fd, opposite, 0) || sweep_arm(self->s, k);
	wrong += vpmc_ioctl(self->root.fd, self->cmd, 0) != 0;
	sweep_disarm(self->s);
	wrong += !self->s->disturbed && fork_all(self->s);
	while (!have_children())
		usleep(100);
	for (i = 0; i < MEMBERS; i++) {
		struct member *m = &self->member[i];

		wrong += state_of(m->fd) != self->state;
		fd = open_of(m->child->pid, O_RDWR);
		if (state_of(fd) != self->state) {
			fprintf(stderr, "# child %d: %u\n", i, state_of(fd));
			wrong++;
		}
		close(fd);
		wrong += child_send(&m->self) != 0;
	}
	wrong += vpmc_ioctl(self->root.fd, VPMC_IOC_STOP_ALL, 0) != 0;
	return wrong + end_members();
}

TEST_F_TIMEOUT(sweep_family, born_in_stop, 120)
{
	self->s->call = fork_all;
	self->cmd = VPMC_IOC_STOP_ALL;
	self->state = VPMC_STATE_STOPPED;
	sweep_all(_metadata, self->s, sweep_step(), wrong_command, self);
	expect_meanwhile(_metadata, self);
}

TEST_F_TIMEOUT(sweep_family, born_in_start, 120)
{
	self->s->call = fork_all;
	self->cmd = VPMC_IOC_START_ALL;
	self->state = VPMC_STATE_RUNNING;
	sweep_all(_metadata, self->s, sweep_step(), wrong_command, self);
	expect_meanwhile(_metadata, self);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
