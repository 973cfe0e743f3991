// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters is "yield": a set is paused while its thread forks, ends
 * or executes a program, or while its CPU goes offline and comes back.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include "pause.h"
#include "inherit.h"
#include "runner.h"
#include "target.h"

#define ALL	(VPMC_READ_LIVING | VPMC_READ_FINISHED)

/* Counts by the set that it has inherited, between two pipes. */
static void heir(struct child *c)
{
	struct set set = { .fd = vpmc_open() };

	control_of(&set.control, pair, 0);
	if (set.fd < 0 || set_measure(&set, code_loop, 1000, 0) ||
	    child_send(c) || child_wait(c))
		_exit(1);
	_exit(set_measure(&set, code_loop, 3000, 0) || child_send(c));
}

/* One is born before, one while perf has the PMU and ends then. */
TEST_F(pause, inherited)
{
	struct set *set = &self->set;
	struct child child[2] = {};
	struct code_count want = {};
	struct vpmc_read read;
	int i;

	control_of(&set->control, pair, VPMC_CONTROL_STOPPED |
		   VPMC_CONTROL_INHERIT_PROCESSES);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &set->control));
	for (i = 0; i < 2; i++) {
		if (i)
			ASSERT_EQ(0, perf_begin(&self->perf));
		if (!child_fork(&child[i]))
			heir(&child[i]);
		ASSERT_LT(0, child[i].pid);
		ASSERT_EQ(0, child_wait(&child[i]));
	}
	/* Only the first one's first loop has been counted. */
	want = measured(1000);
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(2, read.living);
	EXPECT_EQ(0, wrong_sums(set, &read, want));
	ASSERT_EQ(0, child_send(&child[1]));
	ASSERT_EQ(0, child_wait(&child[1]));
	EXPECT_EQ(0, child_end(&child[1]));
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(1, read.living);
	EXPECT_EQ(1, read.finished);
	EXPECT_EQ(0, wrong_sums(set, &read, want));

	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, child_send(&child[0]));
	ASSERT_EQ(0, child_wait(&child[0]));
	EXPECT_EQ(0, child_end(&child[0]));
	want = code_add(want, measured(3000));
	ASSERT_EQ(0, family_read(set->fd, ALL, &read));
	EXPECT_EQ(2, read.finished);
	EXPECT_EQ(0, read.lost);
	EXPECT_EQ(0, wrong_sums(set, &read, want));
}

/* Where a process is stopped on its way to the image and through it. */
enum point {
	AT_BEGIN,	/* it has a set, which is stopped */
	AT_EXECVE,	/* it has entered execve() */
	AT_IMAGE,	/* it is about to execute the image's first instruction */
	AT_END,		/* it has ended */
};

/* perf has an event from one of these points to another one. */
struct scene {
	unsigned int flags;	/* of CONTROL */
	enum point begins, ends;
	struct code_count want;
};

/* From START into execve(). */
#define TO_EXECVE	code_add(CODE_MEASURE_HEAD, CODE_EXEC)

static void become_image(unsigned int flags, char *const *argv)
{
	const char *path = exec_image_path();
	struct set set = { .fd = vpmc_open() };

	control_of(&set.control, pair, VPMC_CONTROL_STOPPED | flags);
	if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control) ||
	    vpmc_map(set.fd) == MAP_FAILED || dup2(set.fd, EXEC_FD) != EXEC_FD ||
	    dup2(open("/dev/null", O_WRONLY), 1) != 1 ||
	    ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
		_exit(100);
	if (flags & VPMC_CONTROL_ENABLE_ON_EXEC)
		code_exec((long)path, (long)argv);
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     (long)path, (long)argv);
	_exit(101);
}

static int stopped_by(pid_t pid, int what)
{
	int status;

	return waitpid(pid, &status, 0) == pid && status >> 8 == what ? 0 : -1;
}

