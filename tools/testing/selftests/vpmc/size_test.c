// SPDX-License-Identifier: GPL-2.0
/*
 * Structures that grow: each ioctl takes those of version 1, whose sizes are
 * written down here, shorter ones, and longer ones that end in zeros. The suite
 * grown-structures runs these tests on a kernel whose structures are longer.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include "global.h"
#include "members.h"
#include "sample.h"

/* Sizes of version 1, and of INFO of version 2. They never change. */
#define INFO_1		96
#define INFO_2		120
#define READ_1		328
#define CONTROL_1	1056
#define READ_SAMPLES_1	32
#define READ_MEMBERS_1	56
#define MEMBER_1	328
#define GLOBAL_CONTROL_1	1056
#define GLOBAL_CPU_1	288
#define GLOBAL_READ_1	32

/* What comes before the sums and the counters. */
#define READ_HEAD	72
#define CONTROL_HEAD	32
#define MEMBER_HEAD	72
#define SUM		8
#define COUNTER		32
#define GLOBAL_CPU_HEAD	32
#define INFO_HEAD	8	/* size and flags */

FIXTURE(size)
{
	struct set set;
	char buf[PAGE] __attribute__((aligned(8)));
	char *read_only;
};

FIXTURE_SETUP(size)
{
	ASSERT_EQ(0, set_open(&self->set, two));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	self->read_only = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->read_only);
}

FIXTURE_TEARDOWN(size)
{
	munmap(self->read_only, PAGE);
	set_close(&self->set);
}

/* Zeros for @size bytes, which says the first of them, and rubbish behind. */
static void *sized(FIXTURE_DATA(size) *self, uint32_t size, uint32_t zeros)
{
	memset(self->buf, 0x5a, PAGE);
	memset(self->buf, 0, zeros);
	memcpy(self->buf, &size, sizeof(size));
	return self->buf;
}

/* Is everything from @from on as it was? */
static bool untouched(const char *buf, size_t from)
{
	for (; from < PAGE; from++)
		if (buf[from] != 0x5a)
			return false;
	return true;
}

TEST_F(size, version_1)
{
	EXPECT_EQ(INFO_1, offsetof(struct vpmc_info, own_mask));
	EXPECT_LE(INFO_2, sizeof(struct vpmc_info));
	EXPECT_LE(READ_1, sizeof(struct vpmc_read));
	EXPECT_LE(CONTROL_1, sizeof(struct vpmc_control));
	EXPECT_EQ(READ_HEAD, offsetof(struct vpmc_read, sum));
	EXPECT_EQ(CONTROL_HEAD, offsetof(struct vpmc_control, counter));
	EXPECT_EQ(COUNTER, sizeof(struct vpmc_counter));
	EXPECT_LE(READ_SAMPLES_1, sizeof(struct vpmc_read_samples));
	EXPECT_LE(READ_MEMBERS_1, sizeof(struct vpmc_read_members));
	EXPECT_LE(MEMBER_1, sizeof(struct vpmc_member));
	EXPECT_EQ(MEMBER_HEAD, offsetof(struct vpmc_member, sum));
	EXPECT_LE(GLOBAL_CONTROL_1, sizeof(struct vpmc_global_control));
	EXPECT_LE(GLOBAL_CPU_1, sizeof(struct vpmc_global_cpu));
	EXPECT_LE(GLOBAL_READ_1, sizeof(struct vpmc_global_read));
	EXPECT_EQ(CONTROL_HEAD, offsetof(struct vpmc_global_control, counter));
	EXPECT_EQ(GLOBAL_CPU_HEAD, offsetof(struct vpmc_global_cpu, sum));
}

/* What the kernel takes must not follow sizeof(). */
TEST_F(size, least_sizes)
{
	EXPECT_EQ(INFO_HEAD, VPMC_INFO_MIN_SIZE);
	EXPECT_EQ(CONTROL_HEAD, VPMC_CONTROL_MIN_SIZE);
	EXPECT_EQ(READ_HEAD, VPMC_READ_MIN_SIZE);
	EXPECT_EQ(READ_SAMPLES_1, VPMC_READ_SAMPLES_MIN_SIZE);
	EXPECT_EQ(READ_MEMBERS_1, VPMC_READ_MEMBERS_MIN_SIZE);
	EXPECT_EQ(MEMBER_HEAD, VPMC_MEMBER_MIN_SIZE);
	EXPECT_EQ(CONTROL_HEAD, VPMC_GLOBAL_CONTROL_MIN_SIZE);
	EXPECT_EQ(GLOBAL_CPU_HEAD, VPMC_GLOBAL_CPU_MIN_SIZE);
	EXPECT_EQ(GLOBAL_READ_1, VPMC_GLOBAL_READ_MIN_SIZE);
}

