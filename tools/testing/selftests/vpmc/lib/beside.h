/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets beside perf: which counters belong to whom, and what both count at the
 * same time.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef BESIDE_H
#define BESIDE_H

#include "overflow.h"
#include "perf_samples.h"

#define COUNTERS	"/proc/sys/kernel/vpmc_counters"

/* Programmable counters, at most. */
#define MAX_GP		8

/* Chooses which counters sets can have: 0 or -errno. */
static inline int choose_counters(const char *text)
{
	return write_file(COUNTERS, text);
}

/* The choice that is in force. */
static inline int chosen_counters(char *text, size_t size)
{
	int fd = open(COUNTERS, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	close(fd);
	text[n < 0 ? 0 : n] = 0;
	return n > 0 ? 0 : -1;
}

/*
 * The reason when events of perf keep counters from sets. The hard-lockup watchdog has
 * such an event. While it is on, the kernel does not tell it from others.
 */
static inline unsigned int reason_of_perf(void)
{
	return has_watchdog() ? VPMC_REASON_PMU_WATCHDOG : VPMC_REASON_PMU_PERF;
}

/* Instructions, branches and cycles in user mode, as a group: 0 or -errno. */
static inline int perf_open_three(int *fd)
{
	static const uint64_t config[] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		PERF_COUNT_HW_CPU_CYCLES,
	};
	int i;

	for (i = 0; i < 3; i++) {
		fd[i] = perf_open(PERF_TYPE_HARDWARE, config[i], PERF_USER,
				  i ? fd[0] : -1);
		if (fd[i] < 0)
			return fd[i];
	}
	return 0;
}

static inline void perf_close(int *fd)
{
	int i;

	for (i = 0; i < 3 && fd[0] >= 0; i++)
		close(fd[i]);
	fd[0] = -1;
}

/*
 * Stores what perf counts while the set counts a loop, plus a constant. It is neither
 * inlined nor cloned, so that the constant is the same for all callers. What disturbs
 * is read outside, because perf would count that.
 */
static __attribute__((noinline, noclone, unused)) int
perf_around(struct set *set, const int *perf, long n, __u64 *count)
{
	uint64_t before_all, switches;
	__u64 before[3];
	int i, bad;

	if (set_clear(set))
		return -1;
	before_all = disturbances();
	switches = own_switches();
	bad = perf_read(perf[0], 3, before) ||
	      code_measure(set->fd, VPMC_IOC_START, VPMC_IOC_STOP, code_loop,
			   n, 0) ||
	      perf_read(perf[0], 3, count);
	set->disturbances = disturbances() - before_all;
	set->pieces = 1 + own_switches() - switches;
	set->starts = 1;
	for (i = 0; i < 3; i++)
		count[i] -= before[i];
	return -bad;
}

/*
 * Returns how many counts of both are wrong. perf's group is enabled. What disturbs the
 * single turn makes the difference too small.
 */
static inline int both_count(struct set *set, const int *perf, long n)
{
	__u64 one[3], some[3];
	uint64_t less, more;
	int wrong;

	if (perf_around(set, perf, 1, one))
		return -1;
	less = perf_tolerated(set);
	if (perf_around(set, perf, n, some))
		return -1;
	more = less + perf_tolerated(set);
	wrong = wrong_after(set, CODE_LOOP(n));
	n--;
	if (count_fits(some[0] - one[0] + less, 2 * n, more,
		       perf_piece(set, 2 * n)) &&
	    count_fits(some[1] - one[1] + less, n, more, perf_piece(set, n)) &&
	    cycles_fit(some[2] - one[2], 2 * n, more + one[0]))
		return wrong;
	fprintf(stderr, "# perf: %llu insns, %llu branches, %llu cycles, %ld turns, -%llu +%llu\n",
		(unsigned long long)(some[0] - one[0]),
		(unsigned long long)(some[1] - one[1]),
		(unsigned long long)(some[2] - one[2]), n,
		(unsigned long long)less, (unsigned long long)(more - less));
	return wrong + 1;
}

/*
 * Attach and map a set that restarts itself after each @period events. It is not
 * programmed yet.
 */
