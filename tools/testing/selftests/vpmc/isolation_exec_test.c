// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: programs that begin by execve(), by vfork(), and
 * as helpers of the kernel, which are kernel threads at first.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/stat.h>
#include "isolation.h"

#define STAGE_FILE	"/tmp/vpmc_stage"
#define SYSFS		"/sys/bus/event_source/devices/cpu/rdpmc"
#define CORE_PATTERN	"/proc/sys/kernel/core_pattern"
#define CORE_LIMIT	"/proc/sys/kernel/core_pipe_limit"
#define ISOLATION	"/proc/sys/kernel/vpmc_isolation"
#define WORKERS		"/sys/devices/virtual/workqueue/cpumask"

static struct stage *map_stage_file(void)
{
	int fd = open(STAGE_FILE, O_RDWR);
	struct stage *stage;

	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0);
	close(fd);
	return stage == MAP_FAILED ? NULL : stage;
}

/*
 * What this program does when it is started with arguments. A victim: TURNS, and
 * the ends of pipes where somebody waits.
 */
static int be_victim(struct stage *stage, char **argv)
{
	long turns = atol(argv[2]);
	char byte;

	code_loop(turns, 0);
	stage->ran += turns;
	if (!argv[3])
		return 0;
	return write(atoi(argv[3]), "", 1) != 1 ||
	       read(atoi(argv[4]), &byte, 1) < 0;
}

/* A watcher: the number of the view, and whether it needs a set for that. */
static int be_watcher(struct stage *stage, char **argv)
{
	struct view *view = &stage->view[atoi(argv[2])];
	struct set set;

	memset(view, 1, sizeof(*view));
	if (sched_getcpu())
		return 1;
	/* This runs before the other constructors. */
	if (atoi(argv[3]))
		machine_init();
	if (atoi(argv[3]) &&
	    set_open(&set, (struct choice[]){ { EV_INSNS, 1 }, {} }))
		return 2;
	read_raw(stage, view->after);
	view->vpmc = vpmc_counters();
	stage->ran = -1;
	return 0;
}

static __attribute__((__constructor__(101))) void image(int argc, char **argv)
{
	struct stage *stage;

	if (argc < 3 || argv[1][0] == '-')
		return;
	stage = map_stage_file();
	if (!stage)
		_exit(100);
	_exit(strcmp(argv[1], "victim") ? be_watcher(stage, argv) :
	      be_victim(stage, argv));
}

static char number[5][24];

static char *text(int i, long value)
{
	snprintf(number[i], sizeof(number[i]), "%ld", value);
	return number[i];
}

FIXTURE(isolation_exec)
{
	struct stage *stage;
};

FIXTURE_VARIANT(isolation_exec)
{
	struct scene scene;
	const char *rdpmc;
};

#define SCENE(name, ...) \
	FIXTURE_VARIANT_ADD(isolation_exec, name) { .scene = { __VA_ARGS__ } }

#define SYSFS_SCENE(name, value, ...) \
	FIXTURE_VARIANT_ADD(isolation_exec, name) \
		{ .rdpmc = value, .scene = { __VA_ARGS__ } }

/* execve() of the victim: its set counts on. */

static int victim_execs(struct player *p)
{
	char *argv[] = { "image", "victim", text(0, p->turns),
			 text(1, p->done[1]), text(2, p->rest[0]), NULL };

	if (open_set(p, p->scene->victim) || start_set(p) ||
	    await_watcher(p))
		return 50;
	execv("/proc/self/exe", argv);
	return 51;
}

SCENE(victim_execs, .watched = SAME, .victim = SAME,
	.victim_body = victim_execs);
SCENE(victim_execs_other_selection, .watched = SAME, .victim = OTHER,
	.victim_body = victim_execs);
SCENE(victim_execs_watcher_stands, .watched = SAME, .victim = SAME,
	.victim_body = victim_execs, .stands = true, .still = true);
SCENE(victim_that_counts_the_kernel_execs, .watched = SAME, .victim = KERNEL,
	.victim_body = victim_execs, .stands = true, .still = true);

/* execve() of the watcher, after the victim: its new program looks. */

static int become_watcher(struct player *p, int needs_set)
{
	char *argv[] = { "image", "watcher",
			 text(0, p->view - p->stage->view),
			 text(1, needs_set), NULL };

	execv("/proc/self/exe", argv);
	return -1;
}

static int exec_to_look(struct player *p)
{
	return become_watcher(p, true);
}

static int exec_to_look_at_once(struct player *p)
{
	return become_watcher(p, false);
}

static int unmap(struct player *p)
{
	return munmap(p->set.page, PAGE);
}

SCENE(watcher_execs, .watched = SAME, .victim = SAME, .stands = true,
	.back = exec_to_look, .still = true);
SCENE(watcher_execs_unmapped, .watched = SAME, .victim = OTHER,
	.prepare = unmap, .late = true, .back = exec_to_look);
