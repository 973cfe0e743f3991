/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A watcher that reads everything RDPMC accepts, a victim that it must learn
 * nothing about, and the scene in which the two meet.
 *
 * The watcher looks, the victim executes a loop, and the watcher looks again.
 * The scene is played twice, with a short loop and with a long one. What the
 * watcher sees must be the same both times, to the last bit. A watcher whose own
 * set does not count must see even less: what it saw before, or the start value.
 *
 * Where sets share the PMU with perf, perf counts both players at the same time:
 * each CPU, and each thread of the test. Sets then use only counters that they may
 * have. The views of only those counters are compared that are vpmc's at the last
 * look, because RDPMC shows what perf counts in its own ones. See "Sharing the PMU"
 * in Documentation/admin-guide/vpmc.rst.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef ISOLATION_H
#define ISOLATION_H

#include "disturb.h"
#include "perf.h"
#include "rdpmc.h"

#define RAW_MAX		64
#define SHORT_LOOP	1000
#define LONG_LOOP	100000

/* INST_RETIRED, BRANCHES and REF_CYCLES have one fixed counter each. */

#define SAME	{ { EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 1 } }
#define OTHER	{ { EV_BRANCHES, 2 }, { EV_CYCLES, FIXED(1) }, { EV_INSNS, 3 } }
#define KERNEL	{ { 0x300c0, 0 }, { 0x200c4, 1 } }

struct view {
	uint64_t before[RAW_MAX];
	uint64_t after[RAW_MAX];
	uint64_t vpmc_before;		/* counters that are not perf's */
	uint64_t vpmc;			/* the same after the victim ran */
};

/* Shared memory of all processes of a test. */
struct stage {
	bool beside;			/* perf counts, too */
	unsigned int n;			/* indices that RDPMC accepts */
	uint32_t index[RAW_MAX];
	uint64_t start;			/* a counter that never moved */
	uint64_t bits;			/* of a counter that are looked at */
	volatile long ran;		/* iterations of the victim */
	struct view view[2];
	long preempted[2];		/* preemptions of both players */
	long early[2];			/* those of them before the players meet */
};

/* A counter in the masks of INFO. */
static inline uint64_t counter_bit(uint32_t index)
{
	if (machine_is_p4())
		return 1ULL << (index & ~P4_RDPMC_FAST);
	return index & VPMC_RDPMC_FIXED ?
	       1ULL << 32 << (index & ~VPMC_RDPMC_FIXED) : 1ULL << index;
}

/* INFO tells them when the program starts. */
static inline bool sets_may_have(uint32_t index)
{
	return counter_bit(index) &
	       (machine.gp_mask | (uint64_t)machine.fixed_mask << 32);
}

/* Returns one that a set may have. */
static inline uint32_t first_counter(void)
{
	return __builtin_ctzll(machine.gp_mask ?: 1);
}

/* Returns the counters that are not perf's, or 0. */
static inline uint64_t vpmc_counters(void)
{
	int fd = open(THREAD_FILE, O_RDONLY);
	struct vpmc_info info;
	int err = vpmc_info(fd, &info);

	close(fd);
	return err ? 0 : info.own_mask | info.borrowed_mask;
}

/*
 * Removes the counters that this PMU does not have, or that perf keeps. The
 * result is in static memory. On P6 and NetBurst other counters take their place, see
 * index_here().
 */
static inline const struct choice *available(const struct stage *stage,
					     const struct choice *choice)
{
	static struct choice there[6];
	struct choice *to = there;
	unsigned int i;

	if (machine_is_p6() || machine_is_p4())
		return choice;
	for (; choice->evtsel; choice++)
		for (i = 0; i < stage->n; i++)
			if (stage->index[i] == choice->index &&
			    sets_may_have(choice->index))
				*to++ = *choice;
	to->evtsel = 0;
	return there;
}

struct player;
typedef int (*act_fn)(struct player *p);

