/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads by io_uring.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef URING_H
#define URING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vpmc_test.h"

struct uring {
	int fd;
	struct io_uring_params params;
	void *sq, *cq;
	struct io_uring_sqe *sqe;
};

static inline void *uring_map(struct uring *r, uint64_t offset)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		    offset);
}

static inline int uring_open(struct uring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, 1, &r->params);
	if (r->fd < 0)
		return -errno;
	r->sq = uring_map(r, IORING_OFF_SQ_RING);
	r->cq = uring_map(r, IORING_OFF_CQ_RING);
	r->sqe = uring_map(r, IORING_OFF_SQES);
	return r->sq == MAP_FAILED || r->cq == MAP_FAILED ||
	       r->sqe == MAP_FAILED;
}

static inline uint32_t *uring_at(void *ring, uint32_t offset)
{
	return ring + offset;
}

/* The result of one operation that is over when this returns. */
static inline int uring_do(struct uring *r, const struct io_uring_sqe *sqe)
{
	uint32_t *tail = uring_at(r->sq, r->params.sq_off.tail);
	uint32_t *head = uring_at(r->cq, r->params.cq_off.head);
	struct io_uring_cqe *cqe = r->cq + r->params.cq_off.cqes;
	uint32_t mask = *uring_at(r->cq, r->params.cq_off.ring_mask);
	int res;

	*r->sqe = *sqe;
	*uring_at(r->sq, r->params.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		return -1000;
	if (__atomic_load_n(uring_at(r->cq, r->params.cq_off.tail),
			    __ATOMIC_ACQUIRE) == *head)
		return -1001;
	res = cqe[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

static inline int uring_get(struct uring *r, int fd, char *buf, size_t size,
		     uint64_t offset)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ, .fd = fd, .off = offset,
		.addr = (uintptr_t)buf, .len = size,
	};

	return uring_do(r, &sqe);
}

#endif /* URING_H */
