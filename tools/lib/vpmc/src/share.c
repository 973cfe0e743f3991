// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counts events together with somebody who has programmed the thread's set before.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define WHAT	"counting"
#define LOOKS	8	/* how often vpmc_share() looks for a set */

/* Does element @i of the set count the event, in a counter that will do? */
static bool counts(const struct vpmc_control *control, unsigned int i,
		   const struct vpmc_event *event, enum vpmc_kind kind)
{
	return vpmc_same_select(kind, control->counter[i].evtsel, event->select) &&
	       (event->index == VPMC_ANY ||
		event->index == control->counter[i].index);
}

/* Finds the events in the set. Returns how many of them it does not have. */
static unsigned int find(const struct vpmc_control *control, struct vpmc_event *events,
			 unsigned int nr)
{
	enum vpmc_kind kind = vpmc_processor_kind();
	bool taken[VPMC_MAX_COUNTERS] = {};
	unsigned int i, k, missing = 0;

	vpmc_forget_places(events, nr);
	for (k = 0; k < nr; k++) {
		if (events[k].flags & VPMC_EVENT_LEFT_OUT)
			continue;
		for (i = 0; i < control->nr_counters; i++)
			if (!taken[i] && counts(control, i, &events[k], kind))
				break;
		if (i == control->nr_counters) {
			missing++;
			continue;
		}
		taken[i] = true;
		events[k].element = i;
		events[k].counter = control->counter[i].index;
	}
	return missing;
}

/*
 * Which of the events is the first that no counter is left for? If the set would have
 * more counters than there are, the kernel names none.
 */
static unsigned int first_without_room(unsigned int there, const struct vpmc_event *more,
				       unsigned int n)
{
	struct vpmc_info info;
	unsigned int all = 0, i, last = 0;

	if (!vpmc_get_info(&info))
		all = __builtin_popcountll(info.gp_mask) +
		      __builtin_popcountll(info.fixed_mask);
	for (i = 0; i < n; i++) {
		if (more[i].flags & VPMC_EVENT_LEFT_OUT)
			continue;
		last = i;
		if (there++ >= all)
			break;
	}
	return last;
}

/* Says that a set of @there counters leaves none for the event. */
static void say_no_room(struct vpmc_error *error, unsigned int there,
			const struct vpmc_event *event)
{
	int at = error->event;
	char what[sizeof(error->what)], why[160];

	snprintf(what, sizeof(what), "event select %#llx", (unsigned long long)event->select);
	snprintf(why, sizeof(why),
		 "the thread is counted already, and has no counter left for it beside the %u of that set",
		 there);
	vpmc_error_set(error, -error->errnum, error->reason,
		       event->text ? event->text : what, why,
		       "count fewer events there, as by vpmc stat -e");
	error->event = at;
	error->position = event->text ? (int)event->position : -1;
}

static bool is_without_room(unsigned int reason)
{
	return reason == VPMC_REASON_NO_COUNTER || reason == VPMC_REASON_TOO_MANY ||
	       reason == VPMC_REASON_INDEX_TAKEN || reason == VPMC_REASON_LEFT_TO_PERF;
}

/* Adds the events that the set does not have. */
static int add_missing(struct vpmc *v, unsigned int there, struct vpmc_event *events,
		       unsigned int nr, struct vpmc_error *error)
{
	struct vpmc_event more[VPMC_MAX_COUNTERS];
	unsigned int from[VPMC_MAX_COUNTERS], i, n = 0;
	int err;

	for (i = 0; i < nr; i++) {
		if (events[i].flags & VPMC_EVENT_LEFT_OUT || events[i].element >= 0)
			continue;
		if (n == VPMC_MAX_COUNTERS) {
			err = vpmc_error_set(error, -ENOSPC, VPMC_REASON_TOO_MANY,
					     WHAT, NULL, NULL);
			if (!error)
				return err;
			error->event = i;
			say_no_room(error, there, &events[i]);
			return err;
		}
		more[n] = events[i];
		from[n++] = i;
	}
	err = vpmc_add_events(v, more, n, error);
	for (i = 0; i < n; i++) {
		events[from[i]].flags = more[i].flags;
		events[from[i]].reason = more[i].reason;
	}
	if (err >= 0 || !error)
		return err < 0 ? err : 0;
	if (error->event < 0 && n && is_without_room(error->reason))
		error->event = first_without_room(there, more, n);
	if (error->event < 0)
		return err;
	error->event = from[error->event];
	if (is_without_room(error->reason))
		say_no_room(error, there, &events[error->event]);
	return err;
}

