// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl() with wrong arguments: the error, the reason, and that nothing has
 * changed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>
#include "before.h"
#include "vpmc_test.h"

FIXTURE(ioctl)
{
	struct set set;
	struct before before;
};

static const struct choice two[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 1 }, {}
};

FIXTURE_SETUP(ioctl)
{
	ASSERT_EQ(0, set_open(&self->set, two));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, before_read(&self->before, &self->set));
}

FIXTURE_TEARDOWN(ioctl)
{
	EXPECT_STREQ("nothing", before_differs(&self->before, &self->set));
	set_close(&self->set);
}

static int try_control(FIXTURE_DATA(ioctl) *self, struct vpmc_control *control)
{
	return vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control);
}

TEST_F(ioctl, unknown_numbers)
{
	unsigned int nr;

	for (nr = 0; nr < 256; nr++) {
		if (nr > _IOC_NR(VPMC_IOC_READ_MEMBERS))
			EXPECT_EQ(-ENOTTY, vpmc_ioctl(self->set.fd,
				  _IO(VPMC_IOC_MAGIC, nr), 0));
		EXPECT_EQ(-ENOTTY, vpmc_ioctl(self->set.fd,
			  _IO(VPMC_IOC_MAGIC + 1, nr), 0));
		/* With a size or a direction it is another number. */
		EXPECT_EQ(-ENOTTY, vpmc_ioctl(self->set.fd,
			  _IOWR(VPMC_IOC_MAGIC, nr, int), 0));
	}
}

/* START, STOP and UNLINK take no argument. */
TEST_F(ioctl, argument_that_must_be_zero)
{
	static const unsigned int nr[] = {
		VPMC_IOC_START, VPMC_IOC_STOP, VPMC_IOC_UNLINK,
	};
	struct vpmc_read read = { .size = sizeof(read) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, nr[i], (void *)1));
		EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, nr[i], &read));
	}
}

TEST_F(ioctl, flags)
{
	struct vpmc_control control;
	struct vpmc_info info;
	struct vpmc_read read;
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		info.flags = 1U << bit;
		EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_INFO,
					      &info));
		memset(&read, 0, sizeof(read));
		read.size = sizeof(read);
		read.flags = 1U << bit;
		EXPECT_EQ(read.flags & (VPMC_READ_LIVING | VPMC_READ_FINISHED) ?
			  0 : -EINVAL,
			  vpmc_ioctl(self->set.fd, VPMC_IOC_READ, &read));
		control_init(&control, 1U << bit);
		EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd,
					      VPMC_IOC_READ_CONTROL, &control));
		if ((1U << bit) & (VPMC_CONTROL_NEW | VPMC_CONTROL_STOPPED |
				   VPMC_CONTROL_INHERIT_THREADS |
				   VPMC_CONTROL_INHERIT_PROCESSES |
				   VPMC_CONTROL_CLOSE_ON_EXEC |
				   VPMC_CONTROL_ENABLE_ON_EXEC |
				   VPMC_CONTROL_PRESERVE |
				   VPMC_CONTROL_UNLINK_ON_CLOSE |
				   VPMC_CONTROL_ADD))
			continue;
		EXPECT_EQ(-EINVAL, try_control(self, &control));
	}
}

TEST_F(ioctl, reserved_fields)
{
	struct vpmc_read read;

	memset(&read, 0, sizeof(read));
	read.size = sizeof(read);
	read.flags = 1U << 2;
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_READ, &read));
}

