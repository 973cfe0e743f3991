// SPDX-License-Identifier: GPL-2.0
/*
 * NetBurst's PMU: 18 counters, each with a CCCR, and ESCRs that counters share.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pmu-test-msr.h>

#include "interrupts.h"
#include "msr.h"
#include "refusal.h"
#include "writes.h"

#define COUNTERS	18
#define COUNTER(i)	(0x300 + (i))
#define CCCR(i)		(0x360 + (i))
#define PEBS_ENABLE	0x3f1
#define PEBS_MATRIX_VERT 0x3f2
#define CCCR_ENABLE	(1ULL << 12)
#define CCCR_OURS	(CCCR_ENABLE | 3 << 16 | 1 << 26)
#define CCCR_OVF	(1ULL << 31)
#define COMPARE		(1ULL << 18)
#define COMPLEMENT	(1ULL << 19)
#define THRESHOLD(n)	((uint64_t)(n) << 20)
#define EDGE		(1ULL << 24)
#define ESCR(bits)	((uint64_t)(bits) << 32)
#define TAG_ENABLE	ESCR(1 << 4)
#define TAG(n)		ESCR((n) << 5)

#define FAST(n)		(P4_RDPMC_FAST | (n))
#define INSNS		(P4_INSNS | P4_USR)
#define BRANCHES	(P4_BRANCHES | P4_USR)
#define CYCLES		(P4_CYCLES | P4_USR)
/* All branches, on the counters of MS. */
#define TYPES		(P4_EVENT(2, 0x04, 0x1e) | P4_USR)
#define UOP_QUEUE	(P4_EVENT(0, 0x09, 1) | P4_USR)
#define X87		(P4_EVENT(1, 0x04, 1 << 15) | P4_USR)
#define REPLAY		(P4_EVENT(5, 0x09, 1) | P4_USR)
#define UOP_TYPE	(P4_EVENT(2, 0x02, 1 << 1) | P4_USR)	/* loads */
#define UOP_STORES	(P4_EVENT(2, 0x02, 1 << 2) | P4_USR)
#define FRONT_END	(P4_EVENT(5, 0x08, 1) | P4_USR)

FIXTURE(p4)
{
	struct set set;
};

FIXTURE_SETUP(p4)
{
	ASSERT_EQ(VPMC_KIND_P4, machine.kind);
	ASSERT_EQ(0, pin(1));
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){
			      { EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {} }));
}

FIXTURE_TEARDOWN(p4)
{
	set_close(&self->set);
}

struct on {
	uint64_t evtsel;
	uint32_t index;
};

/* CONTROL of elements, the last of which has evtsel 0: 0 or -errno. */
static int program(struct set *set, const struct on *on)
{
	struct vpmc_control *control = &set->control;
	int err;

	control_init(control, VPMC_CONTROL_STOPPED);
	for (; on->evtsel; on++)
		control_add(control, on->evtsel, on->index);
	err = vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, control);
	return err ?: vpmc_read_control(set->fd, control);
}

/* A register of CPU 1, or ~0. */
static uint64_t rdmsr(uint32_t msr)
{
	uint64_t value;

	return msr_read(1, msr, &value) ? ~0ULL : value;
}

TEST_F(p4, info)
{
	EXPECT_STREQ("Intel NetBurst PMU", (char *)machine.name);
	EXPECT_EQ(COUNTERS, machine.nr_gp);
	EXPECT_EQ((1 << COUNTERS) - 1, machine.gp_mask);
	EXPECT_EQ(0, machine.nr_fixed);
	EXPECT_EQ(32, machine.width);
	EXPECT_EQ(0, machine.pmu_version);
	EXPECT_EQ(VPMC_FEATURE_RDPMC | VPMC_FEATURE_PMI,
		  machine.features & ~VPMC_FEATURE_TIME);
}

/* Cascade, forced overflow, the other thread's bits and OVF are refused, too. */
TEST_F(p4, reserved_bits)
{
	const uint64_t allowed = 0x1fff000ULL | 1 << 26 | ESCR(0x7ffffffc);
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		uint64_t evtsel = BRANCHES | 1ULL << bit;

		if (allowed & 1ULL << bit) {
			/* It may be another event, which may not exist. */
			EXPECT_NE(VPMC_REASON_RESERVED_BIT,
				  refused(self->set.fd, evtsel, VPMC_ANY, -EINVAL)) {
				TH_LOG("bit %u", bit);
			}
		} else {
			EXPECT_EQ(VPMC_REASON_RESERVED_BIT,
				  refused(self->set.fd, evtsel, VPMC_ANY, -EINVAL)) {
				TH_LOG("bit %u", bit);
			}
		}
	}
	EXPECT_EQ(VPMC_REASON_NO_MODE,
		  refused(self->set.fd, P4_BRANCHES, VPMC_ANY, -EINVAL));
}

