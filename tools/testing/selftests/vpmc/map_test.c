// SPDX-License-Identifier: GPL-2.0
/*
 * The page: every way to map it that is not allowed, and what can be done with
 * a mapping.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include <sys/uio.h>
#include "vpmc_test.h"
#include "rdpmc.h"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

FIXTURE(map)
{
	struct set set;
};

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, set_open(&self->set, insns));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	/* The tests begin without a mapping. */
	ASSERT_EQ(0, munmap(self->set.page, PAGE));
	self->set.page = MAP_FAILED;
	ASSERT_FALSE(may_rdpmc(0));
}

FIXTURE_TEARDOWN(map)
{
	set_close(&self->set);
}

/* The error of a mapping that must fail, and leave no permission behind. */
static int map_error(int fd, size_t length, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, length, prot, flags, fd, offset);

	if (p != MAP_FAILED) {
		munmap(p, length);
		return 0;
	}
	return may_rdpmc(0) ? -1 : errno;
}

TEST_F(map, shapes)
{
	int fd = self->set.fd;

	EXPECT_EQ(0, map_error(fd, PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(0, map_error(fd, 1, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, 0, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, PAGE + 1, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, 1 << 20, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, PAGE, PROT_READ, MAP_SHARED, PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, PAGE, PROT_READ, MAP_SHARED, 1));
	EXPECT_EQ(EINVAL, map_error(fd, PAGE, PROT_READ, MAP_SHARED,
				    1L << 40));
}

TEST_F(map, protections)
{
	int prot, fd = self->set.fd;

	for (prot = 0; prot < 8; prot++) {
		/* Nothing of /proc can be executed: the VFS says EPERM. */
		int want = prot & PROT_EXEC ? EPERM :
			   prot & PROT_WRITE ? EACCES : 0;

		EXPECT_EQ(want, map_error(fd, PAGE, prot, MAP_SHARED, 0)) {
			TH_LOG("protection %d", prot);
		}
	}
}

TEST_F(map, private_mappings)
{
	int prot, fd = self->set.fd;

	for (prot = 0; prot < 8; prot++)
		EXPECT_EQ(prot & PROT_EXEC ? EPERM : EINVAL,
			  map_error(fd, PAGE, prot, MAP_PRIVATE, 0));
}

/* It maps with VM_MAYSHARE and without VM_SHARED. */
TEST_F(map, read_only_descriptor)
{
	void *page;
	int fd = open(THREAD_FILE, O_RDONLY);

	ASSERT_LE(0, fd);
	page = vpmc_map(fd);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(0, munmap(page, PAGE));
	EXPECT_EQ(EACCES, map_error(fd, PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE, 0));
}

TEST_F(map, write_only_descriptor)
{
	int fd = open(THREAD_FILE, O_WRONLY);

	ASSERT_LE(0, fd);
	EXPECT_EQ(EACCES, map_error(fd, PAGE, PROT_READ, MAP_SHARED, 0));
}

TEST_F(map, protection_is_for_good)
{
	void *page = vpmc_map(self->set.fd);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(-1, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(page, PAGE, PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(page, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, mprotect(page, PAGE, PROT_NONE));
	EXPECT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_EQ(VPMC_ABI_VERSION, ((struct vpmc_page *)page)->version);
}

/* The kernel does not write to it for others either. */
TEST_F(map, not_written_through_the_kernel)
{
	struct vpmc_page *page = vpmc_map(self->set.fd), before;
	char buf[16] = "0123456789abcde";
	int fd, mem;

	ASSERT_NE(MAP_FAILED, page);
	before = *page;
	fd = open("/proc/self/exe", O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, page, 16));
	EXPECT_EQ(EFAULT, errno);
	mem = open("/proc/self/mem", O_RDWR);
	ASSERT_LE(0, mem);
	EXPECT_EQ(-1, pwrite(mem, buf, 16, (off_t)page));
	EXPECT_EQ(0, memcmp(&before, page, sizeof(before)));
}

TEST_F(map, does_not_grow)
{
	void *page = vpmc_map(self->set.fd);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(MAP_FAILED, mremap(page, PAGE, 2 * PAGE, 0));
	EXPECT_EQ(MAP_FAILED, mremap(page, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	/* A size of zero would make a second mapping. */
	EXPECT_EQ(MAP_FAILED, mremap(page, 0, PAGE, MREMAP_MAYMOVE));
	EXPECT_TRUE(may_rdpmc(0));
	ASSERT_EQ(0, munmap(page, PAGE));
	EXPECT_FALSE(may_rdpmc(0));
}

TEST_F(map, back_after_madvise)
{
	const uint64_t truth = code_add(CODE_MEASURE, CODE_LOOP(1000)).insns;
	struct vpmc_page *page = vpmc_map(self->set.fd), before;

	ASSERT_NE(MAP_FAILED, page);
	before = *page;
	ASSERT_EQ(0, madvise(page, PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, memcmp(&before, page, sizeof(before)));
	EXPECT_TRUE(may_rdpmc(0));
	/* The kernel writes this page. */
	ASSERT_EQ(0, madvise(page, PAGE, MADV_DONTNEED));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_NE(before.generation, page->generation);
	EXPECT_TRUE(count_fits(page->slot[0].base, 2 * truth,
			       tolerated(self->set.disturbances,
					 self->set.starts), truth));
}

/*
 * Each time the mapping has a reference. Without one the page would be free after
 * a few turns, and get what is written into pipes, which is in the kernel's memory.
 */
TEST_F(map, back_after_madvise_again_and_again)
{
	const volatile struct vpmc_page *page = vpmc_map(self->set.fd);
	static char filler[16 * PAGE];
	int i, fd[4][2];

	ASSERT_NE(MAP_FAILED, (void *)page);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, madvise((void *)page, PAGE, MADV_DONTNEED));
		ASSERT_EQ(VPMC_ABI_VERSION, page->version);
	}
	memset(filler, 0x5a, sizeof(filler));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pipe(fd[i]));
		ASSERT_EQ(sizeof(filler), write(fd[i][1], filler, sizeof(filler)));
	}
	EXPECT_EQ(VPMC_ABI_VERSION, page->version);
	EXPECT_EQ(my_tid(), page->tid);
	for (i = 0; i < 4; i++) {
		close(fd[i][0]);
		close(fd[i][1]);
	}
	munmap((void *)page, PAGE);
}

/* The first access does not fault: the page is there from the start. */
TEST_F(map, already_faulted_in)
{
	struct rusage before, after;
	struct vpmc_page *page = vpmc_map(self->set.fd);
	volatile uint32_t version;

	ASSERT_NE(MAP_FAILED, page);
	getrusage(RUSAGE_THREAD, &before);
	getrusage(RUSAGE_THREAD, &before);
	version = page->version;
	getrusage(RUSAGE_THREAD, &after);
	EXPECT_EQ(VPMC_ABI_VERSION, version);
	EXPECT_EQ(before.ru_minflt, after.ru_minflt);
}

TEST_F(map, not_inherited_by_fork)
{
	struct vpmc_page *page = vpmc_map(self->set.fd);
	pid_t pid;

	ASSERT_NE(MAP_FAILED, page);
	pid = fork();
	if (!pid) {
		unsigned char resident;

		/* ENOMEM: nothing is mapped there. */
		_exit(mincore(page, PAGE, &resident) == -1 &&
		      errno == ENOMEM ? 0 : 1);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(-1, madvise(page, PAGE, MADV_DOFORK));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, silence_faults());
	pid = fork();
	if (!pid) {
		*(volatile char *)page;
		_exit(0);
	}
	EXPECT_EQ(KILLED_BY(SIGSEGV), child_status(pid));
}

/* The descriptor in another process: it reads, and does not map. */
TEST_F(map, not_by_another_process)
{
	pid_t pid = fork();

	if (!pid) {
		void *page = vpmc_map(self->set.fd);

		_exit(page != MAP_FAILED ? 1 : errno == EPERM ? 0 : 2);
	}
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(map, not_after_unlink)
{
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(ESRCH, map_error(self->set.fd, PAGE, PROT_READ, MAP_SHARED,
				   0));
}

/* Takes pages that are free: each new set of a child has one, and the pipe does. */
static int use_free_pages(int write_end)
{
	static char filler[8 * PAGE];
	struct set set;
	pid_t pid;
	int i;

	memset(filler, 0x5a, sizeof(filler));
	if (write(write_end, filler, sizeof(filler)) != sizeof(filler))
		return -errno;
	for (i = 0; i < 8; i++) {
		pid = fork();
		if (!pid)
			_exit(set_open(&set, insns) ||
			      set_measure(&set, code_loop, 1000, 0));
		if (child_status(pid))
			return -ECHILD;
	}
	return 0;
}

/* A pipe may have the page longer than the set has it. Nobody else gets it meanwhile. */
TEST_F(map, in_a_pipe)
{
	struct vpmc_page *page = vpmc_map(self->set.fd), last, left;
	struct iovec part = { page, PAGE };
	int page_pipe[2], other_pipe[2];

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, pipe(page_pipe));
	ASSERT_EQ(0, pipe(other_pipe));
	ASSERT_EQ(PAGE, vmsplice(page_pipe[1], &part, 1, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	last = *page;
	EXPECT_EQ(my_tid(), last.tid);
	ASSERT_EQ(0, munmap(page, PAGE));
	set_close(&self->set);
	self->set.fd = -1;
	ASSERT_EQ(0, use_free_pages(other_pipe[1]));
	ASSERT_EQ(sizeof(left), read(page_pipe[0], &left, sizeof(left)));
	EXPECT_EQ(0, memcmp(&last, &left, sizeof(left)));
	close(page_pipe[0]);
	close(page_pipe[1]);
	close(other_pipe[0]);
	close(other_pipe[1]);
}

TEST(without_counters)
{
	int fd = open(THREAD_FILE, O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_EQ(ENOENT, map_error(fd, PAGE, PROT_READ, MAP_SHARED, 0));
}

/* What a page that nobody programmed says. */
TEST(empty_page)
{
	static const struct vpmc_page zero;
	struct vpmc_page *page;
	int fd = vpmc_open();
	size_t i;

	ASSERT_LE(0, fd);
	page = vpmc_map(fd);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(VPMC_ABI_VERSION, page->version);
	EXPECT_EQ(sizeof(*page), page->size);
	EXPECT_EQ(my_tid(), page->tid);
	EXPECT_EQ(VPMC_STATE_EMPTY, page->state);
	EXPECT_EQ(0, page->nr_counters);
	EXPECT_EQ(0, page->switches);
	EXPECT_EQ(0, page->migrations);
	EXPECT_EQ(0, memcmp(page->reserved0, zero.reserved0,
			    sizeof(zero.reserved0)));
	EXPECT_EQ(0, page->overflowed);
	EXPECT_EQ(0, page->merged);
	EXPECT_EQ(0, page->overflows);
	/* And nothing of the kernel's behind it. */
	for (i = offsetof(struct vpmc_page, slot); i < PAGE; i++)
		ASSERT_EQ(0, ((char *)page)[i]);
}

/* What it says of a set. */
TEST(programmed_page)
{
	static const struct choice all[] = {
		{ EV_BRANCHES, 2 }, { EV_INSNS, VPMC_ANY },
		{ EV_INSNS, VPMC_ANY }, {}
	};
	struct vpmc_control control;
	struct vpmc_info info;
	struct set set;
	size_t i;

	ASSERT_EQ(0, set_open(&set, all));
	ASSERT_EQ(0, vpmc_info(set.fd, &info));
	ASSERT_EQ(0, vpmc_read_control(set.fd, &control));
	EXPECT_EQ(VPMC_STATE_STOPPED, set.page->state);
	EXPECT_EQ(1ULL << (info.width - 1), set.page->sign);
	ASSERT_EQ(3, set.page->nr_counters);
	ASSERT_EQ(3, control.nr_counters);
	/* ANY: the fixed counter that counts it, then the first free one. */
	EXPECT_EQ(2, control.counter[0].index);
	EXPECT_EQ(FIXED(0), control.counter[1].index);
	EXPECT_EQ(0, control.counter[2].index);
	EXPECT_EQ(EV_BRANCHES, control.counter[0].evtsel);
	EXPECT_EQ(EV_INSNS, control.counter[1].evtsel);
	EXPECT_EQ(EV_INSNS, control.counter[2].evtsel);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(control.counter[i].index, set.page->slot[i].index);
		EXPECT_EQ(info.width, set.page->slot[i].width);
		EXPECT_EQ(0, set.page->slot[i].base);
	}
	for (i = offsetof(struct vpmc_page, slot[3]); i < PAGE; i++)
		ASSERT_EQ(0, ((char *)set.page)[i]);

	/* Nothing stays of a set that a smaller one replaces. */
	ASSERT_EQ(0, set_program(&set, (struct choice[]){
					{ EV_INSNS, VPMC_ANY }, {} }));
	ASSERT_EQ(1, set.page->nr_counters);
	for (i = offsetof(struct vpmc_page, slot[1]); i < PAGE; i++)
		ASSERT_EQ(0, ((char *)set.page)[i]);
}

NEEDS(
	{ "map.not_inherited_by_fork", VPMC | ROOT },
	{ "global.programmed_page", PMU },
	{ "map.does_not_grow", PMU },
	{ "map.back_after_madvise", PMU },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