TEST_F(ioctl, number_of_counters)
{
	struct vpmc_control control;
	uint32_t n;

	/* More than the structure holds. */
	for (n = 1; n <= VPMC_MAX_COUNTERS; n++) {
		control_init(&control, 0);
		control.nr_counters = n;
		control.size = offsetof(struct vpmc_control, counter[n]) - 1;
		EXPECT_EQ(-EINVAL, try_control(self, &control));
		EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd,
					      VPMC_IOC_READ_CONTROL, &control));
	}
	for (n = VPMC_MAX_COUNTERS + 1; n; n *= 2) {
		control_init(&control, 0);
		control.nr_counters = n;
		EXPECT_EQ(-EINVAL, try_control(self, &control));
		EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd,
					      VPMC_IOC_READ_CONTROL, &control));
	}
	/* READ_CONTROL: not enough room; says how much it takes. */
	for (n = 0; n < counters_here(2); n++) {
		control_init(&control, 0);
		control.nr_counters = n;
		EXPECT_EQ(-ENOSPC, vpmc_ioctl(self->set.fd,
					      VPMC_IOC_READ_CONTROL, &control));
		EXPECT_EQ(2, control.nr_counters);
		EXPECT_EQ(0, control.counter[0].evtsel);
	}
}

/* A counter that is refused, beside a good one before and after it. */
static void refused(struct __test_metadata *_metadata,
		    FIXTURE_DATA(ioctl) *self, const struct vpmc_counter *bad,
		    int err, uint32_t reason)
{
	struct vpmc_control control;
	unsigned int at, flags;

	for (flags = 0; flags <= VPMC_CONTROL_STOPPED;
	     flags += VPMC_CONTROL_STOPPED) {
		for (at = 0; at < 3; at++) {
			control_init(&control, flags);
			control_choose(&control, EV_INSNS, FIXED(0));
			control_choose(&control, EV_INSNS, 3);
			control_choose(&control, EV_BRANCHES, VPMC_ANY);
			control.counter[at] = *bad;
			control.bad_counter = 99;
			control.reason = 99;
			EXPECT_EQ(err, try_control(self, &control));
			EXPECT_EQ(reason, control.reason) {
				TH_LOG("evtsel %#llx index %#x",
				       (unsigned long long)bad->evtsel,
				       bad->index);
			}
			EXPECT_EQ(at, control.bad_counter);
		}
	}
}

static void evtsel_refused(struct __test_metadata *_metadata,
			   FIXTURE_DATA(ioctl) *self, uint64_t evtsel, int err,
			   uint32_t reason)
{
	struct vpmc_counter bad = { .evtsel = evtsel, .index = 2 };

	refused(_metadata, self, &bad, err, reason);
}

TEST_F(ioctl, reserved_bits)
{
	const uint64_t allowed = 0xffffULL | 1 << 16 | 1 << 17 | 1 << 18 |
				 1 << 20 | 1 << 22 | 1 << 23 | 0xffULL << 24;
	unsigned int bit;

	/* 19 is pin control, 21 AnyThread: both affect others. */
	for (bit = 0; bit < 64; bit++) {
		if (allowed & 1ULL << bit)
			continue;
		evtsel_refused(_metadata, self, EV_INSNS | 1ULL << bit, -EINVAL,
			       VPMC_REASON_RESERVED_BIT);
	}
}

TEST_F(ioctl, reserved_counter_fields)
{
	struct vpmc_counter bad = { .evtsel = EV_INSNS, .index = 2 };

	bad.flags = VPMC_COUNTER_PRESERVE << 1;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_RESERVED_FIELD);
	bad.flags = 1U << 31;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_RESERVED_FIELD);
	bad.flags = 0;
	bad.reserved = 1ULL << 63;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_RESERVED_FIELD);
}

TEST_F(ioctl, no_mode)
{
	evtsel_refused(_metadata, self, 0xc0, -EINVAL, VPMC_REASON_NO_MODE);
	evtsel_refused(_metadata, self, 0x5000c0, -EINVAL, VPMC_REASON_NO_MODE);
}

TEST_F(ioctl, bad_index)
{
	struct vpmc_counter bad = { .evtsel = EV_INSNS };
	struct vpmc_info info;
	unsigned int i;

	ASSERT_EQ(0, vpmc_info(self->set.fd, &info));
	const uint32_t index[] = {
		info.nr_gp, 31, 32, 63, 64, FIXED(info.nr_fixed), FIXED(31),
		FIXED(32), FIXED(64), 0x20000000, 0x80000000, 0xfffffffe,
		FIXED(0) | 0x80000000,
	};

	for (i = 0; i < ARRAY_SIZE(index); i++) {
		bad.index = index[i];
		refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_BAD_INDEX);
	}
}

