// SPDX-License-Identifier: GPL-2.0
/*
 * P6's PMU, in its form for 64 bits: stepping 4 of Core 2. Two counters have one enable
 * bit, and a write of a counter takes 32 bits.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "interrupts.h"
#include "msr.h"
#include "perf.h"
#include "refusal.h"
#include "writes.h"

#define COUNTERS	2
#define WIDTH		40
#define COUNTER(i)	(MSR_PERFCTR0 + (i))
#define SELECT(i)	(MSR_EVTSEL0 + (i))
#define USR		0x10000ULL

FIXTURE(p6)
{
	struct set set;
};

FIXTURE_SETUP(p6)
{
	ASSERT_EQ(VPMC_KIND_P6, machine.kind);
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){
			      { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} }));
}

FIXTURE_TEARDOWN(p6)
{
	set_close(&self->set);
}

/* A register of CPU 1, or ~0. */
static uint64_t rdmsr(uint32_t msr)
{
	uint64_t value;

	return msr_read(1, msr, &value) ? ~0ULL : value;
}

TEST_F(p6, info)
{
	EXPECT_STREQ("Intel P6 PMU", (char *)machine.name);
	EXPECT_EQ(COUNTERS, machine.nr_gp);
	EXPECT_EQ(3, machine.gp_mask);
	EXPECT_EQ(0, machine.nr_fixed);
	EXPECT_EQ(0, machine.fixed_mask);
	EXPECT_EQ(WIDTH, machine.width);
	EXPECT_EQ(2, machine.pmu_version);
	EXPECT_EQ(VPMC_FEATURE_RDPMC | VPMC_FEATURE_PMI,
		  machine.features & ~VPMC_FEATURE_TIME);
}

/* Pin control and bit 21 are refused, too. */
TEST_F(p6, reserved_bits)
{
	const uint64_t allowed = 0xff84ffffULL | USR | 1 << 17 | 1 << 20 | EVTSEL_ENABLE;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		bool ok = allowed & 1ULL << bit;

		EXPECT_EQ(ok ? 0 : VPMC_REASON_RESERVED_BIT,
			  refused(self->set.fd, EV_INSNS | 1ULL << bit, VPMC_ANY,
				  ok ? 0 : -EINVAL)) {
			TH_LOG("bit %u", bit);
		}
	}
	EXPECT_EQ(VPMC_REASON_NO_MODE, refused(self->set.fd, 0xc0, VPMC_ANY, -EINVAL));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX,
		  refused(self->set.fd, EV_INSNS, COUNTERS, -EINVAL));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX,
		  refused(self->set.fd, EV_INSNS, FIXED(0), -EINVAL));
	EXPECT_EQ(VPMC_REASON_BAD_INDEX,
		  refused(self->set.fd, EV_INSNS, P4_RDPMC_FAST, -EINVAL));
	/* It would name a fixed counter. */
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE,
		  refused(self->set.fd, EV_REF, VPMC_ANY, -EOPNOTSUPP));
}

/* Which of the counters can count an event: SDM, events of the Core family. */
TEST_F(p6, events_of_one_counter)
{
	static const struct {
		uint64_t evtsel;
		unsigned int counters;
	} event[] = {
		{ USR | 0x10, 1 }, { USR | 0x14, 1 }, { USR | 0xc1, 3 },
		{ USR | 0x11, 2 }, { USR | 0x12, 2 }, { USR | 0x13, 2 },
		{ EV_INSNS, 3 }, { EV_BRANCHES, 3 }, { EV_CYCLES, 3 },
	};
	unsigned int i, index;

	for (i = 0; i < ARRAY_SIZE(event); i++) {
		for (index = 0; index < COUNTERS; index++) {
			bool ok = event[i].counters & 1U << index;

			EXPECT_EQ(ok ? 0 : VPMC_REASON_WRONG_EVENT,
				  refused(self->set.fd, event[i].evtsel, index,
					  ok ? 0 : -EINVAL)) {
				TH_LOG("event %u index %u", i, index);
			}
		}
	}
}

/* CONTROL of two events on any counters: 0, or -errno. @index: where they are. */
static int place(struct set *set, uint64_t first, uint64_t second, uint32_t *index)
{
	struct vpmc_control *control = &set->control;
	int err;

	control_init(control, VPMC_CONTROL_STOPPED);
	control_add(control, first, VPMC_ANY);
	control_add(control, second, VPMC_ANY);
	err = vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, control) ?:
	      vpmc_read_control(set->fd, control);
	index[0] = control->counter[0].index;
	index[1] = control->counter[1].index;
	return err;
}

