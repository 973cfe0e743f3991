// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Programs sets, and controls sets that are programmed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define WHOLE_SET	"counting"

/*
 * Returns true if a select names a fixed counter that this processor lacks.
 * Such a select has only the counter's number, so no other counter can count
 * it.
 */
static bool is_missing_fixed(uint64_t select)
{
	unsigned int number = ((select >> 8) & 0xff) - 1;
	struct vpmc_info info;

	return !(select & 0xff) && number < 64 && !vpmc_get_info(&info) &&
	       (info.kind == VPMC_KIND_INTEL || info.kind == VPMC_KIND_P6) &&
	       !(info.fixed_mask >> number & 1);
}

/*
 * Returns true if CONTROL has refused the event because this processor lacks
 * it.
 */
static bool is_missing(const struct vpmc_control *control)
{
	switch (control->reason) {
	case VPMC_REASON_UNAVAILABLE:
	case VPMC_REASON_EXTRA_MSR:
	case VPMC_REASON_WRONG_EVENT:
	case VPMC_REASON_BAD_INDEX:
		return true;
	case VPMC_REASON_NO_COUNTER:
		return is_missing_fixed(control->counter[control->bad_counter].evtsel);
	}
	return false;
}

/* Fills in errors that CONTROL returns before it looks at the counters. */
static int refused_as_a_whole(struct vpmc_error *error, int err,
			      const struct vpmc_control *control)
{
	switch (err) {
	case -EINVAL:
		/* Before it knew them, the field had to be zero. */
		if (!control->members || control->flags & VPMC_CONTROL_ADD)
			break;
		return vpmc_error_set(error, err, VPMC_WHY_SYSTEM, WHOLE_SET,
				      "this kernel does not keep what each member counted",
				      "use a newer one");
	case -EEXIST:
		return vpmc_error_set(error, err, VPMC_WHY_EXISTS, WHOLE_SET,
				      NULL, NULL);
	case -EBADF:
		return vpmc_error_set(error, err, VPMC_WHY_NO_ACCESS, WHOLE_SET,
				      "the counters were opened only for reading",
				      "");
	}
	return vpmc_error_system(error, err, WHOLE_SET);
}

/* Adds how many events fit, if the kernel says that these do not fit. */
static void say_how_many(struct vpmc_error *error,
			 const struct vpmc_control *control)
{
	struct vpmc_info info;
	char why[160], what[sizeof(error->what)];

	if (control->reason == VPMC_REASON_NO_COUNTER &&
	    is_missing_fixed(control->counter[control->bad_counter].evtsel))
		snprintf(why, sizeof(why),
			 "the processor does not have the fixed counter for it");
	else if (control->reason == VPMC_REASON_NO_COUNTER)
		snprintf(why, sizeof(why),
			 "no free counter can count it: of these %u events the first %u fit",
			 control->nr_counters, control->bad_counter);
	else if (!vpmc_get_info(&info))
		snprintf(why, sizeof(why),
			 "this processor counts at most %d events at once (%d programmable counters and %d fixed ones)",
			 __builtin_popcountll(info.gp_mask) +
			 __builtin_popcountll(info.fixed_mask),
			 __builtin_popcountll(info.gp_mask),
			 __builtin_popcountll(info.fixed_mask));
	else
		return;
	memcpy(what, error->what, sizeof(what));
	vpmc_error_set(error, -error->errnum, error->reason, what, why, NULL);
}

/*
 * Fills in an error. @what is the name of element @control->bad_counter, or
 * NULL.
 */
static int refused(struct vpmc_error *error, int err,
		   const struct vpmc_control *control, const char *what)
{
	char buffer[VPMC_NAME_SIZE];

	if (control->reason == VPMC_REASON_NONE)
		return refused_as_a_whole(error, err, control);
	if (!error)
		return err;
	if (control->bad_counter >= control->nr_counters) {
		snprintf(buffer, sizeof(buffer), "%u events",
			 control->nr_counters);
		what = control->reason == VPMC_REASON_TOO_MANY ? buffer :
		       WHOLE_SET;
	} else if (!what) {
		snprintf(buffer, sizeof(buffer), "event select %#llx",
			 (unsigned long long)
			 control->counter[control->bad_counter].evtsel);
		what = buffer;
	}
	vpmc_error_set(error, err, control->reason, what, NULL, NULL);
	if (control->reason == VPMC_REASON_NO_COUNTER ||
	    control->reason == VPMC_REASON_TOO_MANY)
		say_how_many(error, control);
	if (control->bad_counter < control->nr_counters)
		error->event = control->bad_counter;
	return err;
}

