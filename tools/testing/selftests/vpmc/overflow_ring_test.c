// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of overflows: each overflow has its record with the exact place. If
 * there is no room, the number of lost records is exact.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "disturb.h"
#include "ring.h"

#define PERIOD	10001
#define TURNS	1000000
#define RECORDS	4096

FIXTURE(overflow_ring)
{
	struct set set;
	const struct vpmc_ring *ring;
};

FIXTURE_SETUP(overflow_ring)
{
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	ASSERT_EQ(0, open_with_ring(&self->set, PERIOD, RECORDS,
				    VPMC_CONTROL_REARM));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
}

FIXTURE_TEARDOWN(overflow_ring)
{
	EXPECT_EQ(0, write_file(RATE, "100000"));
	set_close(&self->set);
}

/* Another period or ring: 0 or -errno. */
static int program_again(FIXTURE_DATA(overflow_ring) *self, uint64_t period,
			 uint16_t records)
{
	int err;

	if (ring_unmap(&self->set, self->ring))
		return -errno;
	self->set.control.counter[0].period = period;
	self->set.control.ring_records = records;
	self->set.control.ring_watermark = records;
	err = set_control(&self->set);
	self->ring = ring_map(&self->set);
	return err ?: self->ring == MAP_FAILED ? -errno : 0;
}

/* How many of the @n records that were not consumed are wrong. */
static int records_wrong(const struct vpmc_ring *ring, uint64_t period,
			 uint32_t n)
{
	uint64_t last = 0;
	int wrong = 0;
	uint32_t i;

	for (i = 0; i < n && wrong < 5; i++) {
		const struct vpmc_record *r = vpmc_ring_record(ring, i);

		wrong += record_of_period_wrong(r, (i + 1) * period,
						CODE_COUNT(0, 0), 0, period);
		wrong += r->ticks <= last;
		last = r->ticks;
	}
	return wrong;
}

/* @turns of the loop with such a period; all records must be there. */
static void record_all(struct __test_metadata *_metadata,
		       FIXTURE_DATA(overflow_ring) *self, uint64_t period,
		       uint64_t turns)
{
	const struct vpmc_ring *ring;
	struct vpmc_read read;
	uint64_t n, late;
	const char *end;

	period = period_here(period);
	tolerance_begin();
	ASSERT_EQ(0, program_again(self, period, RECORDS));
	ring = self->ring;
	ASSERT_EQ(0, set_clear(&self->set));
	EXPECT_EQ(0, vpmc_ring_unread(ring));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, turns, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, wrong_sums_of_overflows(&self->set, &read, measured(turns)));
	n = read.sum[0] / period;
	ASSERT_GT(RECORDS, n);
	EXPECT_EQ(n, vpmc_ring_unread(ring));
	EXPECT_EQ(0, vpmc_ring_lost(ring));
	EXPECT_EQ(n, page_of(&self->set)->overflows);
	/* One that is late may come after the loop. */
	late = counts_are_exact() ? 0 : TOLERANCE_SKID;
	EXPECT_EQ(0, records_wrong(ring, period,
				   (measured(turns).insns - late) / period));
	EXPECT_GT(read.ticks, vpmc_ring_record(ring, n - 1)->ticks);

	/* Nothing is behind them. */
	end = (const char *)ring + ring_size(&self->set.control);
	for (const char *p = (const char *)vpmc_ring_record(ring, n); p < end; p++)
		if (*p)
			ASSERT_EQ(end, p);
}

TEST_F(overflow_ring, every_overflow)
{
	static const uint64_t period[] = { 1000, 1237, 65536, 1000000 };

	for (int i = 0; i < ARRAY_SIZE(period); i++)
		record_all(_metadata, self, period[i], TURNS);
}

TEST_F(overflow_ring, header)
{
	const struct vpmc_ring *ring = self->ring;

	EXPECT_EQ(RECORDS, ring->nr_records);
	EXPECT_EQ(sizeof(struct vpmc_record) + 2 * 8, ring->record_size);
	EXPECT_EQ(2, ring->nr_counters);
	EXPECT_EQ(RECORDS / 2, ring->watermark);
	EXPECT_EQ(0, ring->head);
	EXPECT_EQ(0, ring->tail);
	EXPECT_EQ(0, ring->lost);
	for (int i = 0; i < ARRAY_SIZE(ring->reserved); i++)
		EXPECT_EQ(0, ring->reserved[i]);
}

