// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Translates controls of each kind of processor, without a kernel: src/control.c is
 * compiled with this file, which says what the kind is.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <string.h>

#include "../src/internal.h"

#define CHECK(true_)	do { if (!(true_)) errx(1, "line %d: %s", __LINE__, #true_); } while (0)

#define CCCR	(3U << 16 | 4 << 13 | 1 << 12)	/* as perfctr's own programs have it */
#define ESCR	(2U << 25 | 1 << 9 | 1 << 2)	/* instr_retired, user mode */
#define PMI	(1U << 26)
#define CODE	((uint64_t)ESCR << 32)

static int kind;

int perfctr_kind(int fd)
{
	(void)fd;
	return kind;
}

static struct vperfctr_control one(unsigned int map, unsigned int select, unsigned int escr)
{
	struct vperfctr_control control = { .cpu_control = { .tsc_on = 1, .nractrs = 1 } };

	control.cpu_control.pmc_map[0] = map;
	control.cpu_control.evntsel[0] = select;
	control.cpu_control.p4.escr[0] = escr;
	return control;
}

static int translate(const struct vperfctr_control *control, struct vpmc_control *set)
{
	return perfctr_to_vpmc(-1, control, set);
}

static int refused(unsigned int map, unsigned int select, unsigned int escr)
{
	struct vperfctr_control control = one(map, select, escr);
	struct vpmc_control set;

	return translate(&control, &set);
}

/* perfctr's programs give the number with bit 31 or without it. */
static void pentium_4_counts(void)
{
	static const unsigned int maps[] = { 12, 0x8000000c };
	struct vperfctr_control control, back;
	struct vpmc_control set;
	unsigned int i;

	kind = VPMC_KIND_P4;
	for (i = 0; i < 2; i++) {
		control = one(maps[i], CCCR, ESCR);
		CHECK(!translate(&control, &set));
		CHECK(set.nr_counters == 1 && set.counter[0].evtsel == (CODE | CCCR));
		CHECK(set.counter[0].index == 0x8000000c && !set.counter[0].period);
	}
	/* The kernel returns the select without its own bits. */
	set.counter[0].evtsel = CODE | 4 << 13;
	CHECK(!perfctr_from_vpmc(-1, &set, &back));
	CHECK(!memcmp(&back, &control, sizeof(back)));
	/* both forms of one number */
	control.cpu_control.nractrs = 2;
	control.cpu_control.pmc_map[0] = 12;
	control.cpu_control.pmc_map[1] = 0x8000000c;
	control.cpu_control.evntsel[1] = CCCR;
	CHECK(translate(&control, &set) == -EINVAL);
	control.cpu_control.pmc_map[1] = 0x8000000d;
	CHECK(!translate(&control, &set));
}

static void pentium_4_interrupts(void)
{
	struct vperfctr_control control = one(0x8000000c, CCCR | PMI, ESCR), back;
	struct vpmc_control set, same;

	control.cpu_control.nractrs = 0;
	control.cpu_control.nrictrs = 1;
	control.cpu_control.ireset[0] = -1000;
	control.si_signo = 10;
	CHECK(!translate(&control, &set));
	CHECK(set.counter[0].period == 1000 && set.signal == 10);
	same = set;
	same.counter[0].evtsel = CODE | 4 << 13;
	CHECK(!perfctr_from_vpmc(-1, &same, &back));
	control.cpu_control.tsc_on = 1;
	CHECK(!memcmp(&back, &control, sizeof(back)));
}

static void pentium_4_refuses(void)
{
	struct vperfctr_control control = one(12, CCCR, ESCR);
	struct vpmc_control set;

	CHECK(refused(12, CCCR & ~(1 << 12), ESCR) == -EINVAL);
	CHECK(refused(12, CCCR | 1 << 22, ESCR) == 0);
	CHECK(refused(12, (CCCR & ~(1 << 12)) | 1 << 22, ESCR) == -EINVAL);
	CHECK(refused(12, CCCR | PMI, ESCR) == -EINVAL);
	CHECK(refused(0xffffffff, CCCR, ESCR) == -EINVAL);
	/* With bit 31 it would leave the choice to the kernel. */
	CHECK(refused(0x7fffffff, CCCR, ESCR) == -EINVAL);
	control.cpu_control.p4.pebs_enable = 1;
	CHECK(translate(&control, &set) == -EOPNOTSUPP);
	control.cpu_control.p4.pebs_enable = 0;
	control.cpu_control.p4.pebs_matrix_vert = 1;
	CHECK(translate(&control, &set) == -EOPNOTSUPP);
}

/* P6 is like Intel's later ones without fixed counters and without upper halves. */
static void p6(void)
{
	struct vperfctr_control control = one(1, 0x410079, 0), back;
	struct vpmc_control set;

	kind = VPMC_KIND_P6;
	CHECK(!translate(&control, &set));
	CHECK(set.counter[0].evtsel == 0x410079 && set.counter[0].index == 1);
	set.counter[0].evtsel = 0x10079;
	CHECK(!perfctr_from_vpmc(-1, &set, &back));
	CHECK(!memcmp(&back, &control, sizeof(back)));
	CHECK(refused(1, 0x410079, 1) == -EOPNOTSUPP);
	CHECK(refused(1, 0x10079, 0) == -EINVAL);
	CHECK(refused(1, 0x510079, 0) == -EINVAL);
	kind = VPMC_KIND_AMD;
	CHECK(refused(1, 0x410076, 1) == 0);
}

static void unknown(void)
{
	kind = -EBADF;
	CHECK(refused(1, 0x410079, 0) == -EBADF);
}

int main(void)
{
	pentium_4_counts();
	pentium_4_interrupts();
	pentium_4_refuses();
	p6();
	unknown();
	return 0;
}