static int control_request(void *to, struct vpmc_control *control)
{
	struct vpmc *v = to;
	int err;

	control->reason = VPMC_REASON_NONE;
	control->bad_counter = 0;
	err = vpmc_request(v, VPMC_IOC_CONTROL, (unsigned long)control);
	if (!err)
		vpmc_take_page(v);
	return err;
}

EXPORT int vpmc_program_raw_sized(struct vpmc *v, struct vpmc_control *control,
				  struct vpmc_error *error)
{
	int err;

	vpmc_error_none(error);
	err = control_request(v, control);
	return err ? refused(error, err, control, NULL) :
		     (int)control->nr_counters;
}

/* Fills in @control up to its last counter, and leaves the rest alone. */
static int fill(const struct vpmc_event *events, unsigned int nr,
		unsigned int flags, struct vpmc_control *control)
{
	unsigned int i, n = 0;

	memset(control, 0, offsetof(struct vpmc_control, counter));
	for (i = 0; i < nr; i++) {
		if (events[i].flags & VPMC_EVENT_LEFT_OUT)
			continue;
		if (n == VPMC_MAX_COUNTERS)
			return -ENOSPC;
		control->counter[n++] = (struct vpmc_counter) {
			.evtsel = events[i].select,
			.index = events[i].index,
			.flags = events[i].flags & VPMC_EVENT_PRESERVE ?
				 VPMC_COUNTER_PRESERVE : 0,
			.period = events[i].period,
		};
	}
	control->size = offsetof(struct vpmc_control, counter[n]);
	control->flags = flags;
	control->nr_counters = n;
	return 0;
}

EXPORT int vpmc_fill_control_sized(const struct vpmc_event *events,
				   unsigned int nr, unsigned int flags,
				   struct vpmc_control *control, size_t size)
{
	struct vpmc_control filled = {};
	int err = fill(events, nr, flags, &filled);

	memset(control, 0, size);
	if (!err && filled.size > size)
		err = -ENOSPC;
	if (err)
		return err;
	memcpy(control, &filled, filled.size);
	control->size = size;
	return 0;
}

/* Returns the index in @events of element @element of the set. */
static unsigned int event_of(const struct vpmc_event *events, unsigned int nr,
			     unsigned int element)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!(events[i].flags & VPMC_EVENT_LEFT_OUT) && !element--)
			break;
	return i;
}

/*
 * Finds the counter of each event. With a page this needs no system call. If the
 * thread has ended meanwhile, only the elements are known.
 */
static void place(const struct vpmc *v, struct vpmc_event *events,
		  unsigned int nr)
{
	struct vpmc_control control;
	unsigned int i, n = 0;
	bool known = v->page || !vpmc_get_control(v, &control);

	for (i = 0; i < nr; i++) {
		if (events[i].flags & VPMC_EVENT_LEFT_OUT)
			continue;
		if (known)
			events[i].counter = v->page ? v->page->slot[n].index :
						      control.counter[n].index;
		events[i].element = n++;
	}
}

void vpmc_forget_places(struct vpmc_event *events, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		events[i].element = -1;
		events[i].counter = VPMC_ANY;
	}
}

static int too_many(struct vpmc_error *error, unsigned int nr)
{
	char what[VPMC_NAME_SIZE], why[VPMC_NAME_SIZE];

	snprintf(what, sizeof(what), "%u events", nr);
	snprintf(why, sizeof(why), "no processor counts more than %u at once",
		 VPMC_MAX_COUNTERS);
	return vpmc_error_set(error, -ENOSPC, VPMC_REASON_TOO_MANY, what, why,
			      NULL);
}

int vpmc_program_events(int (*request)(void *to, struct vpmc_control *control),
			void *to, struct vpmc_event *events, unsigned int nr,
			unsigned int flags, struct vpmc_error *error)
{
	struct vpmc_control control;
	struct vpmc_event *bad;
	int err;

	vpmc_error_none(error);
	vpmc_forget_places(events, nr);
	for (;;) {
		if (fill(events, nr, flags, &control))
			return too_many(error, nr);
		err = request(to, &control);
		if (!err)
			return control.nr_counters;
		/* Without a reason, none of the counters is the cause. */
		bad = control.reason && control.bad_counter < control.nr_counters ?
		      &events[event_of(events, nr, control.bad_counter)] : NULL;
		if (!bad || !(bad->flags & VPMC_EVENT_OPTIONAL) ||
		    !is_missing(&control)) {
			err = refused(error, err, &control,
				      bad ? bad->text : NULL);
			if (error && bad) {
				error->event = bad - events;
				error->position = bad->text ? (int)bad->position : -1;
			}
			return err;
		}
		bad->flags |= VPMC_EVENT_LEFT_OUT;
		bad->reason = control.reason;
	}
}