/* Of a programmable counter, and with other counters beside it. */
TEST_F(overflow_ring, branches)
{
	const uint64_t n = measured(TURNS).branches / PERIOD;
	struct vpmc_control *control = &self->set.control;
	uint64_t i;

	control_init(control, control->flags);
	control_choose(control, EV_INSNS, FIXED(0));
	control_choose(control, EV_BRANCHES, 3);
	control_add_period(control, EV_BRANCHES, VPMC_ANY, PERIOD);
	control->ring_records = 256;
	control->ring_watermark = 256;
	ASSERT_EQ(0, set_control(&self->set));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(n, vpmc_ring_unread(self->ring));
	for (i = 0; i < n; i++) {
		const struct vpmc_record *r = vpmc_ring_record(self->ring, i);
		uint64_t branches = (i + 1) * PERIOD;

		EXPECT_EQ(1 << 2, r->mask);
		EXPECT_EQ((uint64_t)code_loop, r->ip);
		EXPECT_EQ(branches, r->sum[1]);
		EXPECT_EQ(branches, r->sum[2]);
		EXPECT_EQ(CODE_MEASURE_HEAD.insns +
			  2 * (branches - CODE_MEASURE_HEAD.branches),
			  r->sum[0]);
	}
}

/* A small ring is enough for any number of records that are read in time. */
TEST_F(overflow_ring, goes_round)
{
	/* So that no period ends outside of the loop. */
	const uint64_t period = 10000, turns = 75000;
	const struct code_count each = measured(turns);
	struct code_count from = {};
	uint32_t total = 0, i;
	uint64_t at;

	ASSERT_EQ(0, program_again(self, period, 16));
	for (int turn = 0; turn < 100; turn++) {
		uint32_t unread;

		ASSERT_EQ(0, set_measure(&self->set, code_loop, turns, 0));
		unread = vpmc_ring_unread(self->ring);
		EXPECT_EQ((from.insns + each.insns) / period - total, unread);
		for (i = 0; i < unread; i++) {
			at = (uint64_t)++total * period - from.insns;
			ASSERT_EQ(0, record_wrong(vpmc_ring_record(self->ring, i),
						  at, from, 0));
		}
		/* At once, or one after the other. */
		for (i = turn & 1 ? unread : 1; unread; unread -= i)
			ASSERT_EQ(0, ring_consume(&self->set, i));
		from = code_add(from, each);
	}
	EXPECT_EQ(1500, total);
	EXPECT_EQ(total, self->ring->head);
	EXPECT_EQ(total, self->ring->tail);
	EXPECT_EQ(0, self->ring->lost);
	EXPECT_EQ(total, page_of(&self->set)->overflows);
}

/* A full one keeps what it has, and counts what it has no room for. */
TEST_F(overflow_ring, loses)
{
	const struct code_count once = measured(TURNS);
	const uint64_t n = once.insns / PERIOD;
	const uint64_t again = 2 * once.insns / PERIOD - n;
	const volatile struct vpmc_ring *ring;
	uint32_t i;

	ASSERT_EQ(0, program_again(self, PERIOD, 64));
	ring = self->ring;
	ASSERT_LT(64, n);
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(64, vpmc_ring_unread(self->ring));
	EXPECT_EQ(n - 64, ring->lost);
	EXPECT_EQ(0, records_wrong(self->ring, PERIOD, 64));
	EXPECT_EQ(n, page_of(&self->set)->overflows);

	ASSERT_EQ(0, ring_consume(&self->set, 10));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	EXPECT_EQ(64, vpmc_ring_unread(self->ring));
	EXPECT_EQ(n - 64 + again - 10, ring->lost);
	for (i = 0; i < 54; i++)
		EXPECT_EQ(0, record_wrong(vpmc_ring_record(self->ring, i),
					  (i + 11) * PERIOD, CODE_COUNT(0, 0),
					  0));
	for (; i < 64; i++)
		EXPECT_EQ(0, record_wrong(vpmc_ring_record(self->ring, i),
					  (n + i - 53) * PERIOD - once.insns,
					  once, n - 64));
	EXPECT_EQ(n + again, page_of(&self->set)->overflows);
}