TEST_F(p4, indices)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		/* BPU, MS, FLAME and IQ have four, four, four and six counters. */
		uint32_t reason = i < 12 ? VPMC_REASON_WRONG_EVENT :
				  i < COUNTERS ? 0 : VPMC_REASON_BAD_INDEX;

		EXPECT_EQ(reason, refused(self->set.fd, INSNS, FAST(i), reason ? -EINVAL : 0)) {
			TH_LOG("counter %u", i);
		}
		/* Only the fast form is a counter's name. */
		EXPECT_EQ(VPMC_REASON_BAD_INDEX, refused(self->set.fd, INSNS, i, -EINVAL));
		EXPECT_EQ(VPMC_REASON_BAD_INDEX,
			  refused(self->set.fd, INSNS, FIXED(i), -EINVAL));
	}
}

TEST_F(p4, refusals)
{
	struct vpmc_control *control = &self->set.control;
	uint64_t kernel = INSNS | P4_OS;
	unsigned int i;

	EXPECT_EQ(VPMC_REASON_EXTRA_MSR, refused(self->set.fd, REPLAY, VPMC_ANY, -EOPNOTSUPP));
	EXPECT_EQ(VPMC_REASON_UNAVAILABLE,
		  refused(self->set.fd, P4_EVENT(7, 0x3f, 1) | P4_USR, VPMC_ANY, -EOPNOTSUPP));
	/* Of TBPU, and of SAAT with the same bits. The counter tells which. */
	EXPECT_EQ(VPMC_REASON_AMBIGUOUS, refused(self->set.fd, TYPES, VPMC_ANY, -EINVAL));
	EXPECT_EQ(0, refused(self->set.fd, TYPES, FAST(4), 0));

	/* 12 and 13 use one ESCR, 12 and 14 do not. */
	EXPECT_EQ(-ENOSPC, program(&self->set, (struct on[]){
		{ INSNS, FAST(12) }, { kernel, FAST(13) }, {} }));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, control->reason);
	EXPECT_EQ(1, control->bad_counter);
	EXPECT_EQ(0, program(&self->set, (struct on[]){
		{ INSNS, FAST(12) }, { kernel, FAST(14) }, {} }));
	/* There are two ESCRs for three different ones. */
	EXPECT_EQ(-ENOSPC, program(&self->set, (struct on[]){
		{ INSNS, VPMC_ANY }, { kernel, VPMC_ANY }, { P4_INSNS | P4_OS, VPMC_ANY }, {} }));
	EXPECT_EQ(VPMC_REASON_NO_COUNTER, control->reason);
	EXPECT_EQ(2, control->bad_counter);
	EXPECT_EQ(-EINVAL, program(&self->set, (struct on[]){
		{ INSNS, FAST(12) }, { INSNS, FAST(12) }, {} }));
	EXPECT_EQ(VPMC_REASON_INDEX_TAKEN, control->reason);

	control_init(control, VPMC_CONTROL_STOPPED);
	for (i = 0; i < COUNTERS + 1; i++)
		control_add(control, INSNS, VPMC_ANY);
	EXPECT_EQ(-ENOSPC, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	EXPECT_EQ(VPMC_REASON_TOO_MANY, control->reason);
}

/* What the emulator counts on each of the counters. Those of FLAME count nothing there. */
static uint64_t event_of(unsigned int hw)
{
	return hw < 4 ? CYCLES : hw < 8 ? TYPES : hw < 12 ? X87 :
	       hw == 12 || hw == 13 || hw == 16 ? INSNS : BRANCHES;
}

static uint64_t count_of(unsigned int hw, struct code_count count)
{
	return hw < 4 ? count.insns : hw < 8 ? count.branches : hw < 12 ? 0 :
	       hw == 12 || hw == 13 || hw == 16 ? count.insns : count.branches;
}

