// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of overflows: what is refused, which processes may map it and how,
 * and that it ends with its set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "ring.h"

#define PERIOD	10001
#define TURNS	100000
#define RECORDS	256

/* Records that TURNS iterations of the loop make. */
#define RECORDED	((2 * TURNS + 12) / PERIOD)

FIXTURE(overflow_ring_life)
{
	struct set set;
	const volatile struct vpmc_ring *ring;
};

FIXTURE_SETUP(overflow_ring_life)
{
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	ASSERT_EQ(0, open_with_ring(&self->set, PERIOD, RECORDS,
				    VPMC_CONTROL_REARM));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
}

FIXTURE_TEARDOWN(overflow_ring_life)
{
	EXPECT_EQ(0, write_file(RATE, "100000"));
	set_close(&self->set);
}

static int run(const struct set *set)
{
	return code_measure(set->fd, VPMC_IOC_START, VPMC_IOC_STOP, code_loop,
			    TURNS, 0);
}

/* CONTROL is refused with this reason and changes nothing. */
static void refused(struct __test_metadata *_metadata, struct set *set,
		    const struct vpmc_control *bad, int err, uint32_t reason)
{
	struct vpmc_control control = *bad, programmed;

	EXPECT_EQ(err, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(control.nr_counters, control.bad_counter);
	EXPECT_EQ(reason, control.reason);
	ASSERT_EQ(0, vpmc_read_control(set->fd, &programmed));
	EXPECT_EQ(set->control.ring_records, programmed.ring_records);
	EXPECT_EQ(set->control.ring_watermark, programmed.ring_watermark);
}

TEST_F(overflow_ring_life, numbers)
{
	static const uint16_t bad[][2] = {
		{ 3, 1 }, { 255, 1 }, { 32767, 1 }, { 65535, 1 }, { 49152, 1 },
		{ 256, 0 }, { 256, 257 }, { 1, 2 }, { 32768, 32769 }, { 0, 1 },
	};
	static const uint16_t good[][2] = {
		{ 1, 1 }, { 2, 1 }, { 256, 256 }, { 32768, 32768 }, { 0, 0 },
	};
	struct vpmc_control control = self->set.control, programmed;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		control.ring_records = bad[i][0];
		control.ring_watermark = bad[i][1];
		refused(_metadata, &self->set, &control, -EINVAL,
			VPMC_REASON_RING);
	}
	/* The ring is the one from before. */
	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(RECORDED, self->ring->head);

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		control.ring_records = good[i][0];
		control.ring_watermark = good[i][1];
		EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL,
					&control));
		ASSERT_EQ(0, vpmc_read_control(self->set.fd, &programmed));
		EXPECT_EQ(good[i][0], programmed.ring_records);
		EXPECT_EQ(good[i][1], programmed.ring_watermark);
	}
}

TEST_F(overflow_ring_life, no_period)
{
	struct vpmc_control control = self->set.control;

	control.flags &= ~VPMC_CONTROL_REARM;
	control.counter[0].period = 0;
	refused(_metadata, &self->set, &control, -EINVAL,
		VPMC_REASON_NO_PERIOD);
	control.ring_records = 0;
	refused(_metadata, &self->set, &control, -EINVAL,
		VPMC_REASON_NO_PERIOD);
}

static int become_user(uid_t uid)
{
	return setgid(uid) || setuid(uid) || prctl(PR_SET_DUMPABLE, 1);
}

/* In a child: exactly so many bytes may be pinned. */
static int limited(struct vpmc_control *control, uid_t uid, size_t locked)
{
	const struct rlimit limit = { locked, locked };
	int fd, err;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become_user(uid))
		return -1;
	fd = vpmc_open();
	err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, control);
	return err == -ENOMEM ? control->reason : err;
}

static int child_limited(const struct vpmc_control *control, uid_t uid,
			 size_t locked)
{
	struct vpmc_control copy = *control;
	pid_t pid = fork();

	if (!pid)
		_exit(limited(&copy, uid, locked));
	return child_status(pid);
}

