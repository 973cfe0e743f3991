// SPDX-License-Identifier: GPL-2.0
/*
 * Where execve() meets perf's events, loans, CPU hotplug, io_uring and filters of system
 * calls: the new program is counted to the instruction, or not at all. In the setting
 * that users have.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "confine.h"
#include "loan.h"
#include "perf_page.h"
#include "rdpmc.h"
#include "seam_events.h"
#include "starter.h"
#include "uring.h"

#define USER		1000
#define SELF		"/proc/self/exe"
#define RING_FD		101
#define TURNS		2000

/* The new program serves until its input ends. */
static char serve_name[] = "seams_exec_test", serve_what[] = "serve";
static char *serve[] = { serve_name, serve_what, NULL };

/*
 * What io_uring reads in the new program, of a descriptor and of a file in the ring of
 * the old program. Returns 0 if both are in this state.
 */
static int wrong_reads(const char *state)
{
	bool runs = !strcmp(state, "running");
	struct uring own, old;
	struct vpmc_read read;
	char text[PAGE];

	if (uring_open(&own) || uring_adopt(&old, RING_FD))
		return 1;
	if (!uring_says(&own, EXEC_FD, state) ||
	    !uring_says(&old, URING_REGISTERED, state))
		return 2;
	if (vpmc_ioctl(EXEC_FD, VPMC_IOC_STOP, 0) != (runs ? 0 : -ESRCH) ||
	    !uring_says(&old, URING_REGISTERED, runs ? "stopped" : state))
		return 3;
	if (vpmc_read(EXEC_FD, &read) ||
	    uring_text(&old, URING_REGISTERED, text) <= 0 ||
	    uring_number(text, "\n0: ") != read.sum[0] ||
	    uring_number(text, "\nowner: ") != my_tid())
		return 4;
	if (runs)
		return 0;
	/* It can have a set of its own. */
	return uring_says(&own, vpmc_open(), "empty") ? 0 : 5;
}

/* The new programs begin here: first of all, because they have nothing to put back. */
static void __attribute__((constructor(1000))) new_program(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], serve_what))
		_exit(code_serve(0, TARGET_TURNS));
	if (argc == 3 && !strcmp(argv[1], "uring"))
		_exit(wrong_reads(argv[2]));
}

/* Instructions and branches that perf counts in a process, and that a set counts. */
struct both_of {
	struct starter starter;
	int perf[2];
	int fd;
};

static int open_perf(struct both_of *b, bool pinned, bool group, bool on_exec)
{
	static const uint64_t config[] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	};
	int i;

	for (i = 0; i < 2; i++) {
		bool leads = !group || !i;
		struct perf_event_attr attr = {
			.type = PERF_TYPE_HARDWARE,
			.size = sizeof(attr),
			.config = config[i] | perf_pmu_here(),
			.pinned = pinned && leads,
			.disabled = leads,
			.enable_on_exec = on_exec && leads,
			.exclude_kernel = 1,
		};

		b->perf[i] = syscall(SYS_perf_event_open, &attr, b->starter.pid, -1,
				     leads ? -1 : b->perf[0], 0);
		if (b->perf[i] < 0)
			return -errno;
	}
	return 0;
}

static int program_set(struct both_of *b, unsigned int flags)
{
	struct vpmc_control control;

	b->fd = open_of(b->starter.pid, O_RDWR | O_CREAT);
	control_of(&control, both, flags);
	return b->fd < 0 ? b->fd : vpmc_ioctl(b->fd, VPMC_IOC_CONTROL, &control);
}

#define FROM_EXEC	(VPMC_CONTROL_STOPPED | VPMC_CONTROL_ENABLE_ON_EXEC)

static void close_both(struct both_of *b)
{
	close(b->perf[0]);
	close(b->perf[1]);
	close(b->fd);
	close(b->starter.go);
	close(b->starter.out);
}