/**
 * struct scene - Watcher and victim, and how they meet
 * @watched:	The watcher's set; without an entry it has none.
 * @victim:	The victim's set.
 * @alone:	The victim has no process from the start. @meet makes it.
 * @stands:	The watcher's set stays stopped.
 * @prepare:	Called by the watcher before it starts its set.
 * @started:	Called by the watcher after it has started its set.
 * @late:	There is no first look, because the watcher may not use RDPMC yet.
 * @look:	Looks for the watcher. By default it looks itself.
 * @away:	Called by the watcher after its first look.
 * @meet:	Makes the victim run. By default the victim is a process that waits.
 * @asleep:	Called on the other CPU, after the victim ran and while the watcher
 *		sleeps, by a thread.
 * @by_process:	Another process calls @asleep.
 * @back:	Called by the watcher before it looks again.
 * @leave:	Called by the victim after it ran. By default it wakes the watcher.
 * @victim_body: The victim's work. By default it starts its set, waits for the
 *		watcher, executes the loop, and leaves.
 * @turns:	Length of the long loop, if not LONG_LOOP.
 * @still:	No set of the watcher's address space counts.
 * @untaken:	In addition, no set has counted on this CPU since the last claim on
 *		the PMU ended, so the counters read zero.
 */
struct scene {
	struct choice watched[6];
	struct choice victim[6];
	act_fn prepare, started, look, away, meet, asleep, back;
	act_fn leave, victim_body;
	bool alone, stands, late, by_process, still, untaken;
	long turns;
};

/* State of a process of the scene. */
struct player {
	const struct scene *scene;
	struct stage *stage;
	struct view *view;
	struct set set;
	long turns;
	pid_t victim;		/* 0: there is none */
	pid_t watcher;		/* thread id */
	int ready[2];		/* pipe from the victim to the parent */
	int go[2];		/* pipe to the victim */
	int done[2];		/* pipe from the victim */
	int rest[2];		/* pipe whose end is the end of the scene */
	int woken[2];		/* pipe from the caller of @asleep */
};

static inline __attribute__((__always_inline__))
void read_raw(const struct stage *stage, uint64_t *raw)
{
	unsigned int i;

	for (i = 0; i < stage->n; i++)
		raw[i] = vpmc_rdpmc(stage->index[i]) & stage->bits;
}

/*
 * wake() wakes the other end of a pipe. await() waits for that, or for the end
 * of the pipe.
 */
static inline int wake(const int *pipe)
{
	return write(pipe[1], "", 1) == 1 ? 0 : -1;
}

static inline int await(const int *pipe)
{
	char byte;

	return read(pipe[0], &byte, 1) < 0 ? -1 : 0;
}

/*
 * Called by the victim when it is ready for the meeting. The watcher begins
 * only then, so that none of the victim's preparations happen while the watcher
 * is away from the CPU.
 */
static inline int await_watcher(struct player *p)
{
	p->stage->early[0] = my_preemptions();
	return wake(p->ready) ?: await(p->go);
}

static inline int open_set(struct player *p, const struct choice *choice)
{
	return set_open(&p->set, available(p->stage, choice));
}

static inline int program_set(struct player *p, const struct choice *choice)
{
	return set_program(&p->set, available(p->stage, choice));
}

/* This period never ends. */
#define LONG_PERIOD	(1ULL << 30)

/*
 * Gives the set's first counter a period, because such a set is loaded in
 * another way.
 */
static inline int add_period(struct player *p, const struct choice *choice)
{
	control_of(&p->set.control, available(p->stage, choice),
		   VPMC_CONTROL_STOPPED);
	p->set.control.counter[0].period = LONG_PERIOD;
	return vpmc_ioctl(p->set.fd, VPMC_IOC_CONTROL, &p->set.control);
}

static inline int watch_with_period(struct player *p)
{
	return add_period(p, p->scene->watched);
}

static inline int start_set(struct player *p)
{
	return vpmc_ioctl(p->set.fd, VPMC_IOC_START, 0);
}

/*
 * The victim runs as soon as the watcher sleeps. The watcher has a higher
 * priority, so it runs as soon as it is woken. Nothing else runs in between.
 */