/* A process' rings need no more memory than the limit; root's may. */
TEST_F(overflow_ring_life, locked_memory)
{
	const size_t size = ring_size(&self->set.control);
	struct vpmc_control *control = &self->set.control;

	EXPECT_EQ(0, child_limited(control, 1000, size));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY,
		  child_limited(control, 1000, size - 1));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY, child_limited(control, 1000, 0));
	EXPECT_EQ(0, child_limited(control, 0, 0));
	control->ring_records = 0;
	control->ring_watermark = 0;
	EXPECT_EQ(0, child_limited(control, 1000, 0));
}

/* A ring replaces another: both exist for a moment, and no memory is lost. */
static int replace_rings(struct vpmc_control *control, size_t size)
{
	const struct rlimit limit = { 2 * size, 2 * size };
	int i, fd, err = 0;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become_user(1001))
		return -1;
	for (i = 0; i < 100 && !err; i++) {
		fd = vpmc_open();
		err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, control) ||
		      vpmc_ioctl(fd, VPMC_IOC_CONTROL, control) ||
		      vpmc_ioctl(fd, VPMC_IOC_CONTROL, control) ||
		      vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
		close(fd);
	}
	return err;
}

TEST_F(overflow_ring_life, locked_memory_comes_back)
{
	pid_t pid = fork();

	if (!pid)
		_exit(replace_rings(&self->set.control,
				    ring_size(&self->set.control)));
	EXPECT_EQ(0, child_status(pid));
}

/* A mapped ring is charged even if its set has ended. */
static int keep_mappings(struct set *set, size_t size)
{
	const struct rlimit limit = { 3 * size, 3 * size };
	const struct vpmc_ring *first, *second;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become_user(1002))
		return 1;
	set->fd = vpmc_open();
	if (set_control(set))
		return 2;
	first = ring_map(set);
	if (set_control(set))
		return 3;
	second = ring_map(set);
	if (first == MAP_FAILED || second == MAP_FAILED || set_control(set))
		return 4;
	if (set_control(set) != -ENOMEM ||
	    set->control.reason != VPMC_REASON_RING_MEMORY)
		return 5;
	if (ring_unmap(set, first))
		return 6;
	return set_control(set) ? 7 : 0;
}

TEST_F(overflow_ring_life, locked_memory_of_mappings)
{
	pid_t pid = fork();

	if (!pid)
		_exit(keep_mappings(&self->set,
				    ring_size(&self->set.control)));
	EXPECT_EQ(0, child_status(pid));
}

/* VmPin of this process, or -1. */
static long pinned_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmPin: %ld kB", &kb);
	if (file)
		fclose(file);
	return kb;
}

/* It is charged while it is mapped or a set has it. */
TEST_F(overflow_ring_life, pinned_memory)
{
	const size_t kb = ring_size(&self->set.control) / 1024;

	EXPECT_EQ(kb, pinned_kb());
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(kb, pinned_kb());
	ASSERT_EQ(0, ring_unmap(&self->set, (void *)self->ring));
	EXPECT_EQ(0, pinned_kb());
	ASSERT_EQ(0, close(self->set.fd));
	self->set.fd = vpmc_open();
	EXPECT_EQ(0, set_control(&self->set));
	EXPECT_EQ(kb, pinned_kb());
	self->set.control.ring_records = 0;
	self->set.control.ring_watermark = 0;
	EXPECT_EQ(0, set_control(&self->set));
	EXPECT_EQ(0, pinned_kb());
}

