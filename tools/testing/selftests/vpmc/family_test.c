// SPDX-License-Identifier: GPL-2.0
/*
 * START_ALL, STOP_ALL and CLEAR_ALL: one call changes a root and its
 * descendants, also those that are born or end meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "inherit.h"
#include "remote.h"

#define MEMBERS	5
#define MANY	200
#define SERVE	TARGET_SERVE

/* Members sleep in code_serve(), and each has a pipe to be woken by. */
FIXTURE(family)
{
	struct set root;
	struct target member[MEMBERS];
	int fd[MEMBERS];	/* their files */
};

FIXTURE_SETUP(family)
{
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&self->root, PROCESSES));
	for (i = 0; i < MEMBERS; i++) {
		self->member[i] = (struct target){};
		ASSERT_EQ(0, target_start(&self->member[i]));
		self->fd[i] = open_of(self->member[i].pid, O_RDWR);
		ASSERT_LE(0, self->fd[i]);
	}
}

FIXTURE_TEARDOWN(family)
{
	int i;

	for (i = 0; i < MEMBERS; i++) {
		EXPECT_EQ(0, target_end(&self->member[i]));
		close(self->fd[i]);
	}
	set_close(&self->root);
}

static int serve_all(FIXTURE_DATA(family) *self, int n)
{
	int err = 0, i;

	for (i = 0; i < MEMBERS && !err; i++)
		err = target_serve(&self->member[i], n);
	return err;
}

/*
 * How many members are not in this state, or have not counted so much, with at most two
 * starts since root_open().
 */
static int wrong_members(FIXTURE_DATA(family) *self, uint32_t state,
			 struct code_count want)
{
	struct vpmc_read read;
	int wrong = 0, i;

	want = counted_here(want);
	for (i = 0; i < MEMBERS; i++) {
		if (!vpmc_read(self->fd[i], &read) && read.state == state &&
		    fits_since(read.sum[0], want.insns, 2) &&
		    fits_since(read.sum[1], want.branches, 2))
			continue;
		fprintf(stderr, "# member %d: state %u, %llu, %llu\n", i,
			read.state, (unsigned long long)read.sum[0],
			(unsigned long long)read.sum[1]);
		wrong++;
	}
	return wrong;
}

static uint32_t state_of(int fd)
{
	struct vpmc_read read;

	return vpmc_read(fd, &read) ? ~0U : read.state;
}

TEST_F(family, start_and_stop)
{
	int fd = self->root.fd;

	ASSERT_EQ(0, serve_all(self, 1));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_STOPPED, CODE_COUNT(0, 0)));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START_ALL, 0));
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(fd));
	ASSERT_EQ(0, serve_all(self, 2));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_RUNNING,
				   code_times(SERVE, 2)));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_STOP_ALL, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(fd));
	ASSERT_EQ(0, serve_all(self, 1));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_STOPPED,
				   code_times(SERVE, 2)));
	/* Each turn comes to all of them. */
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START_ALL, 0));
	ASSERT_EQ(0, serve_all(self, 1));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_RUNNING,
				   code_times(SERVE, 3)));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_STOP_ALL, 0));
}

TEST_F(family, clear)
{
	struct vpmc_read read;
	int fd = self->root.fd;

	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START_ALL, 0));
	ASSERT_EQ(0, serve_all(self, 1));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_STOP_ALL, 0));
	/* One counter of two. */
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR_ALL, (void *)1));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_STOPPED,
				   CODE_COUNT(0, SERVE.branches)));
	ASSERT_EQ(0, family_read(fd, LIVING | FINISHED, &read));
	EXPECT_EQ(0, read.sum[0]);
	EXPECT_LT(MEMBERS * SERVE.branches, read.sum[1]);
	EXPECT_LT(0, read.switches);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR_ALL, 0));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_STOPPED, CODE_COUNT(0, 0)));
	ASSERT_EQ(0, family_read(fd, LIVING | FINISHED, &read));
	EXPECT_EQ(0, read.sum[0] + read.sum[1] + read.ticks + read.switches);
	EXPECT_EQ(MEMBERS, read.living);
}