/* One after the other, and READ and the page say the same. */
TEST_F(p4, each_counter)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(1000));
	struct vpmc_read read;
	unsigned int hw;

	for (hw = 0; hw < COUNTERS; hw++) {
		ASSERT_EQ(0, program(&self->set, (struct on[]){ { event_of(hw), FAST(hw) }, {} }));
		ASSERT_EQ(FAST(hw), self->set.page->slot[0].index);
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		EXPECT_EQ(count_of(hw, want), read.sum[0]) {
			TH_LOG("counter %u", hw);
		}
	}
}

TEST_F(p4, all_counters)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(1000));
	struct on on[COUNTERS + 1] = {};
	struct vpmc_read read;
	unsigned int hw, turn;

	for (hw = 0; hw < COUNTERS; hw++)
		on[hw] = (struct on){ event_of(hw), FAST(hw) };
	ASSERT_EQ(0, program(&self->set, on));
	for (turn = 1; turn <= 3; turn++) {
		ASSERT_EQ(0, pin(turn & 1));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		ASSERT_EQ(COUNTERS, read.nr_counters);
		for (hw = 0; hw < COUNTERS; hw++) {
			EXPECT_EQ(turn * count_of(hw, want), read.sum[hw]) {
				TH_LOG("counter %u", hw);
			}
		}
	}
}

/* The kernel finds counters for as many elements as there are in less than a millisecond. */
TEST_F(p4, placement)
{
	static const uint64_t evtsel[] = {
		CYCLES, UOP_QUEUE, X87, INSNS, CYCLES, UOP_QUEUE, X87, INSNS, CYCLES,
		UOP_QUEUE, X87, INSNS, CYCLES, UOP_QUEUE, X87, BRANCHES, BRANCHES, BRANCHES,
	};
	struct vpmc_control *control = &self->set.control;
	struct timespec before, after;
	uint32_t used = 0;
	unsigned int i;

	control_init(control, VPMC_CONTROL_STOPPED);
	for (i = 0; i < COUNTERS; i++)
		control_add(control, evtsel[i], VPMC_ANY);
	clock_gettime(CLOCK_MONOTONIC, &before);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, control));
	clock_gettime(CLOCK_MONOTONIC, &after);
	EXPECT_GT(1000000, (after.tv_sec - before.tv_sec) * 1000000000L +
			   after.tv_nsec - before.tv_nsec);
	ASSERT_EQ(0, vpmc_read_control(self->set.fd, control));
	for (i = 0; i < COUNTERS; i++)
		used |= 1U << (control->counter[i].index & ~P4_RDPMC_FAST);
	EXPECT_EQ((1U << COUNTERS) - 1, used);
}

/*
 * A stopped set finds its counters wherever they are: put them just below the
 * boundary, each for itself, and let them cross it. 0 crosses at once.
 */
