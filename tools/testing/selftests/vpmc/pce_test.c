// SPDX-License-Identifier: GPL-2.0
/*
 * Which address spaces may use RDPMC: those that have the page of a programmed
 * set mapped, and only while they have.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/perf_event.h>
#include "vpmc_test.h"
#include "rdpmc.h"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

TEST(never_opened)
{
	EXPECT_FALSE(may_rdpmc(0));
	EXPECT_FALSE(may_rdpmc(FIXED(0)));
}

TEST(running_and_not_mapped)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, munmap(set.page, PAGE));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_FALSE(may_rdpmc(0));
}

TEST(mapped_and_never_programmed)
{
	void *page;
	int fd = vpmc_open();

	ASSERT_LE(0, fd);
	page = vpmc_map(fd);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_FALSE(may_rdpmc(0));
	EXPECT_FALSE(may_rdpmc(FIXED(0)));
	/* A CONTROL that fails gives nothing. */
	EXPECT_EQ(-EINVAL, set_program(&(struct set){ .fd = fd },
				       (struct choice[]){ { 0xc0, 0 }, {} }));
	EXPECT_FALSE(may_rdpmc(0));
	EXPECT_EQ(0, set_program(&(struct set){ .fd = fd }, insns));
	EXPECT_TRUE(may_rdpmc(0));
}

/* No counters, no RDPMC: the PMU may be somebody else's. */
TEST(mapped_without_counters)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
	};
	static const struct choice none[] = { {} };
	struct set set;
	int event;

	ASSERT_EQ(0, set_open(&set, none));
	EXPECT_FALSE(may_rdpmc(0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_FALSE(may_rdpmc(0));
	ASSERT_EQ(VPMC_HOLDER_NONE, pmu_holder(set.fd));
	event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ASSERT_LE(0, event);
	EXPECT_FALSE(may_rdpmc(0));
	EXPECT_FALSE(may_rdpmc(FIXED(0)));
	ASSERT_EQ(0, close(event));
	/* With counters, and without them again. */
	ASSERT_EQ(0, set_program(&set, insns));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, set_program(&set, insns));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, set_program(&set, none));
	EXPECT_FALSE(may_rdpmc(0));
	/* The unmap that comes later must not count once more. */
	ASSERT_EQ(0, munmap(set.page, PAGE));
	ASSERT_EQ(0, set_program(&set, insns));
	EXPECT_FALSE(may_rdpmc(0));
	set.page = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, set.page);
	EXPECT_TRUE(may_rdpmc(0));
}

TEST(mapped)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, insns));
	EXPECT_TRUE(set.page->caps & VPMC_CAP_RDPMC);
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_TRUE(may_rdpmc(0));
	EXPECT_EQ(machine.nr_fixed > 0, may_rdpmc(FIXED(0)));
	/* On the other CPU, too. */
	ASSERT_EQ(0, pin(1));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, pin(0));
	EXPECT_TRUE(may_rdpmc(0));
	/* The mapping matters, not the descriptor. */
	ASSERT_EQ(0, close(set.fd));
	EXPECT_TRUE(may_rdpmc(0));
}

TEST(index_that_does_not_exist)
{
	struct vpmc_info info;
	struct set set;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, vpmc_info(set.fd, &info));
	EXPECT_TRUE(may_rdpmc(info.nr_gp - 1));
	EXPECT_FALSE(may_rdpmc(info.nr_gp));
	if (info.nr_fixed)
		EXPECT_TRUE(may_rdpmc(FIXED(info.nr_fixed - 1)));
	EXPECT_FALSE(may_rdpmc(FIXED(info.nr_fixed)));
}

TEST(after_munmap)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(set.page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
	ASSERT_EQ(0, pin(1));
	EXPECT_FALSE(may_rdpmc(0));
	set.page = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, set.page);
	EXPECT_TRUE(may_rdpmc(0));
}

