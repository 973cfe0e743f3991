/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sweeps: a scenario is run again and again on CPU 0 and disturbed before its
 * first instruction, its second and so on to its last, by the emulator's
 * trigger. Only the instructions in some ranges of addresses count.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SWEEP_H
#define SWEEP_H

#include <semaphore.h>
#include <pmu-trigger.h>
#include "vpmc_test.h"
#include "disturb.h"
#include "partner.h"
#include "perf.h"


/* What the disturbed thread counts. */
static const struct choice mine[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 1 }, { EV_INSNS, 2 }, {}
};

/* The third counter says the same as the first one. P6 does not have it. */
static inline bool third_agrees(const struct vpmc_read *sums)
{
	return sums->nr_counters == (machine_is_p6() ? 2 : 3) &&
	       (machine_is_p6() || sums->sum[2] == sums->sum[0]);
}

/* What the urgent thread counts, in the same counters. */
static const struct choice others[] = {
	{ EV_BRANCHES, 2 }, { EV_INSNS, 1 }, { EV_INSNS, FIXED(0) }, {}
};

/* What happens at an instruction. */
enum disturbance {
	INTERRUPT,	/* of vpmc's vector, with nothing to do */
	PREEMPT,	/* by a more urgent thread with counters of its own */
	MIGRATE,	/* to CPU 1 */
	READ,		/* by another thread: an IPI if it runs */
	STOP,		/* likewise */
	START,		/* likewise, of a set that was stopped */
	NR_DISTURBANCES,
	REVOKE,		/* by the administrator */
	READ_FAMILY,	/* by another thread, with all descendants */
	KILL,		/* of the thread that would be migrated */
	RUN,		/* on CPU 1, of the thread that the command is for */
	LATE,		/* overflow interrupts since the trigger was armed */
	UNLINK,		/* by another thread: an IPI if it runs */
	PERF_COMES,	/* and asks for the PMU */
	PERF_LEAVES,	/* its last event is closed */
	PROGRAM,	/* by another thread, and started */
	REVOKE_AND_ALLOW,
	CALL,		/* what the test defines */
};

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

static const char *const disturbance_name[] = {
	[INTERRUPT] = "interrupt", [PREEMPT] = "preempt",
	[MIGRATE] = "migrate", [READ] = "read", [STOP] = "stop",
	[START] = "start", [REVOKE] = "revoke",
	[READ_FAMILY] = "read family", [KILL] = "kill",
	[RUN] = "run", [LATE] = "late overflow", [UNLINK] = "unlink",
	[PERF_COMES] = "perf comes", [PERF_LEAVES] = "perf leaves",
	[PROGRAM] = "program", [REVOKE_AND_ALLOW] = "revoke and allow",
	[CALL] = "call",
};

/* The urgent thread: blocked in read() of a pipe, but for a loop each time. */
#define URGENT_TURNS	50
#define URGENT_COUNT(n)	code_add(CODE_SERVE_END, \
				 code_times(CODE_SERVE(URGENT_TURNS), (n)))

struct urgent {
	const struct choice *choice;
	pid_t pid;		/* if it is a process */
	bool is_thread;
	pthread_t thread;	/* if it is one */
	volatile bool ready;	/* it has its set, and the CPU */
	int sleep, wake;	/* ends of its pipe */
	uint64_t wakes;
};

/* In shared memory: the processes' exit status tells of what went wrong. */
struct sweep {
	struct urgent urgent;
	enum disturbance what;
	struct set set;		/* of the disturbed thread */
	struct partner *partner;	/* thread to which it yields, or NULL */
	pid_t tid;		/* thread to migrate */
	int fd;			/* counters for the command */
	int wake;		/* pipe of the thread to run */
	int perf;		/* the perf event, or -errno */
	pthread_t thread;	/* disturbs, on CPU 1 */
	sem_t begin, end;
	volatile bool listening, over, quit;
	bool fired;
	/*
	 * false if CPU 1 had to wait for CPU 0 first, which lets CPU 0 continue
	 */
	volatile bool disturbed;
	bool ends;		/* the scenario unlinks the set */
	int (*call)(struct sweep *s);	/* CALL: 0 or -errno */
	int error;		/* of the disturbance */
	struct vpmc_read read;	/* by READ */
	struct pmu_trigger at;	/* where it fired */
};