/* Waits for its end, with this status. 0 if both have counted @want, or the same. */
static int wrong_end(struct both_of *b, int status, const struct code_count *want)
{
	struct vpmc_read read_sums;
	struct code_count perf;
	int ended = child_status(b->starter.pid);

	if (vpmc_read(b->fd, &read_sums) ||
	    read(b->perf[0], &perf.insns, 8) != 8 ||
	    read(b->perf[1], &perf.branches, 8) != 8)
		return -1;
	if (ended == status && read_sums.state == VPMC_STATE_EXITED &&
	    read_sums.sum[0] == perf.insns && read_sums.sum[1] == perf.branches &&
	    (!want || (want->insns == perf.insns && want->branches == perf.branches)))
		return 0;
	fprintf(stderr, "# status %d, state %u: %llu insns, %llu branches; perf: %llu, %llu\n",
		ended, read_sums.state, (unsigned long long)read_sums.sum[0],
		(unsigned long long)read_sums.sum[1], (unsigned long long)perf.insns,
		(unsigned long long)perf.branches);
	return 1;
}

FIXTURE(perf_exec)
{
	struct both_of both;
};

FIXTURE_VARIANT(perf_exec)
{
	bool pinned, group;
};

FIXTURE_VARIANT_ADD(perf_exec, flexible) { .pinned = false };
FIXTURE_VARIANT_ADD(perf_exec, pinned) { .pinned = true };
FIXTURE_VARIANT_ADD(perf_exec, group) { .group = true };
FIXTURE_VARIANT_ADD(perf_exec, pinned_group) { .group = true, .pinned = true };

FIXTURE_SETUP(perf_exec)
{
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, image_install(0, 0, 0755));
	ASSERT_EQ(0, starter_start(&self->both.starter, 0));
}

FIXTURE_TEARDOWN(perf_exec)
{
	close_both(&self->both);
}

/* Both begin with the new program. */
TEST_F(perf_exec, from_exec)
{
	const struct code_count all = IMAGE_ALL;
	struct both_of *b = &self->both;

	ASSERT_EQ(0, open_perf(b, variant->pinned, variant->group, true));
	ASSERT_EQ(0, program_set(b, FROM_EXEC));
	ASSERT_EQ(0, starter_go(&b->starter));
	EXPECT_EQ(0, wrong_end(b, EBADF, &all));
}

/* Both begin in the old program, at the same instruction. */
TEST_F(perf_exec, across_exec)
{
	struct both_of *b = &self->both;
	struct vpmc_read read;
	int i;

	ASSERT_EQ(0, open_perf(b, variant->pinned, variant->group, false));
	ASSERT_EQ(0, program_set(b, 0));
	for (i = 0; i < (variant->group ? 1 : 2); i++)
		ASSERT_EQ(0, ioctl(b->perf[i], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, starter_go(&b->starter));
	EXPECT_EQ(0, wrong_end(b, EBADF, NULL));
	ASSERT_EQ(0, vpmc_read(b->fd, &read));
	EXPECT_LT(IMAGE_ALL.insns, read.sum[0]);
	EXPECT_GT(IMAGE_ALL.insns + 10000, read.sum[0]);
}

/* Others borrow counters, and give them back, all the time. */
TEST(loans_come_and_go)
{
	char name[] = "image", few[] = "few", *argv[] = { name, few, few, NULL };
	const struct code_count all = code_add(CODE_EXEC_FEW, IMAGE_TAIL);
	pid_t pid[2];
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, image_install(0, 0, 0755));
	for (i = 0; i < 2; i++)
		pid[i] = seam_borrower(i);
	for (i = 0; i < test_times(20); i++) {
		struct both_of b = { .starter.argv = argv };

		ASSERT_EQ(0, pin(i & 1));
		ASSERT_EQ(0, starter_start(&b.starter, 0));
		ASSERT_EQ(0, open_perf(&b, i & 2, i & 4, true));
		ASSERT_EQ(0, program_set(&b, FROM_EXEC));
		ASSERT_EQ(0, starter_go(&b.starter));
		ASSERT_EQ(0, wrong_end(&b, EBADF, &all));
		close_both(&b);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, seam_kill(pid[i]));
}

