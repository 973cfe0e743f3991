// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT uses no counter, but the counters' interrupt. So PT and programmed
 * sets exclude each other. For a machine with PT.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "beside.h"

#define TYPE_FILE	"/sys/bus/event_source/devices/intel_pt/type"

static const struct choice both[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, {}
};

static uint32_t pt_type(void)
{
	FILE *file = fopen(TYPE_FILE, "r");
	uint32_t type = ~0U;

	if (file) {
		if (fscanf(file, "%u", &type) != 1)
			type = ~0U;
		fclose(file);
	}
	return type;
}

/* The calling thread's trace, or with @cpu not -1 that CPU's; or -errno. */
static int open_trace(int cpu)
{
	struct perf_event_attr attr = {
		.type = pt_type(),
		.size = sizeof(attr),
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1,
			 0);

	return fd < 0 ? -errno : fd;
}

/* It can be mapped, started and stopped. */
static void trace_works(struct __test_metadata *_metadata)
{
	struct perf_event_mmap_page *page;
	int fd = open_trace(-1);
	void *aux;

	ASSERT_LE(0, fd);
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	page->aux_offset = 2 * PAGE;
	page->aux_size = 16 * PAGE;
	aux = mmap(NULL, page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   page->aux_offset);
	ASSERT_NE(MAP_FAILED, aux);
	EXPECT_EQ(0, code_measure(fd, PERF_EVENT_IOC_ENABLE,
				  PERF_EVENT_IOC_DISABLE, code_loop, 1000, 0));
	munmap(aux, page->aux_size);
	munmap(page, 2 * PAGE);
	close(fd);
}

static void set_counts(struct __test_metadata *_metadata, struct set *set)
{
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(set, code_loop, 10000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(10000)));
}

FIXTURE(trace)
{
	struct set set;
};

FIXTURE_SETUP(trace)
{
	ASSERT_NE(~0U, pt_type());
	self->set.page = MAP_FAILED;
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(self->set.fd));
}

FIXTURE_TEARDOWN(trace)
{
	set_close(&self->set);
}

TEST_F(trace, trace_first)
{
	struct set *set = &self->set;
	int cpu, fd;

	trace_works(_metadata);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
	for (cpu = -1; cpu < 2; cpu++) {
		fd = open_trace(cpu);
		ASSERT_LE(0, fd);
		EXPECT_EQ(VPMC_HOLDER_TRACE, pmu_holder(set->fd));
		EXPECT_EQ(-EBUSY, set_program(set, both));
		EXPECT_EQ(VPMC_REASON_PMU_TRACE, set->control.reason);
		EXPECT_EQ(2, set->control.bad_counter);
		/* Run time needs no PMU. */
		EXPECT_EQ(0, set_program(set, (struct choice[]){ {} }));
		/* perf's own events may be there beside it. */
		EXPECT_EQ(0, perf_error(1000));
		ASSERT_EQ(0, close(fd));
		EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
		EXPECT_EQ(0, set_program(set, both));
		set_counts(_metadata, set);
		EXPECT_EQ(0, set_program(set, (struct choice[]){ {} }));
	}
	trace_works(_metadata);
}

/* Refused while it traces: the trace goes on. */
TEST_F(trace, tracing)
{
	struct set *set = &self->set;
	int i, fd = open_trace(-1);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(-EBUSY, set_program(set, both));
		EXPECT_EQ(VPMC_REASON_PMU_TRACE, set->control.reason);
	}
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, close(fd));
	EXPECT_EQ(0, set_program(set, both));
	set_counts(_metadata, set);
}

TEST_F(trace, set_first)
{
	struct set *set = &self->set;
	int cpu, i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, set_program(set, both));
		EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set->fd));
		for (cpu = -1; cpu < 2; cpu++)
			EXPECT_EQ(-EBUSY, open_trace(cpu));
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
		EXPECT_EQ(-EBUSY, open_trace(-1));
		EXPECT_EQ(-EBUSY, perf_open_insns());
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
		set_counts(_metadata, set);
		/* Without counters it does not keep anybody out. */
		ASSERT_EQ(0, set_program(set, (struct choice[]){ {} }));
		trace_works(_metadata);
		EXPECT_EQ(0, perf_error(1000));
	}
}

/* Each of the three with the PMU in turn, a hundred times. */
TEST_F(trace, turn_by_turn)
{
	struct set *set = &self->set;
	int i, fd;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, pin(i & 1));
		fd = open_trace(i & 2 ? i & 1 : -1);
		ASSERT_LE(0, fd);
		ASSERT_EQ(-EBUSY, set_program(set, both));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(0, perf_error(100));
		ASSERT_EQ(0, set_program(set, both));
		set_counts(_metadata, set);
		ASSERT_EQ(0, set_program(set, (struct choice[]){ {} }));
	}
}

/* Where counters are borrowed PT needs nothing of the sets, and they count beside it. */
TEST_F(trace, beside_borrowed)
{
	static const struct choice borrowed[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 1 }, {}
	};
	struct set *set = &self->set;
	char before[48];
	int fd;

	ASSERT_EQ(0, chosen_counters(before, sizeof(before)));
	ASSERT_EQ(0, choose_counters("shared"));
	fd = open_trace(-1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, set_program(set, borrowed));
	set_counts(_metadata, set);
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, close(fd));
	set_counts(_metadata, set);
	trace_works(_metadata);
	set_counts(_metadata, set);
	set_close(set);
	set->fd = -1;
	set->page = MAP_FAILED;
	EXPECT_EQ(0, choose_counters(before));
}

NEEDS(
	{ "*", EXACT | ROOT, "Intel PT", "/sys/bus/event_source/devices/intel_pt" },
);

TEST_HARNESS_MAIN
