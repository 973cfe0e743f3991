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

static inline int uring_map_all(struct uring *r)
{
	r->sq = uring_map(r, IORING_OFF_SQ_RING);
	r->cq = uring_map(r, IORING_OFF_CQ_RING);
	r->sqe = uring_map(r, IORING_OFF_SQES);
	return r->sq == MAP_FAILED || r->cq == MAP_FAILED ||
	       r->sqe == MAP_FAILED;
}

static inline int uring_open(struct uring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, 1, &r->params);
	return r->fd < 0 ? -errno : uring_map_all(r);
}

/* Maps a ring that an earlier program has opened like that. */
static inline int uring_adopt(struct uring *r, int fd)
{
	int err = uring_open(r);

	if (err)
		return err;
	close(r->fd);
	r->fd = fd;
	return uring_map_all(r);
}

static inline uint32_t *uring_at(void *ring, uint32_t offset)
{
	return ring + offset;
}

/* Begins one operation, and waits for so many results. 0 or not. */
static inline int uring_submit(struct uring *r, const struct io_uring_sqe *sqe,
			       unsigned int wait)
{
	uint32_t *tail = uring_at(r->sq, r->params.sq_off.tail);

	*r->sqe = *sqe;
	*uring_at(r->sq, r->params.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, r->fd, 1, wait, IORING_ENTER_GETEVENTS,
		       NULL, 0) != 1;
}

#define URING_NO_RESULT	(-1001)

/* The next result, which is taken out. */
static inline int uring_result(struct uring *r)
{
	uint32_t *head = uring_at(r->cq, r->params.cq_off.head);
	struct io_uring_cqe *cqe = r->cq + r->params.cq_off.cqes;
	uint32_t mask = *uring_at(r->cq, r->params.cq_off.ring_mask);
	int res;

	if (__atomic_load_n(uring_at(r->cq, r->params.cq_off.tail),
			    __ATOMIC_ACQUIRE) == *head)
		return URING_NO_RESULT;
	res = cqe[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

/* The result of one operation that is over when this returns. */
static inline int uring_do(struct uring *r, const struct io_uring_sqe *sqe)
{
	return uring_submit(r, sqe, 1) ? -1000 : uring_result(r);
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

/* Keeps a file in the ring, which is read there whatever becomes of the descriptor. */
static inline int uring_register(struct uring *r, int fd)
{
	return syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, &fd, 1) ?
	       -errno : 0;
}

/* In place of a descriptor: the file that is kept in the ring. */
#define URING_REGISTERED	(-1)

/*
 * The text of a perfctr file, of at most PAGE - 1 characters. Returns its length or
 * -errno.
 */
static inline int uring_text(struct uring *r, int fd, char *text)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)text,
		.len = PAGE - 1,
	};
	int n;

	if (fd == URING_REGISTERED) {
		sqe.fd = 0;
		sqe.flags = IOSQE_FIXED_FILE;
	}
	n = uring_do(r, &sqe);
	text[n < 0 ? 0 : n] = 0;
	return n;
}

/* Does the text begin with "state: @state"? */
static inline bool uring_says(struct uring *r, int fd, const char *state)
{
	char text[PAGE], want[32];

	snprintf(want, sizeof(want), "state: %s\n", state);
	return uring_text(r, fd, text) > 100 && !strncmp(text, want, strlen(want));
}

/* A number after these words, which begin a line of the text; ~0 if there is none. */
static inline uint64_t uring_number(const char *text, const char *words)
{
	const char *line = strstr(text, words);

	return line ? strtoull(line + strlen(words), NULL, 10) : ~0ULL;
}

/* Waits for an event of poll(), in the ring. uring_result() has it when it has come. */
static inline int uring_poll(struct uring *r, int fd, uint32_t events)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_POLL_ADD, .fd = fd, .poll32_events = events,
	};

	return uring_submit(r, &sqe, 0);
}

#endif /* URING_H */
