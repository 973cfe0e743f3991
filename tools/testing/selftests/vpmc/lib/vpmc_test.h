/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests share: open, program, map and read a thread's counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_TEST_H
#define VPMC_TEST_H

#include <cpuid.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/vpmc.h>
#include <vpmc-read.h>

#include "../../kselftest_harness.h"
#include "code.h"
#include "kind.h"
#include "needs.h"
#include "tolerance.h"

#define PAGE		4096

/* A thread's counters, as this thread holds them. */
struct set {
	int fd;
	struct vpmc_page *page;
	struct vpmc_control control;
	/*
	 * What may have been counted too much, and how many pieces the count has: since
	 * CONTROL or CLEAR.
	 */
	uint64_t disturbances;
	uint64_t pieces;
	unsigned int starts;
};

/*
 * How many times slower the kernel is than one without debugging checks. The
 * environment says that.
 */
static inline int test_slowness(void)
{
	const char *slow = getenv("VPMC_TEST_SLOW");
	int factor = slow ? atoi(slow) : 1;

	return factor > 1 ? factor : 1;
}

/* Is it a kernel with PREEMPT_RT, where most locks sleep? */
static inline bool kernel_is_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

/* Number of repetitions; fewer on a slow kernel. */
static inline int test_times(int n)
{
	return test_slowness() > 1 ? n / 10 : n;
}

/*
 * The least number of times that something happens; less on a slow kernel. Where the
 * clock does not follow the instructions, nobody knows more than that it happens.
 */
static inline int test_often(int n)
{
	return exact_machine() ? n / test_slowness() : 1;
}

/*
 * How many times to try until something has happened so often. Where CPUs run in
 * parallel, a timer may be late, or a CPU may stand, because the host has other work.
 */
static inline int test_tries(int n)
{
	return exact_machine() ? 1 : n;
}

/*
 * Returns a sleep of @ns, or longer, so that the thread leaves the CPU before
 * it is over.
 */
static inline struct timespec short_sleep(long ns)
{
	return (struct timespec){
		.tv_nsec = test_slowness() > 1 || !exact_machine() ?
			   1000000 : ns,
	};
}

/*
 * Constructors with higher priority have registered the tests. Other machines may
 * be ten times slower, or have other load.
 */
static void __attribute__((constructor)) scale_time_limits(void)
{
	int factor = test_slowness() * (exact_machine() ? 1 : 10);
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;

	for (fixture = __fixture_list; fixture; fixture = fixture->next)
		for (test = fixture->tests; test; test = test->next)
			test->timeout *= factor;
}

/*
 * Runs all tests of a program as a user without privileges, if the environment
 * says so. ulimit permits priorities.
 */
static void __attribute__((constructor)) drop_root(void)
{
	const char *uid = getenv("VPMC_TEST_UID");
	const struct rlimit limit = { 99, 99 };

	if (uid && (setrlimit(RLIMIT_RTPRIO, &limit) || setgroups(0, NULL) ||
		    setgid(atoi(uid)) || setuid(atoi(uid)) ||
		    prctl(PR_SET_DUMPABLE, 1))) {
		perror("VPMC_TEST_UID");
		exit(1);
	}
	/* What root can have was asked before. */
	find_lacks();
}

static inline int pin(int cpu)
{
	cpu_set_t mask;

	count_interrupts_of(cpu);
	CPU_ZERO(&mask);
	CPU_SET(cpu, &mask);
	return sched_setaffinity(0, sizeof(mask), &mask);
}

static inline int set_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(0, SCHED_FIFO, &param);
}

/*
 * These access files of /proc and /sys. They return 0 or -errno, or a number or
 * -1.
 */
static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != strlen(text))
		err = -errno;
	close(fd);
	return err;
}

static inline int read_number(const char *path)
{
	int fd = open(path, O_RDONLY), value = -1;
	char text[16] = "";

	if (read(fd, text, sizeof(text) - 1) > 0)
		value = atoi(text);
	close(fd);
	return value;
}

static inline int set_cpu_online(int cpu, const char *value)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 cpu);
	return write_file(path, value);
}

/* ioctl() with the error as -errno */
static inline int vpmc_ioctl(int fd, unsigned int nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

static inline int vpmc_open(void)
{
	int fd = open(THREAD_FILE, O_RDWR | O_CREAT, 0);

	return fd < 0 ? -errno : fd;
}

static inline void *vpmc_map(int fd)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
}