/* What members count from there on goes to the family. */
TEST_F(family, counts_after_clear)
{
	int fd = self->root.fd, i;

	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START_ALL, 0));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR_ALL, 0));
	ASSERT_EQ(0, serve_all(self, 1));
	for (i = 0; i < MEMBERS; i++)
		ASSERT_EQ(0, vpmc_ioctl(self->fd[i], VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, family_wrong(fd, LIVING | FINISHED, 0, MEMBERS,
				  code_times(SERVE, MEMBERS)));
}

TEST_F(family, born_after_clear)
{
	pid_t pid;

	ASSERT_EQ(0, vpmc_ioctl(self->root.fd, VPMC_IOC_CLEAR_ALL, 0));
	pid = fork();
	if (!pid) {
		struct set set;

		_exit(heir_open(&set) || set_measure(&set, code_loop, 1000, 0));
	}
	ASSERT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(self->root.fd, FINISHED, 0, 1,
				  code_add(CODE_MEASURE, CODE_LOOP(1000))));
}

/* Of those that have ended as well. */
TEST_F(family, clear_of_finished)
{
	struct vpmc_read read;
	int fd = self->root.fd;
	pid_t pid = fork();

	if (!pid) {
		struct set set;

		_exit(heir_open(&set) || set_measure(&set, code_loop, 1000, 0));
	}
	ASSERT_EQ(0, child_status(pid));
	EXPECT_EQ(0, family_wrong(fd, FINISHED, 0, 1,
				  code_add(CODE_MEASURE, CODE_LOOP(1000))));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CLEAR_ALL, 0));
	ASSERT_EQ(0, family_read(fd, FINISHED, &read));
	EXPECT_EQ(0, read.finished + read.sum[0] + read.sum[1] + read.ticks);
}

/*
 * A command to a member, or to a set without members, affects that set alone.
 */
TEST_F(family, not_a_root)
{
	ASSERT_EQ(0, vpmc_ioctl(self->fd[0], VPMC_IOC_START_ALL, 0));
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->fd[0]));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(self->fd[1]));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(self->root.fd));
	/* No member any more. */
	ASSERT_EQ(0, program(self->fd[1], 0, inherited));
	ASSERT_EQ(0, vpmc_ioctl(self->root.fd, VPMC_IOC_STOP_ALL, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(self->fd[0]));
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(self->fd[1]));
	ASSERT_EQ(0, vpmc_ioctl(self->fd[1], VPMC_IOC_STOP_ALL, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(self->fd[1]));
	ASSERT_EQ(0, vpmc_ioctl(self->fd[1], VPMC_IOC_CLEAR_ALL, 0));
}

/* The same errors as of START, STOP and CLEAR, and nothing changes. */
TEST_F(family, errors)
{
	static const unsigned int all[] = {
		VPMC_IOC_START_ALL, VPMC_IOC_STOP_ALL, VPMC_IOC_CLEAR_ALL,
	};
	int fd = self->root.fd, ro = open(THREAD_FILE, O_RDONLY), i;

	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_START_ALL, 0));
	ASSERT_EQ(0, serve_all(self, 1));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_STOP_ALL, (void *)1));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_START_ALL, (void *)1));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_CLEAR_ALL, (void *)4));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EBADF, vpmc_ioctl(ro, all[i], 0));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_RUNNING, SERVE));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ESRCH, vpmc_ioctl(fd, all[i], 0));
	close(ro);
	ro = vpmc_open();
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ENODATA, vpmc_ioctl(ro, all[i], 0));
	EXPECT_EQ(0, wrong_members(self, VPMC_STATE_RUNNING, SERVE));
	ASSERT_EQ(0, vpmc_ioctl(ro, VPMC_IOC_UNLINK, 0));
	close(ro);
}

/* Members of a thread's kind, in the root's own process. */
struct sleeping {
	volatile int *stop;
	volatile unsigned int turns;
	pthread_t thread;
};

static void *sleeping_thread(void *arg)
{
	struct sleeping *sleeping = arg;

	while (!*sleeping->stop) {
		usleep(1000);
		sleeping->turns++;
	}
	return NULL;
}

/* Each of them has woken twice since this was called. */
static void await_two_turns(const struct sleeping *sleeping, int n)
{
	unsigned int before[n];
	int i;

	for (i = 0; i < n; i++)
		before[i] = sleeping[i].turns;
	for (i = 0; i < n; i++)
		while (sleeping[i].turns - before[i] < 2)
			usleep(1000);
}

