// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Translates perfctr's control structure to vpmc's, and back.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <string.h>

#include "internal.h"

#define COUNTERS	PERFCTR_X86_MAX_COUNTERS

/*
 * Event and unit mask of Intel's first two fixed counters. The third one's
 * select is made from the counter's number, as the kernel does.
 */
static const unsigned int fixed_event[] = { 0x00c0, 0x003c };
#define FIXED_EVENTS	(sizeof(fixed_event) / sizeof(fixed_event[0]))

bool perfctr_is_stop(const struct vperfctr_control *control)
{
	const struct perfctr_cpu_control *cpu = &control->cpu_control;

	return !cpu->tsc_on && !cpu->nractrs && !cpu->nrictrs;
}

/*
 * In a fixed counter's select only modes and enable bits have a meaning. The
 * event is kept if it is the counter's own, so that READ_CONTROL returns it.
 */
static uint64_t fixed_select(unsigned int number, uint64_t select)
{
	const struct select_form form = select_form(VPMC_KIND_INTEL);
	unsigned int event = select & 0xffff;

	if (number < FIXED_EVENTS && event == fixed_event[number])
		return select;
	return (select & (form.user | form.kernel | form.owned)) |
	       (number + 1) << 8;
}

/*
 * On a Pentium 4, evntsel is the CCCR, and p4.escr the ESCR. It has the same place as
 * evntsel_high, bits 32-63 of an event select, which of the others only AMD's have.
 */
static int translate_counter(enum vpmc_kind kind, const struct perfctr_cpu_control *cpu,
			     unsigned int i, struct vpmc_counter *counter)
{
	const struct select_form form = select_form(kind);
	unsigned int select = cpu->evntsel[i], map = cpu->pmc_map[i];
	bool interrupts = i >= cpu->nractrs;

	if (cpu->evntsel_high[i] && kind != VPMC_KIND_AMD && kind != VPMC_KIND_P4)
		return -EOPNOTSUPP;
	/*
	 * perfctr's own rules. They also let read_control return the same bits.
	 */
	if (!(select & form.enable) || !(select & form.interrupt) != !interrupts)
		return -EINVAL;
	if (interrupts && cpu->ireset[i] >= 0)
		return -EINVAL;
	counter->evtsel = select | (uint64_t)cpu->evntsel_high[i] << 32;
	/* Programs for 32 bits set the bit, those for 64 bits need not. */
	counter->index = kind == VPMC_KIND_P4 ? map | RDPMC_FAST : map;
	/* VPMC_ANY is not the number of a counter */
	if (counter->index == VPMC_ANY)
		return -EINVAL;
	if (map >= VPMC_RDPMC_FIXED && map - VPMC_RDPMC_FIXED < 32)
		counter->evtsel = fixed_select(map - VPMC_RDPMC_FIXED,
					       counter->evtsel);
	if (interrupts)
		counter->period = -(int64_t)cpu->ireset[i];
	return 0;
}

/*
 * The kernel finds that, too, but not after it has chosen another counter for one of
 * them.
 */
static bool names_one_twice(const struct vpmc_control *set, unsigned int nr)
{
	unsigned int i, k;

	for (i = 1; i < nr; i++)
		for (k = 0; k < i; k++)
			if (set->counter[i].index == set->counter[k].index)
				return true;
	return false;
}

int perfctr_to_vpmc(int fd, const struct vperfctr_control *control,
		    struct vpmc_control *set)
{
	const struct perfctr_cpu_control *cpu = &control->cpu_control;
	unsigned int i, nr = cpu->nractrs + cpu->nrictrs;
	int err, kind = 0;

	memset(set, 0, sizeof(*set));
	if (nr < cpu->nractrs || nr > COUNTERS)
		return -EINVAL;
	if (control->flags & ~VPERFCTR_CONTROL_CLOEXEC)
		return -EINVAL;
	if (cpu->p4.pebs_enable || cpu->p4.pebs_matrix_vert)
		return -EOPNOTSUPP;
	if (nr)
		kind = perfctr_kind(fd);
	if (kind < 0)
		return kind;
	for (i = 0; i < nr; i++) {
		err = translate_counter(kind, cpu, i, &set->counter[i]);
		if (err)
			return err;
		if (control->preserve >> i & 1)
			set->counter[i].flags = VPMC_COUNTER_PRESERVE;
	}
	if (names_one_twice(set, nr))
		return -EINVAL;
	set->size = sizeof(*set);
	set->nr_counters = nr;
	if (cpu->tsc_on)
		set->flags |= VPMC_CONTROL_PRESERVE;
	if (control->flags & VPERFCTR_CONTROL_CLOEXEC)
		set->flags |= VPMC_CONTROL_CLOSE_ON_EXEC;
	/*
	 * perfctr keeps the signal without i-mode counters, but never uses it
	 */
	if (cpu->nrictrs)
		set->signal = control->si_signo;
	return 0;
}

