// SPDX-License-Identifier: GPL-2.0
/*
 * AMD's PMU: what CONTROL refuses there, where events are placed, and that only
 * the values show an overflow. The guests file runs each test where it fits.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "interrupts.h"
#include "refusal.h"

#define USR		0x10000ULL
#define EVENT(n)	(USR | ((n) & 0xff) | ((n) & 0xf00ULL) << 24)
#define UMASK(n)	((uint64_t)(n) << 8)

#define AMD_INSNS	EVENT(0xc0)
#define AMD_BRANCHES	EVENT(0xc2)
#define AMD_CYCLES	EVENT(0x76)

#define COUNTERS	6	/* with the core extension */

/* PerfCntrGlobalStatus, Ctl, StatusSet of PerfMonV2 */
#define V2_STATUS	0xc0000300
#define V2_CTL		0xc0000301
#define V2_STATUS_SET	0xc0000303

FIXTURE(amd)
{
	struct set set;
	int msr;
};

FIXTURE_SETUP(amd)
{
	ASSERT_EQ(VPMC_KIND_AMD, machine.kind);
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){
			      { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} }));
	self->msr = open("/dev/cpu/1/msr", O_RDWR);
	ASSERT_LE(0, self->msr);
}

FIXTURE_TEARDOWN(amd)
{
	close(self->msr);
	set_close(&self->set);
}

static uint32_t counter_msr(unsigned int i)
{
	return machine.nr_gp > 4 ? 0xc0010201 + 2 * i : 0xc0010004 + i;
}

static uint32_t select_msr(unsigned int i)
{
	return machine.nr_gp > 4 ? 0xc0010200 + 2 * i : 0xc0010000 + i;
}

static uint64_t rdmsr(int fd, uint32_t msr)
{
	uint64_t value;

	return pread(fd, &value, sizeof(value), msr) == sizeof(value) ?
	       value : ~0ULL;
}

static void info_is(struct __test_metadata *_metadata, unsigned int n,
		    unsigned int version)
{
	uint32_t global = version >= 2 ? VPMC_FEATURE_GLOBAL_CTRL : 0;

	EXPECT_EQ(n, machine.nr_gp);
	EXPECT_EQ((1ULL << n) - 1, machine.gp_mask);
	EXPECT_EQ(0, machine.nr_fixed);
	EXPECT_EQ(0, machine.fixed_mask);
	EXPECT_EQ(48, machine.width);
	EXPECT_EQ(version, machine.pmu_version);
	EXPECT_EQ(VPMC_FEATURE_RDPMC | VPMC_FEATURE_PMI |
		  VPMC_FEATURE_FULL_WIDTH | global,
		  machine.features & ~VPMC_FEATURE_TIME);
	EXPECT_STREQ("AMD PMU", (char *)machine.name);
}

TEST_F(amd, info_4)
{
	info_is(_metadata, 4, 0);
}

TEST_F(amd, info_6)
{
	info_is(_metadata, 6, 0);
}

TEST_F(amd, info_v2)
{
	info_is(_metadata, 6, 2);
}

/* CPUID may tell of fewer with version 2 than version 1 has. */
TEST_F(amd, info_v2_of_4)
{
	info_is(_metadata, 4, 2);
}

static void reserved_bits(struct __test_metadata *_metadata, int fd,
			  uint64_t allowed)
{
	unsigned int bit;

	/* The kernel ignores the bits that it sets. Another test has the modes. */
	allowed |= USR | 1 << 17 | 1 << 20 | 1 << 22;
	for (bit = 0; bit < 64; bit++) {
		bool ok = allowed & 1ULL << bit;

		EXPECT_EQ(ok ? 0 : VPMC_REASON_RESERVED_BIT,
			  refused(fd, USR | 1ULL << bit, VPMC_ANY,
				  ok ? 0 : -EINVAL)) {
			TH_LOG("bit %u", bit);
		}
	}
	EXPECT_EQ(VPMC_REASON_NO_MODE, refused(fd, 0xc0, VPMC_ANY, -EINVAL));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX,
		  refused(fd, AMD_INSNS, FIXED(0), -EINVAL));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX,
		  refused(fd, AMD_INSNS, machine.nr_gp, -EINVAL));
}

