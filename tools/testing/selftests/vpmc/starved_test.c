// SPDX-License-Identifier: GPL-2.0
/*
 * A member of a family that gets no CPU time keeps nobody waiting, whatever it was
 * doing when it lost the CPU: not those who operate on it or its family, not the
 * fork or end of other members, and not the death of a reader.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "members.h"
#include "poller.h"
#include "starve.h"
#include "target.h"

/* The other thread on CPU 1 takes 40 ms at a time, and leaves a few between them. */
#define BUSY_MS		40
#define CYCLES		5	/* of the other thread, for each action */

#define LARGE		500	/* members of a family that takes long to read */
#define KILLS		30
#define READERS		200	/* at the same time */

/* What the starved member does all the time. */
enum action {
	START_STOP,
	CLEAR,
	READ_TEXT,
	POLL,
	READ,
	READ_CONTROL,
	MAP,
	FORK,
	READ_ALL,
	COMMAND_ALL,
	NR_ACTIONS,
};

/* What it shares with the others. */
struct shared {
	volatile int action;
	volatile unsigned long actions;
	volatile unsigned long cycles;	/* of the other thread */
	volatile unsigned long reads;
	volatile int stop;
	int root;			/* descriptor */
	volatile uint64_t cost[2];	/* instructions */
};

FIXTURE(starved)
{
	struct shared *shared;
	struct set root;
	pid_t member, busy;
	int fd;		/* the member's set, as the root sees it */
};

/*
 * A child that ends at once. By vfork(): a fork() waits for other forks of its
 * process tree without vpmc, too, because they share a lock of the anonymous memory.
 */
static int fork_and_exit(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	return child_status(pid);
}

static int act(int action, int fd, int root)
{
	struct vpmc_control control;
	struct vpmc_read read;
	char text[PAGE];
	void *page;

	switch (action) {
	case START_STOP:
		return vpmc_ioctl(fd, VPMC_IOC_START, 0) ?:
		       vpmc_ioctl(fd, VPMC_IOC_STOP, 0);
	case CLEAR:
		return vpmc_ioctl(fd, VPMC_IOC_CLEAR, 0);
	case READ_TEXT:
		return pread(fd, text, PAGE, 0) < 100;
	case POLL:
		return poll_now(fd);
	case READ:
		return vpmc_read(fd, &read);
	case READ_CONTROL:
		return vpmc_read_control(fd, &control);
	case MAP:
		page = vpmc_map(fd);
		return page == MAP_FAILED || munmap(page, PAGE);
	case FORK:
		return fork_and_exit();
	case READ_ALL:
		return family_read(root, LIVING | FINISHED, &read);
	default:
		return vpmc_ioctl(root, VPMC_IOC_START_ALL, 0) ?:
		       vpmc_ioctl(root, VPMC_IOC_CLEAR_ALL, 0);
	}
}

/* A process that inherits, and gets as little of CPU 1 as a user can arrange for. */
static void starve(struct shared *shared, int root)
{
	int fd = open(THREAD_FILE, O_RDWR);

	if (fd < 0 || be_starved())
		_exit(1);
	while (!act(shared->action, fd, root))
		shared->actions++;
	_exit(2);
}

FIXTURE_SETUP(starved)
{
	self->shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, root_open(&self->root, PROCESSES | THREADS));
	self->member = fork();
	if (!self->member)
		starve(self->shared, self->root.fd);
	self->fd = open_of(self->member, O_RDWR);
	ASSERT_LE(0, self->fd);
	while (!self->shared->actions)
		usleep(1000);
	self->busy = fork();
	if (!self->busy)
		be_busy(&self->shared->cycles, BUSY_MS, 500);
}

FIXTURE_TEARDOWN(starved)
{
	kill(self->busy, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(self->busy));
	kill(self->member, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(self->member));
	close(self->fd);
	set_close(&self->root);
	munmap(self->shared, PAGE);
}

/* What others do meanwhile */
static const char *const operation_name[] = {
	"START", "STOP", "CLEAR", "read()", "poll()", "READ", "READ_CONTROL",
	"open()", "READ of the family", "STOP_ALL", "CLEAR_ALL",
	"START of the root", "fork and exit",
};

#define OPERATIONS	(int)(sizeof(operation_name) / sizeof(*operation_name))