TEST_F(p6, others_make_way)
{
	struct vpmc_read read;
	uint32_t index[2];

	ASSERT_EQ(0, place(&self->set, EV_INSNS, USR | 0x10, index));
	EXPECT_EQ(1, index[0]);
	EXPECT_EQ(0, index[1]);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(code_add(CODE_MEASURE, CODE_LOOP(1000)).insns, read.sum[0]);

	ASSERT_EQ(0, place(&self->set, USR | 0x12, EV_INSNS, index));
	EXPECT_EQ(1, index[0]);
	EXPECT_EQ(0, index[1]);
	ASSERT_EQ(0, place(&self->set, USR | 0x12, USR | 0xc1, index));
	EXPECT_EQ(1, index[0]);
	EXPECT_EQ(0, index[1]);

	/* Both want the same counter. */
	EXPECT_EQ(-ENOSPC, place(&self->set, USR | 0x10, USR | 0x14, index));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, self->set.control.reason);
	EXPECT_EQ(1, self->set.control.bad_counter);
	EXPECT_EQ(-ENOSPC, place(&self->set, USR | 0x11, USR | 0x13, index));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, self->set.control.reason);
}

/*
 * Counters one by one, in each order. A counter that is not in the set stands, although
 * EN starts it, too, and although it counted an event before.
 */
TEST_F(p6, one_of_two)
{
	static const struct choice choice[][3] = {
		{ { EV_INSNS, 0 } }, { { EV_INSNS, 1 } },
		{ { EV_INSNS, 0 }, { EV_BRANCHES, 1 } }, { { EV_BRANCHES, 1 } },
		{ { EV_BRANCHES, 0 } }, { { EV_INSNS, 1 }, { EV_CYCLES, 0 } },
	};
	unsigned int i, turn, hw;

	for (turn = 0; turn < 3 * ARRAY_SIZE(choice); turn++) {
		uint64_t before[COUNTERS];
		unsigned int used = 0;

		i = turn * 5 % ARRAY_SIZE(choice);
		ASSERT_EQ(0, set_program(&self->set, choice[i]));
		for (const struct choice *c = choice[i]; c->evtsel; c++)
			used |= 1U << c->index;
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));

		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
		for (hw = 0; hw < COUNTERS; hw++)
			before[hw] = rdmsr(COUNTER(hw));
		code_loop(1000, 0);
		for (hw = 0; hw < COUNTERS; hw++) {
			EXPECT_EQ(used >> hw & 1,
				  before[hw] != rdmsr(COUNTER(hw))) {
				TH_LOG("turn %u counter %u", turn, hw);
			}
		}
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	}
}

/* While a set runs, select 0 has EN, and a counter that is not in it has no event. */
TEST_F(p6, selects)
{
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0x5100c0, rdmsr(SELECT(0)));
	EXPECT_EQ(0x1100c4, rdmsr(SELECT(1)));
	EXPECT_EQ(3, rdmsr(MSR_GLOBAL_CTRL) & 3);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0x1100c0, rdmsr(SELECT(0)));

	ASSERT_EQ(0, set_program(&self->set, (struct choice[]){ { EV_INSNS, 0 }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0x5100c0, rdmsr(SELECT(0)));
	EXPECT_EQ(0, rdmsr(SELECT(1)));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));

	ASSERT_EQ(0, set_program(&self->set, (struct choice[]){ { EV_INSNS, 1 }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(EVTSEL_ENABLE, rdmsr(SELECT(0)));
	EXPECT_EQ(0x1100c0, rdmsr(SELECT(1)));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
}

/*
 * A stopped set finds its counters wherever they are: put them just below the
 * boundary, each for itself, and let them cross it. 0 crosses at once.
 */
TEST_F(p6, boundary)
{
	static const unsigned int below[] = { 1, 2, 3, 10, 500, 1001, 0 };
	unsigned int i, at;
	long before;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	for (i = 0; i < ARRAY_SIZE(below); i++) {
		for (at = 0; at < COUNTERS; at++) {
			ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
			ASSERT_EQ(0, msr_write(1, COUNTER(at), -(uint32_t)below[i]));
			before = vpmc_interrupts(1);
			ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
			EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000))) {
				TH_LOG("counter %u, %u below", at, below[i]);
			}
			EXPECT_EQ(below[i] ? 1 : 0, vpmc_interrupts(1) - before);
			/* Beyond the boundary it was not rewritten. */
			EXPECT_EQ(!below[i], !(rdmsr(COUNTER(at)) >> (WIDTH - 1)));
		}
	}
}