static inline int meet_victim(struct player *p)
{
	return wake(p->go) ?: await(p->scene->asleep ? p->woken : p->done);
}

static inline int look(struct player *p)
{
	const struct scene *s = p->scene;

	/* touch the pages that read_raw() writes */
	memset(p->view, 1, sizeof(*p->view));
	p->stage->ran = 0;
	p->view->vpmc_before = p->stage->beside ? vpmc_counters() : 0;
	if (!s->late)
		read_raw(p->stage, p->view->before);
	if (s->away && s->away(p))
		return 23;
	if ((s->meet ?: meet_victim)(p))
		return 20;
	if (s->back && s->back(p))
		return 21;
	read_raw(p->stage, p->view->after);
	p->view->vpmc = vpmc_counters();
	return s->alone || p->stage->ran >= p->turns ? 0 : 24;
}

static inline void *look_thread(void *arg)
{
	return (void *)(long)look(arg);
}

/*
 * Looks from a thread without a set, in a process where another thread has one.
 */
static inline int look_from_thread(struct player *p)
{
	pthread_t thread;
	void *err;

	if (pthread_create(&thread, NULL, look_thread, p) ||
	    pthread_join(thread, &err))
		return 22;
	return (long)err;
}

static inline void *act_while_asleep(void *arg)
{
	struct player *p = arg;

	if (pin(1) || wake(p->woken) || await(p->done) ||
	    p->scene->asleep(p) || wake(p->woken))
		exit(30);
	return NULL;
}

/* Returns when the other thread or process is ready. */
static inline int start_actor(struct player *p)
{
	pthread_t thread;

	if (pipe(p->woken))
		return -1;
	p->watcher = my_tid();
	if (!p->scene->by_process)
		return pthread_create(&thread, NULL, act_while_asleep, p) ?:
		       await(p->woken);
	if (!disturber()) {
		act_while_asleep(p);
		_exit(0);
	}
	return await(p->woken);
}

static inline int play_watcher(struct player *p)
{
	const struct scene *s = p->scene;

	if (set_fifo(50))
		return 10;
	if (s->watched[0].evtsel && open_set(p, s->watched))
		return 11;
	if (s->prepare && s->prepare(p))
		return 12;
	if (s->asleep && start_actor(p))
		return 13;
	if (s->watched[0].evtsel && !s->stands && start_set(p))
		return 14;
	if (s->started && s->started(p))
		return 15;
	p->stage->early[1] = my_preemptions();
	return (s->look ?: look)(p);
}

static inline int tell_watcher(struct player *p)
{
	return wake(p->done);
}

/* The watcher continues when this process has ended. */
static inline int leave_by_exit(struct player *p)
{
	_exit(0);
}

static inline void run_loop(struct player *p)
{
	code_loop(p->turns, 0);
	p->stage->ran += p->turns;
}

static inline int run_victim(struct player *p)
{
	const struct scene *s = p->scene;

	if (open_set(p, s->victim) || start_set(p))
		return 40;
	if (await_watcher(p))
		return 41;
	run_loop(p);
	return (s->leave ?: tell_watcher)(p) ? 42 : 0;
}

static inline int play_victim(struct player *p)
{
	int err;

	if (set_fifo(40))
		return 43;
	err = (p->scene->victim_body ?: run_victim)(p);
	/* keep what is left behind until the watcher has seen enough */
	return err ?: await(p->rest) ? 44 : 0;
}

static inline int open_pipes(struct player *p)
{
	return pipe(p->ready) || pipe(p->go) || pipe(p->done) || pipe(p->rest);
}

/*
 * Returns the same as child_status(). Adds the preemptions of the process and
 * its children.
 */