/* One record, with room for no more. */
TEST_F(overflow_ring, smallest)
{
	struct vpmc_read read;

	tolerance_begin();
	ASSERT_EQ(0, program_again(self, PERIOD, 1));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
	EXPECT_EQ(0, wrong_sums_of_overflows(&self->set, &read, measured(TURNS)));
	EXPECT_EQ(1, vpmc_ring_unread(self->ring));
	EXPECT_EQ(read.sum[0] / PERIOD - 1, vpmc_ring_lost(self->ring));
	EXPECT_EQ(0, records_wrong(self->ring, PERIOD, 1));
}

/* A set that each overflow stops: one record each time, of that moment. */
TEST_F(overflow_ring, stops)
{
	const struct vpmc_record *r;
	int i;

	tolerance_begin();
	self->set.control.flags &= ~VPMC_CONTROL_REARM;
	ASSERT_EQ(0, program_again(self, PERIOD, 4));
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
		ASSERT_EQ(i, vpmc_ring_unread(self->ring));
		r = vpmc_ring_record(self->ring, i - 1);
		EXPECT_EQ(0, record_wrong(r, PERIOD,
					  CODE_COUNT((i - 1) * PERIOD, (i - 1) *
						     branches_at(PERIOD)), 0));
		EXPECT_EQ(page_of(&self->set)->slot[0].base, r->sum[0]);
		EXPECT_EQ(page_of(&self->set)->slot[1].base, r->sum[1]);
		EXPECT_EQ(page_of(&self->set)->tsc_base, r->ticks);
	}
}

/* Signal and record have the same values. */
TEST_F(overflow_ring, beside_a_signal)
{
	const struct vpmc_record *r;
	uint32_t i, n;

	self->set.control.signal = OVERFLOW_SIGNAL;
	ASSERT_EQ(0, program_again(self, PERIOD, RECORDS));
	ASSERT_EQ(0, take_overflows(&self->set, OVERFLOW_SIGNAL));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	n = overflows_in(measured(TURNS).insns, CODE_OVERFLOW.insns, PERIOD);
	EXPECT_EQ(n, code_overflows);
	ASSERT_EQ(n, vpmc_ring_unread(self->ring));
	for (i = 0; i < n; i++) {
		r = vpmc_ring_record(self->ring, i);
		EXPECT_EQ(code_overflow_log[i].ip, r->ip);
		EXPECT_EQ(code_overflow_log[i].mask, r->mask);
		EXPECT_EQ((i + 1) * PERIOD, r->sum[0]);
	}
}

/* Each counter's periods have their records, and a common one if both end. */
TEST_F(overflow_ring, two_counters)
{
	const uint64_t branches = 1000, insns = 2 * branches + 2;
	const struct code_count whole = measured(TURNS);
	uint64_t n[2] = {}, both = 0, periods = 0;
	const struct vpmc_record *r;
	uint32_t i;

	self->set.control.counter[1].period = branches;
	ASSERT_EQ(0, program_again(self, insns, RECORDS));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	for (i = 0; i < vpmc_ring_unread(self->ring); i++) {
		r = vpmc_ring_record(self->ring, i);
		n[0] += r->mask & 1;
		n[1] += r->mask >> 1 & 1;
		both += r->mask == 3;
		periods += r->periods;
		EXPECT_EQ((r->mask & 1) + (r->mask >> 1), r->periods);
		if (r->mask & 1)
			EXPECT_EQ(n[0] * insns, r->sum[0]);
		if (r->mask & 2)
			EXPECT_EQ(n[1] * branches, r->sum[1]);
	}
	EXPECT_EQ(whole.insns / insns, n[0]);
	EXPECT_EQ(whole.branches / branches, n[1]);
	EXPECT_EQ(3, vpmc_ring_record(self->ring, 0)->mask);
	EXPECT_EQ(periods, page_of(&self->set)->overflows);
	EXPECT_EQ(n[0] + n[1] - both, vpmc_ring_unread(self->ring));
}

/*
 * Repeated until it was disturbed often enough: all records each time. When the
 * disturber's timer expires depends on the emulator.
 */
#define DISTURBED	20

