// SPDX-License-Identifier: GPL-2.0
/*
 * Reads that do not wait: by io_uring, and by preadv2() with RWF_NOWAIT. poll()
 * does not report whether they have data.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/io_uring.h>
#include <sys/uio.h>
#include "poller.h"
#include "vpmc_test.h"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

struct ring {
	int fd;
	struct io_uring_params params;
	void *sq, *cq;
	struct io_uring_sqe *sqe;
};

static void *ring_map(struct ring *r, uint64_t offset)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		    offset);
}

static int ring_open(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, 1, &r->params);
	if (r->fd < 0)
		return -errno;
	r->sq = ring_map(r, IORING_OFF_SQ_RING);
	r->cq = ring_map(r, IORING_OFF_CQ_RING);
	r->sqe = ring_map(r, IORING_OFF_SQES);
	return r->sq == MAP_FAILED || r->cq == MAP_FAILED ||
	       r->sqe == MAP_FAILED;
}

static uint32_t *ring_at(void *ring, uint32_t offset)
{
	return ring + offset;
}

/* The result of one operation that is over when this returns. */
static int ring_do(struct ring *r, const struct io_uring_sqe *sqe)
{
	uint32_t *tail = ring_at(r->sq, r->params.sq_off.tail);
	uint32_t *head = ring_at(r->cq, r->params.cq_off.head);
	struct io_uring_cqe *cqe = r->cq + r->params.cq_off.cqes;
	uint32_t mask = *ring_at(r->cq, r->params.cq_off.ring_mask);
	int res;

	*r->sqe = *sqe;
	*ring_at(r->sq, r->params.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		return -1000;
	if (__atomic_load_n(ring_at(r->cq, r->params.cq_off.tail),
			    __ATOMIC_ACQUIRE) == *head)
		return -1001;
	res = cqe[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

static int ring_read(struct ring *r, int fd, char *buf, size_t size,
		     uint64_t offset)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ, .fd = fd, .off = offset,
		.addr = (uintptr_t)buf, .len = size,
	};

	return ring_do(r, &sqe);
}

FIXTURE(uring)
{
	struct ring ring;
	struct set set;
	char text[PAGE], got[PAGE];
	ssize_t n;
};

FIXTURE_SETUP(uring)
{
	ASSERT_EQ(0, ring_open(&self->ring));
	ASSERT_EQ(0, set_open(&self->set, insns));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 10, 0));
	self->n = pread(self->set.fd, self->text, PAGE, 0);
	ASSERT_LT(100, self->n);
}

FIXTURE_TEARDOWN(uring)
{
	set_close(&self->set);
	close(self->ring.fd);
}

/* Without a period poll() reports nothing, and read() returns the text. */
TEST_F(uring, read)
{
	EXPECT_EQ(0, poll_now(self->set.fd));
	ASSERT_EQ(self->n, ring_read(&self->ring, self->set.fd, self->got,
				     PAGE, 0));
	EXPECT_EQ(0, memcmp(self->text, self->got, self->n));
	EXPECT_EQ(0, poll_now(self->set.fd));
}

/* In two pieces, and beyond the end. */
TEST_F(uring, pieces)
{
	int fd = self->set.fd;

	ASSERT_EQ(30, ring_read(&self->ring, fd, self->got, 30, 0));
	ASSERT_EQ(self->n - 30, ring_read(&self->ring, fd, self->got + 30,
					  PAGE - 30, 30));
	EXPECT_EQ(0, memcmp(self->text, self->got, self->n));
	EXPECT_EQ(0, ring_read(&self->ring, fd, self->got, 1, self->n));
	EXPECT_EQ(0, ring_read(&self->ring, fd, self->got, 1, PAGE));
	EXPECT_EQ(0, ring_read(&self->ring, fd, self->got, 0, 0));
	EXPECT_EQ(-EFAULT, ring_read(&self->ring, fd, (char *)8, PAGE, 0));
}

TEST_F(uring, running)
{
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_LT(100, ring_read(&self->ring, self->set.fd, self->got, PAGE, 0));
	EXPECT_EQ(0, strncmp(self->got, "state: running\n", 15));
}

TEST_F(uring, no_counters)
{
	int fd;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	fd = open(THREAD_FILE, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, ring_read(&self->ring, fd, self->got, PAGE, 0));
	close(fd);
}

TEST_F(uring, preadv2)
{
	struct iovec iov[2] = { { self->got, 17 }, { self->got + 17, PAGE - 17 } };

	ASSERT_EQ(self->n, preadv2(self->set.fd, iov, 2, 0, RWF_NOWAIT));
	EXPECT_EQ(0, memcmp(self->text, self->got, self->n));
}

NEEDS({ "*", PMU | OR_EMPTY },);

TEST_HARNESS_MAIN
