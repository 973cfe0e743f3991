// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: context switches.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/ptrace.h>
#include <sys/user.h>
#include "isolation.h"
#include "proc.h"

#define OF_ONE_COUNTER	{ { EV_INSNS, 1 } }
#define OTHER_COUNTERS	{ { EV_BRANCHES, 0 }, { EV_INSNS, 2 }, { EV_INSNS, 3 } }
#define FIXED_ALONE	{ { EV_INSNS, FIXED(0) }, { EV_CYCLES, FIXED(1) }, \
			  { EV_REF, FIXED(2) } }

FIXTURE(isolation)
{
	struct stage *stage;
};

FIXTURE_VARIANT(isolation)
{
	struct scene scene;
};

#define SCENE(name, ...) \
	FIXTURE_VARIANT_ADD(isolation, name) { .scene = { __VA_ARGS__ } }

/* What the two count. */

SCENE(same_selection, .watched = SAME, .victim = SAME);
SCENE(other_selection, .watched = SAME, .victim = OTHER);
SCENE(unused_counters, .watched = OF_ONE_COUNTER, .victim = OTHER_COUNTERS);
SCENE(fixed_counters, .watched = OF_ONE_COUNTER, .victim = FIXED_ALONE);
SCENE(watcher_stands, .watched = SAME, .victim = SAME, .stands = true,
	.still = true);
SCENE(watcher_stands_other_selection, .watched = OTHER, .victim = SAME,
	.stands = true, .still = true);
SCENE(victim_counts_the_kernel, .watched = SAME, .victim = KERNEL);
SCENE(victim_counts_the_kernel_watcher_stands, .watched = SAME,
	.victim = KERNEL, .stands = true, .still = true);
SCENE(victim_counts_run_time_alone, .watched = SAME);
SCENE(victim_counts_run_time_alone_watcher_stands, .watched = SAME,
	.stands = true, .still = true);

/* The counters start again on the way: their interrupt comes, if they are narrow. */
SCENE(victim_overflows, .watched = SAME, .victim = SAME, .turns = 5000000);
SCENE(victim_overflows_watcher_stands, .watched = SAME, .victim = SAME,
	.stands = true, .still = true, .turns = 5000000);

static int victim_without_set(struct player *p)
{
	if (await_watcher(p))
		return 50;
	run_loop(p);
	return tell_watcher(p);
}

SCENE(victim_without_set, .watched = SAME, .victim_body = victim_without_set);
SCENE(victim_without_set_watcher_stands, .watched = SAME,
	.victim_body = victim_without_set, .stands = true, .still = true);

/* Periods, the watcher's and the victim's. */

static int victim_with_period(struct player *p)
{
	if (open_set(p, p->scene->victim) || add_period(p, p->scene->victim) ||
	    start_set(p))
		return 54;
	if (await_watcher(p))
		return 55;
	run_loop(p);
	return tell_watcher(p);
}

SCENE(watcher_has_a_period, .watched = SAME, .victim = SAME,
	.prepare = watch_with_period);
SCENE(watcher_has_a_period_other_selection, .watched = SAME, .victim = OTHER,
	.prepare = watch_with_period);
SCENE(victim_has_a_period, .watched = SAME, .victim = SAME,
	.victim_body = victim_with_period);
SCENE(victim_has_a_period_watcher_stands, .watched = SAME, .victim = OTHER,
	.victim_body = victim_with_period, .stands = true, .still = true);
SCENE(both_have_a_period, .watched = SAME, .victim = SAME,
	.prepare = watch_with_period, .victim_body = victim_with_period);

/* A thread without a set, beside one that has. */

SCENE(unmonitored_thread_of_a_mapper, .watched = SAME, .victim = SAME,
	.look = look_from_thread);
SCENE(unmonitored_thread_of_a_mapper_that_stands, .watched = SAME,
	.victim = OTHER, .stands = true, .look = look_from_thread,
	.still = true);

/* Its CPU's counters continue for it, until another thread runs there. */
SCENE(unmonitored_thread_in_between, .watched = SAME,
	.victim_body = victim_without_set, .look = look_from_thread);