/* Starts it, to AT_BEGIN. Returns a descriptor of its set, or an error. */
static int start_image(pid_t *pid, unsigned int flags, char *const *argv)
{
	*pid = fork();
	if (!*pid)
		become_image(flags, argv);
	if (stopped_by(*pid, SIGSTOP) ||
	    ptrace(PTRACE_SETOPTIONS, *pid, NULL,
		   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
		return -1;
	return open_of(*pid, O_RDWR);
}

/* From one point to the next one. Returns 0, or the exit status of the image. */
static int go_to(pid_t pid, enum point point)
{
	long at = offsetof(struct user, regs.orig_rax);

	switch (point) {
	case AT_EXECVE:
		do {
			if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) ||
			    stopped_by(pid, SIGTRAP))
				return -1;
		} while (ptrace(PTRACE_PEEKUSER, pid, at, NULL) != SYS_execve);
		return 0;
	case AT_IMAGE:
		return ptrace(PTRACE_CONT, pid, NULL, NULL) ? -1 :
		       stopped_by(pid, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	case AT_END:
		return ptrace(PTRACE_CONT, pid, NULL, NULL) ? -1 :
		       child_status(pid);
	default:
		return 0;
	}
}

static uint32_t state_at(const struct scene *scene, enum point point, bool paused)
{
	bool enable = scene->flags & VPMC_CONTROL_ENABLE_ON_EXEC;

	if (point >= AT_IMAGE && scene->flags & VPMC_CONTROL_CLOSE_ON_EXEC)
		return VPMC_STATE_UNLINKED;
	if (point == AT_END)
		return VPMC_STATE_EXITED;
	if (point < (enable ? AT_IMAGE : AT_EXECVE))
		return VPMC_STATE_STOPPED;
	return paused ? VPMC_STATE_PAUSED : VPMC_STATE_RUNNING;
}

/* Returns the number of errors. perf has no event before and afterwards. */
static int wrong_scene(FIXTURE_DATA(pause) *self, const struct scene *scene)
{
	bool unlinks = scene->flags & VPMC_CONTROL_CLOSE_ON_EXEC;
	char *argv[] = { "image", "few", "turns", NULL };
	struct set *set = &self->set;
	struct vpmc_read read = {};
	enum point point;
	int wrong = 0;
	pid_t pid;
	int fd = start_image(&pid, scene->flags, argv);

	for (point = AT_BEGIN; point <= AT_END && !wrong; point++) {
		wrong += go_to(pid, point) !=
			 (unlinks && point == AT_END ? ESRCH : 0);
		if (point == scene->begins)
			wrong += perf_begin(&self->perf) != 0;
		if (self->perf >= 0)
			wrong += !!wrong_while_paused(set, self->perf, 1000);
		if (point == scene->ends)
			wrong += perf_end(&self->perf, set->fd) != 0;
		wrong += vpmc_read(fd, &read) ||
			 read.state != state_at(scene, point, self->perf >= 0);
		if (wrong)
			fprintf(stderr, "# flags %#x, point %d: state %u\n",
				scene->flags, point, read.state);
	}
	close(fd);
	if (scene->begins == AT_BEGIN && scene->ends == AT_END)
		wrong += read.ticks != 0;
	return wrong + !!wrong_sums(set, &read, scene->want);
}

#define ALL_SCENES(scenes)						\
	for (int i = 0; i < ARRAY_SIZE(scenes); i++)			\
		ASSERT_EQ(0, wrong_scene(self, &(scenes)[i]))

/* The set is paused before execve() or in it, and goes on in the new program. */
TEST_F(pause, exec_goes_on)
{
	const struct scene scenes[] = {
		{ 0, AT_BEGIN, AT_EXECVE, CODE_EXEC_FEW },
		{ 0, AT_BEGIN, AT_IMAGE, CODE_EXEC_FEW },
		{ 0, AT_BEGIN, AT_END, {} },
		{ 0, AT_EXECVE, AT_IMAGE, code_add(TO_EXECVE, CODE_EXEC_FEW) },
		{ 0, AT_EXECVE, AT_END, TO_EXECVE },
		{ 0, AT_IMAGE, AT_END, TO_EXECVE },
	};

	ALL_SCENES(scenes);
}

/* The sums of a paused set are right when execve() unlinks it. */
TEST_F(pause, exec_unlinks)
{
	const unsigned int flags = VPMC_CONTROL_CLOSE_ON_EXEC;
	const struct scene scenes[] = {
		{ flags, AT_BEGIN, AT_EXECVE, {} },
		{ flags, AT_BEGIN, AT_IMAGE, {} },
		{ flags, AT_BEGIN, AT_END, {} },
		{ flags, AT_EXECVE, AT_IMAGE, TO_EXECVE },
		{ flags, AT_EXECVE, AT_END, TO_EXECVE },
		{ flags, AT_IMAGE, AT_END, TO_EXECVE },
	};

	ALL_SCENES(scenes);
}

/* The set is to start with the new program, and starts when perf is done. */
TEST_F(pause, exec_starts)
{
	const unsigned int flags = VPMC_CONTROL_ENABLE_ON_EXEC;
	const struct scene scenes[] = {
		{ flags, AT_BEGIN, AT_EXECVE, CODE_EXEC_FEW },
		{ flags, AT_BEGIN, AT_IMAGE, CODE_EXEC_FEW },
		{ flags, AT_BEGIN, AT_END, {} },
		{ flags, AT_EXECVE, AT_IMAGE, CODE_EXEC_FEW },
		{ flags, AT_EXECVE, AT_END, {} },
		{ flags, AT_IMAGE, AT_END, {} },
	};

	ALL_SCENES(scenes);
}

/*
 * The set was seen as paused while it was stopped. When execve() starts it, the CPU
 * already has its selection for another set, and no CPU pauses it.
 */
TEST_F(pause, exec_starts_among_running_sets)
{
	struct runner runner = { .kind = WAITS, .cpu = 0, .choice = pair };
	char *argv[] = { "image", NULL };
	struct vpmc_read read;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, pin(0));
	fd = start_image(&pid, VPMC_CONTROL_ENABLE_ON_EXEC, argv);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(VPMC_STATE_STOPPED, state_of(fd));
	ASSERT_EQ(0, perf_end(&self->perf, self->set.fd));
	ASSERT_EQ(0, runner_start(&runner));
	ASSERT_EQ(0, go_to(pid, AT_EXECVE));
	ASSERT_EQ(0, go_to(pid, AT_IMAGE));
	ASSERT_EQ(0, set_fifo(10));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, NULL, NULL));
	/*
	 * A set whose thread is on no CPU would be looked at in another way. After
	 * this loop the image, whose loop is longer, is in its own. No other thread
	 * runs here meanwhile.
	 */
	code_loop(EXEC_TURNS * 3 / 8, 0);
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_RUNNING, read.state);
	EXPECT_LT(0, read.sum[INSNS]);
	EXPECT_GT(CODE_EXEC_IMAGE.insns, read.sum[INSNS]);
	EXPECT_EQ(0, child_status(pid));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(0, wrong_sums(&self->set, &read, CODE_EXEC_IMAGE));
	EXPECT_EQ(0, runner_finish(&runner));
	ASSERT_EQ(0, close(fd));
}

