/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descendants that left a family, and go on without being counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef DEPARTURES_H
#define DEPARTURES_H

#include <linux/vpmc.h>
#include <stdint.h>

/* How many ways there are to leave; see left_control and others in struct vpmc_read. */
#define DEPARTURES	3

struct departures {
	uint64_t number[DEPARTURES];
};

/* Adds those of @sums. */
void departures_add(struct departures *to, const struct vpmc_read *sums);

/* The member of JSON objects for a way. */
const char *departure_member(unsigned int way);

/* What threads did to leave, as in "3 threads unlinked their counters". */
const char *departure_text(unsigned int way);

#endif /* DEPARTURES_H */