/*
 * Others may borrow counters from perf meanwhile, or give them back. So all of it is
 * the same before and after.
 */
static int info_of_size(FIXTURE_DATA(size) *self, uint32_t size,
			struct vpmc_info *all)
{
	struct vpmc_info after;
	int fd = self->set.fd, err, i;

	for (i = 0; i < 100; i++) {
		err = vpmc_info(fd, all) ?:
		      vpmc_ioctl(fd, VPMC_IOC_INFO, sized(self, size, size)) ?:
		      vpmc_info(fd, &after);
		if (err || !memcmp(all, &after, sizeof(after)))
			return err;
	}
	return -EAGAIN;
}

TEST_F(size, info)
{
	struct vpmc_info all, *part = (struct vpmc_info *)self->buf;
	int fd = self->set.fd;
	uint32_t size;

	ASSERT_EQ(0, vpmc_info(fd, &all));
	EXPECT_EQ(sizeof(all), all.size);
	EXPECT_EQ(VPMC_ABI_VERSION, all.version);
	EXPECT_EQ(PAGE, all.map_size);
	for (size = INFO_HEAD; size <= INFO_2; size++) {
		ASSERT_EQ(0, info_of_size(self, size, &all));
		ASSERT_EQ(size, part->size);
		ASSERT_EQ(0, memcmp((char *)&all + 4, self->buf + 4, size - 4));
		ASSERT_TRUE(untouched(self->buf, size)) {
			TH_LOG("size %u", size);
		}
	}
	for (size = 0; size < INFO_HEAD; size++)
		EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_INFO,
					      sized(self, size, size)));
	/* The kernel does not fill what it does not know. */
	size = sizeof(all) + 64;
	ASSERT_EQ(0, info_of_size(self, size, &all));
	EXPECT_LE(sizeof(all), part->size);
	EXPECT_GE(size, part->size);
	EXPECT_EQ(0, memcmp((char *)&all + 4, self->buf + 4, sizeof(all) - 4));
	EXPECT_TRUE(untouched(self->buf, size));
	EXPECT_EQ(-E2BIG, vpmc_ioctl(fd, VPMC_IOC_INFO,
				     sized(self, size, size - 1)));
}

TEST_F(size, read)
{
	struct vpmc_read all, *part = (struct vpmc_read *)self->buf;
	const uint32_t enough = READ_HEAD + counters_here(2) * SUM;
	int fd = self->set.fd;
	uint32_t size;

	ASSERT_EQ(0, vpmc_read(fd, &all));
	EXPECT_EQ(sizeof(all), all.size);
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	for (size = enough; size <= READ_1; size++) {
		ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_READ,
					sized(self, size, size)));
		ASSERT_EQ(size, part->size);
		ASSERT_EQ(0, memcmp((char *)&all + 4, self->buf + 4, size - 4));
		ASSERT_TRUE(untouched(self->buf, size));
	}
	for (size = READ_HEAD; size < enough; size++)
		EXPECT_EQ(-ENOSPC, vpmc_ioctl(fd, VPMC_IOC_READ,
					      sized(self, size, size)));
	for (size = 0; size < READ_HEAD; size++)
		EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_READ,
					      sized(self, size, size)));
	size = sizeof(all) + 64;
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_READ, sized(self, size, size)));
	EXPECT_LE(sizeof(all), part->size);
	EXPECT_GE(size, part->size);
	EXPECT_EQ(0, memcmp((char *)&all + 4, self->buf + 4, sizeof(all) - 4));
	EXPECT_TRUE(untouched(self->buf, size));
	EXPECT_EQ(-E2BIG, vpmc_ioctl(fd, VPMC_IOC_READ,
				     sized(self, size, size - 1)));
}

/* The least size of a structure with the two counters. */
static uint32_t control_enough(void)
{
	return CONTROL_HEAD + counters_here(2) * COUNTER;
}

