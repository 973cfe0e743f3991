/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's sets of counters, with which PAPI's event sets count.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_SET_H
#define VPMC_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "papi.h"
#include "papi_internal.h"
#include "papi_vector.h"

#include <vpmc.h>

#ifdef VPMC_PAPI_DROP_IN
#define VECTOR		_perf_event_vector
#define NAME		"perf_event"
#else
#define VECTOR		_vpmc_vector
#define NAME		"vpmc"
#endif

extern papi_vector_t VECTOR;

/*
 * A handle and its page, if it is on a thread of this process. @number and @nr are of the
 * set that it has programmed last, or 0. If the thread has another set, or one with more
 * counters, this is shared with others.
 * @shares: vpmc_share() was called by this handle.
 */
struct place {
	struct vpmc *v;
	const struct vpmc_page *page;
	uint64_t number;
	unsigned int nr;
	bool shares;
};

/*
 * State of a thread. @own is opened at its first use, because init_thread() of
 * the main thread runs before init_component(). @programmed is the event set
 * that the kernel has.
 */
struct context {
	struct place own;
	const struct control *programmed, *running;
};

/* an event, from vpmc_event_select() */
struct choice {
	uint64_t select;
	const char *name;
};

/*
 * State of an event set. The elements with the numbers @element of the kernel's set
 * @number are its counts. Those of a set that is not @shared are in order.
 */
struct control {
	unsigned int nr, domain;
	struct choice event[VPMC_MAX_COUNTERS];
	uint64_t period[VPMC_MAX_COUNTERS];
	uint64_t base[VPMC_MAX_COUNTERS];	/* sums at the last start or reset */
	long long count[VPMC_MAX_COUNTERS];
	unsigned int element[VPMC_MAX_COUNTERS];
	uint64_t number;
	/* counters of the thread it is attached to; or no handle */
	struct place other;
	struct context *context;		/* thread that has programmed it last */
	bool shared, inherit, overflows;
};

/* These return PAPI_OK or one of PAPI's errors. */

/*
 * Asks whether the kernel accepts the set. Does not ask while another set of
 * the thread counts, because programming would replace that set.
 */
int vpmc_set_judge(struct context *context, struct control *control);

/* Notes that the kernel's set no longer matches @control. */
void vpmc_set_forget(struct context *context, const struct control *control);

int vpmc_set_start(hwd_context_t *ctx, hwd_control_state_t *ctl);
int vpmc_set_stop(hwd_context_t *ctx, hwd_control_state_t *ctl);
int vpmc_set_read(hwd_context_t *ctx, hwd_control_state_t *ctl, long long **values,
		  int flags);
int vpmc_set_write(hwd_context_t *ctx, hwd_control_state_t *ctl, long long *values);

/* Gives the thread's counters back to the kernel, except for those of others. */
void vpmc_set_release(struct context *context);

/* Takes a handle on another thread. */
void vpmc_set_attach(struct control *control, struct vpmc *v);

/* Closes the handle on another thread, which ends a set that it has programmed. */
void vpmc_set_detach(struct control *control);

#endif /* VPMC_SET_H */