static inline int end_player(pid_t pid, long *preempted)
{
	struct rusage usage;
	int status;

	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return -1;
	*preempted += usage.ru_nivcsw;
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

/*
 * Each process closes the ends of pipes that it does not write to, so that the
 * others notice its end.
 */
static inline int play(const struct scene *scene, struct stage *stage, int i)
{
	struct player p = {
		.scene = scene, .stage = stage, .view = &stage->view[i],
		.turns = i ? scene->turns ?: LONG_LOOP : SHORT_LOOP,
	};
	long *preempted = &stage->preempted[i];
	pid_t watcher;
	int err;

	stage->early[0] = stage->early[1] = 0;
	*preempted = 0;
	if (open_pipes(&p))
		return 1;
	if (!scene->alone)
		p.victim = fork();
	if (!p.victim && !scene->alone) {
		close(p.go[1]);
		close(p.done[0]);
		close(p.rest[1]);
		_exit(play_victim(&p));
	}
	close(p.ready[1]);
	close(p.done[1]);
	close(p.rest[0]);
	if (await(p.ready))
		return 2;
	watcher = fork();
	if (!watcher)
		_exit(play_watcher(&p));
	close(p.ready[0]);
	close(p.go[0]);
	close(p.go[1]);
	close(p.done[0]);
	err = end_player(watcher, preempted);
	close(p.rest[1]);
	if (!err && p.victim)
		err = end_player(p.victim, preempted);
	*preempted -= stage->early[0] + stage->early[1];
	return err;
}

/*
 * Finds all indices that may belong to a counter on any processor. Core 2 of the kind P6
 * also has fixed counters, which no set can have: p6_test looks at them.
 */
static inline void probe(struct stage *stage)
{
	static const uint32_t kind[] = {
		0, 0x10000000, 0x20000000, VPMC_RDPMC_FIXED, 0x60000000,
		0x80000000, 0x80000000 | VPMC_RDPMC_FIXED,
	};
	unsigned int i, j;

	stage->n = 0;
	for (i = 0; i < sizeof(kind) / sizeof(*kind); i++)
		for (j = 0; j < 64 && stage->n < RAW_MAX; j++)
			if (may_rdpmc(kind[i] | j) &&
			    (!machine_is_p6() || sets_may_have(kind[i] | j)))
				stage->index[stage->n++] = kind[i] | j;
}

/* Runs in a child, because the set that is needed for probing stays with it. */
static inline int probe_and_exit(struct stage *stage)
{
	const struct choice one[] = { { EV_INSNS, first_counter() }, {} };
	struct vpmc_info info;
	unsigned int writable;
	struct set set;

	if (set_open(&set, one) ||
	    vpmc_info(set.fd, &info))
		return 1;
	writable = info.features & VPMC_FEATURE_FULL_WIDTH || info.width < 32 ?
		   info.width : 32;
	stage->start = (1ULL << info.width) - (1ULL << (writable - 1));
	/* On NetBurst bits 32 to 39, which another index reads, repeat bit 31. */
	stage->bits = machine_is_p4() ? (1ULL << info.width) - 1 : ~0ULL;
	probe(stage);
	return stage->n ? 0 : 2;
}

/* Counts user mode with perf: a CPU, or this thread and its descendants. */
static inline int count_beside(int cpu, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config | perf_pmu_here(),
		.inherit = cpu < 0,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1, 0);
}

/* perf's events stay until the test ends. */
static inline bool perf_counts_beside(void)
{
	int cpu;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		if (count_beside(cpu, PERF_COUNT_HW_BRANCH_INSTRUCTIONS) < 0)
			return false;
	return count_beside(-1, PERF_COUNT_HW_INSTRUCTIONS) >= 0;
}

/* @file is -1 for memory, or a file that other programs map, too. */
static inline struct stage *open_stage(int file)
{
	struct stage *stage;
	pid_t pid;

	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE,
		     MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
	if (stage == MAP_FAILED || pin(0))
		return NULL;
	pid = fork();
	if (!pid)
		_exit(probe_and_exit(stage));
	if (child_status(pid))
		return NULL;
	stage->beside = perf_keeps_counters();
	return stage->beside && !perf_counts_beside() ? NULL : stage;
}