/* The other bits of @form.owned are a Pentium 4's, in which perfctr had them set. */
static int counter_from_vpmc(enum vpmc_kind kind, const struct vpmc_counter *counter,
			     unsigned int i, struct perfctr_cpu_control *cpu)
{
	const struct select_form form = select_form(kind);
	uint64_t select = counter->evtsel;

	if (counter->period > 1ULL << 31)
		return -EOPNOTSUPP;
	/*
	 * A fixed counter's select without an event is one that
	 * perfctr_to_vpmc() has made. Remove the unit mask, which it has made
	 * from the counter's number.
	 */
	if (counter->index & VPMC_RDPMC_FIXED && !SELECT_EVENT(select))
		select &= ~0xff00ULL;
	cpu->pmc_map[i] = counter->index;
	cpu->evntsel[i] = select | (form.owned & ~form.interrupt);
	cpu->evntsel_high[i] = select >> 32;
	if (counter->period) {
		cpu->nrictrs++;
		cpu->evntsel[i] |= form.interrupt;
		cpu->ireset[i] = (int)-(int64_t)counter->period;
	} else {
		cpu->nractrs++;
	}
	/*
	 * perfctr_control can only describe sets whose i-mode counters come
	 * last
	 */
	return !counter->period && cpu->nrictrs ? -EOPNOTSUPP : 0;
}

int perfctr_from_vpmc(int fd, const struct vpmc_control *set,
		      struct vperfctr_control *control)
{
	int err, kind = perfctr_kind(fd);
	unsigned int i;

	memset(control, 0, sizeof(*control));
	if (kind < 0)
		return kind;
	if (set->nr_counters > COUNTERS)
		return -EOPNOTSUPP;
	control->cpu_control.tsc_on = 1;
	for (i = 0; i < set->nr_counters; i++) {
		err = counter_from_vpmc(kind, &set->counter[i], i,
					&control->cpu_control);
		if (err) {
			memset(control, 0, sizeof(*control));
			return err;
		}
	}
	control->si_signo = set->signal;
	if (set->flags & VPMC_CONTROL_CLOSE_ON_EXEC)
		control->flags = VPERFCTR_CONTROL_CLOEXEC;
	return 0;
}

/*
 * The event of a fixed counter gets its architectural number, which programmable
 * counters have, too. The third one's event exists nowhere else.
 */
static void move(struct vpmc_counter *counter)
{
	unsigned int number = counter->index - VPMC_RDPMC_FIXED;

	if (counter->index & VPMC_RDPMC_FIXED && number < FIXED_EVENTS)
		counter->evtsel = (counter->evtsel & ~0xffffULL) | fixed_event[number];
	counter->index = VPMC_ANY;
}

/* Lets the kernel choose the counters with a bit in @moved. */
static void move_all(struct vpmc_control *set, unsigned int moved)
{
	unsigned int i;

	for (i = 0; i < set->nr_counters; i++)
		if (moved >> i & 1 && set->counter[i].index != VPMC_ANY)
			move(&set->counter[i]);
}

static unsigned int moved_counters(const struct vpmc_control *set)
{
	unsigned int i, moved = 0;

	for (i = 0; i < set->nr_counters; i++)
		if (set->counter[i].index == VPMC_ANY)
			moved |= 1U << i;
	return moved;
}

/*
 * Moves the counter that was refused. If the kernel finds no other one for it, or if the
 * set as a whole was refused, all counters are moved. Returns false if that was tried.
 */
static bool move_refused(struct vpmc_control *set)
{
	unsigned int all = (1U << set->nr_counters) - 1, bad = set->bad_counter;
	unsigned int moved = moved_counters(set);

	if (set->reason != VPMC_REASON_LEFT_TO_PERF &&
	    set->reason != VPMC_REASON_PMU_PERF && !moved)
		return false;
	if (moved == all)
		return false;
	move_all(set, bad < set->nr_counters && !(moved >> bad & 1) ?
		      1U << bad : all);
	return true;
}

int perfctr_place(int (*program)(void *to, struct vpmc_control *set), void *to,
		  struct vpmc_control *set)
{
	int err;

	do {
		set->reason = VPMC_REASON_NONE;
		set->bad_counter = 0;
		err = program(to, set);
	} while (err < 0 && set->reason != VPMC_REASON_NONE && move_refused(set));
	/* The processor has enough counters, but perf keeps some. */
	return err == -ENOSPC && moved_counters(set) ? -EBUSY : err;
}