/* Returns 1 if somebody has programmed a set, 0 if not, or a negative error number. */
static int is_programmed(const struct vpmc *v, unsigned int *state)
{
	struct vpmc_read sums;
	int err = vpmc_read_sums(v, 0, &sums);

	*state = sums.state;
	if (err)
		return err;
	return sums.state == VPMC_STATE_STOPPED || sums.state == VPMC_STATE_RUNNING ||
	       sums.state == VPMC_STATE_OVERFLOWED;
}

/* What others have added stays as long as the handle is open. -ENODATA: there is no set. */
static int keep_added(struct vpmc *v, struct vpmc_error *error)
{
	unsigned int state;
	int err = vpmc_add_events(v, NULL, 0, error);

	/* An inherited set without counters cannot get any. It may have all that is asked for. */
	if (err == -EEXIST)
		return 0;
	if (err != -EBADF)
		return err;
	/* A handle that only reads cannot keep anything, and needs nothing added. */
	err = is_programmed(v, &state);
	return err > 0 ? 0 : err ?: -ENODATA;
}

/* The kernel adds no periods. An event that the set has already would lose its own. */
static int refuse_periods(const struct vpmc_event *events, unsigned int nr,
			  struct vpmc_error *error)
{
	unsigned int i;
	char what[64];
	int err;

	for (i = 0; i < nr; i++)
		if (events[i].period && !(events[i].flags & VPMC_EVENT_LEFT_OUT))
			break;
	if (i == nr)
		return 0;
	snprintf(what, sizeof(what), "event select %#llx", (unsigned long long)events[i].select);
	err = vpmc_error_set(error, -EINVAL, VPMC_REASON_RESERVED_FIELD,
			     events[i].text ? events[i].text : what,
			     "the thread is counted already, and that set cannot get a period",
			     "leave the period out, or program a set of your own");
	if (error) {
		error->event = i;
		error->position = events[i].text ? (int)events[i].position : -1;
	}
	return err;
}

/*
 * Counts with the set that is there. Its own counters are left as they are. What it
 * lacks is added.
 */
EXPORT int vpmc_join(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		     struct vpmc_error *error)
{
	struct vpmc_control control;
	int err;

	if (!events)
		nr = 0;
	vpmc_forget_places(events, nr);
	err = keep_added(v, error);
	vpmc_error_none(error);
	if (err == -ENODATA)
		return vpmc_error_set(error, err, VPMC_WHY_SYSTEM, WHAT,
				      "the thread has no set of counters, or it was revoked", "");
	if (!err)
		err = vpmc_get_control(v, &control);
	if (err < 0)
		return vpmc_error_system(error, err, WHAT);
	err = refuse_periods(events, nr, error);
	if (err)
		return err;
	if (!find(&control, events, nr))
		return control.nr_counters;
	err = add_missing(v, control.nr_counters, events, nr, error);
	if (!err) {
		err = vpmc_get_control(v, &control);
		if (err)
			vpmc_error_system(error, err, WHAT);
	}
	if (!err && find(&control, events, nr))
		err = vpmc_error_set(error, -EBUSY, VPMC_WHY_SYSTEM, WHAT,
				     "somebody has programmed another set meanwhile",
				     "try again");
	if (err)
		vpmc_forget_places(events, nr);
	return err ?: (int)control.nr_counters;
}