TEST_F(p4, boundary)
{
	static const unsigned int below[] = { 1, 2, 3, 10, 500, 1001, 0 };
	static const unsigned int at[] = { 12, 14 };
	unsigned int i, k;
	long before;

	ASSERT_EQ(0, program(&self->set, (struct on[]){
		{ INSNS, FAST(at[0]) }, { BRANCHES, FAST(at[1]) }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	for (i = 0; i < ARRAY_SIZE(below); i++) {
		for (k = 0; k < ARRAY_SIZE(at); k++) {
			uint64_t value = -(uint64_t)below[i] & ((1ULL << 40) - 1);

			ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
			ASSERT_EQ(0, msr_write(1, COUNTER(at[k]), value));
			ASSERT_EQ(0, msr_write(1, COUNTER(at[k]), value));
			before = vpmc_interrupts(1);
			ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
			EXPECT_EQ(0, wrong_after(&self->set, CODE_LOOP(1000))) {
				TH_LOG("counter %u, %u below", at[k], below[i]);
			}
			EXPECT_EQ(below[i] ? 1 : 0, vpmc_interrupts(1) - before);
		}
	}
}

/* It would interrupt again and again. STOP clears it in any case. */
TEST_F(p4, overflow_bit)
{
	const uint64_t value = -500ULL & ((1ULL << 40) - 1);
	long before = vpmc_interrupts(1);

	ASSERT_EQ(0, program(&self->set, (struct on[]){ { INSNS, FAST(12) }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, msr_write(1, COUNTER(12), value));
	ASSERT_EQ(0, msr_write(1, COUNTER(12), value));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	code_loop(1000, 0);
	EXPECT_EQ(1, vpmc_interrupts(1) - before);
	EXPECT_EQ(CCCR_ENABLE, rdmsr(CCCR(12)) & (CCCR_OVF | CCCR_ENABLE));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
}

/* One counter and one ESCR for different selections, on the same CPU. */
TEST_F(p4, escr_changes)
{
	const uint64_t user = code_add(CODE_MEASURE, CODE_SYSCALLS(100)).insns;
	struct vpmc_read read;
	int turn;

	for (turn = 0; turn < 3; turn++) {
		ASSERT_EQ(0, program(&self->set, (struct on[]){ { INSNS, FAST(12) }, {} }));
		ASSERT_EQ(0, set_measure(&self->set, code_syscalls, 100, 0));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		EXPECT_EQ(user, read.sum[0]);
		ASSERT_EQ(0, program(&self->set, (struct on[]){
			{ INSNS | P4_OS, FAST(12) }, {} }));
		ASSERT_EQ(0, set_measure(&self->set, code_syscalls, 100, 0));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		EXPECT_LT(2 * user, read.sum[0]);
	}
}

/* More than 2^32 instructions, and at each 2^31 an interrupt. */
TEST_F(p4, wraps)
{
	const long n = (3L << 31) / 16 + 1000;
	long before = vpmc_interrupts(1);

	ASSERT_EQ(0, set_measure(&self->set, code_long_loop, n, 0));
	EXPECT_EQ(0, wrong_after(&self->set, CODE_LONG_LOOP(n)));
	/* Who comes back may begin anew, up to a crossing earlier. */
	EXPECT_LE(3, vpmc_interrupts(1) - before + page_switches(&self->set));
}

/* What another user left in CCCRs and ESCRs does not count beside a set. */
TEST_F(p4, stale_registers)
{
	struct vpmc_read read;
	uint64_t before[COUNTERS];
	unsigned int hw;

	set_close(&self->set);
	ASSERT_EQ(0, msr_write(1, 0x3b8, (uint32_t)(2 << 25 | 1 << 9 | 0xc)));
	ASSERT_EQ(0, msr_write(1, 0x3b9, (uint32_t)(2 << 25 | 1 << 9 | 0xc)));
	for (hw = 12; hw < COUNTERS; hw++)
		ASSERT_EQ(0, msr_write(1, CCCR(hw), CCCR_ENABLE | 3 << 16 | 4 << 13));
	/* perf leaves these after an event of caches. */
	ASSERT_EQ(0, msr_write(1, PEBS_ENABLE, 1 << 24 | 1));
	ASSERT_EQ(0, msr_write(1, PEBS_MATRIX_VERT, 1));
	ASSERT_EQ(0, set_open(&self->set, (struct choice[]){ { EV_CYCLES, VPMC_ANY }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	for (hw = 0; hw < COUNTERS; hw++)
		before[hw] = rdmsr(COUNTER(hw));
	code_syscalls(100, 0);
	for (hw = 0; hw < COUNTERS; hw++) {
		bool used = FAST(hw) == self->set.page->slot[0].index;

		EXPECT_EQ(used, before[hw] != rdmsr(COUNTER(hw))) {
			TH_LOG("counter %u", hw);
		}
		EXPECT_EQ(used, !!(rdmsr(CCCR(hw)) & CCCR_ENABLE)) {
			TH_LOG("CCCR %u", hw);
		}
	}
	EXPECT_EQ(0, rdmsr(PEBS_ENABLE));
	EXPECT_EQ(0, rdmsr(PEBS_MATRIX_VERT));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	set_close(&self->set);
	for (hw = 0; hw < COUNTERS; hw++) {
		EXPECT_EQ(0, rdmsr(CCCR(hw)));
		EXPECT_EQ(0, rdmsr(COUNTER(hw)));
	}
	EXPECT_EQ(0, rdmsr(0x3b8));
	self->set.fd = -1;
}

/* While a set runs, its CCCRs are enabled with both thread bits and the interrupt. */
TEST_F(p4, registers)
{
	ASSERT_EQ(0, program(&self->set, (struct on[]){
		{ INSNS, FAST(12) }, { BRANCHES, FAST(14) }, {} }));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(CCCR_OURS | 4 << 13, rdmsr(CCCR(12)));
	EXPECT_EQ(CCCR_OURS | 5 << 13, rdmsr(CCCR(14)));
	EXPECT_EQ(INSNS >> 32, rdmsr(0x3b8));
	EXPECT_EQ(BRANCHES >> 32, rdmsr(0x3cd));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, rdmsr(CCCR(12)) & CCCR_ENABLE);
	EXPECT_EQ(0, rdmsr(CCCR(14)) & CCCR_ENABLE);
}

/* Writes of MSRs. Timer interrupts add some. */
TEST_F(p4, writes)
{
	static const struct choice mine[] = {
		{ EV_INSNS, VPMC_ANY }, { EV_BRANCHES, VPMC_ANY }, {}
	};
	static const struct choice others[] = {
		{ EV_KERNEL_INSNS, VPMC_ANY }, { EV_CYCLES, VPMC_ANY }, {}
	};
	static const struct choice on_12[] = { { EV_INSNS, FAST(12) }, {} };
	static const struct choice on_13[] = { { EV_INSNS, FAST(13) }, {} };
	const long n = 2, few = WRITES_TURNS / 5;
	long added;

	EXPECT_EQ(n, writes_of(&self->set, VPMC_IOC_START, VPMC_IOC_STOP));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_START, 0));
	EXPECT_EQ(n, writes_of(&self->set, VPMC_IOC_STOP, VPMC_IOC_START));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	added = writes_of_switches(&self->set, mine, true);
	EXPECT_LT(-few, added);
	EXPECT_GT(few, added);
	/* STOP and START of two counters each, and one ESCR that differs. */
	added = writes_of_switches(&self->set, others, true);
	EXPECT_LT(2 * WRITES_TURNS * (2 * n + 1) - few, added);
	EXPECT_GT(2 * WRITES_TURNS * (2 * n + 1) + few, added);

	/* To another address space: at most START, the ESCRs, and each counter twice. */
	added = writes_of_switches(&self->set, others, false);
	EXPECT_LT(2 * WRITES_TURNS * 2 * n - few, added);
	EXPECT_GT(2 * WRITES_TURNS * (n + 4 * n) + few, added);

	/* Both counters use one ESCR, which keeps its value. */
	ASSERT_EQ(0, set_program(&self->set, on_12));
	added = writes_of_switches(&self->set, on_13, true);
	EXPECT_LT(2 * WRITES_TURNS * 2 - few, added);
	EXPECT_GT(2 * WRITES_TURNS * 2 + few, added);
}

/*
 * Filters. An instruction is a cycle here, so a cycle has one event or none. A complemented
 * comparison ignores the modes: it counts cycles of the kernel, too.
 */
TEST_F(p4, filters)
{
	const struct code_count want = code_add(CODE_MEASURE, CODE_LOOP(1000));
	uint64_t entries = ~0ULL;
	struct vpmc_read read;
	int run;

	ASSERT_EQ(0, program(&self->set, (struct on[]){
		{ INSNS | COMPARE, FAST(12) },
		{ INSNS | COMPARE | THRESHOLD(1), FAST(13) },
		{ INSNS | COMPLEMENT | THRESHOLD(5) | EDGE, FAST(16) }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(want.insns, read.sum[0]);
	EXPECT_EQ(0, read.sum[1]);
	/* Without COMPARE the others have no effect. */
	EXPECT_EQ(want.insns, read.sum[2]);

	ASSERT_EQ(0, program(&self->set, (struct on[]){
		{ CYCLES | COMPARE | EDGE, FAST(0) },
		{ CYCLES | P4_OS | COMPARE | COMPLEMENT | THRESHOLD(15), FAST(2) },
		{ CYCLES | P4_OS, FAST(3) }, {} }));
	/* It enters user mode after START, after each system call, and after interrupts. */
	for (run = 0; run < 20; run++) {
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_syscalls, 1000, 0));
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		entries = read.sum[0] < entries ? read.sum[0] : entries;
		EXPECT_EQ(read.sum[2], read.sum[1]);
	}
	EXPECT_EQ(1000 + 1, entries);
}

/* Tags: loads of user mode, and the tags of one set do not remain for the next. */
TEST_F(p4, tags)
{
	struct vpmc_read read, again;

	ASSERT_EQ(0, program(&self->set, (struct on[]){
		{ UOP_TYPE | TAG_ENABLE, FAST(14) }, { FRONT_END, FAST(12) }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_touch, (long)&read, 1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, read.sum[0]);
	EXPECT_LT(0, read.sum[1]);
	ASSERT_EQ(0, program(&self->set, (struct on[]){ { FRONT_END, FAST(12) }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_touch, (long)&read, 1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &again));
	EXPECT_EQ(0, again.sum[0]);
}

/* A tag acts on all counters at retirement: nobody adds one to a set that others have. */
TEST_F(p4, tags_are_not_added)
{
	struct vpmc_control more;
	struct vpmc_read before, after;

	ASSERT_EQ(0, program(&self->set, (struct on[]){
		{ UOP_TYPE | TAG_ENABLE, FAST(14) }, { FRONT_END, FAST(12) }, {} }));
	ASSERT_EQ(0, set_measure(&self->set, code_touch, (long)&before, 1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &before));
	control_init(&more, VPMC_CONTROL_ADD);
	control_add(&more, UOP_STORES | TAG_ENABLE, FAST(13));
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, &more));
	EXPECT_EQ(VPMC_REASON_RESERVED_BIT, more.reason);
	EXPECT_EQ(0, more.bad_counter);
	/* The same event without the tag can be added, and changes nothing. */
	control_init(&more, VPMC_CONTROL_ADD);
	control_add(&more, UOP_STORES, FAST(13));
	EXPECT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CONTROL, &more));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_touch, (long)&after, 1));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &after));
	EXPECT_EQ(before.sum[1], after.sum[1]);
}

/* Who may not count the kernel may not count cycles of all modes either. */
TEST_F(p4, complement_counts_the_kernel)
{
	const uint64_t filter = COMPARE | COMPLEMENT | THRESHOLD(15);
	struct vpmc_control mine;
	pid_t pid;

	EXPECT_EQ(0, refused(self->set.fd, CYCLES | filter, VPMC_ANY, 0));
	pid = fork();
	if (!pid) {
		struct set set = { .page = MAP_FAILED };

		if (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000))
			_exit(1);
		set.fd = vpmc_open();
		control_init(&mine, VPMC_CONTROL_STOPPED);
		control_add(&mine, CYCLES, VPMC_ANY);
		if (set.fd < 0 || vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &mine))
			_exit(2);
		if (program(&set, (struct on[]){ { CYCLES | P4_OS, VPMC_ANY }, {} }) != -EACCES)
			_exit(3);
		_exit(program(&set, (struct on[]){ { CYCLES | filter, VPMC_ANY }, {} }) == -EACCES ?
		      0 : 4);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* What CPU 0 counts ends when a CPU that cannot have counters is told to come. */
static int wrong_when_comes(const char *file, const char *text)
{
	static const struct choice one[] = { { EV_INSNS, VPMC_ANY }, {} };
	struct vpmc_control control;
	struct vpmc_read read;
	struct set set;

	if (pin(0) || set_open(&set, one) || set_measure(&set, code_loop, 1000, 0) ||
	    wrong_after(&set, CODE_LOOP(1000)) || vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return 1;
	if (write_file(file, text))
		return 2;
	if (set.page->state != VPMC_STATE_REVOKED || vpmc_read(set.fd, &read) || read.sum[0] < 1000)
		return 3;
	control_of(&control, one, VPMC_CONTROL_STOPPED);
	if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control) != -ENODEV ||
	    control.reason != VPMC_REASON_NO_PMU)
		return 4;
	/* Run time is left. */
	control_init(&control, 0);
	if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &control))
		return 5;
	set_close(&set);
	return 0;
}

/* Hyper-threads share their counters. The machine was booted with nosmt. */
TEST(sibling_comes)
{
	EXPECT_EQ(0, wrong_when_comes("/sys/devices/system/cpu/smt/control", "on"));
}

/*
 * The bits that are written are those of a core's first hyper-thread. The machine was booted
 * with CPU 0 alone, and CPU 3 is the second hyper-thread of the other core.
 */
TEST(second_thread_comes)
{
	EXPECT_EQ(0, wrong_when_comes("/sys/devices/system/cpu/cpu3/online", "1"));
}

NEEDS(
	{ "*", EXACT | ROOT, "NetBurst's PMU", NULL, machine_is_p4 },
);

TEST_HARNESS_MAIN