TEST(threads)
{
	struct sleeping sleeping[3] = {};
	struct vpmc_read read;
	volatile int stop = 0;
	struct set root;
	int i;

	ASSERT_EQ(0, root_open(&root, THREADS));
	for (i = 0; i < 3; i++) {
		sleeping[i].stop = &stop;
		ASSERT_EQ(0, pthread_create(&sleeping[i].thread, NULL,
					    sleeping_thread, &sleeping[i]));
	}
	await_two_turns(sleeping, 3);
	ASSERT_EQ(0, family_read(root.fd, LIVING, &read));
	EXPECT_EQ(3, read.living);
	EXPECT_EQ(0, read.sum[0]);
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_START_ALL, 0));
	await_two_turns(sleeping, 3);
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_STOP_ALL, 0));
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, family_read(root.fd, LIVING, &read));
	EXPECT_LE(counters_here(101), read.sum[0]);
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(sleeping[i].thread, NULL);
	set_close(&root);
}

/* Sums of all members, living and ended. */
static uint64_t everything(int fd)
{
	struct vpmc_read read;

	return family_read(fd, LIVING | FINISHED, &read) ? ~0ULL : read.sum[0];
}

#define FORKERS	3

TEST(born_meanwhile)
{
	pid_t pid[FORKERS];
	struct set root;
	uint64_t sum;
	int i, turn;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&root, PROCESSES));
	for (i = 0; i < FORKERS; i++) {
		pid[i] = fork();
		if (!pid[i])
			fork_all_the_time();
	}
	for (turn = 0; turn < test_times(300); turn++) {
		ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_START_ALL, 0));
		code_loop(1 + 1709 * (turn % 50), 0);
		ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_STOP_ALL, 0));
		sum = everything(root.fd);
		code_loop(300000, 0);
		ASSERT_EQ(sum, everything(root.fd)) {
			TH_LOG("turn %d", turn);
		}
	}
	for (i = 0; i < FORKERS; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < FORKERS; i++)
		EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid[i]));
	set_close(&root);
}

/* Has counted so much, says so, waits for the root, and counts no more. */
static void count_and_end(long turns, int counted, int go)
{
	struct set set;
	char byte;

	if (pin(1) || heir_open(&set) || set_measure(&set, code_loop, turns, 0) ||
	    write(counted, "", 1) != 1)
		_exit(1);
	/* If a member fails, its parent finds the end of the pipe. */
	close(counted);
	_exit(read(go, &byte, 1));
}

/* So many members that end when @go is closed. All of them have counted. */
static int members_that_end(pid_t *pid, int n, long turns, int *go)
{
	int start[2], counted[2], i;
	char byte;

	if (pipe(start) || pipe(counted))
		return -1;
	for (i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(start[1]);
			count_and_end(turns, counted[1], start[0]);
		}
	}
	close(start[0]);
	close(counted[1]);
	for (i = 0; i < n && read(counted[0], &byte, 1) == 1; i++)
		;
	close(counted[0]);
	*go = start[1];
	return i < n;
}

/* Those that end while CLEAR_ALL comes leave nothing from before. */
TEST(end_meanwhile)
{
	pid_t pid[MEMBERS];
	struct vpmc_read read;
	struct set root;
	int round, i, go;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&root, PROCESSES));
	for (round = 0; round < test_times(50); round++) {
		ASSERT_EQ(0, members_that_end(pid, MEMBERS, 100000, &go));
		close(go);
		code_loop(1 + 2003 * round, 0);
		ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_CLEAR_ALL, 0));
		for (i = 0; i < MEMBERS; i++)
			ASSERT_EQ(0, child_status(pid[i]));
		ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED, &read));
		ASSERT_EQ(0, read.sum[0]) {
			TH_LOG("round %d", round);
		}
	}
	set_close(&root);
}

/*
 * Members that count no more end on another CPU. Meanwhile each READ returns the
 * same: a member that ends is counted once, before READ visits it or after.
 */
