// SPDX-License-Identifier: GPL-2.0
/*
 * usage: growth threads|processes N
 *
 * Measures what counters cost while N threads have some. All of these threads wait.
 * Measures first without counters, then with the threads as heirs of a set of four.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "cost.h"
#include "partner.h"
#include "who.h"

#define COUNTERS	4
#define FEW_ROUNDS	100
#define STACK		16384
#define MUCH		(64 << 20)
#define RESTLESS	50

static const struct what inheriting = { .modes = MODE_USER, .inherit = true };
static struct cost cost;
static bool of_processes;
static unsigned int number;
static int ready, end;

/* Waits until all threads may end. */
static void wait_for_end(void)
{
	eventfd_post(ready, GO);
	eventfd_take(end);
}

static void *waiting_thread(void *unused)
{
	wait_for_end();
	return unused;
}

static void *ending_thread(void *unused)
{
	return unused;
}

static pthread_t new_thread(void *(*start)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&thread, &attr, start, NULL))
		errx(1, "pthread_create");
	pthread_attr_destroy(&attr);
	return thread;
}

static void create_all(pthread_t *thread)
{
	unsigned int i;

	for (i = 0; i < number; i++) {
		if (!of_processes) {
			thread[i] = new_thread(waiting_thread);
		} else if (!forked()) {
			wait_for_end();
			_exit(0);
		}
		eventfd_take(ready);
	}
}

static void end_all(const pthread_t *thread)
{
	unsigned int i;

	for (i = 0; i < number; i++)
		eventfd_post(end, 1);
	for (i = 0; i < number; i++) {
		if (!of_processes)
			pthread_join(thread[i], NULL);
		else if (wait(NULL) < 0)
			err(1, "wait");
	}
}

/* Creates one more thread or process, which ends at once. */
static void create_and_end(void)
{
	pid_t pid;

	if (!of_processes) {
		pthread_join(new_thread(ending_thread), NULL);
		return;
	}
	pid = forked();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void print(const char *what, enum who who)
{
	char name[64];

	snprintf(name, sizeof(name), "growth-%s-%s",
		 of_processes ? "processes" : "threads", what);
	cost_print(&cost, name, number, who_name[who]);
	cost.rounds = 0;
}

/*
 * Limits the freed pages that each CPU keeps. Kept pages do not count as free
 * memory.
 */
static void keep_no_pages(void)
{
	static const char fraction[] = "1000000";
	int fd = open("/proc/sys/vm/percpu_pagelist_high_fraction", O_WRONLY);

	void *much;

	if (fd < 0 || write(fd, fraction, sizeof(fraction) - 1) < 0)
		err(1, "vm.percpu_pagelist_high_fraction");
	close(fd);
	/*
	 * Allocate and free much memory, so that CPUs give back the pages they
	 * keep.
	 */
	much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (much == MAP_FAILED)
		err(1, "mmap");
	munmap(much, MUCH);
}

static long free_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[256];
	long kb = -1;

	if (!file)
		err(1, "/proc/meminfo");
	while (kb < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "MemFree: %ld kB", &kb);
	fclose(file);
	if (kb < 0)
		errx(1, "/proc/meminfo says nothing of free memory");
	return kb * 1024;
}

/*
 * Returns the free memory when it no longer changes. The kernel frees memory of
 * ended threads later.
 */
static long settled_memory(void)
{
	long before = -1, now = free_memory();
	int i;

	for (i = 0; now != before && i < RESTLESS; i++) {
		usleep(200000);
		before = now;
		now = free_memory();
	}
	if (now != before)
		errx(1, "free memory does not come to rest");
	return now;
}

/*
 * Measures a process unrelated to the others, which attaches a set of its own.
 */
static void attach_and_detach(void)
{
	struct counters counters = {};
	int i;

	for (i = 0; i < FEW_ROUNDS; i++)
		COST_OF(&cost, ({
			counters_open(&counters, VPMC, COUNTERS, &what_user);
			counters_close(&counters);
		}));
	print("attach", VPMC);
}

static pid_t attacher_start(int go)
{
	pid_t pid = forked();

	if (pid)
		return pid;
	if (eventfd_take(go) == GO)
		attach_and_detach();
	exit(0);
}

static void read_tree(int fd)
{
	static struct vpmc_read sums;
	int i;

	for (i = 0; i < FEW_ROUNDS / 10; i++) {
		sums.size = sizeof(sums);
		sums.flags = VPMC_READ_LIVING | VPMC_READ_FINISHED;
		COST_OF(&cost, ioctl(fd, VPMC_IOC_READ, &sums));
	}
	if (sums.living != number)
		errx(1, "READ found %u living", sums.living);
	print("read-tree", VPMC);
}

static void measure(enum who who)
{
	struct counters counters = {};
	struct partner partner = { .process = of_processes };
	pthread_t *thread = calloc(number, sizeof(*thread));
	int i, go = eventfd_new();
	pid_t attacher = attacher_start(go);
	long before;

	counters_open(&counters, who, COUNTERS, &inheriting);
	/*
	 * The first thread and the first switches allocate memory that later
	 * ones do not need.
	 */
	create_and_end();
	partner_rounds(&partner, 2, &cost);
	cost.rounds = 0;
	before = settled_memory();
	create_all(thread);
	printf("raw case=growth-%s-memory n=%u who=%s rounds=1 bytes=%ld\n",
	       of_processes ? "processes" : "threads", number, who_name[who],
	       before - settled_memory());
	partner_rounds(&partner, FEW_ROUNDS, &cost);
	print("switch", who);
	for (i = 0; i < FEW_ROUNDS; i++)
		COST_OF(&cost, create_and_end());
	print("create-exit", who);
	if (who == VPMC)
		read_tree(counters.fd[0]);
	eventfd_post(go, who == VPMC ? GO : END);
	wait_for(attacher);
	end_all(thread);
	counters_close(&counters);
	close(go);
	free(thread);
}

int main(int argc, char **argv)
{
	enum who who;

	if (argc != 3)
		errx(2, "usage: growth threads|processes N");
	of_processes = !strcmp(argv[1], "processes");
	number = strtoul(argv[2], NULL, 10);
	be_alone(0);
	who_init();
	keep_no_pages();
	ready = eventfd_new();
	end = eventfd(0, EFD_SEMAPHORE);
	for (who = NOBODY; who <= VPMC; who++) {
		pid_t pid = fresh_process();

		if (!pid) {
			measure(who);
			_exit(0);
		}
		wait_for(pid);
	}
	return 0;
}