/* Only the owner's process can map the ring, whichever one programs the set. */
TEST_F(overflow_ring_life, pinned_for_the_owner)
{
	const size_t kb = ring_size(&self->set.control) / 1024;
	pid_t pid = fork();

	if (!pid)
		_exit(set_control(&self->set) || pinned_kb());
	EXPECT_EQ(0, child_status(pid));
	/* The one that is mapped, and the set's. */
	EXPECT_EQ(2 * kb, pinned_kb());
	ASSERT_EQ(0, ring_unmap(&self->set, (void *)self->ring));
	EXPECT_EQ(kb, pinned_kb());
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	ASSERT_EQ(0, close(self->set.fd));
	self->set.fd = -1;
	EXPECT_EQ(0, pinned_kb());
}

static int map_error(int fd, size_t size, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, size);
	return 0;
}

/* The whole of it, read-only and shared, and the page as ever. */
TEST_F(overflow_ring_life, mmap_arguments)
{
	const size_t size = ring_size(&self->set.control);
	int fd = self->set.fd;

	EXPECT_EQ(0, map_error(fd, size, PROT_READ, MAP_SHARED, PAGE));
	EXPECT_EQ(0, map_error(fd, VPMC_RING_SIZE(RECORDS, 2), PROT_READ,
			       MAP_SHARED, PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, size + 1, PROT_READ, MAP_SHARED, PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, size - PAGE, PROT_READ, MAP_SHARED,
				    PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, size, PROT_READ, MAP_SHARED, 2 * PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, size - PAGE, PROT_READ, MAP_SHARED,
				    2 * PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, size, PROT_READ, MAP_PRIVATE, PAGE));
	EXPECT_EQ(EINVAL, map_error(fd, PAGE + size, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(0, map_error(fd, PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EACCES, map_error(fd, size, PROT_READ | PROT_WRITE,
				    MAP_SHARED, PAGE));
	EXPECT_EQ(-1, mprotect((void *)self->ring, size,
			       PROT_READ | PROT_WRITE));
	EXPECT_EQ(-1, mprotect((void *)self->ring, size,
			       PROT_READ | PROT_EXEC));

	self->set.control.ring_records = 0;
	self->set.control.ring_watermark = 0;
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(EINVAL, map_error(fd, size, PROT_READ, MAP_SHARED, PAGE));
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(ESRCH, map_error(fd, size, PROT_READ, MAP_SHARED, PAGE));
}

/* Another process cannot map it, and neither can a child. */
TEST_F(overflow_ring_life, other_address_spaces)
{
	const size_t size = ring_size(&self->set.control);
	unsigned char resident[64];
	pid_t pid = fork();

	if (!pid)
		_exit(map_error(self->set.fd, size, PROT_READ, MAP_SHARED,
				PAGE) == EPERM &&
		      mincore((void *)self->ring, size, resident) == -1 &&
		      errno == ENOMEM ? 0 : 1);
	EXPECT_EQ(0, child_status(pid));
}

/* Parts of a mapping, and a copy of it. */
TEST_F(overflow_ring_life, mapping)
{
	const size_t size = ring_size(&self->set.control);
	struct vpmc_record first;
	char *ring = (char *)self->ring, *copy;

	ASSERT_LE(3 * PAGE, size);
	ASSERT_EQ(0, run(&self->set));
	first = *(struct vpmc_record *)(ring + sizeof(struct vpmc_ring));
	EXPECT_EQ(1, first.mask);
	ASSERT_EQ(0, madvise(ring, size, MADV_DONTNEED));
	EXPECT_EQ(RECORDED, self->ring->head);
	EXPECT_EQ(0, memcmp(&first, ring + sizeof(struct vpmc_ring),
			    sizeof(first)));
	EXPECT_EQ(MAP_FAILED, mremap(ring, size, size + PAGE, MREMAP_MAYMOVE));
	copy = mmap(NULL, size, PROT_READ, MAP_SHARED, self->set.fd, PAGE);
	ASSERT_NE(MAP_FAILED, copy);
	EXPECT_EQ(0, memcmp(ring, copy, size));
	ASSERT_EQ(0, munmap(ring + PAGE, PAGE));
	ASSERT_EQ(0, madvise(ring + 2 * PAGE, PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, memcmp(ring + 2 * PAGE, copy + 2 * PAGE, PAGE));
	ASSERT_EQ(0, munmap(ring, size));
	EXPECT_EQ(RECORDED, ((struct vpmc_ring *)copy)->head);
	/* A mapped ring does not permit RDPMC. Only the page does. */
	ASSERT_EQ(0, munmap(self->set.page, PAGE));
	self->set.page = MAP_FAILED;
	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(2 * (2 * TURNS + 12) / PERIOD,
		  ((struct vpmc_ring *)copy)->head);
	ASSERT_EQ(0, munmap(copy, size));
}

/* Nothing is written into a former ring, and a new one begins anew. */
TEST_F(overflow_ring_life, control)
{
	const volatile struct vpmc_ring *ring;

	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(RECORDED, self->ring->head);
	ASSERT_EQ(0, set_control(&self->set));
	ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, ring);
	EXPECT_EQ(0, ring->head);
	ASSERT_EQ(0, ring_consume(&self->set, 0));
	EXPECT_EQ(-EINVAL, ring_consume(&self->set, 1));
	ASSERT_EQ(0, run(&self->set));
	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(2 * (2 * TURNS + 12) / PERIOD, ring->head);
	EXPECT_EQ(RECORDED, self->ring->head);
	EXPECT_EQ(0, self->ring->lost);

	self->set.control.ring_records = 0;
	self->set.control.ring_watermark = 0;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(2 * (2 * TURNS + 12) / PERIOD, ring->head);
	EXPECT_EQ(-ENODATA, ring_consume(&self->set, 0));
}

/* CLEAR begins a period, and leaves the records. */
TEST_F(overflow_ring_life, clear)
{
	ASSERT_EQ(0, run(&self->set));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	EXPECT_EQ(RECORDED, self->ring->head);
	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(2 * RECORDED, self->ring->head);
	EXPECT_EQ(0, record_wrong(vpmc_ring_record((void *)self->ring, RECORDED),
				  PERIOD, CODE_COUNT(0, 0), 0));
}

TEST_F(overflow_ring_life, consume)
{
	int fd = open(THREAD_FILE, O_RDONLY);
	struct set other = self->set;

	ASSERT_EQ(0, run(&self->set));
	EXPECT_EQ(-EINVAL, ring_consume(&self->set, RECORDED + 1));
	EXPECT_EQ(-EINVAL, ring_consume(&self->set, ~0UL));
	EXPECT_EQ(-EINVAL, ring_consume(&self->set, 1UL << 32));
	EXPECT_EQ(0, self->ring->tail);
	EXPECT_EQ(0, ring_consume(&self->set, RECORDED));
	EXPECT_EQ(RECORDED, self->ring->tail);
	EXPECT_EQ(-EINVAL, ring_consume(&self->set, 1));
	other.fd = fd;
	EXPECT_EQ(-EBADF, ring_consume(&other, 0));
	close(fd);
}

/* The ring ends with the set. Its records can still be read. */
TEST_F(overflow_ring_life, unlink)
{
	int i;

	ASSERT_EQ(0, code_measure(self->set.fd, VPMC_IOC_START, VPMC_IOC_UNLINK,
				  code_loop, TURNS, 0));
	code_loop(TURNS, 0);
	EXPECT_EQ(RECORDED, self->ring->head);
	EXPECT_EQ(-ESRCH, ring_consume(&self->set, 1));
	close(self->set.fd);
	self->set.fd = -1;
	for (i = 0; i < RECORDED; i++)
		EXPECT_EQ(0, record_wrong(vpmc_ring_record((void *)self->ring, i),
					  (i + 1) * PERIOD, CODE_COUNT(0, 0), 0));
}

TEST_F(overflow_ring_life, revoked)
{
	struct vpmc_read read;
	uint64_t n;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	code_loop(TURNS, 0);
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "1"));
	code_loop(TURNS, 0);
	ASSERT_EQ(0, write_file("/proc/sys/kernel/vpmc_revoke", "0"));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(VPMC_STATE_REVOKED, read.state);
	n = read.sum[0] / PERIOD;
	EXPECT_LE(RECORDED, n);
	EXPECT_GT(2 * RECORDED, n);
	EXPECT_EQ(n, self->ring->head);
	EXPECT_EQ(0, ring_consume(&self->set, n));
	EXPECT_EQ(n, self->ring->tail);
}

/* The thread has ended; its process reads what it left. */
struct ended {
	struct vpmc_control control;
	const volatile struct vpmc_ring *ring;
	int err;
};

static void *record_and_end(void *arg)
{
	struct ended *ended = arg;
	struct set set = { .control = ended->control };

	set.fd = vpmc_open();
	ended->err = set_control(&set);
	ended->ring = ring_map(&set);
	ended->err |= run(&set);
	close(set.fd);
	return NULL;
}

TEST_F(overflow_ring_life, exit)
{
	struct ended ended = { .control = self->set.control };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, record_and_end, &ended));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, ended.err);
	ASSERT_NE(MAP_FAILED, ended.ring);
	EXPECT_EQ(RECORDED, ended.ring->head);
	EXPECT_EQ(0, record_wrong(vpmc_ring_record((void *)ended.ring, 0), PERIOD,
				  CODE_COUNT(0, 0), 0));
	EXPECT_EQ(0, self->ring->head);
}