/* A CPU comes back while perf has the PMU, and counts for perf alone. */
TEST_F(pause, cpu_comes_back_for_perf)
{
	struct runner sleeper = {
		.kind = WAITS, .cpu = 1, .choice = pair, .moves = true,
	};
	struct set *set = &self->set;
	struct vpmc_read read;
	int cpu;

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, runner_start(&sleeper));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	for (cpu = 1; cpu >= 0; cpu--) {
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
		EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	}
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_measure(set, code_loop, 2000, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums(set, &read, code_add(measured(1000),
						     measured(2000))));
	EXPECT_EQ(0, runner_finish(&sleeper));
}

/*
 * The owner and a sleeper were paused on a CPU that goes. perf ends before it
 * comes back.
 */
TEST_F(pause, ends_while_cpu_is_away)
{
	struct runner sleeper[] = {
		{ .kind = WAITS, .cpu = 1, .choice = pair, .moves = true },
		{ .kind = WAITS, .cpu = 1, .choice = pair, .moves = true },
	};
	struct set *set = &self->set;
	struct vpmc_read read;
	int i;

	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, runner_start(&sleeper[i]));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, runner_unbind());
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums(set, &read, measured(1000)));

	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(VPMC_STATE_RUNNING, set->page->state);
	EXPECT_EQ(0, runner_finish(&sleeper[0]));
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	ASSERT_EQ(0, pin(1));
	EXPECT_EQ(VPMC_STATE_RUNNING, set->page->state);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	EXPECT_EQ(0, runner_finish(&sleeper[1]));
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS | FIFO },
);

TEST_HARNESS_MAIN