/* 19 is pin control, which these machines do not have. */
TEST_F(amd, reserved_bits_k8)
{
	reserved_bits(_metadata, self->set.fd, 0xff84ffffULL);
}

TEST_F(amd, reserved_bits_10h)
{
	reserved_bits(_metadata, self->set.fd, 0xfff84ffffULL);
}

/* It counts for all cores of the chip. */
TEST_F(amd, northbridge)
{
	static const uint16_t event[] = { 0xe0, 0xe9, 0xf0, 0xff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event); i++)
		EXPECT_EQ(VPMC_REASON_UNAVAILABLE,
			  refused(self->set.fd, EVENT(event[i]), VPMC_ANY,
				  -EOPNOTSUPP));
}

/* From family 17h on these need two counters. */
TEST_F(amd, merged_counters)
{
	EXPECT_EQ(VPMC_REASON_EXTRA_MSR,
		  refused(self->set.fd, EVENT(0x003) | UMASK(0xff), VPMC_ANY,
			  -EOPNOTSUPP));
	EXPECT_EQ(VPMC_REASON_EXTRA_MSR,
		  refused(self->set.fd, EVENT(0xfff), VPMC_ANY, -EOPNOTSUPP));
	/* The PMU does not tell which other events exist. */
	EXPECT_EQ(0, refused(self->set.fd, EVENT(0x0e0), VPMC_ANY, 0));
	EXPECT_EQ(0, refused(self->set.fd, EVENT(0x103), VPMC_ANY, 0));
}

/* Which of its counters can count an event, by the BKDG of family 15h. */
TEST_F(amd, events_15h)
{
	static const struct {
		uint64_t evtsel;
		unsigned int counters;
	} event[] = {
		{ EVENT(0x000) | UMASK(0xf0), 0x38 },
		{ EVENT(0x000) | UMASK(0x11), 0x08 },
		{ EVENT(0x003), 0x08 }, { EVENT(0x00b), 0x08 },
		{ EVENT(0x00d), 0x08 }, { EVENT(0x001), 0x38 },
		{ EVENT(0x004) | UMASK(0x02), 0x38 },
		{ EVENT(0x004) | UMASK(0x03), 0x08 }, { EVENT(0x011), 0x38 },
		{ EVENT(0x020), 0x3f }, { EVENT(0x023), 0x07 },
		{ EVENT(0x02d), 0x08 }, { EVENT(0x02e), 0x09 },
		{ EVENT(0x031) | UMASK(0x04), 0x07 },
		{ EVENT(0x031) | UMASK(0x06), 0x00 }, { EVENT(0x035), 0x3f },
		{ EVENT(0x041), 0x3f }, { EVENT(0x043), 0x07 },
		{ EVENT(0x045), 0x07 }, { EVENT(0x046), 0x07 },
		{ EVENT(0x052), 0x3f }, { EVENT(0x054), 0x07 },
		{ EVENT(0x055), 0x07 }, { EVENT(0x065), 0x07 },
		{ AMD_CYCLES, 0x07 }, { EVENT(0x080), 0x07 },
		{ EVENT(0x08f), 0x01 }, { EVENT(0x09a), 0x07 },
		{ EVENT(0x0a0), 0x00 }, { EVENT(0x0b8), 0x00 },
		{ AMD_INSNS, 0x3f }, { AMD_BRANCHES, 0x3f },
		{ EVENT(0x0d0), 0x07 }, { EVENT(0x0db), 0x3f },
		{ EVENT(0x0df), 0x3f }, { EVENT(0x187), 0x01 },
		{ EVENT(0x188), 0x01 }, { EVENT(0x1c0), 0x38 },
		{ EVENT(0x1cf), 0x3f }, { EVENT(0x1d0), 0x07 },
		{ EVENT(0x1d6), 0x3f }, { EVENT(0x1d8), 0x3f },
	};
	unsigned int i, index;

	for (i = 0; i < ARRAY_SIZE(event); i++) {
		for (index = 0; index < COUNTERS; index++) {
			bool ok = event[i].counters & 1U << index;
			bool none = !event[i].counters;

			EXPECT_EQ(ok ? 0 : none ? VPMC_REASON_UNAVAILABLE :
				  VPMC_REASON_WRONG_EVENT,
				  refused(self->set.fd, event[i].evtsel, index,
					  ok ? 0 : none ? -EOPNOTSUPP : -EINVAL)) {
				TH_LOG("evtsel %#llx index %u", (unsigned long
				       long)event[i].evtsel, index);
			}
		}
	}
}