/* execve() ends the only set. perf has its counters back while the new program lives. */
TEST(loan_ends)
{
	struct starter s = { .path = SELF, .argv = serve };
	struct target program;
	struct vpmc_control control;
	struct vpmc_read read;
	struct vpmc_info info;
	int perf[MAX_GP], fd;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, open_branches(perf, every_gp(), 0));
	ASSERT_EQ(1, returned_to(perf, every_gp()));
	ASSERT_EQ(0, starter_start(&s, 0));
	fd = open_of(s.pid, O_RDWR | O_CREAT);
	ASSERT_LE(0, fd);
	control_of(&control, branches, VPMC_CONTROL_CLOSE_ON_EXEC);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(0, group_counts(perf, every_gp()));
	ASSERT_EQ(0, starter_go(&s));
	EXPECT_EQ(1, returned_to(perf, every_gp()));
	program = (struct target){ .pid = s.pid, .wake = s.go };
	EXPECT_EQ(0, target_serve(&program, 1));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_UNLINKED, read.state);
	ASSERT_EQ(0, vpmc_info(fd, &info));
	EXPECT_EQ(0, info.borrowed_mask);
	EXPECT_LT(0, group_counts(perf, every_gp()));
	EXPECT_EQ(-ESRCH, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
	close(s.go);
	EXPECT_EQ(0, child_status(s.pid));
}

static int pin_to_cpu_1(void)
{
	return pin(1);
}

/* The new program has served a byte, and the set has counted that. 0 or not. */
static int wrong_service(struct both_of *b)
{
	struct target program = { .pid = b->starter.pid, .wake = b->starter.go };
	struct vpmc_read before, after;

	if (vpmc_read(b->fd, &before) || target_serve(&program, 1) ||
	    vpmc_read(b->fd, &after))
		return -1;
	return (after.sum[0] - before.sum[0] != TARGET_SERVE.insns) +
	       (after.sum[1] - before.sum[1] != TARGET_SERVE.branches);
}

/* The CPU of the old program is gone when it execs. Then it takes the new program's. */
TEST(hotplug)
{
	struct both_of b = {
		.starter = { .path = SELF, .argv = serve, .prepare = pin_to_cpu_1 },
	};
	struct target program;
	cpu_set_t mask;
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, starter_start(&b.starter, 0));
	ASSERT_EQ(0, open_perf(&b, false, false, true));
	ASSERT_EQ(0, program_set(&b, FROM_EXEC));
	ASSERT_EQ(0, set_cpu_online(1, "0"));
	ASSERT_EQ(0, starter_go(&b.starter));
	program = (struct target){ .pid = b.starter.pid, .wake = b.starter.go };
	ASSERT_EQ(0, target_serve(&program, 1));
	EXPECT_EQ(0, wrong_service(&b));
	CPU_ZERO(&mask);
	CPU_SET(1, &mask);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, set_cpu_online(1, "1"));
		EXPECT_EQ(0, wrong_service(&b));
		ASSERT_EQ(0, sched_setaffinity(b.starter.pid, sizeof(mask), &mask));
		EXPECT_EQ(0, wrong_service(&b));
		ASSERT_EQ(0, set_cpu_online(1, "0"));
		EXPECT_EQ(0, wrong_service(&b));
	}
	ASSERT_EQ(0, set_cpu_online(1, "1"));
	EXPECT_EQ(0, wrong_service(&b));
	close(b.starter.go);
	b.starter.go = -1;
	EXPECT_EQ(0, wrong_end(&b, 0, NULL));
	close_both(&b);
}

/* The old program may use RDPMC, by perf's page and by vpmc's. */
static int map_event_and_set(void)
{
	static struct set set;
	void *page;
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
			   PERF_USER, -1);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || perf_page_of_loop(page, TURNS) != TURNS)
		return -1;
	return set_open(&set, both) || vpmc_ioctl(set.fd, VPMC_IOC_START, 0) ||
	       !may_rdpmc(0);
}

static char image_name[] = "image", image_rdpmc[] = "rdpmc";
static char *use_rdpmc[] = { image_name, image_rdpmc, NULL };

/* The new program may not, although its set and the event go on. */
TEST(mapped_event)
{
	struct starter s = { .prepare = map_event_and_set, .argv = use_rdpmc };
	struct vpmc_read read;
	int fd;

	ASSERT_EQ(0, silence_faults());
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, image_install(0, 0, 0755));
	ASSERT_EQ(0, starter_start(&s, 0));
	fd = open_of(s.pid, O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, starter_go(&s));
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(s.pid));
	ASSERT_EQ(0, vpmc_read(fd, &read));
	EXPECT_EQ(VPMC_STATE_EXITED, read.state);
	close(fd);
}

