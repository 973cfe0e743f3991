// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of overflows: what is refused, who pays for it, which processes may map it
 * and how, and that it ends with its set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "ring.h"
#include "target.h"

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

/* This process becomes one of a user who may lock so many bytes: 0 or -1. */
static int become_limited(uid_t uid, size_t locked)
{
	const struct rlimit limit = { locked, locked };

	return setrlimit(RLIMIT_MEMLOCK, &limit) || become(uid) ? -1 : 0;
}

/* This process asks for a set with a ring: 0, or the reason if there is no memory. */
static int ask(struct vpmc_control *control)
{
	int fd = vpmc_open();
	int err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, control);

	return err == -ENOMEM ? control->reason : err;
}

/* So does another process of the same user, which ends at once. */
static int another_asks(const struct vpmc_control *control)
{
	struct vpmc_control copy = *control;
	pid_t pid = fork();

	if (!pid)
		_exit(ask(&copy));
	return child_status(pid);
}

/* And one of a user who may lock exactly so many bytes. */
static int user_asks(const struct vpmc_control *control, uid_t uid, size_t locked)
{
	struct vpmc_control copy = *control;
	pid_t pid = fork();

	if (!pid)
		_exit(become_limited(uid, locked) ? 255 : ask(&copy));
	return child_status(pid);
}

/* A user's rings need no more memory than the limit; root's may. */
TEST_F(overflow_ring_life, locked_memory)
{
	const size_t size = ring_size(&self->set.control);
	struct vpmc_control *control = &self->set.control;

	EXPECT_EQ(0, user_asks(control, 1000, size));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY, user_asks(control, 1000, size - 1));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY, user_asks(control, 1000, 0));
	EXPECT_EQ(0, user_asks(control, 0, 0));
	control->ring_records = 0;
	control->ring_watermark = 0;
	EXPECT_EQ(0, user_asks(control, 1000, 0));
}

/* A ring replaces another: both exist for a moment, and no memory is lost. */
static int replace_rings(struct vpmc_control *control, size_t size)
{
	int i, fd, err = 0;

	if (become_limited(1001, 2 * size))
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
	const struct vpmc_ring *first, *second;

	if (become_limited(1002, 3 * size))
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

/*
 * The user may have one ring. As long as a set has it or it is mapped, there is none
 * for another process.
 */
static int use_in_each_way(struct set *set, size_t size)
{
	struct vpmc_control with_ring = set->control;
	const struct vpmc_ring *ring;

	if (become_limited(1003, size))
		return 1;
	set->fd = vpmc_open();
	if (set_control(set))
		return 2;
	ring = ring_map(set);
	if (ring == MAP_FAILED ||
	    another_asks(&with_ring) != VPMC_REASON_RING_MEMORY)
		return 3;
	/* It is only mapped. */
	if (vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0) ||
	    another_asks(&with_ring) != VPMC_REASON_RING_MEMORY)
		return 4;
	if (ring_unmap(set, ring) || another_asks(&with_ring))
		return 5;
	/* Only a set has it. */
	close(set->fd);
	set->fd = vpmc_open();
	if (set_control(set) ||
	    another_asks(&with_ring) != VPMC_REASON_RING_MEMORY)
		return 6;
	set->control.ring_records = 0;
	set->control.ring_watermark = 0;
	return set_control(set) || another_asks(&with_ring) ? 7 : 0;
}

TEST_F(overflow_ring_life, pinned_memory)
{
	pid_t pid = fork();

	if (!pid)
		_exit(use_in_each_way(&self->set,
				      ring_size(&self->set.control)));
	EXPECT_EQ(0, child_status(pid));
}

/* Samples and rings have one limit. */
static int share_with_samples(const struct vpmc_control *control, size_t size)
{
	struct rlimit limit = { 0, 1 << 30 };
	struct vpmc_control sampled;
	int fd, err;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(1005))
		return 1;
	fd = vpmc_open();
	/* The least with which there are samples */
	do {
		sampled = *control;
		sampled.flags |= VPMC_CONTROL_SAMPLE;
		sampled.ring_records = 1;
		sampled.ring_watermark = 1;
		limit.rlim_cur += PAGE;
		if (setrlimit(RLIMIT_MEMLOCK, &limit))
			return 2;
		err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &sampled);
	} while (err == -ENOMEM && sampled.reason == VPMC_REASON_RING_MEMORY);
	if (err)
		return 3;
	limit.rlim_cur += size - 1;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    another_asks(control) != VPMC_REASON_RING_MEMORY)
		return 4;
	limit.rlim_cur++;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || another_asks(control))
		return 5;
	/* Samples of a set that has ended stay until its last descriptor is closed. */
	limit.rlim_cur = size;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0) ||
	    another_asks(control) != VPMC_REASON_RING_MEMORY)
		return 6;
	return close(fd) || another_asks(control) ? 7 : 0;
}

TEST_F(overflow_ring_life, locked_memory_of_samples)
{
	pid_t pid = fork();

	if (!pid)
		_exit(share_with_samples(&self->set.control,
					 ring_size(&self->set.control)));
	EXPECT_EQ(0, child_status(pid));
}

static int program_for_root(struct set *set, size_t size)
{
	if (become_limited(1004, size) || set_control(set))
		return 1;
	return another_asks(&set->control) == VPMC_REASON_RING_MEMORY ? 0 : 2;
}

/* The user who programs the set pays, and not its owner's. */
TEST_F(overflow_ring_life, pinned_for_the_caller)
{
	const struct vpmc_control *control = &self->set.control;
	struct set other = { .control = *control, .page = MAP_FAILED };
	const size_t size = ring_size(control);
	struct target t = { .uid = 1006 };
	const struct vpmc_ring *ring;
	pid_t pid = fork();

	if (!pid)
		_exit(program_for_root(&self->set, size));
	EXPECT_EQ(0, child_status(pid));
	/* The process has ended, but not the ring. */
	EXPECT_EQ(VPMC_REASON_RING_MEMORY, user_asks(control, 1004, size));
	ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY, user_asks(control, 1004, size));
	ASSERT_EQ(0, ring_unmap(&self->set, ring));
	EXPECT_EQ(0, user_asks(control, 1004, size));

	ASSERT_EQ(0, target_start(&t));
	other.fd = target_open(&t, O_RDWR | O_CREAT);
	ASSERT_LE(0, other.fd);
	ASSERT_EQ(0, set_control(&other));
	EXPECT_EQ(0, user_asks(control, t.uid, size));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY, user_asks(control, t.uid, size - 1));
	set_close(&other);
	EXPECT_EQ(0, target_end(&t));
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
	{ "overflow_ring_life.pinned_for_the_caller", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "overflow_ring_life.pinned_memory", PMU | DISTURBS | ROOT },
	{ "overflow_ring_life.revoked", PMU | DISTURBS | ROOT },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