/* The first and the last one take counters that others need. All count. */
TEST_F(amd, placed_15h)
{
	static const uint64_t evtsel[COUNTERS] = {
		AMD_INSNS, AMD_BRANCHES, AMD_INSNS, AMD_CYCLES, AMD_CYCLES,
		AMD_CYCLES,
	};
	struct vpmc_control *control = &self->set.control;
	unsigned int i, used = 0;

	control_init(control, VPMC_CONTROL_STOPPED);
	for (i = 0; i < COUNTERS; i++)
		control_add(control, evtsel[i], VPMC_ANY);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, control));
	for (i = 0; i < COUNTERS; i++) {
		ASSERT_GT(COUNTERS, control->counter[i].index);
		used |= 1U << control->counter[i].index;
		if (evtsel[i] == AMD_CYCLES)
			EXPECT_GT(3, control->counter[i].index);
	}
	EXPECT_EQ(0x3f, used);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));

	/* What was asked for stays: the third of three has no counter left. */
	control_init(control, VPMC_CONTROL_STOPPED);
	control_add(control, AMD_INSNS, 1);
	for (i = 0; i < 3; i++)
		control_add(control, AMD_CYCLES, VPMC_ANY);
	EXPECT_EQ(-ENOSPC, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, control->reason);
	EXPECT_EQ(3, control->bad_counter);
}

/*
 * Family 15h with four counters is one that a hypervisor shows, which counts by
 * events of its own: as for perf, each counter counts each event.
 */
TEST_F(amd, placed_15h_of_4)
{
	static const uint64_t event[] = { EVENT(0x000), EVENT(0x1c0) };
	struct vpmc_control *control = &self->set.control;
	unsigned int i, at;

	ASSERT_EQ(4, machine.nr_gp);
	for (i = 0; i < ARRAY_SIZE(event); i++) {
		for (at = 0; at < 4; at++)
			EXPECT_EQ(0, refused(self->set.fd, event[i], at, 0));
		control_init(control, VPMC_CONTROL_STOPPED);
		for (at = 0; at < 4; at++)
			control_add(control, event[i], VPMC_ANY);
		EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
		EXPECT_EQ(0, vpmc_read_control(self->set.fd, control));
		for (at = 0; at < 4; at++)
			EXPECT_EQ(at, control->counter[at].index);
	}
	EXPECT_EQ(VPMC_REASON_BAD_INDEX,
		  refused(self->set.fd, AMD_INSNS, 4, -EINVAL));
	EXPECT_EQ(0, set_program(&self->set, (struct choice[]){
				      { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} }));
	EXPECT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
}

/*
 * A stopped set finds its counters wherever they are: put them just below the
 * boundary, each for itself, and let them cross it. 0 crosses at once.
 */
