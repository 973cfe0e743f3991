// SPDX-License-Identifier: GPL-2.0
/*
 * Reads that do not wait: by io_uring, and by preadv2() with RWF_NOWAIT. poll()
 * does not report whether they have data.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/uio.h>
#include "poller.h"
#include "uring.h"
#include "vpmc_test.h"

static const struct choice insns[] = { { EV_INSNS, 0 }, {} };

FIXTURE(uring)
{
	struct uring ring;
	struct set set;
	char text[PAGE], got[PAGE];
	ssize_t n;
};

FIXTURE_SETUP(uring)
{
	ASSERT_EQ(0, uring_open(&self->ring));
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
	ASSERT_EQ(self->n, uring_get(&self->ring, self->set.fd, self->got,
				     PAGE, 0));
	EXPECT_EQ(0, memcmp(self->text, self->got, self->n));
	EXPECT_EQ(0, poll_now(self->set.fd));
}

/* In two pieces, and beyond the end. */
TEST_F(uring, pieces)
{
	int fd = self->set.fd;

	ASSERT_EQ(30, uring_get(&self->ring, fd, self->got, 30, 0));
	ASSERT_EQ(self->n - 30, uring_get(&self->ring, fd, self->got + 30,
					  PAGE - 30, 30));
	EXPECT_EQ(0, memcmp(self->text, self->got, self->n));
	EXPECT_EQ(0, uring_get(&self->ring, fd, self->got, 1, self->n));
	EXPECT_EQ(0, uring_get(&self->ring, fd, self->got, 1, PAGE));
	EXPECT_EQ(0, uring_get(&self->ring, fd, self->got, 0, 0));
	EXPECT_EQ(-EFAULT, uring_get(&self->ring, fd, (char *)8, PAGE, 0));
}

TEST_F(uring, running)
{
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	ASSERT_LT(100, uring_get(&self->ring, self->set.fd, self->got, PAGE, 0));
	EXPECT_EQ(0, strncmp(self->got, "state: running\n", 15));
}

TEST_F(uring, no_counters)
{
	int fd;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	fd = open(THREAD_FILE, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, uring_get(&self->ring, fd, self->got, PAGE, 0));
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