static inline bool chosen(const struct choice *choice, uint32_t index)
{
	for (; choice->evtsel; choice++)
		if (choice->index == index)
			return sets_may_have(index);
	return false;
}

/* Was this a counter of perf's at the last look? */
static inline bool was_of_perf(const struct stage *stage,
			       const struct view *view, uint32_t index)
{
	return stage->beside && !(view->vpmc & counter_bit(index));
}

/*
 * The same for both plays. After a revocation perf has all counters, and those of
 * the watcher's set read zero.
 */
static inline bool of_perf(const struct scene *scene, const struct stage *stage,
			   uint32_t index)
{
	const struct view *view = stage->view;

	if (!stage->beside || (view[0].vpmc & view[1].vpmc))
		return was_of_perf(stage, &view[0], index) ||
		       was_of_perf(stage, &view[1], index);
	return !chosen(scene->watched, index);
}

/*
 * The views are equal. Where counts are not exact, what the watcher itself did
 * between its looks differs by less than a tenth of what the victim executes.
 */
static inline bool same_view(const struct scene *scene, uint64_t a, uint64_t b)
{
	uint64_t most = (scene->turns ?: LONG_LOOP) / 10;

	if (counts_are_exact())
		return a == b;
	return a <= b + most && b <= a + most;
}

static inline void compare_views(struct __test_metadata *_metadata,
				 const struct scene *scene,
				 const struct stage *stage)
{
	const struct view *a = &stage->view[0], *b = &stage->view[1];
	unsigned int i;

	for (i = 0; i < stage->n; i++) {
		if (of_perf(scene, stage, stage->index[i]))
			continue;
		EXPECT_TRUE(same_view(scene, a->before[i], b->before[i])) {
			TH_LOG("RDPMC %#x before the victim ran: %#llx, %#llx",
			       stage->index[i],
			       (unsigned long long)a->before[i],
			       (unsigned long long)b->before[i]);
		}
		EXPECT_TRUE(same_view(scene, a->after[i], b->after[i])) {
			TH_LOG("RDPMC %#x after the victim ran: %#llx, %#llx",
			       stage->index[i],
			       (unsigned long long)a->after[i],
			       (unsigned long long)b->after[i]);
		}
		if (!scene->still ||
		    a->after[i] == (scene->untaken ? 0 : stage->start))
			continue;
		EXPECT_EQ(a->before[i], a->after[i]) {
			TH_LOG("RDPMC %#x moved", stage->index[i]);
		}
	}
}

/*
 * Plays the short loop and the long one, with @value written to @file before
 * each. The scheduler's fair server may give the CPU to other threads, whatever
 * the players' priority. The preemptions then differ, and both are played
 * again. Beside perf, one of them may have begun when counters of the play before
 * were not given back yet. The last two plays count in any case.
 */
#define PLAYS	8

static inline bool alike(const struct stage *stage)
{
	return stage->preempted[0] == stage->preempted[1] &&
	       stage->view[0].vpmc_before == stage->view[1].vpmc_before;
}

static inline void play_alike(struct __test_metadata *_metadata,
			      const struct scene *scene, struct stage *stage,
			      const char *file, const char *value)
{
	int i, n;

	for (n = 0; n < PLAYS; n++) {
		for (i = 0; i < 2; i++) {
			if (file)
				ASSERT_EQ(0, write_file(file, value));
			ASSERT_EQ(0, play(scene, stage, i));
		}
		if (alike(stage))
			break;
		TH_LOG("play %d: preempted %ld and %ld times, vpmc's %#llx and %#llx",
		       n, stage->preempted[0], stage->preempted[1],
		       (unsigned long long)stage->view[0].vpmc_before,
		       (unsigned long long)stage->view[1].vpmc_before);
	}
}

static inline void play_twice(struct __test_metadata *_metadata,
			      const struct scene *scene, struct stage *stage)
{
	play_alike(_metadata, scene, stage, NULL, NULL);
	compare_views(_metadata, scene, stage);
}

#endif /* ISOLATION_H */