/* More than 2^32 instructions, and at each 2^31 an interrupt. */
TEST_F(p6, wraps)
{
	const long n = (3L << 31) / 16 + 1000;
	long before = vpmc_interrupts(1);

	ASSERT_EQ(0, set_measure(&self->set, code_long_loop, n, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LONG_LOOP(n)));
	/* Who comes back may begin anew, up to a crossing earlier. */
	EXPECT_LE(3, vpmc_interrupts(1) - before + page_switches(&self->set));
}

/* Writes of MSRs. Timer interrupts add some. */
TEST_F(p6, writes)
{
	static const struct choice first[] = { { EV_INSNS, 0 }, {} };
	static const struct choice second[] = { { EV_INSNS, 1 }, {} };
	static const struct choice both[] = { { EV_INSNS, 0 }, { EV_BRANCHES, 1 }, {} };
	static const struct choice others[] = { { EV_BRANCHES, 0 }, { EV_INSNS, 1 }, {} };
	const long few = WRITES_TURNS / 5;
	long n;

	ASSERT_EQ(0, set_program(&self->set, first));
	EXPECT_EQ(1, writes_of(&self->set, VPMC_IOC_START, VPMC_IOC_STOP));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(1, writes_of(&self->set, VPMC_IOC_STOP, VPMC_IOC_START));
	ASSERT_EQ(0, set_program(&self->set, second));
	/* Select 1 keeps its value from one START to the next. */
	EXPECT_EQ(1, writes_of(&self->set, VPMC_IOC_START, VPMC_IOC_STOP));

	ASSERT_EQ(0, set_program(&self->set, both));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(1, writes_of(&self->set, VPMC_IOC_STOP, VPMC_IOC_START));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	n = writes_of_switches(&self->set, both, true);
	EXPECT_LT(-few, n);
	EXPECT_GT(few, n);
	/* STOP, two counters, two selects. */
	n = writes_of_switches(&self->set, others, false);
	EXPECT_LT(2 * WRITES_TURNS * 5 - few, n);
	EXPECT_GT(2 * WRITES_TURNS * 5 + few, n);
}

/*
 * No set has the fixed counters, and perf counted with them before. They stand, and tell
 * nothing of that.
 */
TEST_F(p6, fixed_counters_are_empty)
{
	uint64_t value[2];	/* of a group of one: their number first */
	int fd, i;

	set_close(&self->set);
	fd = perf_open_insns();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	code_loop(100000, 0);
	ASSERT_EQ(sizeof(value), read(fd, value, sizeof(value)));
	EXPECT_LT(100000, value[1]);
	close(fd);
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){ { EV_INSNS, 0 }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, vpmc_rdpmc(FIXED(i)));
	code_loop(100000, 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, vpmc_rdpmc(FIXED(i)));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
}

/* While no set counts, perf finds what it left. */
TEST_F(p6, registers_given_back)
{
	uint64_t global, value;
	unsigned int i;
	int cpu;

	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	set_close(&self->set);
	global = rdmsr(MSR_GLOBAL_CTRL);
	ASSERT_EQ(0, msr_write(1, MSR_GLOBAL_CTRL, 0x700000002ULL));
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){ { EV_INSNS, 0 }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000)));
	EXPECT_EQ(3, rdmsr(MSR_GLOBAL_CTRL));
	set_close(&self->set);
	EXPECT_EQ(0x700000002ULL, rdmsr(MSR_GLOBAL_CTRL));
	EXPECT_EQ(0, msr_write(1, MSR_GLOBAL_CTRL, global));
	for (cpu = 0; cpu < 2; cpu++) {
		for (i = 0; i < COUNTERS; i++) {
			EXPECT_EQ(0, msr_read(cpu, SELECT(i), &value));
			EXPECT_EQ(0, value);
			EXPECT_EQ(0, msr_read(cpu, COUNTER(i), &value));
			EXPECT_EQ(0, value);
		}
	}
}

NEEDS(
	{ "*", EXACT | ROOT, "stepping 4 of Core 2", NULL, machine_is_p6 },
);

TEST_HARNESS_MAIN