static void *look_with_run_time(void *arg)
{
	struct player *p = arg;
	struct set set;

	if (set_open(&set, (struct choice[]){ {} }) ||
	    vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return (void *)51;
	return look_thread(p);
}

/* It has a set, and that is running, but not counting. */
static int look_from_run_time_thread(struct player *p)
{
	pthread_t thread;
	void *err;

	if (pthread_create(&thread, NULL, look_with_run_time, p) ||
	    pthread_join(thread, &err))
		return 52;
	return (long)err;
}

SCENE(thread_that_counts_run_time_alone, .watched = SAME, .victim = SAME,
	.look = look_from_run_time_thread);

/* How the victim leaves the CPU. */

static int doze(struct player *p)
{
	static const struct timespec ts = { .tv_nsec = 1000000 };

	return nanosleep(&ts, NULL) ?: tell_watcher(p);
}

static int stop_and_tell(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_STOP, 0) ?: tell_watcher(p);
}

static int unlink_and_tell(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_UNLINK, 0) ?: tell_watcher(p);
}

static int unmap_and_tell(struct player *p)
{
	return munmap(p->set.page, PAGE) ?: tell_watcher(p);
}

SCENE(through_idle, .watched = SAME, .victim = SAME, .leave = doze,
	.stands = true, .still = true);
SCENE(through_idle_counting, .watched = SAME, .victim = OTHER, .leave = doze);
SCENE(victim_stops, .watched = SAME, .victim = SAME, .leave = stop_and_tell);
SCENE(victim_stops_watcher_stands, .watched = SAME, .victim = SAME,
	.leave = stop_and_tell, .stands = true, .still = true);
SCENE(victim_unlinks, .watched = SAME, .victim = OTHER,
	.leave = unlink_and_tell, .stands = true, .still = true);
SCENE(victim_unmaps, .watched = SAME, .victim = SAME, .leave = unmap_and_tell);
SCENE(victim_exits, .watched = SAME, .victim = OTHER, .leave = leave_by_exit);
SCENE(victim_exits_watcher_stands, .watched = SAME, .victim = SAME,
	.leave = leave_by_exit, .stands = true, .still = true);

/* From CPU to CPU. */

static int travelling_victim(struct player *p)
{
	int cpu;

	if (open_set(p, p->scene->victim) || start_set(p) ||
	    await_watcher(p))
		return 53;
	for (cpu = 1; cpu >= 0; cpu--) {
		run_loop(p);
		if (pin(cpu))
			return 54;
	}
	run_loop(p);
	return tell_watcher(p);
}

static int victim_on_other_cpu(struct player *p)
{
	return pin(1) ?: run_victim(p);
}

static int go_to_other_cpu(struct player *p)
{
	return pin(1);
}

/*
 * When the watcher is back the counters of CPU 0 have been the victim's, which is
 * awake, if only for its last instructions, until it waits for the end.
 */
static int go_there_and_back(struct player *p)
{
	if (pin(1))
		return -1;
	code_loop(100, 0);
	while (task_state(p->victim) != 'S')
		;
	return pin(0);
}

SCENE(victim_travels, .watched = SAME, .victim = SAME,
	.victim_body = travelling_victim);
SCENE(victim_travels_watcher_stands, .watched = SAME, .victim = SAME,
	.victim_body = travelling_victim, .stands = true, .still = true);
SCENE(watcher_travels, .watched = SAME, .victim = SAME,
	.started = go_there_and_back, .back = go_there_and_back);
SCENE(both_travel, .watched = SAME, .victim = OTHER,
	.victim_body = travelling_victim, .started = go_there_and_back,
	.back = go_there_and_back);
SCENE(watcher_stands_and_travels, .watched = OTHER, .victim = SAME,
	.stands = true, .back = go_there_and_back, .still = true);
SCENE(watcher_comes_from_another_cpu, .watched = SAME, .victim = SAME,
	.victim_body = victim_on_other_cpu, .back = go_to_other_cpu);
SCENE(watcher_stands_comes_from_another_cpu, .watched = OTHER, .victim = SAME,
	.victim_body = victim_on_other_cpu, .back = go_to_other_cpu,
	.stands = true, .still = true);