static int operate(FIXTURE_DATA(starved) *self, int operation)
{
	int root = self->root.fd, fd = self->fd;
	struct vpmc_read read;

	switch (operation) {
	case 0:
		return vpmc_ioctl(fd, VPMC_IOC_START, 0);
	case 1:
		return vpmc_ioctl(fd, VPMC_IOC_STOP, 0);
	case 2:
		return act(CLEAR, fd, root);
	case 3:
		return act(READ_TEXT, fd, root);
	case 4:
		return act(POLL, fd, root);
	case 5:
		return act(READ, fd, root);
	case 6:
		return act(READ_CONTROL, fd, root);
	case 7:
		fd = open_of(self->member, O_RDWR);
		return fd < 0 || close(fd);
	case 8:
		return family_read(root, LIVING | FINISHED, &read) ||
		       !read.living;
	case 9:
		return vpmc_ioctl(root, VPMC_IOC_STOP_ALL, 0);
	case 10:
		return vpmc_ioctl(root, VPMC_IOC_CLEAR_ALL, 0);
	case 11:
		return vpmc_ioctl(root, VPMC_IOC_START, 0);
	default:
		return fork_and_exit();
	}
}

/* Does each operation once, and notes which took longest. Returns 0 or an error. */
static int operate_all(FIXTURE_DATA(starved) *self, double *worst)
{
	double begin, ms;
	int i;

	for (i = 0; i < OPERATIONS; i++) {
		begin = ms_now();
		if (operate(self, i)) {
			fprintf(stderr, "# %s failed\n", operation_name[i]);
			return -1;
		}
		ms = ms_now() - begin;
		if (ms > worst[i])
			worst[i] = ms;
	}
	return 0;
}

/*
 * With PREEMPT_RT a fork waits for another fork that has lost the CPU, without vpmc,
 * too: there the locks of fork() can be held without the CPU.
 */
static bool waits_anyway(int action, int operation)
{
	return action == FORK && operation == OPERATIONS - 1 && kernel_is_rt();
}

TEST_F_TIMEOUT(starved, keeps_nobody_waiting, 300)
{
	unsigned long cycles, actions;
	int action, i;

	for (action = 0; action < NR_ACTIONS; action++) {
		double worst[OPERATIONS] = {};

		self->shared->action = action;
		cycles = self->shared->cycles;
		actions = self->shared->actions;
		while (self->shared->cycles - cycles <= CYCLES ||
		       self->shared->actions - actions < 2) {
			ASSERT_EQ(0, operate_all(self, worst)) {
				TH_LOG("action %d", action);
			}
			usleep(1000);
		}
		for (i = 0; i < OPERATIONS; i++) {
			if (waits_anyway(action, i))
				continue;
			EXPECT_GT(BOUND_MS * test_slowness(), worst[i]) {
				TH_LOG("action %d: %s took %.3f ms", action,
				       operation_name[i], worst[i]);
			}
		}
	}
}

/* Reads the family until it is killed. Returns how long its death took. */
static double death_ms(struct shared *shared, int root, unsigned int after_us)
{
	struct vpmc_read read;
	unsigned long reads;
	double begin;
	pid_t pid;

	pid = fork();
	if (!pid) {
		while (!family_read(root, LIVING | FINISHED, &read))
			shared->reads++;
		_exit(1);
	}
	reads = shared->reads;
	while (shared->reads == reads)
		usleep(100);
	usleep(after_us);
	begin = ms_now();
	kill(pid, SIGKILL);
	return child_status(pid) == KILLED_BY(SIGKILL) ? ms_now() - begin : 1e9;
}

/* Whoever is killed while it waits for the member ends at once. */
TEST_F_TIMEOUT(starved, readers_can_be_killed, 120)
{
	double ms, worst = 0;
	int i;

	for (i = 0; i < KILLS; i++) {
		ms = death_ms(self->shared, self->root.fd, 5000 + 1709 * i);
		if (ms > worst)
			worst = ms;
	}
	TH_LOG("a death took %.3f ms at most", worst);
	EXPECT_GT(BOUND_MS * test_slowness(), worst);
}

/* Counts the kernel, too, and so what a request costs. */
static const struct choice with_kernel[] = {
	{ 0x300c0, FIXED(0) }, { EV_BRANCHES, 1 }, {}
};