static inline int vpmc_info(int fd, struct vpmc_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return vpmc_ioctl(fd, VPMC_IOC_INFO, info);
}

/* Returns the holder of the PMU, VPMC_HOLDER_*. */
static inline uint32_t pmu_holder(int fd)
{
	struct vpmc_info info;

	return vpmc_info(fd, &info) ? ~0U : info.holder;
}

static inline int vpmc_read(int fd, struct vpmc_read *read)
{
	memset(read, 0, sizeof(*read));
	read->size = sizeof(*read);
	return vpmc_ioctl(fd, VPMC_IOC_READ, read);
}

static inline int vpmc_read_control(int fd, struct vpmc_control *control)
{
	memset(control, 0, sizeof(*control));
	control->size = sizeof(*control);
	control->nr_counters = VPMC_MAX_COUNTERS;
	return vpmc_ioctl(fd, VPMC_IOC_READ_CONTROL, control);
}

/*
 * The holder while no set has counters: nobody in the emulator, and elsewhere who
 * had the PMU when the program began.
 */
static inline uint32_t holder_without_sets(void)
{
	return exact_machine() ? VPMC_HOLDER_NONE : machine.holder;
}

/* Can a set have events on the counters that tests name? */
static inline bool events_here(void)
{
	return !lack(OF_EVENTS);
}

/* The holder while a set of this program has counters, if it can have any. */
static inline uint32_t holder_with_sets(void)
{
	return events_here() ? VPMC_HOLDER_VPMC : holder_without_sets();
}

/* These return @n counters and their counts, or nothing where there are no events. */
static inline unsigned int counters_here(unsigned int n)
{
	return events_here() ? n : 0;
}

static inline struct code_count counted_here(struct code_count count)
{
	return events_here() ? count : (struct code_count){};
}

static inline void control_init(struct vpmc_control *control,
				unsigned int flags)
{
	memset(control, 0, sizeof(*control));
	control->size = sizeof(*control);
	control->flags = flags;
}

/*
 * Where there are no events the set has no counters, and the rest of a test still
 * runs. A counter that the kernel chooses may be there where others are not.
 */
static inline void control_add(struct vpmc_control *control,
			       uint64_t evtsel, uint32_t index)
{
	struct vpmc_counter *counter = &control->counter[control->nr_counters];

	if (lack(index == VPMC_ANY ? OF_A_COUNTER : OF_EVENTS))
		return;
	control->nr_counters++;
	counter->evtsel = evtsel;
	counter->index = index;
}

/*
 * The same with this machine's names of an event and a counter. P6 has two counters, so a
 * set has the first two elements there.
 */
static inline void control_choose(struct vpmc_control *control,
				  uint64_t evtsel, uint32_t index)
{
	uint64_t taken = 0;
	unsigned int i;

	if (machine_is_p6() && control->nr_counters == machine.nr_gp)
		return;
	for (i = 0; i < control->nr_counters; i++)
		taken |= 1ULL << (control->counter[i].index & 63);
	control_add(control, event_here(evtsel), index_here(index, taken));
}

/* An element of a list. An element with evtsel 0 ends it. */
struct choice {
	uint64_t evtsel;
	uint32_t index;
};

static inline void control_of(struct vpmc_control *control,
			      const struct choice *choice, unsigned int flags)
{
	control_init(control, flags);
	for (; choice->evtsel; choice++)
		control_choose(control, choice->evtsel, choice->index);
}

static inline int set_program(struct set *set, const struct choice *choice)
{
	control_of(&set->control, choice, VPMC_CONTROL_STOPPED);
	set->disturbances = 0;
	set->pieces = 0;
	set->starts = 0;
	return vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control);
}

static inline int set_clear(struct set *set)
{
	set->disturbances = 0;
	set->pieces = 0;
	set->starts = 0;
	return vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0);
}

/* Attach, map and program. The set is stopped. */
static inline int set_open(struct set *set, const struct choice *choice)
{
	int err;

	set->page = MAP_FAILED;
	set->fd = vpmc_open();
	if (set->fd < 0)
		return set->fd;
	err = set_program(set, choice);
	if (err)
		return err;
	set->page = vpmc_map(set->fd);
	return set->page == MAP_FAILED ? -errno : 0;
}

