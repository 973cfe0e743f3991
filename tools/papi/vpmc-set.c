// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Programs the kernel's sets, starts, stops and reads them.
 *
 * A thread has one set of counters. If it has none, the event set becomes its set. If
 * somebody else has programmed one, as vpmc stat does for the program that it counts,
 * the event set counts with that: it adds what it needs, never starts or stops the
 * others' counters, and its values are differences of sums. What cannot be had so is
 * refused. PAPI prints the reason if it may print errors.
 *
 * Start, stop and read may be called by PAPI's handler of SIGPROF. So these do not
 * open or close a handle for each event set; they open one if there is none.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vpmc-set.h"

#define SELECT_USR	(1U << 16)
#define SELECT_OS	(1U << 17)

static int refuse(int error, const char *text)
{
	PAPIERROR("vpmc: %s", text);
	return error;
}

static int error_of(int err, unsigned int reason)
{
	switch (reason) {
	case VPMC_REASON_INDEX_TAKEN:
	case VPMC_REASON_NO_COUNTER:
	case VPMC_REASON_TOO_MANY:
	case VPMC_REASON_PMU_BUSY:
	case VPMC_REASON_PMU_PERF:
	case VPMC_REASON_PMU_WATCHDOG:
	case VPMC_REASON_PMU_TRACE:
	case VPMC_REASON_PMU_GLOBAL:
	case VPMC_REASON_LEFT_TO_PERF:
	case VPMC_REASON_REVOKED:
		return PAPI_ECNFLCT;
	case VPMC_REASON_KERNEL_MODE:
	case VPMC_REASON_PARANOID:
	case VPMC_REASON_SECURITY:
		return PAPI_EPERM;
	case VPMC_REASON_UNAVAILABLE:
	case VPMC_REASON_EXTRA_MSR:
	case VPMC_REASON_RESERVED_BIT:
	case VPMC_REASON_NO_PMU:
		return PAPI_ENOSUPP;
	}
	switch (err) {
	case -EACCES:
	case -EPERM:
		return PAPI_EPERM;
	case -ENOMEM:
		return PAPI_ENOMEM;
	case -EINVAL:
		return PAPI_EINVAL;
	case -EEXIST:
	case -EBUSY:
		return PAPI_ECNFLCT;
	}
	return PAPI_ESYS;
}

static bool is_detached(unsigned int state)
{
	return state == VPMC_STATE_UNLINKED || state == VPMC_STATE_EXITED;
}

static bool is_programmed(unsigned int state)
{
	return state == VPMC_STATE_STOPPED || state == VPMC_STATE_RUNNING ||
	       state == VPMC_STATE_OVERFLOWED;
}

/*
 * Gets the thread's own handle. Opens a new one in the child of a fork(), and after
 * somebody has detached the counters.
 */
static int own_place(struct context *context, struct place **place)
{
	struct place *own = &context->own;
	struct vpmc_error error;
	int err;

	*place = own;
	if (own->v && (vpmc_fd(own->v) < 0 || is_detached(own->page->state))) {
		vpmc_close(own->v);
		memset(context, 0, sizeof(*context));
	}
	if (own->v)
		return PAPI_OK;
	err = vpmc_open(&own->v, 0, &error);
	if (err)
		return refuse(err == -EACCES ? PAPI_EPERM : PAPI_ESYS, error.text);
	own->page = vpmc_page(own->v);
	if (own->page)
		return PAPI_OK;
	/* Another process detached the counters before the page was mapped. */
	vpmc_close(own->v);
	own->v = NULL;
	return refuse(PAPI_ESYS, "somebody else detaches this thread's counters");
}

static int get_place(struct context *context, struct control *control,
		     struct place **place)
{
	*place = &control->other;
	return control->other.v ? PAPI_OK : own_place(context, place);
}

/* Is the thread's set, which has that number and size, only of this handle? */
static bool is_own(const struct place *place, uint64_t number, unsigned int nr)
{
	return number == place->number && nr == place->nr;
}