static int sweep_disturb(struct sweep *s)
{
	static const struct timespec moment = { .tv_nsec = 100000 };
	struct vpmc_control control;
	cpu_set_t mask;

	switch (s->what) {
	case PREEMPT:
		s->urgent.wakes++;
		return write(s->urgent.wake, "", 1) == 1 ? 0 : -errno;
	case MIGRATE:
		CPU_ZERO(&mask);
		CPU_SET(1, &mask);
		return sched_setaffinity(s->tid, sizeof(mask), &mask) ? -errno : 0;
	case READ:
		return vpmc_read(s->fd, &s->read);
	case STOP:
		return vpmc_ioctl(s->fd, VPMC_IOC_STOP, 0);
	case START:
		return vpmc_ioctl(s->fd, VPMC_IOC_START, 0);
	case UNLINK:
		return vpmc_ioctl(s->fd, VPMC_IOC_UNLINK, 0);
	case RUN:
		/*
		 * The woken thread has a lower priority than this one, which
		 * must sleep.
		 */
		if (write(s->wake, "", 1) != 1 || nanosleep(&moment, NULL))
			return -errno;
		return 0;
	case READ_FAMILY:
		s->read = (struct vpmc_read){
			.size = sizeof(s->read),
			.flags = VPMC_READ_LIVING | VPMC_READ_FINISHED,
		};
		return vpmc_ioctl(s->fd, VPMC_IOC_READ, &s->read);
	case KILL:
		return kill(s->tid, SIGKILL) ? -errno : 0;
	case REVOKE:
		return write_file(REVOKE_FILE, "1");
	case REVOKE_AND_ALLOW:
		return write_file(REVOKE_FILE, "1") ?:
		       write_file(REVOKE_FILE, "0");
	case PERF_COMES:
		s->perf = perf_open_insns();
		if (s->perf < 0)
			return s->perf == -EBUSY ? 0 : s->perf;
		/* The opener of the event can count. */
		return perf_error(100) ? -EIO : 0;
	case PROGRAM:
		control_of(&control, mine, 0);
		return vpmc_ioctl(s->fd, VPMC_IOC_CONTROL, &control);
	case PERF_LEAVES:
		return close(s->perf) ? -errno : 0;
	case CALL:
		return s->call(s);
	default:
		return 0;
	}
}

/*
 * For CALL: CPU 0 goes on, after that number of instructions. It does so already if
 * another thread spins for what it has locked, as the worker that returns a loan does.
 * False if it was not held.
 */
static inline bool sweep_go(unsigned long instructions)
{
	struct pmu_trigger t;

	if (!pmu_trigger_go(instructions))
		return true;
	t = pmu_trigger_status();
	return pmu_trigger_cause(&t) == PMU_TRIGGER_BY_SPIN;
}

/* The thread on CPU 1: disturbs once for each request. */
static void *sweep_thread(void *arg)
{
	struct sweep *s = arg;
	struct pmu_trigger t;

	if (pin(1) || set_fifo(30))
		s->error = -errno;
	for (;;) {
		sem_wait(&s->begin);
		if (s->quit)
			return NULL;
		s->listening = true;
		while (!s->over) {
			t = pmu_trigger_status();
			if (pmu_trigger_state(&t) == PMU_TRIGGER_HELD) {
				s->disturbed = true;
				s->error = sweep_disturb(s);
				pmu_trigger_go(0);
				break;
			}
			pmu_trigger_wait(t.events);
		}
		sem_post(&s->end);
	}
}

static inline int urgent_body(struct urgent *urgent)
{
	struct set set;
	char byte;
	long n;

	if (pin(0) || set_fifo(50) || set_open(&set, urgent->choice))
		return 100;
	urgent->ready = true;
	n = set_measure(&set, code_serve, urgent->sleep, URGENT_TURNS);
	if (read(urgent->sleep, &byte, 1) || n)
		return 101;
	return wrong_after(&set, URGENT_COUNT(urgent->wakes)) ? 102 : 0;
}

static inline void *urgent_thread(void *arg)
{
	struct urgent *urgent = arg;
	long err = urgent_body(urgent);

	urgent->ready = true;
	return (void *)err;
}

static inline int make_urgent(struct urgent *urgent,
			      const struct choice *choice)
{
	int pipe_fd[2];

	if (pipe(pipe_fd))
		return -errno;
	urgent->choice = choice;
	urgent->sleep = pipe_fd[0];
	urgent->wake = pipe_fd[1];
	urgent->wakes = 0;
	urgent->ready = false;
	return 0;
}

/* A process; in shared memory. */
static inline int start_urgent(struct urgent *urgent,
			       const struct choice *choice)
{
	int err = make_urgent(urgent, choice);
	pid_t pid;

	if (err)
		return err;
	/* The child must not write what it shares. */
	pid = disturber();
	if (!pid) {
		close(urgent->wake);
		_exit(urgent_body(urgent));
	}
	urgent->pid = pid;
	close(urgent->sleep);
	return pid < 0 ? -errno : 0;
}