/* CONTROL of two counters by a structure of @size bytes, rubbish behind @zeros. */
static int control_sized(FIXTURE_DATA(size) *self, uint32_t size,
			 uint32_t zeros)
{
	struct vpmc_control control;

	control_of(&control, two, VPMC_CONTROL_STOPPED);
	control.size = size;
	sized(self, size, zeros);
	memcpy(self->buf, &control, zeros < control_enough() ? zeros :
	       control_enough());
	return vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, self->buf);
}

/* Each success clears the sums, and each failure changes nothing. */
TEST_F(size, control)
{
	const uint32_t enough = control_enough();
	uint32_t size;

	for (size = 0; size < enough; size++)
		ASSERT_EQ(-EINVAL, control_sized(self, size, size));
	size = sizeof(struct vpmc_control) + 64;
	EXPECT_EQ(-E2BIG, control_sized(self, size, size - 1));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	for (size = enough; size <= CONTROL_1; size += 7) {
		ASSERT_EQ(0, control_sized(self, size, size));
		ASSERT_TRUE(untouched(self->buf, size));
	}
	ASSERT_EQ(0, control_sized(self, CONTROL_1, CONTROL_1));
	size = sizeof(struct vpmc_control) + 64;
	ASSERT_EQ(0, control_sized(self, size, size));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 777, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(777)));
}

TEST_F(size, read_control)
{
	struct vpmc_control all, *part = (struct vpmc_control *)self->buf;
	const uint32_t enough = control_enough();
	int fd = self->set.fd;
	uint32_t size;

	ASSERT_EQ(0, vpmc_read_control(fd, &all));
	for (size = enough; size <= CONTROL_1; size += 5) {
		sized(self, size, enough);
		part->nr_counters = counters_here(2);
		ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_READ_CONTROL, part));
		ASSERT_EQ(size, part->size);
		/* Also what follows the counters of the set. */
		ASSERT_EQ(0, memcmp((char *)&all + 4, self->buf + 4, size - 4));
		ASSERT_TRUE(untouched(self->buf, size));
	}
	sized(self, CONTROL_HEAD, CONTROL_HEAD);
	EXPECT_EQ(counters_here(2) ? -ENOSPC : 0,
		  vpmc_ioctl(fd, VPMC_IOC_READ_CONTROL, part));
	EXPECT_EQ(counters_here(2), part->nr_counters);
	sized(self, CONTROL_HEAD - 1, CONTROL_HEAD - 1);
	EXPECT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_READ_CONTROL, part));
	size = sizeof(all) + 64;
	sized(self, size, size);
	part->nr_counters = counters_here(2);
	ASSERT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_READ_CONTROL, part));
	sized(self, size, size - 1);
	part->nr_counters = counters_here(2);
	EXPECT_EQ(-E2BIG, vpmc_ioctl(fd, VPMC_IOC_READ_CONTROL, part));
}

#define PERIOD	100003

/* READ_SAMPLES by a structure of @size bytes, rubbish behind @zeros. */
static int read_samples_sized(FIXTURE_DATA(size) *self, int fd, uint32_t size,
			      uint32_t zeros, void *to)
{
	struct vpmc_read_samples *read = sized(self, size, zeros);

	read->buffer = (uintptr_t)to;
	read->bytes = PAGE;
	return vpmc_ioctl(fd, VPMC_IOC_READ_SAMPLES, read);
}

TEST_F(size, read_samples)
{
	struct vpmc_read_samples *read = (void *)self->buf;
	uint64_t to[PAGE / 8];
	uint32_t size;
	struct set set;

	set_close(&self->set);
	ASSERT_EQ(0, open_sampled(&set, PERIOD, 0, 64));
	for (size = 0; size < READ_SAMPLES_1; size++) {
		sized(self, size, size);
		ASSERT_EQ(-EINVAL, vpmc_ioctl(set.fd, VPMC_IOC_READ_SAMPLES,
					      self->buf));
		ASSERT_TRUE(untouched(self->buf, size < 4 ? 4 : size));
	}
	for (size = READ_SAMPLES_1; size <= READ_SAMPLES_1 + 64; size++) {
		ASSERT_EQ(0, set_measure(&set, code_loop, PERIOD, 0));
		ASSERT_EQ(0, read_samples_sized(self, set.fd, size, size, to));
		ASSERT_LT(0, read->bytes);
		ASSERT_EQ(size, read->size);
		ASSERT_TRUE(untouched(self->buf, size)) {
			TH_LOG("size %u", size);
		}
	}
	/* A refused one takes no sample. */
	ASSERT_EQ(0, set_measure(&set, code_loop, PERIOD, 0));
	size = READ_SAMPLES_1 + 64;
	EXPECT_EQ(-E2BIG, read_samples_sized(self, set.fd, size, size - 1, to));
	EXPECT_EQ(0, read_samples_sized(self, set.fd, READ_SAMPLES_1,
					READ_SAMPLES_1, to));
	EXPECT_LT(0, read->bytes);
	set_close(&set);
	ASSERT_EQ(0, set_open(&self->set, two));
}