/* Makes no system call for a thread of this process. */
static bool is_alone(const struct place *place)
{
	const struct vpmc_page *page = place->page;
	struct vpmc_read sums;

	if (page)
		return is_own(place, page->set_number, page->nr_counters);
	return !vpmc_read_sums(place->v, 0, &sums) &&
	       is_own(place, sums.set_number, sums.nr_counters);
}

static uint64_t modes_of(const struct control *control)
{
	return (control->domain & PAPI_DOM_USER ? SELECT_USR : 0) |
	       (control->domain & PAPI_DOM_KERNEL ? SELECT_OS : 0);
}

static void make_set(const struct control *control, struct vpmc_control *set)
{
	memset(set, 0, sizeof(*set));
	set->size = sizeof(*set);
	set->nr_counters = control->nr;
	for (unsigned int i = 0; i < control->nr; i++) {
		set->counter[i].evtsel = control->event[i].select | modes_of(control);
		set->counter[i].index = VPMC_ANY;
		set->counter[i].period = control->period[i];
		if (control->period[i])
			set->signal = VECTOR.cmp_info.hardware_intr_sig;
	}
	if (control->inherit)
		set->flags = VPMC_CONTROL_INHERIT_THREADS |
			     VPMC_CONTROL_INHERIT_PROCESSES;
	else if (control->other.v)
		set->flags = VPMC_CONTROL_UNLINK_ON_CLOSE;
	else
		set->flags = VPMC_CONTROL_CLOSE_ON_EXEC;
}

/* Programs a set of its own, in place of the one that this handle has programmed. */
static int program_own(struct place *place, struct control *control,
		       unsigned int flags)
{
	struct vpmc_error error;
	struct vpmc_control set;
	struct vpmc_read sums;
	int err;

	make_set(control, &set);
	set.flags |= flags;
	err = vpmc_program_raw(place->v, &set, &error);
	if (err < 0)
		return refuse(error_of(err, set.reason), error.text);
	err = vpmc_read_sums(place->v, 0, &sums);
	if (err)
		return error_of(err, 0);
	place->number = sums.set_number;
	place->nr = control->nr;
	control->number = sums.set_number;
	control->shared = false;
	for (unsigned int i = 0; i < control->nr; i++)
		control->element[i] = i;
	return PAPI_OK;
}

/* What a set of others cannot give, or NULL */
static const char *needs_own(const struct control *control,
			     const struct vpmc_read *sums)
{
	if (control->overflows)
		return "somebody else counts this thread, and an overflow needs a set of its own; use PAPI_OVERFLOW_FORCE_SW, or do not count the program from outside";
	if (control->inherit)
		return "somebody else counts this thread, and PAPI_INHERIT needs a set of its own; do not count the program from outside";
	if (sums->state == VPMC_STATE_REVOKED)
		return "somebody else has counted this thread until the administrator took the counters, and must end that first";
	if (sums->state != VPMC_STATE_RUNNING)
		return "somebody else has programmed this thread's counters, and they are stopped; start them, as by vpmc ctl start";
	return NULL;
}

/*
 * Gives back what was added for the event set before. If the kernel refuses that, less
 * may fit. A set that a handle on another thread has programmed would end.
 */
static void unshare(const struct control *control, struct place *place)
{
	if (!place->shares || (place == &control->other && place->number))
		return;
	if (!vpmc_unshare(place->v))
		place->shares = false;
}

/* Counts with the set that others have programmed, and adds what it lacks. */
static int share(struct place *place, struct control *control,
		 const struct vpmc_read *before)
{
	struct vpmc_event events[VPMC_MAX_COUNTERS] = { 0 };
	const char *why = needs_own(control, before);
	struct vpmc_error error;
	struct vpmc_read sums;
	unsigned int i;
	int err;

	if (why)
		return refuse(PAPI_ECNFLCT, why);
	for (i = 0; i < control->nr; i++) {
		events[i].text = control->event[i].name;
		events[i].select = control->event[i].select | modes_of(control);
		events[i].index = VPMC_ANY;
	}
	place->shares = true;
	err = vpmc_share(place->v, events, control->nr, &error);
	if (err < 0) {
		unshare(control, place);
		return refuse(error_of(err, error.reason), error.text);
	}
	err = vpmc_read_sums(place->v, 0, &sums);
	if (err)
		return error_of(err, 0);
	for (i = 0; i < control->nr; i++)
		control->element[i] = events[i].element;
	control->number = sums.set_number;
	control->shared = true;
	return PAPI_OK;
}