TEST(same_while_members_end)
{
	struct vpmc_read first, read;
	struct set root;
	pid_t pid[MANY];
	int round, i, go;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&root, PROCESSES));
	for (round = 0; round < test_times(6); round++) {
		ASSERT_EQ(0, members_that_end(pid, MANY, 10, &go));
		ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED, &first));
		EXPECT_EQ(MANY, first.living);
		close(go);
		do {
			ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED,
						 &read));
			ASSERT_EQ(MANY * (round + 1),
				  read.living + read.finished);
			ASSERT_EQ(first.sum[0], read.sum[0]) {
				TH_LOG("round %d, %u live", round, read.living);
			}
			ASSERT_EQ(first.sum[1], read.sum[1]);
		} while (read.living);
		for (i = 0; i < MANY; i++)
			ASSERT_EQ(0, child_status(pid[i]));
	}
	set_close(&root);
}

/* Only the first CLEAR gives the family a count. Later ones give 0. */
static void clear_until(volatile int *end, volatile unsigned long *clears)
{
	struct set set;
	int err;

	err = prctl(PR_SET_PDEATHSIG, SIGKILL) || pin(1) || heir_open(&set) ||
	      set_measure(&set, code_loop, 10, 0);
	do {
		err = err || vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0);
		++*clears;
	} while (!err && !*end);
	_exit(err);
}

/*
 * The youngest member clears its counters all the time, on another CPU. READ comes to
 * it last, and receives what it clears while READ adds what the others have counted.
 * Without the family's lock even the addition of 0 can overwrite what READ has added.
 */
TEST(same_while_a_member_clears)
{
	struct vpmc_read first, read;
	struct {
		volatile int end;
		volatile unsigned long clears;
	} *shared;
	pid_t pid[MANY / 10 + 1];
	unsigned long before;
	struct set root;
	int i, go;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&root, PROCESSES));
	ASSERT_EQ(0, members_that_end(pid, MANY / 10, 10, &go));
	pid[MANY / 10] = fork();
	if (!pid[MANY / 10])
		clear_until(&shared->end, &shared->clears);
	while (!shared->clears)
		sched_yield();
	before = shared->clears;
	ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED, &first));
	/* Until it has cleared them, which other load on its CPU may delay. */
	for (i = 0; i < test_times(1000) || shared->clears == before; i++) {
		ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED, &read));
		ASSERT_EQ(MANY / 10 + 1, read.living);
		ASSERT_EQ(first.sum[0], read.sum[0]) {
			TH_LOG("READ %d", i);
		}
		ASSERT_EQ(first.sum[1], read.sum[1]);
	}
	shared->end = 1;
	close(go);
	for (i = 0; i < MANY / 10 + 1; i++)
		ASSERT_EQ(0, child_status(pid[i]));
	set_close(&root);
}

#define READERS	4

/* A thread that reads the family all the time, on one of both CPUs. */
struct reader {
	pthread_t thread;
	const struct vpmc_read *first;
	volatile int *stop;
	int fd, cpu;
	volatile unsigned long reads;
	unsigned long wrong;
};

static void *reader_thread(void *arg)
{
	struct reader *r = arg;
	struct vpmc_read read;

	if (pin(r->cpu))
		r->wrong++;
	while (!*r->stop) {
		if (family_read(r->fd, LIVING | FINISHED, &read) ||
		    (r->first && (read.sum[0] != r->first->sum[0] ||
				  read.sum[1] != r->first->sum[1] ||
				  read.living + read.finished !=
				  r->first->living + r->first->finished)))
			r->wrong++;
		r->reads++;
	}
	return NULL;
}

/* Other load may delay a new thread. So it waits until each has read once. */
static int start_readers(struct reader *reader, int fd,
			 const struct vpmc_read *first, volatile int *stop)
{
	int i;

	for (i = 0; i < READERS; i++) {
		reader[i] = (struct reader){
			.first = first, .stop = stop, .fd = fd, .cpu = i % 2,
		};
		if (pthread_create(&reader[i].thread, NULL, reader_thread,
				   &reader[i]))
			return -1;
	}
	for (i = 0; i < READERS; i++)
		while (!reader[i].reads)
			usleep(1000);
	return 0;
}

/* Returns how many READs were wrong. */
static unsigned long end_readers(struct reader *reader, volatile int *stop)
{
	unsigned long wrong = 0;
	int i;

	*stop = 1;
	for (i = 0; i < READERS; i++) {
		pthread_join(reader[i].thread, NULL);
		wrong += reader[i].wrong;
	}
	return wrong;
}

