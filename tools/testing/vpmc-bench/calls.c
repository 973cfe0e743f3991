// SPDX-License-Identifier: GPL-2.0
/*
 * usage: calls [hooks LOW HIGH...]
 *
 * Measures the costs of system calls: those on the caller's own counters, those on
 * the counters of a sleeping thread, and fork, exec and exit with and without
 * counters.
 *
 *   hooks	how many instructions a fork and an exit without counters execute
 *		at these addresses
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <pmu-trigger.h>

#include "cost.h"
#include "partner.h"
#include "who.h"

/*
 * Fewer rounds for processes: fork and exit take a hundred times as long as a
 * call.
 */
#define PROCESS_ROUNDS	300

/*
 * The kernel has the mappings of a process in a tree. A mapping that comes or goes costs up to
 * 5,000 instructions more if that changes the tree's shape, which depends on the number of
 * mappings. So all processes that are compared have the same number.
 */
#define MAPPINGS	20

static struct cost cost;
static struct counters counters;

static unsigned int nr_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned int lines = 0;
	int c;

	if (!file)
		err(1, "/proc/self/maps");
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

/* Neighbours with other permissions are not merged. */
static void have_mappings(unsigned int wanted)
{
	unsigned int n = nr_mappings();
	int prot = PROT_READ;

	if (n > wanted)
		errx(1, "%u mappings, more than %u", n, wanted);
	for (; n < wanted; n = nr_mappings()) {
		if (mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			err(1, "mmap");
		prot ^= PROT_READ;
	}
}

/* Measures opening and programming a whole set. */
static void measure_open(enum who who, unsigned int n)
{
	struct counters c = {};
	int i;

	cost.rounds = 0;
	for (i = 0; i < ROUNDS / 10; i++) {
		COST_OF(&cost, counters_open(&c, who, n, &what_user));
		counters_close(&c);
	}
	cost_print(&cost, "open", n, who_name[who]);
}

/* Measures three similar calls without counters, for comparison. */
static void measure_nothing(void)
{
	int file = open("/add/tiny", O_RDONLY), i;

	if (file < 0)
		err(1, "/add/tiny");
	cost.rounds = 0;
	for (i = 0; i < ROUNDS / 10; i++) {
		void *page = NULL;
		int fd = -1;

		COST_OF(&cost, ({
			fd = open("/proc/self/comm", O_RDWR, 0);
			ioctl(fd, VPMC_IOC_START, 0);
			page = mmap(NULL, PAGE, PROT_READ,
				    MAP_SHARED | MAP_POPULATE, file, 0);
		}));
		if (fd < 0 || page == MAP_FAILED)
			err(1, "open and mmap");
		munmap(page, PAGE);
		close(fd);
	}
	close(file);
	cost_print(&cost, "open", 0, who_name[NOBODY]);
}

static void print(const char *name, const char *more)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", name, more);
	cost_print(&cost, full, counters.n, who_name[counters.who]);
}

#define MEASURE(name, more, nr, prepare, code) do {			\
	int i_;								\
									\
	cost.rounds = 0;						\
	for (i_ = 0; i_ < (nr); i_++) {					\
		prepare;						\
		COST_OF(&cost, code);					\
	}								\
	print(name, more);						\
} while (0)

static void call(unsigned int nr, unsigned long arg)
{
	if (ioctl(counters.fd[0], nr, arg))
		err(1, "ioctl %#x", nr);
}

static void vpmc_calls(const char *whose)
{
	static struct vpmc_read sums;

	MEASURE("stop", whose, ROUNDS, call(VPMC_IOC_START, 0),
		call(VPMC_IOC_STOP, 0));
	MEASURE("start", whose, ROUNDS, call(VPMC_IOC_STOP, 0),
		call(VPMC_IOC_START, 0));
	MEASURE("clear", whose, ROUNDS, , call(VPMC_IOC_CLEAR, 0));
	MEASURE("read", whose, ROUNDS,
		(sums.size = sizeof(sums), sums.flags = 0),
		ioctl(counters.fd[0], VPMC_IOC_READ, &sums));
}