SCENE(watcher_without_set_execs, .victim = SAME, .late = true,
	.back = exec_to_look, .still = true);
SYSFS_SCENE(watcher_execs_everybody, "2", .victim = SAME,
		.back = exec_to_look_at_once, .still = true);
SYSFS_SCENE(watcher_that_stands_execs_everybody, "2", .watched = OTHER,
		.victim = SAME, .stands = true, .back = exec_to_look_at_once,
		.still = true);

/* Beforehand: it takes another time for a longer number. */
static int name_turns(struct player *p)
{
	text(0, p->turns);
	return 0;
}

/*
 * A child that shares the watcher's address space until it execs: up to there
 * its code is the watcher's, and after that it is the victim's.
 */
enum child { PLAIN, ATTACHES, COUNTS };

static int child_execs(struct player *p, enum child child)
{
	char *argv[] = { "image", "victim", number[0], NULL };
	struct set set;

	/* As other victims: the watcher runs as soon as it can. */
	if (set_fifo(40))
		return 63;
	if (child == ATTACHES && vpmc_open() < 0)
		return 60;
	if (child == COUNTS && (set_open(&set, available(p->stage,
							      p->scene->victim)) ||
				vpmc_ioctl(set.fd, VPMC_IOC_START, 0)))
		return 61;
	execv("/proc/self/exe", argv);
	return 62;
}

static int meet_by_vfork(struct player *p, enum child child)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(child_execs(p, child));
	return child_status(pid);
}

static int vfork_plain(struct player *p)
{
	return meet_by_vfork(p, PLAIN);
}

/* Counters that never ran: exec must stop those that do. */
static int vfork_attached(struct player *p)
{
	return meet_by_vfork(p, ATTACHES);
}

static int vfork_counting(struct player *p)
{
	return meet_by_vfork(p, COUNTS);
}

SCENE(vfork, .watched = SAME, .alone = true,
	.prepare = name_turns, .meet = vfork_plain);
SCENE(vfork_watcher_stands, .watched = SAME, .alone = true,
	.prepare = name_turns, .meet = vfork_plain, .stands = true,
	.still = true);
SCENE(vfork_attached, .watched = SAME, .alone = true,
	.prepare = name_turns, .meet = vfork_attached);
SCENE(vfork_attached_watcher_stands, .watched = SAME, .alone = true,
	.prepare = name_turns, .meet = vfork_attached, .stands = true,
	.still = true);
SCENE(vfork_counting, .watched = SAME, .victim = SAME, .alone = true,
	.prepare = name_turns, .meet = vfork_counting);
SCENE(vfork_counting_the_kernel, .watched = SAME, .victim = KERNEL,
	.alone = true, .prepare = name_turns, .meet = vfork_counting);

static int without_isolation(struct player *p)
{
	return name_turns(p) ?: write_file(ISOLATION, "0");
}

static int isolate(struct player *p)
{
	return write_file(ISOLATION, "1");
}

/* The set went on in execve(), with nothing hidden so far. */
SCENE(vfork_counting_hidden_later, .watched = SAME, .victim = SAME,
	.alone = true, .prepare = without_isolation, .meet = vfork_counting,
	.stands = true, .still = true, .back = isolate);

/* Another process of this address space */
static pid_t clone_vm(struct player *p, int (*child)(void *))
{
	static char stack[65536] __attribute__((__aligned__(16)));

	return clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, p);
}

static int exec_plain(void *arg)
{
	return child_execs(arg, PLAIN);
}

static int exec_counting(void *arg)
{
	return child_execs(arg, COUNTS);
}

static int meet_process(struct player *p)
{
	return child_status(clone_vm(p, exec_plain));
}

static int meet_counting_process(struct player *p)
{
	return child_status(clone_vm(p, exec_counting));
}

SCENE(process_of_the_same_mm_execs, .watched = SAME, .alone = true,
	.prepare = name_turns, .meet = meet_process);
SCENE(process_of_the_same_mm_execs_counting, .watched = SAME, .victim = OTHER,
	.alone = true, .prepare = name_turns, .meet = meet_counting_process);

/*
 * The kernel's helper for core dumps: a kernel thread becomes a program,
 * without a switch in between, on the CPU where the counters of the dumping
 * process still run. That process sleeps until the helper is done, and must not
 * run before it.
 */
static int name_helper(const char *arguments)
{
	char path[64], pattern[128];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return -1;
	path[n] = 0;
	snprintf(pattern, sizeof(pattern), "|%s %s", path, arguments);
	return write_file(CORE_PATTERN, pattern);
}

static int dump_core(pid_t pid)
{
	struct sched_param param = {};

	return sched_setscheduler(pid, SCHED_IDLE, &param) ?:
	       kill(pid, SIGABRT);
}

