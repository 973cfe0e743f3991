// SPDX-License-Identifier: GPL-2.0
/*
 * Several threads and processes that share CPUs, each with its own counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/stddef.h>
#include <linux/types.h>

/* tools/include/ does not have it. */
#define UAPI_LINUX_IO_URING_H_SKIP_LINUX_TIME_TYPES_H
struct __kernel_timespec {
	__s64 tv_sec;
	__s64 tv_nsec;
};
#include <linux/io_uring.h>

#include <dirent.h>
#include <sys/prctl.h>
#include "vpmc_test.h"
#include "disturb.h"
#include "inherit.h"

#define WORKERS		4
#define MIN_SWITCHES	101

static const struct choice selection[WORKERS][6] = {
	{ { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, { EV_INSNS, FIXED(0) } },
	{ { EV_BRANCHES, 0 }, { EV_INSNS, 1 } },
	{ { EV_CYCLES, 2 }, { EV_INSNS, 3 }, { EV_BRANCHES, 0 } },
	{ { EV_CYCLES, FIXED(1) } },
};

static const struct choice none[] = { {} };

/* What the workers 2 and 3 do: the same, or run without counters. */
enum others { COUNT, PLAIN, STAND, RUN_TIME };

struct worker {
	int number;
	struct shared *shared;
	int wrong;
	uint64_t switches;
	uint64_t migrations;
};

/* In memory that processes share, too. */
struct shared {
	pthread_barrier_t barrier;
	unsigned int begun;	/* so many have left the barrier */
	bool same_selection;
	bool pinned;
	bool in_turn;		/* on one CPU */
	bool yield;		/* each time to another one */
	enum others others;
	int counting;
	code_fn body;
	long a;
	long b;
	struct code_count count;
	struct worker worker[WORKERS];
};

FIXTURE(workers)
{
	struct shared *shared;
	pid_t preempter[2];
};

FIXTURE_VARIANT(workers)
{
	bool processes;
	bool same_selection;
	bool yield;
	bool unpinned;
	bool in_turn;
	enum others others;
	int counting;		/* so many count; 0: two, or all */
};

FIXTURE_VARIANT_ADD(workers, threads_yield) {
	.same_selection = true, .yield = true,
};

FIXTURE_VARIANT_ADD(workers, threads_yield_selections) {
	.yield = true,
};

FIXTURE_VARIANT_ADD(workers, threads_preempted) {
	.same_selection = true,
};

FIXTURE_VARIANT_ADD(workers, threads_preempted_selections) {
};

FIXTURE_VARIANT_ADD(workers, threads_unpinned) {
	.unpinned = true,
};

FIXTURE_VARIANT_ADD(workers, threads_yield_half) {
	.same_selection = true, .yield = true, .others = PLAIN,
};

FIXTURE_VARIANT_ADD(workers, threads_preempted_half) {
	.others = PLAIN,
};

FIXTURE_VARIANT_ADD(workers, processes_yield_half) {
	.processes = true, .yield = true, .others = PLAIN,
};

/* Their sets have no counters, and run. */
FIXTURE_VARIANT_ADD(workers, threads_yield_run_time) {
	.same_selection = true, .yield = true, .others = RUN_TIME,
};

/* From a counting thread to one of them, and from that to the other. */
FIXTURE_VARIANT_ADD(workers, threads_in_turn_run_time) {
	.same_selection = true, .yield = true, .in_turn = true,
	.others = RUN_TIME,
};

/* Their sets have the same counters, and stand. */
FIXTURE_VARIANT_ADD(workers, threads_in_turn_half) {
	.same_selection = true, .yield = true, .in_turn = true,
	.others = STAND,
};

/*
 * From one address space without RDPMC to another, and both count the same. Two of
 * three follow each other in any order of the four.
 */
FIXTURE_VARIANT_ADD(workers, unmapped_processes_in_turn) {
	.processes = true, .same_selection = true, .yield = true,
	.in_turn = true, .others = STAND, .counting = 3,
};

/* They may use RDPMC, and those that count have nothing mapped. */
FIXTURE_VARIANT_ADD(workers, unmapped_beside_a_mapper) {
	.processes = true, .same_selection = true, .yield = true,
	.others = STAND,
};

FIXTURE_VARIANT_ADD(workers, processes_yield) {
	.processes = true, .same_selection = true, .yield = true,
};

FIXTURE_VARIANT_ADD(workers, processes_yield_selections) {
	.processes = true, .yield = true,
};

FIXTURE_VARIANT_ADD(workers, processes_preempted) {
	.processes = true, .same_selection = true,
};

FIXTURE_VARIANT_ADD(workers, processes_preempted_selections) {
	.processes = true,
};

FIXTURE_VARIANT_ADD(workers, processes_unpinned) {
	.processes = true, .unpinned = true,
};

FIXTURE_SETUP(workers)
{
	pthread_barrierattr_t attr;
	struct shared *shared;
	int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	self->shared = shared;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, WORKERS);

	shared->same_selection = variant->same_selection;
	shared->pinned = !variant->unpinned;
	shared->in_turn = variant->in_turn;
	shared->yield = variant->yield;
	shared->others = variant->others;
	shared->counting = variant->counting ?:
			   (variant->others == COUNT ? WORKERS : 2);
	/*
	 * Each piece has more than what all switches may add. A piece is as long as a
	 * preempter sleeps, whatever the loop's length is, so a shorter loop is more
	 * certain.
	 */
	if (variant->yield) {
		shared->body = code_yield;
		shared->a = 400;
		shared->b = counts_are_exact() ? 1000 : 10000;
		shared->count = CODE_YIELD(400, shared->b);
	} else {
		shared->body = code_loop;
		shared->a = counts_are_exact() ? 10000000 : 1000000;
		shared->count = CODE_LOOP(shared->a);
	}
	for (i = 0; i < 2 && !variant->yield; i++) {
		self->preempter[i] = start_preempter(i, 50000);
		ASSERT_LT(0, self->preempter[i]);
	}
}