TEST_F(ioctl, index_taken)
{
	struct vpmc_control control;

	control_init(&control, 0);
	control_add(&control, EV_INSNS, 1);
	control_add(&control, EV_BRANCHES, 0);
	control_add(&control, EV_BRANCHES, 1);
	EXPECT_EQ(-EINVAL, try_control(self, &control));
	EXPECT_EQ(VPMC_REASON_INDEX_TAKEN, control.reason);
	EXPECT_EQ(2, control.bad_counter);
	control_init(&control, 0);
	control_add(&control, EV_INSNS, FIXED(0));
	control_add(&control, EV_INSNS, FIXED(0));
	EXPECT_EQ(-EINVAL, try_control(self, &control));
	EXPECT_EQ(VPMC_REASON_INDEX_TAKEN, control.reason);
	EXPECT_EQ(1, control.bad_counter);
}

TEST_F(ioctl, wrong_event)
{
	struct vpmc_counter bad = { .evtsel = EV_BRANCHES, .index = FIXED(1) };

	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_WRONG_EVENT);
	bad.evtsel = EV_INSNS;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_WRONG_EVENT);
	/* A fixed counter has no edge detection, inversion or mask. */
	bad.evtsel = EV_CYCLES | 1 << 18;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_WRONG_EVENT);
	bad.evtsel = EV_CYCLES | 1 << 23;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_WRONG_EVENT);
	bad.evtsel = EV_CYCLES | 1 << 24;
	refused(_metadata, self, &bad, -EINVAL, VPMC_REASON_WRONG_EVENT);
}

/* What this processor says it does not have: CPUID leaf 0AH, EBX. */
TEST_F(ioctl, unavailable)
{
	evtsel_refused(_metadata, self, 0x100c5, -EOPNOTSUPP,
		       VPMC_REASON_UNAVAILABLE);
	evtsel_refused(_metadata, self, 0x14f2e, -EOPNOTSUPP,
		       VPMC_REASON_UNAVAILABLE);
	evtsel_refused(_metadata, self, 0x1412e, -EOPNOTSUPP,
		       VPMC_REASON_UNAVAILABLE);
}

TEST_F(ioctl, extra_msr)
{
	evtsel_refused(_metadata, self, 0x101b7, -EOPNOTSUPP,
		       VPMC_REASON_EXTRA_MSR);
	evtsel_refused(_metadata, self, 0x101bb, -EOPNOTSUPP,
		       VPMC_REASON_EXTRA_MSR);
}

/* One event, n times, is refused because of that counter. */
static void times_refused(struct __test_metadata *_metadata,
			  FIXTURE_DATA(ioctl) *self, uint64_t evtsel,
			  unsigned int n, uint32_t reason, unsigned int bad)
{
	struct vpmc_control control;

	control_init(&control, 0);
	while (n--)
		control_choose(&control, evtsel, VPMC_ANY);
	EXPECT_EQ(-ENOSPC, try_control(self, &control));
	EXPECT_EQ(reason, control.reason);
	EXPECT_EQ(bad, control.bad_counter);
}

/*
 * One more than there are counters for it: no fixed counter counts branches. Where
 * there are no fixed ones, these are more than all counters.
 */
TEST_F(ioctl, no_counter)
{
	const unsigned int n = machine.nr_gp + 1;
	const bool fixed = machine.nr_fixed;

	times_refused(_metadata, self, EV_BRANCHES, n, fixed ?
		      VPMC_REASON_NO_COUNTER : VPMC_REASON_TOO_MANY, n - fixed);
}

TEST_F(ioctl, too_many)
{
	const unsigned int n = machine.nr_gp + machine.nr_fixed + 1;

	times_refused(_metadata, self, EV_INSNS, n, VPMC_REASON_TOO_MANY, n);
}

