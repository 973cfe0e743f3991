// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte that is copied to user space is intended. None is left over from
 * other data, none is part of a kernel address, and nothing is written beyond
 * the end.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include "vpmc_test.h"

static const struct choice two[] = { { EV_INSNS, 0 }, { EV_BRANCHES, 3 }, {} };

/* A buffer with room behind, that has a pattern. */
struct buffer {
	union {
		struct vpmc_info info;
		struct vpmc_read read;
		struct vpmc_control control;
		unsigned char byte[2 * PAGE];
	};
};

FIXTURE(output)
{
	struct set set;
	struct buffer a, b;
};

FIXTURE_SETUP(output)
{
	ASSERT_EQ(0, set_open(&self->set, two));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
}

FIXTURE_TEARDOWN(output)
{
	set_close(&self->set);
}

static bool is_pattern(const unsigned char *byte, size_t n, int pattern)
{
	for (; n; n--)
		if (*byte++ != pattern)
			return false;
	return true;
}

/* Addresses of the kernel's half; counts of stopped sets are never near. */
static bool has_kernel_address(const void *from, size_t n)
{
	uint64_t value;
	size_t i;

	/*
	 * Only places where a kernel pointer could be. Elsewhere a time may
	 * look like one.
	 */
	for (i = 0; i + sizeof(value) <= n; i += sizeof(value)) {
		memcpy(&value, (const char *)from + i, sizeof(value));
		if (value >> 47 == 0x1ffff)
			return true;
	}
	return false;
}

/* Twice over different patterns: @n bytes are the same, and no more written. */
static void compare_output(struct __test_metadata *_metadata,
			   FIXTURE_DATA(output) *self, size_t n)
{
	EXPECT_EQ(0, memcmp(&self->a, &self->b, n));
	EXPECT_TRUE(is_pattern(self->a.byte + n, sizeof(self->a) - n, 0xa5));
	EXPECT_TRUE(is_pattern(self->b.byte + n, sizeof(self->b) - n, 0x5a));
	EXPECT_FALSE(has_kernel_address(&self->a, n));
}

static void fill(FIXTURE_DATA(output) *self)
{
	memset(&self->a, 0xa5, sizeof(self->a));
	memset(&self->b, 0x5a, sizeof(self->b));
}

TEST_F(output, info)
{
	struct vpmc_info *a = &self->a.info, *b = &self->b.info;

	fill(self);
	a->size = b->size = sizeof(*a);
	a->flags = b->flags = 0;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_INFO, a));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_INFO, b));
	compare_output(_metadata, self, sizeof(*a));
	/* The name, and zeros. */
	EXPECT_TRUE(is_pattern((unsigned char *)a->name + strlen(a->name),
			       sizeof(a->name) - strlen(a->name), 0));
}

TEST_F(output, read)
{
	const size_t sums = offsetof(struct vpmc_read, sum) +
			    counters_here(2) * sizeof(uint64_t);
	const size_t number = offsetof(struct vpmc_read, set_number);
	struct vpmc_read *a = &self->a.read, *b = &self->b.read;
	size_t size, zeros;

	for (size = sums; size <= sizeof(*a);
	     size += sizeof(*a->sum)) {
		fill(self);
		a->size = b->size = size;
		a->flags = b->flags = 0;
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, a));
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, b));
		compare_output(_metadata, self, size);
		zeros = (size < number ? size : number) - sums;
		EXPECT_TRUE(is_pattern(self->a.byte + sums, zeros, 0));
		if (size > number)
			EXPECT_NE(0, a->set_number);
		EXPECT_EQ(0, a->living);
		EXPECT_EQ(0, a->finished);
	}
	/* Refused: nothing is written. */
	fill(self);
	a->size = sums - sizeof(uint64_t);
	a->flags = 0;
	EXPECT_EQ(counters_here(2) ? -ENOSPC : -EINVAL,
		  vpmc_ioctl(self->set.fd, VPMC_IOC_READ, a));
	EXPECT_TRUE(is_pattern(self->a.byte + 8, sizeof(self->a) - 8, 0xa5));
}