FIXTURE_TEARDOWN(workers)
{
	int i;

	for (i = 0; i < 2 && !variant->yield; i++)
		EXPECT_EQ(0, stop_disturber(self->preempter[i]));
}

/* Returns when all of them run, so that each meets the others on its CPU. */
static void begin_together(struct shared *shared)
{
	pthread_barrier_wait(&shared->barrier);
	__atomic_add_fetch(&shared->begun, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->begun, __ATOMIC_SEQ_CST) < WORKERS)
		sched_yield();
}

/* Each worker must be switched so often. */
static uint64_t enough_switches(const struct shared *shared)
{
	return shared->yield && exact_machine() ? MIN_SWITCHES :
						  test_often(MIN_SWITCHES);
}

/* On a busy host, a preempter's CPU may stand during a whole loop. So it is repeated. */
#define REPEATS	80

/* A worker without counters of its own. */
static int work_plain(struct worker *worker)
{
	struct shared *shared = worker->shared;
	struct vpmc_read read = {};
	struct set set;
	uint64_t began;
	int err = 0, i;

	/* Stopped where it would be found. */
	if (shared->others == STAND)
		err = set_open(&set, selection[0]) ||
		      set_measure(&set, code_nothing, 0, 0) ||
		      vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0);
	if (shared->others == RUN_TIME)
		err = set_open(&set, none) ||
		      vpmc_ioctl(set.fd, VPMC_IOC_START, 0);
	begin_together(shared);
	began = my_switches();
	for (i = 0; i < REPEATS && worker->switches < enough_switches(shared); i++) {
		err |= shared->body(shared->a, shared->b);
		worker->switches = my_switches() - began;
	}
	if (shared->others == STAND)
		err |= vpmc_read(set.fd, &read) || set.page->slot[0].base ||
		       set.page->tsc_base;
	return err || read.sum[0] || read.ticks;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct shared *shared = worker->shared;
	struct vpmc_read read;
	struct set set;
	uint64_t began;
	int err, i;

	worker->wrong = -1;
	if (shared->in_turn)
		err = pin(0);
	else
		err = shared->pinned ? pin(worker->number % 2) : 0;
	if (shared->yield)
		err = err || set_fifo(10);
	if (worker->number >= shared->counting) {
		worker->wrong = work_plain(worker) || err;
		return NULL;
	}
	if (!err)
		err = set_open(&set, selection[shared->same_selection ?
					       0 : worker->number]);
	if (!err && shared->others == STAND) {
		munmap(set.page, PAGE);
		/* Another thread's page may be there from now on. */
		set.page = NULL;
	}
	begin_together(shared);
	if (err)
		return NULL;
	worker->wrong = 0;
	for (i = 0; i < REPEATS && worker->switches < enough_switches(shared); i++) {
		began = vpmc_rdtsc();
		worker->wrong += set_clear(&set) != 0;
		worker->wrong += set_measure(&set, shared->body, shared->a,
					     shared->b) != 0;
		worker->wrong += wrong_after(&set, shared->count);
		vpmc_read(set.fd, &read);
		worker->wrong += read.ticks > vpmc_rdtsc() - began;
		worker->switches += read.switches;
		worker->migrations += read.migrations;
	}
	set_close(&set);
	return NULL;
}

TEST_F(workers, exact)
{
	struct worker *worker = self->shared->worker;
	pthread_t thread[WORKERS];
	pid_t pid[WORKERS];
	int i;

	for (i = 0; i < WORKERS; i++) {
		worker[i].number = i;
		worker[i].shared = self->shared;
		if (!variant->processes) {
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, work,
						    &worker[i]));
			continue;
		}
		pid[i] = fork();
		if (!pid[i]) {
			work(&worker[i]);
			_exit(0);
		}
	}
	for (i = 0; i < WORKERS; i++) {
		if (variant->processes) {
			ASSERT_EQ(0, child_status(pid[i]));
		} else {
			ASSERT_EQ(0, pthread_join(thread[i], NULL));
		}
		EXPECT_EQ(0, worker[i].wrong);
		EXPECT_LE(enough_switches(self->shared), worker[i].switches);
		if (self->shared->pinned)
			EXPECT_EQ(0, worker[i].migrations);
		TH_LOG("worker %d: %llu switches, %llu migrations", i,
		       (unsigned long long)worker[i].switches,
		       (unsigned long long)worker[i].migrations);
	}
}