SCENE(unmonitored_thread_from_another_cpu, .watched = SAME, .victim = OTHER,
	.victim_body = victim_on_other_cpu, .back = go_to_other_cpu,
	.look = look_from_thread);

/* What the watcher does with its set between its looks. */

static int stop_and_start(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_STOP, 0) ?: start_set(p);
}

static int clear(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_CLEAR, 0);
}

static int select_other(struct player *p)
{
	static const struct choice other[4] = OTHER;

	return program_set(p, other) ?: start_set(p);
}

static int select_same(struct player *p)
{
	return program_set(p, p->scene->watched) ?: start_set(p);
}

/* UNLINK takes the permission; the new set brings it back. */
static int replace_set(struct player *p)
{
	set_close(&p->set);
	return open_set(p, p->scene->watched) ?: start_set(p);
}

SCENE(watcher_starts, .watched = SAME, .victim = SAME, .stands = true,
	.back = start_set);
SCENE(watcher_stops_and_starts, .watched = SAME, .victim = SAME,
	.back = stop_and_start);
SCENE(watcher_clears, .watched = SAME, .victim = OTHER, .back = clear);
SCENE(watcher_programs_the_same, .watched = SAME, .victim = SAME,
	.back = select_same);
SCENE(watcher_programs_another, .watched = SAME, .victim = OTHER,
	.back = select_other);
SCENE(watcher_unlinks_and_attaches, .watched = SAME, .victim = SAME,
	.back = replace_set);

/* What another thread of its group does with it while it sleeps. */

static int stop(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_STOP, 0);
}

/* The owner's own set, by the thread that has none. */
static int control(struct player *p)
{
	static const struct choice other[4] = OTHER;

	return program_set(p, other);
}

SCENE(started_asleep, .watched = SAME, .victim = SAME, .stands = true,
	.asleep = start_set);
SCENE(stopped_asleep, .watched = SAME, .victim = SAME, .asleep = stop);
SCENE(cleared_asleep, .watched = SAME, .victim = OTHER, .asleep = clear);
SCENE(programmed_asleep, .watched = SAME, .victim = OTHER, .asleep = control);
SCENE(programmed_and_started_asleep, .watched = SAME, .victim = OTHER,
	.asleep = select_other);
SCENE(programmed_asleep_stands, .watched = SAME, .victim = OTHER,
	.stands = true, .asleep = control, .still = true);

/* Ways to wake up. */

static int trace_watcher(struct player *p)
{
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_SEIZE, p->watcher, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, p->watcher, 0, 0) ||
	    waitpid(p->watcher, &status, 0) != p->watcher ||
	    !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, p->watcher, 0, &regs))
		return -1;
	return ptrace(PTRACE_DETACH, p->watcher, 0, 0);
}

static int stop_watcher(struct player *p)
{
	int status;

	/* Seized, so that its stop can be waited for. */
	if (ptrace(PTRACE_SEIZE, p->watcher, 0, 0) ||
	    kill(p->watcher, SIGSTOP) ||
	    waitpid(p->watcher, &status, 0) != p->watcher ||
	    ptrace(PTRACE_DETACH, p->watcher, 0, SIGSTOP))
		return -1;
	return kill(p->watcher, SIGCONT);
}

SCENE(watcher_is_traced, .watched = SAME, .victim = SAME,
	.asleep = trace_watcher, .by_process = true);
SCENE(watcher_is_traced_and_stands, .watched = SAME, .victim = SAME,
	.stands = true, .asleep = trace_watcher, .by_process = true,
	.still = true);
SCENE(watcher_is_stopped, .watched = SAME, .victim = SAME, .stands = true,
	.asleep = stop_watcher, .by_process = true, .still = true);

/* The handler is the first that the watcher executes. */
static struct player *in_handler;

static void look_in_handler(int sig)
{
	read_raw(in_handler->stage, in_handler->view->after);
}

static int signal_watcher(struct player *p)
{
	return kill(p->watcher, SIGUSR1);
}