TEST_F(output, read_control)
{
	struct vpmc_control *a = &self->a.control, *b = &self->b.control;
	uint32_t i;

	fill(self);
	a->size = b->size = sizeof(*a);
	a->flags = b->flags = 0;
	a->nr_counters = b->nr_counters = 32;
	memset((char *)a + offsetof(struct vpmc_control, reason), 0,
	       offsetof(struct vpmc_control, counter) -
	       offsetof(struct vpmc_control, reason));
	memset((char *)b + offsetof(struct vpmc_control, reason), 0,
	       offsetof(struct vpmc_control, counter) -
	       offsetof(struct vpmc_control, reason));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ_CONTROL, a));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_READ_CONTROL, b));
	/* As much as the caller has room for: fields may follow the counters. */
	compare_output(_metadata, self, sizeof(*a));
	EXPECT_EQ(counters_here(2), a->nr_counters);
	EXPECT_EQ(0, a->bad_counter);
	EXPECT_EQ(0, a->reason);
	for (i = a->nr_counters; i < VPMC_MAX_COUNTERS; i++)
		EXPECT_EQ(0, a->counter[i].evtsel);
}

/* CONTROL writes the reason and nothing else. */
TEST_F(output, control)
{
	struct vpmc_control *a = &self->a.control, *b = &self->b.control;

	memset(&self->a, 0, sizeof(self->a));
	control_init(a, VPMC_CONTROL_STOPPED);
	control_add(a, EV_INSNS, 0);
	control_add(a, 0xc0, 1);
	a->bad_counter = 0xa5a5a5a5;
	a->reason = 0xa5a5a5a5;
	self->b = self->a;
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, a));
	b->bad_counter = 1;
	b->reason = VPMC_REASON_NO_MODE;
	EXPECT_EQ(0, memcmp(&self->a, &self->b, sizeof(self->a)));
}

/*
 * The page: the structure up to its size, zeros in reserved fields and after.
 */
TEST_F(output, page)
{
	struct vpmc_page *page = self->set.page;
	unsigned char *byte = (unsigned char *)page;

	EXPECT_EQ(sizeof(*page), page->size);
	EXPECT_TRUE(is_pattern(byte + page->size, PAGE - page->size, 0));
	EXPECT_TRUE(is_pattern((unsigned char *)page->slot +
			       2 * sizeof(*page->slot),
			       sizeof(page->slot) - 2 * sizeof(*page->slot), 0));
	EXPECT_TRUE(is_pattern((unsigned char *)page->reserved0,
			       sizeof(page->reserved0), 0));
	/* A clock's offset may be negative. */
	EXPECT_FALSE(has_kernel_address(page, offsetof(struct vpmc_page,
						       time_offset)));
	EXPECT_FALSE(has_kernel_address(page->reserved0, PAGE -
					offsetof(struct vpmc_page, reserved0)));
	/* A smaller set leaves nothing of the larger one. */
	ASSERT_EQ(0, set_program(&self->set, (struct choice[]){ {} }));
	EXPECT_TRUE(is_pattern((unsigned char *)page->slot, PAGE -
			       offsetof(struct vpmc_page, slot), 0));
}

/* The next counters of the same thread begin with nothing of the last ones. */
TEST_F(output, fresh)
{
	struct vpmc_read read;
	struct set next;

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	next.fd = vpmc_open();
	next.page = vpmc_map(next.fd);
	ASSERT_NE(MAP_FAILED, next.page);
	ASSERT_EQ(0, vpmc_read(next.fd, &read));
	EXPECT_EQ(0, read.nr_counters);
	EXPECT_TRUE(is_pattern((unsigned char *)read.sum, sizeof(read.sum), 0));
	EXPECT_TRUE(is_pattern((unsigned char *)next.page +
			       offsetof(struct vpmc_page, slot), PAGE -
			       offsetof(struct vpmc_page, slot), 0));
	set_close(&next);
}

/* read(2) returns text without zeros, and writes no more than it returns. */
TEST_F(output, text)
{
	ssize_t n;

	fill(self);
	n = pread(self->set.fd, &self->a, PAGE, 0);
	ASSERT_LT(0, n);
	ASSERT_EQ(n, pread(self->set.fd, &self->b, PAGE, 0));
	compare_output(_metadata, self, n);
	EXPECT_EQ(n, strnlen((char *)self->a.byte, n));
	EXPECT_EQ('\n', self->a.byte[n - 1]);
}

/* The text cannot hide an address either: these digits begin all of them. */
TEST_F(output, no_address_in_the_text)
{
	char text[PAGE] = "";

	ASSERT_LT(0, pread(self->set.fd, text, sizeof(text) - 1, 0));
	EXPECT_EQ(NULL, strstr(text, "ffff"));
}

NEEDS(
	{ "output.read", PMU | OR_EMPTY },
	{ "output.read_control", PMU | OR_EMPTY },
	{ "output.control", PMU },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