TEST_F(amd, boundary)
{
	static const unsigned int below[] = { 1, 2, 3, 10, 500, 1001, 0 };
	unsigned int i, at;
	long before;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	for (i = 0; i < ARRAY_SIZE(below); i++) {
		for (at = 0; at < 2; at++) {
			uint64_t value = -(uint64_t)below[i] & ((1ULL << 48) - 1);

			ASSERT_EQ(0, ioctl(self->set.fd, VPMC_IOC_CLEAR, NULL));
			ASSERT_EQ(8, pwrite(self->msr, &value, sizeof(value),
					    counter_msr(at)));
			before = vpmc_interrupts(1);
			ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
			EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000))) {
				TH_LOG("counter %u, %u below", at, below[i]);
			}
			EXPECT_EQ(below[i] ? 1 : 0, vpmc_interrupts(1) - before);
			/* Beyond the boundary it was not rewritten. */
			EXPECT_EQ(!below[i], !(rdmsr(self->msr, counter_msr(at)) >> 47));
		}
	}
}

/* While no set counts, perf finds what it left: zero. */
TEST_F(amd, registers_given_back)
{
	bool global = machine.features & VPMC_FEATURE_GLOBAL_CTRL;
	unsigned int i;
	int cpu;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(global ? 1 << 22 : 0, rdmsr(self->msr, select_msr(0)) & 1 << 22);
	EXPECT_NE(0, rdmsr(self->msr, select_msr(0)));
	for (i = 0; i < machine.nr_gp; i++)
		EXPECT_NE(0, rdmsr(self->msr, counter_msr(i)));
	set_close(&self->set);
	for (cpu = 0; cpu < 2; cpu++) {
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
		fd = open(path, O_RDONLY);
		for (i = 0; i < machine.nr_gp; i++) {
			EXPECT_EQ(0, rdmsr(fd, counter_msr(i)));
			EXPECT_EQ(0, rdmsr(fd, select_msr(i)));
		}
		close(fd);
	}
	self->set.fd = -1;
}

static int wrmsr(int fd, uint32_t msr, uint64_t value)
{
	return pwrite(fd, &value, sizeof(value), msr) == sizeof(value) ? 0 : -1;
}

/* One write starts all counters, and one stops them. */
TEST_F(amd, v2_starts_and_stops)
{
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, rdmsr(self->msr, V2_CTL));
	EXPECT_EQ(1 << 22, rdmsr(self->msr, select_msr(0)) & 1 << 22);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(3, rdmsr(self->msr, V2_CTL));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, rdmsr(self->msr, V2_CTL));
}

/*
 * Firmware left a counter on and status bits set. The counter does not count
 * beside a set, its overflow is charged to no set, and the global register is
 * restored.
 */
TEST_F(amd, v2_left_on)
{
	uint64_t stale;

	set_close(&self->set);
	ASSERT_EQ(0, wrmsr(self->msr, V2_CTL, 0x3f));
	ASSERT_EQ(0, wrmsr(self->msr, V2_STATUS_SET, 0x21));
	ASSERT_EQ(0, wrmsr(self->msr, select_msr(5), 0x4300c0));
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){
			      { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(0, rdmsr(self->msr, V2_STATUS));
	EXPECT_EQ(0, rdmsr(self->msr, select_msr(5)));
	stale = rdmsr(self->msr, counter_msr(5));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(stale, rdmsr(self->msr, counter_msr(5)));

	/* What overflows last is acknowledged before perf comes. */
	ASSERT_EQ(0, wrmsr(self->msr, V2_STATUS_SET, 0x3f));
	set_close(&self->set);
	EXPECT_EQ(0x3f, rdmsr(self->msr, V2_CTL));
	EXPECT_EQ(0, rdmsr(self->msr, V2_STATUS));
	EXPECT_EQ(0, rdmsr(self->msr, counter_msr(5)));
	EXPECT_EQ(0, wrmsr(self->msr, V2_CTL, 0));
	self->set.fd = -1;
}

NEEDS(
	{ "*", EXACT | ROOT, "a PMU as AMD makes it", NULL, machine_is_amd },
);

TEST_HARNESS_MAIN