/* A thread of this process. To be called on CPU 0. */
static inline int start_urgent_thread(struct urgent *urgent,
				      const struct choice *choice)
{
	int err = make_urgent(urgent, choice);

	urgent->is_thread = true;
	err = err ?: -pthread_create(&urgent->thread, NULL, urgent_thread,
				     urgent);
	/* It waits for its first byte before this one goes on. */
	while (!err && !urgent->ready)
		usleep(10);
	return err;
}

/* In shared memory, with everything started; perhaps with no urgent thread. */
static inline struct sweep *sweep_start(const struct choice *urgent)
{
	struct sweep *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED || wait_for_fine_timers() ||
	    sem_init(&s->begin, 0, 0) || sem_init(&s->end, 0, 0) ||
	    (urgent && start_urgent(&s->urgent, urgent)) ||
	    pthread_create(&s->thread, NULL, sweep_thread, s))
		return NULL;
	return s;
}

/* 0 if the urgent thread has counted exactly */
static inline int stop_urgent(struct urgent *urgent)
{
	void *result;
	int status;

	if (urgent->is_thread) {
		close(urgent->wake);
		pthread_join(urgent->thread, &result);
		close(urgent->sleep);
		urgent->is_thread = false;
		return (long)result;
	}
	if (!urgent->pid)
		return 0;
	close(urgent->wake);
	status = child_status(urgent->pid);
	urgent->pid = 0;
	return status;
}

/* Makes the disturbing thread wait for the trigger. To be called on CPU 0. */
static inline void sweep_begin(struct sweep *s)
{
	s->over = s->listening = s->disturbed = false;
	s->error = 0;
	sem_post(&s->begin);
	while (!s->listening)
		__asm__ __volatile__("pause");
}

static inline unsigned int sweep_action(const struct sweep *s)
{
	if (s->what == INTERRUPT)
		return PMU_TRIGGER_INTERRUPT | VPMC_VECTOR << 8;
	return s->what == LATE ? PMU_TRIGGER_PMI : PMU_TRIGGER_HOLD;
}

/* Records where the trigger fired, if it did. The disturbance is over now. */
static inline void sweep_end(struct sweep *s, struct pmu_trigger at)
{
	s->at = at;
	s->fired = pmu_trigger_state(&at) == PMU_TRIGGER_FIRED;
	s->over = true;
	pmu_trigger_disarm();
	sem_wait(&s->end);
}

/*
 * START, body(a, b), STOP; the body is disturbed at its k-th instruction. If
 * START is the disturbance, the set is stopped until then.
 */
static inline long sweep_body(struct sweep *s, struct set *set, unsigned long k,
			      code_fn body, long a, long b)
{
	struct code_armed armed = {
		.body = body, .a = a, .b = b,
		.skip = k, .action = sweep_action(s),
	};
	unsigned long *status = armed.status;
	struct pmu_trigger at;
	long err;

	sweep_begin(s);
	err = code_measure(set->fd,
			   s->what == START ? VPMC_IOC_STOP : VPMC_IOC_START,
			   VPMC_IOC_STOP, code_armed, (long)&armed, 0);
	at = (struct pmu_trigger){ status[0], status[1], status[2], status[3] };
	sweep_end(s, at);
	return err;
}

/* Disturbs what comes between these two at its k-th instruction. */
static inline int sweep_arm(struct sweep *s, unsigned long k)
{
	sweep_begin(s);
	return pmu_trigger_arm(0, k, sweep_action(s));
}

static inline void sweep_disarm(struct sweep *s)
{
	sweep_end(s, pmu_trigger_status());
}

/*
 * Checks everything after a disturbance at the k-th instruction, or past the
 * end. Returns the number of errors.
 */
static inline int sweep_wrong(const struct sweep *s, unsigned long k)
{
	int wrong = s->error && !(s->ends && s->error == -ESRCH);

	if (s->fired) {
		wrong += s->at.count != k + 1;
		wrong += pmu_trigger_cause(&s->at) == PMU_TRIGGER_BY_LIMIT;
	} else {
		wrong += s->at.count > k;
	}
	if (wrong)
		fprintf(stderr, "# %s at %lu: error %d, state %#lx, count %lu\n",
			disturbance_name[s->what], k, s->error, s->at.state,
			s->at.count);
	return wrong;
}

/* Is a function of the kernel in a range? @before: the one before it is. */
typedef bool (*sweep_has_fn)(const char *name, bool before);