/* READ_MEMBERS of those that live, as in read_samples_sized(). */
static int read_members_sized(FIXTURE_DATA(size) *self, int fd, uint32_t size,
			      uint32_t zeros, uint32_t member_size, void *to)
{
	struct vpmc_read_members *read = sized(self, size, zeros);

	read->flags = LIVING;
	read->nr = 2;
	read->member_size = member_size;
	read->members = (uintptr_t)to;
	return vpmc_ioctl(fd, VPMC_IOC_READ_MEMBERS, read);
}

TEST_F(size, read_members)
{
	struct vpmc_read_members *read = (void *)self->buf;
	struct vpmc_member all;
	char element[PAGE];
	struct child child = {};
	struct set set;
	uint32_t size;

	set_close(&self->set);
	ASSERT_EQ(0, members_open(&set, PROCESSES, 1));
	if (!child_fork(&child))
		_exit(child_send(&child) || child_wait(&child));
	ASSERT_EQ(0, child_wait(&child));
	for (size = 0; size < READ_MEMBERS_1; size++) {
		sized(self, size, size);
		ASSERT_EQ(-EINVAL, vpmc_ioctl(set.fd, VPMC_IOC_READ_MEMBERS,
					      self->buf));
		ASSERT_TRUE(untouched(self->buf, size < 4 ? 4 : size));
	}
	for (size = READ_MEMBERS_1; size <= READ_MEMBERS_1 + 64; size++) {
		ASSERT_EQ(0, read_members_sized(self, set.fd, size, size,
						MEMBER_1, element));
		ASSERT_EQ(1, read->nr);
		ASSERT_EQ(size, read->size);
		ASSERT_TRUE(untouched(self->buf, size)) {
			TH_LOG("size %u", size);
		}
	}
	ASSERT_EQ(-E2BIG, read_members_sized(self, set.fd, size, size - 1,
					     MEMBER_1, element));
	/* So can the elements. */
	ASSERT_EQ(1, members_list(set.fd, LIVING, &all, 1));
	for (size = MEMBER_HEAD + counters_here(2) * SUM; size <= MEMBER_1 + 64;
	     size++) {
		memset(element, 0x5a, PAGE);
		ASSERT_EQ(0, read_members_sized(self, set.fd, READ_MEMBERS_1,
						READ_MEMBERS_1, size, element));
		ASSERT_EQ(0, memcmp(&all, element, size < sizeof(all) ? size :
				    sizeof(all)));
		ASSERT_TRUE(untouched(element, size)) {
			TH_LOG("size %u", size);
		}
	}
	ASSERT_EQ(0, child_send(&child));
	EXPECT_EQ(0, child_end(&child));
	set_close(&set);
	ASSERT_EQ(0, set_open(&self->set, two));
}

/* G_CONTROL of two counters, as in control_sized(). */
static int global_control_sized(FIXTURE_DATA(size) *self, int fd, uint32_t size,
				uint32_t zeros)
{
	struct vpmc_global_control control;

	global_init(&control, VPMC_ALL_CPUS, two);
	control.size = size;
	sized(self, size, zeros);
	memcpy(self->buf, &control, zeros < control_enough() ? zeros :
	       control_enough());
	return vpmc_ioctl(fd, VPMC_IOC_G_CONTROL, self->buf);
}