static void record_disturbed(struct __test_metadata *_metadata,
			     FIXTURE_DATA(overflow_ring) *self, pid_t pid,
			     uint64_t (*disturbances)(const struct set *set))
{
	uint64_t times = 0;
	int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < 20 && times <= DISTURBED; i++) {
		record_all(_metadata, self, 20011, 10 * TURNS);
		times += disturbances(&self->set);
	}
	EXPECT_LT(DISTURBED, times);
	EXPECT_EQ(0, stop_disturber(pid));
}

TEST_F(overflow_ring, preempted)
{
	ASSERT_EQ(0, pin(0));
	record_disturbed(_metadata, self, start_preempter(0, 50000),
			 page_switches);
}

TEST_F(overflow_ring, preempted_by_one_like_it)
{
	static const struct choice other[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, VPMC_ANY }, {}
	};

	ASSERT_EQ(0, pin(0));
	record_disturbed(_metadata, self,
			 start_counting_preempter(0, 50000, other),
			 page_switches);
}

TEST_F(overflow_ring, migrated)
{
	record_disturbed(_metadata, self, start_migrator(my_tid(), 50000),
			 page_migrations);
}

/* More often than the administrator allows: a record counts what it merges. */
TEST_F(overflow_ring, too_fast)
{
	const struct vpmc_record *r;
	uint64_t periods = 0, merged = 0;
	uint32_t i;

	ASSERT_EQ(0, program_again(self, 1000, RECORDS));
	ASSERT_EQ(0, set_low_rate());
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 5 * TURNS, 0));
	ASSERT_EQ(0, vpmc_ring_lost(self->ring));
	for (i = 0; i < vpmc_ring_unread(self->ring); i++) {
		r = vpmc_ring_record(self->ring, i);
		periods += r->periods;
		merged += r->periods - 1;
		EXPECT_EQ(periods, r->sum[0] / 1000);
	}
	EXPECT_EQ(measured(5 * TURNS).insns / 1000, periods);
	EXPECT_EQ(periods, page_of(&self->set)->overflows);
	EXPECT_EQ(merged, page_of(&self->set)->merged);
	EXPECT_LT(5000, merged);
}

/* Kernel mode overflows too; the address is the one in user mode. */
TEST_F(overflow_ring, no_kernel_address)
{
	extern const char __executable_start[], etext[];
	struct vpmc_control *control = &self->set.control;
	const uint64_t period = KERNEL_PERIOD;
	uint64_t periods = 0;
	uint32_t i;

	control_init(control, control->flags);
	control_add_period(control, 0x200c0, 1, period);
	control->ring_records = RECORDS;
	control->ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
	ASSERT_EQ(0, set_measure(&self->set, code_syscalls, KERNEL_SYSCALLS, 0));
	EXPECT_LT(20, vpmc_ring_unread(self->ring));
	for (i = 0; i < vpmc_ring_unread(self->ring); i++) {
		const struct vpmc_record *r = vpmc_ring_record(self->ring, i);

		EXPECT_LE((uint64_t)__executable_start, r->ip);
		EXPECT_GE((uint64_t)etext, r->ip);
		EXPECT_EQ(1, r->mask);
		periods += r->periods;
		EXPECT_EQ(periods, r->sum[0] / period);
	}
	EXPECT_EQ(periods, page_of(&self->set)->overflows);
}

/* The watermark, and what is below it. */
TEST_F(overflow_ring, poll)
{
	self->set.control.counter[0].period = PERIOD;
	self->set.control.ring_records = 8;
	self->set.control.ring_watermark = 3;
	ASSERT_EQ(0, set_control(&self->set));
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD, 0));
	EXPECT_EQ(0, polled(&self->set, 0));		/* 2 */
	ASSERT_EQ(0, set_measure(&self->set, code_loop, PERIOD, 0));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));	/* 4 */
	EXPECT_EQ(POLLIN, polled(&self->set, -1));
	ASSERT_EQ(0, ring_consume(&self->set, 1));
	EXPECT_EQ(POLLIN, polled(&self->set, 0));
	ASSERT_EQ(0, ring_consume(&self->set, 1));
	EXPECT_EQ(0, polled(&self->set, 0));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(POLLHUP, polled(&self->set, -1));
}