TEST(replaced_by_another_mapping)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(set.page, mmap(set.page, PAGE, PROT_READ, MAP_PRIVATE |
				 MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_FALSE(may_rdpmc(0));
}

TEST(two_mappings)
{
	struct set set;
	void *second;

	ASSERT_EQ(0, set_open(&set, insns));
	second = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, second);
	ASSERT_EQ(0, munmap(set.page, PAGE));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(second, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
}

TEST(moved_mapping)
{
	struct set set;
	void *to, *moved;

	ASSERT_EQ(0, set_open(&set, insns));
	to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, to);
	moved = mremap(set.page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_EQ(to, moved);
	EXPECT_TRUE(may_rdpmc(0));
	EXPECT_EQ(VPMC_ABI_VERSION, ((struct vpmc_page *)moved)->version);
	ASSERT_EQ(0, munmap(moved, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
}

TEST(after_unlink)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	ASSERT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_FALSE(may_rdpmc(0));
	EXPECT_EQ(VPMC_STATE_UNLINKED, set.page->state);
	/* The unmap that comes later must not count once more. */
	ASSERT_EQ(0, munmap(set.page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
	ASSERT_EQ(0, set_open(&set, insns));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(set.page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
}

TEST(forked_child)
{
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, set_open(&set, insns));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, child_may_rdpmc(0));
	EXPECT_TRUE(may_rdpmc(0));

	/* With a mapping of its own it may, and its end is its own. */
	pid = fork();
	if (!pid) {
		if (set_open(&set, insns) || !may_rdpmc(0))
			_exit(1);
		_exit(munmap(set.page, PAGE) || may_rdpmc(0) ? 2 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_TRUE(may_rdpmc(0));
}

/* argv[1] makes the image execute RDPMC. */
TEST(after_exec)
{
	char *argv[] = { "exec_image", "rdpmc", NULL };
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, silence_faults());
	pid = fork();
	if (!pid) {
		if (set_open(&set, insns) ||
		    vpmc_ioctl(set.fd, VPMC_IOC_START, 0) || !may_rdpmc(0))
			_exit(1);
		execv(exec_image_path(), argv);
		_exit(2);
	}
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(pid));
}

/*
 * A process that shares its parent's memory until it runs another program: the
 * page that it mapped stays behind, and gives nothing any more.
 */
TEST(vfork_child_that_execs)
{
	static char *argv[] = { "exec_image", "rdpmc", NULL };
	static struct set set;
	pid_t pid;

	ASSERT_EQ(0, silence_faults());
	set.page = MAP_FAILED;
	exec_image_path();
	pid = vfork();
	if (!pid) {
		if (!set_open(&set, insns))
			execv(exec_image_path(), argv);
		_exit(1);
	}
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(pid));
	ASSERT_NE(MAP_FAILED, set.page);
	EXPECT_EQ(VPMC_ABI_VERSION, set.page->version);
	EXPECT_FALSE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(set.page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
}

/* A second thread that executes commands, on the other CPU. */
struct other {
	pthread_t thread;
	volatile int command;	/* 0: wait, else one of the below */
	volatile int result;
	int error;		/* it is not on that CPU */
};

enum { OTHER_WAIT, OTHER_OPEN, OTHER_UNLINK, OTHER_RDPMC, OTHER_EXIT };

static void *other_thread(void *arg)
{
	struct other *other = arg;
	struct set set;
	int command;

	other->error = pin(1);
	for (;;) {
		/* Never in the kernel meanwhile: nothing reloads CR4 by chance. */
		while (!(command = other->command))
			;
		other->result = 0;
		if (command == OTHER_OPEN)
			other->result = set_open(&set, insns);
		if (command == OTHER_UNLINK)
			other->result = vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0);
		if (command == OTHER_RDPMC)
			other->result = may_rdpmc(0);
		other->command = OTHER_WAIT;
		if (command == OTHER_EXIT)
			return NULL;
	}
}

static int tell(struct other *other, int command)
{
	other->command = command;
	while (other->command)
		sched_yield();
	return other->result;
}

/* The permission is the address space's, and changes on all CPUs at once. */
TEST(threads)
{
	struct other other = {};
	struct set set;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pthread_create(&other.thread, NULL, other_thread, &other));
	EXPECT_EQ(0, tell(&other, OTHER_RDPMC));
	ASSERT_EQ(0, other.error);
	ASSERT_EQ(0, set_open(&set, insns));
	EXPECT_EQ(1, tell(&other, OTHER_RDPMC));
	ASSERT_EQ(0, tell(&other, OTHER_OPEN));

	/* Without one of the sets, the other one's mapping is enough for both. */
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_TRUE(may_rdpmc(0));
	EXPECT_EQ(1, tell(&other, OTHER_RDPMC));
	ASSERT_EQ(0, tell(&other, OTHER_UNLINK));
	EXPECT_EQ(0, tell(&other, OTHER_RDPMC));
	EXPECT_FALSE(may_rdpmc(0));
	tell(&other, OTHER_EXIT);
	pthread_join(other.thread, NULL);
}

/* Maps the page of a thread that counts meanwhile on the other CPU. */
struct mapper {
	int fd;
	volatile int go;
	int error;		/* it is not on that CPU */
	volatile int while_running;
};

static void *mapper_thread(void *arg)
{
	struct mapper *mapper = arg;
	struct vpmc_read read;
	void *page;

	mapper->error = pin(1);
	mapper->go = 1;
	while (vpmc_read(mapper->fd, &read) || !read.sum[0])
		;
	page = vpmc_map(mapper->fd);
	if (page != MAP_FAILED && !vpmc_read(mapper->fd, &read))
		mapper->while_running = read.state == VPMC_STATE_RUNNING;
	return page;
}

/*
 * When an address space gets RDPMC the counters are put back, so that it learns
 * nothing of what others left there: that costs no count.
 */
TEST(mapped_while_it_counts)
{
	static const struct choice choice[] = {
		{ EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {}
	};
	struct mapper mapper = {};
	pthread_t thread;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, choice));
	ASSERT_EQ(0, munmap(set.page, PAGE));
	pid = fork();
	if (!pid) {
		struct set other;

		_exit(set_open(&other, choice) ||
		      set_measure(&other, code_loop, 1000, 0));
	}
	ASSERT_EQ(0, child_status(pid));
	mapper.fd = set.fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, mapper_thread, &mapper));
	while (!mapper.go)
		sched_yield();
	ASSERT_EQ(0, set_measure(&set, code_loop, 20000000, 0));
	EXPECT_EQ(0, wrong_after(&set, CODE_LOOP(20000000)));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, mapper.error);
	EXPECT_TRUE(mapper.while_running);
	EXPECT_TRUE(may_rdpmc(0));
}