static int never_run(void *unused)
{
	return 70;
}

/* The child has no time to execute anything. */
static int meet_helper(struct player *p)
{
	pid_t pid = clone_vm(p, never_run);

	return dump_core(pid) ?: child_status(pid) != KILLED_BY(SIGABRT);
}

static int name_helper_victim(struct player *p)
{
	char arguments[32];

	snprintf(arguments, sizeof(arguments), "victim %ld", p->turns);
	return name_helper(arguments);
}

SCENE(kernel_helper, .watched = SAME, .alone = true,
	.prepare = name_helper_victim, .meet = meet_helper);
SCENE(kernel_helper_watcher_stands, .watched = SAME, .alone = true,
	.prepare = name_helper_victim, .meet = meet_helper, .stands = true,
	.still = true);

static char workers[64];		/* as it was */

/* Helpers start on the first CPU, and the dumping process waits for them. */
static struct stage *set_up(const char *rdpmc)
{
	struct stage *stage;
	int fd;

	mkdir("/tmp", 01777);
	fd = open(STAGE_FILE, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*stage)))
		return NULL;
	stage = open_stage(fd);
	close(fd);
	fd = open(WORKERS, O_RDONLY);
	if (read(fd, workers, sizeof(workers) - 1) < 1)
		return NULL;
	close(fd);
	if (write_file(WORKERS, "1") || write_file(CORE_LIMIT, "1") ||
	    write_file(SYSFS, rdpmc ?: "1"))
		return NULL;
	return stage;
}

static int tear_down(void)
{
	return write_file(CORE_PATTERN, "core") | write_file(CORE_LIMIT, "0") |
	       write_file(WORKERS, workers) | write_file(SYSFS, "1") |
	       unlink(STAGE_FILE);
}

FIXTURE_SETUP(isolation_exec)
{
	self->stage = set_up(variant->rdpmc);
	ASSERT_NE(NULL, self->stage);
}

FIXTURE_TEARDOWN(isolation_exec)
{
	EXPECT_EQ(0, tear_down());
}

TEST_F(isolation_exec, same_view)
{
	play_twice(_metadata, &variant->scene, self->stage);
	if (variant->scene.alone)
		EXPECT_EQ(LONG_LOOP, self->stage->ran);
}

/* The helper looks at what the process that dumps left behind. */
FIXTURE(isolation_helper)
{
	struct stage *stage;
};

FIXTURE_VARIANT(isolation_helper)
{
	struct choice victim[6];
	const char *rdpmc;
	bool attaches;
};

FIXTURE_VARIANT_ADD(isolation_helper, attaches) {
	.victim = SAME, .rdpmc = "1", .attaches = true,
};

FIXTURE_VARIANT_ADD(isolation_helper, attaches_victim_counts_the_kernel) {
	.victim = KERNEL, .rdpmc = "1", .attaches = true,
};

FIXTURE_VARIANT_ADD(isolation_helper, looks_at_once) {
	.victim = SAME, .rdpmc = "2",
};

FIXTURE_VARIANT_ADD(isolation_helper, looks_at_once_victim_counts_the_kernel) {
	.victim = KERNEL, .rdpmc = "2",
};

FIXTURE_SETUP(isolation_helper)
{
	self->stage = set_up(variant->rdpmc);
	ASSERT_NE(NULL, self->stage);
}

FIXTURE_TEARDOWN(isolation_helper)
{
	EXPECT_EQ(0, tear_down());
}

static int count_and_dump(struct stage *stage, const struct choice *choice,
			  long turns)
{
	struct player p = { .stage = stage };

	if (open_set(&p, choice) || start_set(&p))
		return 80;
	code_loop(turns, 0);
	return dump_core(getpid());
}

TEST_F(isolation_helper, sees_the_start)
{
	const struct stage *stage = self->stage;
	char arguments[32];
	unsigned int i, j;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		self->stage->ran = 0;
		snprintf(arguments, sizeof(arguments), "watcher %u %d", i,
			 variant->attaches);
		ASSERT_EQ(0, name_helper(arguments));
		pid = fork();
		if (!pid)
			_exit(count_and_dump(self->stage, variant->victim,
					     i ? LONG_LOOP : SHORT_LOOP));
		EXPECT_EQ(KILLED_BY(SIGABRT), child_status(pid));
		ASSERT_EQ(-1, stage->ran);
		for (j = 0; j < stage->n; j++)
			if (!was_of_perf(stage, &stage->view[i], stage->index[j]))
				EXPECT_EQ(stage->start, stage->view[i].after[j]);
	}
}

NEEDS(
	/* What the kernel does differs by more than a victim shows. */
	{ "*counts_the_kernel*", TRUE_COUNTS | DISTURBS | ROOT },
	{ "*", PMU | DISTURBS | ROOT | FIFO | TWO_CPUS },
);

TEST_HARNESS_MAIN
