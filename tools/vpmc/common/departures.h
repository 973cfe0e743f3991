/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that were counted, and go on without being counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef DEPARTURES_H
#define DEPARTURES_H

#include <linux/vpmc.h>
#include <stdint.h>

/* The ways to leave; see left_control and others in struct vpmc_read. */
enum {
	DEPARTURE_CONTROL,
	DEPARTURE_UNLINK,
	DEPARTURE_EXEC,
	DEPARTURE_REVOCATION,
	DEPARTURES
};

struct departures {
	uint64_t number[DEPARTURES];
};

/* Adds those of @sums. */
void departures_add(struct departures *to, const struct vpmc_read *sums);

/* The member of JSON objects for a way. */
const char *departure_member(unsigned int way);

/* The word for a way in OpenMetrics. */
const char *departure_word(unsigned int way);

/* What threads did to leave, as in "3 threads unlinked their counters". */
const char *departure_text(unsigned int way);

/*
 * Prints a note for each way in which threads left. @missing says what is not known of
 * them: "what they did later has no samples".
 */
void departures_note(const struct departures *left, const char *missing);

#endif /* DEPARTURES_H */