/* Starts the set that the handle has joined. */
static int start(struct vpmc *v, unsigned int state, int nr, struct vpmc_error *error)
{
	int err = state == VPMC_STATE_RUNNING ? 0 : vpmc_start(v);

	return err ? vpmc_error_system(error, err, WHAT) : nr;
}

/*
 * Looks for a set first. CONTROL would check the caller's rights and ask perf for
 * counters before it says that there is one. If somebody programs one or ends it
 * between the look and the deed, looks again.
 */
EXPORT int vpmc_share(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		      struct vpmc_error *error)
{
	unsigned int state, looks;
	int err = 0, there;

	if (!events)
		nr = 0;
	for (looks = 0; looks < LOOKS; looks++) {
		vpmc_error_none(error);
		vpmc_forget_places(events, nr);
		there = is_programmed(v, &state);
		if (there < 0)
			return vpmc_error_system(error, there, WHAT);
		if (there)
			err = vpmc_join(v, events, nr, error);
		else
			err = vpmc_program(v, events, nr, VPMC_CONTROL_NEW, error);
		if (there && err >= 0)
			return start(v, state, err, error);
		if (err != (there ? -ENODATA : -EEXIST))
			return err;
	}
	return vpmc_error_set(error, -EBUSY, VPMC_WHY_SYSTEM, WHAT,
			      "somebody programs and ends sets all the time", "try again");
}

/* Puts a page that @fd maps in the place of the handle's, which readers may have. */
static int replace_page(struct vpmc *v, int fd)
{
	size_t size = sysconf(_SC_PAGESIZE);
	void *page;
	int err;

	if (!v->page)
		return 0;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	/* Mapping it there at once would leave a hole if the kernel refused that. */
	if (mremap(page, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)v->page) != MAP_FAILED)
		return 0;
	err = -errno;
	munmap(page, size);
	return err;
}

/* A thread may get other counters after these were detached. */
static int is_attached(const struct vpmc *v)
{
	struct vpmc_read sums;
	int err = vpmc_read_sums(v, 0, &sums);

	if (!err && (sums.state == VPMC_STATE_UNLINKED ||
		     sums.state == VPMC_STATE_EXITED))
		err = -ESRCH;
	return err;
}

/* Writes the path by which a descriptor is opened again. Signal handlers may call it. */
static void write_path(char path[32], int fd)
{
	static const char prefix[] = "/proc/self/fd/";
	char *end = path + sizeof(prefix) - 1;
	int rest;

	memcpy(path, prefix, sizeof(prefix) - 1);
	for (rest = fd / 10; rest; rest /= 10)
		end++;
	end[1] = '\0';
	for (; end >= path + sizeof(prefix) - 1; fd /= 10)
		*end-- = '0' + fd % 10;
}

/* The kernel ends what was added when it closes the file, which the page holds, too. */
static int open_anew(struct vpmc *v)
{
	int status = fcntl(v->fd, F_GETFL), descriptor = fcntl(v->fd, F_GETFD), fd, err = 0;
	char path[32];

	if (status < 0 || descriptor < 0)
		return -errno;
	write_path(path, v->fd);
	fd = open(path, (status & O_ACCMODE) | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* What the caller may have changed. */
	if (fcntl(fd, F_SETFL, status) < 0)
		err = -errno;
	/* If they are attached now, the new file has the same ones. */
	if (!err)
		err = is_attached(v);
	if (!err)
		err = replace_page(v, fd);
	if (!err && dup3(fd, v->fd, descriptor & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
		err = -errno;
	close(fd);
	return err;
}

EXPORT int vpmc_unshare(struct vpmc *v)
{
	int saved = errno, err;

	if (v->fd < 0)
		return -ESRCH;
	if (v->ring)
		return -EBUSY;
	err = open_anew(v);
	errno = saved;
	if (!err)
		vpmc_take_page(v);
	return err;
}
