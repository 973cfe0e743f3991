// SPDX-License-Identifier: GPL-2.0
/*
 * Several threads and processes that share CPUs, each with its own counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"

#define WORKERS		4
#define MIN_SWITCHES	101

static const struct choice selection[WORKERS][6] = {
	{ { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, { EV_INSNS, FIXED(0) } },
	{ { EV_BRANCHES, 0 }, { EV_INSNS, 1 } },
	{ { EV_CYCLES, 2 }, { EV_INSNS, 3 }, { EV_BRANCHES, 0 } },
	{ { EV_CYCLES, FIXED(1) } },
};

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
	bool same_selection;
	bool pinned;
	bool half;
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
	bool half;	/* workers 2 and 3 have no counters */
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
	.same_selection = true, .yield = true, .half = true,
};

FIXTURE_VARIANT_ADD(workers, threads_preempted_half) {
	.half = true,
};

FIXTURE_VARIANT_ADD(workers, processes_yield_half) {
	.processes = true, .yield = true, .half = true,
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
	shared->half = variant->half;
	if (variant->yield) {
		shared->body = code_yield;
		shared->a = 400;
		shared->b = 1000;
		shared->count = CODE_YIELD(400, 1000);
	} else {
		shared->body = code_loop;
		shared->a = 10000000;
		shared->count = CODE_LOOP(10000000);
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

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct shared *shared = worker->shared;
	struct vpmc_read read;
	struct set set;
	int err;

	worker->wrong = -1;
	err = shared->pinned ? pin(worker->number % 2) : 0;
	if (shared->half && worker->number >= 2) {
		pthread_barrier_wait(&shared->barrier);
		worker->switches = my_switches();
		worker->wrong = err || shared->body(shared->a, shared->b);
		worker->switches = my_switches() - worker->switches;
		return NULL;
	}
	if (!err)
		err = set_open(&set, selection[shared->same_selection ?
					       0 : worker->number]);
	pthread_barrier_wait(&shared->barrier);
	if (err)
		return NULL;
	if (set_measure(&set, shared->body, shared->a, shared->b))
		return NULL;
	worker->wrong = wrong_after(&set, shared->count);
	vpmc_read(set.fd, &read);
	worker->switches = read.switches;
	worker->migrations = read.migrations;
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
		EXPECT_LE(MIN_SWITCHES, worker[i].switches);
		if (self->shared->pinned)
			EXPECT_EQ(0, worker[i].migrations);
		TH_LOG("worker %d: %llu switches, %llu migrations", i,
		       (unsigned long long)worker[i].switches,
		       (unsigned long long)worker[i].migrations);
	}
}

TEST_HARNESS_MAIN