/* The fewest instructions that a CLEAR of this set takes, on CPU 0. */
static uint64_t cost_of_clear(int fd)
{
	struct vpmc_read before, after;
	uint64_t least = ~0ULL;
	int i;

	for (i = 0; i < 30; i++) {
		if (vpmc_read(fd, &before) ||
		    vpmc_ioctl(fd, VPMC_IOC_CLEAR, (void *)2) ||
		    vpmc_read(fd, &after))
			return 0;
		if (after.sum[0] - before.sum[0] < least)
			least = after.sum[0] - before.sum[0];
		usleep(100);
	}
	return least;
}

static void *starved_reader(void *arg)
{
	const struct sched_param none = {};
	struct shared *shared = arg;
	struct vpmc_read read;

	if (pin(1) || sched_setscheduler(0, SCHED_IDLE, &none))
		return (void *)1;
	while (!shared->stop)
		if (family_read(shared->root, LIVING | FINISHED, &read))
			return (void *)2;
	return NULL;
}

/* Those who read the family make it no dearer for a member to give up its counts. */
TEST(members_tell_one_census)
{
	pthread_t thread[READERS];
	struct shared *shared;
	uint64_t alone, many;
	pid_t member, busy;
	struct set root;
	void *failed;
	int i;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&root, with_kernel));
	root.control.flags |= PROCESSES;
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_CONTROL, &root.control));
	ASSERT_EQ(0, vpmc_ioctl(root.fd, VPMC_IOC_START, 0));
	shared->root = root.fd;
	member = fork();
	if (!member) {
		int fd = open(THREAD_FILE, O_RDWR);

		shared->cost[0] = cost_of_clear(fd);
		while (!shared->cycles)
			usleep(1000);
		usleep(100000);
		shared->cost[1] = cost_of_clear(fd);
		_exit(0);
	}
	while (!shared->cost[0])
		usleep(1000);
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, starved_reader,
					    shared));
	/* They run for a moment, and then get little time. */
	usleep(100000);
	busy = fork();
	if (!busy)
		be_busy(&shared->cycles, BUSY_MS, 500);
	EXPECT_EQ(0, child_status(member));
	shared->stop = 1;
	kill(busy, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(busy));
	for (i = 0; i < READERS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &failed));
		EXPECT_EQ(NULL, failed);
	}
	alone = shared->cost[0];
	many = shared->cost[1];
	TH_LOG("CLEAR takes %llu instructions, beside %d READs %llu",
	       (unsigned long long)alone, READERS, (unsigned long long)many);
	EXPECT_LT(0, alone);
	EXPECT_GT(alone + 500, many);
	set_close(&root);
	munmap(shared, PAGE);
}

/* A thread that sleeps until the end, and its file. */
static int sleep_pipe[2], sleeper_fd[LARGE];

static void *sleeper(void *arg)
{
	int *fd = arg;
	char byte;

	*fd = open(THREAD_FILE, O_RDONLY);
	return (void *)(long)read(sleep_pipe[0], &byte, 1);
}

/* A family of threads that all sleep. */
FIXTURE(large)
{
	struct shared *shared;
	struct set root;
	pthread_t thread[LARGE];
};

FIXTURE_SETUP(large)
{
	struct vpmc_read read;
	int i;

	self->shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pipe(sleep_pipe));
	ASSERT_EQ(0, members_open(&self->root, THREADS, 1));
	for (i = 0; i < LARGE; i++) {
		sleeper_fd[i] = -1;
		ASSERT_EQ(0, pthread_create(&self->thread[i], NULL, sleeper,
					    &sleeper_fd[i]));
	}
	for (i = 0; i < LARGE; i++)
		while (vpmc_read(*(volatile int *)&sleeper_fd[i], &read))
			usleep(1000);
}

FIXTURE_TEARDOWN(large)
{
	int i;

	close(sleep_pipe[1]);
	for (i = 0; i < LARGE; i++) {
		pthread_join(self->thread[i], NULL);
		close(sleeper_fd[i]);
	}
	close(sleep_pipe[0]);
	set_close(&self->root);
	munmap(self->shared, PAGE);
}

static int read_nothing(int root)
{
	return 0;
}

static int read_sums(int root)
{
	struct vpmc_read read;

	return family_read(root, LIVING | FINISHED, &read);
}

static int read_members(int root)
{
	static struct vpmc_member member[LARGE];
	struct vpmc_read_members read = {};

	/* All of it is one system call: the memory is first used there. */
	return members_read(root, LIVING, member, LARGE, &read) ?:
	       read.nr != LARGE;
}

/*
 * Counts the kernel, sets a timer that kills it, and reads the family. Returns how many
 * instructions it took until it was dead, or 0.
 */