EXPORT int vpmc_program(struct vpmc *v, struct vpmc_event *events,
			unsigned int nr, unsigned int flags,
			struct vpmc_error *error)
{
	int n;

	if (!events)
		nr = 0;
	n = vpmc_program_events(control_request, v, events, nr, flags, error);
	if (n >= 0)
		place(v, events, nr);
	return n;
}

/* Adds events to the set that is there. Their places are not filled in. */
int vpmc_add_events(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		    struct vpmc_error *error)
{
	return vpmc_program_events(control_request, v, events, nr, VPMC_CONTROL_ADD,
				   error);
}

EXPORT int vpmc_get_control_sized(const struct vpmc *v,
				  struct vpmc_control *control, size_t size)
{
	size_t room = size < offsetof(struct vpmc_control, counter) ? 0 :
		      (size - offsetof(struct vpmc_control, counter)) /
		      sizeof(struct vpmc_counter);
	int err;

	memset(control, 0, size);
	control->size = size;
	control->nr_counters = room < VPMC_MAX_COUNTERS ? room : VPMC_MAX_COUNTERS;
	err = vpmc_request(v, VPMC_IOC_READ_CONTROL, (unsigned long)control);
	if (err)
		memset(control, 0, size);
	return err;
}

EXPORT int vpmc_start(struct vpmc *v)
{
	return vpmc_request(v, VPMC_IOC_START, 0);
}

EXPORT int vpmc_stop(struct vpmc *v)
{
	return vpmc_request(v, VPMC_IOC_STOP, 0);
}

EXPORT int vpmc_clear(struct vpmc *v, uint32_t mask)
{
	return vpmc_request(v, VPMC_IOC_CLEAR, mask);
}

EXPORT int vpmc_resume(struct vpmc *v)
{
	return vpmc_request(v, VPMC_IOC_RESUME, 0);
}

EXPORT int vpmc_unlink(struct vpmc *v)
{
	return vpmc_request(v, VPMC_IOC_UNLINK, 0);
}

EXPORT int vpmc_consume(struct vpmc *v, uint32_t nr)
{
	return vpmc_request(v, VPMC_IOC_CONSUME, nr);
}

EXPORT int vpmc_wait(const struct vpmc *v, int milliseconds, unsigned int *seen)
{
	struct pollfd poller = { .fd = v->fd, .events = POLLIN };
	int saved = errno, err = 0;

	*seen = 0;
	if (milliseconds < 0)
		return -EINVAL;
	if (v->fd < 0)
		return -ESRCH;
	if (poll(&poller, 1, milliseconds) < 0)
		err = -errno;
	else
		*seen = (poller.revents & POLLIN ? VPMC_WAIT_OVERFLOW : 0) |
			(poller.revents & POLLHUP ? VPMC_WAIT_END : 0) |
			(poller.revents & POLLERR ? VPMC_WAIT_REVOKED : 0);
	errno = saved;
	return err;
}

EXPORT int vpmc_map_ring(struct vpmc *v, const struct vpmc_ring **ring)
{
	size_t page = sysconf(_SC_PAGESIZE), size;
	struct vpmc_control control;
	int saved = errno, err;
	unsigned int nr;
	void *at;

	*ring = NULL;
	err = vpmc_get_control(v, &control);
	if (err)
		return err;
	/* Sample buffers cannot be mapped. */
	if (!control.ring_records || control.flags & VPMC_CONTROL_SAMPLE)
		return -ENODATA;
	/* Counters that others have added are the last ones, and not in the records. */
	nr = control.nr_counters;
	do {
		size = VPMC_RING_SIZE(control.ring_records, nr);
		at = mmap(NULL, size, PROT_READ, MAP_SHARED, v->fd, page);
		err = at == MAP_FAILED ? -errno : 0;
	} while (err == -EINVAL && nr-- > 1);
	errno = saved;
	if (err)
		return err;
	vpmc_set_ring(v, at, size);
	*ring = at;
	return 0;
}