static inline int open_rearmed(struct set *set, uint64_t evtsel, uint32_t index,
			       uint64_t period)
{
	if (set_rate(INT_MAX))
		return -EPERM;
	set->fd = vpmc_open();
	if (set->fd < 0)
		return set->fd;
	set->page = vpmc_map(set->fd);
	control_init(&set->control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	control_add_period(&set->control, evtsel, index, period);
	return set->page == MAP_FAILED ? -ENOMEM : 0;
}

/*
 * Where counts are not exact, a period is longer than what the interrupts of all periods
 * add, and the loop is so long that it still has many.
 */
static inline uint64_t period_beside(uint64_t period)
{
	return counts_are_exact() ? period : 10 * period;
}

#define TURNS_BESIDE	(counts_are_exact() ? 100000 : 500000)

/*
 * An overflow after each @period instructions, and branches without overflows. They have
 * the last programmable counter but one, which "shared 2,1" and "shared 3,0" permit.
 */
static inline int open_for_overflows(struct set *set, uint64_t period)
{
	int err = open_rearmed(set, EV_INSNS, index_here(FIXED(0), 0), period);

	if (err)
		return err;
	control_choose(&set->control, EV_BRANCHES, machine.nr_gp - 2);
	return set_control(set);
}

/* For a set that counts instructions and overflows after each @period. */
static inline void expect_all_overflows(struct __test_metadata *_metadata,
					const struct set *set, uint64_t insns,
					uint64_t period)
{
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_LE(insns, read.sum[0]);
	EXPECT_EQ(read.sum[0] / period, set->page->overflows);
	EXPECT_EQ(0, set->page->merged);
}

/* perf has no event, and still handles the interrupt. */
static inline void expect_overflows(struct __test_metadata *_metadata,
				    struct set *set, uint64_t period)
{
	const struct code_count want = measured(TURNS_BESIDE);
	struct vpmc_read read;
	uint64_t more;

	ASSERT_EQ(0, set_measure(set, code_loop, TURNS_BESIDE, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	/* An interrupt starts the counters again. */
	more = tolerated(set->disturbances, 1 + set->page->overflows);
	EXPECT_TRUE(count_fits(read.sum[0], want.insns, more, period))
		TH_LOG("%llu, tolerance %llu", (unsigned long long)read.sum[0],
		       (unsigned long long)more);
	expect_all_overflows(_metadata, set, read.sum[0], period);
}

/* Both interrupt, often together. Neither loses one or gets the other's. */
static inline void expect_overflows_of_both(struct __test_metadata *_metadata,
					    struct set *set, uint64_t period,
					    const struct perf_samples *perf,
					    uint64_t period_of_perf)
{
	const struct code_count more = measured(TURNS_BESIDE);
	struct set as = { .fd = perf->fd };

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, perf_measure(&as, code_loop, TURNS_BESIDE, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	expect_all_overflows(_metadata, set, more.insns, period);
	expect_samples_of(_metadata, &as, perf, TURNS_BESIDE, period_of_perf);
}

/* Registers that both sides write. */
struct shared_registers {
	uint64_t evtsel[MAX_GP];
	uint64_t counter[MAX_GP];
	uint64_t fixed_control;		/* 0 without fixed counters */
	uint64_t status;
	uint64_t enabled;
};

static inline int shared_registers(int cpu, struct shared_registers *regs)
{
	/* Select, counter, and the distance to the next ones; the others */
	static const uint32_t intel[] = { 0x186, 0xc1, 1, 0x38e, 0x38f };
	static const uint32_t amd[] = {
		0xc0010200, 0xc0010201, 2, 0xc0000300, 0xc0000301
	};
	const uint32_t *msr = machine_is_amd() ? amd : intel;
	int fd, i, bad = 0;
	char path[64];

	sprintf(path, "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	for (i = 0; i < MAX_GP && i < machine.nr_gp; i++) {
		bad |= pread(fd, &regs->evtsel[i], 8, msr[0] + i * msr[2]) != 8;
		bad |= pread(fd, &regs->counter[i], 8, msr[1] + i * msr[2]) != 8;
	}
	regs->fixed_control = 0;
	if (machine.nr_fixed)
		bad |= pread(fd, &regs->fixed_control, 8, 0x38d) != 8;
	bad |= pread(fd, &regs->status, 8, msr[3]) != 8;
	bad |= pread(fd, &regs->enabled, 8, msr[4]) != 8;
	close(fd);
	return -bad;
}

#endif /* BESIDE_H */