/* The thread of the kernel's that belongs to an io_uring of this process. */
static int worker_open_error(void)
{
	DIR *threads = opendir("/proc/self/task");
	int fd, error = -ENOENT;
	struct dirent *entry;
	char path[64];
	pid_t tid;

	while (threads && (entry = readdir(threads))) {
		tid = atoi(entry->d_name);
		if (tid < 1 || tid == my_tid())
			continue;
		sprintf(path, "/proc/self/task/%d/perfctr", tid);
		fd = open(path, O_RDWR | O_CREAT, 0);
		error = fd < 0 ? -errno : 0;
	}
	closedir(threads);
	return error;
}

/* Lets that thread look for work on CPU 0 for 100 ms; its descriptor. */
static int start_spinner(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
		.sq_thread_cpu = 0,
		.sq_thread_idle = 100,
	};
	int fd = syscall(SYS_io_uring_setup, 1, &params);
	char *ring = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  IORING_OFF_SQ_RING);

	if (fd < 0 || ring == MAP_FAILED)
		return -1;
	/* One request that does nothing: all of it is zero. */
	__atomic_store_n((uint32_t *)(ring + params.sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL,
		    0) < 0)
		return -1;
	munmap(ring, PAGE);
	return fd;
}

static uint64_t cpu_time(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * The owner sleeps for 20 ms, in which a thread of its process that never leaves
 * the kernel spins on its CPU: some 20 million instructions, none of them the
 * owner's.
 */
TEST(kernel_counting_stops)
{
	static const struct timespec ts = { .tv_nsec = 20000000 };
	static const struct choice choice[] = { { 0x200c0, 0 }, {} };
	struct vpmc_read read;
	struct set set;
	uint64_t spun;
	int ring;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, choice));
	ring = start_spinner();
	ASSERT_LE(0, ring);
	/* More urgent than that thread, to have the CPU when it wants it. */
	ASSERT_EQ(0, set_fifo(50));
	EXPECT_EQ(-EOPNOTSUPP, worker_open_error());
	spun = cpu_time(CLOCK_PROCESS_CPUTIME_ID) -
	       cpu_time(CLOCK_THREAD_CPUTIME_ID);
	ASSERT_EQ(0, set_measure(&set, code_sleep, (long)&ts, 1));
	spun = cpu_time(CLOCK_PROCESS_CPUTIME_ID) -
	       cpu_time(CLOCK_THREAD_CPUTIME_ID) - spun;
	EXPECT_LE(10000000, spun);
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	EXPECT_LT(0, read.sum[0]);
	EXPECT_GT(1000000 * test_slowness(), read.sum[0]);
	close(ring);
	set_close(&set);
}

/* Such a thread does not inherit either. */
TEST(worker_inherits_nothing)
{
	struct set root;
	int ring;

	ASSERT_EQ(0, root_open(&root, THREADS | PROCESSES));
	ring = start_spinner();
	ASSERT_LE(0, ring);
	EXPECT_EQ(-EOPNOTSUPP, worker_open_error());
	EXPECT_EQ(0, family_wrong(root.fd, LIVING, 0, 0, CODE_COUNT(0, 0)));
	close(ring);
	set_close(&root);
}

/*
 * What a switch does for other features it does for a thread with counters, too:
 * RDTSC is forbidden to that one and to nobody else.
 */
TEST(rdtsc_forbidden_to_one)
{
	volatile uint32_t *ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct set set;
	int i, pid;

	ASSERT_NE(MAP_FAILED, ready);
	ASSERT_EQ(0, pin(0));
	pid = fork();
	if (!pid) {
		if (set_open(&set, selection[0]) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
		    prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
			_exit(1);
		*ready = 1;
		for (i = 0; i < 100; i++)
			syscall(SYS_sched_yield);
		/* it is forbidden still, after others ran for whom it is not */
		__builtin_ia32_rdtsc();
		_exit(2);
	}
	while (!*ready && !waitpid(pid, NULL, WNOHANG))
		syscall(SYS_sched_yield);
	for (i = 0; i < 20; i++) {
		__builtin_ia32_rdtsc();
		syscall(SYS_sched_yield);
	}
	EXPECT_EQ(1000 + SIGSEGV, child_status(pid));
}

NEEDS(
	{ "workers.*", PMU | OR_EMPTY | FIFO | TWO_CPUS },
	{ "global.worker_inherits_nothing", PMU },
	{ "global.rdtsc_forbidden_to_one", PMU },
	{ "*", EXACT },
);

TEST_HARNESS_MAIN