/* Sets the ranges in place of earlier ones, and returns their number. */
static inline int sweep_ranges(sweep_has_fn has)
{
	static int earlier;
	unsigned long low = 0, high = 0, address;
	char type, name[128];
	bool ours, before = false;
	int n = 0, err = 0;
	FILE *f = fopen("/proc/kallsyms", "r");

	/* in ascending order */
	while (f && !err &&
	       fscanf(f, "%lx %c %127s%*[^\n]", &address, &type, name) == 3) {
		if (type != 't' && type != 'T')
			continue;
		/* The functions that follow were freed after boot. */
		if (!strcmp(name, "_sinittext"))
			break;
		ours = has(name, before);
		if (ours && !before)
			low = address;
		high = address;
		if (!ours && before && low < high)
			err = pmu_trigger_range(n++, low, high);
		before = ours;
	}
	if (f)
		fclose(f);
	for (int i = n; !err && i < earlier; i++)
		err = pmu_trigger_range(i, 0, 0);
	earlier = n;
	return err ? -1 : n;
}

/*
 * vpmc's kernel code: functions whose names contain "vpmc", and functions of
 * backends that follow some of them.
 */
static inline bool sweep_is_ours(const char *name, bool before)
{
	return strstr(name, "vpmc") ||
	       (before && (!strncmp(name, "intel_", 6) ||
			   !strncmp(name, "amd_", 4)));
}

/* Adds ranges for that code. Returns the number of ranges. */
static inline int sweep_kernel_ranges(void)
{
	return sweep_ranges(sweep_is_ours);
}

/* This thread, on CPU 0, has a set, and code of the kernel is swept. */
static inline struct sweep *sweep_start_kernel(void)
{
	struct sweep *s = sweep_start(others);

	if (!s || pin(0) || set_fifo(10) || sweep_kernel_ranges() <= 0 ||
	    set_open(&s->set, mine))
		return NULL;
	s->tid = my_tid();
	s->fd = s->set.fd;
	return s;
}

static inline int sweep_stop(struct sweep *s)
{
	int err = 0;

	if (s->partner)
		err = stop_partner(s->partner);
	if (s->set.fd > 0)
		set_close(&s->set);
	s->quit = true;
	sem_post(&s->begin);
	pthread_join(s->thread, NULL);
	return err ?: stop_urgent(&s->urgent);
}

/*
 * Returns the number of instructions from one disturbance to the next: 1, or
 * what the environment says. On a slow kernel a function has more instructions,
 * and the step is longer.
 */
static inline unsigned long sweep_step(void)
{
	const char *step = getenv("SWEEP_STEP");

	if (step)
		return strtoul(step, NULL, 10) * test_slowness();
	return test_slowness() > 1 ? 23 : 1;
}

/* Waits a while: CPU 0 may have to continue before it is there. */
static inline bool sweep_wait_for(bool (*there)(void))
{
	static const struct timespec moment = { .tv_nsec = 200000 };
	int i;

	for (i = 0; i < 50 && !there(); i++)
		nanosleep(&moment, NULL);
	return there();
}

/* Disturbs at the k-th instruction. Returns the number of errors. */
typedef int (*sweep_fn)(void *arg, unsigned long k);

/*
 * After this number of runs in a row that end before the k-th instruction, the
 * sweep is over. A single run may be shorter than others.
 */
#define SWEEP_PAST	3

/* Disturbs at every step-th instruction there is. */
static inline void sweep_all(struct __test_metadata *_metadata, struct sweep *s,
			     unsigned long step, sweep_fn fn, void *arg)
{
	unsigned long k = 0, points = 0, disturbed = 0, most = 0;
	int wrong = 0, past = 0, errors;

	ASSERT_LT(0, step);
	while (past < SWEEP_PAST && wrong <= 5) {
		errors = fn(arg, k);
		errors += sweep_wrong(s, k);
		if (errors)
			fprintf(stderr, "# %s at instruction %lu, %#lx\n",
				disturbance_name[s->what], k, s->at.pc);
		wrong += errors != 0;
		past = s->fired ? 0 : past + 1;
		points += s->fired;
		disturbed += s->fired && s->disturbed;
		most = s->at.count > most ? s->at.count : most;
		k += s->fired ? step : 0;
	}
	/* The emulator's own interrupts need no other thread. */
	if (sweep_action(s) != PMU_TRIGGER_HOLD)
		disturbed = points;
	TH_LOG("%s: %lu instructions, disturbed at %lu of %lu, %d mismatches",
	       disturbance_name[s->what], most, disturbed, points, wrong);
	EXPECT_EQ(0, wrong);
	EXPECT_LE(most, points * step);
	/* CPU 1 may come too late, but almost never does. */
	EXPECT_LE(points, 2 * disturbed);
	EXPECT_LT(20, most);
}

#endif /* SWEEP_H */