static int look_by_signal(struct player *p)
{
	struct sigaction action = { .sa_handler = look_in_handler };
	sigset_t blocked, none;

	in_handler = p;
	p->stage->ran = 0;
	memset(p->view, 1, sizeof(*p->view));
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	if (sigaction(SIGUSR1, &action, NULL) ||
	    sigprocmask(SIG_BLOCK, &blocked, NULL))
		return 55;
	read_raw(p->stage, p->view->before);
	if (wake(p->go))
		return 56;
	sigsuspend(&none);
	p->view->vpmc = vpmc_counters();
	return p->stage->ran == p->turns ? 0 : 57;
}

SCENE(watcher_is_signalled, .watched = SAME, .victim = SAME,
	.look = look_by_signal, .asleep = signal_watcher, .by_process = true);
SCENE(watcher_is_signalled_and_stands, .watched = SAME, .victim = OTHER,
	.stands = true, .look = look_by_signal, .asleep = signal_watcher,
	.by_process = true, .still = true);

FIXTURE_SETUP(isolation)
{
	self->stage = open_stage(-1);
	ASSERT_NE(NULL, self->stage);
}

FIXTURE_TEARDOWN(isolation)
{
}

TEST_F(isolation, same_view)
{
	play_twice(_metadata, &variant->scene, self->stage);
}

/*
 * RDPMC accepts what INFO names, on both CPUs, and nothing else. perf's counters
 * are among them where perf keeps some.
 */
TEST(indices)
{
	const struct choice one[] = { { EV_INSNS, first_counter() }, {} };
	struct stage stage;
	struct vpmc_info info;
	unsigned int i, n = 0;
	uint64_t all;
	struct set set;
	int cpu;

	ASSERT_EQ(0, set_open(&set, one));
	ASSERT_EQ(0, vpmc_info(set.fd, &info));
	all = info.gp_mask | (uint64_t)info.fixed_mask << 32;
	if (perf_keeps_counters())
		all = info.own_mask | info.borrowed_mask | info.perf_mask;
	for (cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, pin(cpu));
		probe(&stage);
		/* NetBurst has two indexes for each counter. */
		ASSERT_EQ(__builtin_popcountll(all) * (machine_is_p4() ? 2 : 1), stage.n);
		for (i = 0, n = 0; i < 32; i++)
			if (all & counter_bit(i))
				EXPECT_EQ(i, stage.index[n++]);
		for (i = 0; i < 32; i++)
			if (!machine_is_p4() && all & counter_bit(FIXED(i)))
				EXPECT_EQ(FIXED(i), stage.index[n++]);
		for (i = 0; i < machine.nr_gp && machine_is_p4(); i++)
			EXPECT_EQ(P4_RDPMC_FAST | i, stage.index[n++]);
	}
}

/*
 * What a set does not use stands while it counts, also what another one counted
 * in the kernel with.
 */
TEST(unused_counters_stand)
{
	static const struct choice kernel[4] = KERNEL;
	struct stage *stage = open_stage(-1);
	static uint64_t a[RAW_MAX], b[RAW_MAX];
	struct set set, other;
	unsigned int i;
	uint64_t vpmc;
	pid_t pid;

	ASSERT_NE(NULL, stage);
	/* A claim of its own, so that the selects stay what they are. */
	ASSERT_EQ(0, set_open(&set, (struct choice[]){ { EV_INSNS, 2 }, {} }));
	pid = fork();
	if (!pid)
		_exit(set_open(&other, available(stage, kernel)) ||
		      vpmc_ioctl(other.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, child_status(pid));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	read_raw(stage, a);
	code_syscalls(1000, 0);
	read_raw(stage, b);
	vpmc = stage->beside ? vpmc_counters() : ~0ULL;
	for (i = 0; i < stage->n; i++) {
		if (!(vpmc & counter_bit(stage->index[i])))
			continue;
		if (counter_bit(stage->index[i]) == counter_bit(set.page->slot[0].index)) {
			EXPECT_LT(a[i], b[i]);
		} else {
			EXPECT_EQ(a[i], b[i]);
		}
	}
}

static int count_and_exit(struct stage *stage, const struct choice *choice)
{
	struct player p = { .stage = stage };

	if (open_set(&p, choice) || start_set(&p))
		return 1;
	code_loop(LONG_LOOP, 0);
	return 0;
}

static int attach_and_look(struct stage *stage, const struct choice *choice)
{
	struct set set;

	if (set_open(&set, available(stage, choice)))
		return 1;
	read_raw(stage, stage->view->after);
	stage->view->vpmc = vpmc_counters();
	return 0;
}

/* A reused mm_struct does not make the counters those of its new process. */
TEST(address_space_used_again)
{
	static const struct choice same[4] = SAME;
	struct stage *stage = open_stage(-1);
	unsigned int i, j;
	struct set keep;
	pid_t pid;

	ASSERT_NE(NULL, stage);
	/* Keeps the PMU, which must not start over, and may not use RDPMC. */
	ASSERT_EQ(0, set_open(&keep, available(stage, same)));
	ASSERT_EQ(0, munmap(keep.page, PAGE));
	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid)
			_exit(count_and_exit(stage, same));
		ASSERT_EQ(0, child_status(pid));
		pid = fork();
		if (!pid)
			_exit(attach_and_look(stage, same));
		ASSERT_EQ(0, child_status(pid));
		for (j = 0; j < stage->n; j++)
			if (!was_of_perf(stage, stage->view, stage->index[j]))
				EXPECT_EQ(stage->start, stage->view->after[j]);
	}
}