/* Nor may that of a child that had the address space. Its parent still may. */
TEST(mapped_event_and_vfork)
{
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
			   PERF_USER, -1);
	struct set set;
	void *page;
	pid_t pid;

	ASSERT_EQ(0, silence_faults());
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, image_install(0, 0, 0755));
	ASSERT_LE(0, fd);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, set_open(&set, both));
	pid = vfork();
	if (!pid) {
		execv(IMAGE, use_rdpmc);
		_exit(1);
	}
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(pid));
	EXPECT_EQ(TURNS, perf_page_of_loop(page, TURNS));
	ASSERT_EQ(0, set_measure(&set, code_loop, TURNS, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(TURNS)));
	set_close(&set);
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
	close(fd);
}

FIXTURE(uring_exec)
{
	struct both_of both;
	struct uring reads, polls;
};

FIXTURE_VARIANT(uring_exec)
{
	mode_t mode;
	unsigned int flags;
	const char *before, *after;
};

FIXTURE_VARIANT_ADD(uring_exec, ordinary) {
	.mode = 0755, .flags = FROM_EXEC, .before = "stopped", .after = "exited",
};

FIXTURE_VARIANT_ADD(uring_exec, set_user_id) {
	.mode = 04755, .flags = FROM_EXEC, .before = "stopped", .after = "unlinked",
};

FIXTURE_VARIANT_ADD(uring_exec, close_on_exec) {
	.mode = 0755, .flags = VPMC_CONTROL_CLOSE_ON_EXEC,
	.before = "running", .after = "unlinked",
};

FIXTURE_SETUP(uring_exec)
{
	struct both_of *b = &self->both;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, image_install(0, 0, variant->mode));
	ASSERT_EQ(0, starter_start(&b->starter, USER));
	ASSERT_EQ(0, open_perf(b, false, false, true));
	ASSERT_EQ(0, program_set(b, variant->flags));
	ASSERT_EQ(0, uring_open(&self->reads));
	ASSERT_EQ(0, uring_open(&self->polls));
}

FIXTURE_TEARDOWN(uring_exec)
{
	close_both(&self->both);
	close(self->reads.fd);
	close(self->polls.fd);
}

/* Another process reads by a file that is kept in its ring, and polls in the ring. */
TEST_F(uring_exec, watched)
{
	const bool counts = !strcmp(variant->after, "exited");
	struct both_of *b = &self->both;
	struct uring *reads = &self->reads;
	char text[PAGE];

	ASSERT_EQ(0, uring_register(reads, b->fd));
	ASSERT_EQ(0, close(b->fd));
	b->fd = open_of(b->starter.pid, O_RDONLY);
	ASSERT_LE(0, b->fd);
	ASSERT_EQ(0, uring_poll(&self->polls, b->fd, POLLIN));
	EXPECT_TRUE(uring_says(reads, URING_REGISTERED, variant->before));
	EXPECT_EQ(URING_NO_RESULT, uring_result(&self->polls));
	ASSERT_EQ(0, starter_go(&b->starter));
	EXPECT_EQ(EBADF, child_status(b->starter.pid));
	EXPECT_TRUE(uring_says(reads, URING_REGISTERED, variant->after));
	EXPECT_EQ(POLLHUP, uring_result(&self->polls));
	ASSERT_LT(100, uring_text(reads, URING_REGISTERED, text));
	EXPECT_EQ(b->starter.pid, uring_number(text, "\nowner: "));
	if (counts) {
		EXPECT_EQ(IMAGE_ALL.insns, uring_number(text, "\n0: "));
		EXPECT_EQ(IMAGE_ALL.branches, uring_number(text, "\n1: "));
	} else {
		EXPECT_GT(10000, uring_number(text, "\n0: "));
	}
}

