// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl() with a structure of any size, at any address: which are refused, which bytes
 * are read and written, and that a refusal changes nothing.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include "before.h"
#include "vpmc_test.h"

/* A page, and where one without access follows. */
struct area {
	char *page;
	char *end;
};

FIXTURE(argument)
{
	struct set set;
	struct before before;
	struct area none;		/* then a page without access */
	char *read_only;
};

static const struct choice two[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 1 }, {}
};

FIXTURE_SETUP(argument)
{
	ASSERT_EQ(0, set_open(&self->set, two));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, before_read(&self->before, &self->set));

	self->none.page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->none.page);
	self->none.end = self->none.page + PAGE;
	ASSERT_EQ(0, mprotect(self->none.end, PAGE, PROT_NONE));
	self->read_only = mmap(NULL, PAGE, PROT_READ,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->read_only);
}

FIXTURE_TEARDOWN(argument)
{
	EXPECT_STREQ("nothing", before_differs(&self->before, &self->set));
	munmap(self->none.page, 2 * PAGE);
	munmap(self->read_only, PAGE);
	set_close(&self->set);
}

/* The last bytes before the page that cannot be read. */
static void *at_end(struct area *area, const void *from, size_t size)
{
	return memcpy(area->end - size, from, size);
}

/* What every structure has in common: its size, its place, its tail. */
struct shape {
	unsigned int nr;
	size_t size;	/* the kernel's */
	size_t min;	/* what every version has */
};

static const struct shape shapes[] = {
	{ VPMC_IOC_INFO, sizeof(struct vpmc_info),
	  offsetof(struct vpmc_info, version) },
	{ VPMC_IOC_READ, sizeof(struct vpmc_read),
	  offsetof(struct vpmc_read, sum) },
	{ VPMC_IOC_READ_CONTROL, sizeof(struct vpmc_control),
	  offsetof(struct vpmc_control, counter) },
	{ VPMC_IOC_CONTROL, sizeof(struct vpmc_control),
	  offsetof(struct vpmc_control, counter) },
};

/* These cannot succeed: CONTROL asks for a set that exists already. */
static void fill(char *buf, const struct shape *shape, uint32_t size)
{
	struct vpmc_control control;

	memset(buf, 0, PAGE);
	if (shape->nr == VPMC_IOC_CONTROL || shape->nr == VPMC_IOC_READ_CONTROL) {
		control_init(&control, 0);
		if (shape->nr == VPMC_IOC_CONTROL)
			control.flags = VPMC_CONTROL_NEW;
		control.nr_counters = 0;
		memcpy(buf, &control, sizeof(control));
	}
	memcpy(buf, &size, sizeof(size));
}

/*
 * Returns what a request of @size bytes with good arguments returns. CONTROL has the
 * flag NEW, and READ_CONTROL has no room for a counter.
 */
static int good(const struct shape *shape, uint32_t size)
{
	const unsigned int n = counters_here(2);

	switch (shape->nr) {
	case VPMC_IOC_CONTROL:
		return -EEXIST;
	case VPMC_IOC_READ_CONTROL:
		return n ? -ENOSPC : 0;
	case VPMC_IOC_READ:
		return size < shape->min + n * sizeof(uint64_t) ? -ENOSPC : 0;
	}
	return 0;
}

TEST_F(argument, sizes)
{
	char buf[PAGE + 64] __attribute__((aligned(8)));
	unsigned int i;
	uint32_t size;
	int err;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *shape = &shapes[i];

		for (size = 0; size <= PAGE + 8; size++) {
			int want = good(shape, size);

			if (size < shape->min)
				want = -EINVAL;
			if (size > PAGE)
				want = -E2BIG;
			fill(buf, shape, size);
			memset(buf + PAGE, 0, 64);
			err = vpmc_ioctl(self->set.fd, shape->nr, buf);
			ASSERT_EQ(want, err) {
				TH_LOG("number %u, size %u", shape->nr & 0xff,
				       size);
			}
		}
		for (size = PAGE * 2; size; size *= 2) {
			fill(buf, shape, size);
			ASSERT_EQ(-E2BIG, vpmc_ioctl(self->set.fd, shape->nr,
						     buf));
		}
		fill(buf, shape, ~0U);
		ASSERT_EQ(-E2BIG, vpmc_ioctl(self->set.fd, shape->nr, buf));
	}
}

/* A longer structure: zeros are accepted, anything else is refused. */
TEST_F(argument, tails)
{
	char buf[PAGE] __attribute__((aligned(8)));
	unsigned int i, at;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *shape = &shapes[i];

		for (at = shape->size; at < PAGE; at++) {
			fill(buf, shape, at + 1);
			buf[at] = 1;
			ASSERT_EQ(-E2BIG, vpmc_ioctl(self->set.fd, shape->nr,
						     buf)) {
				TH_LOG("number %u, byte %u",
				       shape->nr & 0xff, at);
			}
		}
	}
}

/* The bytes outside of the size that was given stay as they are. */
TEST_F(argument, writes_within_the_size)
{
	char buf[PAGE] __attribute__((aligned(8)));
	struct vpmc_read *read = (struct vpmc_read *)buf;
	const size_t size = offsetof(struct vpmc_read, sum[2]);
	unsigned int i;

	memset(buf, 0x5a, sizeof(buf));
	memset(buf, 0, size);
	read->size = size;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, read));
	EXPECT_EQ(size, read->size);
	EXPECT_EQ(0, memcmp(read->sum, self->before.read.sum, 2 * sizeof(uint64_t)));
	for (i = size; i < sizeof(buf); i++)
		ASSERT_EQ(0x5a, buf[i]);
}

TEST_F(argument, pointers)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *shape = &shapes[i];
		char buf[PAGE + 8] __attribute__((aligned(8)));
		int fd = self->set.fd;

		ASSERT_EQ(-EFAULT, vpmc_ioctl(fd, shape->nr, NULL));
		ASSERT_EQ(-EFAULT, vpmc_ioctl(fd, shape->nr, (void *)1));
		ASSERT_EQ(-EFAULT, vpmc_ioctl(fd, shape->nr, (void *)-PAGE));
		ASSERT_EQ(-EFAULT, vpmc_ioctl(fd, shape->nr, self->none.end));

		/* Only a part of it can be read. */
		fill(buf, shape, shape->size);
		for (n = 1; n < shape->size; n += n < 64 ? 1 : 37) {
			ASSERT_EQ(-EFAULT,
				  vpmc_ioctl(fd, shape->nr,
					     at_end(&self->none, buf, n))) {
				TH_LOG("number %u, %u bytes",
				       shape->nr & 0xff, n);
			}
		}
		/* It cannot be written, so nothing counts as read. */
		ASSERT_EQ(0, mprotect(self->read_only, PAGE,
				      PROT_READ | PROT_WRITE));
		fill(self->read_only, shape, shape->size);
		ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ));
		ASSERT_EQ(-EFAULT, vpmc_ioctl(fd, shape->nr, self->read_only));
	}
}

/* No alignment is asked for. */
TEST_F(argument, misaligned)
{
	char buf[PAGE], *p;
	struct vpmc_read read;
	unsigned int i;

	for (i = 1; i < 8; i++) {
		memset(buf, 0, sizeof(buf));
		p = (char *)(((uintptr_t)buf + 7) & ~7UL) + i;
		read = (struct vpmc_read){ .size = sizeof(read) };
		memcpy(p, &read, sizeof(read));
		EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, p));
		EXPECT_EQ(0, memcmp(p, &self->before.read, sizeof(read)));
	}
}

NEEDS(
	{ "argument.sizes", PMU | OR_EMPTY },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