static int program(struct context *context, struct control *control,
		   unsigned int flags)
{
	struct vpmc_read sums;
	struct place *place;
	int err = get_place(context, control, &place);
	bool there;

	if (err)
		return err;
	/* No event set may start with what is given back, even if this one is refused. */
	if (place->shares && !control->other.v)
		context->programmed = NULL;
	unshare(control, place);
	err = vpmc_read_sums(place->v, 0, &sums);
	if (err)
		return error_of(err, 0);
	there = is_programmed(sums.state);
	/* Others want to read what they counted until the administrator took the counters. */
	if ((there || sums.state == VPMC_STATE_REVOKED) &&
	    !is_own(place, sums.set_number, sums.nr_counters))
		err = share(place, control, &sums);
	else
		err = program_own(place, control, there ? flags : flags | VPMC_CONTROL_NEW);
	if (err)
		return err;
	memset(control->base, 0, sizeof(control->base));
	if (!control->other.v) {
		context->programmed = control;
		control->context = context;
	}
	return PAPI_OK;
}

int vpmc_set_judge(struct context *context, struct control *control)
{
	if (!control->nr || (!control->other.v && context->running))
		return PAPI_OK;
	return program(context, control, VPMC_CONTROL_STOPPED);
}

void vpmc_set_forget(struct context *context, const struct control *control)
{
	if (context->programmed == control)
		context->programmed = NULL;
}

/* Others may have replaced, stopped or detached what the event set counts with. */
static int check_set(const struct control *control, uint64_t number,
		     unsigned int state)
{
	if (number != control->number)
		return refuse(PAPI_ECLOST, "somebody else has programmed this thread's counters meanwhile");
	if (state == VPMC_STATE_REVOKED)
		return refuse(PAPI_ECLOST, "the administrator has taken the counters");
	if (state == VPMC_STATE_UNLINKED)
		return refuse(PAPI_ECLOST, "the counters were detached from the thread");
	if (control->shared && state == VPMC_STATE_STOPPED)
		return refuse(PAPI_ECLOST, "somebody else has stopped this thread's counters");
	return PAPI_OK;
}

/* Reads the sums of the event set's counters, in its order. */
static int read_sums(const struct place *place, const struct control *control,
		     uint64_t *now)
{
	const struct vpmc_page *page = place->page;
	uint64_t count[VPMC_MAX_COUNTERS], number;
	struct vpmc_read sums;
	unsigned int state;
	int err;

	if (page && !control->inherit) {
		err = vpmc_read(place->v, count, VPMC_MAX_COUNTERS, NULL);
		number = page->set_number;
		state = page->state;
	} else {
		err = vpmc_read_sums(place->v, control->inherit ?
				     VPMC_READ_LIVING | VPMC_READ_FINISHED : 0, &sums);
		number = sums.set_number;
		state = sums.state;
		memcpy(count, sums.sum, sizeof(count));
	}
	if (err < 0)
		return error_of(err, 0);
	err = check_set(control, number, state);
	for (unsigned int i = 0; i < control->nr; i++)
		now[i] = count[control->element[i]];
	return err;
}

/*
 * Starts the event set that the kernel has since it was judged. The sums become the
 * base. Returns false if it must be programmed once more.
 */
static bool start_again(const struct place *place, struct control *control)
{
	const struct vpmc_page *page = place->page;
	bool alone = is_alone(place);

	if (page->set_number != control->number ||
	    (page->state != VPMC_STATE_RUNNING &&
	     (!alone || page->state != VPMC_STATE_STOPPED)))
		return false;
	return read_sums(place, control, control->base) == PAPI_OK &&
	       (!alone || !vpmc_start(place->v));
}