/* The owner ends, its page stays mapped. */
TEST(after_the_owners_exit)
{
	struct other other = {};

	ASSERT_EQ(0, pthread_create(&other.thread, NULL, other_thread, &other));
	ASSERT_EQ(0, tell(&other, OTHER_OPEN));
	EXPECT_EQ(0, other.error);
	EXPECT_TRUE(may_rdpmc(0));
	tell(&other, OTHER_EXIT);
	pthread_join(other.thread, NULL);
	EXPECT_FALSE(may_rdpmc(0));
}

/* The administrator's setting: RDPMC for nobody (0), mappers (1), all (2). */
FIXTURE(sysfs)
{
	struct set set;
};

static int set_sysfs(const char *value)
{
	int fd = open("/sys/bus/event_source/devices/cpu/rdpmc", O_WRONLY);
	int err = fd < 0 || write(fd, value, 1) != 1;

	close(fd);
	return err;
}

FIXTURE_SETUP(sysfs)
{
	ASSERT_EQ(0, set_open(&self->set, insns));
}

FIXTURE_TEARDOWN(sysfs)
{
	EXPECT_EQ(0, set_sysfs("1"));
	set_close(&self->set);
}

TEST_F(sysfs, nobody)
{
	ASSERT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, set_sysfs("0"));
	EXPECT_FALSE(may_rdpmc(0));
	/* The kernel counts and reads all the same. */
	ASSERT_EQ(0, set_program(&self->set, insns));
	EXPECT_FALSE(self->set.page->caps & VPMC_CAP_RDPMC);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_FALSE(may_rdpmc(0));
	ASSERT_EQ(0, set_sysfs("1"));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, set_program(&self->set, insns));
	EXPECT_TRUE(self->set.page->caps & VPMC_CAP_RDPMC);
}

TEST_F(sysfs, everybody)
{
	ASSERT_EQ(0, set_sysfs("2"));
	EXPECT_TRUE(may_rdpmc(0));
	EXPECT_EQ(1, child_may_rdpmc(0));
	ASSERT_EQ(0, set_measure(&self->set, code_yield, 100, 1000));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_YIELD(100, 1000)));
	ASSERT_EQ(0, munmap(self->set.page, PAGE));
	self->set.page = MAP_FAILED;
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, set_sysfs("1"));
	EXPECT_FALSE(may_rdpmc(0));
}

NEEDS(
	{ "sysfs.*", PMU | DISTURBS | ROOT },
	{ "global.after_exec", PMU | ROOT },
	{ "global.vfork_child_that_execs", PMU | ROOT },
	/* On the other CPU, too. */
	{ "global.mapped", PMU | TWO_CPUS },
	{ "global.after_munmap", PMU | TWO_CPUS },
	{ "global.threads", PMU | TWO_CPUS },
	{ "global.after_the_owners_exit", PMU | TWO_CPUS },
	{ "global.mapped_while_it_counts", PMU | TWO_CPUS },
	{ "*", PMU },
);

TEST_HARNESS_MAIN
