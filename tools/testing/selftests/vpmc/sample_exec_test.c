// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of a process of another user, which executes a program that the controller
 * may or may not watch.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/stat.h>
#include "sample.h"
#include "target.h"

#define PERIOD	10001
#define TURNS	1000000
/* Where CPUs run at the same time, a kernel that is checked spins for long, and is sampled. */
#define RECORDS	16384
#define FAMILY	(THREADS | PROCESSES)
#define USER	1000
#define IMAGE	"/tmp/vpmc_sampled"

/*
 * A target that a controller samples from outside, and that becomes another
 * program, as an ordinary user.
 */
FIXTURE(sampled)
{
	struct samples got;
	pid_t pid;
	int to, fd;
};

FIXTURE_VARIANT(sampled)
{
	mode_t mode;
	bool unlinks;
	bool heir;
};

FIXTURE_VARIANT_ADD(sampled, ordinary) {
	.mode = 0755,
};

FIXTURE_VARIANT_ADD(sampled, heir) {
	.mode = 0755, .heir = true,
};

FIXTURE_VARIANT_ADD(sampled, set_user_id) {
	.mode = 04755, .unlinks = true,
};

FIXTURE_VARIANT_ADD(sampled, heir_set_user_id) {
	.mode = 04755, .unlinks = true, .heir = true,
};

FIXTURE_VARIANT_ADD(sampled, not_readable) {
	.mode = 0711, .unlinks = true,
};

static void be_sampled(int from, bool heir)
{
	char *argv[] = { "image", NULL };
	pid_t pid;
	char byte;

	if (become(USER) || prctl(PR_SET_DUMPABLE, 1) ||
	    read(from, &byte, 1) != 1)
		_exit(1);
	pid = heir ? fork() : 0;
	if (pid)
		_exit(child_status(pid) ? 0 : 2);
	code_loop(TURNS, 0);
	dup2(open("/dev/null", O_WRONLY), 1);
	execv(IMAGE, argv);
	_exit(3);
}

FIXTURE_SETUP(sampled)
{
	int fds[2];

	mkdir("/tmp", 0755);
	ASSERT_EQ(0, copy_file(exec_image_path(), IMAGE));
	ASSERT_EQ(0, chmod(IMAGE, variant->mode));
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	ASSERT_EQ(0, samples_alloc(&self->got));
	ASSERT_EQ(0, pipe(fds));
	self->pid = fork();
	if (!self->pid)
		be_sampled(fds[0], variant->heir);
	self->to = fds[1];
	self->fd = open_of(self->pid, O_RDWR | O_CREAT);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(sampled)
{
	EXPECT_EQ(0, write_file(RATE, "100000"));
	samples_free(&self->got);
	close(self->fd);
	close(self->to);
	unlink(IMAGE);
}

static int sample_target(int fd, uint64_t evtsel, uint64_t period)
{
	struct set set = { .fd = fd };

	control_init(&set.control, VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE |
		     FAMILY);
	control_add_period(&set.control, evtsel, FIXED(0), period);
	set.control.ring_records = RECORDS;
	set.control.ring_watermark = 1;
	return set_control(&set);
}

/* The target runs and ends. Returns 0 or -errno. */
static int run_sampled(FIXTURE_DATA(sampled) *self, uint64_t evtsel, uint64_t period)
{
	int err = sample_target(self->fd, evtsel, period);

	if (err || write(self->to, "", 1) != 1)
		return err ?: -errno;
	child_status(self->pid);
	return samples_read(self->fd, &self->got);
}

/* Is it a sample, of the process that becomes the image? @father: not of this one. */
static bool is_of_image(const struct vpmc_sample_head *head, pid_t father)
{
	return head->type == VPMC_SAMPLE_PERIOD && head->pid != father;
}

TEST_F(sampled, execs)
{
	int before = 0, after = 0, image = 2 * EXEC_TURNS / PERIOD;
	const struct vpmc_sample_map *map;
	struct samples *got = &self->got;
	const struct vpmc_sample *s;
	uint64_t sum = 0;

	ASSERT_EQ(0, run_sampled(self, EV_INSNS, PERIOD));
	ASSERT_EQ(0, got->lost);
	for (int i = 0; i < got->nr; i++) {
		s = (void *)got->record[i];
		if (!is_of_image(&s->head, variant->heir ? self->pid : 0))
			continue;
		EXPECT_EQ(s->head.pid, s->head.tid);
		EXPECT_EQ(variant->heir, s->head.pid != self->pid);
		EXPECT_EQ(sum + PERIOD, s->sum[0]);
		sum = s->sum[0];
		if (!s->head.execs) {
			before++;
			continue;
		}
		after++;
		EXPECT_EQ(1, s->head.execs);
		map = samples_map(got, s);
		ASSERT_NE(NULL, map);
		EXPECT_STREQ(IMAGE, map_path(map));
	}
	EXPECT_LE(2 * TURNS / PERIOD, before);
	EXPECT_LE(variant->unlinks ? 0 : image, after);
	EXPECT_GE(variant->unlinks ? 0 : image + 1, after);
}

/*
 * The kernel is counted, too, in execve() as well. The samples there have the address of
 * the call, and are from the program that called it.
 */
TEST_F(sampled, execve_itself)
{
	int samples[2] = {}, in_execve = 0;
	const struct vpmc_sample_map *map;
	struct samples *got = &self->got;
	const struct vpmc_sample *s;
	uint64_t call = 0;

	ASSERT_EQ(0, run_sampled(self, 0x200c0, 1000 * test_slowness()));
	ASSERT_EQ(0, got->lost);
	for (int i = 0; i < got->nr; i++) {
		s = (void *)got->record[i];
		if (!is_of_image(&s->head, variant->heir ? self->pid : 0))
			continue;
		ASSERT_GE(1, s->head.execs);
		samples[s->head.execs]++;
		map = samples_map(got, s);
		if (s->head.execs) {
			EXPECT_NE(call, s->ip);
			ASSERT_NE(NULL, map);
			EXPECT_STREQ(IMAGE, map_path(map));
			continue;
		}
		/* The last call of the first program. */
		in_execve = s->ip == call ? in_execve + 1 : 1;
		call = s->ip;
	}
	if (variant->unlinks) {
		EXPECT_EQ(0, samples[1]);
		return;
	}
	/* It takes the kernel more than so many instructions. */
	EXPECT_LT(20, in_execve);
	EXPECT_LT(0, samples[1]);
}

/* The controller must be allowed to attach. */
TEST(not_permitted)
{
	struct target t = { .uid = USER };
	pid_t pid;

	ASSERT_EQ(0, target_start(&t));
	pid = fork();
	if (!pid)
		_exit(become(USER + 1) ||
		      target_open_error(&t, O_RDWR | O_CREAT) != -EACCES);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, target_end(&t));
}

NEEDS(
	{ "global.not_permitted", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