static uint64_t killed_by_timer(struct shared *shared, int root,
				int (*reads)(int root), long after_ns)
{
	const struct itimerspec after = { .it_value.tv_nsec = after_ns };
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL,
	};
	struct vpmc_read read;
	timer_t timer;
	pid_t pid;
	int err;

	pid = fork_with_files();
	if (!pid) {
		struct set set;

		if (set_open(&set, with_kernel) ||
		    timer_create(CLOCK_MONOTONIC, &event, &timer))
			_exit(1);
		shared->root = set.fd;
		if (vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
		    timer_settime(timer, 0, &after, NULL) ||
		    reads(root))
			_exit(2);
		for (;;)
			pause();
	}
	if (child_status(pid) != KILLED_BY(SIGKILL))
		return 0;
	err = vpmc_read(shared->root, &read);
	close(shared->root);
	return err ? 0 : read.sum[0];
}

/* A signal in the middle ends it: the rest of the family is not visited. */
static void kill_readers(struct __test_metadata *_metadata,
			 struct shared *shared, int root, int (*reads)(int root))
{
	uint64_t none, whole, insns;
	double ms = ms_now();
	int i, middle = 0;

	ASSERT_EQ(0, reads(root));
	ms = ms_now() - ms;
	none = killed_by_timer(shared, root, read_nothing, 100000000);
	whole = killed_by_timer(shared, root, reads, 100000000) - none;
	ASSERT_LT(0, none);
	/* Each member takes some hundred instructions. */
	ASSERT_LT(LARGE * 100, whole);
	for (i = 0; i < KILLS; i++) {
		insns = killed_by_timer(shared, root, reads,
					ms * 1e6 * i / KILLS + 1);
		ASSERT_LT(0, insns);
		middle += insns > none + whole / 10 &&
			  insns < none + whole - whole / 10;
	}
	TH_LOG("it takes %.3f ms, %llu instructions; ended in the middle: %d of %d",
	       ms, (unsigned long long)whole, middle, KILLS);
	EXPECT_LT(0, middle);
	/* Those who died are not waited for. */
	ASSERT_EQ(0, reads(root));
}

TEST_F(large, killed_within_a_read)
{
	struct vpmc_read read;

	ASSERT_EQ(0, family_read(self->root.fd, LIVING | FINISHED, &read));
	EXPECT_EQ(LARGE, read.living);
	kill_readers(_metadata, self->shared, self->root.fd, read_sums);
}

TEST_F(large, killed_within_a_read_of_members)
{
	kill_readers(_metadata, self->shared, self->root.fd, read_members);
}

/* How many members have a running set. */
static int running(void)
{
	struct vpmc_read read;
	int i, n = 0;

	for (i = 0; i < LARGE; i++)
		n += !vpmc_read(sleeper_fd[i], &read) &&
		     read.state == VPMC_STATE_RUNNING;
	return n;
}

/* The next who visits the members lets them execute the rest of the command. */
TEST_F(large, killed_within_a_command)
{
	int i, n, mixed[2] = {}, fd = self->root.fd;
	struct vpmc_read read;
	pid_t pid;

	for (i = 0; i < KILLS; i++) {
		pid = fork();
		if (!pid)
			for (;;)
				if (vpmc_ioctl(fd, VPMC_IOC_START_ALL, 0) ||
				    vpmc_ioctl(fd, VPMC_IOC_STOP_ALL, 0))
					_exit(1);
		usleep((5000 + 171 * i) * test_slowness());
		kill(pid, SIGKILL);
		ASSERT_EQ(KILLED_BY(SIGKILL), child_status(pid));
		n = running();
		mixed[i & 1] += n && n < LARGE;
		if (i & 1)
			ASSERT_EQ(0, read_members(fd));
		ASSERT_EQ(0, family_read(fd, i & 1 ? 0 : LIVING, &read));
		n = running();
		ASSERT_EQ(read.state == VPMC_STATE_RUNNING ? LARGE : 0, n) {
			TH_LOG("kill %d", i);
		}
	}
	TH_LOG("killed in the middle: %d and %d of %d", mixed[0], mixed[1], KILLS);
	EXPECT_LT(0, mixed[0]);
	EXPECT_LT(0, mixed[1]);
}

NEEDS(
	{ "*", EXACT | TWO_CPUS },
);

TEST_HARNESS_MAIN