/*
 * execve() of a child that shares the memory: the parent sees what was recorded
 * before, and nothing of the new program.
 */
struct vforked {
	struct vpmc_control control;
	const volatile struct vpmc_ring *ring;
	int pipe;
};

static int record_and_exec(void *arg)
{
	char *const argv[] = { "exec_image", NULL };
	struct vforked *child = arg;
	struct set set = { .control = child->control };

	set.fd = vpmc_open();
	if (set_control(&set))
		_exit(1);
	child->ring = ring_map(&set);
	if (run(&set) || dup2(child->pipe, 1) < 0 ||
	    dup2(set.fd, EXEC_FD) < 0)
		_exit(2);
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     (long)exec_image_path(), (long)argv);
	_exit(3);
}

TEST_F(overflow_ring_life, exec)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct vforked child = { .control = self->set.control };
	struct vpmc_read read_there = {};
	int fd[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(fd));
	child.pipe = fd[1];
	pid = clone(record_and_exec, stack + sizeof(stack),
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
	ASSERT_LT(0, pid);
	close(fd[1]);
	EXPECT_EQ(sizeof(read_there), read(fd[0], &read_there,
					   sizeof(read_there)));
	close(fd[0]);
	EXPECT_EQ(0, child_status(pid));
	/* It went on counting, and made enough for many more. */
	EXPECT_LT(100 * PERIOD, read_there.sum[0]);
	ASSERT_NE(MAP_FAILED, child.ring);
	EXPECT_EQ(RECORDED, child.ring->head);
	EXPECT_EQ(0, child.ring->lost);
}

/* A child that inherits the set has neither periods nor ring. */
TEST_F(overflow_ring_life, not_inherited)
{
	struct vpmc_control programmed;
	struct set child;
	pid_t pid;

	self->set.control.flags |= VPMC_CONTROL_INHERIT_PROCESSES;
	ASSERT_EQ(0, set_control(&self->set));
	pid = fork();
	if (!pid) {
		child.fd = open(THREAD_FILE, O_RDWR);
		child.control = self->set.control;
		_exit(vpmc_read_control(child.fd, &programmed) ||
		      programmed.ring_records || programmed.ring_watermark ||
		      ring_consume(&child, 0) != -ENODATA ||
		      ring_map(&child) != MAP_FAILED);
	}
	EXPECT_EQ(0, child_status(pid));
}

NEEDS(
	{ "overflow_ring_life.locked_memory*", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.mmap_arguments", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.no_period", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.not_inherited", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.other_address_spaces", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.pinned_*", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.revoked", PMU | DISTURBS | ROOT },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
