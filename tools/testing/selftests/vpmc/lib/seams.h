/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests that try each kind of set.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SEAMS_H
#define SEAMS_H

#include "beside.h"
#include "seam.h"

#define MAX_EVENTS	12

FIXTURE(seams)
{
	struct seam seam;
	int perf[MAX_EVENTS];
};

FIXTURE_VARIANT(seams)
{
	enum seam_kind kind;
};

FIXTURE_VARIANT_ADD(seams, plain) { .kind = PLAIN };
FIXTURE_VARIANT_ADD(seams, kernel) { .kind = KERNEL_TOO };
FIXTURE_VARIANT_ADD(seams, signal) { .kind = SIGNALS };
FIXTURE_VARIANT_ADD(seams, ring) { .kind = RECORDS };
FIXTURE_VARIANT_ADD(seams, samples) { .kind = SAMPLED };
FIXTURE_VARIANT_ADD(seams, family) { .kind = INHERITED };
FIXTURE_VARIANT_ADD(seams, remote) { .kind = CONTROLLED };
FIXTURE_VARIANT_ADD(seams, added) { .kind = GROWN };

FIXTURE_SETUP(seams)
{
	memset(self->perf, -1, sizeof(self->perf));
	ASSERT_EQ(0, pin(0));
	/* perf gets counters back that other sets have left borrowed. */
	ASSERT_EQ(0, write_file(COUNTERS, line_of(COUNTERS)));
	ASSERT_EQ(0, seam_open(&self->seam, variant->kind));
	ASSERT_EQ(0, seam_work(&self->seam));
}

FIXTURE_TEARDOWN(seams)
{
	int i;

	for (i = 0; i < MAX_EVENTS; i++)
		close(self->perf[i]);
	seam_close(&self->seam);
}

#endif /* SEAMS_H */