TEST_F(size, global_control)
{
	const uint32_t enough = control_enough();
	int fd = global_open();
	uint32_t size;

	ASSERT_LE(0, fd);
	set_close(&self->set);
	for (size = 0; size < enough; size++)
		ASSERT_EQ(-EINVAL, global_control_sized(self, fd, size, size));
	size = sizeof(struct vpmc_global_control) + 64;
	EXPECT_EQ(-E2BIG, global_control_sized(self, fd, size, size - 1));
	EXPECT_EQ(-ENODATA, global_start(fd));
	for (size = enough; size <= GLOBAL_CONTROL_1; size += 31) {
		ASSERT_EQ(0, global_control_sized(self, fd, size, size));
		ASSERT_TRUE(untouched(self->buf, size));
	}
	size = sizeof(struct vpmc_global_control) + 64;
	EXPECT_EQ(0, global_control_sized(self, fd, size, size));
	EXPECT_EQ(0, global_start(fd));
	close(fd);
	ASSERT_EQ(0, set_open(&self->set, two));
}

/* G_READ of one CPU by a structure of @size bytes, rubbish behind @zeros. */
static int global_read_sized(FIXTURE_DATA(size) *self, int fd, uint32_t size,
			     uint32_t zeros, uint32_t element_size, void *to)
{
	struct vpmc_global_read *read = sized(self, size, zeros);

	read->nr_cpus = 1;
	read->element_size = element_size;
	read->elements = (uintptr_t)to;
	return vpmc_ioctl(fd, VPMC_IOC_G_READ, read);
}

TEST_F(size, global_read)
{
	struct vpmc_global_cpu all;
	int fd = global_open();
	char element[PAGE];
	uint32_t size;

	ASSERT_LE(0, fd);
	set_close(&self->set);
	ASSERT_EQ(0, global_program(fd, VPMC_ALL_CPUS, two));
	for (size = 0; size < GLOBAL_READ_1; size++) {
		sized(self, size, size);
		ASSERT_EQ(-EINVAL, vpmc_ioctl(fd, VPMC_IOC_G_READ, self->buf));
	}
	for (size = GLOBAL_READ_1; size <= GLOBAL_READ_1 + 64; size++) {
		ASSERT_EQ(0, global_read_sized(self, fd, size, size,
					       GLOBAL_CPU_1, element));
		ASSERT_TRUE(untouched(self->buf, size));
	}
	ASSERT_EQ(-E2BIG, global_read_sized(self, fd, size, size - 1,
					    GLOBAL_CPU_1, element));
	/* So can the elements. */
	ASSERT_EQ(1, global_read_some(fd, 0, 1, &all));
	for (size = GLOBAL_CPU_HEAD + counters_here(2) * SUM;
	     size <= GLOBAL_CPU_1 + 64; size += 8) {
		memset(element, 0x5a, PAGE);
		ASSERT_EQ(0, global_read_sized(self, fd, GLOBAL_READ_1,
					       GLOBAL_READ_1, size, element));
		ASSERT_EQ(0, memcmp(&all, element, size < sizeof(all) ? size :
				    sizeof(all)));
		ASSERT_TRUE(untouched(element, size));
	}
	close(fd);
	ASSERT_EQ(0, set_open(&self->set, two));
}

/* The result could not be returned, so nothing is done. */
TEST_F(size, control_cannot_tell)
{
	struct vpmc_control control;

	control_of(&control, two, 0);
	memcpy(self->read_only, &control, sizeof(control));
	ASSERT_EQ(0, mprotect(self->read_only, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL,
				      self->read_only));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(VPMC_STATE_STOPPED, self->set.page->state);
}

/* A success resets the reason of an earlier failure. */
TEST_F(size, control_tells_of_success)
{
	struct vpmc_control control;

	control_of(&control, two, VPMC_CONTROL_STOPPED);
	control.bad_counter = 17;
	control.reason = 99;
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(0, control.bad_counter);
	EXPECT_EQ(VPMC_REASON_NONE, control.reason);
}

NEEDS(
	{ "size.read", PMU | OR_EMPTY },
	{ "size.read_samples", PMU | DISTURBS | ROOT },
	{ "size.read_members", PMU | OR_EMPTY },
	{ "size.global_*", PMU | DISTURBS | ROOT },
	{ "size.control", PMU | OR_EMPTY },
	{ "size.read_control", PMU | OR_EMPTY },
	{ "*", VPMC },
);

TEST_HARNESS_MAIN