static inline void set_close(struct set *set)
{
	if (set->page != MAP_FAILED && set->page)
		munmap(set->page, PAGE);
	if (set->fd >= 0) {
		ioctl(set->fd, VPMC_IOC_UNLINK, 0);
		close(set->fd);
	}
}

/* Two requests, and body(a, b) between them. */
static inline long set_measure_by(struct set *set, unsigned int first,
				  unsigned int last, code_fn body, long a, long b)
{
	uint64_t before = disturbances(), switches = own_switches();
	long ret = code_measure(set->fd, first, last, body, a, b);

	set->disturbances += disturbances() - before;
	set->pieces += 1 + own_switches() - switches;
	set->starts++;
	return ret;
}

/* START, body(a, b), STOP */
static inline long set_measure(struct set *set, code_fn body, long a, long b)
{
	return set_measure_by(set, VPMC_IOC_START, VPMC_IOC_STOP, body, a, b);
}

static inline bool counts_cycles(uint64_t evtsel)
{
	return is_event(evtsel, EV_CYCLES);
}

/* Returns what a counter with this event select must have after @count. */
static inline uint64_t expected(uint64_t evtsel, struct code_count count)
{
	if (is_event(evtsel, EV_INSNS) || is_event(evtsel, EV_CYCLES))
		return count.insns;	/* one instruction is one cycle */
	if (is_event(evtsel, EV_BRANCHES))
		return count.branches;
	return ~0ULL;
}

/*
 * Returns how many counters of the set differ from @count by more than the
 * tolerance, and prints each. For threads and children, which cannot use EXPECT.
 */
static inline int wrong_sums_within(const struct set *set,
				    const struct vpmc_read *read,
				    struct code_count count, uint64_t more,
				    uint64_t pieces)
{
	unsigned int i;
	int wrong = 0;

	for (i = 0; i < set->control.nr_counters; i++) {
		uint64_t evtsel = set->control.counter[i].evtsel;
		uint64_t want = expected(evtsel, count);

		if (counts_cycles(evtsel) ?
		    cycles_fit(read->sum[i], want, more) :
		    count_fits(read->sum[i], want, more,
			       want / (pieces ?: 1)))
			continue;
		wrong++;
		fprintf(stderr,
			"# counter %u evtsel %#llx index %#x: expected %llu, got %llu (%+lld, tolerance %llu)\n",
			i, (unsigned long long)evtsel,
			set->control.counter[i].index,
			(unsigned long long)want,
			(unsigned long long)read->sum[i],
			(long long)(read->sum[i] - want),
			(unsigned long long)more);
	}
	return wrong;
}

/* The same for what set_measure() has run. */
static inline int wrong_sums(const struct set *set, const struct vpmc_read *read,
			     struct code_count count)
{
	return wrong_sums_within(set, read, count,
				 tolerated(set->disturbances, set->starts),
				 set->pieces);
}

/* READ, and compare every sum with body + what code_measure() adds. */
static inline int wrong_after(const struct set *set, struct code_count body)
{
	struct vpmc_read read;
	int err = vpmc_read(set->fd, &read);

	if (err) {
		fprintf(stderr, "# READ: %s\n", strerror(-err));
		return -1;
	}
	if (read.nr_counters != set->control.nr_counters) {
		fprintf(stderr, "# READ: %u counters, expected %u\n",
			read.nr_counters, set->control.nr_counters);
		return -1;
	}
	return wrong_sums(set, &read, code_add(CODE_MEASURE, body));
}

/* Returns the exit status of a child, which is its number of failed checks. */
static inline int child_status(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

#define KILLED_BY(sig)	(1000 + (sig))

/* exec_image is in the directory of the test. */
static inline const char *exec_image_path(void)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[len < 0 ? 0 : len] = 0;
	strcpy((strrchr(path, '/') ?: path), "/exec_image");
	return path;
}

/* 0 or not. */
static inline int copy_file(const char *from, const char *to)
{
	char buf[4096];
	int in = open(from, O_RDONLY), out = creat(to, 0600);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			break;
	close(in);
	close(out);
	return n;
}

/* Of my_switches(), the involuntary ones. */
static inline uint64_t my_preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static inline uint64_t page_switches(const struct set *set)
{
	return *(const volatile __u64 *)&set->page->switches;
}

static inline uint64_t page_migrations(const struct set *set)
{
	return *(const volatile __u64 *)&set->page->migrations;
}

#endif /* VPMC_TEST_H */
