// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The handles by which event sets have counters: on the thread that PAPI counts, or on one
 * that an event set is attached to.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vpmc-set.h"

int vpmc_set_refuse(int error, const char *text)
{
	PAPIERROR("vpmc: %s", text);
	return error;
}

int vpmc_set_error(int err, unsigned int reason)
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
	case VPMC_REASON_PMU_GUEST:
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

/*
 * Gets the thread's own handle. Opens a new one in the child of a fork(), and after
 * somebody has detached the counters.
 */
static int own_place(struct context *context)
{
	struct place *own = &context->own;
	struct vpmc_error error;
	int err;

	if (own->v && (vpmc_fd(own->v) < 0 || is_detached(own->page->state))) {
		vpmc_close(own->v);
		memset(context, 0, sizeof(*context));
	}
	if (own->v)
		return PAPI_OK;
	err = vpmc_open(&own->v, 0, &error);
	if (err)
		return vpmc_set_refuse(err == -EACCES ? PAPI_EPERM : PAPI_ESYS, error.text);
	own->adder = own->v;
	own->page = vpmc_page(own->v);
	if (own->page)
		return PAPI_OK;
	/* Another process detached the counters before the page was mapped. */
	vpmc_close(own->v);
	memset(own, 0, sizeof(*own));
	return vpmc_set_refuse(PAPI_ESYS, "somebody else detaches this thread's counters");
}

int vpmc_set_place(struct context *context, struct control *control,
		   struct place **place)
{
	if (control->other.v) {
		*place = &control->other;
		return PAPI_OK;
	}
	*place = &context->own;
	return own_place(context);
}

/* Opens the counters of the thread with that directory, or new ones if it has none. */
static int open_counters(struct vpmc **v, int directory, struct vpmc_error *error)
{
	int fd = openat(directory, "perfctr", O_RDWR | O_CREAT | O_CLOEXEC, 0666), err;

	if (fd < 0) {
		err = -errno;
		snprintf(error->text, sizeof(error->text),
			 "the other thread's counters: %s", strerror(-err));
		return err;
	}
	err = vpmc_open_fd(v, fd, error);
	close(fd);
	return err;
}

/* @v: a handle that is there already, or NULL. It is closed on errors. */
static int open_place(struct place *place, struct vpmc *v, int directory)
{
	struct place new = { .v = v };
	struct vpmc_error error;
	int err = v ? 0 : open_counters(&new.v, directory, &error);

	if (!err)
		err = open_counters(&new.adder, directory, &error);
	if (err) {
		vpmc_close(new.v);
		return vpmc_set_refuse(vpmc_set_error(err, 0), error.text);
	}
	new.page = vpmc_page(new.v);
	*place = new;
	return PAPI_OK;
}

static void close_place(struct place *place)
{
	if (place->adder != place->v)
		vpmc_close(place->adder);
	vpmc_close(place->v);
	memset(place, 0, sizeof(*place));
}

/* The counters were detached. The thread may live, and get new ones. */
static int open_anew(struct control *control)
{
	struct place place;
	int err = open_place(&place, NULL, control->directory);

	if (err)
		return err;
	close_place(&control->other);
	control->other = place;
	return PAPI_OK;
}

int vpmc_set_look(struct context *context, struct control *control,
		  struct place **place, struct vpmc_read *sums)
{
	int err = vpmc_set_place(context, control, place);

	if (err)
		return err;
	err = vpmc_read_sums((*place)->v, 0, sums);
	if (!err && sums->state == VPMC_STATE_UNLINKED && *place == &control->other) {
		err = open_anew(control);
		if (err)
			return err;
		err = vpmc_read_sums((*place)->v, 0, sums);
	}
	return err ? vpmc_set_error(err, 0) : PAPI_OK;
}

bool vpmc_set_is_own(const struct place *place, uint64_t number, unsigned int nr)
{
	return number == place->number && nr == place->nr;
}

bool vpmc_set_is_alone(const struct place *place)
{
	const struct vpmc_page *page = place->page;
	struct vpmc_read sums;

	if (page)
		return vpmc_set_is_own(place, page->set_number, page->nr_counters);
	return !vpmc_read_sums(place->v, 0, &sums) &&
	       vpmc_set_is_own(place, sums.set_number, sums.nr_counters);
}

void vpmc_set_unshare(struct place *place)
{
	if (place->shares && !vpmc_unshare(place->adder))
		place->shares = false;
}

/* The set is as @v has programmed it once what was added is gone. */
static void end_set(struct place *place)
{
	vpmc_set_unshare(place);
	if (place->number && vpmc_set_is_alone(place))
		vpmc_unlink(place->v);
}

void vpmc_set_release(struct context *context)
{
	if (!context->own.v)
		return;
	end_set(&context->own);
	close_place(&context->own);
	memset(context, 0, sizeof(*context));
}

void vpmc_set_release_other(struct control *control)
{
	if (control->other.v)
		end_set(&control->other);
}

int vpmc_set_attach(struct control *control, pid_t tid)
{
	struct vpmc_error error;
	struct place place;
	struct vpmc *v;
	char path[64];
	int err, directory;

	/* It is of this thread, even if the number becomes that of another one. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tid, (int)tid);
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = vpmc_open_thread(&v, tid, 0, &error);
	if (err) {
		err = vpmc_set_refuse(err == -EACCES || err == -EPERM ? PAPI_EPERM :
				      PAPI_ESYS, error.text);
	} else {
		err = open_place(&place, v, directory);
	}
	if (err) {
		if (directory >= 0)
			close(directory);
		return err;
	}
	vpmc_set_detach(control);
	control->other = place;
	control->directory = directory;
	return PAPI_OK;
}

void vpmc_set_detach(struct control *control)
{
	if (!control->other.v)
		return;
	close_place(&control->other);
	close(control->directory);
}