/* For another user than root, with perf's default of paranoia. */
TEST_F(ioctl, kernel_mode)
{
	struct vpmc_control control;
	pid_t pid;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "w");

	ASSERT_NE(NULL, file);
	fputs("2\n", file);
	ASSERT_EQ(0, fclose(file));
	pid = fork();
	if (!pid) {
		struct set set;

		if (setgid(1000) || setuid(1000) || set_open(&set, two))
			_exit(1);
		control_init(&control, 0);
		control_add(&control, EV_INSNS, 0);
		control_add(&control, 0x300c4, 1);
		if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control) != -EACCES)
			_exit(2);
		if (control.reason != VPMC_REASON_KERNEL_MODE)
			_exit(3);
		/* Every user may count their own user mode. */
		control.counter[1].evtsel = 0x100c4;
		_exit(vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control) ? 4 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(ioctl, new_with_a_set)
{
	struct vpmc_control control;

	control_init(&control, VPMC_CONTROL_NEW);
	control_add(&control, EV_INSNS, VPMC_ANY);
	control.reason = 99;
	EXPECT_EQ(-EEXIST, try_control(self, &control));
	EXPECT_EQ(VPMC_REASON_NONE, control.reason);
}

/* Returns the number of the thread's set, or -1 if READ and the page differ. */
static int number_of(const struct set *set)
{
	struct vpmc_read read;

	if (vpmc_read(set->fd, &read) || read.set_number != set->page->set_number)
		return -1;
	return read.set_number;
}

/* Each set that CONTROL programs is the next one. Nothing else changes the number. */
TEST(set_number)
{
	static const struct choice one[] = { { EV_INSNS, VPMC_ANY }, {} };
	struct vpmc_control wrong;
	struct set set = { .fd = vpmc_open() };

	ASSERT_LE(0, set.fd);
	set.page = vpmc_map(set.fd);
	ASSERT_NE(MAP_FAILED, set.page);
	EXPECT_EQ(0, number_of(&set));
	ASSERT_EQ(0, set_program(&set, one));
	EXPECT_EQ(1, number_of(&set));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_CLEAR, 0));
	control_init(&wrong, VPMC_CONTROL_NEW);
	control_add(&wrong, EV_INSNS, VPMC_ANY);
	EXPECT_EQ(-EEXIST, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &wrong));
	control_init(&wrong, 0);
	control_add(&wrong, EV_INSNS, 99);
	EXPECT_EQ(-EINVAL, vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &wrong));
	EXPECT_EQ(1, number_of(&set));
	/* The same events again are another set. */
	ASSERT_EQ(0, set_program(&set, one));
	EXPECT_EQ(2, number_of(&set));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(2, number_of(&set));
	set_close(&set);
}

/* Event 0 with a unit mask has a fixed counter alone, whatever comes first. */
TEST(order_of_elements)
{
	static const uint64_t evtsel[] = { EV_INSNS, 0x10100 };
	struct vpmc_control control;
	int fd = vpmc_open(), i;

	ASSERT_LE(0, fd);
	for (i = 0; i < 2; i++) {
		control_init(&control, VPMC_CONTROL_STOPPED);
		control_add(&control, evtsel[i], VPMC_ANY);
		control_add(&control, evtsel[!i], VPMC_ANY);
		EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control));
		EXPECT_EQ(0, vpmc_read_control(fd, &control));
		EXPECT_EQ(0, control.counter[i].index);
		EXPECT_EQ(FIXED(0), control.counter[!i].index);
	}
	EXPECT_EQ(0, vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0));
	close(fd);
}

NEEDS(
	{ "ioctl.unknown_numbers", VPMC },
	{ "ioctl.argument_that_must_be_zero", VPMC },
	{ "ioctl.flags", VPMC },
	{ "ioctl.reserved_fields", VPMC },
	{ "ioctl.new_with_a_set", VPMC },
	{ "ioctl.number_of_counters", PMU | OR_EMPTY },
	{ "ioctl.kernel_mode", PMU | ROOT },
	{ "*", PMU },
);

TEST_HARNESS_MAIN
