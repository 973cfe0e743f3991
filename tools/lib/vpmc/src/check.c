// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * vpmc_check(): can this process count? A new thread tries it, so that the
 * caller's counters are left alone.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "internal.h"

#define WHAT	"counting instructions"

struct check {
	struct vpmc_error error;
	int result;
};

static int try_here(struct vpmc_error *error)
{
	enum vpmc_kind kind = vpmc_processor_kind();
	struct vpmc_event event = {
		.select = vpmc_portable_code(vpmc_portable_find("instructions", 12),
					     kind) | select_form(kind).user,
		.text = "instructions",
		.index = VPMC_ANY,
	};
	struct vpmc *v;
	int err = vpmc_open(&v, 0, error);

	if (err)
		return err;
	err = vpmc_program(v, &event, 1,
			   VPMC_CONTROL_STOPPED | VPMC_CONTROL_NEW, error);
	if (err >= 0)
		vpmc_unlink(v);
	vpmc_close(v);
	/* The thread inherited a set from its creator. That set counts. */
	return err == -EEXIST || err > 0 ? 0 : err;
}

static void *check_thread(void *arg)
{
	struct check *check = arg;

	check->result = try_here(&check->error);
	return NULL;
}

EXPORT int vpmc_check(struct vpmc_error *error)
{
	struct check check;
	sigset_t all, before;
	pthread_t thread;
	int err;

	/* The program's own threads must handle signals, not this one. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, check_thread, &check);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return vpmc_error_system(error, -err, WHAT);
	pthread_join(thread, NULL);
	if (!check.result)
		vpmc_error_none(&check.error);
	if (error)
		*error = check.error;
	return check.result;
}