/* The new program itself reads: by a descriptor, and by a file in the old one's ring. */
static int exec_and_read(unsigned int flags, char *state)
{
	char name[] = "seams_exec_test", what[] = "uring";
	char *argv[] = { name, what, state, NULL };
	struct uring ring;
	struct set set;

	if (pin(0) || set_open(&set, both) || dup2(set.fd, EXEC_FD) < 0)
		return 100;
	set.control.flags = flags;
	if (set_control(&set) || uring_open(&ring) || uring_register(&ring, set.fd) ||
	    dup2(ring.fd, RING_FD) < 0)
		return 101;
	if (!uring_says(&ring, URING_REGISTERED, "running"))
		return 102;
	execv(SELF, argv);
	return 103;
}

TEST(uring_of_the_new_program)
{
	static char running[] = "running", unlinked[] = "unlinked";
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid)
			_exit(i ? exec_and_read(VPMC_CONTROL_CLOSE_ON_EXEC, unlinked) :
				  exec_and_read(0, running));
		EXPECT_EQ(0, child_status(pid));
	}
}

/* The filter of the old program confines the new one, too. */
static int allow_image(void)
{
	struct sock_filter filter[] = {
		THE_CALL, ALLOW(SYS_read), ALLOW(SYS_execve), ALLOW(SYS_ioctl),
		ALLOW(SYS_write), ALLOW(SYS_mmap), ALLOW(SYS_exit_group),
		OTHERWISE(SECCOMP_RET_KILL_PROCESS),
	};

	return confine(filter, ARRAY_SIZE(filter));
}

static int refuse_counting(void)
{
	struct sock_filter filter[] = {
		THE_CALL, REFUSE(SYS_ioctl), REFUSE(SYS_mmap),
		OTHERWISE(SECCOMP_RET_ALLOW),
	};

	return confine(filter, ARRAY_SIZE(filter));
}

static int refuse_exec(void)
{
	struct sock_filter filter[] = {
		THE_CALL, REFUSE(SYS_execve), OTHERWISE(SECCOMP_RET_ALLOW),
	};

	return confine(filter, ARRAY_SIZE(filter));
}

FIXTURE(filtered_exec)
{
	struct both_of both;
};

FIXTURE_VARIANT(filtered_exec)
{
	int (*prepare)(void);
	mode_t mode;
	int status;
};

FIXTURE_VARIANT_ADD(filtered_exec, allowed) {
	.prepare = allow_image, .mode = 0755, .status = EBADF,
};

/* Its own STOP is refused. The owner of the descriptor still reads. */
FIXTURE_VARIANT_ADD(filtered_exec, may_not_count) {
	.prepare = refuse_counting, .mode = 0755, .status = EPERM,
};

/* It gains no privileges from then on, and so remains counted. */
FIXTURE_VARIANT_ADD(filtered_exec, set_user_id) {
	.prepare = allow_image, .mode = 04755, .status = EBADF,
};

/* There is no new program, and so nothing is counted. */
FIXTURE_VARIANT_ADD(filtered_exec, may_not_exec) {
	.prepare = refuse_exec, .mode = 0755, .status = 101,
};

FIXTURE_SETUP(filtered_exec)
{
	struct both_of *b = &self->both;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, image_install(0, 0, variant->mode));
	b->starter.prepare = variant->prepare;
	ASSERT_EQ(0, starter_start(&b->starter, USER));
	ASSERT_EQ(0, open_perf(b, false, true, true));
	ASSERT_EQ(0, program_set(b, FROM_EXEC));
}

FIXTURE_TEARDOWN(filtered_exec)
{
	close_both(&self->both);
}

TEST_F(filtered_exec, counts)
{
	const bool execs = variant->status != 101;
	const struct code_count all = execs ? IMAGE_ALL : CODE_COUNT(0, 0);
	struct both_of *b = &self->both;
	struct vpmc_control control;

	ASSERT_EQ(0, starter_go(&b->starter));
	EXPECT_EQ(0, wrong_end(b, variant->status, &all));
	ASSERT_EQ(0, vpmc_read_control(b->fd, &control));
	/* The flag works once. */
	EXPECT_EQ(execs ? 0 : VPMC_CONTROL_ENABLE_ON_EXEC, control.flags);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS, "a PMU that perf lends", NULL,
	  perf_keeps_counters },
);

TEST_HARNESS_MAIN