int vpmc_set_start(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	struct place *place;
	int err = get_place(context, control, &place);

	if (err)
		return err;
	if (context->programmed != control || control->overflows || control->inherit ||
	    control->other.v || !start_again(place, control)) {
		err = program(context, control, 0);
		if (!err && control->shared)
			err = read_sums(place, control, control->base);
	}
	if (!err && !control->other.v)
		context->running = control;
	return err;
}

/* Does the event set count? In the child of a fork() it does not. */
static bool counts(const struct context *context, const struct control *control)
{
	return control->other.v ||
	       (context->running == control && vpmc_fd(context->own.v) >= 0);
}

int vpmc_set_stop(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	struct place *place = control->other.v ? &control->other : &context->own;
	bool counted = counts(context, control);
	int err = 0;

	if (!control->other.v)
		context->running = NULL;
	/* PAPI has just read the counts. Others go on. */
	if (counted && !control->shared && is_alone(place))
		err = vpmc_stop(place->v);
	/* A target that has ended is stopped already. */
	return err && err != -ESRCH ? PAPI_ESYS : PAPI_OK;
}

/*
 * Reads a set that is shared, another thread's set, inherited counts, or in the child of
 * a fork().
 */
static __attribute__((__noinline__, __cold__)) int
read_slowly(const struct context *context, struct control *control)
{
	const struct place *place = control->other.v ? &control->other : &context->own;
	uint64_t now[VPMC_MAX_COUNTERS];
	int err;

	if (!counts(context, control)) {
		memset(control->count, 0, sizeof(control->count));
		return PAPI_OK;
	}
	err = read_sums(place, control, now);
	if (err)
		return err;
	for (unsigned int i = 0; i < control->nr; i++) {
		control->count[i] = now[i] - control->base[i];
		if (control->shared && control->count[i] < 0)
			return refuse(PAPI_ECLOST, "somebody else has cleared this thread's counters");
	}
	return PAPI_OK;
}

/*
 * Reads a set of the calling thread alone in few instructions. This is the usual
 * case.
 */
int vpmc_set_read(hwd_context_t *ctx, hwd_control_state_t *ctl, long long **values,
		  int flags)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	const struct vpmc_page *page = context->own.page;
	uint64_t *now = (uint64_t *)control->count;
	unsigned int i;

	(void)flags;
	*values = control->count;
	if (context->running != control || control->inherit || control->shared ||
	    vpmc_read(context->own.v, now, control->nr, NULL) != (int)control->nr ||
	    page->set_number != control->number || page->state != VPMC_STATE_RUNNING)
		return read_slowly(context, control);
	for (i = 0; i < control->nr; i++)
		now[i] -= control->base[i];
	return PAPI_OK;
}

int vpmc_set_write(hwd_context_t *ctx, hwd_control_state_t *ctl, long long *values)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	const struct place *place = control->other.v ? &control->other : &context->own;
	uint64_t now[VPMC_MAX_COUNTERS] = { 0 };
	int err = PAPI_OK;

	if (counts(context, control))
		err = read_sums(place, control, now);
	if (err)
		return err;
	for (unsigned int i = 0; i < control->nr; i++)
		control->base[i] = now[i] - values[i];
	return PAPI_OK;
}

void vpmc_set_release(struct context *context)
{
	if (!context->own.v)
		return;
	/* The set is as this handle has programmed it once its additions are gone. */
	if (context->own.shares)
		vpmc_unshare(context->own.v);
	if (context->own.number && is_alone(&context->own))
		vpmc_unlink(context->own.v);
	vpmc_close(context->own.v);
	memset(context, 0, sizeof(*context));
}

void vpmc_set_attach(struct control *control, struct vpmc *v)
{
	vpmc_set_detach(control);
	control->other.v = v;
	control->other.page = vpmc_page(v);
}

void vpmc_set_detach(struct control *control)
{
	vpmc_close(control->other.v);
	memset(&control->other, 0, sizeof(control->other));
}