static void perf_calls(const char *whose)
{
	static uint64_t values[3 + MAX_N];

	MEASURE("stop", whose, ROUNDS,
		call(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP),
		call(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	MEASURE("start", whose, ROUNDS,
		call(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP),
		call(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	MEASURE("clear", whose, ROUNDS, ,
		call(PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
	MEASURE("read", whose, ROUNDS, ,
		read(counters.fd[0], values, sizeof(values)));
}

static void calls(const char *whose)
{
	if (counters.who == VPMC)
		vpmc_calls(whose);
	else
		perf_calls(whose);
}

/* Another thread of this process. Both threads share the descriptors. */
struct other {
	enum who who;
	unsigned int n;
	int ready, end;
};

static void *other_thread(void *data)
{
	struct other *other = data;

	be_alone(0);
	counters_open(&counters, other->who, other->n, &what_user);
	eventfd_post(other->ready, GO);
	eventfd_take(other->end);
	counters_close(&counters);
	return NULL;
}

static void calls_of_other(enum who who, unsigned int n)
{
	struct other other = {
		.who = who, .n = n, .ready = eventfd_new(), .end = eventfd_new(),
	};
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_thread, &other))
		errx(1, "pthread_create");
	eventfd_take(other.ready);
	calls("-other");
	eventfd_post(other.end, END);
	pthread_join(thread, NULL);
	close(other.ready);
	close(other.end);
}

/* A system call that does nothing, for comparison. */
static void nothing(void)
{
	syscall(SYS_getppid);
}

static void *end_at_once(void *unused)
{
	return unused;
}

/*
 * Measures creation and end of processes and threads. Only this thread and its
 * children run on the CPU, so the totals include everything until the child is
 * gone.
 */
static void processes(const char *program, const char *more)
{
	pthread_t thread;
	pid_t pid;

	MEASURE("fork-exit", more, PROCESS_ROUNDS, , ({
		pid = forked();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}));
	MEASURE("fork-exec-exit", more, PROCESS_ROUNDS, , ({
		pid = forked();
		if (!pid) {
			execl(program, program, NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}));
	MEASURE("thread-exit", more, PROCESS_ROUNDS, , ({
		pthread_create(&thread, NULL, end_at_once, NULL);
		pthread_join(thread, NULL);
	}));
}

/* Measures a child that opens a set of its own and exits. The parent has no page. */
static void measure_child(enum who who, unsigned int n)
{
	struct counters c = {};
	int i;

	have_mappings(MAPPINGS);
	cost.rounds = 0;
	for (i = 0; i < PROCESS_ROUNDS; i++) {
		pid_t pid;

		COST_OF(&cost, ({
			pid = forked();
			if (!pid) {
				if (who != NOBODY)
					counters_open(&c, who, n, &what_user);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}));
	}
	cost_print(&cost, "fork-open-exit", n, who_name[who]);
}

/* Measures a start after another process has used the same counters. */
static void start_after_another(enum who who, unsigned int n)
{
	struct partner partner = {
		.process = true, .who = who, .n = n, .what = what_user,
	};

	partner_start(&partner);
	MEASURE("start-after-other-mm", "", ROUNDS, ({
		call(VPMC_IOC_STOP, 0);
		eventfd_post(partner.to, GO);
		eventfd_take(partner.from);
	}), call(VPMC_IOC_START, 0));
	partner_stop(&partner);
}

static void own_calls(enum who who, unsigned int n)
{
	have_mappings(MAPPINGS);
	if (who == NOBODY) {
		measure_nothing();
		return;
	}
	measure_open(who, n);
	counters_open(&counters, who, n, &what_user);
	calls("");
	if (who == VPMC)
		start_after_another(who, n);
	counters_close(&counters);
	calls_of_other(who, n);
}

/* Maps a page that children do not get. The page of counters is such a page, too. */
static void have_private_page(void)
{
	int file = open("/add/tiny", O_RDONLY);
	void *page;

	if (file < 0)
		err(1, "/add/tiny");
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
	if (page == MAP_FAILED || madvise(page, PAGE, MADV_DONTFORK))
		err(1, "mmap and madvise");
}

static void processes_of(enum who who, unsigned int n, const struct what *what, const char *more)
{
	have_mappings(MAPPINGS);
	if (who == NOBODY)
		have_private_page();
	else
		counters_open(&counters, who, n, what);
	processes("/add/tiny", more);
}

static void own_processes(enum who who, unsigned int n)
{
	processes_of(who, n, &what_user, "");
}

static void inheriting_processes(enum who who, unsigned int n)
{
	static const struct what inheriting = {
		.modes = MODE_USER, .inherit = true,
	};

	processes_of(who, n, &inheriting, "-inherit");
}

/* Runs each part in its own process, so that no part affects a later one. */
static void measure(enum who who, unsigned int n)
{
	static void (*const parts[])(enum who who, unsigned int n) = {
		own_calls, own_processes, inheriting_processes, measure_child,
	};
	unsigned int i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		pid_t pid = fresh_process();

		if (!pid) {
			parts[i](who, n);
			_exit(0);
		}
		wait_for(pid);
	}
}

/* Counts the instructions of fork and exit at the given addresses. */
static void hooks(char **address)
{
	unsigned int nr = 0;
	int i;

	for (; address[0] && address[1]; address += 2)
		if (pmu_trigger_range(nr++, strtoul(address[0], NULL, 16),
				      strtoul(address[1], NULL, 16)))
			errx(1, "trigger");
	if (!nr || pmu_trigger_arm(0, 1ULL << 62, PMU_TRIGGER_HOLD))
		errx(1, "trigger");
	for (i = 0; i < PROCESS_ROUNDS; i++) {
		struct totals zero = {}, t = {};
		uint64_t before = pmu_trigger_status().count;
		pid_t pid = forked();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		t.event[PMU_TEST_CYCLES][KERNEL_MODE] =
			pmu_trigger_status().count - before;
		t.event[PMU_TEST_CYCLES][USER_MODE] = OWN_INSTRUCTIONS;
		cost_add(&cost, &zero, &t, 0);
	}
	pmu_trigger_disarm();
	cost_print(&cost, "fork-exit-hooks", 0, "vpmc");
}

int main(int argc, char **argv)
{
	enum who who;
	unsigned int i;

	be_alone(0);
	if (argc > 2 && !strcmp(argv[1], "hooks")) {
		hooks(argv + 2);
		return 0;
	}
	who_init();
	MEASURE("syscall", "", ROUNDS, , nothing());
	measure(NOBODY, 0);
	for (who = VPMC; who <= last_who(); who++)
		for (i = 0; i < NR_SIZES; i++)
			measure(who, sizes[i]);
	return 0;
}
