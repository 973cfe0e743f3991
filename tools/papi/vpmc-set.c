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

#include "vpmc-events.h"
#include "vpmc-set.h"

#define LOOKS		8	/* how often it looks, if others program sets meanwhile */
#define AGAIN		1	/* is no error of PAPI: look again */

static bool is_programmed(unsigned int state)
{
	return state == VPMC_STATE_STOPPED || state == VPMC_STATE_RUNNING ||
	       state == VPMC_STATE_OVERFLOWED;
}

static uint64_t modes_of(const struct control *control)
{
	return vpmc_modes(control->domain & PAPI_DOM_USER,
			  control->domain & PAPI_DOM_KERNEL);
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

/*
 * Programs a set of its own, in place of the one that this handle has programmed, or if
 * there is none. @before: what was there.
 */
static int program_own(struct place *place, struct control *control,
		       const struct vpmc_read *before, unsigned int flags)
{
	bool there = is_programmed(before->state);
	struct vpmc_error error;
	struct vpmc_control set;
	struct vpmc_read sums;
	int err;

	make_set(control, &set);
	set.flags |= there ? flags : flags | VPMC_CONTROL_NEW;
	err = vpmc_program_raw(place->v, &set, &error);
	if (err == -EEXIST && !there)
		return AGAIN;
	if (err < 0)
		return vpmc_set_refuse(vpmc_set_error(err, set.reason), error.text);
	err = vpmc_read_sums(place->v, 0, &sums);
	if (err)
		return vpmc_set_error(err, 0);
	place->number = sums.set_number;
	place->nr = control->nr;
	control->number = sums.set_number;
	control->shared = false;
	for (unsigned int i = 0; i < control->nr; i++)
		control->element[i] = i;
	if (sums.set_number == before->set_number + 1)
		return PAPI_OK;
	/* It may be another's. */
	place->number = 0;
	return AGAIN;
}

/*
 * What a set that others use cannot give, or NULL. @mine: this handle has programmed it, and
 * others have added to it.
 */
static const char *needs_own(const struct control *control,
			     const struct vpmc_read *sums, bool mine)
{
	if (control->overflows)
		return "somebody else counts this thread, and an overflow needs a set of its own; use PAPI_OVERFLOW_FORCE_SW, or do not count the program from outside";
	if (control->inherit)
		return "somebody else counts this thread, and PAPI_INHERIT needs a set of its own; do not count the program from outside";
	if (sums->state == VPMC_STATE_REVOKED)
		return "somebody else has counted this thread until the administrator took the counters, and must end that first";
	if (sums->state != VPMC_STATE_RUNNING && !mine)
		return "somebody else has programmed this thread's counters, and they are stopped; start them, as by vpmc ctl start";
	return NULL;
}

/*
 * Counts with the set that others have programmed, and adds what it lacks. @before: what
 * that set was. If it is another one now, or gone, the caller looks again.
 */
static int share(struct place *place, struct control *control,
		 const struct vpmc_read *before, unsigned int flags)
{
	struct vpmc_event events[VPMC_MAX_COUNTERS] = { 0 };
	bool mine = before->set_number == place->number;
	const char *why = needs_own(control, before, mine);
	struct vpmc_error error;
	struct vpmc_read sums;
	unsigned int i;
	int err;

	if (why)
		return vpmc_set_refuse(PAPI_ECNFLCT, why);
	for (i = 0; i < control->nr; i++) {
		events[i].text = control->event[i].name;
		events[i].select = control->event[i].select | modes_of(control);
		events[i].index = VPMC_ANY;
	}
	place->shares = true;
	err = vpmc_join(place->adder, events, control->nr, &error);
	if (err == -ENODATA || (err == -EBUSY && error.reason == VPMC_WHY_SYSTEM))
		return AGAIN;
	if (err < 0)
		return vpmc_set_refuse(vpmc_set_error(err, error.reason), error.text);
	err = vpmc_read_sums(place->v, 0, &sums);
	if (err)
		return vpmc_set_error(err, 0);
	if (sums.set_number != before->set_number || sums.state != before->state)
		return AGAIN;
	if (mine && !(flags & VPMC_CONTROL_STOPPED) && vpmc_start(place->v))
		return AGAIN;
	for (i = 0; i < control->nr; i++)
		control->element[i] = events[i].element;
	control->number = sums.set_number;
	control->shared = true;
	return PAPI_OK;
}

/* Nothing is known of the set's counts yet, and nothing is lost. */
static void forget_reads(struct control *control)
{
	memset(&control->last, 0, sizeof(control->last));
	control->lost = false;
}

/* Looks at what the thread has, and programs or shares it. */
static int program_once(struct context *context, struct control *control,
			unsigned int flags)
{
	struct vpmc_read sums;
	struct place *place;
	int err = vpmc_set_place(context, control, &place);

	if (err)
		return err;
	/* No event set may start with what is given back, even if this one is refused. */
	if (place->shares && !control->other.v)
		context->programmed = NULL;
	vpmc_set_unshare(place);
	err = vpmc_set_look(context, control, &place, &sums);
	if (err)
		return err;
	/* Others want to read what they counted until the administrator took the counters. */
	if ((is_programmed(sums.state) || sums.state == VPMC_STATE_REVOKED) &&
	    !vpmc_set_is_own(place, sums.set_number, sums.nr_counters))
		err = share(place, control, &sums, flags);
	else
		err = program_own(place, control, &sums, flags);
	if (err)
		vpmc_set_unshare(place);
	if (!control->other.v && (!err || place->shares))
		context->holder = control;
	return err;
}

static int program(struct context *context, struct control *control,
		   unsigned int flags)
{
	int err = AGAIN;

	for (unsigned int looks = 0; err == AGAIN && looks < LOOKS; looks++)
		err = program_once(context, control, flags);
	if (err == AGAIN)
		return vpmc_set_refuse(PAPI_ECNFLCT, "others program or stop this thread's counters all the time; try again");
	if (err)
		return err;
	memset(control->base, 0, sizeof(control->base));
	forget_reads(control);
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
static const char *is_gone(const struct control *control, const struct view *now)
{
	if (now->number != control->number)
		return "somebody else has programmed this thread's counters meanwhile";
	if (now->state == VPMC_STATE_REVOKED)
		return "the administrator has taken the counters";
	if (now->state == VPMC_STATE_UNLINKED)
		return "the counters were detached from the thread";
	if (control->shared && now->state == VPMC_STATE_STOPPED)
		return "somebody else has stopped this thread's counters";
	return NULL;
}

/*
 * Has somebody cleared counts, or stopped them for a while, since the last read? The
 * kernel does not tell, but then something goes back. A thread that was on its CPU all
 * the time has counted all the time, unless a period has stopped it.
 */
static bool went_back(const struct control *control, const struct view *now)
{
	const struct view *last = &control->last;

	if (now->ticks < last->ticks || now->switches < last->switches)
		return true;
	if (last->state == VPMC_STATE_RUNNING && now->switches == last->switches &&
	    now->overflows == last->overflows && now->tsc_base != last->tsc_base)
		return true;
	for (unsigned int i = 0; i < control->nr; i++)
		if (now->sum[control->element[i]] < last->sum[control->element[i]])
			return true;
	return false;
}

/* Reads the calling thread's page, all of it at one moment. */
static int view_page(const struct place *place, struct view *now)
{
	const struct vpmc_page *page = place->page;
	uint64_t generation;
	int n;

	do {
		generation = *(const volatile __u64 *)&page->generation;
		vpmc_barrier();
		now->number = page->set_number;
		now->state = page->state;
		now->switches = page->switches;
		now->overflows = page->overflows;
		now->tsc_base = page->tsc_base;
		n = vpmc_read(place->v, now->sum, VPMC_MAX_COUNTERS,
			      page->caps & VPMC_CAP_TSC ? &now->ticks : NULL);
		vpmc_barrier();
	} while (n >= 0 && *(const volatile __u64 *)&page->generation != generation);
	return n;
}

static int view_call(const struct place *place, unsigned int flags, struct view *now)
{
	struct vpmc_read sums;
	int err = vpmc_read_sums(place->v, flags, &sums);

	if (err)
		return err;
	now->number = sums.set_number;
	now->state = sums.state;
	now->switches = sums.switches;
	now->ticks = sums.ticks;
	memcpy(now->sum, sums.sum, sizeof(now->sum));
	return 0;
}

/* Reads the sums of the event set's counters, in its order. */
static int read_sums(const struct place *place, struct control *control, uint64_t *now)
{
	struct view view = { .ticks = 0 };
	const char *why;
	int err;

	if (control->inherit)
		err = view_call(place, VPMC_READ_LIVING | VPMC_READ_FINISHED, &view);
	else if (place == &control->other)
		err = view_call(place, 0, &view);
	else
		err = view_page(place, &view);
	if (err < 0)
		return vpmc_set_error(err, 0);
	for (unsigned int i = 0; i < control->nr; i++)
		now[i] = view.sum[control->element[i]];
	if (control->lost)
		return PAPI_ECLOST;
	why = is_gone(control, &view);
	if (!why && !control->inherit && went_back(control, &view))
		why = "somebody else has cleared or stopped this thread's counters meanwhile";
	control->last = view;
	if (!why)
		return PAPI_OK;
	control->lost = true;
	return vpmc_set_refuse(PAPI_ECLOST, why);
}

/*
 * Starts the event set that the kernel has since it was judged. The sums become the
 * base. Returns false if it must be programmed once more.
 */
static bool start_again(const struct place *place, struct control *control)
{
	const struct vpmc_page *page = place->page;
	bool alone = vpmc_set_is_alone(place);

	if (page->set_number != control->number ||
	    (page->state != VPMC_STATE_RUNNING &&
	     (!alone || page->state != VPMC_STATE_STOPPED)))
		return false;
	forget_reads(control);
	return read_sums(place, control, control->base) == PAPI_OK &&
	       (!alone || !vpmc_start(place->v));
}

int vpmc_set_start(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	struct place *place;
	int err = vpmc_set_place(context, control, &place);

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
	if (counted && !control->shared && vpmc_set_is_alone(place))
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
	for (unsigned int i = 0; i < control->nr; i++)
		control->count[i] = now[i] - control->base[i];
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

/*
 * PAPI_stop() reads first, and so cannot stop an event set that has lost its counters.
 * Such a one counts anew after PAPI_reset(), with what is there then.
 */
int vpmc_set_write(hwd_context_t *ctx, hwd_control_state_t *ctl, long long *values)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	const struct place *place = control->other.v ? &control->other : &context->own;
	uint64_t now[VPMC_MAX_COUNTERS] = { 0 };
	int err = PAPI_OK;

	if (counts(context, control)) {
		forget_reads(control);
		err = read_sums(place, control, now);
		if (err == PAPI_ECLOST)
			err = program(context, control, 0) ?:
			      read_sums(place, control, now);
	}
	if (err)
		return err;
	for (unsigned int i = 0; i < control->nr; i++)
		control->base[i] = now[i] - values[i];
	return PAPI_OK;
}