/* What 1000 turns of a loop add at least to a counter, which may be in the set or not. */
static unsigned int moves(const struct set *set, uint32_t index)
{
	unsigned int i;

	for (i = 0; i < set->control.nr_counters; i++)
		if (counter_bit(set->page->slot[i].index) == counter_bit(index))
			return is_event(set->control.counter[i].evtsel, EV_BRANCHES) ?
			       1000 : 2000;
	return 0;
}

/* The checks can fail: what a process itself executes does move its counters. */
TEST(own_counters_move)
{
	static const struct choice same[4] = SAME;
	struct stage *stage = open_stage(-1);
	static uint64_t a[RAW_MAX], b[RAW_MAX];
	struct set set;
	unsigned int i;

	ASSERT_NE(NULL, stage);
	ASSERT_EQ(0, set_open(&set, available(stage, same)));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	read_raw(stage, a);
	code_loop(1000, 0);
	read_raw(stage, b);
	stage->view->vpmc = vpmc_counters();
	for (i = 0; i < stage->n; i++) {
		if (was_of_perf(stage, stage->view, stage->index[i]))
			continue;
		if (moves(&set, stage->index[i])) {
			EXPECT_LT(moves(&set, stage->index[i]), b[i] - a[i]);
		} else {
			EXPECT_EQ(a[i], b[i]);
		}
	}
}

/* Waits until perf has the counters that earlier sets have borrowed. */
static int wait_for_return(void)
{
	struct vpmc_info info;
	int fd = vpmc_open(), i, err = -1;

	for (i = 0; i < 500 && err; i++) {
		err = vpmc_info(fd, &info) || info.borrowed_mask;
		if (err)
			usleep(10000);
	}
	close(fd);
	return err;
}

/*
 * What another process executes shows in perf's counters, which is documented, and
 * in no others. So perf counts beside the scenes of this program.
 */
TEST(shown_by_perf)
{
	const int returned = wait_for_return();
	struct stage *stage = open_stage(-1);
	static uint64_t a[RAW_MAX], b[RAW_MAX];
	bool shown = false;
	struct set set;
	unsigned int i;
	pid_t pid;

	ASSERT_EQ(0, returned);
	ASSERT_NE(NULL, stage);
	ASSERT_EQ(0, set_open(&set, (struct choice[]){
		{ EV_INSNS, first_counter() }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	read_raw(stage, a);
	pid = fork();
	if (!pid)
		_exit(code_loop(10 * LONG_LOOP, 0));
	ASSERT_EQ(0, child_status(pid));
	read_raw(stage, b);
	for (i = 0; i < stage->n; i++)
		shown |= b[i] - a[i] >= 10 * LONG_LOOP;
	EXPECT_EQ(stage->beside, shown);
}

NEEDS(
	{ "isolation.victim_counts_the_kernel*", EXACT | ROOT },
	{ "global.unused_counters_stand", PMU | ROOT },
	{ "*", PMU | FIFO | TWO_CPUS },
);

TEST_HARNESS_MAIN