/* Another thread reads all of them while they come, asleep between them. */
struct reader {
	const struct set *set;
	const struct vpmc_ring *ring;
	uint64_t period;
	uint32_t total;
	uint32_t wakes;
	uint32_t read;
	int wrong;
	pthread_t thread;
};

static void *read_records(void *arg)
{
	struct reader *reader = arg;
	uint32_t i, unread;

	reader->wrong = pin(1) != 0;
	while (reader->read < reader->total && reader->wrong < 5) {
		reader->wrong += polled(reader->set, 60000) != POLLIN;
		unread = vpmc_ring_unread(reader->ring);
		unread -= unread % reader->ring->watermark;
		reader->wrong += !unread;
		for (i = 0; i < unread; i++)
			reader->wrong +=
				record_wrong(vpmc_ring_record(reader->ring, i),
					     ++reader->read * reader->period,
					     CODE_COUNT(0, 0), 0);
		reader->wrong += ring_consume(reader->set, unread) != 0;
		reader->wakes++;
	}
	return NULL;
}

/* Returns how often it was woken. */
static uint32_t wakes_of_reader(struct __test_metadata *_metadata,
				FIXTURE_DATA(overflow_ring) *self)
{
	const uint64_t period = 1237, n = measured(5 * TURNS).insns / period;
	struct reader reader = {
		.set = &self->set, .period = period,
	};

	ASSERT_EQ(0, program_again(self, period, VPMC_RING_MAX_RECORDS / 2));
	ASSERT_EQ(0, ring_unmap(&self->set, self->ring));
	self->set.control.ring_watermark = 100;
	ASSERT_EQ(0, set_control(&self->set));
	self->ring = ring_map(&self->set);
	ASSERT_NE(MAP_FAILED, self->ring);
	ASSERT_EQ(0, set_clear(&self->set));
	reader.ring = self->ring;
	/* What is below the watermark wakes nobody. */
	reader.total = n - n % 100;
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, read_records,
				    &reader));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, 5 * TURNS, 0));
	pthread_join(reader.thread, NULL);
	EXPECT_EQ(0, reader.wrong);
	EXPECT_EQ(n, self->ring->head);
	EXPECT_EQ(0, vpmc_ring_lost(self->ring));
	EXPECT_EQ(n - reader.read, vpmc_ring_unread(self->ring));
	return reader.wakes;
}

/* If its CPU has other work, the reader gets all records at once. */
TEST_F(overflow_ring, poll_wakes)
{
	uint32_t wakes = 0;
	int i;

	for (i = 0; i < test_tries(20) && wakes < 2; i++)
		wakes = wakes_of_reader(_metadata, self);
	EXPECT_LT(1, wakes);
}

/*
 * A ring whose numbers pass 2^32, made by hand: to reach that takes too long.
 */
TEST(numbers_wrap)
{
	static const uint32_t place[] = { 5, 6, 7, 0, 1 };
	struct {
		struct vpmc_ring ring;
		char records[8][sizeof(struct vpmc_record) + 8];
	} r = {
		.ring.nr_records = ARRAY_SIZE(r.records),
		.ring.record_size = sizeof(r.records[0]),
		.ring.nr_counters = 1, .ring.tail = -3, .ring.head = 2,
	};
	int i;

	ASSERT_EQ(ARRAY_SIZE(place), vpmc_ring_unread(&r.ring));
	for (i = 0; i < ARRAY_SIZE(place); i++)
		EXPECT_EQ((void *)r.records[place[i]],
			  (void *)vpmc_ring_record(&r.ring, i));
}

NEEDS(
	{ "global.numbers_wrap", PMU | DISTURBS | ROOT },
	{ "overflow_ring.every_overflow", PMU | DISTURBS | ROOT },
	{ "overflow_ring.header", PMU | DISTURBS | ROOT },
	{ "overflow_ring.migrated", PMU | DISTURBS | ROOT | TWO_CPUS },
	{ "overflow_ring.no_kernel_address", PMU | DISTURBS | ROOT },
	{ "overflow_ring.poll", PMU | DISTURBS | ROOT },
	{ "overflow_ring.preempted*", PMU | DISTURBS | ROOT },
	{ "overflow_ring.smallest", PMU | DISTURBS | ROOT },
	{ "overflow_ring.stops", PMU | DISTURBS | ROOT },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
