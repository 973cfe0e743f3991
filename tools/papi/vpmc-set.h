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
 * Handles on a thread, and the page of @v if that is of a thread of this process. @number
 * and @nr are of the set that @v has programmed last, or 0. If the thread has another set,
 * or one with more counters, this is shared with others.
 * @adder: adds counters to sets. On another thread this is a handle of its own, because
 *	the close of @v ends the set that @v has programmed.
 * @shares: vpmc_join() was called by @adder.
 */
struct place {
	struct vpmc *v, *adder;
	const struct vpmc_page *page;
	uint64_t number;
	unsigned int nr;
	bool shares;
};

/*
 * State of a thread. @own is opened at its first use, because init_thread() of
 * the main thread runs before init_component(). @programmed is the event set
 * that the kernel has, as it is now. @holder is the one for which counters were taken
 * last; it may have changed since. Both may be NULL.
 */
struct context {
	struct place own;
	const struct control *programmed, *running, *holder;
};

/*
 * What a read finds. @ticks and @tsc_base are zero if they are not known. Unless somebody
 * clears the set, sums, ticks and switches never go back.
 */
struct view {
	uint64_t sum[VPMC_MAX_COUNTERS];
	uint64_t number, ticks, switches, overflows, tsc_base;
	unsigned int state;
};

/* an event, from vpmc_event_select() */
struct choice {
	uint64_t select;
	const char *name;
};

/*
 * State of an event set. The elements with the numbers @element of the kernel's set
 * @number are its counts. Those of a set that is not @shared are in order. @last is what
 * the last read since start or reset has found. @lost: others have taken counts since.
 */
struct control {
	unsigned int nr, domain;
	struct choice event[VPMC_MAX_COUNTERS];
	uint64_t period[VPMC_MAX_COUNTERS];
	uint64_t base[VPMC_MAX_COUNTERS];	/* sums at the last start or reset */
	long long count[VPMC_MAX_COUNTERS];
	unsigned int element[VPMC_MAX_COUNTERS];
	uint64_t number;
	struct view last;
	/* counters of the thread it is attached to, and its directory; or no handle */
	struct place other;
	int directory;
	struct context *context;		/* thread that has programmed it last */
	bool shared, inherit, overflows, lost;
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

/* vpmc-place.c: the handles */

/* Prints the reason, if PAPI may print errors. Returns the error. */
int vpmc_set_refuse(int error, const char *text);

/* PAPI's error for a negative error number and a reason of libvpmc or 0 */
int vpmc_set_error(int err, unsigned int reason);

/*
 * Finds the counters that an event set is for, and what they do now. Opens handles anew if
 * the old ones are of counters that were detached.
 */
int vpmc_set_place(struct context *context, struct control *control,
		   struct place **place);
int vpmc_set_look(struct context *context, struct control *control,
		  struct place **place, struct vpmc_read *sums);

/* Is the thread's set, which has that number and size, only of this handle? */
bool vpmc_set_is_own(const struct place *place, uint64_t number, unsigned int nr);

/* Asks this of the set that the thread has now; without a system call for an own thread. */
bool vpmc_set_is_alone(const struct place *place);

/* Gives back what was added. If the kernel refuses that, less may fit. */
void vpmc_set_unshare(struct place *place);

/* Gives the thread's counters back to the kernel, except for those of others. */
void vpmc_set_release(struct context *context);

/* Does this with those of the thread that the event set is attached to. */
void vpmc_set_release_other(struct control *control);

/* Takes handles on another thread. */
int vpmc_set_attach(struct control *control, pid_t tid);

/* Closes the handles on another thread, which ends a set that they have programmed. */
void vpmc_set_detach(struct control *control);

#endif /* VPMC_SET_H */