/* READs that share what they visit. */
TEST(same_for_all_who_read)
{
	struct reader reader[READERS];
	struct vpmc_read first, read;
	volatile int stop;
	struct set root;
	pid_t pid[MANY];
	int round, i, go;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&root, PROCESSES));
	for (round = 0; round < test_times(3); round++) {
		ASSERT_EQ(0, members_that_end(pid, MANY, 10, &go));
		ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED, &first));
		EXPECT_EQ(MANY, first.living);
		stop = 0;
		ASSERT_EQ(0, start_readers(reader, root.fd, &first, &stop));
		usleep(20000);
		close(go);
		do {
			usleep(1000);
			ASSERT_EQ(0, family_read(root.fd, LIVING | FINISHED,
						 &read));
			EXPECT_EQ(first.sum[0], read.sum[0]);
		} while (read.living);
		EXPECT_EQ(0, end_readers(reader, &stop)) {
			TH_LOG("round %d", round);
		}
		for (i = 0; i < MANY; i++)
			ASSERT_EQ(0, child_status(pid[i]));
	}
	set_close(&root);
}

/* What was counted before a READ is in it, whatever other READs are under way. */
TEST(read_by_many)
{
	struct code_count each = code_add(CODE_MEASURE, CODE_LOOP(100));
	struct reader reader[READERS];
	struct vpmc_read first, read;
	volatile int stop = 0;
	pid_t pid[MANY / 4 + 1];
	struct set root, set;
	struct child child = {};
	int i, go, stale = 0;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&root, PROCESSES));
	/* The first who is visited counts, after the READs have begun. */
	if (!child_fork(&child)) {
		stale = heir_open(&set) || child_wait(&child);
		if (family_read(root.fd, LIVING, &first))
			stale = 1;
		for (i = 1; i <= test_times(300) && !stale; i++) {
			stale = set_measure(&set, code_loop, 100, 0) ||
				family_read(root.fd, LIVING, &read) ||
				read.sum[0] != first.sum[0] + i * each.insns;
			if (stale)
				fprintf(stderr, "# READ %d: %llu after %llu\n", i,
					(unsigned long long)read.sum[0],
					(unsigned long long)first.sum[0]);
		}
		_exit(stale || child_send(&child));
	}
	ASSERT_EQ(0, members_that_end(pid, MANY / 4, 10, &go));
	ASSERT_EQ(0, start_readers(reader, root.fd, NULL, &stop));
	ASSERT_EQ(0, child_send(&child));
	EXPECT_EQ(0, child_wait(&child));
	EXPECT_EQ(0, end_readers(reader, &stop));
	EXPECT_EQ(0, child_end(&child));
	close(go);
	for (i = 0; i < MANY / 4; i++)
		ASSERT_EQ(0, child_status(pid[i]));
	set_close(&root);
}

/* As many as there are. */
TEST(many)
{
	struct child child[MANY];
	struct vpmc_read read;
	struct set root;
	int i, n = 0;

	ASSERT_EQ(0, root_open(&root, PROCESSES));
	for (i = 0; i < MANY; i++)
		if (!child_fork(&child[i]))
			_exit(child_wait(&child[i]) ? 0 : 1);
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_START_ALL, 0));
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_STOP, 0));
	for (i = 0; i < MANY; i++) {
		int fd = open_of(child[i].pid, O_RDONLY);

		n += state_of(fd) == VPMC_STATE_RUNNING;
		close(fd);
	}
	EXPECT_EQ(MANY, n);
	ASSERT_EQ(0, family_read(root.fd, LIVING, &read));
	EXPECT_EQ(MANY, read.living);
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_STOP_ALL, 0));
	for (i = 0; i < MANY; i++) {
		int fd = open_of(child[i].pid, O_RDONLY);

		n -= state_of(fd) == VPMC_STATE_STOPPED;
		close(fd);
	}
	EXPECT_EQ(0, n);
	for (i = MANY; i--;)
		EXPECT_EQ(0, child_end(&child[i]));
	set_close(&root);
}

NEEDS(
	{ "family.not_a_root", VPMC | TWO_CPUS },
	{ "global.read_by_many", TRUE_COUNTS | TWO_CPUS },
	{ "family.clear", PMU | TWO_CPUS },
	{ "*", PMU | OR_EMPTY | TWO_CPUS },
);

TEST_HARNESS_MAIN
